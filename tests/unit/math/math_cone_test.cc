// Frictional contact problems in half coordinates as Stewart and Trinkle's LCP: one block in closed form, a tower,
// random contacts judged by the cone's own equations, and what friction may never do.
#include <algorithm>
#include <limits>

#include "core/math/cone_polyhedral.h"
#include "tests/support/algebra.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/cone_problems.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using namespace test;

Vec3 velocity(const ConeProblem& problem, const std::vector<Vec3>& r, std::uint32_t i) {
  Eigen::VectorXd y = Eigen::VectorXd::Zero(problem.half_size);
  for (std::uint32_t k = 0; k < problem.count; ++k) cone_push(problem.contacts[k], r[k], y.data());
  return cone_velocity(problem.contacts[i], y.data()) + problem.contacts[i].b;
}

double residual_of(const ConeProblem& problem, const std::vector<Vec3>& r) {
  Eigen::VectorXd y(problem.half_size);
  return cone_residual(problem, FrictionDisc(problem.directions), r.data(), y.data());
}

TEST_CASE("FrictionDisc: the nearest point, whose slope is that of differences; the polygon lies in the circle") {
  Random random(1);
  for (const std::uint32_t directions : {0U, 4U, 8U, 16U}) {
    const FrictionDisc disc(directions);
    double worst = 0, slope_error = 0;
    for (int k = 0; k < 2000; ++k) {
      const Eigen::Vector2d x = 3 * random_vector(random, 2), d = 1e-7 * random_vector(random, 2);
      Eigen::Matrix2d slope;
      const Eigen::Vector2d p = disc.project(x, &slope);
      worst = std::max(worst, p.norm() - 1);
      // Nearest: no other point q of D is in front of it, (x - p) . (q - p) <= 0.
      const double angle = random.uniform(0, 2 * M_PI), radius = random.uniform(0, 1);
      const Eigen::Vector2d q = disc.project(radius * Eigen::Vector2d(std::cos(angle), std::sin(angle)), nullptr);
      worst = std::max(worst, (x - p).dot(q - p));
      const Eigen::Vector2d difference = disc.project(x + d, nullptr) - p - slope * d;
      if (difference.norm() < 1e-9) continue;  // else a kink lies between, which is rare
      slope_error += 1;
    }
    CAPTURE(directions);
    CHECK_WITHIN(worst, 1e-15);
    CHECK(slope_error < 5);
  }
}

TEST_CASE("Blocks of half coordinates are J M^-1 J^T: symmetric, positive semidefinite, u = A r + b") {
  Random random(2);
  OwnedCone cone = random_cone(random, 12, 4, 0.5, 100, 0);
  const ConeProblem problem = cone.view();
  const RowMatrix A = cone.dense();
  CHECK_WITHIN((A - A.transpose()).cwiseAbs().maxCoeff(), 1e-14);
  CHECK(symmetric_eigenvalues(A).minCoeff() > -1e-12);
  const Eigen::VectorXd r = random_vector(random, 36);
  std::vector<Vec3> impulses(12);
  for (std::uint32_t i = 0; i < 12; ++i) impulses[i] = r.segment<3>(3 * i);
  const Eigen::VectorXd u = A * r;
  for (std::uint32_t i = 0; i < 12; ++i) {
    CHECK_WITHIN((velocity(problem, impulses, i) - problem.contacts[i].b - u.segment<3>(3 * i)).norm(), 1e-12);
  }
}

// A point mass cannot tip: rows of one body without a lever.
TEST_CASE("One point: it sticks up to mu N, then slides along the push with mu N against it, along every corner") {
  constexpr double mass = 2, mu = 0.5, weight = 1;
  OwnedCone cone;
  cone.contacts.resize(1);
  cone.Y.assign(36, 0);
  cone.half_size = 6;
  const Vec3 axes[3] = {Vec3::UnitZ(), Vec3::UnitX(), Vec3::UnitY()};
  cone.attach(0, 0, 0, mass, Vec3::Ones(), Vec3::Zero(), axes, 1);
  cone.contacts[0].mu = mu;
  for (const std::uint32_t directions : {4U, 8U, 16U}) {
    cone.directions = directions;
    PolyhedralCone pyramid(1, directions);
    for (const double push : {0.0, 0.3, 0.499, 0.501, 4.0}) {
      for (std::uint32_t k = 0; k < directions; ++k) {
        const double angle = 2 * M_PI * k / directions;
        const Eigen::Vector2d along(std::cos(angle), std::sin(angle));
        cone.contacts[0].b << -weight / mass, push / mass * along;
        Vec3 r = Vec3::Zero();
        CHECK(pyramid.solve(cone.view(), &r).status == LcpStatus::solved);
        CHECK_WITHIN(r[0] - weight, 1e-10);
        CHECK_WITHIN((r.tail<2>() + std::min(push, mu * weight) * along).norm(), 1e-10);
      }
    }
  }
}

