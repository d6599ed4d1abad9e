// Frictional contact problems in half coordinates: one block in closed form, towers, Stewart and Trinkle's pyramid as
// LCP beside Newton's answer, each judged by the other's equations, and what friction may never do.
#include <algorithm>
#include <limits>

#include "core/math/cone_newton.h"
#include "core/math/cone_polyhedral.h"
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
  CHECK(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(A).eigenvalues().minCoeff() > -1e-12);
  const Eigen::VectorXd r = random_vector(random, 36);
  std::vector<Vec3> impulses(12);
  for (std::uint32_t i = 0; i < 12; ++i) impulses[i] = r.segment<3>(3 * i);
  const Eigen::VectorXd u = A * r;
  for (std::uint32_t i = 0; i < 12; ++i) {
    CHECK_WITHIN((velocity(problem, impulses, i) - problem.contacts[i].b - u.segment<3>(3 * i)).norm(), 1e-12);
  }
}

// A cube pushed at its centre of mass height would tip; a point mass cannot: rows of one body without a lever.
TEST_CASE("One point: it sticks up to mu N, then slides along the push with mu N against it, in every direction") {
  constexpr double mass = 2, mu = 0.5, weight = 1;
  OwnedCone cone;
  cone.contacts.resize(1);
  cone.Y.assign(36, 0);
  cone.half_size = 6;
  const Vec3 axes[3] = {Vec3::UnitZ(), Vec3::UnitX(), Vec3::UnitY()};
  cone.attach(0, 0, 0, mass, Vec3::Ones(), Vec3::Zero(), axes, 1);
  cone.contacts[0].mu = mu;
  ConeNewton newton(1, 6, 0);
  for (const double push : {0.0, 0.3, 0.499, 0.501, 4.0}) {
    for (int k = 0; k < 12; ++k) {
      const Eigen::Vector2d along(std::cos(0.1 + k), std::sin(0.1 + k));
      cone.contacts[0].b << -weight / mass, push / mass * along;
      Vec3 r = Vec3::Zero();
      CHECK(newton.solve(cone.view(), &r).status == LcpStatus::solved);
      CHECK_WITHIN(r[0] - weight, 1e-10);
      CHECK_WITHIN((r.tail<2>() + std::min(push, mu * weight) * along).norm(), 1e-10);
    }
  }
}

