// The two integrators against closed forms, their order of convergence, and what must be conserved.
#include "core/dynamics/integrator.h"

#include <vector>

#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

// A linear spring on every body's mass centre to the origin of W, and nothing else.
class Spring final : public ForceLaw {
 public:
  Spring(const Model& model, double stiffness) : model_(model), stiffness_(stiffness) {}
  void evaluate(const double* q, const double*, SpatialForce* F) noexcept override {
    for (std::size_t b = 0; b < model_.bodies.size(); ++b) {
      F[b].force = -stiffness_ * Vec3(q[7 * b], q[7 * b + 1], q[7 * b + 2]);
      F[b].torque.setZero();
    }
  }

 private:
  const Model& model_;
  double stiffness_;
};

// One model, its state and what the integrators need; forces from a spring (stiffness may be 0).
struct Bench {
  std::unique_ptr<Model> model;
  State state;
  Kinematics kinematics;
  Arena arena{1 << 20};
  double stiffness = 0;

  explicit Bench(Scene scene) : model(std::move(scene.model)) {
    finish_model(*model);
    state = initial_state(*model, 4);
    resize(*model, kinematics);
  }
  void advance(Integrator integrator, double h, int steps) {
    Spring spring(*model, stiffness);
    std::vector<SpatialForce> F(model->bodies.size());
    for (int i = 0; i < steps; ++i) {
      arena.reset();
      if (integrator == Integrator::rk4) {
        rk4(*model, model->parameters, h, spring, arena, state);
      } else {
        compute_kinematics(*model, state, kinematics);
        spring.evaluate(state.q.data(), state.v.data(), F.data());
        semi_implicit_euler(*model, model->parameters, kinematics, state.time, h, F.data(), state);
      }
      state.time += h;
    }
  }
};

Scene free_body(const Vec3& half, const Vec3& w_WB, const Vec3& v_WB = Vec3::Zero()) {
  Scene scene;
  scene.set_gravity(Vec3::Zero());
  scene.add(make_box(half), 3.0, {test::turned({1, 2, 3}, 0.7), Vec3(0.2, -0.1, 0.4)}, {w_WB, v_WB});
  return scene;
}

const Vec3 kBrick(0.3, 0.2, 0.05);

TEST_CASE("integrator: free fall is the parabola (RK4) and its discrete sum (semi-implicit)") {
  const double h = 1e-3, t = 1.0;
  const Vec3 g(0.3, -0.2, -9.81), v0(1, 2, 3);
  for (const Integrator integrator : {Integrator::semi_implicit_euler, Integrator::rk4}) {
    Scene scene = free_body(kBrick, Vec3::Zero(), v0);
    scene.set_gravity(g);
    Bench bench(std::move(scene));
    const Vec3 p0 = bench.state.p_WBcm(0);
    bench.advance(integrator, h, 1000);
    // Semi-implicit: sum of h (v0 + k h g), k = 1..n, so t + h stands for one t.
    const double tt = integrator == Integrator::rk4 ? t * t : t * (t + h);
    CHECK_WITHIN((bench.state.p_WBcm(0) - (p0 + v0 * t + 0.5 * g * tt)).norm(), 1e-12);
    CHECK_WITHIN((bench.state.v_WBcm(0) - (v0 + g * t)).norm(), 1e-12);
  }
}

TEST_CASE("integrator: gravity scale acts on its body only") {
  Scene scene;
  for (const double scale : {1.0, 0.0, -0.5}) {
    const BodyIndex b = scene.add(make_sphere(0.1), 1, test::at(scale, 0, 0));
    scene.model->bodies[b].gravity_scale = scale;
  }
  Bench bench(std::move(scene));
  bench.advance(Integrator::semi_implicit_euler, 1e-3, 1000);
  CHECK_WITHIN(bench.state.v_WBcm(0).z() + 9.81, 1e-12);
  CHECK_WITHIN(bench.state.v_WBcm(1).norm(), 0.0);
  CHECK_WITHIN(bench.state.v_WBcm(2).z() - 4.905, 1e-12);
}

TEST_CASE("integrator: torque-free tumbling keeps angular momentum to rounding with semi-implicit Euler") {
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    Scene scene = free_body(kBrick, random.direction() * random.log_uniform(1e-2, 30));
    scene.model->bodies[0].I_BBcm = random.inertia(3.0, 0.5);
    Bench bench(std::move(scene));
    const Vec3 L = test::momentum(*bench.model, bench.state).angular;
    bench.advance(Integrator::semi_implicit_euler, 1e-3, 5000);
    CHECK_WITHIN((test::momentum(*bench.model, bench.state).angular - L).norm() / L.norm(), 1e-10);
  }
}

