// Equations of motion of random trees: RNEA, CRBA with the sparse factor, and ABA are three ways to the same thing, and
// each term is what its definition says.
#include "tests/support/algebra.h"
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

const Vec3 kG(0.7, -0.4, -9.81);

double relative(const Vector& x, const Vector& reference) {
  return x.size() == 0 ? 0 : (x - reference).norm() / std::max(reference.norm(), 1e-3);
}

void set_moving_carrier(RobotBench& bench, Random& random) {
  const Vec3 a = random.in_cube(2);
  const Vec3 alpha = random.in_cube(2);
  if (bench.model->bodies[0].mode == BodyMode::kinematic)
    bench.tree->set_carrier_acceleration(bench.state, 0, a, alpha);
}

// Of M scaled to a unit diagonal: what no choice of units removes.
double condition_number(const Matrix& M) {
  const Vector scale = M.diagonal().cwiseSqrt().cwiseInverse();
  const Matrix scaled = scale.asDiagonal() * M * scale.asDiagonal();
  const Vector eigenvalues = test::symmetric_eigenvalues(scaled);
  return eigenvalues.maxCoeff() / eigenvalues.minCoeff();
}

// Forces to 1e-10 always; accelerations to 1e-10 or, where M's condition number is over 1e6 (up to 3e7 in these random
// trees), to half the rounding unit times that number, the most that any way of solving can promise.
TEST_CASE("tree: ABA, the factored mass matrix, and the inverse of RNEA agree") {
  for_random_robots(1000, 200, false, [](RobotBench& bench, Random& random) {
    Tree& tree = *bench.tree;
    set_moving_carrier(bench, random);
    const auto F = bench.random_forces(random);
    const Vector tau = random_vector(random, bench.n(), 5);
    Vector a(bench.n()), back(bench.n()), b(bench.n());
    tree.forward_dynamics(kG, tau.data(), F.data(), a.data());
    tree.inverse_dynamics(kG, a.data(), F.data(), back.data());
    CHECK_WITHIN((back - tau).norm() / (tau.norm() + bench.bias(kG).norm() + 1e-3), 1e-10);
    tree.inverse_dynamics(kG, nullptr, F.data(), b.data());
    REQUIRE(tree.factor(nullptr));
    Vector by_factor = tau - b;
    tree.solve(by_factor.data());
    Vector Ma(bench.n());
    tree.times_mass(by_factor.data(), Ma.data());
    CHECK_WITHIN(relative(Ma, tau - b), 1e-10);
    if (bench.n() == 0) return;
    CHECK_WITHIN(relative(by_factor, a), 1e-10 * std::max(1.0, condition_number(bench.mass()) / 1e6));
  });
}

TEST_CASE("tree: RNEA is M a + bias - sum J^T F, mimics included") {
  for_random_robots(2000, 200, true, [](RobotBench& bench, Random& random) {
    Tree& tree = *bench.tree;
    const auto F = bench.random_forces(random);
    const Vector a = random_vector(random, bench.n(), 5);
    Vector tau(bench.n()), Ma(bench.n()), JF = Vector::Zero(bench.n());
    tree.inverse_dynamics(kG, a.data(), F.data(), tau.data());
    tree.times_mass(a.data(), Ma.data());
    for (std::uint32_t i = 0; i < tree.link_count(); ++i) {
      tree.add_force(i, F[bench.model->joints[i].child], JF.data());
    }
    CHECK_WITHIN(relative(Ma + bench.bias(kG) - JF, tau), 1e-12);
    CHECK_WITHIN(relative(bench.mass() * a, Ma), 1e-13);
  });
}

// J of each link by central differences of its pose, four points; nothing of the Tree's Jacobians or inertias enters.
TEST_CASE("tree: M is sum J^T I J of the links plus the armatures, symmetric and positive definite") {
  for_random_robots(3000, 40, true, [](RobotBench& bench, Random&) {
    const double t = 1e-3;
    const State state = bench.state;
    const Eigen::Index n = bench.n();
    const Matrix M = bench.mass();
    std::vector<Matrix> J(bench.model->bodies.size(), Matrix::Zero(6, n));
    for (Eigen::Index d = 0; d < n; ++d) {
      for (const int step : {-2, -1, 1, 2}) {
        const double weight = (std::abs(step) == 1 ? 8.0 : -1.0) * (step > 0 ? 1 : -1) / (12 * t);
        bench.state = state;
        Vector rate = Vector::Zero(n);
        rate[d] = 1;
        integrate_joints(*bench.model, bench.tree->robot(), step * t, rate.data(), bench.state.joint_q.data());
        bench.update();
        for (const Joint& joint : bench.model->joints) {
          const BodyIndex b = joint.child;
          const Mat3 W = bench.state.q_WB(b).toRotationMatrix() * state.q_WB(b).toRotationMatrix().transpose();
          J[b].col(d).head<3>() += weight * bench.state.p_WBcm(b);
          J[b].col(d).tail<3>() += weight * 0.5 * Vec3(W(2, 1) - W(1, 2), W(0, 2) - W(2, 0), W(1, 0) - W(0, 1));
        }
      }
    }
    Matrix sum = Matrix::Zero(n, n);
    for (const Joint& joint : bench.model->joints) {
      const Body& body = bench.model->bodies[joint.child];
      const Mat3 R = state.q_WB(joint.child).toRotationMatrix();
      const Matrix Jv = J[joint.child].topRows(3), Jw = J[joint.child].bottomRows(3);
      sum += body.mass * Jv.transpose() * Jv + Jw.transpose() * (R * body.I_BBcm * R.transpose()) * Jw;
      const double gear = joint.mimic == kNone ? 1 : joint.multiplier;
      for (std::uint32_t k = 0; k < velocity_count(joint.kind); ++k) {
        sum(joint.first_v + k, joint.first_v + k) += gear * gear * joint.armature;
      }
    }
    if (n == 0) return;
    CHECK_WITHIN((M - sum).cwiseAbs().maxCoeff() / sum.cwiseAbs().maxCoeff(), 1e-9);
    CHECK(M == M.transpose());
    CHECK(test::is_positive_definite(M));
  });
}

