// The pieces of first_touch(): a pair on its way through a step, looked at now and then. Needed by swept_*.cc only.
#pragma once

#include <algorithm>

#include "core/collide/smooth/extremal_points.h"
#include "core/collide/time/separation.h"
#include "core/collide/time/swept_pair.h"

namespace tactus {

inline constexpr std::uint32_t kSweepLooks = 100;
inline constexpr double kSweepNear = 0.5;    // of slack: nearer than that, they touch
inline constexpr double kSweepClose = 0.01;  // of slack: what is left of the way to the stop
// Of slack: how much deeper in a step what is too deep already may get. At its depth it would stand for ever where one
// corner leaves and the next one comes: neither is a contact that answers.
inline constexpr double kSweepCreep = 20;

struct Sweep {
  const SweptShape& a;
  const SweptShape& b;
  double t = 0, until = 1;
  Frame X_WA, X_WB;
  bool touching = false, known = true;  // known: what separation() said last
  Vec3 n_B = Vec3::Zero();              // axis of contact, fixed in b
  double limit = 0;                     // overlap along it at which they stop

  Sweep(const SweptShape& first, const SweptShape& second, double end = 1) noexcept
      : a(first), b(second), until(end), searched_(is_searched(first.shape, second.shape)) {}

  void look() noexcept {
    X_WA = a.at(t);
    X_WB = b.at(t);
  }
  // Least distance, or how deep they overlap where one of them is smooth; look by look from what the last one found.
  Separation separation() noexcept;
  [[nodiscard]] double gap(const Vec3& n_W) const noexcept { return gap_along(a.shape, X_WA, b.shape, X_WB, n_W); }
  // On by what is left of a gap at a bound on its rate. False: the step ends, or a stop of one of them, before that.
  bool advance(double left, double rate) noexcept;
  // How fast a gap along n can close, per step; arm_b: of the points of b that matter about its mass centre.
  [[nodiscard]] double closing(const Vec3& n_W, double arm_b) const noexcept;
  // The same along whatever direction.
  [[nodiscard]] double fastest() const noexcept;
  // From as deep as that along the axis: are they less deep at the end?
  [[nodiscard]] bool leaves(double depth) const noexcept;
  // On while the gap along n_W, an axis fixed in b, is certainly more than `least`; at least as advance() goes.
  bool advance_along(const Vec3& n_W, double least, double left, double rate) noexcept;
  // Of a's points about b's centre: the axis turns with b.
  [[nodiscard]] double arm_of_axis() const noexcept;

 private:
  [[nodiscard]] double most_acceleration() const noexcept;
  static bool is_searched(const Shape& a, const Shape& b) noexcept {
    return (a.kind == ShapeKind::smooth || b.kind == ShapeKind::smooth) && b.kind != ShapeKind::half_space;
  }
  bool searched_;
  ExtremalSide side_a_, side_b_;
};

// From the pose of s.t until they overlap by s.limit along s.n_B, which begin(s, d, last) sets with s.touching when
// they touch: d is their separation, last its direction at the look before (zero: there was none). It returns false
// where this touch is none. still(s): do they touch at the stop, which is by a plane that may be wider than they are?
template <typename Begin, typename Still>
SweptTouch follow(Sweep& s, double slack, const Begin& begin, const Still& still) noexcept {
  SweptTouch out;
  Vec3 last = Vec3::Zero();
  for (; out.looks < kSweepLooks; ++out.looks) {
    s.look();
    if (!s.touching) {
      const Separation d = s.separation();
      if (!s.known) {  // what was safe so far; at the start it would be stopped for ever
        ++out.unknown;
        if (s.t == 0) return out;
        break;
      }
      if (d.gap > kSweepNear * slack) {
        const bool plane = s.b.shape.kind == ShapeKind::half_space;
        last = d.n_W;
        const double closing = s.closing(d.n_W, plane ? s.arm_of_axis() : s.b.radius);
        if (!s.advance_along(d.n_W, kSweepNear * slack, d.gap, closing)) return out;
        continue;
      }
      if (!begin(s, d, last)) return out;
    }
    const Vec3 n_W = s.X_WB.R * s.n_B;
    const double left = s.gap(n_W) + s.limit;
    if (left <= kSweepClose * slack) {
      if (s.t > 0 && !still(s)) {
        s.touching = false;
        continue;
      }
      break;
    }
    if (!s.advance_along(n_W, kSweepClose * slack - s.limit, left, s.closing(n_W, s.arm_of_axis()))) return out;
  }
  out.found = true;
  out.t = s.t;
  return out;
}

bool is_bowl(const Shape& shape) noexcept;  // the inside of a smooth surface
// Of surfaces that are not convex: no plane lies between, so the distance alone decides (swept_smooth.cc).
bool is_folded(const Shape& shape) noexcept;
SweptTouch first_touch_folded(const SweptShape& a, const SweptShape& b, double slack, double deepest,
                              double until) noexcept;

}  // namespace tactus
