// A URDF file in the place of a scene: the robot on a floor.
#include <filesystem>

#include "core/scene/robot_spec.h"

namespace tactus {

// The robot's settings are parameters, so that --set reaches them.
std::string scene_of_urdf(const std::string& path) {
  const std::filesystem::path file(path);
  std::string quoted;
  for (const char c : file.filename().string()) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) quoted += c;
  }
  return "title = \"" + quoted + R"(, on a floor"
duration_s = 2
[parameters]
repairs = ""
base = "auto"
collision_meshes = "hull"
self_collision = "adjacent_off"
lowest_point_m = 0
[[body]]
name = "floor"
mode = "fixed"
colour = "#6b7280"
[[body.shape]]
kind = "half_space"
[[robot]]
urdf = ")" +
         quoted + R"("
base = "$base"
repairs = "$repairs"
collision_meshes = "$collision_meshes"
self_collision = "$self_collision"
lowest_point_m = "$lowest_point_m"
)";
}

}  // namespace tactus
