// The sparse factor M = L^T L, half velocities u = L v and half responses Y = L^-T J^T.
#include "tests/support/algebra.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::for_random_robots;
using test::Random;
using test::random_vector;
using test::RobotBench;
using Vector = RobotBench::Vector;
using Matrix = RobotBench::Matrix;

Mat3 random_axes(Random& random) {
  return random.rotation().toRotationMatrix();
}

// Rows of Y put to their dofs.
Matrix spread(const RobotBench& bench, std::uint32_t link, const std::vector<double>& Y, Eigen::Index width) {
  Matrix out = Matrix::Zero(bench.n(), width);
  const auto reach = bench.tree->reach(link);
  for (std::size_t r = 0; r < reach.size(); ++r) {
    for (Eigen::Index k = 0; k < width; ++k) {
      out(reach[r], k) = Y[r * static_cast<std::size_t>(width) + static_cast<std::size_t>(k)];
    }
  }
  return out;
}

// The same robot whose factor is kept in another way. Trees with mimic joints stay packed.
void keep_factor(RobotBench& bench, TreeFactor kind) {
  bench.tree = std::make_unique<Tree>(*bench.model, 0, kind);
  bench.update();
}

// Articulated inertias are about O: links that are short beside their distance lose a digit.
double rounding(const RobotBench& bench) {
  return bench.tree->articulated_factor() ? 1e-13 : 1e-14;
}

constexpr TreeFactor kFactors[] = {TreeFactor::packed, TreeFactor::articulated};

// Both ways over random robots.
template <typename Check>
void for_both_factors(int count, const Check& check) {
  for (const TreeFactor kind : kFactors) {
    int articulated = 0;
    for_random_robots(count, 150, true, [&](RobotBench& bench, Random& random) {
      keep_factor(bench, kind);
      articulated += bench.tree->articulated_factor();
      check(bench, random);
    });
    CHECK((articulated > count / 8) == (kind == TreeFactor::articulated));
  }
}

TEST_CASE("tree: the factor is that of M + diag(extra), and its halves are consistent") {
  for_both_factors(100, [](RobotBench& bench, Random& random) {
    Tree& tree = *bench.tree;
    const Eigen::Index n = bench.n();
    const Vector extra = random_vector(random, n, 1).cwiseAbs();
    REQUIRE(tree.factor(extra.data()));
    Matrix A = bench.mass();
    A.diagonal() += extra;
    Matrix L = Matrix::Identity(n, n);
    for (Eigen::Index k = 0; k < n; ++k) tree.to_half(L.col(k).data());
    const Matrix product = L.transpose() * L;
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) {
        CHECK_WITHIN((product(i, j) - A(i, j)) / std::sqrt(A(i, i) * A(j, j)), rounding(bench));
        if (j > i) CHECK(L(i, j) == 0);
      }
    }
    const Vector x = random_vector(random, n, 1);
    Vector y = x;
    tree.to_half(y.data());
    CHECK_WITHIN(y.squaredNorm() - x.dot(A * x), 1e-12 * (1 + y.squaredNorm()));
    tree.from_half(y.data());
    CHECK_WITHIN((y - x).norm(), 1e-9);
    Vector z = L.transpose() * x;
    tree.half(z.data());
    CHECK_WITHIN((z - x).norm(), 1e-9);
    Vector s = A * x;
    tree.solve(s.data());
    CHECK_WITHIN((s - x).norm(), 1e-9);
  });
}

