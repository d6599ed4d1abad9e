#include "server/net/scene/scene_library.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/check.h"
#include "core/scene/scene.h"
#include "server/net/scene/scene_view.h"

namespace tactus::net {
namespace {

namespace fs = std::filesystem;

// The value of a `title = "..."` line before the first table; empty when there is none.
std::string read_title(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};  // a pipe or a device would hold net up
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("[")) break;
    if (!line.starts_with("title")) continue;
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (open != std::string::npos && close > open) return line.substr(open + 1, close - open - 1);
  }
  return {};
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

SceneEntry entry_of(const fs::path& path) {
  return {path.stem().string(), read_title(path), path.string()};
}

}  // namespace

LoadedScene load(const LoadRequest& request) {
  SceneOptions options;
  options.set = request.set;
  options.seed = request.seed;
  options.limits = request.limits;
  if (request.rate_hz > 0) options.set.emplace_back("step_s", std::to_string(1.0 / request.rate_hz));
  SceneRun run = load_scene_run(request.path, options);
  std::unique_ptr<Model> model = std::move(run.model);
  if (!World::has_model(model->contact_model)) {
    throw InputError(request.path + ": key 'model': found '" + to_string(model->contact_model) +
                     "', which this build does not have; expected one of " + model_names());
  }
  LoadedScene out;
  out.name = request.name;
  out.source = {request.path, read_text(request.path), options.set, request.seed, std::move(run.links)};
  out.world = std::make_unique<World>(std::move(model), request.limits);
  for (std::uint32_t r = 0; r < out.world->model().robots.size(); ++r) {
    for (const DrivenJoint& joint : out.world->driven_joints(r)) {
      if (!joint.drive.has_channel) out.world->set_joint_options(joint.drive.joint, request.joint_channel);
    }
  }
  out.blank = out.world->state();
  const World& world = *out.world;
  require_rates(request.solvers, world.model().step);
  out.solver = make_slow_solver(request.solvers, world.shared_model(), world.limits(), world.model().contact_model);
  out.shadow = make_shadow_solver(request.solvers, world.shared_model(), world.limits());
  return out;
}

void start_solvers(const LoadedScene& scene, int avoid_cpu) {
  for (SolverThread* thread :
       {static_cast<SolverThread*>(scene.solver.get()), static_cast<SolverThread*>(scene.shadow.get())}) {
    if (thread != nullptr && !thread->start(avoid_cpu))
      throw InputError("a solver's thread could not be created: see ulimit -u and -v");
  }
}

SceneLibrary::SceneLibrary(std::string directory, std::string extra_file)
    : directory_(std::move(directory)), extra_file_(std::move(extra_file)) {}

std::vector<SceneEntry> SceneLibrary::list() const {
  std::vector<SceneEntry> out;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(directory_, error)) {
    if (file.path().extension() == ".toml" && fs::is_regular_file(file.path(), error))
      out.push_back(entry_of(file.path()));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (extra_file_.empty()) return out;
  const SceneEntry extra = entry_of(extra_file_);
  const bool known =
      std::any_of(out.begin(), out.end(), [&](const auto& e) { return fs::equivalent(e.path, extra.path, error); });
  if (!known) {
    std::erase_if(out, [&](const auto& e) { return e.name == extra.name; });
    out.push_back(extra);
  }
  return out;
}

std::optional<SceneEntry> SceneLibrary::find(const std::string& name) const {
  for (SceneEntry& entry : list()) {
    if (entry.name == name) return std::move(entry);
  }
  return std::nullopt;
}

}  // namespace tactus::net
