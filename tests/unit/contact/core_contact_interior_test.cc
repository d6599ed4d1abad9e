// The interior-point method on islands of free bodies: what it gives obeys the law of impulses whatever happens, is
// near the solution where it says so, and is the only one where there is only one.
#include "core/contact/solve/contact_interior.h"

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/contact/solve/contact_problem.h"
#include "core/dynamics/kinematics.h"
#include "core/math/lcp_lemke.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

// Bodies that fall on each other and on the ground, with contacts at random places and normals; all of one island.
struct Heap {
  std::unique_ptr<Model> model;
  Limits limits;
  Kinematics kinematics;
  std::unique_ptr<ContactProblem> problem;
  std::unique_ptr<ContactIslands> islands;
  std::unique_ptr<ContactMatrix> matrix;
  std::vector<Vec3> p;
  std::vector<double> u;
  FrictionDisc disc{0};
  SolverWork work;

  Heap(std::uint64_t seed, std::uint32_t bodies, std::uint32_t contacts, double mu) {
    Random random(seed);
    Scene scene;
    const BodyIndex ground = scene.add_floor(Vec3(0, 0, -10));
    for (std::uint32_t i = 0; i < bodies; ++i) {
      const Vec3 half = Vec3(0.1, 0.2, 0.3) + random.in_cube(0.05), at = random.in_cube(1);
      scene.add(make_box(half), random.log_uniform(0.5, 5), {random.rotation(), at});
    }
    model = std::move(scene.model);
    finish_model(*model);
    const State state = initial_state(*model, 8);
    resize(*model, kinematics);
    compute_kinematics(*model, state, kinematics);
    problem = std::make_unique<ContactProblem>(*model, limits);
    problem->clear();
    for (std::uint32_t i = 0; i < contacts; ++i) {
      const auto a = static_cast<BodyIndex>(1 + (i < bodies ? i : random.below(bodies)));
      const BodyIndex b = i < bodies           ? a - 1
                          : random.chance(0.3) ? ground
                                               : 1 + (a - 1 + 1 + random.below(bodies - 1)) % bodies;
      const Vec3 up = (random.direction() + 1.2 * Vec3::UnitZ()).normalized();
      const Vec3 at = kinematics.bodies[a].X_WBcm.p - 0.2 * up + random.in_cube(0.1);
      ProblemContact* const contact = problem->add(kinematics.bodies.data(), a, b, at, ContactProblem::frame(up, false),
                                                   random.in_cube(0.5) - 0.3 * Vec3::UnitX());
      REQUIRE(contact != nullptr);
      contact->mu = mu;
      contact->mobility = find_mobility(*contact);
    }
    const auto rows = 6 * bodies;
    islands = std::make_unique<ContactIslands>(contacts, static_cast<std::uint32_t>(model->bodies.size()));
    islands->split(*problem);
    REQUIRE(islands->count() == 1);
    matrix = std::make_unique<ContactMatrix>(contacts, rows, rows);
    p.assign(contacts, Vec3::Zero());
    u.assign(problem->half_size(), 0);
    REQUIRE(matrix->shape(*problem, *islands, islands->island(0)));
  }
  [[nodiscard]] double residual() const {
    return island_residual(*problem, islands->island(0), disc, p.data(), u.data());
  }
  std::uint32_t approach(double inside) {
    ContactInterior interior(problem->count(), problem->half_size());
    return interior.approach(*problem, islands->island(0), disc, inside, *matrix, p.data(), u.data(), work);
  }
  void check_impulses() const {
    std::vector<double> sum(u.size(), 0.0);
    double size = 0;
    for (std::uint32_t i = 0; i < problem->count(); ++i) {
      const ProblemContact& contact = problem->contact(i);
      CHECK(p[i][0] >= 0);
      CHECK(p[i].tail<2>().norm() <= contact.mu * p[i][0] * (1 + 1e-12));
      push(*problem, contact, p[i], sum.data());
      size = std::max(size, p[i].norm());
    }
    for (std::size_t k = 0; k < u.size(); ++k) CHECK(std::abs(sum[k] - u[k]) <= 1e-12 * (1 + size));
  }
};

}  // namespace

