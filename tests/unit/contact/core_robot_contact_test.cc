// Robots in a World: contact, impacts, ends and friction of joints, drives, under each integrator.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

enum class Law { implicit, explicit_forces, runge_kutta };
constexpr Law kLaws[] = {Law::implicit, Law::explicit_forces, Law::runge_kutta};

void set_law(Scene& scene, Law law) {
  if (law == Law::explicit_forces) scene.model->parameters.gains.law = GainLaw::automatic_explicit;
  if (law == Law::runge_kutta) scene.model->integrator = Integrator::rk4;
}

// A link of one shape, uniform, its shape's frame that of the link.
BodyIndex add_solid(Scene& scene, const Shape& shape, double mass, const Pose& X_BS = {}) {
  Model& model = *scene.model;
  const MassProperties unit = mass_properties(shape, 1.0);
  const Mat3 R = X_BS.q.toRotationMatrix();
  const BodyIndex b = test::add_link(model, mass, R * (unit.I_SScm * (mass / unit.mass)) * R.transpose(), X_BS.p);
  model.bodies[b].shape_count = 1;
  ShapeInstance instance;
  instance.shape = shape;
  instance.body = b;
  instance.X_BcmS = {X_BS.q, Vec3::Zero()};
  model.shapes.push_back(instance);
  return b;
}

// A rod of length 1 m along -z of its joint's frame, turning about y.
BodyIndex add_rod(Scene& scene, BodyIndex parent, const Vec3& at, double mass) {
  const BodyIndex b = add_solid(scene, make_box(Vec3(0.02, 0.02, 0.5)), mass, test::at(0, 0, -0.5));
  test::add_joint(*scene.model, JointKind::revolute, parent, b, {Quat::Identity(), at}, Vec3::UnitY());
  return b;
}

double inertia_about_end(double mass) {
  return mass * (1.0 / 3 + 0.04 * 0.04 / 12);
}

double joint_q(const World& world, int i = 0) {
  return world.state().joint_q[static_cast<std::size_t>(i)];
}
double joint_v(const World& world, int i = 0) {
  return world.state().joint_v[static_cast<std::size_t>(i)];
}

}  // namespace

TEST_CASE("links that turn about one axis and overlap along it push each other with nothing: no joint changes that") {
  for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::ap}) {
    CAPTURE(to_string(kind));
    Scene scene;
    scene.model->contact_model = kind;
    test::add_robot(*scene.model, "tower");
    const BodyIndex lower = add_solid(scene, make_box(Vec3(0.1, 0.1, 0.05)), 1);
    test::add_joint(*scene.model, JointKind::revolute, kNone, lower);
    const BodyIndex upper = add_solid(scene, make_box(Vec3(0.03, 0.07, 0.05)), 1, test::at(0.002, 0.001, 0));
    test::add_joint(*scene.model, JointKind::revolute, lower, upper, {Quat::Identity(), Vec3(0, 0, 0.099)});
    scene.model->joint_v0 = {0.3, 2.0};
    World world = scene.world();
    for (int i = 0; i < 200; ++i) {
      world.step();
      REQUIRE(world.contacts().point_count > 0);
      for (std::uint32_t p = 0; p < world.contacts().point_count; ++p) REQUIRE(world.contact_force(p).norm() == 0);
    }
    CHECK(joint_v(world, 0) + joint_v(world, 1) == doctest::Approx(2.3).epsilon(0.01));
  }
}

