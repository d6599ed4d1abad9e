// tactus-sim: runs a scene with the same core as tactusd, without a server, as fast as it can, and prints one JSON
// object.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "core/check.h"
#include "server/record/replay_file.h"
#include "server/sim/sim_run.h"

namespace {

using namespace tactus;

constexpr double kStepsMax = 1e8;

struct Arguments {
  std::string scene, model, csv, final_state, replay;
  double seconds = 0, step_s = 0;
  std::uint64_t seed = 0;
  std::vector<std::string> set;
  bool json = false;
};

// CLI::PositiveNumber names the largest double in full.
std::string positive(const std::string& text) {
  char* end = nullptr;
  const double x = std::strtod(text.c_str(), &end);
  return *end == 0 && x > 0 && std::isfinite(x) ? "" : "found " + text + ", expected a number greater than 0";
}

void declare(CLI::App& app, Arguments& a) {
  app.add_option("scene", a.scene,
                 "scene file (TOML; the schema is config/README.md), or a robot (.urdf): it stands on a floor")
      ->type_name("SCENE");
  app.add_option("--model", a.model, "contact model: penalty, deepest, lcp, st, ap, lnc or peg (default: the scene's)")
      ->type_name("NAME");
  app.add_option("--seconds", a.seconds, "simulated time [s] (default: the scene's duration_s)")
      ->type_name("S")
      ->check(positive);
  app.add_option("--step-s", a.step_s, "step [s] (default: the scene's)")->type_name("H")->check(positive);
  app.add_option("--seed", a.seed, "seed of all that is drawn, 1 and up (default: the scene's)")
      ->type_name("N")
      ->check(positive);
  app.add_option("--set", a.set, "set a parameter of the scene, or step_s, gains, integrator ...; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--json", a.json, "the JSON object on one line");
  app.add_option("--csv", a.csv, "write one row per step")->type_name("FILE");
  app.add_option("--final-state", a.final_state, "write name -> pose and velocity of every body as JSON")
      ->type_name("FILE");
  app.add_option("--replay", a.replay,
                 "re-execute a recording instead of a scene, and hold all that stands in it against it")
      ->type_name("FILE");
  app.footer(
      "Examples:\n"
      "  tactus-sim config/scenes/pile.toml --set n=100 --seconds 4\n"
      "  tactus-sim config/scenes/stack.toml --set n=20 --set gains=paper --csv stack.csv\n"
      "  tactus-sim robot.urdf --set base=fixed --set repairs=all\n"
      "Each step is timed by the processor's cycle counter, less the time the thread was off the processor.\n"
      "penetration_m is per step the deepest overlap of all pairs, then mean and max over the steps after the scene's "
      "settle_s.\n"
      "Exit: 0 success, 1 failed, 2 usage.");
}

[[noreturn]] void usage(const std::string& message) {
  std::cerr << "tactus-sim: " << message << "\nTry tactus-sim --help\n";
  std::exit(2);
}

SceneOptions scene_options(const Arguments& a) {
  SceneOptions options;
  options.seed = a.seed;
  for (const auto& item : a.set) {
    const auto equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) usage("--set: found \"" + item + "\", expected KEY=VALUE");
    options.set.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  if (!a.model.empty()) {
    ContactModelKind kind{};
    if (!parse_contact_model(a.model, kind))
      usage("--model: found \"" + a.model + "\", expected penalty, deepest, lcp, st, ap, lnc or peg");
    if (!World::has_model(kind)) throw InputError("--model: " + a.model + " is not in this build");
    options.set.emplace_back("model", a.model);
  }
  if (a.step_s > 0) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", a.step_s);
    options.set.emplace_back("step_s", text);
  }
  return options;
}

std::ofstream open_for_writing(const std::string& path, const char* flag) {
  std::ofstream out(path);
  if (!out) throw InputError(std::string(flag) + ": cannot write " + path);
  return out;
}

void write_text(std::ofstream& out, const std::string& path, const std::string& text) {
  if (!(out << text).flush()) throw InputError("cannot write " + path);
}

SimHooks make_hooks(std::ofstream& csv) {
  SimHooks hooks;
  if (csv.is_open()) {
    csv << "step,time_s,cpu_us,penetration_m,kinetic_energy_j,contacts\n";
    hooks.row = [&csv](const SimRow& r) {
      char line[200];
      std::snprintf(line, sizeof line, "%llu,%.9g,%.4g,%.17g,%.17g,%u\n", static_cast<unsigned long long>(r.step),
                    r.time, r.cpu_us, r.penetration, r.kinetic_energy, r.contacts);
      csv << line;
    };
  }
  if (isatty(STDERR_FILENO))
    hooks.progress = [](std::uint64_t step, std::uint64_t steps) {
      std::fprintf(stderr, "\r%3.0f %% of %llu steps ", 100.0 * static_cast<double>(step) / static_cast<double>(steps),
                   static_cast<unsigned long long>(steps));
    };
  return hooks;
}

int run(const Arguments& a) {
  if (!a.replay.empty()) return record::replay_file(a.replay, !a.json);
  SceneRun scene = load_scene_run(a.scene, scene_options(a));
  for (const std::string& note : scene.model->notes) std::cerr << "tactus-sim: " << note << "\n";
  const std::string model_name = to_string(scene.model->contact_model);
  if (!World::has_model(scene.model->contact_model))
    throw InputError(a.scene + ": model: " + model_name + " is not in this build");
  const double seconds = a.seconds > 0 ? a.seconds : scene.duration, count = std::round(seconds / scene.model->step);
  if (!(count >= 1 && count <= kStepsMax))
    throw InputError("found " + std::to_string(count) +
                     " steps, expected 1 to 100 million: change --seconds or --step-s");
  std::ofstream csv, final_state;
  if (!a.csv.empty()) csv = open_for_writing(a.csv, "--csv");
  if (!a.final_state.empty()) final_state = open_for_writing(a.final_state, "--final-state");

  World world(std::move(scene.model), Limits{});
  const SimHooks hooks = make_hooks(csv);
  const SimResult result = run_simulation(world, scene.pushes, static_cast<std::uint64_t>(count), hooks);
  if (hooks.progress) std::fprintf(stderr, "\r                              \r");
  if (csv.is_open()) write_text(csv, a.csv, "");
  if (final_state.is_open()) write_text(final_state, a.final_state, final_state_json(world));
  if (result.bodies_frozen)
    std::cerr << "tactus-sim: " << result.bodies_frozen << " bodies became non-finite and were frozen\n";
  std::cout << result_json({a.scene, model_name}, world, result, !a.json) << std::flush;
  return std::cout && !result.bodies_frozen ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs a Tactus scene without a server and prints one JSON object.", "tactus-sim");
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    usage(e.what());
  }
  if (arguments.scene.empty() == arguments.replay.empty())
    usage("found neither SCENE nor --replay FILE, or both; expected one of them");
  try {
    return run(arguments);
  } catch (const std::exception& e) {
    std::cerr << "tactus-sim: " << e.what() << "\n";
    return 1;
  }
}
