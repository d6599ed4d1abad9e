// The contact problem against what its words mean: A is J M^-1 J^T, b the velocity without impulses.
#include "core/contact/solve/contact_problem.h"

#include <doctest/doctest.h>

#include <cmath>
#include <span>

#include "core/contact/body_response.h"
#include "core/contact/solve/contact_solver.h"
#include "core/dynamics/frame_jacobian.h"
#include "tests/support/algebra.h"
#include "tests/support/robots.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

class NoBias final : public ContactRule {
 public:
  bool bias(const ContactStart&, double& out) const noexcept override {
    out = 0;
    return true;
  }
};

// A scene with contacts put anywhere between its bodies, and the problem that a step makes of them.
struct Bench {
  std::unique_ptr<Model> model;
  Limits limits;
  Parameters parameters;
  State state;
  Kinematics kinematics;
  Arena arena{std::size_t{8} << 20};
  std::vector<Manifold> manifolds;
  std::vector<ContactPoint> points;
  std::vector<SpatialForce> applied, forces;
  std::vector<DofDrive> drives;
  std::vector<double> effort;
  std::vector<RobotSweep> sweeps;

  explicit Bench(Scene scene) : model(std::move(scene.model)) {
    if (model->shapes.empty()) {
      model->shapes.emplace_back();
      model->shapes.back().shape = make_sphere(0.1);
    }
    finish_model(*model);
    parameters = model->parameters;
    state = initial_state(*model, 8);
    resize(*model, kinematics);
    applied.resize(model->bodies.size());
    drives.resize(state.joint_v.size());
    effort.resize(state.joint_v.size());
    sweeps.resize(model->robots.size());
  }
  void touch(BodyIndex a, BodyIndex b, const Vec3& p_WC, const Vec3& nhat) {
    const auto first = static_cast<std::uint32_t>(points.size());
    manifolds.push_back({nhat, 0, 0, 0, a, b, first, 1, 0, true});
    points.push_back({p_WC, 0});
  }
  void build(ContactProblem& problem) {
    forces.resize(points.size());
    compute_kinematics(*model, state, kinematics);
    update_links(*model, kinematics, state);
    const ContactSet set{manifolds.data(), points.data(), static_cast<std::uint32_t>(manifolds.size()),
                         static_cast<std::uint32_t>(points.size())};
    const Tick tick{*model,         parameters,    limits,        model->step,   set,  kinematics,
                    applied.data(), forces.data(), drives.data(), effort.data(), arena};
    for (std::size_t i = 0; i < sweeps.size(); ++i) {
      Tree& tree = *kinematics.robots[i];
      tree.velocities(state);
      tree.mass_matrix();
      REQUIRE(start_sweep(*model, state, tree, parameters.gravity_W, drives.data() + tree.robot().first_v,
                          applied.data(), model->step, {1, 1, 1}, arena, sweeps[i]));
      predict(sweeps[i]);
    }
    problem.build(tick, state, sweeps.data(), NoBias());
  }
  // Velocity of A against B at contact i, in its frame.
  Vec3 relative(const State& at, std::size_t i) const {
    const Manifold& m = manifolds[i];
    const Vec3 v = point_velocity(at, kinematics.bodies[m.body_a], m.body_a, points[i].p_WC) -
                   point_velocity(at, kinematics.bodies[m.body_b], m.body_b, points[i].p_WC);
    return ContactProblem::frame(m.nhat_BA_W, false).transpose() * v;
  }
  // Every block of A = sum Y^T Y against the change of velocity that an impulse makes.
  void check_matrix(const ContactProblem& problem) {
    REQUIRE(problem.count() == manifolds.size());
    std::vector<double> u(problem.half_size());
    for (std::uint32_t j = 0; j < problem.count(); ++j) {
      for (int k = 0; k < 3; ++k) {
        const Vec3 e = Vec3::Unit(k);
        std::fill(u.begin(), u.end(), 0.0);
        push(problem, problem.contact(j), e, u.data());
        State kicked = state;
        const Manifold& m = manifolds[j];
        const Vec3 impulse = ContactProblem::frame(m.nhat_BA_W, false) * e;
        apply_impulse(kinematics, m.body_a, points[j].p_WC, impulse, kicked);
        apply_impulse(kinematics, m.body_b, points[j].p_WC, -impulse, kicked);
        for (std::uint32_t i = 0; i < problem.count(); ++i) {
          const Vec3 change = relative(kicked, i) - relative(state, i);
          const Vec3 found = velocity(problem, problem.contact(i), u.data());
          CHECK((found - change).norm() <= 1e-9 * (1 + change.norm()));
        }
      }
    }
  }
};

}  // namespace