TEST_CASE("robot of one floating link: falls, strikes, slides and rests like the free body it is") {
  for (const Law law : kLaws) {
    CAPTURE(static_cast<int>(law));
    Scene scene(0.4, 0.3), robot(0.4, 0.3);
    set_law(scene, law), set_law(robot, law);
    const Pose X_WB{Quat(4, 1, -2, 0.5).normalized(), Vec3(0.1, -0.2, 0.4)};
    const SpatialVelocity V_WB{Vec3(1, 2, -3), Vec3(0.5, 0.2, 0)};
    scene.add_floor(), robot.add_floor();
    const BodyIndex b = scene.add(make_box(Vec3(0.25, 0.125, 0.0625)), 2, X_WB, V_WB);
    test::add_robot(*robot.model, "box");
    const BodyIndex link = add_solid(robot, make_box(Vec3(0.25, 0.125, 0.0625)), 2);
    test::add_joint(*robot.model, JointKind::floating, kNone, link);
    robot.model->joint_q0 = {X_WB.p.x(), X_WB.p.y(), X_WB.p.z(), X_WB.q.w(), X_WB.q.x(), X_WB.q.y(), X_WB.q.z()};
    robot.model->joint_v0 = {V_WB.v.x(), V_WB.v.y(), V_WB.v.z(), V_WB.w.x(), V_WB.w.y(), V_WB.w.z()};
    World free = scene.world(), linked = robot.world();
    // Until it strikes: the same motion, but for the order in which terms of first order in the step are taken.
    test::run(free, 150), test::run(linked, 150);
    CHECK((free.state().p_WBcm(b) - linked.state().p_WBcm(link)).norm() < 1e-6);
    CHECK(free.state().q_WB(b).angularDistance(linked.state().q_WB(link)) < 2e-3);
    test::run(free, 3000), test::run(linked, 3000);
    // The depth at rest is that of the law's springs; a link's explicit ones are softer by the bound of its modes.
    const double depth = law == Law::implicit ? 1e-6 : 1e-3;
    CHECK(std::abs(free.state().p_WBcm(b).z() - 0.0625) < depth);
    CHECK(std::abs(linked.state().p_WBcm(link).z() - 0.0625) < depth);
    CHECK(kinetic_energy(linked.model(), linked.state()) < 1e-9);
  }
}

TEST_CASE("robot: a rod on a hinge that is struck at its end answers with its moment of inertia") {
  for (const Impacts impacts : {Impacts::sequential, Impacts::simultaneous}) {
    Scene scene(0, 0.5);
    scene.set_gravity(Vec3::Zero());
    scene.model->parameters.impacts = impacts;
    test::add_robot(*scene.model, "rod");
    add_rod(scene, kNone, Vec3(0, 0, 1), 3);
    const double mass = 0.7, speed = 2, r = 0.1;
    const BodyIndex ball =
        scene.add(make_sphere(r), mass, test::at(-0.02 - r - 1e-4, 0, 0.2), {Vec3::Zero(), Vec3(speed, 0, 0)});
    World world = scene.world();
    StepReport report;
    int tick = 0;
    do {
      report = world.step();
    } while (report.impacts == 0 && ++tick < 10);
    REQUIRE(report.impacts == 1);
    test::run(world, 1);
    // Angular momentum about the hinge, and Newton's law at the point struck (0.8 m below). +y turns the rod to -x.
    const double I = inertia_about_end(3), arm = 0.8, w = -joint_v(world), v = world.state().v_WBcm(ball).x();
    CHECK(std::abs(I * w + mass * v * arm - mass * speed * arm) < 1e-9);
    CHECK(std::abs(w * arm - v - 0.5 * speed) < 1e-3);
    CHECK(std::abs(w - mass * speed * arm * 1.5 / (I + mass * arm * arm)) < 1e-3);
  }
}

TEST_CASE("robot: both rods of a double pendulum answer a strike at the lower end at once") {
  Scene scene(0, 1);
  scene.set_gravity(Vec3::Zero());
  test::add_robot(*scene.model, "double");
  const BodyIndex upper = add_rod(scene, kNone, Vec3(0, 0, 2), 1);
  add_rod(scene, upper, Vec3(0, 0, -1), 1);
  scene.model->no_collision.push_back({upper, upper + 1});
  const BodyIndex ball =
      scene.add(make_sphere(0.1), 0.5, test::at(-0.12 - 1e-4, 0, 0.1), {Vec3::Zero(), Vec3(1, 0, 0)});
  World world = scene.world();
  int tick = 0;
  while (world.step().impacts == 0 && ++tick < 10) {
  }
  // Textbook mass matrix of two hanging rods in (q1, q2 relative); J of the struck point, 0.9 m below the elbow.
  const double m = 1, I = inertia_about_end(1);
  Eigen::Matrix2d M;
  M << I + m * 1 + I + m * 1, I + m * 0.5, I + m * 0.5, I;
  Eigen::Vector2d J(-1.9, -0.9);
  const double inv = J.dot(M.inverse() * J), p = 2.0 / (inv + 1 / 0.5);
  const Eigen::Vector2d v = M.inverse() * J * p;
  CHECK(std::abs(joint_v(world, 0) - v[0]) < 2e-3);
  CHECK(std::abs(joint_v(world, 1) - v[1]) < 2e-3);
  CHECK(std::abs(world.state().v_WBcm(ball).x() - (1 - p / 0.5)) < 2e-3);
  // Elastic: energy is kept.
  CHECK(std::abs(kinetic_energy(world.model(), world.state()) - 0.25) < 1e-6);
}