// d/dt of each link's momentum along the motion v' = 0 is what the links' forces must give: bias without gravity is
// sum J^T d/dt(momentum). Finds every S' and gyroscopic term, with carriers moving on.
TEST_CASE("tree: velocity-product forces are the rates of momentum along v' = 0") {
  for_random_robots(4000, 80, true, [](RobotBench& bench, Random&) {
    const double t = 1e-4;
    const State state = bench.state;
    const Vector v = bench.v(), bias = bench.bias(Vec3::Zero());
    const auto links = bench.model->joints.size();
    std::vector<Matrix> J;
    for (std::uint32_t i = 0; i < links; ++i) J.push_back(bench.jacobian(i, bench.tree->p_WBcm(i)));
    std::vector<Vector> rate(links, Vector::Zero(6));
    for (const int step : {-2, -1, 1, 2}) {
      const double weight = (std::abs(step) == 1 ? 8.0 : -1.0) * (step > 0 ? 1 : -1) / (12 * t);
      bench.state = state;
      bench.move(step * t, v);
      bench.update();
      for (std::uint32_t i = 0; i < links; ++i) {
        const BodyIndex b = bench.model->joints[i].child;
        const Mat3 R = bench.state.q_WB(b).toRotationMatrix();
        const Body& body = bench.model->bodies[b];
        rate[i].head<3>() += weight * body.mass * bench.state.v_WBcm(b);
        rate[i].tail<3>() += weight * (R * (body.I_BBcm * (R.transpose() * bench.state.w_WB(b))));
      }
    }
    Vector sum = Vector::Zero(bench.n());
    for (std::uint32_t i = 0; i < links; ++i) sum += J[i].transpose() * rate[i];
    CHECK_WITHIN(relative(bias, sum), 1e-8);
  });
}

TEST_CASE("tree: gravity's part of the bias is the gradient of the potential, with each body's gravity_scale") {
  for_random_robots(5000, 40, true, [](RobotBench& bench, Random& random) {
    for (Body& body : bench.model->bodies) body.gravity_scale = random.uniform(-1, 2);
    bench.tree = std::make_unique<Tree>(*bench.model, 0);
    bench.update();
    const Vector gravity = bench.bias(kG) - bench.bias(Vec3::Zero());
    const State state = bench.state;
    const double t = 1e-5;
    for (Eigen::Index d = 0; d < bench.n(); ++d) {
      Vector rate = Vector::Zero(bench.n());
      rate[d] = 1;
      double energy[2];
      for (const int side : {0, 1}) {
        bench.state = state;
        integrate_joints(*bench.model, bench.tree->robot(), side == 0 ? -t : t, rate.data(),
                         bench.state.joint_q.data());
        bench.update();
        energy[side] = bench.tree->potential_energy(kG);
      }
      CHECK_WITHIN((energy[1] - energy[0]) / (2 * t) - gravity[d], 1e-6 * (1 + gravity.cwiseAbs().maxCoeff()));
    }
  });
}

// With v = G v' for the robot whose mimics are joints of their own: M = G^T M G, bias = G^T bias (G is constant).
TEST_CASE("tree: a mimic is a constraint on the robot without mimics") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(6000 + seed), again(6000 + seed);
    test::RobotOptions options;
    options.base = static_cast<test::Base>(seed % 4);
    options.mimic = 0.6;
    options.armature = seed % 2 == 0;
    RobotBench bench(random, options);
    test::Scene scene = test::random_robot(again, options);
    for (Joint& joint : scene.model->joints) joint.mimic = kNone;
    RobotBench open(std::move(scene));
    Matrix G = Matrix::Zero(open.n(), bench.n());
    for (std::size_t j = 0; j < bench.model->joints.size(); ++j) {
      const Joint &joint = bench.model->joints[j], &free = open.model->joints[j];
      const bool is_mimic = joint.mimic != kNone;
      for (std::uint32_t k = 0; k < velocity_count(joint.kind); ++k) {
        G(free.first_v + k, joint.first_v + k) = is_mimic ? joint.multiplier : 1;
      }
      for (std::uint32_t k = 0; k < position_count(joint.kind); ++k) {
        const double q = bench.state.joint_q[joint.first_q + k];
        open.state.joint_q[free.first_q + k] = is_mimic ? joint.multiplier * q + joint.offset : q;
      }
    }
    open.set_v(G * bench.v());
    open.update();
    const Matrix M = G.transpose() * open.mass() * G;
    if (bench.n() == 0) continue;
    CHECK_WITHIN((bench.mass() - M).cwiseAbs().maxCoeff() / M.cwiseAbs().maxCoeff(), 1e-12);
    CHECK_WITHIN(relative(bench.bias(kG), G.transpose() * open.bias(kG)), 1e-11);
  }
}

}  // namespace
}  // namespace tactus
