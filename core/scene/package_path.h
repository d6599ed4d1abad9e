// Where a mesh of a robot description lies: package://NAME/PATH, model://, file://, or a path beside the URDF.
#pragma once

#include <map>
#include <string>

namespace tactus {

struct MeshPlace {
  std::string path;
  std::string note;  // not empty: the package was guessed
};

// Looked up in this order: packages (name -> folder, given by the user); folders at and above the URDF that have the
// package's name, or a package.xml with it; folders in $TACTUS_ROBOTS and $ROS_PACKAGE_PATH (':' between), and their
// subfolders down to the second level, by name or package.xml; the nearest folder at or above the URDF in which PATH
// exists, with a note. Throws InputError that says where it looked.
MeshPlace find_mesh(const std::string& reference, const std::string& urdf,
                    const std::map<std::string, std::string>& packages);

}  // namespace tactus