TEST_CASE("robot: a hinge falls on its end and rests there, under each law") {
  for (const Law law : kLaws) {
    CAPTURE(static_cast<int>(law));
    Scene scene;
    set_law(scene, law);
    test::add_robot(*scene.model, "rod");
    add_rod(scene, kNone, Vec3(0, 0, 2), 2);
    Joint& joint = scene.model->joints[0];
    joint.lower = -1.0, joint.upper = 1.6;
    scene.model->joint_q0 = {1.5}, scene.model->joint_v0 = {0};
    joint.lower = 0.5;  // swings down to here and no further
    World world = scene.world();
    double least = 2;
    for (int i = 0; i < 4000; ++i) {
      world.step();
      least = std::min(least, joint_q(world));
    }
    CHECK(std::abs(joint_q(world) - 0.5) < 2e-4);
    CHECK(std::abs(joint_v(world)) < 1e-9);
    CHECK(least > 0.5 - 6e-3);
  }
}

TEST_CASE("robot: joint friction holds below its limit without creep, and brakes with its value above") {
  const double I = inertia_about_end(2), load = 2 * test::kGravity * 0.5;  // at 90 degrees
  Scene hold;
  test::add_robot(*hold.model, "rod");
  add_rod(hold, kNone, Vec3(0, 0, 2), 2);
  hold.model->joints[0].friction = 1.05 * load;
  hold.model->joint_q0 = {M_PI / 2}, hold.model->joint_v0 = {0};
  World held = hold.world();
  test::run(held, 5000);
  CHECK(std::abs(joint_q(held) - M_PI / 2) < 1e-12);

  for (const Law law : kLaws) {
    CAPTURE(static_cast<int>(law));
    Scene brake;
    set_law(brake, law);
    brake.set_gravity(Vec3::Zero());
    test::add_robot(*brake.model, "rod");
    add_rod(brake, kNone, Vec3(0, 0, 2), 2);
    brake.model->joints[0].friction = 0.5;
    brake.model->joint_q0 = {0}, brake.model->joint_v0 = {2};
    World world = brake.world();
    test::run(world, 1000);
    CHECK(std::abs(joint_v(world) - (2 - 0.5 / I * 1.0)) < 1e-9);
    test::run(world, 2000);
    CHECK(std::abs(joint_v(world)) < 1e-12);
    CHECK(std::abs(joint_q(world) - 0.5 * 4 / (0.5 / I)) < 4e-3);
  }
}

TEST_CASE("robot: a position drive hangs by load over stiffness, and its limit is never exceeded") {
  for (const Law law : kLaws) {
    CAPTURE(static_cast<int>(law));
    Scene scene;
    set_law(scene, law);
    test::add_robot(*scene.model, "rod");
    add_rod(scene, kNone, Vec3(0, 0, 2), 2);
    scene.model->joint_q0 = {M_PI / 2}, scene.model->joint_v0 = {0};
    World world = scene.world();
    DofDrive drive;
    drive.stiffness = 500, drive.damping = 20, drive.target = M_PI / 2, drive.limit = 40;
    world.set_drive(0, drive);
    test::run(world, 5000);
    const double q = joint_q(world), load = 2 * test::kGravity * 0.5 * std::sin(q);
    CHECK(std::abs(drive.stiffness * (drive.target - q) - load) < 1e-6 * load);
    CHECK(std::abs(world.joint_effort(0) - load) < 1e-6 * load);
    drive.target = 3.0;  // far more than the limit gives
    drive.limit = 12;
    world.set_drive(0, drive);
    const double I = inertia_about_end(2), before = joint_v(world);
    for (int i = 0; i < 50; ++i) {
      world.step();
      CHECK(std::abs(world.joint_effort(0)) <= 12 * (1 + 1e-12));
    }
    const double expected = (12 - load) / I * 0.050;
    CHECK(std::abs(joint_v(world) - before - expected) < 0.02 * expected);
  }
}

