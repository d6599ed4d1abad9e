// Trees against closed forms of mechanics, and what every motion must keep.
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Base;
using test::Random;
using test::random_vector;
using test::RobotBench;
using Vector = RobotBench::Vector;
using Matrix = RobotBench::Matrix;

const Vec3 kDown(0, -9.81, 0);

// v' of the bench's own state under tau and gravity.
Vector acceleration(RobotBench& bench, const Vec3& gravity_W, const Vector& tau,
                    const SpatialForce* F_Bcm_W = nullptr) {
  Vector a(bench.n());
  bench.update();
  bench.tree->inverse_dynamics(gravity_W, nullptr, F_Bcm_W, a.data());
  REQUIRE(bench.tree->factor(nullptr));
  a = tau - a;
  bench.tree->solve(a.data());
  return a;
}

// Explicit midpoint rule, second order.
void step(RobotBench& bench, const Vec3& gravity_W, double h) {
  const State start = bench.state;
  const Vector none = Vector::Zero(bench.n()), v = bench.v();
  const Vector v_mid = v + 0.5 * h * acceleration(bench, gravity_W, none);
  bench.move(0.5 * h, v);
  bench.set_v(v_mid);
  const Vector a_mid = acceleration(bench, gravity_W, none);
  bench.state = start;
  bench.move(h, v_mid);
  bench.set_v(v + h * a_mid);
  bench.update();
}

// A rod of two links about z in the x-y plane; gravity along -y. Masses, centres and inertias as in textbooks.
struct DoublePendulum {
  double m1 = 1.3, m2 = 0.7, l1 = 0.8, c1 = 0.45, c2 = 0.31, I1 = 0.11, I2 = 0.05;
  [[nodiscard]] RobotBench bench(int links) const {
    test::Scene scene;
    Model& model = *scene.model;
    test::add_robot(model, "pendulum");
    const BodyIndex upper = test::add_link(model, m1, I1 * Mat3::Identity(), Vec3(c1, 0, 0));
    test::add_joint(model, JointKind::revolute, kNone, upper);
    if (links == 2) {
      const BodyIndex lower = test::add_link(model, m2, I2 * Mat3::Identity(), Vec3(c2, 0, 0));
      test::add_joint(model, JointKind::revolute, upper, lower, test::at(l1, 0, 0));
    }
    return RobotBench(std::move(scene));
  }
};

// Swing from rest at theta: T = 2 pi sqrt(I/(m g c)) / agm(1, cos(theta/2)), the complete elliptic integral.
TEST_CASE("tree: a pendulum's period at small and at large angles") {
  const DoublePendulum p;
  for (const double theta : {1e-3, 1.0, 2.5}) {
    RobotBench bench = p.bench(1);
    bench.state.joint_q[0] = -M_PI / 2 + theta;
    double a = 1, b = std::cos(0.5 * theta);
    for (int i = 0; i < 8; ++i) {
      const double mean = 0.5 * (a + b);
      b = std::sqrt(a * b);
      a = mean;
    }
    const double period = 2 * M_PI * std::sqrt((p.I1 + p.m1 * p.c1 * p.c1) / (p.m1 * 9.81 * p.c1)) / a;
    const double h = 1e-4;
    double t = 0;
    for (; bench.state.joint_q[0] > -M_PI / 2; t += h) step(bench, kDown, h);
    t -= (bench.state.joint_q[0] + M_PI / 2) / bench.state.joint_v[0];
    CHECK_WITHIN(4 * t / period - 1, 1e-6);  // of the midpoint rule: h^2 times the square of the frequency
  }
}

TEST_CASE("tree: a double pendulum has the textbook's mass matrix, velocity products and gravity") {
  const DoublePendulum p;
  RobotBench bench = p.bench(2);
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    test::randomise_joints(*bench.model, random, 3, bench.state);
    bench.update();
    const double q1 = bench.state.joint_q[0], q2 = bench.state.joint_q[1];
    const double v1 = bench.state.joint_v[0], v2 = bench.state.joint_v[1];
    const double coupling = p.m2 * p.l1 * p.c2, low = p.I2 + p.m2 * p.c2 * p.c2;
    Matrix M(2, 2);
    M(0, 0) = p.I1 + p.m1 * p.c1 * p.c1 + low + p.m2 * p.l1 * p.l1 + 2 * coupling * std::cos(q2);
    M(0, 1) = M(1, 0) = low + coupling * std::cos(q2);
    M(1, 1) = low;
    const double lever = p.m2 * p.c2 * 9.81 * std::cos(q1 + q2);
    Vector bias(2);
    bias[0] =
        -coupling * std::sin(q2) * (2 * v1 * v2 + v2 * v2) + (p.m1 * p.c1 + p.m2 * p.l1) * 9.81 * std::cos(q1) + lever;
    bias[1] = coupling * std::sin(q2) * v1 * v1 + lever;
    CHECK_WITHIN((bench.mass() - M).norm(), 1e-14);
    CHECK_WITHIN((bench.bias(kDown) - bias).norm(), 1e-13);
  }
}