TEST_CASE("tree: Y^T Y is J M^-1 J^T, Y^T u is the point's velocity, and Y p is an impulse's change of u") {
  for_both_factors(200, [](RobotBench& bench, Random& random) {
    if (bench.n() == 0) return;  // nothing moves
    Tree& tree = *bench.tree;
    REQUIRE(tree.factor(nullptr));
    const Matrix M = bench.mass();
    Vector u = bench.v();
    tree.to_half(u.data());
    for (std::uint32_t link = 0; link < tree.link_count(); ++link) {
      const Vec3 p_W = tree.p_WBcm(link) + random.in_cube(0.3);
      const Mat3 E = random_axes(random);
      Matrix J = bench.jacobian(link, p_W);
      J.topRows(3) = (E.transpose() * J.topRows(3)).eval();
      J.bottomRows(3) = (E.transpose() * J.bottomRows(3)).eval();
      std::vector<double> rows(6 * tree.reach(link).size());
      tree.half_response(link, p_W, E, rows.data());
      const Matrix Y = spread(bench, link, rows, 6);
      const Matrix mobility = J * test::solve_llt(M, J.transpose());
      const double scale = std::max(mobility.cwiseAbs().maxCoeff(), 1e-9);
      CHECK_WITHIN((Y.transpose() * Y - mobility).cwiseAbs().maxCoeff() / scale, 1e-10);
      const Vector twist = J * bench.v();
      CHECK_WITHIN((Y.transpose() * u - twist).norm(), 1e-9 * (1 + twist.norm()));
      Vector p = random_vector(random, 6, 1), change = J.transpose() * p;
      tree.half(change.data());
      CHECK_WITHIN((Y * p - change).norm(), 1e-12 * (1 + change.norm()));
      std::vector<double> forces(3 * tree.reach(link).size());
      tree.half_response_force(link, p_W, E, forces.data());
      CHECK(spread(bench, link, forces, 3) == Y.leftCols(3));
    }
    for (DofIndex d = 0; d < tree.v_count(); ++d) {
      const auto reach = tree.dof_reach(d);
      std::vector<double> rows(reach.size());
      tree.half_response_dof(d, rows.data());
      Vector wanted = Vector::Unit(bench.n(), d), y = Vector::Zero(bench.n());
      tree.half(wanted.data());
      for (std::size_t r = 0; r < reach.size(); ++r) y[reach[r]] = rows[r];
      CHECK_WITHIN((y - wanted).norm(), rounding(bench) * wanted.norm());
    }
  });
}

// What is not positive definite is said, and a number that is not finite too.
TEST_CASE("tree: a link without mass on a moving joint, or a number that is not finite, has no factor") {
  test::Scene scene;
  Model& model = *scene.model;
  test::add_robot(model, "massless");
  const BodyIndex first = test::add_link(model, 1, Mat3::Identity(), Vec3(0.1, 0.2, 0.3));
  const BodyIndex last = test::add_link(model, 0, Mat3::Zero());
  test::add_joint(model, JointKind::revolute, kNone, first);
  test::add_joint(model, JointKind::revolute, first, last, {Quat::Identity(), Vec3(0.1, 0, 0.2)}, Vec3::UnitX());
  RobotBench bench(std::move(scene));
  const double armature[2] = {0, 1e-3}, bad[2] = {NAN, 1e-3}, negative[2] = {0, -1e-3}, endless[2] = {INFINITY, 1};
  for (const TreeFactor kind : kFactors) {
    keep_factor(bench, kind);
    CHECK_FALSE(bench.tree->factor(nullptr));
    CHECK(bench.tree->factor(armature));
    CHECK_FALSE(bench.tree->factor(bad));
    CHECK_FALSE(bench.tree->factor(negative));
    CHECK_FALSE(bench.tree->factor(endless));
  }
}

// A rod that hangs from a rod, and so on: the longest row has as many numbers as there are links.
test::Scene long_chain(int links) {
  test::Scene scene;
  test::add_robot(*scene.model, "chain");
  BodyIndex parent = kNone;
  for (int i = 0; i < links; ++i) {
    const BodyIndex link =
        test::add_link(*scene.model, 0.3, Vec3(2.5e-4, 2.5e-4, 1e-5).asDiagonal(), Vec3(0, 0, -0.05));
    test::add_joint(*scene.model, JointKind::revolute, parent, link, test::at(0, 0, parent == kNone ? 0 : -0.1),
                    i % 2 ? Vec3::UnitX() : Vec3::UnitY());
    parent = link;
  }
  return scene;
}

// A triangular factor in a given order is unique.
TEST_CASE("tree: articulated bodies leave the packed factor's numbers, also of chains of 80") {
  RobotBench bench(long_chain(80));
  Random random(11);
  test::randomise_joints(*bench.model, random, 1, bench.state);
  bench.update();
  CHECK(bench.tree->articulated_factor());  // what is taken by itself
  CHECK_FALSE(RobotBench(long_chain(7)).tree->articulated_factor());
  RobotBench packed(long_chain(80));
  packed.state = bench.state;
  keep_factor(packed, TreeFactor::packed);
  const Vector extra = random_vector(random, bench.n(), 1e-3).cwiseAbs();
  REQUIRE(bench.tree->factor(extra.data()));
  REQUIRE(packed.tree->factor(extra.data()));
  const Matrix A = packed.mass();
  for (DofIndex d = 0; d < bench.tree->v_count(); ++d) {
    Vector column = Vector::Unit(bench.n(), d), wanted = column;
    bench.tree->to_half(column.data());
    packed.tree->to_half(wanted.data());
    CHECK_WITHIN((column - wanted).norm() / std::sqrt(A(d, d)), 1e-10);
  }
}