TEST_CASE("A tower of 10 cubes: the floor carries all of it, a small push nothing moves, a large one slides the top") {
  constexpr double kStep = 0.01;
  PolyhedralCone pyramid(40, 4);
  for (const double push : {0.1, 8.0}) {
    OwnedCone cone = tower(10, 0.5, push, 4);
    const ConeProblem problem = cone.view();
    std::vector<Vec3> r(40);
    CHECK(pyramid.solve(problem, r.data()).status == LcpStatus::solved);
    CHECK_WITHIN(residual_of(problem, r), kLcpTolerance);
    double carried = 0, pulled = 0, top = 0;
    for (std::size_t corner = 0; corner < 4; ++corner) {
      carried += r[corner][0];
      pulled += r[36 + corner][1];
      top = std::max(top, std::abs(velocity(problem, r, std::uint32_t(36 + corner))[1]));
    }
    CAPTURE(push);
    CHECK_WITHIN(carried / (10 * 9.81 * kStep) - 1, 1e-9);
    // Sliding: 8 N against mu m g = 4.905 N leaves (8 - 4.905) h; one corner may lift, the sum is the same.
    CHECK_WITHIN(pulled + std::min(push, 0.5 * 9.81) * kStep, 1e-9);
    CHECK_WITHIN(top - (push < 1 ? 0 : (push - 0.5 * 9.81) * kStep), 1e-9);
  }
}

TEST_CASE("Pyramids of random contacts: solved to 1e-9 by the cone's own equations, friction takes energy") {
  Random random(4);
  for (const std::uint32_t directions : {4U, 8U}) {
    PolyhedralCone pyramid(6, directions);
    int solved = 0, all = 0;
    double worst = 0, gain = 0, outside = 0;
    for (int k = 0; k < 500; ++k) {
      const int count = 1 + k % 6;
      OwnedCone cone = random_cone(random, count, 1 + k % 4, random.uniform(0, 0.6), 10, directions);
      const ConeProblem problem = cone.view();
      std::vector<Vec3> r(std::size_t(count), Vec3::Zero());
      ++all;
      if (pyramid.solve(problem, r.data()).status != LcpStatus::solved) continue;
      ++solved;
      worst = std::max(worst, residual_of(problem, r));
      for (std::uint32_t i = 0; i < problem.count; ++i) {
        const Vec3 u = velocity(problem, r, i);
        const double size = r[i].norm() * (u.norm() + problem.contacts[i].b.norm()) + 1e-300;
        gain = std::max(gain, r[i].tail<2>().dot(u.tail<2>()) / size);
        outside = std::max(outside, r[i].tail<2>().norm() - problem.contacts[i].mu * r[i][0] * (1 + 1e-12));
      }
    }
    CAPTURE(directions);
    CHECK(solved == all);
    CHECK_WITHIN(worst, kLcpTolerance);
    CHECK_WITHIN(gain, 1e-8);
    CHECK_WITHIN(outside, 1e-12);
  }
}

TEST_CASE("The pyramid with little friction has one answer: that of enumeration") {
  Random random(5);
  PolyhedralCone pyramid(2, 4);
  BasisSolver basis(12);
  double worst = 0;
  for (int k = 0; k < 150; ++k) {
    const int count = 1 + k % 2;
    OwnedCone cone = random_cone(random, count, 3, 0.2, 3, 4);
    std::vector<Vec3> s(std::size_t(count), Vec3::Zero());
    CHECK(pyramid.solve(cone.view(), s.data()).status == LcpStatus::solved);
    Eigen::VectorXd z(6 * count);
    CHECK(enumerate_lcp(pyramid.lcp(), basis, z.data()).status == LcpStatus::solved);
    for (int i = 0; i < count; ++i) {
      const Vec3 truth(z[6 * i], z[6 * i + 1] - z[6 * i + 3], z[6 * i + 2] - z[6 * i + 4]);
      worst = std::max(worst, (s[std::size_t(i)] - truth).norm() / (1 + truth.norm()));
    }
  }
  CHECK_WITHIN(worst, 1e-8);
}

TEST_CASE("The pyramid: bounds, numbers that are none, memory") {
  Random random(7);
  PolyhedralCone pyramid(20, 4);
  OwnedCone cone = random_cone(random, 20, 5, 0.5, 10, 4), tiny = random_cone(random, 1, 1, 0.5, 1, 4);
  std::vector<Vec3> r(20, Vec3::Zero()), again = r;
  std::uint64_t allocations = 0;
  {
    const AllocGuard guard;
    pyramid.solve(cone.view(), r.data());
    pyramid.solve(tiny.view(), again.data());
    pyramid.solve(cone.view(), again.data());
    allocations = guard.count();
  }
  if (AllocGuard::available()) CHECK(allocations == 0);
  for (std::size_t i = 0; i < 20; ++i) CHECK((r[i].array() == again[i].array()).all());
  LcpSolverOptions few;
  few.common.flops_max = 1;
  CHECK(pyramid.solve(cone.view(), r.data(), few).status != LcpStatus::solved);
  cone.contacts[3].b[1] = std::numeric_limits<double>::quiet_NaN();
  CHECK(pyramid.solve(cone.view(), r.data()).status == LcpStatus::not_finite);
}

}  // namespace
}  // namespace tactus
