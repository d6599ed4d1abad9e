// Rigid motions with a closed form, for tests of rates and of collision times.
#pragma once

#include "core/collide/smooth/extremal_points.h"
#include "tests/support/random.h"

namespace tactus::test {

// A body whose reference point moves with constant acceleration and that turns by exp(w t + alpha t^2 / 2): at t = 0
// its angular velocity is w and its angular acceleration alpha; with alpha = 0 or alpha parallel to w, at all times.
struct Motion {
  Vec3 c0 = Vec3::Zero(), v0 = Vec3::Zero(), a = Vec3::Zero(), w0 = Vec3::Zero(), alpha = Vec3::Zero();
  Mat3 R0 = Mat3::Identity();

  [[nodiscard]] Frame at(double t) const {
    const Vec3 turn = w0 * t + (0.5 * t * t) * alpha;
    const double angle = turn.norm();
    Mat3 R = R0;
    if (angle > 0) R = Eigen::AngleAxisd(angle, turn / angle).toRotationMatrix() * R0;
    return {R, c0 + v0 * t + (0.5 * t * t) * a};
  }
  // Right for all t only where alpha is parallel to w0.
  [[nodiscard]] RigidMotion rates(double t) const { return {at(t).p, v0 + a * t, w0 + alpha * t, a, alpha}; }
};

inline Motion random_motion(Random& random, double speed, double turn, double acceleration) {
  Motion m;
  m.c0 = random.in_cube(1);
  m.v0 = random.in_cube(speed);
  m.a = random.in_cube(acceleration);
  m.w0 = random.in_cube(turn);
  m.R0 = random.rotation().toRotationMatrix();
  return m;
}

}  // namespace tactus::test
