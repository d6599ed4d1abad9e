// Drumwright IV-C (Figure 13): a pile of boxes, cylinders and spheres of very different masses comes to rest between
// walls.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/paper/methods.h"
#include "tests/paper/paper_output.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

// The benchmarks' pile of n between four walls, seeded.
Scene pile(int n, double walls, std::uint64_t seed) {
  Random random(seed);
  Scene scene;
  scene.limits.pairs = 4096;
  scene.add_floor();
  for (const Vec3& nhat : {Vec3(1, 0, 0), Vec3(-1, 0, 0), Vec3(0, 1, 0), Vec3(0, -1, 0)}) {
    scene.add_floor(-0.5 * walls * nhat, nhat);
  }
  const int side = static_cast<int>(walls / 0.34 + 1e-9);
  for (int i = 0; i < n; ++i) {
    const double a = random.uniform(0.1, 0.3), b = random.uniform(0.1, 0.3), c = random.uniform(0.1, 0.3);
    const Shape shape = i % 3 == 0   ? make_box(0.5 * Vec3(a, b, c))
                        : i % 3 == 1 ? make_cylinder(0.5 * a, 0.5 * b)
                                     : make_sphere(0.5 * a);
    const double mass = 100 - random.uniform(0, 100), middle = 0.5 * (side - 1);
    const Vec3 axis = random.direction();
    const double tilt = random.uniform(0, 0.05);
    const Vec3 p((i % side - middle) * 0.34, (i / side % side - middle) * 0.34, (i / (side * side) + 0.5) * 0.35);
    scene.add(shape, mass, {test::turned(axis, tilt), p});
  }
  return scene;
}

struct Rest {
  double depth_median = 0, depth_max = 0;  // of the last second [m]
  double energy = 0, boxes = 0;            // mean kinetic of all, of boxes, which do not roll [J]
  std::uint32_t contacts = 0, dropped = 0;
  bool inside = true;  // the walls
};

double energy_of(const World& world, BodyIndex b) {
  const Body& body = world.model().bodies[b];
  const Vec3 w_B = world.state().q_WB(b).conjugate() * world.state().w_WB(b);
  return 0.5 * (body.mass * world.state().v_WBcm(b).squaredNorm() + w_B.dot(body.I_BBcm * w_B));
}

// A pile of 30 over eight seconds.
Rest settle(const test::Method& method, std::uint64_t seed) {
  Scene scene = pile(30, 0.68, seed);
  method.apply(*scene.model);
  World world = scene.world();
  const std::string run = seed == 1 ? method.name : method.name + ", seed " + std::to_string(seed);
  auto csv = test::open_csv("fig13_30_" + run + ".csv", "step,energy_j,depth_m,contacts");
  std::vector<double> depths;
  Rest rest;
  for (int i = 0; i < 8000; ++i) {
    const StepReport r = world.step();
    const double e = kinetic_energy(world.model(), world.state());
    csv << i << ',' << e << ',' << r.depth_max << ',' << r.contacts << '\n';
    rest.dropped += r.pairs_dropped + r.bodies_frozen;
    if (i < 7000) continue;
    depths.push_back(r.depth_max);
    rest.energy += e / 1000;
    for (BodyIndex b = 5; b < world.state().body_count(); b += 3) rest.boxes += energy_of(world, b) / 1000;
    rest.contacts = std::max(rest.contacts, r.contacts);
  }
  std::sort(depths.begin(), depths.end());
  rest.depth_median = depths[500], rest.depth_max = depths.back();
  for (BodyIndex b = 5; b < world.state().body_count(); ++b) {
    const Vec3 p = world.state().p_WBcm(b);
    rest.inside = rest.inside && p.z() > 0 && p.head<2>().cwiseAbs().maxCoeff() < 0.34;
  }
  MESSAGE(run << ": pile of 30, last second: deepest overlap median " << 1e3 * rest.depth_median << " mm, largest "
              << 1e3 * rest.depth_max << " mm, mean energy " << rest.energy << " J (boxes " << rest.boxes
              << "), contacts " << rest.contacts);
  return rest;
}

TEST_CASE("Figure 13: piles of 30 settle, stay inside their walls and overlap by millimetres at most") {
  test::Method paper{"paper", ContactModelKind::penalty, {}};
  paper.gains.law = GainLaw::paper;
  const Rest soft = settle(paper, 1);
  std::vector<Rest> rests;
  std::vector<double> energies, boxes;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Rest rest = settle(test::automatic(), seed);
    CHECK(rest.dropped == 0);
    CHECK(rest.depth_max < 5e-3);
    CHECK(rest.inside);
    CHECK_WITHIN(rest.energy, 1);
    rests.push_back(rest);
    energies.push_back(rest.energy);
    boxes.push_back(rest.boxes);
  }
  std::sort(energies.begin(), energies.end());
  std::sort(boxes.begin(), boxes.end());
  // At rest, but in two of eight: nothing brakes what spins on a point, nor a box that rocks on a cylinder.
  CHECK_WITHIN(energies[5], 0.1);
  CHECK_WITHIN(boxes[6], 0.1);
  const Rest& rest = rests[0];
  // III-C's gains carry m g on 100 m: the deepest of a pile is decimetres down (with these gains a stack of 4 falls).
  CHECK(soft.depth_median > 20 * rest.depth_median);
  test::table_row("c2_pile", "IV-C: pile of 30: median of the deepest [m] / energy [J]", "\"steady configuration\"",
                  test::number(soft.depth_median) + " / " + test::number(soft.energy),
                  test::number(rest.depth_median) + " / " + test::number(rest.energy));
}

}  // namespace
}  // namespace tactus
