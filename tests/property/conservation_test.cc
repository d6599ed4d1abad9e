// What a closed system of colliding bodies must keep: momentum always, energy never grows.
#include <algorithm>
#include <vector>

#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

Shape random_shape(Random& random) {
  switch (random.below(4)) {
    case 0:
      return make_sphere(random.uniform(0.1, 0.3));
    case 1:
      return make_box(Vec3(random.uniform(0.1, 0.3), random.uniform(0.1, 0.3), random.uniform(0.05, 0.2)));
    case 2:
      return make_cylinder(random.uniform(0.1, 0.3), random.uniform(0.1, 0.2));
    default:
      return make_capsule(random.uniform(0.1, 0.2), random.uniform(0.1, 0.2));
  }
}

// Bodies apart from each other that all fly to the middle, tumbling, in free space; v: a wind on all of them.
Scene implosion(std::uint64_t seed, double mu, double e, const Vec3& v = Vec3::Zero(), bool spheres = false) {
  Random random(seed);
  Scene scene(mu, e);
  scene.set_gravity(Vec3::Zero());
  std::vector<Vec3> places;
  while (places.size() < 10) {
    const Vec3 p = random.direction() * random.uniform(0.8, 2);
    if (std::any_of(places.begin(), places.end(), [&p](const Vec3& x) { return (x - p).norm() < 0.85; })) continue;
    places.push_back(p);
    const Shape shape = spheres ? make_sphere(0.2) : random_shape(random);
    const double mass = random.log_uniform(0.2, 20);
    const Pose X_WB{random.rotation(), p};
    const Vec3 w = random.in_cube(5), aim = -p * random.uniform(1, 2) + random.in_cube(0.2);
    scene.add(shape, mass, X_WB, {w, aim + v});
  }
  return scene;
}

TEST_CASE("conservation: linear and angular momentum of colliding free bodies, friction and restitution whatever") {
  Random random(1);
  double worst = 0;
  std::uint32_t contacts = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Scene scene = implosion(seed, random.uniform(0, 1), seed % 3 ? random.uniform(0, 1) : 0.0);
    scene.model->integrator = seed % 4 == 0 ? Integrator::rk4 : Integrator::semi_implicit_euler;
    scene.model->contact_model = seed % 5 == 0 ? ContactModelKind::deepest : ContactModelKind::penalty;
    World world = scene.world();
    const test::Momentum start = test::momentum(world.model(), world.state());
    const double scale = std::sqrt(2 * kinetic_energy(world.model(), world.state()) * 50.0);
    for (int i = 0; i < 3000; ++i) contacts += world.step().manifolds;
    const test::Momentum end = test::momentum(world.model(), world.state());
    // RK4 conserves angular momentum to its order only: (w h)^4 w t is about 1e-5 for the fastest tumblers after
    // impacts.
    const double tolerance = world.model().integrator == Integrator::rk4 ? 1e-6 : 1e-12;
    CHECK_WITHIN((end.linear - start.linear).norm() / scale, 1e-12);
    CHECK_WITHIN((end.angular - start.angular).norm() / scale, tolerance);
    worst = std::max(worst, (end.angular - start.angular).norm() / scale);
  }
  MESSAGE("angular momentum off by at most " << worst << " of the scale; manifolds seen: " << contacts);
  CHECK(contacts > 1000);
}

// Largest rise of the energy between two moments at which nothing touches (springs then hold none), of the energy that
// was there to be lost; the lowest point of a fall counts as none.
double worst_gain(Scene scene, int ticks, double* lost = nullptr) {
  World world = scene.world();
  const double start = test::total_energy(world);
  double lowest = start, worst = 0;
  for (int i = 0; i < ticks; ++i) {
    if (world.step().manifolds > 0) continue;
    const double now = test::total_energy(world);
    worst = std::max(worst, (now - lowest) / start);
    lowest = std::min(lowest, now);
  }
  // A body that came to rest is never quite without contact again.
  if (lost) *lost = (start - std::min(lowest, test::total_energy(world))) / start;
  return worst;
}