TEST_CASE("contact problem: A of free bodies is J M^-1 J^T, block by block; b is the free velocity") {
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    Scene scene;
    for (int i = 0; i < 4; ++i) {
      const Vec3 half = Vec3(0.1, 0.2, 0.3) + random.in_cube(0.05);
      const Vec3 p = random.in_cube(1), v = random.in_cube(2), w = random.in_cube(2);
      const double mass = random.log_uniform(0.1, 100);
      scene.add(make_box(half), mass, {random.rotation(), p}, {w, v}, 0, i == 3 ? BodyMode::kinematic : BodyMode::free);
    }
    Bench bench(std::move(scene));
    for (int i = 0; i < 6; ++i) {
      const BodyIndex a = random.below(3);
      const Vec3 p = random.in_cube(1), n = random.direction();
      bench.touch(a, 3 - random.below(3 - a), p, n);
    }
    ContactProblem problem(*bench.model, bench.limits);
    bench.build(problem);
    bench.check_matrix(problem);
    for (std::uint32_t i = 0; i < problem.count(); ++i) {
      const Manifold& m = bench.manifolds[i];
      Vec3 free = bench.relative(bench.state, i);
      if (m.body_b == 3) {  // the other falls, this one does not
        free +=
            ContactProblem::frame(m.nhat_BA_W, false).transpose() * (bench.model->step * bench.parameters.gravity_W);
      }
      CHECK((problem.contact(i).b - free).norm() <= 1e-12 * (1 + free.norm()));
    }
  }
}

TEST_CASE("contact problem: A of links of robots, with each other, with themselves and with free bodies") {
  Random random(6);
  for (int round = 0; round < 30; ++round) {
    test::RobotOptions options;
    options.base = round % 2 ? test::Base::floating : test::Base::world;
    options.joints = 7;
    Scene scene = test::random_robot(random, options);
    const BodyIndex first = 0, links = static_cast<BodyIndex>(scene.model->bodies.size());
    const BodyIndex box = scene.add(make_box(Vec3(0.1, 0.2, 0.3)), 2, test::at(0, 0, 1));
    for (Joint& joint : scene.model->joints) joint.damping = 0;  // an impulse alone knows nothing of it
    Bench bench(std::move(scene));
    for (int i = 0; i < 5; ++i) {
      const BodyIndex a = first + random.below(links);
      const BodyIndex b = i < 2 ? box : first + random.below(links);
      if (a == b) continue;
      const Vec3 p = random.in_cube(0.5), n = random.direction();
      bench.touch(a, b, p, n);
    }
    ContactProblem problem(*bench.model, bench.limits);
    bench.build(problem);
    if (problem.count() != bench.manifolds.size()) continue;  // joint rows besides, or links that cannot move
    bench.check_matrix(problem);
  }
}

