// Drumwright IV-C on Kass: a stack of n diverges when the step is above 1/n. True of a column of given stiffness that
// is cut into n parts: its stiffest wave has the frequency 2 n sqrt(K/M). With contacts of given stiffness between
// bodies of given mass the limit does not depend on n. Spheres on top of each other are a chain of springs exactly.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/paper/methods.h"
#include "tests/paper/paper_output.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Scene;

// n frictionless spheres of radius 0.5 m, one above the other, each contact pressed in as far as its load asks.
Scene column(int n, double mass, double kp, double h) {
  Scene scene(0);
  Gains& gains = scene.model->parameters.gains;
  gains.law = GainLaw::explicit_gains;
  gains.kp = kp, gains.kv = 0, gains.ki = 0;
  scene.model->step = h;
  scene.model->substeps = 1;
  scene.add_floor();
  double top = 0;
  for (int i = 0; i < n; ++i) {
    top -= (n - i) * mass * test::kGravity / kp;
    // A little off rest, all modes: less than the smallest static depth.
    const double speed = (i % 2 == 0 ? 1e-3 : -1e-3) * std::sqrt(mass / kp) * test::kGravity;
    scene.add(make_sphere(0.5), mass, test::at(0, 0, top + 0.5 + i), {Vec3::Zero(), Vec3(0, 0, speed)});
  }
  return scene;
}

double potential(const World& world, int n, double mass, double kp) {
  double energy = kinetic_energy(world.model(), world.state()), below = 0;
  for (int i = 0; i < n; ++i) {
    const double z = world.state().p_WBcm(static_cast<BodyIndex>(i + 1)).z();
    const double rest = (n - i) * mass * test::kGravity / kp, depth = (i == 0 ? 0.5 : 1.0) - (z - below) - rest;
    energy += 0.5 * kp * depth * depth;
    below = z;
  }
  return energy;
}

bool grows(int n, double mass, double kp, double h) {
  World world = column(n, mass, kp, h).world();
  const double start = potential(world, n, mass, kp);
  for (int i = 0; i < 3000; ++i) {
    world.step();
    if (i % 50 == 49 && potential(world, n, mass, kp) > 1e3 * start) return true;
  }
  return false;
}

// The largest stable step, by bisection to 0.2 %.
double stable_step(int n, double mass, double kp) {
  double lo = 0.5 * std::sqrt(mass / kp), hi = 4 * std::sqrt(mass / kp);
  REQUIRE_FALSE(grows(n, mass, kp, lo));
  REQUIRE(grows(n, mass, kp, hi));
  while (hi / lo > 1.002) (grows(n, mass, kp, std::sqrt(lo * hi)) ? hi : lo) = std::sqrt(lo * hi);
  return lo;
}

// Semi-implicit Euler is stable to omega h = 2; the highest mode of a chain that stands on its lowest spring.
double chain_step(int n, double mass, double kp) {
  return 1 / (std::sqrt(kp / mass) * std::cos(M_PI / (2 * n + 1)));
}

TEST_CASE("Kass: of a column of given mass and stiffness in n parts, the largest stable step falls like 1/n") {
  const double M = 10, K = 1e4;  // the whole column
  auto csv = test::open_csv("kass.csv", "bodies,step_column_s,step_contacts_s,step_chain_s");
  std::vector<double> column_step, contact_step;
  for (const int n : {4, 8, 16, 32}) {
    column_step.push_back(stable_step(n, M / n, K * n));
    contact_step.push_back(stable_step(n, M, K));
    csv << n << ',' << column_step.back() << ',' << contact_step.back() << ',' << chain_step(n, M / n, K * n) << '\n';
    CHECK_WITHIN(column_step.back() / chain_step(n, M / n, K * n) - 1, 0.01);
    CHECK_WITHIN(contact_step.back() / chain_step(n, M, K) - 1, 0.01);
  }
  const double slope = std::log(column_step.back() / column_step.front()) / std::log(8.0);
  MESSAGE("stable step of the column ~ n^" << slope << "; of given contacts " << contact_step.front() << " s for 4, "
                                           << contact_step.back() << " s for 32");
  test::table_row("c0_kass", "IV-C: stable step of a stack of n", "1/n (Kass)",
                  "n^" + test::number(slope) + " (column of given stiffness); contacts of given stiffness: any n",
                  "1 ms, any n");
  CHECK_WITHIN(slope + 1, 0.06);                                       // -1
  CHECK_WITHIN(contact_step.back() / contact_step.front() - 1, 0.07);  // cos(pi/9) / cos(pi/65)
}

TEST_CASE("Kass: \"auto\" chooses its gains from the step, so any stack keeps standing at any step of 1 to 4 ms") {
  for (const double h : {1e-3, 4e-3}) {
    for (const int n : {5, 10, 20}) {
      Scene scene = test::stack(n, false);
      scene.model->step = h;
      World world = scene.world();
      for (int i = 0; i * h < 4; ++i) world.step();
      const double energy = kinetic_energy(world.model(), world.state());
      CHECK_MESSAGE(energy < 1e-6, n << " bodies, step " << h << " s: " << energy << " J");
      CHECK_WITHIN(world.state().p_WBcm(static_cast<BodyIndex>(n)).z() - (n - 0.5), 2e-3 * n);
    }
  }
}

}  // namespace
}  // namespace tactus
