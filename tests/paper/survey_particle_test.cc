// Baraff, "Non-penetrating Rigid Body Simulation" (1993), sections 2.1 and 4: a particle and a surface, Figures 1, 2
// and 4, and the penalty method's limit (Rubin & Ungar). The surface is a sphere, the particle a small ball without
// friction: its centre moves on a sphere of radius kRadius.
#include <vector>

#include "tests/paper/methods.h"
#include "tests/paper/paper_output.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Random;
using test::Scene;

constexpr double kRadius = 1, kBall = 0.01, kMass = 0.7;

// The ball at `angle` from the top, moving down along the surface.
Scene on_sphere(double angle, double speed, double h) {
  Scene scene(0);
  scene.add(make_sphere(kRadius - kBall), 1, test::at(0, 0, 0), {}, 0, BodyMode::fixed);
  const Vec3 out(std::sin(angle), 0, std::cos(angle)), down(std::cos(angle), 0, -std::sin(angle));
  scene.add(make_sphere(kBall), kMass, {Quat::Identity(), kRadius * out}, {Vec3::Zero(), speed * down});
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->step = h;
  test::keep_small(scene);
  return scene;
}

double angle_of(const World& world) {
  const Vec3 p = world.state().p_WBcm(1);
  return std::atan2(p.x(), p.z());
}

// The same particle held on the surface: C(x) = 0, a rod from the centre.
World held(double angle, double speed, double h) {
  Scene scene;
  test::add_robot(*scene.model, "rod");
  const BodyIndex rod = test::add_link(*scene.model, kMass, 1e-9 * Mat3::Identity(), Vec3(0, 0, kRadius));
  test::add_joint(*scene.model, JointKind::revolute, kNone, rod, {}, Vec3::UnitY());
  finish_robots(*scene.model);
  scene.model->joint_q0 = {angle};
  scene.model->joint_v0 = {speed / kRadius};
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->step = h;
  return scene.world();
}

double push_out(const World& world) {  // force of the surface on the ball, along its normal
  double sum = 0;
  for (std::uint32_t k = 0; k < world.contacts().point_count; ++k) {
    sum -= world.contact_force(k).dot(world.state().p_WBcm(1).normalized());
  }
  return sum;
}

// Angle at which the force vanishes: N = m (g cos - v^2 / R), v^2 = v0^2 + 2 g R (cos0 - cos).
double leaving_angle(double angle0, double speed0) {
  return std::acos(2.0 / 3.0 * std::cos(angle0) + speed0 * speed0 / (3 * kGravity * kRadius));
}

struct Slide {
  double left_at = 0;      // angle of the last step with a force
  double force_error = 0;  // worst, of m g, while it touches
  double pull = 0;         // most that the surface pulled
  double held_apart = 0;   // from the held particle, until the force vanishes [rad]
  double fall_error = 0;   // velocity after leaving, from that of free fall [m/s]
  std::uint32_t failures = 0;
};

Slide slide(double angle0, double speed0, double h, std::ofstream* csv) {
  World world = on_sphere(angle0, speed0, h).world(), rod = held(angle0, speed0, h);
  Slide out;
  bool left = false;
  Vec3 v_left = Vec3::Zero();
  double t_left = 0;
  const int every = std::max(1, static_cast<int>(1e-3 / h));
  for (int i = 0; i < static_cast<int>(0.9 / h); ++i) {
    const double speed = world.state().v_WBcm(1).norm(), angle = angle_of(world);
    out.failures += world.step().solver_failures;
    rod.step();
    const double force = push_out(world);
    const double closed = kMass * (kGravity * std::cos(angle) - speed * speed / kRadius);
    out.pull = std::max(out.pull, -force);
    if (csv != nullptr && i % every == 0) {
      *csv << world.state().time << ',' << angle_of(world) << ',' << rod.state().joint_q[0] << ',' << force << ','
           << closed << ',' << world.state().p_WBcm(1).norm() << '\n';
    }
    if (i < 2) continue;  // the first step knows nothing of the surface's curvature yet
    if (force > 0) {
      REQUIRE(!left);  // once it has left it does not come back
      out.left_at = angle_of(world);
      out.force_error = std::max(out.force_error, std::abs(force - closed) / (kMass * kGravity));
      out.held_apart = std::max(out.held_apart, std::abs(angle_of(world) - rod.state().joint_q[0]));
    } else if (!left) {
      left = true, v_left = world.state().v_WBcm(1), t_left = world.state().time;
    } else {
      const Vec3 free = v_left - (world.state().time - t_left) * kGravity * Vec3::UnitZ();
      out.fall_error = std::max(out.fall_error, (world.state().v_WBcm(1) - free).norm());
    }
  }
  CHECK(left);
  return out;
}

}  // namespace

