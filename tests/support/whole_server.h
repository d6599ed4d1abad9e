// A whole server in one process, for the fuzzers: in lockstep, on free ports of the loopback, with small limits, on a
// scene that the caller gives. Its net thread runs until the process ends.
#pragma once

#include <spdlog/spdlog.h>

#include <asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/scene/scene.h"
#include "server/net/server.h"

namespace tactus::test {

// A block on the floor.
inline constexpr const char* kBlockScene = R"(
title = "a block on the floor"
[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"
[[body]]
name = "block"
position_m = [0, 0, 0.1]
mass_kg = 1
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]
)";

// Room for a few bodies: what a stranger can do must not depend on how much fits.
inline Limits small_limits() {
  Limits limits;
  limits.bodies = 64;
  limits.shapes = 128;
  limits.pairs = 128;
  limits.robot_dofs = 32;
  limits.problem_contacts = 1024;
  limits.problem_rows = 256;
  limits.pivot_rows = 96;
  return limits;
}

// Free ports, no folder of scenes no viewer, no web door; requests as fast as they come.
inline net::NetOptions free_ports() {
  net::NetOptions options;
  options.control_port = options.realtime_port = options.web.port = 0;
  options.web.enabled = false;
  options.limits = small_limits();
  options.requests_per_s = 1e5;
  options.scenes_dir = options.web.directory = (std::filesystem::temp_directory_path() / "nothing-is-here").string();
  return options;
}

class WholeServer {
 public:
  // name: stands for the scene's file; other files are named beside it.
  WholeServer(const std::string& scene_toml, const net::NetOptions& options, const std::string& name = "fuzz")
      : link_(small_limits().bodies, 64, 256),
        world_(make_world(scene_toml, name)),
        blank_(world_->state()),
        model_(world_.get()),
        loop_(tick_options(), link_, std::move(world_), 7),
        net(io_, options, link_, loop_, "") {
    spdlog::set_level(spdlog::level::off);
    net.begin(*model_, "fuzz", 7, std::move(blank_));
    if (!loop_.start()) std::abort();
    net.start(true);
    std::thread([this] { io_.run(); }).detach();
  }

 private:
  static std::unique_ptr<World> make_world(const std::string& scene_toml, const std::string& name) {
    SceneOptions options;
    options.limits = small_limits();
    return std::make_unique<World>(parse_scene(scene_toml, name, options), small_limits());
  }
  static TickOptions tick_options() {
    TickOptions options;
    options.rights.enabled = false;
    options.bodies = small_limits().bodies;
    options.lockstep = true;
    return options;
  }

  TickLink link_;
  std::unique_ptr<World> world_;
  State blank_;
  const World* model_;
  TickLoop loop_;
  asio::io_context io_{1};

 public:
  net::NetServer net;  // last: it uses all of the above
};

}  // namespace tactus::test