// Baraff's O(mn): a contact costs what the joints between it and the root cost, whatever the number of contacts.
TEST_CASE("contact problem: A of n contacts with a robot of m dofs is formed in O(mn) numbers, and is J M^-1 J^T") {
  std::size_t numbers[3] = {};
  for (const int doubling : {0, 1, 2}) {
    Random random(7);
    test::RobotOptions options;
    options.joints = 26, options.branch = 0;
    Scene scene = test::random_robot(random, options);
    const auto links = static_cast<BodyIndex>(scene.model->bodies.size());
    const BodyIndex wall = scene.add(make_box(Vec3(0.1, 0.2, 0.3)), 0, test::at(0, 0, 1), {}, 0, BodyMode::fixed);
    for (Joint& joint : scene.model->joints) joint.damping = 0;
    Bench bench(std::move(scene));
    for (BodyIndex i = 0; i < (2 * links << doubling); ++i) {
      const Vec3 p = random.in_cube(0.5), n = random.direction();
      bench.touch(i % links, wall, p, n);
    }
    ContactProblem problem(*bench.model, bench.limits);
    bench.build(problem);
    const Tree& tree = *bench.kinematics.robots[0];
    const auto m = static_cast<Eigen::Index>(tree.robot().v_count);
    std::vector<double> X_WB;
    for (BodyIndex b = 0; b < bench.state.body_count(); ++b) {
      const Pose X = body_pose(*bench.model, bench.state, b);
      X_WB.insert(X_WB.end(), {X.p.x(), X.p.y(), X.p.z(), X.q.w(), X.q.x(), X.q.y(), X.q.z()});
    }
    Eigen::MatrixXd M(m, m);
    for (Eigen::Index j = 0; j < m; ++j) {
      const Eigen::VectorXd unit = Eigen::VectorXd::Unit(m, j);
      tree.times_mass(unit.data(), M.col(j).data());
    }
    std::vector<ProblemContact> contacts;  // without rows of joints
    for (std::uint32_t i = 0; i < problem.count(); ++i) {
      if (problem.contact(i).manifold != kNone) contacts.push_back(problem.contact(i));
    }
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(3 * static_cast<Eigen::Index>(contacts.size()), m), A(J.rows(), J.rows());
    std::vector<double> u(problem.half_size());
    for (std::size_t i = 0; i < contacts.size(); ++i) {
      const Manifold& manifold = bench.manifolds[contacts[i].manifold];
      const auto row = 3 * static_cast<Eigen::Index>(i);
      std::vector<JacobianColumn> columns(static_cast<std::size_t>(m));
      const std::uint32_t found =
          frame_jacobian(*bench.model, X_WB, manifold.body_a, bench.points[contacts[i].point].p_WC, columns);
      for (std::uint32_t k = 0; k < found; ++k) {
        J.block<3, 1>(row, columns[k].dof - tree.robot().first_v) =
            ContactProblem::frame(manifold.nhat_BA_W, false).transpose() * columns[k].linear;
      }
      numbers[doubling] += std::size_t{3} * contacts[i].side[0].size;
      CHECK(contacts[i].side[0].size <= m);
      for (int k = 0; k < 3; ++k) {
        std::fill(u.begin(), u.end(), 0.0);
        push(problem, contacts[i], Vec3::Unit(k), u.data());
        for (std::size_t j = 0; j < contacts.size(); ++j) {
          A.block<3, 1>(3 * static_cast<Eigen::Index>(j), row + k) = velocity(problem, contacts[j], u.data());
        }
      }
    }
    REQUIRE(contacts.size() > links);
    const Eigen::MatrixXd dense = J * test::solve_ldlt(M, J.transpose());
    CHECK((A - dense).norm() <= 1e-9 * dense.norm());
  }
  CHECK(numbers[1] == 2 * numbers[0]);
  CHECK(numbers[2] == 4 * numbers[0]);
}

