// Small robot descriptions made in tests, and scenes around them.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "core/check.h"
#include "core/scene/scene.h"

namespace tactus::test {

inline std::string inertial(double mass, const std::string& origin, const std::string& moments) {
  return "<inertial><origin " + origin + "/><mass value=\"" + std::to_string(mass) + "\"/><inertia " + moments +
         "/></inertial>";
}
inline const std::string kUnit = R"(ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0")";

inline std::string link(const std::string& name, const std::string& inside = inertial(1, "", kUnit)) {
  return "<link name=\"" + name + "\">" + inside + "</link>\n";
}
inline std::string joint(const std::string& name, const std::string& type, const std::string& parent,
                         const std::string& child, const std::string& inside = "") {
  return "<joint name=\"" + name + "\" type=\"" + type + "\"><parent link=\"" + parent + "\"/><child link=\"" + child +
         "\"/>" + inside + "</joint>\n";
}
inline const std::string kLimit = R"(<limit lower="-2" upper="2" effort="10" velocity="5"/>)";
inline std::string robot(const std::string& inside) {
  return "<robot name=\"r\">\n" + inside + "</robot>\n";
}
inline std::string box(const std::string& size, const std::string& origin = "") {
  return "<collision><origin " + origin + "/><geometry><box size=\"" + size + "\"/></geometry></collision>";
}

// A folder that goes away.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("tactus_urdf_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Writes r.urdf and reads a scene with it; more: keys of the [[robot]] and what follows.
inline std::unique_ptr<Model> load_robot(const Folder& folder, const std::string& urdf, const std::string& more = "",
                                         const std::string& before = "") {
  const std::string ignored = folder.write("r.urdf", urdf);
  return parse_scene(before + "\n[[robot]]\nurdf = \"r.urdf\"\n" + more, folder.path() + "/s.toml", {});
}
inline std::string robot_refusal(const Folder& folder, const std::string& urdf, const std::string& more = "",
                                 const std::string& before = "") {
  try {
    const auto model = load_robot(folder, urdf, more, before);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace tactus::test
