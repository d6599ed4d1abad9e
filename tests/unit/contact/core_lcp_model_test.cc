// The acceleration model against closed forms of mechanics.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Scene;

World world_of(Scene scene, double h = 1e-3, ForceMethod method = ForceMethod::automatic) {
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->step = h;
  scene.model->parameters.lcp_method = method;
  return scene.world();
}

void check_solved(const StepReport& report) {
  CHECK(report.solver_failures == 0);
  CHECK(report.solver_fallbacks == 0);
  CHECK(report.inconsistent == 0);
  CHECK(report.solver_residual <= 1e-9);
}

constexpr ForceMethod kBoth[] = {ForceMethod::automatic, ForceMethod::pivoting};

// Gravity that leans by atan(tangent) towards `angle` in the floor's plane.
Scene leaning(double mu_static, double mu_dynamic, double tangent, double angle) {
  Scene scene(mu_dynamic);
  scene.model->materials[0].friction.mu_static = mu_static;
  scene.add_floor();
  scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 2, test::at(0, 0, 0.1));
  scene.set_gravity(kGravity * Vec3(tangent * std::cos(angle), tangent * std::sin(angle), -1));
  return scene;
}

}  // namespace

TEST_CASE("lcp: a box at rest is carried by forces m g in all, and does not move") {
  for (const ForceMethod method : kBoth) {
    for (const double mass : {1e-3, 1.0, 1e4}) {
      Scene scene;
      scene.add_floor();
      scene.add(make_box(Vec3(0.3, 0.2, 0.1)), mass, test::at(0, 0, 0.1));
      World world = world_of(std::move(scene), 1e-3, method);
      for (int i = 0; i < 100; ++i) {
        check_solved(world.step());
        Vec3 sum = Vec3::Zero();
        for (std::uint32_t k = 0; k < world.contacts().point_count; ++k) sum += world.contact_force(k);
        CHECK(std::abs(sum.z() + mass * kGravity) <= 1e-9 * mass * kGravity);  // on the floor
      }
      CHECK((world.state().p_WBcm(1) - Vec3(0, 0, 0.1)).norm() < 1e-12);
    }
  }
}

TEST_CASE("lcp: below atan(mu) a block sticks, above it slides, whatever the direction") {
  const double mu = 0.5;
  for (const ForceMethod method : kBoth) {
    for (const double angle : {0.0, 0.3, M_PI / 4, 2.0}) {
      CAPTURE(angle);
      World stays = world_of(leaning(mu, mu, 0.9999 * mu, angle), 1e-3, method);
      World slides = world_of(leaning(mu, mu, 1.0001 * mu, angle), 1e-3, method);
      for (int i = 0; i < 100; ++i) {
        check_solved(stays.step());
        check_solved(slides.step());
      }
      CHECK(stays.state().v_WBcm(1).norm() < 1e-11);
      CHECK_WITHIN(slides.state().v_WBcm(1).norm() / (0.1 * 1e-4 * mu * kGravity) - 1, 1e-6);
    }
  }
}

TEST_CASE("lcp: static friction holds what dynamic friction could not, once it slides it goes on") {
  World stays = world_of(leaning(0.6, 0.4, 0.5, 0.4));
  for (int i = 0; i < 200; ++i) check_solved(stays.step());
  CHECK(stays.state().v_WBcm(1).norm() < 1e-11);
  Scene scene = leaning(0.6, 0.4, 0.5, 0.4);
  const Vec3 along(std::cos(0.4), std::sin(0.4), 0);
  scene.model->V_WB0[1].v = 0.01 * along;
  World slides = world_of(std::move(scene));
  for (int i = 0; i < 200; ++i) check_solved(slides.step());
  CHECK((slides.state().v_WBcm(1) - (0.01 + 0.2 * 0.1 * kGravity) * along).norm() < 1e-9);
}