TEST_CASE("robot: a stiff drive is stable where its explicit form is not") {
  Scene scene;
  test::add_robot(*scene.model, "rod");
  const BodyIndex upper = add_rod(scene, kNone, Vec3(0, 0, 2), 0.1);
  add_rod(scene, upper, Vec3(0, 0, -1), 0.1);
  scene.model->no_collision.push_back({upper, upper + 1});
  scene.model->joint_q0 = {0.3, 0.4}, scene.model->joint_v0 = {0, 0};
  World world = scene.world();
  DofDrive drive;
  drive.stiffness = 1e6, drive.damping = 1e3;
  for (DofIndex d = 0; d < 2; ++d) drive.target = 0.5, world.set_drive(d, drive);
  test::run(world, 2000);
  CHECK(std::abs(joint_q(world, 0) - 0.5) < 1e-5);
  CHECK(std::abs(joint_q(world, 1) - 0.5) < 1e-5);
  CHECK(kinetic_energy(world.model(), world.state()) < 1e-12);
}

TEST_CASE("robot: an undamped pendulum keeps its energy under the default integrator") {
  Scene scene;
  test::add_robot(*scene.model, "pendulum");
  const BodyIndex b = test::add_link(*scene.model, 1, Vec3(1e-4, 1e-4, 1e-4).asDiagonal(), Vec3(0, 0, -0.1));
  test::add_joint(*scene.model, JointKind::continuous, kNone, b, {}, Vec3::UnitY());
  scene.model->joint_q0 = {1.5}, scene.model->joint_v0 = {0};
  World world = scene.world();
  const auto height = [&] {  // of the energy over the lowest point [J]
    return mechanical_energy(world.model(), world.parameters().gravity_W, world.state()) + 0.1 * test::kGravity;
  };
  const double start = height();
  for (int i = 0; i < 10000; ++i) {
    world.step();
    CHECK(std::abs(height() / start - 1) < 0.02);
  }
}

TEST_CASE("robot: the double pendulum keeps its energy under RK4, with the error of fourth order") {
  const auto drift = [](double h) {
    Scene scene;
    scene.model->step = h;
    scene.model->integrator = Integrator::rk4;
    test::add_robot(*scene.model, "double");
    const BodyIndex upper = add_rod(scene, kNone, Vec3(0, 0, 3), 1);
    add_rod(scene, upper, Vec3(0, 0, -1), 1);
    scene.model->no_collision.push_back({upper, upper + 1});
    scene.model->joint_q0 = {1.2, 0.5}, scene.model->joint_v0 = {0, 0};
    World world = scene.world();
    const auto energy = [&] { return mechanical_energy(world.model(), world.parameters().gravity_W, world.state()); };
    const double start = energy();
    double worst = 0;
    for (int i = 0; i < static_cast<int>(std::lround(10 / h)); ++i) {
      world.step();
      worst = std::max(worst, std::abs(energy() - start));
    }
    return worst / std::abs(start);
  };
  const double fine = drift(1e-3), coarse = drift(8e-3), middle = drift(4e-3);
  CHECK(fine < 1e-6);
  CHECK(coarse / middle > 12);
}

TEST_CASE("robot: links of one robot that press each other do not push it: what is left shrinks with the step") {
  const auto drift = [](double h) {
    Scene scene(0.5, 0.2);
    scene.model->step = h;
    scene.set_gravity(Vec3::Zero());
    test::add_robot(*scene.model, "scissors");
    Model& model = *scene.model;
    const BodyIndex base = add_solid(scene, make_box(Vec3::Constant(0.05)), 1);
    test::add_joint(model, JointKind::floating, kNone, base);
    for (const double side : {-1.0, 1.0}) {
      const BodyIndex arm = add_solid(scene, make_box(Vec3(0.02, 0.05, 0.3)), 0.5, test::at(0, 0, -0.3));
      test::add_joint(model, JointKind::revolute, base, arm, test::at(0.15 * side, 0, -0.1), Vec3::UnitY());
      model.no_collision.push_back({base, arm});
    }
    World world = scene.world();
    // Close on each other and go on pressing; one side harder than the other.
    world.set_drive(6, {0, 30, 1, -0.5, 0});
    world.set_drive(7, {0, 20, 1, 0.5, 0});
    std::uint32_t impacts = 0;
    double worst = 0;
    for (int i = 0; i < static_cast<int>(std::lround(2 / h)); ++i) {
      impacts += world.step().impacts;
      Vec3 linear = Vec3::Zero();
      for (BodyIndex b = 0; b < 3; ++b) linear += world.model().bodies[b].mass * world.state().v_WBcm(b);
      worst = std::max(worst, linear.norm());
    }
    CHECK(impacts > 0);
    CHECK(world.contacts().point_count > 0);  // they touch: neither reached its target
    CHECK(std::abs(joint_q(world, 8)) < 0.49);
    return worst;
  };
  const double coarse = drift(1e-3), fine = drift(2.5e-4);
  CHECK(coarse < 0.02);
  CHECK(coarse / fine > 3);
}

