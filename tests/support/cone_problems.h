// Random frictional contact problems in half coordinates, for tests and benchmarks.
#pragma once

#include <vector>

#include "core/math/cone_problem.h"
#include "tests/support/lcp_problems.h"

namespace tactus::test {

// A problem that owns its numbers: bodies of 6 half coordinates each.
struct OwnedCone {
  std::vector<ConeContact> contacts;
  std::vector<double> Y;  // 18 numbers a side, two sides a contact
  std::uint32_t half_size = 0, directions = 0;

  ConeProblem view() {
    for (std::size_t i = 0; i < contacts.size(); ++i) {
      for (std::size_t s = 0; s < 2; ++s) contacts[i].side[s].Y = &Y[18 * (2 * i + s)];
    }
    return {static_cast<std::uint32_t>(contacts.size()), contacts.data(), half_size, directions};
  }
  // The matrix A = sum Y^T Y, dense.
  [[nodiscard]] RowMatrix dense() {
    view();
    const auto n = static_cast<Eigen::Index>(contacts.size());
    RowMatrix A(3 * n, 3 * n);
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) {
        A.block<3, 3>(3 * i, 3 * j) = cone_block(contacts[std::size_t(i)], contacts[std::size_t(j)]);
      }
    }
    return A;
  }
  // Side s of contact i touches body (mass, inertia per axis) at p from its mass centre, with sign.
  void attach(std::size_t i, std::size_t s, std::uint32_t body, double mass, const Vec3& inertia, const Vec3& p,
              const Vec3 axes[3], double sign) {
    contacts[i].side[s].start = 6 * body;
    contacts[i].side[s].size = 6;
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3 moment = p.cross(axes[k]);
      for (std::size_t row = 0; row < 3; ++row) {
        Y[18 * (2 * i + s) + 3 * row + k] = sign * axes[k][Eigen::Index(row)] / std::sqrt(mass);
        Y[18 * (2 * i + s) + 3 * (row + 3) + k] =
            sign * moment[Eigen::Index(row)] / std::sqrt(inertia[Eigen::Index(row)]);
      }
    }
  }
};

// `count` contacts between random bodies (or one body and the world), that meet with random velocities.
inline OwnedCone random_cone(Random& random, int count, int bodies, double mu, double mass_ratio,
                             std::uint32_t directions) {
  OwnedCone cone;
  cone.contacts.resize(std::size_t(count));
  cone.Y.assign(36 * std::size_t(count), 0);
  cone.half_size = static_cast<std::uint32_t>(6 * bodies);
  cone.directions = directions;
  std::vector<double> mass(static_cast<std::size_t>(bodies));
  for (double& m : mass) m = random.log_uniform(1, mass_ratio);
  const Eigen::VectorXd y_0 = random_vector(random, 6 * bodies);
  for (std::size_t i = 0; i < cone.contacts.size(); ++i) {
    const Vec3 n = random.direction();
    const Vec3 t1 = n.unitOrthogonal(), t2 = n.cross(t1);
    const Vec3 axes[3] = {n, t1, t2};
    const std::uint32_t a = random.below(static_cast<std::uint32_t>(bodies));
    const std::uint32_t b = random.below(static_cast<std::uint32_t>(bodies + 1));
    const Vec3 p_a = random.in_cube(0.1), p_b = random.in_cube(0.1);
    cone.attach(i, 0, a, mass[a], Vec3::Constant(mass[a] / 60), p_a, axes, 1);
    if (b != a && b < static_cast<std::uint32_t>(bodies)) {
      cone.attach(i, 1, b, mass[b], Vec3::Constant(mass[b] / 60), p_b, axes, -1);
    }
    cone.contacts[i].mu = mu;
  }
  cone.view();
  for (ConeContact& contact : cone.contacts) contact.b = cone_velocity(contact, y_0.data());
  return cone;
}

// A tower of unit cubes, four contacts between each two and on the floor, each cube with the velocity that weight gives
// it in one step, the top one pushed sideways. Redundant: 12 rows for 6 degrees of freedom.
inline OwnedCone tower(int height, double mu, double push, std::uint32_t directions) {
  constexpr double kStep = 0.01;
  OwnedCone cone;
  const auto count = std::size_t(4 * height);
  cone.contacts.resize(count);
  cone.Y.assign(36 * count, 0);
  cone.half_size = static_cast<std::uint32_t>(6 * height);
  cone.directions = directions;
  const Vec3 axes[3] = {Vec3::UnitZ(), Vec3::UnitX(), Vec3::UnitY()}, inertia = Vec3::Constant(1.0 / 6);
  Eigen::VectorXd y_0 = Eigen::VectorXd::Zero(6 * height);
  for (int k = 0; k < height; ++k) {
    y_0[6 * k + 2] = -9.81 * kStep;
    for (std::size_t corner = 0; corner < 4; ++corner) {
      const std::size_t i = 4 * std::size_t(k) + corner;
      const double x = corner % 2 == 0 ? -0.5 : 0.5, y = corner / 2 == 0 ? -0.5 : 0.5;
      cone.attach(i, 0, std::uint32_t(k), 1, inertia, Vec3(x, y, -0.5), axes, 1);
      if (k > 0) cone.attach(i, 1, std::uint32_t(k - 1), 1, inertia, Vec3(x, y, 0.5), axes, -1);
      cone.contacts[i].mu = mu;
    }
  }
  y_0[6 * (height - 1)] = push * kStep;
  cone.view();
  for (ConeContact& contact : cone.contacts) contact.b = cone_velocity(contact, y_0.data());
  return cone;
}

}  // namespace tactus::test