TEST_CASE("lcp: a sliding box loses mu g t of speed, to 1e-6, then stands") {
  for (const ForceMethod method : kBoth) {
    for (const double angle : {0.0, 0.3, 2.5}) {
      Scene scene(0.3);
      scene.add_floor();
      const Vec3 along(std::cos(angle), std::sin(angle), 0);
      scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 3, test::at(0, 0, 0.1), {Vec3::Zero(), 2 * along});
      World world = world_of(std::move(scene), 1e-3, method);
      double worst = 0;
      for (int n = 1; n <= 675; ++n) {
        check_solved(world.step());
        worst = std::max(worst, (world.state().v_WBcm(1) - (2 - 0.3e-3 * kGravity * n) * along).norm());
      }
      CHECK_WITHIN(worst, 1e-6);
      for (int i = 0; i < 10; ++i) check_solved(world.step());
      CHECK(world.state().v_WBcm(1).norm() < 1e-11);
    }
  }
}

TEST_CASE("lcp: a wheel set down while it slides ends rolling at 2/3 of its speed") {
  for (const double mu : {0.1, 0.5}) {
    Scene scene(mu);
    scene.add_floor();
    const Quat on_edge = test::turned(Vec3::UnitX(), M_PI / 2);
    scene.add(make_cylinder(0.2, 0.05), 1, {on_edge, Vec3(0, 0, 0.2)}, {Vec3::Zero(), Vec3(1.5, 0, 0)});
    World world = world_of(std::move(scene));
    for (int i = 0; i < 1500; ++i) check_solved(world.step());
    CHECK(world.state().v_WBcm(1).x() == doctest::Approx(1.0).epsilon(1e-3));
    CHECK(world.state().w_WB(1).y() == doctest::Approx(5.0).epsilon(1e-3));
  }
}

TEST_CASE("lcp: a ball bounces at the time at which it touches, not at the end of the step") {
  for (const double e : {0.3, 0.7, 1.0}) {
    Scene scene(0.5, e);
    scene.add_floor();
    scene.add(make_sphere(0.1), 1, test::at(0, 0, 0.6));
    World world = world_of(std::move(scene));
    double depth = 0, highest = 0;
    bool bounced = false;
    for (int i = 0; i < 700; ++i) {
      const StepReport report = world.step();
      depth = std::max(depth, report.depth_max);
      bounced = bounced || report.impacts > 0;
      if (bounced) highest = std::max(highest, world.state().p_WBcm(1).z());
    }
    CHECK(depth < 1e-4);
    // It rises to e^2 of the height that it fell; Euler's steps cost some h v (3 mm) of it.
    CHECK_WITHIN(highest - 0.1 - e * e * 0.5, 1e-2);
  }
}

TEST_CASE("lcp: a cube that lands flat strikes with all corners, and does not turn") {
  for (const Impacts impacts : {Impacts::sequential, Impacts::simultaneous}) {
    for (const double e : {0.0, 0.5}) {
      Scene scene(0.5, e);
      scene.add_floor();
      scene.add(make_box(Vec3::Constant(0.5)), 10, test::at(0, 0, 0.6), {Vec3::Zero(), Vec3(0, 0, -1)});
      scene.model->parameters.impacts = impacts;
      World world = world_of(std::move(scene));
      double came = 0, left = -1;
      for (int i = 0; i < 200 && left < 0; ++i) {
        came = world.state().v_WBcm(1).z();
        if (world.step().impacts > 0) left = world.state().v_WBcm(1).z();
      }
      CHECK_WITHIN(left + e * came, 2 * kGravity * 1e-3);
      CHECK(world.state().w_WB(1).norm() < 1e-12);
      if (e > 0) continue;
      for (int i = 0; i < 300; ++i) CHECK(world.step().solver_failures == 0);
      CHECK(world.state().w_WB(1).norm() < 1e-9);
      CHECK_WITHIN(world.state().p_WBcm(1).z() - 0.5, 1e-6);
    }
  }
}