// A body on a ball joint, mass centre off the pivot: I_pivot w' + w x I_pivot w = r x m g, Euler's equations.
TEST_CASE("tree: a spherical joint obeys Euler's equations") {
  for (int i = 0; i < 50; ++i) {
    Random random(100 + static_cast<std::uint64_t>(i));
    test::Scene scene;
    Model& model = *scene.model;
    test::add_robot(model, "top");
    const BodyIndex link = test::random_link(model, random);
    const Pose X_PF = test::random_pose(random, 1);
    test::add_joint(model, JointKind::spherical, kNone, link, X_PF);
    RobotBench bench(std::move(scene));
    test::randomise_joints(*bench.model, random, 5, bench.state);
    const Vector tau = random_vector(random, 3, 1);
    const Vector a = acceleration(bench, kDown, tau);
    const Body& body = bench.model->bodies[link];
    const Mat3 R = bench.state.q_WB(link).toRotationMatrix();
    const Vec3 r = body.p_BBcm, w = R.transpose() * bench.state.w_WB(link);
    const Mat3 I = body.I_BBcm + body.mass * (r.squaredNorm() * Mat3::Identity() - r * r.transpose());
    const Vec3 moment = r.cross(body.mass * (R.transpose() * kDown)) + R.transpose() * (X_PF.q * Vec3(tau));
    const Vec3 w_rate = X_PF.q * Vec3(a);
    CHECK_WITHIN((I * (R.transpose() * w_rate) + w.cross(I * w) - moment).norm(), 1e-12);
  }
}

TEST_CASE("tree: a robot of one floating link is a rigid body") {
  for (int i = 0; i < 50; ++i) {
    Random random(200 + static_cast<std::uint64_t>(i));
    test::RobotOptions options;
    options.base = Base::floating;
    options.joints = 1;
    RobotBench bench(random, options);
    const auto F = bench.random_forces(random);
    const Body& body = bench.model->bodies[0];
    const Vector a = acceleration(bench, kDown, Vector::Zero(6), F.data());
    const Mat3 R = bench.state.q_WB(0).toRotationMatrix(), R_WF = bench.model->joints[0].X_PF.q.toRotationMatrix();
    const Mat3 I = R * body.I_BBcm * R.transpose();
    const Vec3 w = bench.state.w_WB(0), r = R * body.p_BBcm;
    const Vec3 w_rate = R_WF * a.tail<3>();
    // v' is of B's origin; the mass centre's follows from it.
    const Vec3 centre = R_WF * a.head<3>() + w_rate.cross(r) + w.cross(w.cross(r));
    CHECK_WITHIN((body.mass * (centre - kDown) - F[0].force).norm(), 1e-11);
    CHECK_WITHIN((I * w_rate + w.cross(I * w) - F[0].torque).norm(), 1e-11);
  }
}

// Central differences (four points) of f along the motion.
template <typename Function>
auto rate_along(RobotBench& bench, const Vector& a, double t, const Function& f) {
  const State state = bench.state;
  const Vector v = bench.v();
  decltype(f()) rate = 0 * f();
  for (const int k : {-2, -1, 1, 2}) {
    const double weight = (std::abs(k) == 1 ? 8.0 : -1.0) * (k > 0 ? 1 : -1) / (12 * t);
    bench.state = state;
    bench.move(k * t, v + 0.5 * k * t * a);
    bench.set_v(v + k * t * a);
    bench.update();
    rate += weight * f();
  }
  bench.state = state;
  bench.update();
  return rate;
}

TEST_CASE("tree: energy changes by the power of drives and outer forces, mimics included") {
  for (int i = 0; i < 60; ++i) {
    Random random(300 + static_cast<std::uint64_t>(i));
    test::RobotOptions options;
    options.base = i % 3 == 0 ? Base::world : i % 3 == 1 ? Base::fixed_body : Base::floating;
    options.mimic = i % 2 == 0 ? 0.4 : 0;
    options.joints = 8;
    RobotBench bench(random, options, 1);
    if (bench.n() == 0) continue;
    const Vector tau = random_vector(random, bench.n(), 2);
    const auto F = bench.random_forces(random);
    const Vector a = acceleration(bench, kDown, tau, F.data());
    double power = tau.dot(bench.v());
    for (const Joint& joint : bench.model->joints) {
      power += F[joint.child].force.dot(bench.state.v_WBcm(joint.child)) +
               F[joint.child].torque.dot(bench.state.w_WB(joint.child));
    }
    // Light dofs are fast: the step follows them.
    const double t = 2e-4 / (1 + std::sqrt(a.norm()));
    const double rate =
        rate_along(bench, a, t, [&] { return bench.tree->kinetic_energy() + bench.tree->potential_energy(kDown); });
    CHECK_WITHIN((rate - power) / (1 + std::abs(power)), 1e-7);
    Vector u = bench.v();
    REQUIRE(bench.tree->factor(nullptr));
    bench.tree->to_half(u.data());
    CHECK_WITHIN(0.5 * u.squaredNorm() - bench.tree->kinetic_energy(), 1e-12 * (1 + u.squaredNorm()));
  }
}

