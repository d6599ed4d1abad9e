// tactus_tune SCENE.toml: searches gains for a scene, offline, and prints them as the line that the scene takes.
#include <CLI/CLI.hpp>
#include <iostream>

#include "core/check.h"
#include "tests/paper/tune/tune.h"

namespace {

using namespace tactus;

int search(const std::string& path, const std::string& method, const std::vector<std::string>& set,
           const tune::Criterion& criterion) {
  SceneOptions options;
  for (const std::string& pair : set) {
    const auto at = pair.find('=');
    TACTUS_REQUIRE(at != std::string::npos, "--set " + pair + ": expected KEY=VALUE");
    options.set.emplace_back(pair.substr(0, at), pair.substr(at + 1));
  }
  const tune::MakeScene make = [&] { return load_scene_run(path, options); };
  const double step = make().model->step;
  tune::PidGains gains;
  tune::Ultimate ultimate;
  std::string error;
  const bool swings = tune::find_ultimate(make, ultimate, error);
  if (swings) {
    gains = tune::ziegler_nichols(ultimate, step, 0.9);
    std::cout << "# ultimate gain " << ultimate.gain << " N/m, period " << 1e3 * ultimate.period << " ms\n";
  } else if (method == "ziegler-nichols") {
    std::cerr << "tactus_tune: " << path << ": " << error << '\n';
    return 1;
  }
  if (method == "criterion") {
    double mass = 0, best = 0;
    for (const Body& body : make().model->bodies) mass += body.mode == BodyMode::free ? body.mass : 0;
    // From the paper's gains, as III-C has them.
    gains = tune::tune_to_criterion(make, criterion, {100 * mass, 50 * mass, 2 * mass}, best);
    std::cout << "# mean depth + pop + " << criterion.weight << " m/J * residual energy = " << best << " m\n";
  }
  std::cout << tune::as_toml(gains) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Searches the gains of the penalty force for a scene, offline"};
  std::string path, method = "criterion";
  std::vector<std::string> set;
  tune::Criterion criterion;
  app.add_option("scene", path, "scene file")->required();
  app.add_option("--method", method, "criterion or ziegler-nichols")
      ->check(CLI::IsMember({"criterion", "ziegler-nichols"}));
  app.add_option("--set", set, "KEY=VALUE of the scene");
  app.add_option("--weight", criterion.weight, "of the residual energy against the mean depth [m/J]");
  app.add_option("--seconds", criterion.seconds, "of each run");
  app.add_option("--evaluations", criterion.evaluations, "runs at most");
  CLI11_PARSE(app, argc, argv);
  try {
    return search(path, method, set, criterion);
  } catch (const InputError& e) {
    std::cerr << e.what() << '\n';
    return 2;
  }
}
