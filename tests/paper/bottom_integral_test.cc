// Drumwright Figure 6 (the forgetting factor of equation 2), and what the integral does: lambda against popping, stacks
// with it and without.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/contact/penalty/penalty_force.h"
#include "tests/paper/methods.h"
#include "tests/paper/paper_output.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Scene;

// A kinematic sphere held at a depth in a free box of enormous mass: the depth stays, and the integral shows.
double integral_after(double lambda, double depth, int ticks) {
  Scene scene(0);
  scene.set_gravity(Vec3::Zero());
  Gains& gains = scene.model->parameters.gains;
  gains.law = GainLaw::explicit_gains;
  gains.kp = 1e-3, gains.kv = 0, gains.ki = 1e-3;
  gains.lambda = lambda;
  scene.add(make_box(Vec3::Ones()), 1e9, Pose{});
  scene.add(make_sphere(0.5), 1, test::at(0, 0, 1.5 - depth), {}, 0, BodyMode::kinematic);
  World world = scene.world();
  test::run(world, ticks);
  return load_block<PenaltyMemory>(world.state().pairs[0]).integral;
}

TEST_CASE("Figure 6: with forgetting the integral levels off at d / (1 - lambda), without it would grow for ever") {
  auto csv = test::open_csv("fig6.csv", "lambda,depth_m,step,integral_m");
  for (const double lambda : {0.8, 0.9, 0.99}) {
    for (const double depth : {0.01, 0.05, 0.1, 0.2}) {
      for (const int ticks : {1, 2, 5, 10, 20, 50, 100}) {
        const double found = integral_after(lambda, depth, ticks);
        csv << lambda << ',' << depth << ',' << ticks << ',' << found << '\n';
        CHECK_WITHIN(found / (depth * (1 - std::pow(lambda, ticks)) / (1 - lambda)) - 1, 1e-9);  // equation (2)
      }
      const double limit = depth / (1 - lambda);
      CHECK_WITHIN(integral_after(lambda, depth, 3000) / limit - 1, 1e-9);
    }
  }
}

TEST_CASE("equations (2) and (3) at rest: the static depth is m g / (kp + ki / (1 - lambda))") {
  for (const double ki : {0.0, 100.0, 500.0}) {
    Scene scene;
    Gains& gains = scene.model->parameters.gains;
    gains.law = GainLaw::explicit_gains;
    gains.kp = 20000, gains.kv = 2000, gains.ki = ki;
    scene.model->integrator = Integrator::rk4;
    scene.add_floor();
    scene.add(make_box(Vec3::Constant(0.5)), 10, test::at(0, 0, 0.5));
    World world = scene.world();
    test::run(world, 5000);
    CHECK_WITHIN((0.5 - world.state().p_WBcm(1).z()) / (10 * test::kGravity / (20000 + ki / 0.1)) - 1, 1e-3);
  }
}

// The block of IV-B under 100 N of load that is taken away at once: how high it jumps, and how far the centre rises
// above where it then stays [m].
struct Pop {
  double air = 0, overshoot = 0;
};
Pop pop(double lambda, double ki, std::ofstream& csv) {
  test::Method method = test::explicit_method("", ContactModelKind::penalty, 5000, 2500, ki);
  method.gains.lambda = lambda;
  const double kp_static = 5000 + ki / (1 - lambda);
  const double z_end = 0.5 - 10 * test::kGravity / kp_static;
  World world = test::block_scene(method, test::at(0, 0, 0.5)).world();
  for (int i = 0; i < 6000; ++i) {
    world.apply(1, {Vec3::Zero(), Vec3(0, 0, -300)});
    world.step();
  }
  Pop result;
  for (int i = 0; i < 4000; ++i) {
    world.step();
    const double z = world.state().p_WBcm(1).z();
    if (i % 10 == 0) csv << lambda << ',' << i << ',' << z - 0.5 << '\n';
    result.air = std::max(result.air, z - 0.5);
    result.overshoot = std::max(result.overshoot, z - z_end);
  }
  return result;
}

TEST_CASE(
    "III-B: with lambda of 0.8 to 0.9 an unloaded block does not pop; the longer the memory, the higher it does") {
  auto csv = test::open_csv("popping.csv", "lambda,step,height_m");
  double last = 0;
  std::string heights;
  for (const double lambda : {0.8, 0.85, 0.9, 0.99, 0.995, 0.999}) {
    const Pop p = pop(lambda, 100, csv);
    MESSAGE("lambda " << lambda << ": leaves the floor by " << p.air << " m, rises above its rest by " << p.overshoot);
    heights += (heights.empty() ? "" : ", ") + test::number(1e3 * p.overshoot);
    if (lambda <= 0.9) {
      CHECK(p.air <= 0);
      CHECK(p.overshoot < 1e-5);
      continue;
    }
    CHECK(p.overshoot > 5e-4);
    if (lambda > 0.99) CHECK(p.air > last);  // it leaves the floor, and the higher the longer the memory
    last = p.air;
  }
  test::table_row("03_popping", "III-B: pop on unloading for lambda 0.8, 0.85, 0.9, 0.99, 0.995, 0.999 [mm]",
                  "works quite well in 0.8-0.9", heights, "no integral: 0");
}

// A jittered stack of n (1 kg each) under gains per pair, after `seconds`: the depth of its lowest contact, or 0: it
// fell.
double stack_depth(int n, double kp, double kv, double ki, int seconds) {
  Scene scene = test::stack(n, true);
  test::explicit_method("", ContactModelKind::penalty, kp, kv, ki).apply(*scene.model);
  World world = scene.world();
  double depth = 0;
  for (int i = 0; i < 1000 * seconds; ++i) {
    const double d = world.step().depth_max;
    if (i >= 1000 * seconds - 500) depth += d / 500;
    if (i % 100 == 0 && test::tilt(world.state(), static_cast<BodyIndex>(n)) > 0.3) return 0;
  }
  return depth;
}

TEST_CASE("III-B: with the same kp and kv a stack overlaps less with the integral, and stands taller") {
  const double kp = 4000, kv = 200, gain = 2;  // 1 + (ki / kp) / (1 - lambda)
  auto csv = test::open_csv("stack_integral.csv", "bodies,ki_n_per_m,depth_m");
  int tallest[2] = {0, 0};
  for (int n = 2; n <= 12; ++n) {
    double depth[2];
    for (const int with : {0, 1}) {
      const double ki = with * 0.1 * kp;
      depth[with] = stack_depth(n, kp, kv, ki, n <= 5 ? 5 : 20);
      csv << n << ',' << ki << ',' << depth[with] << '\n';
      if (depth[with] > 0 && tallest[with] == (n == 2 ? 0 : n - 1)) tallest[with] = n;
    }
    if (n > 5) continue;
    CHECK_WITHIN(depth[0] / (n * test::kGravity / kp) - 1, 0.03);  // n m g / kp, and a little sway
    CHECK_WITHIN(depth[0] / depth[1] - gain, 0.05);
  }
  MESSAGE("tallest stack that stands for 20 s: " << tallest[0] << " without the integral, " << tallest[1]
                                                 << " with it");
  test::table_row("05_stack", "III-B: tallest stack that stands for 20 s, kp 4000 N/m, without / with the integral",
                  "\"stacks without tweaking the PD gains\"",
                  std::to_string(tallest[0]) + " / " + std::to_string(tallest[1]), "20 and more");
  CHECK(tallest[0] >= 5);
  CHECK(tallest[1] > tallest[0]);
}

}  // namespace
}  // namespace tactus