TEST_CASE("energy: colliding free bodies never gain any, for restitution up to 1") {
  double largest = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    for (const double e : {0.0, 0.7, 1.0}) {
      const double gain = worst_gain(implosion(seed, 0.1 * static_cast<double>(seed % 6), e), 2500);
      CAPTURE(seed);
      CAPTURE(e);
      CHECK_WITHIN(gain, 1e-3);
      largest = std::max(largest, gain);
    }
  }
  MESSAGE("largest gain: " << largest);
}

TEST_CASE("energy: elastic frictionless spheres keep it") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    World world = implosion(seed, 0, 1, Vec3::Zero(), true).world();
    const double start = kinetic_energy(world.model(), world.state());
    test::run(world, 3000);
    CAPTURE(seed);
    CHECK_WITHIN(kinetic_energy(world.model(), world.state()) / start - 1, 1e-9);
  }
}

// Boxes thrown on a floor one by one: the largest gain between two free flights.
double thrown_box_gain(ContactModelKind kind, std::uint64_t seed) {
  Random random(seed);
  const double mu = random.uniform(0, 1), e = random.uniform(0, 0.6);
  Scene scene(mu, e);
  scene.model->contact_model = kind;
  scene.add_floor();
  const double mass = random.log_uniform(0.1, 10);
  const Quat q = random.rotation();
  const Vec3 w = random.in_cube(5), v = random.in_cube(1);
  scene.add(make_box(Vec3(0.2, 0.1, 0.05)), mass, {q, Vec3(0, 0, 0.6)}, {w, v});
  double lost = 0;
  const double gain = worst_gain(std::move(scene), 1500, &lost);
  CHECK(lost > 0.05);
  return gain;
}

TEST_CASE("energy: most boxes thrown on a floor only lose it") {
  int gained = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) gained += thrown_box_gain(ContactModelKind::penalty, seed) > 1e-3;
  CHECK_WITHIN(gained, 10);
}

TEST_CASE("energy: every box thrown on a floor only loses it") {
  // A corner that strikes while the pair counts as resting gets no impulse, but only so much of its new depth as a
  // spring.
  double largest = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    largest = std::max(largest, thrown_box_gain(ContactModelKind::penalty, seed));
  }
  MESSAGE("largest gain: " << largest);
  CHECK_WITHIN(largest, 1e-3);
}

// A plank that rocks without sliding on a log of radius R along y, let go at an angle: its place of contact runs along
// it as it turns. Gives what its energy has changed by, over what it had above its lowest place.
double rocking_change(double step, double seconds) {
  constexpr double R = 0.15, half = 0.05, angle = 0.3;
  Scene scene(0.9, 0);
  scene.model->step = step;
  scene.add(make_cylinder(R, 0.5), 1, {test::turned(Vec3::UnitX(), M_PI / 2), Vec3::Zero()}, {}, 0, BodyMode::fixed);
  const Vec3 nhat(std::sin(angle), 0, std::cos(angle)), along(std::cos(angle), 0, -std::sin(angle));
  scene.add(make_box(Vec3(0.2, 0.1, half)), 10,
            {test::turned(Vec3::UnitY(), angle), (R + half) * nhat - R * angle * along});
  World world = scene.world();
  const double start = test::total_energy(world), least = 10 * test::kGravity * (R + half);
  test::run(world, static_cast<int>(seconds / step));
  return (test::total_energy(world) - start) / (start - least);
}

TEST_CASE("energy: a plank that rocks on a log keeps it, whatever the step") {
  for (const double step : {0.0005, 0.001, 0.002}) {
    const double change = rocking_change(step, 10);
    MESSAGE("step " << step << " s: " << 100 * change << " % in 10 s");
    CHECK(change < 1e-3);
    CHECK(change > -20 * step);
  }
}

TEST_CASE("Galileo: a common velocity of all bodies changes nothing else") {
  const Vec3 wind(3, -2, 1);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    World calm = implosion(seed, 0.4, 0.5, Vec3::Zero(), true).world();
    World windy = implosion(seed, 0.4, 0.5, wind, true).world();
    test::run(calm, 700), test::run(windy, 700);
    double worst = 0;
    for (BodyIndex b = 0; b < calm.state().body_count(); ++b) {
      worst = std::max(worst, (windy.state().p_WBcm(b) - 0.7 * wind - calm.state().p_WBcm(b)).norm());
    }
    CAPTURE(seed);
    CHECK_WITHIN(worst, 1e-10);
  }
}

}  // namespace
}  // namespace tactus