// The rows that dof_parent promises hold the whole factor of a dense elimination, and without mimics nothing but the
// dofs between a dof and the root.
TEST_CASE("tree: dof_parent holds the fill of the factor; reach is closed over it") {
  for_random_robots(300, 150, true, [](RobotBench& bench, Random&) {
    const Robot& robot = bench.tree->robot();
    Matrix A = bench.mass();
    bool has_mimic = false;
    for (const Joint& joint : bench.model->joints) has_mimic = has_mimic || joint.mimic != kNone;
    for (Eigen::Index k = bench.n(); k-- > 0;) {
      const auto reach = bench.tree->dof_reach(static_cast<DofIndex>(k));
      for (Eigen::Index j = 0; j < k; ++j) {
        const bool in = std::find(reach.begin(), reach.end(), static_cast<DofIndex>(j)) != reach.end();
        if (!in) CHECK(A(k, j) == 0);
      }
      for (Eigen::Index i = 0; i < k; ++i) {
        if (A(k, i) == 0) continue;
        for (Eigen::Index j = 0; j < k; ++j) A(i, j) -= A(k, i) * A(k, j) / A(k, k);
      }
    }
    for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
      const auto& reach = robot.reach[i];
      CHECK(std::is_sorted(reach.rbegin(), reach.rend()));
      for (const DofIndex d : reach) {
        if (robot.dof_parent[d] == kNone) continue;
        CHECK(robot.dof_parent[d] < d);
        CHECK(std::find(reach.begin(), reach.end(), robot.dof_parent[d]) != reach.end());
      }
      if (has_mimic) continue;
      std::size_t between = 0;
      for (std::uint32_t j = i;;) {
        const Joint& joint = bench.model->joints[j];
        between += velocity_count(joint.kind);
        if (joint.parent == kNone || bench.model->bodies[joint.parent].mode != BodyMode::link) break;
        j = bench.model->bodies[joint.parent].joint;
      }
      CHECK(reach.size() == between);
    }
  });
}

TEST_CASE("tree: a mimic of a mimic follows the joint that both follow") {
  test::Scene scene;
  Model& model = *scene.model;
  test::add_robot(model, "chain");
  BodyIndex parent = kNone;
  for (int i = 0; i < 3; ++i) {
    const BodyIndex link = test::add_link(model, 1, Mat3::Identity(), Vec3(0.1, 0, 0));
    test::add_joint(model, JointKind::revolute, parent, link, {Quat::Identity(), Vec3(0.3, 0, 0)});
    parent = link;
  }
  model.joints[0].mimic = 1, model.joints[0].multiplier = 2, model.joints[0].offset = 0.1;
  model.joints[1].mimic = 2, model.joints[1].multiplier = -0.5, model.joints[1].offset = 0.3;
  RobotBench bench(std::move(scene));
  REQUIRE(bench.n() == 1);
  bench.state.joint_q[0] = 0.4;
  bench.update();
  const double last = 0.4, middle = -0.5 * last + 0.3, first = 2 * middle + 0.1;
  const Vec3 axis = bench.state.q_WB(2) * Vec3::UnitX();
  CHECK_WITHIN(std::atan2(axis.y(), axis.x()) - (first + middle + last), 1e-15);
}

TEST_CASE("tree: nothing allocates after the constructor") {
  if (!test::AllocGuard::available()) return;
  Random random(9);
  test::RobotOptions options;
  options.joints = 20;
  options.base = test::Base::floating;
  RobotBench bench(random, options);
  Tree& tree = *bench.tree;
  Vector x = random_vector(random, bench.n(), 1), y = x;
  const auto F = bench.random_forces(random);
  const Vec3 gravity(0, 0, -9.81);
  std::vector<double> Y(6 * tree.v_count());
  const test::AllocGuard guard;
  integrate_joints(*bench.model, tree.robot(), 1e-3, bench.state.joint_v.data(), bench.state.joint_q.data());
  bench.update();
  tree.bias(gravity, x.data());
  tree.inverse_dynamics(gravity, x.data(), F.data(), y.data());
  tree.forward_dynamics(gravity, x.data(), F.data(), y.data());
  const bool ok = tree.factor(nullptr);
  tree.solve(x.data());
  tree.to_half(x.data());
  tree.half_response(tree.link_count() - 1, Vec3::Zero(), Mat3::Identity(), Y.data());
  tree.half_response_dof(tree.v_count() - 1, Y.data());
  const Tree::Momentum momentum = tree.momentum();
  CHECK(guard.count() == 0);
  CHECK(ok);
  CHECK(momentum.mass > 0);
}

}  // namespace
}  // namespace tactus
