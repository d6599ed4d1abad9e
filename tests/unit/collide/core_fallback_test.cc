// When the first method does not solve: the next one is tried, it is said, and State moves by published forces only.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/math/lcp.h"
#include "tests/support/lcp_problems.h"
#include "tests/support/scenes.h"

namespace tactus {
namespace {

// Memory of ContactNewton that not even one body fits.
constexpr std::uint32_t kNoRows = 4;

World resting(ContactModelKind kind, int n, std::uint32_t problem_rows, ForceMethod method = ForceMethod::automatic) {
  test::Scene scene = test::stack(n, true);
  scene.model->contact_model = kind;
  scene.model->step = 1e-2;
  scene.model->parameters.lcp_method = method;
  scene.model->parameters.lcp_drift = scene.model->parameters.ap_drift = OverlapDrift::off;  // moves without forces
  scene.limits.problem_rows = problem_rows;
  return scene.world();
}

// v' = v + h (g + sum F / m), p' = p + h v', with the forces that are published: a step that gave up half way, or
// adopted another attempt's impulses than it tells, breaks it.
void check_explained(const World& world, const State& before) {
  const double h = world.model().step;
  const State& after = world.state();
  std::vector<Vec3> force(before.body_count(), Vec3::Zero());
  for (std::uint32_t i = 0; i < world.contacts().manifold_count; ++i) {
    const Manifold& m = world.contacts().manifolds[i];
    for (std::uint32_t k = m.first; k < m.first + m.count; ++k) {
      force[m.body_a] += world.contact_force(k), force[m.body_b] -= world.contact_force(k);
    }
  }
  for (BodyIndex b = 1; b < before.body_count(); ++b) {
    const Vec3 v = before.v_WBcm(b) + h * (world.parameters().gravity_W + force[b] / world.model().bodies[b].mass);
    CHECK((after.v_WBcm(b) - v).norm() <= 1e-12 * (1 + h * force[b].norm()));
    CHECK((after.p_WBcm(b) - before.p_WBcm(b) - h * after.v_WBcm(b)).norm() <= 1e-12 * (1 + before.p_WBcm(b).norm()));
    CHECK(std::abs(after.q_WB(b).norm() - 1) < 1e-12);
  }
  CHECK(after.time == doctest::Approx(before.time + h));
}

}  // namespace

TEST_CASE("fallbacks: what Newton has no memory for is swept and pivoted, counted, and State moves by its forces") {
  for (const ContactModelKind kind :
       {ContactModelKind::st, ContactModelKind::ap, ContactModelKind::lcp, ContactModelKind::peg}) {
    for (const int n : {1, 2, 4}) {
      CAPTURE(std::string(to_string(kind)));
      CAPTURE(n);
      World world = resting(kind, n, kNoRows);
      for (int i = 0; i < 5; ++i) {
        const State before = world.state();
        const StepReport report = world.step();
        CHECK((report.solver_residual <= 1e-9) == (report.solver_failures == 0));
        CHECK(report.solver_fallbacks > 0);
        CHECK(report.bodies_frozen == 0);
        if (report.impacts == 0) check_explained(world, before);  // impulses of lcp's collisions are no forces
      }
    }
  }
}

TEST_CASE("fallbacks: an island beyond every exact method is swept, and is a failure that is told") {
  for (const ContactModelKind kind : {ContactModelKind::st, ContactModelKind::lcp}) {
    World world = resting(kind, 30, kNoRows);
    const State before = world.state();
    const StepReport report = world.step();
    CHECK(report.solver_fallbacks == 1);
    CHECK(report.solver_failures == 1);
    CHECK(report.solver_residual > 1e-9);
    check_explained(world, before);
  }
}

TEST_CASE("fallbacks: lcp with the pivots asked for, beyond their memory, is solved by Newton, and says so") {
  for (const int n : {5, 30}) {
    World world = resting(ContactModelKind::lcp, n, 768, ForceMethod::pivoting);
    const State before = world.state();
    const StepReport report = world.step();
    CHECK(report.solver_fallbacks == (n == 30 ? 1 : 0));
    CHECK(report.solver_failures == 0);
    CHECK(report.solver_residual <= 1e-9);
    check_explained(world, before);
  }
}

TEST_CASE("fallbacks: a world that Newton solves tells of none") {
  for (const ContactModelKind kind : {ContactModelKind::st, ContactModelKind::ap, ContactModelKind::lcp}) {
    World world = resting(kind, 8, 768);
    for (int i = 0; i < 5; ++i) {
      const State before = world.state();
      const StepReport report = world.step();
      CHECK(report.solver_fallbacks == 0);
      CHECK(report.solver_failures == 0);
      check_explained(world, before);
    }
  }
}

// The chain's order, told by who solved it: each step is taken away in turn by a problem that it cannot solve.
TEST_CASE("fallbacks of the chain: guess, Dantzig, Lemke, in the documented order, named in the result") {
  test::Random random(11);
  const test::OwnedLcp easy = test::positive_definite(random, 8, 0.2), rubbing = test::contacts(random, 4, 2, 0.3, 10);
  const auto n = static_cast<Eigen::Index>(easy.view().n);
  LcpSolver chain(64, 64);
  Eigen::VectorXd z = Eigen::VectorXd::Zero(n);
  CHECK(chain.solve(easy.view(), z.data()).method == LcpMethod::lemke);  // no friction: Lemke is first
  LcpSolverOptions warm;
  warm.common.warm = true;
  CHECK(chain.solve(easy.view(), z.data(), warm).method == LcpMethod::guess);  // the answer as the guess
  Eigen::VectorXd f = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(rubbing.view().n));
  CHECK(chain.solve(rubbing.view(), f.data()).method == LcpMethod::dantzig);  // friction: Dantzig is
  // Without work left for a second method the first that fails ends it: no answer, and the work was bounded.
  LcpSolverOptions one_pivot;
  one_pivot.common.pivots_max = 1;
  one_pivot.common.flops_max = 1;
  const LcpResult none = chain.solve(easy.view(), z.data(), one_pivot);
  CHECK(none.status != LcpStatus::solved);
  CHECK(none.method == LcpMethod::none);
  CHECK(none.residual == doctest::Approx(lcp_residual(easy.view(), z.data())));
}

