#include "tests/support/random.h"

namespace tactus::test {

Vec3 Random::direction() {
  for (;;) {
    const Vec3 v = in_cube(1);
    const double n = v.norm();
    if (n > 0.05 && n <= 1) return v / n;
  }
}

Quat Random::rotation() {
  const Vec3 axis = direction();
  const double angle = uniform(0, 2 * M_PI);
  return Quat(Eigen::AngleAxisd(angle, axis));
}

Mat3 Random::inertia(double mass, double size) {
  // One draw a statement: compilers evaluate arguments in different orders.
  const double z = log_uniform(size / 30, size), y = log_uniform(size / 30, size), x = log_uniform(size / 30, size);
  const Vec3 edge(x, y, z);
  const Vec3 square = edge.cwiseProduct(edge);
  const Vec3 moments = mass / 12 * Vec3(square.y() + square.z(), square.z() + square.x(), square.x() + square.y());
  const Mat3 R = rotation().toRotationMatrix();
  return R * moments.asDiagonal() * R.transpose();
}

}  // namespace tactus::test