TEST_CASE("lcp: what lies on a shaking table leaves it when the table falls faster than g") {
  const double amplitude = 0.02, frequency = 5;  // A w^2 = 19.7 m/s^2
  const double rate = 2 * M_PI * frequency;
  Scene scene(0.5);
  const BodyIndex table = scene.add(make_box(Vec3(1, 1, 0.1)), 1, test::at(0, 0, -0.1), {}, 0, BodyMode::kinematic);
  scene.model->bodies[table].motion.amplitude_W = Vec3(0, 0, amplitude);
  scene.model->bodies[table].motion.frequency = frequency;
  const double start = amplitude * rate;  // it moves with the table
  scene.add(make_box(Vec3::Constant(0.1)), 1, test::at(0, 0, 0.1), {Vec3::Zero(), Vec3(0, 0, start)});
  World world = world_of(std::move(scene), 1e-4);
  double left_at = 0;
  for (int i = 0; i < 400 && left_at == 0; ++i) {
    check_solved(world.step());
    double force = 0;
    for (std::uint32_t k = 0; k < world.contacts().point_count; ++k) force += std::abs(world.contact_force(k).z());
    if (force == 0) left_at = world.state().time;
  }
  CHECK_WITHIN(left_at - std::asin(kGravity / (amplitude * rate * rate)) / rate, 3e-4);
}

TEST_CASE("lcp: overlap leaves with the springs' time constant, at most at their speed; switched off it stays") {
  for (const double depth : {1e-3, 0.1}) {
    Scene scene;
    scene.add_floor();
    scene.add(make_box(Vec3::Constant(0.5)), 10, test::at(0, 0, 0.5 - depth));
    World world = world_of(std::move(scene));
    const Parameters& p = world.parameters();
    double before = depth;
    for (int i = 0; i < 200; ++i) {
      const StepReport report = world.step();
      CHECK(report.solver_failures == 0);
      const double now = 0.5 - world.state().p_WBcm(1).z();
      if (now > 1e-9)
        CHECK_WITHIN(before - now - std::min(before / p.overlap_relax_time, p.overlap_relax_speed) * 1e-3, 1e-9);
      before = now;
    }
    CHECK_WITHIN(before, 1e-6);
    CHECK(world.state().v_WBcm(1).norm() < 1e-3);
  }
  Scene scene;
  scene.add_floor();
  scene.add(make_box(Vec3::Constant(0.5)), 10, test::at(0, 0, 0.49));
  scene.model->parameters.lcp_drift = OverlapDrift::off;
  World world = world_of(std::move(scene));
  for (int i = 0; i < 100; ++i) check_solved(world.step());
  CHECK_WITHIN(world.state().p_WBcm(1).z() - 0.49, 1e-12);
}

TEST_CASE("lcp: pivoting, Newton and the convex program give the same motion; Lötstedt's law rests and slides too") {
  const auto pile = [](LcpFriction friction, ForceMethod method) {
    Scene scene(0.5);
    scene.add_floor();
    test::Random random(11);
    for (int i = 0; i < 5; ++i) {
      const Vec3 p = Vec3(random.uniform(-0.02, 0.02), 0, 0.1 + 0.2001 * i);
      scene.add(make_box(Vec3::Constant(0.1)), 1 + i, {test::turned(Vec3::UnitZ(), 0.1 * i), p});
    }
    scene.model->parameters.lcp_friction = friction;
    return world_of(std::move(scene), 1e-3, method);
  };
  for (const LcpFriction friction : {LcpFriction::none, LcpFriction::lotstedt}) {
    World reference = pile(friction, ForceMethod::automatic);
    World pivoting = pile(friction, ForceMethod::pivoting), qp = pile(friction, ForceMethod::qp);
    double worst = 0;
    for (int i = 0; i < 60; ++i) {
      CAPTURE(i);
      // Lötstedt's bounds come from forces, which redundant contacts leave open: each step starts from one state.
      REQUIRE(pivoting.restore(reference.state()));
      REQUIRE(qp.restore(reference.state()));
      for (World* world : {&reference, &pivoting, &qp}) {
        const StepReport report = world->step();  // by its own method or by the next: one motion
        CHECK(report.solver_failures == 0);
        CHECK(report.solver_residual <= 1e-9);
      }
      for (std::size_t k = 0; k < reference.state().v.size(); ++k) {
        worst = std::max({worst, std::abs(pivoting.state().v[k] - reference.state().v[k]),
                          std::abs(qp.state().v[k] - reference.state().v[k])});
      }
    }
    CHECK_WITHIN(worst, 1e-7);
  }
  // Sliding: friction is mu times the last step's load, which stays the same.
  Scene scene(0.3);
  scene.add_floor();
  scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 3, test::at(0, 0, 0.1), {Vec3::Zero(), Vec3(2, 0, 0)});
  scene.model->parameters.lcp_friction = LcpFriction::lotstedt;
  World world = world_of(std::move(scene), 1e-3, ForceMethod::qp);
  for (int n = 1; n <= 200; ++n) check_solved(world.step());
  CHECK_WITHIN(world.state().v_WBcm(1).x() - (2 - 0.3e-3 * kGravity * 199), 0.01);
}

