// CPU time of single steps, from a microsecond up. Reading the thread's CPU clock costs about as much as a small step,
// so small steps are timed with the processor's cycle counter (its own cost measured and taken off), and once in 16
// steps the CPU clock says how long the thread was off the processor meanwhile; that is taken from the longest step of
// the batch. When a batch's steps last more than 20 us on average, the next batch's steps are timed by the CPU clock
// itself.
#pragma once

#include <cstdint>
#include <vector>

namespace tactus {

struct Percentiles {
  double median = 0, p99 = 0, max = 0;
};
// Nearest rank; sorts a copy. O(n lg n).
Percentiles percentiles(std::vector<float> values);

class StepClock {
 public:
  // Measures the counter's rate (20 ms) and its cost. expected: steps to come, for which room is made now.
  explicit StepClock(std::uint64_t expected);

  void begin() noexcept;
  // Returns the step's time so far known [us]; the batch may still take something off.
  double end();
  // Times of all steps [us]. Closes the last batch.
  const std::vector<float>& finish();

 private:
  void close_batch() noexcept;

  std::vector<float> us_;
  std::uint64_t start_ = 0, batch_start_ = 0;
  double start_cpu_us_ = 0, batch_cpu_us_ = 0;
  double us_per_count_ = 1, overhead_us_ = 0, cpu_overhead_us_ = 0;
  std::size_t batch_first_ = 0;
  bool long_steps_ = false;  // this batch is timed by the CPU clock
};

}  // namespace tactus
