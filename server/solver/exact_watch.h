// Says when the exact stepper of `lcp` did not do what was asked: from what is counted once a second.
#pragma once

#include <cstdint>
#include <string>

namespace tactus {

class ExactWatch {
 public:
  struct Counts {  // since start (ExactReport)
    std::uint64_t unresolved = 0, exhausted = 0;
  };
  // Once a second. Gives the line for the log of what came since the last one, at most once in ten seconds; else empty.
  std::string take(const Counts& now);

 private:
  static constexpr std::uint32_t kSilent = 10;  // seconds after a line in which nothing is said

  Counts told_;
  std::uint32_t seconds_ = 0, silent_ = 0;  // seconds since the last line; of silence that are left
};

}  // namespace tactus
