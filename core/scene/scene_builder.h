// The Model while it is being built. Tables and generators hand in plain descriptions of bodies; what cannot be is
// refused here, with the place in the file that asked for it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dynamics/model.h"
#include "core/limits.h"
#include "core/scene/mesh_library.h"
#include "core/scene/random.h"
#include "core/scene/scene.h"
#include "core/scene/strict_table.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

// What a shape is besides its geometry; a body gives its shapes their defaults.
struct Surface {
  std::uint32_t material = 0;
  std::uint32_t group = 1, mask = 0xffffffffu;
  std::string colour;
};

struct ShapeSpec {
  Shape shape;               // convex: hull is set when the body is added
  std::vector<Vec3> points;  // convex: the points whose hull it is, in S [m]
  std::shared_ptr<const TriangleMesh> mesh;
  std::shared_ptr<const SmoothSurface> smooth;
  Pose X_BS;
  std::optional<double> density, mass;  // [kg/m^3], [kg]; at most one
  Surface surface;
};

struct BodySpec {
  std::string name;
  BodyMode mode = BodyMode::free;
  Pose X_WB;
  SpatialVelocity V_WB;                 // v of B's origin
  std::optional<double> density, mass;  // of the whole body; mass wins over the shapes' sum and scales it
  std::optional<Mat3> I_BBcm;
  std::optional<Vec3> p_BBcm;
  HarmonicMotion motion;
  double force_limit = 1e4, torque_limit = 1e4, gravity_scale = 1;
  bool continuous = false;
  std::vector<ShapeSpec> shapes;
};

class SceneBuilder {
 public:
  explicit SceneBuilder(const SceneOptions& options)
      : model(std::make_unique<Model>()),
        limits_(options.limits),
        meshes_(std::make_unique<MeshLibrary>(options.limits, FieldCacheOptions{options.cache_directory})) {}

  // source: the table that asked for the body; it is named when the body is refused.
  void add_body(const BodySpec& spec, const StrictTable& source);
  // A body whose mass properties are known and whose hulls the model has: a link of a robot. name: robot/link.
  BodyIndex add_link(const Body& body, const Pose& X_WB, const std::vector<ShapeSpec>& shapes,
                     const StrictTable& source);
  // "default" is always there. Refuses an unknown name.
  [[nodiscard]] std::uint32_t material(const std::string& name, const StrictTable& source, std::string_view key) const;
  [[nodiscard]] BodyIndex body(const std::string& name, const StrictTable& source, std::string_view key) const;
  // A body, or a link (robot/link) with its frame in the body that it is part of.
  [[nodiscard]] std::pair<BodyIndex, Pose> frame(const std::string& name, const StrictTable& source,
                                                 std::string_view key) const;
  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
  // Line of the file in which the body is named; 0: it is no [[body]].
  [[nodiscard]] int line_of(const std::string& body_name) const;
  // Reading a mesh changes nothing of what has been built.
  [[nodiscard]] MeshLibrary& meshes() const noexcept { return *meshes_; }

  std::unique_ptr<Model> model;
  std::vector<std::string> notes;  // of robots

 private:
  void add_surfaces(const std::vector<ShapeSpec>& shapes);
  void add_shapes(const std::vector<ShapeSpec>& shapes, const Vec3& p_BBcm, const StrictTable& source);

  Limits limits_;
  std::unique_ptr<MeshLibrary> meshes_;
  std::map<std::string, int> lines_;  // where each body was declared
};

// "#rrggbb" or refused.
void check_colour(const std::string& colour, const StrictTable& source, std::string_view key);
// position_m and orientation_wxyz or roll_pitch_yaw_rad (yaw about z, then pitch about the new y, then roll about the
// new x).
Pose read_pose(StrictTable& table);
Quat yaw_rotation(double yaw);
// material, group, mask and colour, where not given as in fallback.
Surface read_surface(StrictTable& table, const SceneBuilder& builder, const Surface& fallback);

// The keys of a smooth kind (config/README.md): the shape and its surface.
void read_smooth(StrictTable& table, SmoothKind kind, ShapeSpec& spec);
// No model collides a triangle mesh with the inside of a smooth surface: scenes in which two could meet are refused.
void refuse_meshes_at_bowls(const SceneBuilder& builder, const StrictTable& root);
// [[material]] and [[material_pair]].
void read_materials(StrictTable& root, SceneBuilder& builder);
// One [[body]]; or the [generate.body] of a grid, whose name and pose the generator gives.
BodySpec read_body(StrictTable& table, const SceneBuilder& builder, bool named);
// One [[generate]].
void read_generator(StrictTable& table, SceneBuilder& builder, SceneRandom random);
// One [[push]], appended to pushes.
void read_push(StrictTable& table, const SceneBuilder& builder, SceneRandom random, std::vector<Push>& pushes);

}  // namespace tactus
