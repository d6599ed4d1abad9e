// The exact stepper with smooth surfaces: ellipsoids, tori and bowls, against closed forms.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/fixed_shape.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::at;
using test::kGravity;
using test::Scene;

struct Smooth {
  std::vector<std::unique_ptr<SmoothSurface>> surfaces;
  Shape shape(std::unique_ptr<SmoothSurface> surface) {
    surfaces.push_back(std::move(surface));
    return make_smooth(surfaces.back().get());
  }
};

World exact_world(Scene scene, double h = 1e-3) {
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->step = h;
  scene.model->parameters.lcp_stepper = LcpStepper::exact;
  scene.limits.pairs = 16, scene.limits.problem_contacts = 128, scene.limits.problem_rows = 64;
  return scene.world();
}

void check_clean(const StepReport& report) {
  CHECK(report.solver_failures == 0);
  CHECK(report.inconsistent == 0);
  CHECK(report.exact.unresolved == 0);
  CHECK(report.exact.exhausted == 0);
}

constexpr double kLarge = 1, kSmall = 0.25, kArm = kLarge + kSmall;

Vec3 fall_back(const World& world, BodyIndex b, double s) {
  return world.state().p_WBcm(b) - s * world.state().v_WBcm(b) + 0.5 * s * s * world.parameters().gravity_W;
}

}  // namespace

TEST_CASE("exact, smooth: ellipsoids of equal radii slide off each other like spheres") {
  Smooth smooth;
  const double angle = 0.1, v = 0.3;
  Scene scene(0);
  scene.add(smooth.shape(make_ellipsoid(Vec3::Constant(kLarge))), 1, at(0, 0, 0), {}, 0, BodyMode::fixed);
  const Vec3 along(std::cos(angle), 0, -std::sin(angle));
  scene.add(smooth.shape(make_ellipsoid(Vec3::Constant(kSmall))), 2,
            at(kArm * std::sin(angle), 0, kArm * std::cos(angle)), {Vec3::Zero(), v * along});
  World world = exact_world(std::move(scene));
  const double energy = test::total_energy(world);
  double found = -1, worst = 0;
  for (int i = 0; i < 2000 && found < 0; ++i) {
    const StepReport report = world.step();
    check_clean(report);
    const State& state = world.state();
    if (report.exact.breaks > 0) {
      const Vec3 p = fall_back(world, 1, world.h() - report.exact.event_time);
      found = std::acos(p.z() / p.norm());
      continue;
    }
    REQUIRE(world.contacts().point_count == 1);
    const Vec3 p = state.p_WBcm(1);
    const double push = -p.normalized().dot(world.contact_force(0));
    const double expected = 2 * (kGravity * p.z() / kArm - state.v_WBcm(1).squaredNorm() / kArm);
    worst = std::max(worst, std::abs(push - expected) / (2 * kGravity));
  }
  const double expected = 2.0 / 3 * std::cos(angle) + v * v / (3 * kGravity * kArm);
  CHECK_WITHIN((found - std::acos(expected)) * 180 / M_PI, 1e-4);
  CHECK_WITHIN(worst, 1e-9);
  CHECK_WITHIN(test::total_energy(world) / energy - 1, 1e-9);
}

TEST_CASE("exact, smooth: a marble in an ellipsoidal bowl swings with 2 pi sqrt((rho - r) / g), rho = a^2 / c") {
  const Vec3 radii(1.0, 0.8, 0.6);
  const double r = 0.05, amplitude = 2e-4;
  for (const int axis : {0, 1}) {
    Smooth smooth;
    Scene scene(0);
    test::add_fixed(scene, smooth.shape(make_cavity(make_ellipsoid(radii))));
    const double rho = radii[axis] * radii[axis] / radii.z(), length = rho - r;
    Vec3 p = amplitude * Vec3::Unit(axis);
    // The centre of the ball is r inside of the point below it: on the parallel surface.
    const double slope = amplitude / length, foot = amplitude + r * slope;
    p.z() = -radii.z() * std::sqrt(1 - foot * foot / (radii[axis] * radii[axis])) + r * std::sqrt(1 - slope * slope);
    scene.add(make_sphere(r), 0.1, {Quat::Identity(), p});
    World world = exact_world(std::move(scene), 2e-3);
    const double period = 2 * M_PI * std::sqrt(length / kGravity);
    double last = amplitude, crossed = -1, found = -1;
    for (int i = 0; i < 2000 && found < 0; ++i) {
      check_clean(world.step());
      const double x = world.state().p_WBcm(1)[axis], t = world.state().time;
      if (last > 0 && x <= 0) {  // downwards through the middle, once a period
        const double when = t - world.h() * x / (x - last);
        (crossed < 0 ? crossed : found) = when;
      }
      last = x;
    }
    CHECK_WITHIN((found - crossed) / period - 1, 1e-5);
  }
}