TEST_CASE("robot: snapshot and restore give the same bits; steps allocate nothing") {
  for (const Law law : kLaws) {
    CAPTURE(static_cast<int>(law));
    Random random(7);
    test::RobotOptions options;
    options.base = test::Base::floating;
    options.joints = 8;
    options.mimic = 0.3;
    Scene scene = test::random_robot(random, options);
    set_law(scene, law);
    scene.add_floor(Vec3(0, 0, -1));
    for (BodyIndex b = 0; b < 8; ++b) {
      ShapeInstance instance;
      instance.shape = make_sphere(0.08);
      instance.body = b;
      scene.model->bodies[b].first_shape = static_cast<std::uint32_t>(scene.model->shapes.size());
      scene.model->bodies[b].shape_count = 1;
      scene.model->shapes.push_back(instance);
    }
    World world = scene.world();
    test::run(world, 300);
    State saved = world.state();
    world.snapshot(saved);
    std::uint64_t first = 0;
    {
      test::AllocGuard guard;
      for (int i = 0; i < 400; ++i) world.step();
      CHECK(guard.count() == 0);
    }
    first = world.hash();
    REQUIRE(world.restore(saved));
    test::run(world, 400);
    CHECK(world.hash() == first);
    State back = world.state();
    REQUIRE(world.deserialise(world.serialise(saved), back));
    CHECK(state_hash(back) == state_hash(saved));
  }
}

// A cart on four wheels whose drives hold them stands on a slope by static friction of its wheels alone.
TEST_CASE("robot: braked wheels on a slope hold without creep by the linear system of III-B") {
  const double slope = 0.3;
  const auto creep = [&](FrictionLaw law) {
    Scene scene(0.8);
    scene.model->materials[0].friction.law = law;
    scene.model->parameters.gains.law = GainLaw::automatic_explicit;
    scene.set_gravity(test::kGravity * Vec3(std::sin(slope), 0, -std::cos(slope)));
    scene.add_floor();
    Model& model = *scene.model;
    test::add_robot(model, "cart");
    const BodyIndex base = test::add_link(model, 4, Vec3(0.02, 0.05, 0.06).asDiagonal());
    test::add_joint(model, JointKind::floating, kNone, base);
    for (const double x : {-0.2, 0.2}) {
      for (const double y : {-0.15, 0.15}) {
        const BodyIndex wheel = add_solid(scene, make_sphere(0.1), 0.5);
        test::add_joint(model, JointKind::continuous, base, wheel, test::at(x, y, 0), Vec3::UnitY());
      }
    }
    model.joint_q0 = {0, 0, 0.1, 1, 0, 0, 0, 0, 0, 0, 0};
    World world = scene.world();
    DofDrive brake;
    brake.stiffness = 1e4, brake.damping = 1e2;
    for (DofIndex d = 6; d < 10; ++d) world.set_drive(d, brake);
    test::run(world, 3000);  // settles
    const double before = world.state().joint_q[0];
    test::run(world, 3000);
    CHECK(world.contacts().manifold_count == 4);
    CHECK(std::abs(world.state().joint_v[0]) < 1e-3);
    return world.state().joint_q[0] - before;
  };
  CHECK(std::abs(creep(FrictionLaw::linear_system)) < 1e-9);
  CHECK(std::abs(creep(FrictionLaw::springs)) < 1e-6);
}

TEST_CASE("robot: one without a solution stands still and is reported") {
  Scene scene;
  scene.add_floor();
  test::add_robot(*scene.model, "massless");
  const BodyIndex link = test::add_link(*scene.model, 0, Mat3::Zero());
  test::add_joint(*scene.model, JointKind::revolute, kNone, link);
  scene.add(make_sphere(0.1), 1, test::at(0, 0, 1));
  World world = scene.world();
  for (int i = 0; i < 100; ++i) CHECK(world.step().solver_failures == 1);
  CHECK(joint_q(world) == 0);
  CHECK(world.state().p_WBcm(2).z() < 0.96);
}

}  // namespace tactus