// Pivot bounds of each method: it stops at them, says so, and what it leaves has the residual that it tells.
TEST_CASE("fallbacks of the chain: each method ends at its bound on pivots and on flops") {
  test::Random random(12);
  for (int i = 0; i < 50; ++i) {
    const test::OwnedLcp lcp = i % 2 ? test::contacts(random, 8, 4, 0.5, 10) : test::degenerate_psd(random, 24, 12);
    const std::uint32_t n = lcp.view().n;
    LemkeSolver lemke(n, 3 * n);
    DantzigSolver dantzig(n);
    NewtonSolver newton(n);
    PgsSolver pgs(n);
    LcpSolver chain(n, n);
    for (const std::uint32_t most : {1U, 3U, 10U}) {
      LcpOptions few, little;
      few.pivots_max = most;
      little.flops_max = std::uint64_t{most} * n * n;
      const auto check = [&](auto&& solve) {
        Eigen::VectorXd z = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(n));
        const LcpResult by_pivots = solve(z.data(), few);
        CAPTURE(static_cast<int>(by_pivots.method));
        CHECK(by_pivots.pivots <= most);
        CHECK((by_pivots.status == LcpStatus::solved) == (by_pivots.residual <= kLcpTolerance));
        z.setZero();
        const LcpResult by_flops = solve(z.data(), little);
        // Over by no more than the last linear systems and one pivot or factorisation, of n^3 each.
        CHECK(by_flops.flops <= little.flops_max + 40 * std::uint64_t{3 * n} * (3 * n) * (3 * n));
        CHECK((by_flops.status == LcpStatus::solved) == (by_flops.residual <= kLcpTolerance));
      };
      check([&](double* z, const LcpOptions& o) { return lemke.solve(lcp.view(), z, o); });
      check([&](double* z, const LcpOptions& o) { return dantzig.solve(lcp.view(), z, o); });
      check([&](double* z, const LcpOptions& o) { return newton.solve(lcp.view(), z, o); });
      check([&](double* z, const LcpOptions& o) { return pgs.solve(lcp.view(), z, o); });
    }
  }
}

}  // namespace tactus