namespace {

constexpr double kShort = 0.03, kLong = 0.045;

// A prolate egg that lies, turned up by `tilt` from lying, spinning about the vertical.
World egg(Smooth& smooth, double mu, double spin, double tilt, double h) {
  Scene scene(mu);
  scene.add_floor();
  const Shape shape = smooth.shape(make_ellipsoid(Vec3(kShort, kShort, kLong)));
  const Quat q = test::turned(Vec3::UnitY(), M_PI / 2 - tilt);
  const Vec3 u = q * Vec3::UnitZ();
  const double height = std::sqrt(kShort * kShort * (1 - u.z() * u.z()) + kLong * kLong * u.z() * u.z());
  scene.add(shape, 0.06, {q, Vec3(0, 0, height)}, {Vec3(0, 0, spin), Vec3::Zero()});
  return exact_world(std::move(scene), h);
}
double upright(const World& world) {  // cos of the angle between its long axis and the vertical
  return std::abs((world.state().q_WB(1) * Vec3::UnitZ()).z());
}

TEST_CASE(
    "exact, smooth: a superellipsoid that falls and rolls over its flat poles does not sink, and gains no energy") {
  for (const double exponent : {0.5, 0.7}) {
    CAPTURE(exponent);
    Smooth smooth;
    Scene scene(0.3, 0.2);
    scene.add_floor();
    const Quat tilted = Quat(Eigen::AngleAxisd(0.2, Vec3::UnitY()) * Eigen::AngleAxisd(0.3, Vec3::UnitX()));
    scene.add(smooth.shape(make_superellipsoid(Vec3::Constant(0.1), exponent, exponent)), 1, {tilted, Vec3(0, 0, 0.3)});
    World world = exact_world(std::move(scene), 1e-3);
    const double start = test::total_energy(world);
    double deepest = 0, most = 0;
    std::uint32_t unresolved = 0;
    for (int i = 0; i < 2000; ++i) {
      const StepReport report = world.step();
      unresolved += report.exact.unresolved;
      deepest = std::max(deepest, report.depth_max);
      most = std::max(most, test::total_energy(world));
    }
    CHECK(unresolved == 0);
    CHECK(deepest < 1e-6);
    CHECK(most <= start + 1e-6);
  }
}

// The points that share its load handed it on to each other by ends of force and slip once a microsecond: 127 pieces
// and 0.13 s a step.
TEST_CASE("exact, smooth: a sharp cube comes to rest on a face, in few pieces a step") {
  for (const std::uint64_t seed : {1u, 2u, 5u}) {
    CAPTURE(seed);
    Smooth smooth;
    Scene scene(0.5);
    scene.add_floor();
    test::Random rng(seed);
    scene.add(smooth.shape(make_superellipsoid(Vec3::Constant(0.1), 0.1, 0.1)), 1, {rng.rotation(), Vec3(0, 0, 0.25)});
    World world = exact_world(std::move(scene), 1e-3);
    const double start = test::total_energy(world);
    double deepest = 0, most = 0;
    std::uint32_t pieces = 0, unresolved = 0;
    for (int i = 0; i < 3000; ++i) {
      const StepReport report = world.step();
      pieces = std::max(pieces, report.exact.pieces);
      unresolved += report.exact.unresolved + report.exact.exhausted + report.solver_failures;
      deepest = std::max(deepest, report.depth_max);
      most = std::max(most, test::total_energy(world));
    }
    CHECK(pieces <= 48);
    CHECK(unresolved == 0);
    CHECK(deepest < 2e-6);
    CHECK(most <= start + 1e-6);
    CHECK_WITHIN(world.state().w_WB(1).norm(), 1e-9);
    CHECK_WITHIN(world.state().v_WBcm(1).norm(), 1e-9);
    CHECK_WITHIN(std::abs(world.state().p_WBcm(1).z() - 0.1), 2e-6);  // on a face
  }
}

}  // namespace