// What both Newton's methods stand on; slopes as those have them (no friction changes p_n) and as interior points have.
TEST_CASE("contact matrix: solves what dense 1 + sum Y G Y^T does, and again after some of the slopes changed") {
  Random random(7);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Heap heap(3000 + seed, 8, 30, 0.5);
    const ContactIsland island = heap.islands->island(0);
    const std::uint32_t n = heap.matrix->rows(), contacts = heap.problem->count();
    Eigen::MatrixXd Y = Eigen::MatrixXd::Zero(n, 3 * contacts);  // by row of the island
    std::vector<double> u(heap.u.size()), x(n);
    for (std::uint32_t i = 0; i < contacts; ++i) {
      for (int k = 0; k < 3; ++k) {
        std::fill(u.begin(), u.end(), 0.0);
        push(*heap.problem, heap.problem->contact(island.contacts[i]), Vec3::Unit(k), u.data());
        heap.matrix->gather(*heap.problem, island, u.data(), x.data());
        for (std::uint32_t r = 0; r < n; ++r) Y(r, 3 * i + k) = x[r];
      }
    }
    std::vector<ContactSlope> slopes(contacts);
    for (int round = 0; round < 6; ++round) {
      for (ContactSlope& slope : slopes) {
        if (round > 0 && random.chance(0.8)) continue;
        slope.pushes = random.chance(0.7);
        // Positive, and not symmetric.
        for (int a = 0; a < 3; ++a)
          for (int b = 0; b < 3; ++b) slope.G(a, b) = (a == b ? 3 : 0) + random.uniform(-1, 1);
        if (seed % 2 == 0) slope.G(0, 1) = slope.G(0, 2) = 0;
      }
      Eigen::MatrixXd H = Eigen::MatrixXd::Identity(n, n);
      for (std::uint32_t i = 0; i < contacts; ++i) {
        if (slopes[i].pushes) H += Y.middleCols<3>(3 * i) * slopes[i].G * Y.middleCols<3>(3 * i).transpose();
      }
      if (round == 3) heap.matrix->forget();
      REQUIRE(heap.matrix->factor(*heap.problem, island, slopes.data()));
      Eigen::VectorXd right(n);
      for (std::uint32_t r = 0; r < n; ++r) right[r] = x[r] = random.uniform(-1, 1);
      heap.matrix->solve(x.data());
      const Eigen::Map<const Eigen::VectorXd> found(x.data(), n);
      CHECK((H * found - right).norm() <= 1e-10 * (right.norm() + H.norm() * found.norm()));
      // Y^T x, and x - Y p, contact by contact.
      const std::uint32_t i = random.below(contacts);
      const ProblemContact& contact = heap.problem->contact(island.contacts[i]);
      CHECK((heap.matrix->change(contact, x.data()) - Y.middleCols<3>(3 * i).transpose() * found).norm() <=
            1e-12 * (1 + found.norm() * Y.norm()));
      const Vec3 p = random.in_cube(1);
      Eigen::VectorXd rest = found;
      const double size = heap.matrix->take_off(contact, p, rest.data());
      const Eigen::VectorXd taken = Y.middleCols<3>(3 * i) * p;
      CHECK((found - rest - taken).norm() <= 1e-12 * (1 + taken.norm() + found.norm()));
      CHECK(std::abs(size - taken.squaredNorm()) <= 1e-12 * (1 + taken.squaredNorm()));
    }
  }
}