// Largest relative change of kinetic energy over one second.
double energy_drift(Integrator integrator, double h, const Vec3& w) {
  Bench bench(free_body(kBrick, w));
  const double start = kinetic_energy(*bench.model, bench.state);
  double worst = 0;
  for (int i = 0; i < std::lround(1 / h); ++i) {
    bench.advance(integrator, h, 1);
    worst = std::max(worst, std::abs(kinetic_energy(*bench.model, bench.state) / start - 1));
  }
  return worst;
}

TEST_CASE("integrator: energy of tumbling drifts with the second power of the step, RK4 with the fourth or better") {
  // About the middle axis, where the motion is unstable (Dzhanibekov) and every error shows.
  const Vec3 w = test::turned({1, 2, 3}, 0.7) * Vec3(0.05, 9.0, 0.02);
  const double coarse = energy_drift(Integrator::semi_implicit_euler, 2e-3, w);
  const double fine = energy_drift(Integrator::semi_implicit_euler, 1e-3, w);
  CHECK(coarse / fine > 3.5);
  CHECK_WITHIN(fine, 1e-4);
  CHECK(energy_drift(Integrator::rk4, 8e-3, w) / energy_drift(Integrator::rk4, 4e-3, w) > 14);
}

TEST_CASE("integrator: a symmetric top precesses about its angular momentum at |L| / I1") {
  // A disc, spun about its own axis and across: closed form of Euler's equations.
  const Vec3 w0(0.4, 0, 5.0);
  const auto top = [&] {
    Scene scene;
    scene.set_gravity(Vec3::Zero());
    scene.add(make_cylinder(0.2, 0.02), 2, Pose{}, {w0, Vec3::Zero()});
    return Bench(std::move(scene));
  };
  const BodyIndex b = 0;
  const Mat3 I = top().model->bodies[b].I_BBcm;
  const Vec3 L = I * w0, axis0 = Vec3::UnitZ();
  const double t = 2.0;
  const Vec3 axis = Eigen::AngleAxisd(t * L.norm() / I(0, 0), L.normalized()) * axis0;
  Bench fine = top();
  fine.advance(Integrator::rk4, 1e-3, 2000);
  CHECK_WITHIN((fine.state.q_WB(b) * axis0 - axis).norm(), 1e-9);
  Bench coarse = top();  // exact with any step
  coarse.advance(Integrator::semi_implicit_euler, 0.02, 100);
  CHECK_WITHIN((coarse.state.q_WB(b) * axis0 - axis).norm(), 1e-12);
}

TEST_CASE("integrator: thin bodies that turn fast keep their energy, whatever spins about the thin axis") {
  Random random(7);
  for (int i = 0; i < 30; ++i) {
    // 1 m by 2 to 10 mm, up to 48 rad a step about its own axis; boxes of unequal sides and round rods.
    const double thin = random.log_uniform(1e-3, 5e-3), wide = i % 2 == 0 ? thin : thin * random.uniform(1, 2);
    Bench bench(free_body(Vec3(wide, thin, 0.5), Vec3::Zero()));
    const double own = random.uniform(0, 0.3 / thin);
    const double across = random.uniform(20, 300);
    const Vec3 w_B(across, 0.1 * across, i % 2 == 0 ? 100 * own : own);
    bench.state.set_velocity(0, Vec3::Zero(), bench.state.q_WB(0) * w_B);
    const double start = kinetic_energy(*bench.model, bench.state);
    const Vec3 L = test::momentum(*bench.model, bench.state).angular;
    double worst = 0;
    for (int k = 0; k < 2000; ++k) {
      bench.advance(Integrator::semi_implicit_euler, 1e-3, 1);
      worst = std::max(worst, std::abs(kinetic_energy(*bench.model, bench.state) / start - 1));
    }
    CAPTURE(i);
    CHECK_WITHIN(worst, i % 2 == 0 ? 1e-9 : 0.02);
    CHECK_WITHIN((test::momentum(*bench.model, bench.state).angular - L).norm() / L.norm(), 1e-10);
  }
}

// Error after one second on a spring of 1.3 Hz and while tumbling.
double error_of(Integrator integrator, int steps) {
  const auto after = [](Integrator kind, int n) {
    Bench bench(free_body(kBrick, Vec3(1, 4, 2), Vec3(0.5, 0, -1)));
    bench.stiffness = 200;
    bench.advance(kind, 1.0 / n, n);
    return std::pair(bench.state.p_WBcm(0), bench.state.q_WB(0));
  };
  static const auto exact = after(Integrator::rk4, 4000);
  const auto found = after(integrator, steps);
  return (found.first - exact.first).norm() + found.second.angularDistance(exact.second);
}

TEST_CASE("integrator: halving the step divides the error by 2 (semi-implicit) and by 16 (RK4)") {
  const double euler = error_of(Integrator::semi_implicit_euler, 200) / error_of(Integrator::semi_implicit_euler, 400);
  CHECK(euler == doctest::Approx(2).epsilon(0.1));
  const double runge = error_of(Integrator::rk4, 50) / error_of(Integrator::rk4, 100);
  CHECK(runge == doctest::Approx(16).epsilon(0.15));
}

