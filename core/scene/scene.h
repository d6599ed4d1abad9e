// Scene files: TOML in, Model out. The only room of core that reads files and throws (InputError: file, line, key, what
// is expected).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/dynamics/model.h"
#include "core/dynamics/state.h"
#include "core/limits.h"
#include "core/scene/field_cache.h"
#include "core/scene/scene_links.h"

namespace tactus {

struct SceneOptions {
  // --set key=value: overrides a [parameters] entry of the scene, or one of the scene's own scalars (step_s, model,
  // gains, ...).
  std::vector<std::pair<std::string, std::string>> set;
  std::uint64_t seed = 0;  // 0: the scene's own
  Limits limits;
  std::string cache_directory = tactus::cache_directory();  // for distance fields; empty: nothing is kept
};

// A push that the scene declares: a constant force in W at a body-fixed point, while start <= tick < end.
struct Push {
  BodyIndex body = 0;
  Vec3 p_BC = Vec3::Zero();          // point of application in the user's body frame B [m]
  Vec3 force_W = Vec3::Zero();       // [N]
  std::uint64_t start = 0, end = 0;  // ticks
};

// What a scene asks to be done with its Model when it is run: pushes without a server, faults of links with one. Plain
// data; the pushes are already drawn from the seed.
struct SceneRun {
  std::unique_ptr<Model> model;
  std::vector<Push> pushes;      // sorted by start
  std::vector<SceneLink> links;  // for a server: nothing of core looks at them
  double duration = 0;           // the scene's suggestion for a run [s]
};

// Reads, checks and builds. The schema is config/README.md. A path that ends in .urdf or .xml is a robot, which stands
// on a floor. Throws InputError; nothing is built then.
std::unique_ptr<Model> load_scene(const std::string& path, const SceneOptions& options);
// The same from text; name stands for the file in messages.
std::unique_ptr<Model> parse_scene(const std::string& text, const std::string& name, const SceneOptions& options);

// With the pushes and the duration that the scene declares.
SceneRun load_scene_run(const std::string& path, const SceneOptions& options);
SceneRun parse_scene_run(const std::string& text, const std::string& name, const SceneOptions& options);

// The push as a force at the mass centre, F_Bcm_W, for World::apply; zero outside its ticks. O(1).
SpatialForce push_force(const Model& model, const State& state, const Push& push) noexcept;

}  // namespace tactus
