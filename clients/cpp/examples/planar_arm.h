// The equations of config/robots/planar_arm.urdf: two links in the x-z plane, angles from the vertical about y.
#pragma once

#include <cmath>

namespace example {

struct PlanarArm {
  static constexpr double m1 = 2, m2 = 1, l1 = 0.4, c1 = 0.2, c2 = 0.15, I1 = 0.028, I2 = 0.008, g = 9.81;

  // tau = M(q) a + C(q, dq) dq + gravity(q)
  static void inverse_dynamics(const double* q, const double* dq, const double* a, double* tau) {
    const double k = m2 * l1 * c2 * std::cos(q[1]), h = m2 * l1 * c2 * std::sin(q[1]);
    const double M22 = I2 + m2 * c2 * c2, M12 = M22 + k, M11 = I1 + m1 * c1 * c1 + m2 * l1 * l1 + M22 + 2 * k;
    gravity(q, tau);
    tau[0] += M11 * a[0] + M12 * a[1] - h * (2 * dq[0] + dq[1]) * dq[1];
    tau[1] += M12 * a[0] + M22 * a[1] + h * dq[0] * dq[0];
  }
  // What holds the arm where it is.
  static void gravity(const double* q, double* tau) {
    tau[1] = -m2 * c2 * g * std::sin(q[0] + q[1]);
    tau[0] = tau[1] - (m1 * c1 + m2 * l1) * g * std::sin(q[0]);
  }
};

}  // namespace example
