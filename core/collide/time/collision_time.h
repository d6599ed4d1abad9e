// When two bodies that were apart at t0 and overlap at t1 touched (Baraff 1990, section 8).
#pragma once

#include <cstdint>
#include <limits>

namespace tactus {

// A measure of distance and its rates at a time: chi of eq. 3 or 8, or the extreme distance itself.
struct ChiJet {
  double chi = 0;       // > 0 apart [m]
  double chi_dot = 0;   // [m/s]
  double chi_ddot = 0;  // [m/s^2]
  bool known = true;    // false: neither apart nor overlapping can be claimed at this time
};

enum class RootMethod : std::uint8_t {
  quadratic,  // eq. 21, and what the jet of the bracket's other end adds to eq. 20
  newton,     // eq. 19
  regula_falsi,
  bisection
};

struct CollisionTime {
  double t = 0;                   // [s]; see CollisionSearch
  std::uint32_t evaluations = 0;  // beyond those at t0 and t1
  bool found = false;
};

struct CollisionOptions {
  RootMethod method = RootMethod::quadratic;
  double time_tolerance = 1e-10;         // [s], > 0
  double distance_tolerance = 0;         // a time with 0 <= chi <= this will do as well [m]
  std::uint32_t most_evaluations = 200;  // bisection alone takes log2((t1 - t0) / time_tolerance)
};

// From the time of `at` until chi is zero by eq. 20's parabola, on its way down: of eq. 21's two roots the one with
// chi' <= 0. Of a pair that has just bounced (chi = 0, chi' > 0) this is the next impact, not the last. No such root:
// Newton's step (eq. 19) while chi' < 0, else infinity. Negative where chi < 0 and chi' < 0: it was there before.
double time_to_touch(const ChiJet& at) noexcept;
// The same by Newton's step alone; infinity for chi' >= 0.
double newton_time_to_touch(const ChiJet& at) noexcept;

// Search for the time of the first touch between t0, where the pair is apart, and t1, where it overlaps or nothing is
// known. next() is the time to evaluate, take() its jet, until done(). Predictions that leave the bracket, or steps
// that do not halve, are replaced by bisection; a time with nothing known is taken for an upper end, so the step
// shrinks towards what is known to be apart.
// result(): t is never later than the touch, by the evaluations made, and at most time_tolerance before it; with
// found = false the last time known to be apart: nothing was known up to it (or most_evaluations did not suffice; or
// the pair is apart at t1, and t = t1). A pair that begins with chi <= 0 touches at t0 if it draws nearer; if it does
// not, it counts as apart there. O(1) a step.
class CollisionSearch {
 public:
  CollisionSearch(double t0, const ChiJet& at_t0, double t1, const ChiJet& at_t1,
                  const CollisionOptions& options = {}) noexcept;
  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] double next() const noexcept { return next_; }
  void take(const ChiJet& at_next) noexcept;
  [[nodiscard]] const CollisionTime& result() const noexcept { return result_; }
  // The jet at result().t.
  [[nodiscard]] const ChiJet& at_result() const noexcept { return low_jet_; }

 private:
  [[nodiscard]] double step_from(const ChiJet& at) const noexcept;
  [[nodiscard]] double corrected(double step) const noexcept;
  [[nodiscard]] double predict() const noexcept;
  [[nodiscard]] bool near_touch() const noexcept;
  void start() noexcept;
  void choose() noexcept;
  void finish(bool found) noexcept;

  CollisionOptions options_;
  double low_, high_, last_, next_ = 0;
  ChiJet low_jet_, high_jet_, last_jet_;  // of the bracket's ends, and of the time looked at last
  double step_ = std::numeric_limits<double>::infinity(), step_before_ = step_;
  CollisionTime result_;
  bool done_ = false;
};

// evaluate: a time in (t0, t1) -> ChiJet.
template <typename Evaluate>
CollisionTime find_collision_time(double t0, const ChiJet& at_t0, double t1, const ChiJet& at_t1, Evaluate&& evaluate,
                                  const CollisionOptions& options = {}) {
  CollisionSearch search(t0, at_t0, t1, at_t1, options);
  while (!search.done()) search.take(evaluate(search.next()));
  return search.result();
}

}  // namespace tactus