TEST_CASE("tree: inner forces change no momentum, outer ones by what they are") {
  for (int i = 0; i < 60; ++i) {
    Random random(400 + static_cast<std::uint64_t>(i));
    test::RobotOptions options;
    options.base = Base::floating;
    options.mimic = i % 2 == 0 ? 0.4 : 0;
    options.joints = 8;
    RobotBench bench(random, options, 1);
    Vector tau = random_vector(random, bench.n(), 2);
    tau.head(6).setZero();
    const auto F = bench.random_forces(random);
    const Vector a = acceleration(bench, kDown, tau, F.data());
    const Tree::Momentum now = bench.tree->momentum();
    Vec3 force = now.mass * kDown, moment = Vec3::Zero();
    for (const Joint& joint : bench.model->joints) {
      force += F[joint.child].force;
      moment += F[joint.child].torque + (bench.state.p_WBcm(joint.child) - now.p_WC).cross(F[joint.child].force);
    }
    const double t = 2e-4 / (1 + std::sqrt(a.norm()));
    const Vec3 P = rate_along(bench, a, t, [&] { return bench.tree->momentum().linear_W; });
    const Vec3 L = rate_along(bench, a, t, [&] { return bench.tree->momentum().angular_C; });
    const Vec3 v_C = rate_along(bench, a, t, [&] { return bench.tree->momentum().p_WC; });
    CHECK_WITHIN((P - force).norm() / (1 + force.norm()), 1e-7);
    CHECK_WITHIN((L - moment).norm() / (1 + moment.norm()), 1e-7);
    CHECK_WITHIN((now.mass * v_C - now.linear_W).norm() / (1 + now.linear_W.norm()), 1e-7);
  }
}

// The sums over the tree are the sums over its links.
TEST_CASE("tree: energy and momentum are the sums over the links") {
  test::for_random_robots(500, 60, true, [](RobotBench& bench, Random&) {
    for (Joint& joint : bench.model->joints) joint.armature = 0;
    bench.tree = std::make_unique<Tree>(*bench.model, 0);
    bench.update();
    double kinetic = 0, mass = 0;
    Vec3 P = Vec3::Zero(), L = Vec3::Zero(), moment = Vec3::Zero();
    for (const Joint& joint : bench.model->joints) {
      const BodyIndex b = joint.child;
      const Body& body = bench.model->bodies[b];
      const Mat3 R = bench.state.q_WB(b).toRotationMatrix(), I = R * body.I_BBcm * R.transpose();
      const Vec3 v = bench.state.v_WBcm(b), w = bench.state.w_WB(b), p = bench.state.p_WBcm(b);
      kinetic += 0.5 * (body.mass * v.squaredNorm() + w.dot(I * w));
      mass += body.mass;
      moment += body.mass * p;
      P += body.mass * v;
      L += p.cross(body.mass * v) + I * w;
    }
    const Tree::Momentum sum = bench.tree->momentum();
    CHECK_WITHIN(bench.tree->kinetic_energy() - kinetic, 1e-13 * (1 + kinetic));
    CHECK_WITHIN((sum.p_WC - moment / mass).norm(), 1e-13);
    CHECK_WITHIN((sum.linear_W - P).norm(), 1e-13 * (1 + P.norm()));
    CHECK_WITHIN((sum.angular_C + sum.p_WC.cross(P) - L).norm(), 1e-13 * (1 + L.norm()));
  });
}

TEST_CASE("tree: a tumbling chain keeps energy and both momenta for a second, to the order of the midpoint rule") {
  double worst[2];
  for (const int run : {0, 1}) {
    Random random(42);
    test::RobotOptions options;
    options.base = Base::floating;
    options.joints = 5;
    options.kinds = {JointKind::revolute, JointKind::spherical, JointKind::planar};
    RobotBench bench(random, options, 0.5);
    const double h = run == 0 ? 4e-4 : 2e-4;
    const Tree::Momentum before = bench.tree->momentum();
    const double energy = bench.tree->kinetic_energy();
    for (double t = 0; t < 1 - 0.5 * h; t += h) step(bench, Vec3::Zero(), h);
    const Tree::Momentum after = bench.tree->momentum();
    worst[run] = std::abs(bench.tree->kinetic_energy() - energy) / energy;
    worst[run] = std::max(worst[run], (after.linear_W - before.linear_W).norm() / before.linear_W.norm());
    worst[run] = std::max(worst[run], (after.angular_C - before.angular_C).norm() / before.angular_C.norm());
  }
  CHECK_WITHIN(worst[1], 1e-5);
  CHECK(worst[1] < 0.3 * worst[0]);  // a quarter, and terms of higher order
}

}  // namespace
}  // namespace tactus
