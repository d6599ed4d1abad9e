#include "core/scene/package_path.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <tinyxml2.h>

#include "core/check.h"

namespace tactus {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}
bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Of the URDF, then of its parents.
std::vector<fs::path> folders_above(const std::string& urdf) {
  std::error_code error;
  fs::path folder = fs::weakly_canonical(fs::absolute(urdf, error), error).parent_path();
  std::vector<fs::path> out;
  while (!folder.empty()) {
    out.push_back(folder);
    if (folder == folder.root_path()) break;
    folder = folder.parent_path();
  }
  return out;
}

// <name> of a package.xml, or empty.
std::string package_name(const fs::path& folder) {
  const fs::path file = folder / "package.xml";
  if (!is_file(file)) return "";
  tinyxml2::XMLDocument document;
  if (document.LoadFile(file.string().c_str()) != tinyxml2::XML_SUCCESS) return "";
  const auto* root = document.FirstChildElement("package");
  const auto* name = root ? root->FirstChildElement("name") : nullptr;
  return name && name->GetText() ? name->GetText() : "";
}

bool is_package(const fs::path& folder, const std::string& name) {
  return is_folder(folder) && (folder.filename() == name || package_name(folder) == name);
}

std::vector<fs::path> sorted_subfolders(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (is_folder(entry.path())) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<fs::path> search_path(const std::string& urdf) {
  std::vector<fs::path> out = folders_above(urdf);
  for (const char* variable : {"TACTUS_ROBOTS", "ROS_PACKAGE_PATH"}) {
    const char* value = std::getenv(variable);
    std::istringstream list(value ? value : "");
    for (std::string item; std::getline(list, item, ':');) {
      if (item.empty()) continue;
      out.emplace_back(item);
      for (const auto& folder : sorted_subfolders(item)) {
        out.push_back(folder);
        for (const auto& inner : sorted_subfolders(folder)) out.push_back(inner);
      }
    }
  }
  return out;
}

MeshPlace in_package(const std::string& name, const fs::path& rest, const std::string& reference,
                     const std::string& urdf, const std::map<std::string, std::string>& packages) {
  const auto given = packages.find(name);
  if (given != packages.end()) {
    const fs::path path = fs::path(given->second) / rest;
    if (is_file(path)) return {path.string(), ""};
    throw InputError("found \"" + reference + "\", but no file " + path.string() + "; expected it in the folder that " +
                     "packages names");
  }
  for (const fs::path& folder : search_path(urdf))
    if (is_package(folder, name) && is_file(folder / rest)) return {(folder / rest).string(), ""};
  for (const fs::path& folder : folders_above(urdf))
    if (is_file(folder / rest))
      return {(folder / rest).string(),
              "package " + name + " taken to be the folder " + folder.filename().string() + "; packages would say it"};
  throw InputError("found \"" + reference +
                   "\", a mesh that is nowhere: not in a folder at or above the URDF, nor in " +
                   "$TACTUS_ROBOTS or $ROS_PACKAGE_PATH; expected packages = { \"" + name +
                   "\" = \"folder\" } in the scene, or the folder in one of these");
}

}  // namespace

MeshPlace find_mesh(const std::string& reference, const std::string& urdf,
                    const std::map<std::string, std::string>& packages) {
  for (const std::string scheme : {"package://", "model://"}) {
    if (!reference.starts_with(scheme)) continue;
    const std::string inside = reference.substr(scheme.size());
    const auto slash = inside.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == inside.size())
      throw InputError("found \"" + reference + "\", expected " + scheme + "NAME/PATH");
    return in_package(inside.substr(0, slash), inside.substr(slash + 1), reference, urdf, packages);
  }
  fs::path path = reference.starts_with("file://") ? reference.substr(7) : reference;
  if (reference.find("://") != std::string::npos && !reference.starts_with("file://"))
    throw InputError("found \"" + reference +
                     "\", expected package://NAME/PATH, file:///PATH or a path beside the URDF");
  if (path.is_relative()) path = fs::path(urdf).parent_path() / path;
  if (!is_file(path)) throw InputError("found \"" + reference + "\", but no file " + path.string());
  return {path.string(), ""};
}

}  // namespace tactus
