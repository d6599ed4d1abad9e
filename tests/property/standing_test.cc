// What stands keeps standing: stacks, boxes on slopes below the friction angle; and what slides, rolls or bounces does
// it as the closed forms say.
#include <string>
#include <vector>

#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Scene;

double top_sink(const World& world, int n) {
  return n - 0.5 - world.state().p_WBcm(static_cast<BodyIndex>(n)).z();
}

TEST_CASE("stacks of 5, 10 and 20, aligned and jittered, stand for ten seconds") {
  for (const int n : {5, 10, 20}) {
    for (const bool jitter : {false, true}) {
      Scene scene = test::stack(n, jitter);
      const std::vector<Pose> start = scene.model->X_WB0;
      World world = scene.world();
      test::run(world, 5000);
      const State middle = world.state();
      double deepest = 0;
      for (int i = 0; i < 5000; ++i) deepest = std::max(deepest, world.step().depth_max);
      double drift = 0, moving = 0;
      for (BodyIndex b = 1; b <= static_cast<BodyIndex>(n); ++b) {
        drift = std::max(drift, (world.state().p_WBcm(b) - start[b].p).head<2>().norm());
        moving = std::max(moving, (world.state().p_WBcm(b) - middle.p_WBcm(b)).norm());
      }
      CAPTURE(n);
      CAPTURE(jitter);
      MESSAGE("stack of " << n << std::string(jitter ? ", jittered" : "") << ": sunk " << 1e3 * top_sink(world, n)
                          << " mm, deepest " << 1e3 * deepest << " mm, drift " << 1e3 * drift << " mm, creep in 5 s "
                          << 1e3 * moving << " mm, kinetic energy " << kinetic_energy(world.model(), world.state()));
      // Springs in series under a growing load: the sink goes with n^2. A jittered stack sways, slowly and with hardly
      // any damping, the more the nearer it is to buckling at n^3 m g = 2 kp.
      const double n2 = n * n, n3 = n2 * n;
      CHECK_WITHIN(top_sink(world, n), 0.025e-3 * n2);
      CHECK_WITHIN(deepest, 0.06e-3 * n);
      CHECK_WITHIN(drift, jitter ? 3e-6 * n3 : 1e-9);
      CHECK_WITHIN(moving, jitter ? 5e-6 * n3 : 1e-5);
      CHECK_WITHIN(kinetic_energy(world.model(), world.state()), jitter ? 2e-7 * n3 : 1e-9);
    }
  }
}

TEST_CASE("a box of 0.01, 10 and 100 times the mass stands on a box of 1 kg") {
  for (const double ratio : {10.0, 100.0, 0.01}) {
    Scene scene;
    scene.add_floor();
    scene.add(make_box(Vec3::Constant(0.5)), 1, test::at(0, 0, 0.5));
    scene.add(make_box(Vec3::Constant(0.5)), ratio, test::at(0.05, 0, 1.5));
    World world = scene.world();
    test::run(world, 5000);
    CAPTURE(ratio);
    CHECK_WITHIN(top_sink(world, 2), 0.05e-3 * std::max(1.0, ratio));
    CHECK_WITHIN(world.state().p_WBcm(2).x() - 0.05, 1e-5 * std::max(1.0, ratio));
    CHECK_WITHIN(kinetic_energy(world.model(), world.state()), ratio > 50 ? 2e-3 : 1e-9);
  }
}

// A box on a plane turned by angle about y; downhill is +x of the plane.
struct Slope {
  Vec3 down, nhat;
  Quat q;
  explicit Slope(double angle)
      : down(std::cos(angle), 0, -std::sin(angle)),
        nhat(std::sin(angle), 0, std::cos(angle)),
        q(test::turned(Vec3::UnitY(), angle)) {}
};

Scene box_on_slope(const Slope& slope, double mu, Integrator integrator = Integrator::semi_implicit_euler) {
  Scene scene(mu);
  scene.model->integrator = integrator;
  scene.add_floor(Vec3::Zero(), slope.nhat);
  scene.add(make_box(Vec3(0.2, 0.2, 0.1)), 3, {slope.q, 0.1 * slope.nhat});
  return scene;
}

// Speed between the second and the tenth second of a box at 0.9 of the friction angle.
double creep_of(double mu) {
  const Slope slope(0.9 * std::atan(mu));
  World world = box_on_slope(slope, mu).world();
  test::run(world, 2000);
  const Vec3 start = world.state().p_WBcm(1);
  CHECK_WITHIN((start - 0.1 * slope.nhat).norm(), 1e-3);
  test::run(world, 8000);
  const double creep = (world.state().p_WBcm(1) - start).norm() / 8;
  MESSAGE("mu " << mu << ": creep " << creep << " m/s");
  return creep;
}

