#include "core/collide/swept_pair.h"

#include <algorithm>

#include "core/collide/narrow_phase.h"
#include "core/collide/separation.h"

namespace tactus {

namespace {

constexpr std::uint32_t kLooks = 100;
constexpr double kNear = 0.5;    // of slack: nearer than that, they touch
constexpr double kClose = 0.01;  // of slack: what is left of the way to the stop

// How fast the shape can move against n, per step. arm: of the points that matter about the mass centre.
double speed_along(const SweptShape& s, const Vec3& n_W, double t, double arm) noexcept {
  if (t >= s.stopped) return 0;
  return n_W.dot(s.travel_W) + s.turn_W.cross(n_W).norm() * arm;
}

// From b into a, of a pair that touches at these poses; zero: not known.
Vec3 contact_axis(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Separation& d) noexcept {
  if (!d.n_W.isZero(0)) return d.n_W;
  ContactPoint points[4];
  ContactBuffer buffer{points, 4};
  Witness witness;
  collide(a, X_WA, b, X_WB, witness, buffer);
  return buffer.count > 0 ? buffer.nhat_BA_W : Vec3(X_WA.R * witness.axis_A);
}

struct Sweep {
  const SweptShape& a;
  const SweptShape& b;
  double t = 0;
  Frame X_WA, X_WB;
  bool touching = false;
  Vec3 n_B = Vec3::Zero();  // axis of contact, fixed in b
  double limit = 0;         // overlap along it at which they stop

  Sweep(const SweptShape& first, const SweptShape& second) noexcept : a(first), b(second) {}

  void look() noexcept {
    X_WA = a.at(t);
    X_WB = b.at(t);
  }
  // On by what is left of a gap at a bound on its rate. False: the step ends, or a stop of one of them, before that.
  bool advance(double left, double rate) noexcept {
    double end = 1;
    for (const double stop : {a.stopped, b.stopped}) {
      if (stop > t) end = std::min(end, stop);
    }
    if (rate <= 0 || left >= rate * (end - t)) {
      t = end;
    } else {
      t += left / rate;
    }
    return t < 1 && !(a.stopped <= t && b.stopped <= t);
  }
  [[nodiscard]] double closing(const Vec3& n_W, double arm_b) const noexcept {
    return speed_along(a, -n_W, t, a.radius) + speed_along(b, n_W, t, arm_b);
  }
  // From as deep as that: are they less deep at the end?
  [[nodiscard]] bool leaves(double depth) const noexcept {
    const Frame X_WA1 = a.at(1), X_WB1 = b.at(1);
    return gap_along(a.shape, X_WA1, b.shape, X_WB1, X_WB1.R * n_B) >= -depth;
  }
  // Of a's points about b's centre: the axis turns with b.
  [[nodiscard]] double arm_of_axis() const noexcept {
    const Vec3 d = a.centre_W - b.centre_W;
    return d.norm() + a.travel_W.norm() + b.travel_W.norm() + a.radius;
  }
};

}  // namespace

Frame SweptShape::at(double t) const noexcept {
  const double s = std::min(t, stopped);
  const Vec3 centre = centre_W + s * travel_W;
  if (turn_W.isZero(0)) return {X_WS.R, centre + (X_WS.p - centre_W)};
  const Mat3 R = rotate_by(s * turn_W, Quat::Identity()).toRotationMatrix();
  return {R * X_WS.R, centre + R * (X_WS.p - centre_W)};
}

SweptTouch first_touch(const SweptShape& a, const SweptShape& b, double slack, double deepest) noexcept {
  Sweep s(a, b);
  SweptTouch out;
  for (; out.looks < kLooks; ++out.looks) {
    s.look();
    if (!s.touching) {
      const Separation d = find_separation(a.shape, s.X_WA, b.shape, s.X_WB);
      if (d.gap > kNear * slack) {
        const bool plane = b.shape.kind == ShapeKind::half_space;
        if (!s.advance(d.gap, s.closing(d.n_W, plane ? s.arm_of_axis() : b.radius))) return out;
        continue;
      }
      const Vec3 n_W = contact_axis(a.shape, s.X_WA, b.shape, s.X_WB, d);
      if (n_W.isZero(0)) return out;
      s.touching = true;
      s.n_B = s.X_WB.R.transpose() * n_W;
      const double depth = -gap_along(a.shape, s.X_WA, b.shape, s.X_WB, n_W);
      s.limit = s.t == 0 ? std::max(deepest, depth) : slack;
      if (s.t == 0 && depth >= deepest && s.leaves(depth)) return out;
    }
    const Vec3 n_W = s.X_WB.R * s.n_B;
    const double left = gap_along(a.shape, s.X_WA, b.shape, s.X_WB, n_W) + s.limit;
    if (left <= kClose * slack) {
      // By that plane; past its edge they may be apart all the same.
      if (s.t > 0 && find_separation(a.shape, s.X_WA, b.shape, s.X_WB).gap > kNear * slack) {
        s.touching = false;
        continue;
      }
      break;
    }
    if (!s.advance(left, s.closing(n_W, s.arm_of_axis()))) return out;
  }
  out.found = true;
  out.t = s.t;
  return out;
}

}  // namespace tactus