namespace {

// A ball of 2 kg in a vice of walls that move, with gravity: rows at its centre, so that A is 1/m everywhere.
Bench vice(double mu, const Vec3& v, std::initializer_list<Vec3> normals, double closing) {
  Scene scene(mu);
  scene.set_gravity(Vec3(0, 0, -10));
  scene.model->step = 0.01;
  const BodyIndex ball = scene.add(make_sphere(0.1), 2, test::at(0, 0, 0), {Vec3::Zero(), v});
  for (const Vec3& n : normals) {
    scene.add(make_sphere(0.1), 1, {Quat::Identity(), -0.2 * n}, {Vec3::Zero(), closing * n}, 0, BodyMode::kinematic);
  }
  Bench bench(std::move(scene));
  BodyIndex wall = ball;
  for (const Vec3& n : normals) bench.touch(ball, ++wall, Vec3::Zero(), n);
  return bench;
}

double residual_of(const ContactProblem& problem, std::span<const Vec3> p) {
  ContactIslands islands(64, 16);
  islands.split(problem);
  std::vector<double> u(problem.half_size());
  for (std::uint32_t i = 0; i < problem.count(); ++i) push(problem, problem.contact(i), p[i], u.data());
  double worst = 0;
  for (std::uint32_t k = 0; k < islands.count(); ++k) {
    worst = std::max(worst, island_residual(problem, islands.island(k), FrictionDisc(0), p.data(), u.data()));
  }
  return worst;
}

}  // namespace

TEST_CASE("contact problem: the check of what a result means accepts the one that mechanics gives, and no other") {
  const double mass = 2, h = 0.01, weight = mass * 10 * h, mu = 0.5;
  for (const double slip : {0.0, 1.0}) {
    Bench bench = vice(mu, Vec3(slip, 0, 0), {Vec3::UnitZ()}, 0);
    ContactProblem problem(*bench.model, bench.limits);
    bench.build(problem);
    REQUIRE(problem.count() == 1);
    // In the contact's own frame: friction against the slip, as much as there can be.
    const Mat3 frame = ContactProblem::frame(Vec3::UnitZ(), false);
    const Vec3 right = frame.transpose() * Vec3(slip > 0 ? -mu * weight : 0, 0, weight);
    const auto judged = [&](const Vec3& p) { return residual_of(problem, std::span(&p, 1)); };
    CHECK(judged(right) <= 1e-13);
    CHECK(judged(Vec3::Zero()) > 0.05);     // falls through
    CHECK(judged(1.00001 * right) > 1e-6);  // pushes what leaves
    CHECK(judged(0.99999 * right) > 1e-6);  // lets it in
    CHECK(judged(-right) > 0.05);           // pulls
    const Vec3 along = frame.transpose() * Vec3(0.01 * weight, 0, 0),
               across = frame.transpose() * Vec3(0, 0.01 * weight, 0);
    CHECK(judged(right + along) > 1e-4);   // friction too small, or none that is asked for
    CHECK(judged(right - along) > 1e-4);   // beyond the cone, or sets in motion
    CHECK(judged(right + across) > 1e-4);  // not against the slip
    CHECK(std::isinf(judged(Vec3(std::nan(""), 0, 0))));
  }
}

TEST_CASE("contact problem: what cannot be is no solution, however hard the contacts press against each other") {
  Bench bench = vice(0, Vec3::Zero(), {Vec3::UnitX(), -Vec3::UnitX()}, 0.5);
  ContactProblem problem(*bench.model, bench.limits);
  bench.build(problem);
  REQUIRE(problem.count() == 2);
  for (const double size : {1.0, 1e3, 1e6, 1e9, 1e12}) {
    const Vec3 p[2] = {Vec3(size, 0, 0), Vec3(size, 0, 0)};  // the ball stays, both walls go through it
    CHECK(residual_of(problem, p) > 1e-7);
  }
  ContactSolver solver(*bench.model, bench.limits);
  std::vector<Vec3> p(2, Vec3::Zero());
  std::vector<double> u(problem.half_size());
  SolverWork work;
  const SolverReport report = solver.solve(problem, 0, p.data(), u.data(), work);
  CHECK(report.failures == 1);
  CHECK(report.residual > 1e-9);
}

}  // namespace tactus