TEST_CASE("a box on a slope of 0.9 atan(mu) creeps less than 1e-9 m/s") {
  for (const double mu : {0.1, 0.3, 0.5, 0.75}) CHECK_WITHIN(creep_of(mu), 1e-9);
}

TEST_CASE("a box on a steep slope of 0.9 atan(mu), mu 0.8 to 1.2, creeps less than 1e-9 m/s") {
  for (const double mu : {0.8, 1.0, 1.2}) CHECK_WITHIN(creep_of(mu), 1e-9);
}

TEST_CASE("a box on a slope of 1.1 atan(mu) slides within 1 % of Coulomb's acceleration") {
  for (const double mu : {0.1, 0.3, 0.5, 0.8}) {
    const double angle = 1.1 * std::atan(mu);
    const Slope slope(angle);
    World world = box_on_slope(slope, mu).world();
    test::run(world, 500);
    const double v0 = slope.down.dot(world.state().v_WBcm(1));
    test::run(world, 1500);
    const double a = (slope.down.dot(world.state().v_WBcm(1)) - v0) / 1.5;
    const double coulomb = kGravity * (std::sin(angle) - mu * std::cos(angle));
    CAPTURE(mu);
    MESSAGE("mu " << mu << ": acceleration / Coulomb's - 1 = " << a / coulomb - 1);
    CHECK_WITHIN(a / coulomb - 1, 0.01);
    CHECK_WITHIN(world.state().w_WB(1).norm(), 1e-3);
  }
}

TEST_CASE("without friction a box slides with g sin, a thrown one with friction stops after v^2 / (2 mu g)") {
  const Slope slope(0.4);
  World world = box_on_slope(slope, 0).world();
  test::run(world, 1000);
  CHECK_WITHIN(slope.down.dot(world.state().v_WBcm(1)) / (kGravity * std::sin(0.4)) - 1, 1e-6);
  for (const double mu : {0.2, 0.6}) {
    Scene scene(mu);
    scene.add_floor();
    scene.add(make_box(Vec3(0.2, 0.2, 0.05)), 3, test::at(0, 0, 0.05), {Vec3::Zero(), Vec3(2, 0, 0)});
    World sliding = scene.world();
    test::run(sliding, 3000);
    CHECK_WITHIN(sliding.state().p_WBcm(1).x() / (2.0 * 2.0 / (2 * mu * kGravity)) - 1, 0.01);
    CHECK_WITHIN(sliding.state().v_WBcm(1).norm(), 1e-9);
  }
}

TEST_CASE("a sphere rolls down a slope with 5/7 g sin, a cylinder with 2/3 g sin") {
  const double angle = 0.3, r = 0.2;
  const Slope slope(angle);
  for (const bool cylinder : {false, true}) {
    Scene scene(0.8);
    scene.add_floor(Vec3::Zero(), slope.nhat);
    const Shape shape = cylinder ? make_cylinder(r, 0.15) : make_sphere(r);
    const Quat q = cylinder ? test::turned(Vec3::UnitX(), M_PI / 2) : Quat::Identity();
    scene.add(shape, 2, {q, r * slope.nhat});
    World world = scene.world();
    test::run(world, 2000);
    const double v = slope.down.dot(world.state().v_WBcm(1)),
                 a = (cylinder ? 2.0 / 3 : 5.0 / 7) * kGravity * std::sin(angle);
    CAPTURE(cylinder);
    CHECK_WITHIN(v / (2 * a) - 1, 5e-3);
    CHECK_WITHIN(world.state().w_WB(1).y() * r / v - 1, 2e-3);
    CHECK_WITHIN(world.state().v_WBcm(1).y(), 1e-4);
  }
}

// m a = m g sin - F and I a / r = F r - rho N.
TEST_CASE("rolling resistance of arm rho holds a sphere below tan = rho / r and brakes it above") {
  const double r = 0.2, rho = 0.02;
  for (const double slant : {0.9, 1.5, 3.0}) {
    const double angle = std::atan(slant * rho / r);
    const Slope slope(angle);
    Scene scene(0.8);
    for (SurfacePair& pair : scene.model->surface_pairs) pair.friction.rolling = rho;
    scene.model->materials[0].friction.rolling = rho;
    scene.add_floor(Vec3::Zero(), slope.nhat);
    scene.add(make_sphere(r), 2, {Quat::Identity(), r * slope.nhat});
    World world = scene.world();
    test::run(world, 2000);
    CAPTURE(slant);
    const double v = slope.down.dot(world.state().v_WBcm(1));
    const double a = 5.0 / 7 * kGravity * (std::sin(angle) - rho / r * std::cos(angle));
    if (slant < 1) {
      CHECK_WITHIN(v, 1e-9);
    } else {
      CHECK_WITHIN(v / (2 * a) - 1, 5e-3);
    }
  }
}