TEST_CASE("integrator: a kinematic body follows its sine exactly and never drifts") {
  const Vec3 amplitude(0.1, 0, 0.3), turn(0, 0, 0.5);
  const double f = 1.5, h = 1e-3;
  for (const Integrator integrator : {Integrator::semi_implicit_euler, Integrator::rk4}) {
    Scene scene;
    const BodyIndex b = scene.add(make_sphere(0.1), 1, test::at(1, 2, 3), {}, 0, BodyMode::kinematic);
    scene.model->bodies[b].motion = {amplitude, turn, f};
    Bench bench(std::move(scene));
    double worst = 0;
    for (int i = 1; i <= 20000; ++i) {
      bench.advance(integrator, h, 1);
      const double s = std::sin(2 * M_PI * f * i * h);
      const Vec3 p = Vec3(1, 2, 3) + amplitude * s;
      const Quat q(Eigen::AngleAxisd(turn.norm() * s, turn.normalized()));
      worst = std::max(worst, (bench.state.p_WBcm(b) - p).norm() + bench.state.q_WB(b).angularDistance(q));
    }
    // RK4's quaternion rate turns by h w only to fourth order: 20,000 steps of rotation at up to 5 rad/s.
    CHECK_WITHIN(worst, integrator == Integrator::rk4 ? 1e-8 : 1e-7);
  }
}

TEST_CASE("integrator: a kinematic body of constant velocity moves as given, forces and gravity do not touch it") {
  for (const Integrator integrator : {Integrator::semi_implicit_euler, Integrator::rk4}) {
    Scene scene;
    const Vec3 v(0.5, -1, 0.25);
    const BodyIndex b = scene.add(make_sphere(0.1), 1, test::at(1, 0, 0), {Vec3(0, 0, 2), v}, 0, BodyMode::kinematic);
    Bench bench(std::move(scene));
    bench.stiffness = 1000;
    bench.advance(integrator, 1e-3, 1000);
    CHECK_WITHIN((bench.state.p_WBcm(b) - (Vec3(1, 0, 0) + v)).norm(), 1e-12);
    CHECK_WITHIN(bench.state.q_WB(b).angularDistance(test::turned(Vec3::UnitZ(), 2.0)), 1e-9);
  }
}

TEST_CASE("integrator: a fixed and a frozen body stay where they are, to the bit") {
  for (const Integrator integrator : {Integrator::semi_implicit_euler, Integrator::rk4}) {
    Scene scene;
    scene.add(make_sphere(0.1), 1, test::at(1, 2, 3), {}, 0, BodyMode::fixed);
    scene.add(make_box(kBrick), 1, {test::turned({3, 2, 1}, 1.0), Vec3(4, 5, 6)});
    Bench bench(std::move(scene));
    bench.stiffness = 1000;
    bench.state.frozen[1] = 1;
    const std::vector<double> q = bench.state.q;
    bench.advance(integrator, 1e-3, 100);
    for (std::size_t i = 0; i < q.size(); ++i) CHECK_WITHIN(bench.state.q[i] - q[i], 2e-16 * std::abs(q[i]));
  }
}

TEST_CASE("integrator: a planar world stays in its plane whatever pushes") {
  for (const Integrator integrator : {Integrator::semi_implicit_euler, Integrator::rk4}) {
    Scene scene;
    scene.model->planar = true;
    scene.set_gravity({1, -9.81, 5});
    const BodyIndex b = scene.add(make_box(kBrick), 2, test::at(0.5, 0.2, 0), {Vec3(0, 0, 3), Vec3(1, 0, 0)});
    Bench bench(std::move(scene));
    bench.stiffness = 50;
    bench.advance(integrator, 1e-3, 1000);
    CHECK_WITHIN(bench.state.p_WBcm(b).z(), 0);
    CHECK_WITHIN(bench.state.v_WBcm(b).z(), 0);
    CHECK_WITHIN(bench.state.w_WB(b).head<2>().norm(), 0);
    CHECK_WITHIN(bench.state.w_WB(b).z() - 3, 1e-12);
    CHECK_WITHIN(bench.state.q_WB(b).angularDistance(test::turned(Vec3::UnitZ(), 3.0)), 1e-9);
    CHECK(bench.state.v_WBcm(b).head<2>().norm() > 0.1);
  }
}

TEST_CASE("integrator: orientations stay unit quaternions") {
  Bench bench(free_body(kBrick, Vec3(20, 30, -10)));
  for (const Integrator integrator : {Integrator::semi_implicit_euler, Integrator::rk4}) {
    bench.advance(integrator, 1e-3, 5000);
    CHECK_WITHIN(bench.state.q_WB(0).norm() - 1, 4e-16);
  }
}

}  // namespace
}  // namespace tactus
