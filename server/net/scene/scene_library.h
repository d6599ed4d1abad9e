// The scenes that clients may load: the TOML files of one directory, and what --scene named. Loading happens on a
// worker thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/scene/scene_links.h"
#include "core/world.h"
#include "server/net/scene/solvers.h"

namespace tactus::net {

struct SceneEntry {
  std::string name, title, path;
};

// What a scene was made from: enough to make it again.
struct SceneSource {
  std::string path, text;  // of the scene's file
  std::vector<std::pair<std::string, std::string>> set;
  std::uint64_t seed = 0;
  std::vector<SceneLink> links;
};

// A scene ready to be swapped in.
struct LoadedScene {
  std::string name;
  SceneSource source;
  std::unique_ptr<World> world;
  std::unique_ptr<SlowSolver> solver;    // when the scene's model is slow; not started
  std::unique_ptr<ShadowSolver> shadow;  // when there is to be one; not started
  State blank;  // a state that fits the world: snapshots are copies of it, so that the tick allocates nothing
};

struct LoadRequest {
  std::string name, path;
  std::vector<std::pair<std::string, std::string>> set;
  std::uint64_t seed = 0;
  Limits limits;
  double rate_hz = 0;  // > 0: replaces the scene's step
  SolverOptions solvers;
  ChannelOptions joint_channel{};
};

// Reads and builds. Throws InputError. Any thread.
LoadedScene load(const LoadRequest& request);
// Their threads, off the tick's processor (-1: any). Throws InputError.
void start_solvers(const LoadedScene& scene, int avoid_cpu);

class SceneLibrary {
 public:
  SceneLibrary(std::string directory, std::string extra_file);
  // Reads the directory anew: a file added while the server runs can be loaded.
  [[nodiscard]] std::vector<SceneEntry> list() const;
  [[nodiscard]] std::optional<SceneEntry> find(const std::string& name) const;

 private:
  std::string directory_, extra_file_;
};

}  // namespace tactus::net