TEST_CASE("a sphere thrown without spin slides, then rolls at 5/7 of its speed") {
  Scene scene(0.3);
  scene.add_floor();
  scene.add(make_sphere(0.1), 1, test::at(0, 0, 0.1), {Vec3::Zero(), Vec3(3, 0, 0)});
  World world = scene.world();
  const double t_roll = 2 * 3 / (7 * 0.3 * kGravity);  // when it begins to roll
  test::run(world, static_cast<int>(900 * t_roll));
  CHECK(world.state().w_WB(1).y() * 0.1 < world.state().v_WBcm(1).x() - 0.01);
  test::run(world, static_cast<int>(300 * t_roll));
  CHECK_WITHIN(world.state().v_WBcm(1).x() / (5.0 / 7 * 3) - 1, 5e-3);
  const double v = world.state().v_WBcm(1).x();
  test::run(world, 2000);
  CHECK_WITHIN(world.state().v_WBcm(1).x() / v - 1, 5e-3);  // rolling costs nothing
}

TEST_CASE("a dropped sphere bounces to e^2 of its height, and each bounce likewise") {
  for (const double e : {0.3, 0.5, 0.8, 1.0}) {
    Scene scene(0.5, e);
    scene.add_floor();
    scene.add(make_sphere(0.1), 1, test::at(0, 0, 1.1));
    World world = scene.world();
    double height = 1.0;
    int bounces = 0;
    double v_before = 0;
    for (int i = 0; i < 3000 && bounces < 3; ++i) {
      world.step();
      const double v = world.state().v_WBcm(1).z();
      if (v_before > 0 && v <= 0) {  // at the top
        const double top = world.state().p_WBcm(1).z() - 0.1;
        CAPTURE(e);
        // One tick's travel at the speed of impact is the unsharpness of the moment.
        CHECK_WITHIN(top - e * e * height, 2.5e-3 * std::sqrt(2 * kGravity * height));
        height = top;
        ++bounces;
      }
      v_before = v;
    }
    CHECK(bounces >= 2);
  }
}

// Brake of a flat box spun about its upright axis, over the closed form: four corners at R carry m g / 4 each, so the
// moment is mu m g R.
double spin_brake(World& world, double mu) {
  const double inertia = world.model().bodies[1].I_BBcm(2, 2), mass = world.model().bodies[1].mass;
  test::run(world, 100);
  const double w0 = world.state().w_WB(1).z();
  test::run(world, 100);
  return (w0 - world.state().w_WB(1).z()) / 0.1 / (mu * mass * kGravity * std::sqrt(2.0) * 0.1 / inertia);
}

Scene spun_box(double mu) {
  Scene scene(mu);
  scene.add_floor();
  scene.add(make_box(Vec3(0.1, 0.1, 0.02)), 2, test::at(0, 0, 0.02), {Vec3(0, 0, 20), Vec3::Zero()});
  return scene;
}

TEST_CASE("a coin spun flat on the floor is braked by the friction of its face and stops where it is") {
  World world = spun_box(0.3).world();
  CHECK_WITHIN(spin_brake(world, 0.3) - 1, 0.12);
  test::run(world, 2000);
  CHECK_WITHIN(world.state().w_WB(1).norm(), 1e-9);
  CHECK_WITHIN(world.state().p_WBcm(1).head<2>().norm(), 2e-4);
}

TEST_CASE("a coin spun flat is braked within 1 % of mu m g R") {
  World world = spun_box(0.3).world();
  CHECK_WITHIN(spin_brake(world, 0.3) - 1, 0.01);
}

TEST_CASE("a box carried by a kinematic plate moves with it") {
  Scene scene(0.6);
  const BodyIndex plate = scene.add(make_box(Vec3(2, 2, 0.1)), 1, test::at(0, 0, -0.1), {Vec3::Zero(), Vec3(0.5, 0, 0)},
                                    0, BodyMode::kinematic);
  const BodyIndex box =
      scene.add(make_box(Vec3(0.1, 0.1, 0.1)), 1, test::at(0, 0, 0.1), {Vec3::Zero(), Vec3(0.5, 0, 0)});
  World world = scene.world();
  test::run(world, 2000);
  CHECK_WITHIN(world.state().p_WBcm(box).x() - world.state().p_WBcm(plate).x(), 1e-5);
  CHECK_WITHIN(world.state().p_WBcm(plate).x() - 1.0, 1e-12);
}

}  // namespace
}  // namespace tactus
