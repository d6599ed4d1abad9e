// Meshes from files for the mesh versions of IV-A and IV-C: our own, and real ones where they are.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/scene/mesh_library.h"

namespace tactus::test {

struct NamedMesh {
  std::string name;
  std::shared_ptr<const TriangleMesh> mesh;
};

// The mesh with its longest side made `size` long, in axes of the file; the origin moved nowhere.
inline NamedMesh read_mesh(MeshLibrary& library, const std::filesystem::path& path, double size) {
  MeshRequest request;
  request.path = path.string();
  const std::vector<Vec3> points = library.points(request.path, Vec3::Ones());
  Vec3 lo = points.front(), hi = lo;
  for (const Vec3& p : points) lo = lo.cwiseMin(p), hi = hi.cwiseMax(p);
  request.scale = Vec3::Constant(size / (hi - lo).maxCoeff());
  return {path.stem().string(), library.get(request)};
}

inline std::vector<NamedMesh> own_meshes(MeshLibrary& library, double size) {
  std::vector<NamedMesh> meshes;
  for (const char* name : {"bowl", "bracket", "critter", "torus"}) {
    const auto folder = std::filesystem::path(TACTUS_SOURCE_DIR) / "config" / "meshes";
    meshes.push_back(read_mesh(library, folder / (std::string(name) + ".obj"), size));
  }
  return meshes;
}

// Meshes of public repositories, not part of this one: empty, and said so, where they are not.
inline std::vector<NamedMesh> meshes_beside(MeshLibrary& library, const std::vector<std::string>& names, double size) {
  const char* own = std::getenv("TACTUS_ROBOTS");
  const std::filesystem::path folder =
      (own ? std::filesystem::path(own) : std::filesystem::path(TACTUS_SOURCE_DIR) / ".." / "shared" / "robots") /
      "meshes";
  std::vector<NamedMesh> meshes;
  if (!std::filesystem::is_directory(folder)) {
    std::cout << "skipped: " << folder.string() << " is not there; TACTUS_ROBOTS may name its parent\n";
    return meshes;
  }
  for (const std::string& name : names) meshes.push_back(read_mesh(library, folder / name, size));
  return meshes;
}

inline std::vector<NamedMesh> real_meshes(MeshLibrary& library, double size) {
  return meshes_beside(
      library,
      {"mujoco/cube_cup.obj", "mujoco/torus.obj", "isaacgym_factory/factory_rectangular_peg_16mm_tight_subdiv_3x.obj",
       "trimesh/7_8ths_cube.stl", "trimesh/tube.obj", "trimesh/wallhole.obj"},
      size);
}

// All that are closed and oriented as they are: no repair is asked for.
inline std::vector<NamedMesh> closed_meshes(MeshLibrary& library, double size) {
  return meshes_beside(
      library,
      {"mujoco/torus.obj", "mujoco/cube_cup.obj", "mujoco/spot.obj", "mujoco/card.obj",
       "drake_dishes/plate_8in_col.obj", "drake_dishes/evo_bowl_col.obj",
       "isaacgym_factory/factory_rectangular_peg_16mm_tight_subdiv_3x.obj",
       "isaacgym_factory/factory_round_peg_16mm_tight.obj", "isaacgym_factory/factory_bolt_m12_loose.obj",
       "trimesh/7_8ths_cube.stl", "trimesh/tube.obj", "trimesh/plate_holes.STL", "trimesh/quadknot.obj",
       "trimesh/busted.STL", "trimesh/20mm-xyz-cube.stl", "trimesh/negative_indices.obj"},
      size);
}

}  // namespace tactus::test