TEST_CASE("A tower of 10 cubes: the floor carries all of it, a small push nothing moves, a large one slides the top") {
  constexpr double kStep = 0.01;
  ConeNewton newton(40, 60, 0);
  for (const double push : {0.1, 8.0}) {
    OwnedCone cone = tower(10, 0.5, push, 0);
    const ConeProblem problem = cone.view();
    std::vector<Vec3> r(40);
    CHECK(newton.solve(problem, r.data()).status == LcpStatus::solved);
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

TEST_CASE("Round cones of random contacts: solved to 1e-9, friction takes energy, impulses lie in their cones") {
  Random random(3);
  ConeNewton newton(20, 180, 0);
  int solved = 0, all = 0;
  double worst = 0, gain = 0, outside = 0;
  for (int k = 0; k < 1000; ++k) {
    const int count = k % 20 == 0 ? 20 : 1 + k % 8;
    OwnedCone cone = random_cone(random, count, 1 + k % 10, random.uniform(0, 0.6), k % 2 == 0 ? 10 : 1e4, 0);
    const ConeProblem problem = cone.view();
    std::vector<Vec3> r(std::size_t(count), Vec3::Zero());
    const ConeResult result = newton.solve(problem, r.data());
    ++all;
    if (result.status != LcpStatus::solved) continue;
    ++solved;
    worst = std::max(worst, residual_of(problem, r));
    for (std::uint32_t i = 0; i < problem.count; ++i) {
      const Vec3 u = velocity(problem, r, i);
      const double size = r[i].norm() * (u.norm() + problem.contacts[i].b.norm()) + 1e-300;
      gain = std::max(gain, r[i].tail<2>().dot(u.tail<2>()) / size);
      outside = std::max(outside, r[i].tail<2>().norm() - problem.contacts[i].mu * r[i][0] * (1 + 1e-15));
    }
  }
  CHECK(solved == all);
  CHECK_WITHIN(worst, kLcpTolerance);
  CHECK_WITHIN(gain, 1e-8);
  CHECK_WITHIN(outside, 1e-14);
}

TEST_CASE("The pyramid: Newton's answer solves the LCP's problem and Lemke's answer solves Newton's") {
  Random random(4);
  for (const std::uint32_t directions : {4U, 8U}) {
    ConeNewton newton(6, 60, directions);
    PolyhedralCone pyramid(6, directions);
    int newton_solved = 0, lemke_solved = 0, all = 0;
    double by_newton = 0, by_lemke = 0;
    for (int k = 0; k < 500; ++k) {
      const int count = 1 + k % 6;
      OwnedCone cone = random_cone(random, count, 1 + k % 4, random.uniform(0, 0.6), 10, directions);
      const ConeProblem problem = cone.view();
      std::vector<Vec3> r(std::size_t(count), Vec3::Zero()), s = r;
      ++all;
      if (newton.solve(problem, r.data()).status == LcpStatus::solved) {
        ++newton_solved;
        by_newton = std::max(by_newton, residual_of(problem, r));
      }
      if (pyramid.solve(problem, s.data()).status == LcpStatus::solved) {
        ++lemke_solved;
        by_lemke = std::max(by_lemke, residual_of(problem, s));
      }
    }
    CAPTURE(directions);
    CHECK(newton_solved == all);
    CHECK(lemke_solved == all);
    CHECK_WITHIN(by_newton, kLcpTolerance);
    CHECK_WITHIN(by_lemke, kLcpTolerance);
  }
}

TEST_CASE("The pyramid with little friction has one answer: Newton, Lemke and enumeration agree on velocities") {
  Random random(5);
  ConeNewton newton(2, 18, 4);
  PolyhedralCone pyramid(2, 4);
  BasisSolver basis(12);
  double worst = 0;
  for (int k = 0; k < 150; ++k) {
    const int count = 1 + k % 2;
    OwnedCone cone = random_cone(random, count, 3, 0.2, 3, 4);
    const ConeProblem problem = cone.view();
    std::vector<Vec3> r(std::size_t(count), Vec3::Zero()), s = r;
    CHECK(newton.solve(problem, r.data()).status == LcpStatus::solved);
    CHECK(pyramid.solve(problem, s.data()).status == LcpStatus::solved);
    Eigen::VectorXd z(6 * count);
    CHECK(enumerate_lcp(pyramid.lcp(), basis, z.data()).status == LcpStatus::solved);
    for (int i = 0; i < count; ++i) {
      const Vec3 truth(z[6 * i], z[6 * i + 1] - z[6 * i + 3], z[6 * i + 2] - z[6 * i + 4]);
      const double size = 1 + truth.norm();
      worst = std::max({worst, (r[std::size_t(i)] - truth).norm() / size, (s[std::size_t(i)] - truth).norm() / size});
    }
  }
  CHECK_WITHIN(worst, 1e-8);
}

TEST_CASE("Last step's impulses as a guess: the same velocities, and less work") {
  Random random(6);
  ConeNewton newton(20, 60, 0);
  std::uint64_t cold = 0, warm = 0;
  double worst = 0;
  for (int k = 0; k < 100; ++k) {
    OwnedCone cone = random_cone(random, 12, 10, 0.3, 10, 0);
    std::vector<Vec3> r(12, Vec3::Zero()), truth(12, Vec3::Zero());
    CHECK(newton.solve(cone.view(), r.data()).status == LcpStatus::solved);
    for (ConeContact& contact : cone.contacts) contact.b += 1e-3 * random.in_cube(1);
    const ConeResult from_zero = newton.solve(cone.view(), truth.data());
    ConeOptions options;
    options.warm = true;
    const ConeResult from_guess = newton.solve(cone.view(), r.data(), options);
    CHECK(from_guess.status == LcpStatus::solved);
    cold += from_zero.flops;
    warm += from_guess.flops;
    for (std::uint32_t i = 0; i < 12; ++i) {
      worst = std::max(worst, (velocity(cone.view(), r, i) - velocity(cone.view(), truth, i)).norm());
    }
  }
  CHECK(warm < cold);
  CHECK_WITHIN(worst, 1e-7);
}

TEST_CASE("Bounds, numbers that are none, memory: it ends, says so, and allocates nothing") {
  Random random(7);
  ConeNewton newton(20, 60, 0);
  OwnedCone cone = random_cone(random, 20, 5, 3, 10, 0), tiny = random_cone(random, 1, 1, 0.5, 1, 0);
  std::vector<Vec3> r(20, Vec3::Zero()), again = r;
  ConeOptions few;
  few.newton_max = 2;
  few.sweeps_max = 15;
  ConeResult bounded, first, second;
  std::uint64_t allocations = 0;
  {
    const AllocGuard guard;
    bounded = newton.solve(cone.view(), r.data(), few);
    first = newton.solve(cone.view(), r.data());
    newton.solve(tiny.view(), again.data());
    second = newton.solve(cone.view(), again.data());
    allocations = guard.count();
  }
  if (AllocGuard::available()) CHECK(allocations == 0);
  CHECK(bounded.factorisations <= 2);
  CHECK(bounded.sweeps <= 15);
  CHECK(first.flops == second.flops);
  for (std::size_t i = 0; i < 20; ++i) CHECK((r[i].array() == again[i].array()).all());
  few = {};
  few.flops_max = 1;
  CHECK(newton.solve(cone.view(), r.data(), few).flops < 10'000'000);
  cone.contacts[3].b[1] = std::numeric_limits<double>::quiet_NaN();
  CHECK(newton.solve(cone.view(), r.data()).status == LcpStatus::not_finite);
  CHECK(r[0] == Vec3::Zero());
}

}  // namespace
}  // namespace tactus
