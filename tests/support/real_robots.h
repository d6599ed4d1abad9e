// Eight robot descriptions from public repositories. They are not part of this repository: found at ../shared/robots
// or where TACTUS_ROBOTS says; tests that need them say that they were skipped. Needs tactus_scene.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "core/scene/scene.h"
#include "tests/support/robots.h"

namespace tactus::test {

struct RealRobot {
  const char* name;
  const char* file;
  const char* repairs;  // what its data needs, and no less
};
inline constexpr RealRobot kRealRobots[] = {
    {"panda", "panda/robots/panda_description/urdf/panda.urdf", "none"},
    {"panda_collision", "panda/robots/panda_description/urdf/panda_collision.urdf", "none"},
    {"panda_moveit", "panda_moveit/urdf/panda.urdf", "inertia_from_shapes"},
    {"turtlebot3_burger", "turtlebot3_burger/urdf/turtlebot3_burger.urdf", "none"},
    {"atlas", "atlas/atlas/atlas_convex_hull.urdf", "none"},
    {"pr2", "pr2/urdf/robot.xml", "triangle_inequality,min_inertia"},
    {"h1", "h1/urdf/h1.urdf", "none"},
    {"ur5e", "ur5e/urdf/ur5e.urdf", "none"},
};

inline std::filesystem::path real_robots_folder() {
  const char* own = std::getenv("TACTUS_ROBOTS");
  return own ? std::filesystem::path(own) : std::filesystem::path(TACTUS_SOURCE_DIR) / ".." / "shared" / "robots";
}

inline bool real_robots_found() {
  if (std::filesystem::is_directory(real_robots_folder() / "pr2")) return true;
  std::cout << "skipped: " << real_robots_folder().string() << " is not there; TACTUS_ROBOTS may name its folder\n";
  return false;
}

// On a floor. base: fixed or floating.
inline std::unique_ptr<Model> load_real_robot(const RealRobot& robot, const char* base) {
  SceneOptions options;
  options.set = {{"repairs", robot.repairs}, {"base", base}};
  return load_scene((real_robots_folder() / robot.file).string(), options);
}

// Every joint free: what follows another joint gets coordinates of its own.
inline void free_mimics(Model& model) {
  for (Joint& joint : model.joints) joint.mimic = kNone, joint.multiplier = 1, joint.offset = 0;
  model.joint_q0.clear();
  model.joint_v0.clear();
  finish_model(model);
}

inline RobotBench real_robot_bench(const RealRobot& robot, const char* base, bool with_mimics) {
  Scene scene;
  scene.model = load_real_robot(robot, base);
  if (!with_mimics) free_mimics(*scene.model);
  return RobotBench(std::move(scene));
}

}  // namespace tactus::test
