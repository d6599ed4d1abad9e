// The meshes of a scene: each file is read, checked and prepared once for the same options.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/scene/field_cache.h"
#include "core/scene/mesh_file.h"

namespace tactus {

struct MeshRequest {
  std::string path;
  Vec3 scale = Vec3::Ones();   // file units to metres, per axis; an odd number of negative ones mirrors
  bool repair = false;         // mesh_repair.h
  double max_area = 0;         // subdivide until no triangle is larger [m^2]; 0: not
  double field_tolerance = 0;  // of the distance field [m]; 0: kFieldTolerance of the diagonal

  [[nodiscard]] std::string key() const;  // equal for equal requests
};

// Error of a distance field as a fraction of the bounding box's diagonal, where a scene does not say.
inline constexpr double kFieldTolerance = 5e-4;

class MeshLibrary {
 public:
  MeshLibrary(const Limits& limits, FieldCacheOptions cache) : limits_(limits), cache_(std::move(cache)) {}

  // Throws InputError that names the file and the element of it. The mesh is complete: features, tree, field.
  std::shared_ptr<const TriangleMesh> get(const MeshRequest& request);
  // Without the field, and not shared.
  TriangleMesh load(const MeshRequest& request);
  // The vertices only, scaled: for hulls.
  std::vector<Vec3> points(const std::string& path, const Vec3& scale) const;

  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  [[nodiscard]] MeshFileLimits file_limits() const noexcept;
  void note_repairs(const MeshRequest& request, const MeshRepairs& done);
  void note_size(const MeshRequest& request, const MeshSoup& soup);

  Limits limits_;
  FieldCacheOptions cache_;
  std::map<std::string, std::shared_ptr<const TriangleMesh>> meshes_;  // by the request's key
  std::size_t triangles_ = 0, field_bytes_ = 0;                        // of all of them
  std::vector<std::string> notes_;
};

}  // namespace tactus