TEST_CASE("lcp: a step that no method solves leaves a finite state and says so") {
  Scene scene(5);
  scene.add_floor();
  // Wedged between walls with friction that jams, masses 1e9 : 1.
  scene.add(make_box(Vec3::Constant(0.5)), 1e-3, test::at(0, 0, 0.5));
  scene.add(make_box(Vec3::Constant(0.5)), 1e6, test::at(0.01, 0.3, 1.5), {Vec3(1, 2, 3), Vec3(3, 0, -2)});
  World world = world_of(std::move(scene), 1e-2);
  for (int i = 0; i < 300; ++i) {
    const StepReport report = world.step();
    CHECK((report.solver_residual <= 1e-9 || report.solver_failures > 0));
    CHECK(report.bodies_frozen == 0);
  }
}

TEST_CASE("lcp: bodies that strike each other in the void keep momentum and gain no energy") {
  for (const double e : {0.0, 0.5}) {
    test::Random random(7);
    Scene scene(0.4, e);
    scene.set_gravity(Vec3::Zero());
    for (int i = 0; i < 6; ++i) {
      const Vec3 p = 0.7 * Vec3(i % 2, i / 2 % 2, i / 4) + random.in_cube(0.02), w = random.in_cube(1);
      const Quat q = random.rotation();
      scene.add(make_box(Vec3::Constant(0.2)), 1 + i, {q, p}, {w, -2 * p});
    }
    World world = world_of(std::move(scene));
    const test::Momentum start = test::momentum(world.model(), world.state());
    double energy = kinetic_energy(world.model(), world.state());
    std::uint32_t impacts = 0;
    for (int i = 0; i < 1000; ++i) {
      const StepReport report = world.step();
      CHECK(report.solver_failures == 0);
      impacts += report.impacts;
      const double now = kinetic_energy(world.model(), world.state());
      CHECK(now <= energy + 1e-3);  // the springs of drift may add some
      energy = std::min(energy, now);
    }
    CHECK(impacts > 0);
    CHECK((test::momentum(world.model(), world.state()).linear - start.linear).norm() < 1e-10);
  }
}

TEST_CASE("lcp: ends, friction and drives of joints hold as under the time steppers") {
  Scene scene;
  test::add_robot(*scene.model, "rod");
  const Mat3 I = Vec3(0.1, 0.1, 0.01).asDiagonal();
  const BodyIndex rod = test::add_link(*scene.model, 1, I, Vec3(0, 0, -0.5));
  const JointIndex j = test::add_joint(*scene.model, JointKind::revolute, kNone, rod, {}, Vec3::UnitY());
  finish_robots(*scene.model);
  const double inertia = 0.1 + 0.25;
  SUBCASE("end") {
    scene.model->joints[j].upper = 0.5;
    scene.model->joint_q0 = {-1.5};
    World world = world_of(std::move(scene), 1e-2);
    double most = -1;
    for (int i = 0; i < 400; ++i) {
      check_solved(world.step());
      most = std::max(most, world.state().joint_q[0]);
    }
    CHECK(most <= 0.5 + 1e-12);
  }
  SUBCASE("a drive at its limit") {
    for (const ForceMethod method : kBoth) {
      Scene own;
      test::add_robot(*own.model, "rod");
      const BodyIndex link = test::add_link(*own.model, 1, I, Vec3(0, 0, -0.5));
      test::add_joint(*own.model, JointKind::revolute, kNone, link, {}, Vec3::UnitY());
      finish_robots(*own.model);
      World world = world_of(std::move(own), 1e-2, method);
      DofDrive drive;
      drive.damping = 1e3, drive.target_rate = 10, drive.limit = 0.7;
      world.set_drive(0, drive);
      check_solved(world.step());
      CHECK(world.state().joint_v[0] == doctest::Approx(0.7 / inertia * 1e-2).epsilon(1e-9));
    }
  }
}