TEST_CASE("exact, smooth: an egg that spins fast rises with friction, and only nutates without") {
  Smooth smooth;
  World rough = egg(smooth, 0.1, 200, 0.1, 1e-3), ice = egg(smooth, 0, 200, 0.1, 5e-4);
  const double energy = test::total_energy(ice), turning = test::momentum(ice.model(), ice.state()).angular.z();
  double highest = 0, on_ice = 0;
  for (int i = 0; i < 4000; ++i) {
    check_clean(rough.step());
    if (i < 2000) check_clean(ice.step());
    highest = std::max(highest, upright(rough));
    on_ice = std::max(on_ice, upright(ice));
  }
  CHECK(highest > 0.95);
  CHECK(on_ice < 0.15);
  CHECK_WITHIN(test::total_energy(ice) / energy - 1, 1e-6);
  CHECK_WITHIN(test::momentum(ice.model(), ice.state()).angular.z() / turning - 1, 1e-6);
}

TEST_CASE("exact, smooth: a torus that leans and rolls goes round a circle at the pace of steady precession") {
  const double ring = 0.2, tube = 0.05, m = 1, theta = 75 * M_PI / 180, Omega = 1.5;
  Smooth smooth;
  Scene scene(1e3);
  scene.add_floor();
  const Shape shape = smooth.shape(make_torus(ring, tube));
  const MassProperties unit = mass_properties(shape, 1.0);
  const Mat3 I = unit.I_SScm * (m / unit.mass);
  const Vec3 k = Vec3::UnitZ(), u(std::sin(theta), 0, std::cos(theta));
  const Vec3 arm = -ring * (k - std::cos(theta) * u) / std::sin(theta) - tube * k;  // centre to contact
  // Moment equation about the centre, along y, for a spin s: linear in s.
  const auto velocity = [&](double s) { return Vec3(-(Omega * k + s * u).cross(arm)); };
  const auto excess = [&](double s) {
    const Vec3 w = Omega * k + s * u, a = Omega * k.cross(velocity(s));
    const Vec3 L = I(0, 0) * (w - w.dot(u) * u) + I(2, 2) * w.dot(u) * u;
    return (arm.cross(m * (a + kGravity * k)) - Omega * k.cross(L)).y();
  };
  const double s = -excess(0) / (excess(1) - excess(0));
  REQUIRE(std::abs(excess(s)) < 1e-12);
  const Quat q = test::turned(Vec3::UnitY(), theta);
  const Vec3 start(0, 0, ring * std::sin(theta) + tube);
  const BodyIndex b = scene.add(shape, m, {q, start}, {Omega * k + s * u, velocity(s)});
  World world = exact_world(std::move(scene), 2e-3);
  const double period = 2 * M_PI / Omega, radius = velocity(s).norm() / Omega;
  const Vec3 centre = start + k.cross(velocity(s)) / Omega;
  double off = 0, lean = 0;
  for (int i = 0; world.state().time < period; ++i) {
    check_clean(world.step());
    const double angle = Omega * world.state().time;
    const Vec3 p = centre + test::turned(k, angle) * (start - centre);
    off = std::max(off, (world.state().p_WBcm(b) - p).norm());
    lean = std::max(lean, std::abs((world.state().q_WB(b) * k).z() - std::cos(theta)));
  }
  CHECK_WITHIN(off / radius, 1e-5);
  CHECK_WITHIN(lean, 1e-6);
}

TEST_CASE("exact, smooth: ellipsoids that fall on one another: energy without friction and loss, no allocation") {
  Smooth smooth;
  Scene scene(0, 1);
  scene.add_floor();
  for (int i = 0; i < 3; ++i) {
    scene.add(smooth.shape(make_ellipsoid(Vec3(0.1 + 0.02 * i, 0.15, 0.2))), 1 + i,
              {test::turned(Vec3(1, 2 + i, 3), 0.7), Vec3(0.03 * i, 0.02 * i, 0.4 + 0.45 * i)},
              {Vec3(1, i, 0), Vec3::Zero()});
  }
  World world = exact_world(std::move(scene));
  const double energy = test::total_energy(world);
  test::AllocGuard guard;
  std::uint32_t collisions = 0;
  for (int i = 0; i < 1500; ++i) collisions += world.step().exact.collisions;
  if (test::AllocGuard::available()) CHECK(guard.count() == 0);
  CHECK(collisions > 5);
  CHECK_WITHIN(test::total_energy(world) / energy - 1, 1e-6);
}

}  // namespace tactus
