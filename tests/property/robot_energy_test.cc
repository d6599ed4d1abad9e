// Robots without drives, damping and contact keep their energy under the default integrator: no drift that adds up.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/robots.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

constexpr double kLength = 0.2;  // of a link [m]

void add_rod(Model& model, BodyIndex parent, JointKind kind, const Vec3& axis) {
  const BodyIndex b = test::add_link(model, 1, Vec3(4e-3, 4e-3, 4e-4).asDiagonal(), Vec3(0, 0, -0.5 * kLength));
  test::add_joint(model, kind, parent, b, test::at(0, 0, parent == kNone ? 0 : -kLength), axis);
}

struct Energies {
  double worst = 0, last = 0;  // change since the start, over the largest kinetic energy
};

Energies run(Scene& scene, double seconds) {
  World world = scene.world();
  const auto kinetic = [&] { return kinetic_energy(world.model(), world.state()); };
  const auto total = [&] { return mechanical_energy(world.model(), world.parameters().gravity_W, world.state()); };
  const double start = total();
  double largest = kinetic(), worst = 0;
  for (int i = 0; i < static_cast<int>(std::lround(seconds / world.model().step)); ++i) {
    world.step();
    largest = std::max(largest, kinetic());
    worst = std::max(worst, std::abs(total() - start));
  }
  return {worst / largest, std::abs(total() - start) / largest};
}

// A chain that hangs from the world, let go at 1.2 rad.
Energies swing(int links, double seconds) {
  Scene scene;
  test::add_robot(*scene.model, "chain");
  for (int i = 0; i < links; ++i) {
    add_rod(*scene.model, i == 0 ? kNone : static_cast<BodyIndex>(scene.model->bodies.size() - 1),
            JointKind::continuous, i % 2 == 0 ? Vec3::UnitY() : Vec3::UnitX());
    scene.model->joint_q0.push_back(i == 0 ? 1.2 : 0.05);
    scene.model->joint_v0.push_back(0);
  }
  return run(scene, seconds);
}

// A chain that tumbles freely: 2 to 3 rad/s in every joint, random axes, no gravity.
Energies tumble(int links, std::uint64_t seed, double seconds) {
  Random random(seed);
  Scene scene;
  scene.set_gravity(Vec3::Zero());
  Model& model = *scene.model;
  test::add_robot(model, "chain");
  add_rod(model, kNone, JointKind::floating, Vec3::UnitZ());
  model.joint_q0 = {0, 0, 0, 1, 0, 0, 0};
  const Vec3 w = 3 * random.direction();
  model.joint_v0 = {0, 0, 0, w.x(), w.y(), w.z()};
  for (int i = 1; i < links; ++i) {
    add_rod(model, static_cast<BodyIndex>(model.bodies.size() - 1), JointKind::continuous, random.direction());
    model.joint_q0.push_back(random.uniform(-1, 1));
    model.joint_v0.push_back(random.uniform(2, 3));
  }
  return run(scene, seconds);
}

TEST_CASE("robot energy: chains that hang and swing keep it") {
  const Energies two = swing(2, 10), five = swing(5, 10), twenty = swing(20, 4);
  MESSAGE("worst change of 2, 5, 20 links: " << two.worst << ", " << five.worst << ", " << twenty.worst);
  CHECK(two.worst < 0.01);
  CHECK(five.worst < 0.02);
  CHECK(twenty.worst < 0.02);
}

TEST_CASE("robot energy: free-floating undamped chains keep it within 4 % for ten seconds, and it comes back") {
  double worst = 0;
  for (const int links : {1, 2, 3, 6}) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const Energies e = tumble(links, seed, 10);
      CAPTURE(links);
      CAPTURE(seed);
      CHECK(e.worst < 0.04);
      CHECK(e.last < 0.015);
      worst = std::max(worst, e.worst);
    }
  }
  MESSAGE("worst change of 32 chains: " << worst);
}

}  // namespace
}  // namespace tactus
