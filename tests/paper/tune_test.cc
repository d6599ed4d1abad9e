// Drumwright III-C: the offline search for gains (tune/), by Ziegler and Nichols and by a criterion.
#include <cmath>
#include <memory>
#include <string>

#include "tests/paper/methods.h"
#include "tests/paper/paper_output.h"
#include "tests/paper/tune/tune.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using tune::Outcome;
using tune::PidGains;

// A ball of 10 kg on the floor: one spring, one mass.
tune::MakeScene ball(Integrator integrator) {
  return [integrator] {
    test::Scene scene(0);
    scene.model->integrator = integrator;
    scene.model->substeps = 1;
    scene.add_floor();
    scene.add(make_sphere(0.5), 10, test::at(0, 0, 0.5));
    finish_model(*scene.model);
    SceneRun run;
    run.model = std::move(scene.model);
    return run;
  };
}

tune::MakeScene file(const std::string& name, const std::string& integrator) {
  return [name, integrator] {
    SceneOptions options;
    options.set.emplace_back("integrator", integrator);
    return load_scene_run(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/" + name + ".toml", options);
  };
}

TEST_CASE("Ziegler-Nichols: the ultimate gain of one mass is where its integrator loses stability") {
  tune::Ultimate euler, rk4;
  std::string error;
  REQUIRE_MESSAGE(tune::find_ultimate(ball(Integrator::semi_implicit_euler), euler, error), error);
  REQUIRE_MESSAGE(tune::find_ultimate(ball(Integrator::rk4), rk4, error), error);
  MESSAGE("semi-implicit Euler " << euler.gain << " N/m, " << euler.period << " s; RK4 " << rk4.gain << ", "
                                 << rk4.period);
  CHECK_WITHIN(euler.gain / (4 * 10 / 1e-6) - 1, 0.01);  // omega h = 2
  // A turn a tick: cos = 1 - (omega h)^2 / 2, half a turn at the limit.
  CHECK_WITHIN(euler.period / (2 * M_PI / std::acos(1 - 0.5 * euler.gain * 1e-7) * 1e-3) - 1, 0.01);
  CHECK_WITHIN(rk4.gain / (8 * 10 / 1e-6) - 1, 0.01);  // omega h = 2 sqrt(2)
  // There the step multiplies by -1/3 + i sqrt(8)/3 (or its mirror): a turn of acos(-1/3).
  CHECK_WITHIN(rk4.period / (2 * M_PI / std::acos(-1.0 / 3) * 1e-3) - 1, 0.05);
}

TEST_CASE("Ziegler-Nichols: a scene without rest, or without a body, has no ultimate gain and says why") {
  tune::Ultimate out;
  std::string error;
  const auto empty = [] {
    test::Scene scene;
    scene.add_floor();
    finish_model(*scene.model);
    SceneRun run;
    run.model = std::move(scene.model);
    return run;
  };
  CHECK_FALSE(tune::find_ultimate(empty, out, error));
  CHECK(error == "no free body");
}

TEST_CASE("III-C: minimise finds the least of a narrow valley") {
  tune::Point x{-1.2, 1, 0.5};
  const auto rosenbrock = [](const tune::Point& p) {
    return 100 * std::pow(p[1] - p[0] * p[0], 2) + std::pow(1 - p[0], 2) + std::pow(p[2] + 2, 2);
  };
  CHECK(tune::minimise(rosenbrock, x, 0.5, 1e-9, 2000) < 1e-12);
  CHECK_WITHIN(x[0] - 1, 1e-5);
  CHECK_WITHIN(x[2] + 2, 1e-5);
}

TEST_CASE("III-C: gains tuned to a criterion beat the paper's on IV-A and IV-B, and stay stable") {
  std::string found;
  for (const char* name : {"block_penetrating", "block_pushed"}) {
    const auto make = file(name, "rk4");
    tune::Criterion c;
    c.seconds = 2;
    double best = 0;
    const PidGains paper{1000, 500, 20};
    const PidGains tuned = tune::tune_to_criterion(make, c, paper, best);
    const Outcome before = tune::run(make, {5000, 2500, 100}, c.seconds), after = tune::run(make, tuned, c.seconds);
    MESSAGE(std::string(name) << ": " << tune::as_toml(tuned) << ": mean depth " << before.depth_mean << " -> "
                              << after.depth_mean << " m, energy " << before.energy_end << " -> " << after.energy_end
                              << " J");
    CHECK(best == doctest::Approx(tune::criterion(after, c.weight)));
    CHECK_FALSE(after.blown_up);
    CHECK(best < 0.2 * tune::criterion(before, c.weight));
    found += (found.empty() ? "" : " / ") + test::number(after.depth_mean);
  }
  test::table_row("04_tuned", "III-C: mean penetration of IV-A / IV-B with gains tuned to a criterion [m]",
                  "\"possible\"", found, "no tuning");
}

TEST_CASE("III-C: Ziegler-Nichols gains hold the pushed block; one that starts inside the floor they throw out") {
  const auto gains_of = [](const tune::MakeScene& make) {
    tune::Ultimate ultimate;
    std::string error;
    REQUIRE_MESSAGE(tune::find_ultimate(make, ultimate, error), error);
    const PidGains gains = tune::ziegler_nichols(ultimate, 1e-3, 0.9);
    MESSAGE("ultimate gain " << ultimate.gain << " N/m, period " << ultimate.period << " s: " << tune::as_toml(gains));
    return gains;
  };
  const auto pushed = file("block_pushed", "rk4"), inside = file("block_penetrating", "rk4");
  const Outcome held = tune::run(pushed, gains_of(pushed), 3), thrown = tune::run(inside, gains_of(inside), 3);
  MESSAGE("pushed: mean depth " << held.depth_mean << " m, energy " << held.energy_end << " J");
  CHECK_FALSE(held.blown_up);
  CHECK(held.depth_mean < 1e-4);
  CHECK(thrown.blown_up);  // the rule knows of stability, not of a bad start; the criterion does
}

}  // namespace
}  // namespace tactus