TEST_CASE("interior points: without friction the motion is the one that there is, in a few factorisations") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Heap heap(seed, 8, 30, 0);
    const std::uint32_t factorisations = heap.approach(1);
    heap.check_impulses();
    CHECK(heap.residual() <= 1e-6);
    CHECK(factorisations <= 25);
    // min |u|^2 / 2 + b . p over p >= 0: u is unique. Lemke's method on A = Y^T Y of the normals knows no cones.
    const std::uint32_t n = heap.problem->count();
    std::vector<double> A(std::size_t{n} * n), b(n), z(n), u(heap.u.size());
    for (std::uint32_t k = 0; k < n; ++k) {
      std::fill(u.begin(), u.end(), 0.0);
      push(*heap.problem, heap.problem->contact(k), Vec3::UnitX(), u.data());
      b[k] = heap.problem->contact(k).b[0];
      for (std::uint32_t i = 0; i < n; ++i) {
        A[std::size_t{i} * n + k] = velocity(*heap.problem, heap.problem->contact(i), u.data())[0];
      }
    }
    LemkeSolver lemke(n);
    REQUIRE(lemke.solve({n, 0, A.data(), b.data(), nullptr, nullptr, nullptr}, z.data()).status == LcpStatus::solved);
    std::fill(u.begin(), u.end(), 0.0);
    for (std::uint32_t k = 0; k < n; ++k) push(*heap.problem, heap.problem->contact(k), z[k] * Vec3::UnitX(), u.data());
    double size = 0;
    for (const double x : u) size = std::max(size, std::abs(x));
    for (std::size_t k = 0; k < u.size(); ++k) CHECK(std::abs(heap.u[k] - u[k]) <= 1e-4 * size);
  }
}

TEST_CASE(
    "interior points: with friction impulses stay within their cones, and more than half of the heaps come within "
    "1e-6") {
  int near = 0, all = 0;
  std::uint32_t factorisations = 0;
  for (const double mu : {0.1, 0.5, 1.0}) {
    MESSAGE(near << " of " << all << " heaps near so far; mu " << mu);
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      Heap heap(1000 + seed, 8, 30, mu);
      factorisations += heap.approach(1);
      heap.check_impulses();
      ++all;
      near += heap.residual() <= 1e-6;
    }
  }
  MESSAGE(near << " of " << all << " heaps near, " << factorisations << " factorisations");
  CHECK(2 * near > all);
  CHECK(factorisations <= 25U * static_cast<std::uint32_t>(all));
}

TEST_CASE("interior points: friction whose direction is known, alone or until it stops") {
  int near = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Heap heap(2000 + seed, 8, 30, 0.3);
    Random random(seed);
    for (std::uint32_t i = 0; i < heap.problem->count(); ++i) {
      ProblemContact& contact = heap.problem->contact(i);
      contact.law = i % 3 == 0 ? ContactLaw::cone : i % 3 == 1 ? ContactLaw::sliding : ContactLaw::stopping;
      const double angle = random.uniform(0, 2 * M_PI);
      contact.slip = Eigen::Vector2d(std::cos(angle), std::sin(angle));
    }
    heap.approach(1);
    heap.check_impulses();
    for (std::uint32_t i = 0; i < heap.problem->count(); ++i) {
      const ProblemContact& contact = heap.problem->contact(i);
      const Eigen::Vector2d t = heap.p[i].tail<2>(), across(-contact.slip[1], contact.slip[0]);
      if (contact.law == ContactLaw::sliding) {
        CHECK((t + contact.mu * heap.p[i][0] * contact.slip).norm() <= 1e-12 * (1 + heap.p[i][0]));
      }
      if (contact.law == ContactLaw::stopping) CHECK(std::abs(across.dot(t)) <= 1e-12 * (1 + t.norm()));
    }
    ++all;
    near += heap.residual() <= 1e-6;
  }
  MESSAGE(near << " of " << all << " heaps near");
  CHECK(2 * near > all);
}

TEST_CASE("interior points: laws that are no cones are not taken, and no work means no step") {
  Heap heap(1, 8, 30, 0.5);
  const ContactIsland island = heap.islands->island(0);
  CHECK(ContactInterior::takes(*heap.problem, island, heap.disc));
  CHECK_FALSE(ContactInterior::takes(*heap.problem, island, FrictionDisc(4)));
  heap.problem->contact(3).law = ContactLaw::bounded;
  CHECK(ContactInterior::takes(*heap.problem, island, heap.disc));  // by zero: no friction
  heap.problem->contact(3).bound = 1;
  CHECK_FALSE(ContactInterior::takes(*heap.problem, island, heap.disc));
  heap.problem->contact(3).law = ContactLaw::cone;
  heap.work.left = 0;
  CHECK(heap.approach(1) == 0);
  heap.check_impulses();
}

}  // namespace tactus
