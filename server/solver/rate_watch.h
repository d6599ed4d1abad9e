// Says when a slow model does not hold its rate: from what is counted once a second, over the last ten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tactus {

class RateWatch {
 public:
  // What is in charge: a step of a model that is not slow has one tick.
  struct Model {
    std::string name;
    std::uint32_t ticks_per_step = 1;
    double tick_s = 0;
  };
  struct Counts {  // since start
    std::uint64_t solves = 0, late = 0, ticks_lost = 0;
  };
  struct Times {  // of the last second's solves
    std::uint64_t p50_ns = 0, p99_ns = 0;
  };
  // Once a second. A rate is held while at most one step in a hundred of ten seconds is late and no
  // two of them lose simulated time. Gives the
  // line for the log when that ends, then at most once in ten seconds and of what came since; else empty.
  std::string take(const Model& model, const Counts& now, const Times& times);

 private:
  static constexpr std::size_t kSeconds = 10;

  Model model_;
  struct Second {
    Counts before;
    Times times;
  };

  std::array<Second, kSeconds> seen_{};  // the last seconds, a ring
  std::size_t count_ = 0, silent_ = 0;   // seconds since this model came or the last line; in which nothing is said
  Counts last_;
};

}  // namespace tactus