TEST_CASE("Survey, Figure 1: a particle that may leave follows the held one until its force would pull, then falls") {
  auto csv = test::open_csv("survey_fig1.csv", "time_s,angle_rad,held_angle_rad,force_n,closed_form_n,distance_m");
  for (const double angle0 : {0.2, 0.5}) {
    for (const double speed0 : {0.0, 1.0}) {
      CAPTURE(angle0);
      CAPTURE(speed0);
      double last = 0;
      for (const double h : {1e-3, 1e-4}) {
        const Slide s = slide(angle0, speed0, h, angle0 == 0.5 && speed0 == 1 && h == 1e-4 ? &csv : nullptr);
        const double error = std::abs(s.left_at - leaving_angle(angle0, speed0));
        MESSAGE("h " << h << ": leaves at " << s.left_at << " rad, " << error << " off; force " << s.force_error
                     << " off, from the held one " << s.held_apart);
        CHECK(s.failures == 0);
        CHECK(s.pull == 0);
        CHECK_WITHIN(error, 20 * h);
        CHECK_WITHIN(s.force_error, 20 * h);
        CHECK_WITHIN(s.held_apart, 5 * h);
        CHECK_WITHIN(s.fall_error, 1e-10);
        if (last > 0) CHECK(s.force_error < last / 5);  // first order in h
        last = s.force_error;
      }
    }
  }
}

TEST_CASE("Survey, Figures 2 and 4: at rest f >= 0, a >= 0, f a = 0, and the force is what weight and push ask for") {
  auto csv = test::open_csv("survey_fig2_4.csv", "push_along_normal_n,force_n,acceleration_m_per_s2");
  Random random(1);
  const double h = 1e-3;
  int pushed = 0, left = 0;
  for (int k = 0; k < 1200; ++k) {
    const double angle = random.uniform(-1.4, 1.4);
    World world = on_sphere(angle, 0, h).world();
    const Vec3 n = world.state().p_WBcm(1).normalized(), F = random.in_cube(20);
    world.apply(1, {Vec3::Zero(), F});
    CHECK(world.step().solver_failures == 0);
    const double force = push_out(world), weight = kMass * kGravity * std::cos(angle);
    const Vec3 a = world.state().v_WBcm(1) / h;
    CHECK_WITHIN(force - std::max(0.0, weight - F.dot(n)), 1e-9 * (weight + F.norm()));
    CHECK_WITHIN(a.dot(n) - std::max(0.0, (F.dot(n) - weight) / kMass), 1e-8);
    // Nothing along the surface: the constraint force does no work.
    const Vec3 tangential = F / kMass - kGravity * Vec3::UnitZ();
    CHECK_WITHIN((a - a.dot(n) * n - (tangential - tangential.dot(n) * n)).norm(), 1e-8);
    pushed += force > 0, left += force == 0;
    if (k < 300) csv << F.dot(n) - weight << ',' << force << ',' << a.dot(n) << '\n';
  }
  CHECK(pushed > 200);
  CHECK(left > 100);
}

TEST_CASE("Survey, 4.2: penalty's motion tends to lcp's as k grows (Rubin & Ungar), with 1/k") {
  const double angle0 = 0.3, speed0 = 0.2, h = 2e-5;
  const int steps = static_cast<int>(0.4 / h);  // the force does not vanish before 0.45 s
  std::vector<Vec3> exact;
  World lcp = on_sphere(angle0, speed0, h).world();
  for (int i = 0; i < steps; ++i) {
    lcp.step();
    REQUIRE(push_out(lcp) > 0);
    exact.push_back(lcp.state().p_WBcm(1));
  }
  auto csv = test::open_csv("survey_penalty.csv", "stiffness_n_per_m,worst_distance_m");
  double last = 0;
  for (const double k : {1e2, 1e3, 1e4, 1e5}) {
    Scene scene = on_sphere(angle0, speed0, h);
    test::explicit_method("k", ContactModelKind::penalty, k, 0.5 * std::sqrt(k * kMass), 0).apply(*scene.model);
    World world = scene.world();
    double worst = 0;
    for (int i = 0; i < steps; ++i) {
      world.step();
      worst = std::max(worst, (world.state().p_WBcm(1) - exact[static_cast<std::size_t>(i)]).norm());
    }
    MESSAGE("k " << k << " N/m: " << worst << " m from lcp");
    csv << k << ',' << worst << '\n';
    if (k >= 1e4) CHECK_WITHIN(last / worst / 10 - 1, 0.05);
    last = worst;
  }
  CHECK(last < 2e-4);
}

}  // namespace tactus
