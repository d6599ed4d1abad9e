// [[body]] and its [[body.shape]].
#include <array>
#include <filesystem>

#include "core/scene/scene_builder.h"

namespace tactus {
namespace {

// Those of ShapeKind up to mesh, then those of SmoothKind.
constexpr std::array<std::string_view, 13> kShapeWords{
    "sphere",         "box",   "capsule", "cylinder",   "half_space", "convex", "mesh", "ellipsoid",
    "superellipsoid", "torus", "quadric", "revolution", "spline"};
constexpr auto kFirstSmooth = static_cast<std::size_t>(ShapeKind::smooth);
constexpr std::array<std::string_view, 3> kModeWords{"free", "fixed", "kinematic"};

// Beside the scene file, unless it is absolute.
std::string read_mesh_path(StrictTable& table) {
  const std::string name = table.text("file");
  if (name.empty()) table.fail_expected("file", "the name of a mesh (.obj or .stl), relative to the scene's file");
  return (std::filesystem::path(table.file().name).parent_path() / name).string();
}

// One number or one for each axis.
Vec3 read_scale(StrictTable& table) {
  if (!table.has("scale")) return Vec3::Ones();
  const Vec3 scale = table.is_array("scale") ? table.vec3("scale") : Vec3(Vec3::Constant(table.number("scale", kAny)));
  if ((scale.array() == 0).any()) table.fail_expected("scale", "a factor other than 0, or one for each axis [x, y, z]");
  return scale;
}

void read_mesh(StrictTable& table, const SceneBuilder& builder, ShapeSpec& s) {
  MeshRequest request;
  request.path = read_mesh_path(table);
  request.scale = read_scale(table);
  request.repair = table.flag("repair", false);
  if (table.has("max_triangle_area_m2")) request.max_area = table.number("max_triangle_area_m2", kPositive);
  if (table.has("field_tolerance_m")) request.field_tolerance = table.number("field_tolerance_m", kPositive);
  try {
    s.mesh = builder.meshes().get(request);
  } catch (const InputError& e) {
    table.fail("file", e.what());
  }
  s.shape = make_mesh(s.mesh.get());
}

// points_m, or the vertices of a mesh file.
void read_convex(StrictTable& table, const SceneBuilder& builder, ShapeSpec& s) {
  s.shape = make_convex(nullptr);
  if (!table.has("file")) {
    s.points = table.points("points_m");
    return;
  }
  if (table.has("points_m")) table.fail("points_m", "found beside file, expected one of the two");
  const std::string path = read_mesh_path(table);
  const Vec3 scale = read_scale(table);
  try {
    s.points = builder.meshes().points(path, scale);
  } catch (const InputError& e) {
    table.fail("file", e.what());
  }
}

Shape read_geometry(StrictTable& table, ShapeKind kind) {
  switch (kind) {
    case ShapeKind::sphere:
      return make_sphere(table.number("radius_m", kPositive));
    case ShapeKind::box:
      return make_box(0.5 * table.vec3("size_m", {}, kPositive));
    case ShapeKind::capsule: {
      const double radius = table.number("radius_m", kPositive);
      return make_capsule(radius, 0.5 * table.number("length_m", kPositive));
    }
    case ShapeKind::cylinder: {
      const double radius = table.number("radius_m", kPositive);
      return make_cylinder(radius, 0.5 * table.number("length_m", kPositive));
    }
    case ShapeKind::half_space:
      return make_half_space();
    case ShapeKind::convex:
      return make_convex(nullptr);
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      break;
  }
  return make_mesh(nullptr);
}

ShapeSpec read_shape(StrictTable& table, const SceneBuilder& builder, const Surface& fallback) {
  ShapeSpec s;
  const std::size_t word = table.choice("kind", kShapeWords);
  if (word >= kFirstSmooth)
    read_smooth(table, static_cast<SmoothKind>(word - kFirstSmooth), s);
  else
    s.shape = read_geometry(table, static_cast<ShapeKind>(word));
  if (s.shape.kind == ShapeKind::convex) read_convex(table, builder, s);
  if (s.shape.kind == ShapeKind::mesh) read_mesh(table, builder, s);
  s.X_BS = read_pose(table);
  if (table.has("density_kg_per_m3")) s.density = table.number("density_kg_per_m3", kPositive);
  if (table.has("mass_kg")) s.mass = table.number("mass_kg", kPositive);
  if (s.density && s.mass) table.fail("mass_kg", "found beside density_kg_per_m3, expected one of the two");
  s.surface = read_surface(table, builder, fallback);
  table.finish();
  return s;
}

// Three principal moments, or xx, yy, zz, xy, xz, yz.
Mat3 read_inertia(StrictTable& table) {
  const auto x = table.numbers("inertia_kg_m2", 3, 6);
  if (x.size() != 3 && x.size() != 6)
    table.fail("inertia_kg_m2",
               "found " + std::to_string(x.size()) + " numbers, expected 3 (xx, yy, zz) or 6 (xx, yy, zz, xy, xz, yz)");
  Mat3 I = Vec3(x[0], x[1], x[2]).asDiagonal();
  if (x.size() == 6) {
    I(0, 1) = I(1, 0) = x[3];
    I(0, 2) = I(2, 0) = x[4];
    I(1, 2) = I(2, 1) = x[5];
  }
  return I;
}

void read_mass(StrictTable& table, BodySpec& body) {
  if (table.has("mass_kg")) body.mass = table.number("mass_kg", kPositive);
  if (table.has("density_kg_per_m3")) body.density = table.number("density_kg_per_m3", kPositive);
  if (body.mass && body.density) table.fail("density_kg_per_m3", "found beside mass_kg, expected one of the two");
  if (table.has("inertia_kg_m2")) body.I_BBcm = read_inertia(table);
  if (table.has("mass_centre_m")) body.p_BBcm = table.vec3("mass_centre_m");
}

void read_motion(StrictTable& table, BodySpec& body) {
  body.V_WB.v = table.vec3("linear_velocity_m_per_s", Vec3(Vec3::Zero()));
  body.V_WB.w = table.vec3("angular_velocity_rad_per_s", Vec3(Vec3::Zero()));
  if (body.mode == BodyMode::fixed && !(body.V_WB.v.isZero(0) && body.V_WB.w.isZero(0)))
    table.fail(table.has("linear_velocity_m_per_s") ? "linear_velocity_m_per_s" : "angular_velocity_rad_per_s",
               "found a velocity of a fixed body, expected none (or mode = \"kinematic\")");
  if (!table.has("motion")) return;
  if (body.mode != BodyMode::kinematic)
    table.fail("motion", "found in a body that is not kinematic, expected mode = \"kinematic\"");
  StrictTable motion = table.table("motion");
  body.motion.amplitude_W = motion.vec3("amplitude_m", Vec3(Vec3::Zero()));
  body.motion.angle_amplitude_W = motion.vec3("angle_amplitude_rad", Vec3(Vec3::Zero()));
  body.motion.frequency = motion.number("frequency_hz", kPositive);
  motion.finish();
}

}  // namespace

BodySpec read_body(StrictTable& table, const SceneBuilder& builder, bool named) {
  BodySpec body;
  if (named) body.name = table.name("name");
  body.mode = static_cast<BodyMode>(table.choice("mode", kModeWords, 0));
  if (named) body.X_WB = read_pose(table);
  read_motion(table, body);
  read_mass(table, body);
  body.force_limit = table.number("force_limit_n", kNotNegative, body.force_limit);
  body.torque_limit = table.number("torque_limit_n_m", kNotNegative, body.torque_limit);
  body.gravity_scale = table.number("gravity_scale", kAny, 1.0);
  body.continuous = table.flag("continuous", false);
  if (body.continuous && body.mode != BodyMode::free)
    table.fail("continuous", "found true in a body that is not free, expected mode = \"free\"");
  const Surface surface = read_surface(table, builder, {});
  for (auto& shape : table.tables("shape")) body.shapes.push_back(read_shape(shape, builder, surface));
  table.finish();
  return body;
}

}  // namespace tactus