TEST_CASE("lcp: two worlds stay equal to the bit, also from a snapshot; no step allocates") {
  for (const ForceMethod method : kBoth) {
    const auto make = [method] {
      Scene scene(0.4, 0.2);
      scene.add_floor();
      test::Random random(9);
      for (int i = 0; i < 10; ++i) {
        const Vec3 p = Vec3(0, 0, 0.3 + 0.3 * i) + random.in_cube(0.15);
        const Quat q = random.rotation();
        scene.add(i % 3 ? make_box(Vec3(0.1, 0.12, 0.08)) : make_sphere(0.1), 1, {q, p});
      }
      return world_of(std::move(scene), 5e-3, method);
    };
    World a = make(), b = make();
    State saved = a.state();
    for (int i = 0; i < 120; ++i) {
      {
        const test::AllocGuard guard;
        a.step();
        if (test::AllocGuard::available()) CHECK(guard.count() == 0);
      }
      b.step();
      REQUIRE(a.hash() == b.hash());
      if (i == 59) a.snapshot(saved);
    }
    REQUIRE(b.restore(saved));
    for (int i = 0; i < 60; ++i) b.step();
    CHECK(a.hash() == b.hash());
  }
}

TEST_CASE("lcp: parameters are read and refused by their ranges") {
  Parameters p;
  CHECK(World::parse_parameter("lcp_friction", "lotstedt", p));
  CHECK(p.lcp_friction == LcpFriction::lotstedt);
  CHECK(World::parse_parameter("lcp_method", "qp", p));
  CHECK(!World::parse_parameter("lcp_friction", "coulomb", p));  // not beside qp
  CHECK(p.lcp_friction == LcpFriction::lotstedt);
  CHECK(World::parse_parameter("lcp_method", "pivoting", p));
  CHECK(World::parse_parameter("lcp_drift", "off", p));
  for (const char* key : {"lcp_friction", "lcp_method", "lcp_drift"}) {
    CHECK(!World::parse_parameter(key, "nonsense", p));
    CHECK(!World::parse_parameter(key, "", p));
  }
}

TEST_CASE("time steppers: corners of the cone are even, 4 to 32, or the cone is round; all else is refused") {
  Parameters p;
  for (const char* bad : {"0", "-4", "2", "3", "5", "33", "34", "1e9", "nan", "inf", "4.5", "", "square"}) {
    CAPTURE(std::string(bad));
    CHECK(!World::parse_parameter("friction_directions", bad, p));
    CHECK(p.friction_directions == 0);
  }
  for (const auto& [key, value] : World::list_parameters(p)) CHECK(!World::expected_parameter(key).empty());
  CHECK(World::expected_parameter("mu").empty());
  CHECK(World::parse_parameter("friction_directions", "8", p));
  CHECK(p.friction_directions == 8);
  for (const char* bad : {"-1", "nan", "11"}) CHECK(!World::parse_parameter("detection_distance_m", bad, p));
  for (const auto& [key, value] : World::list_parameters(p)) CHECK(World::parse_parameter(key, value, p));
  CHECK(p.friction_directions == 8);
  CHECK(World::parse_parameter("friction_directions", "round", p));
  CHECK(p.friction_directions == 0);
  for (const auto& [key, value] : World::list_parameters(p)) CHECK(World::parse_parameter(key, value, p));
  CHECK(p.friction_directions == 0);
}

}  // namespace tactus
