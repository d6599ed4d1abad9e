// What a step may cost. Work is counted alike on every machine, so a step that is too hard is given up at the same
// place everywhere, with the same bits; time would not be.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/check.h"

namespace tactus {

// Of factorisations, line searches, sweeps and pivots together: about the nanoseconds of one core that is left alone.
inline constexpr std::uint64_t kStepWork = 2'000'000'000;
// lnc and peg, whose choices of contacts may have no answer: so many units a second of the step's length, so that a
// step that is given up costs a few of its periods; not less than the least, nor more than kStepWork.
inline constexpr double kChoiceWork = 4e10;
inline constexpr std::uint64_t kChoiceWorkLeast = 80'000'000;
inline std::uint64_t choice_work(double h) noexcept {
  TACTUS_DCHECK(h > 0);
  const double work = std::clamp(kChoiceWork * h, double{kChoiceWorkLeast}, double{kStepWork});
  return static_cast<std::uint64_t>(work);
}
// One contact: looked at or swept once; its blocks of a matrix.
inline constexpr std::uint64_t kLookWork = 200, kBlockWork = 1500;
inline constexpr std::uint64_t kPivotWork = 400'000'000;  // of all dense methods on one island

struct SolverWork {
  std::uint64_t left = kStepWork;

  void spend(std::uint64_t n) noexcept { left -= std::min(left, n); }
  [[nodiscard]] bool spent() const noexcept { return left == 0; }
};

}  // namespace tactus
