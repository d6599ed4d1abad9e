// [[body.shape]] of a smooth kind: its parameters, checked.
#include "core/shape/smooth/smooth_shapes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/collide/places/mesh_places.h"
#include "core/scene/scene_builder.h"
#include "core/shape/mesh/mesh_check.h"

namespace tactus {
namespace {

using SurfacePtr = std::unique_ptr<SmoothSurface>;

constexpr Range kSize{kSizeMin, kSizeMax, false, false};

SurfacePtr read_superellipsoid(StrictTable& table) {
  const Vec3 radii = table.vec3("radii_m", {}, kSize);
  const auto e = table.numbers("exponents", 2, 2);
  if (const char* defect = superellipsoid_defect(e[0], e[1]))
    table.fail("exponents", "found e1 = " + number_text(e[0]) + ", e2 = " + number_text(e[1]) + " (" + defect +
                                "), expected [e1, e2] of at least " + number_text(kExponentMin) +
                                " with e2 <= 1 and e1 < 1, or both 1");
  return make_superellipsoid(radii, e[0], e[1]);
}

SurfacePtr read_torus(StrictTable& table) {
  const double ring = table.number("ring_radius_m", kSize), tube = table.number("tube_radius_m", kSize);
  if (!(tube < ring))
    table.fail("tube_radius_m", "found " + number_text(tube) + " beside ring_radius_m = " + number_text(ring) +
                                    ", expected less than that: the surface would cross itself");
  return make_torus(ring, tube);
}

SurfacePtr read_quadric(StrictTable& table) {
  const auto c = table.numbers("coefficients", 10, 10);
  std::array<double, 10> coefficients{};
  std::copy(c.begin(), c.end(), coefficients.begin());
  std::string error;
  SurfacePtr surface = make_quadric(coefficients, error);
  if (!surface) table.fail("coefficients", error);
  return surface;
}

SurfacePtr read_ellipsoid(StrictTable& table) {
  static constexpr std::array<std::string_view, 2> kForms{"implicit", "parametric"};
  const Vec3 radii = table.vec3("radii_m", {}, kSize);
  return table.choice("form", kForms, 0) == 0 ? make_ellipsoid(radii) : make_patched_ellipsoid(radii);
}

SurfacePtr read_revolution(StrictTable& table) {
  const std::vector<Vec2> profile = table.planar_points("profile_m");
  std::string error;
  SurfacePtr surface = make_revolution(profile, error);
  if (!surface) table.fail("profile_m", error);
  return surface;
}

SurfacePtr read_spline(StrictTable& table) {
  const std::vector<Vec3> control = table.points("control_points_m");
  std::vector<std::size_t> grid;
  std::size_t points = 1;
  for (const double n : table.numbers("control_grid", 2, 3)) {
    if (!(n >= 4 && n <= static_cast<double>(kSplineMax) && n == std::floor(n)))
      table.fail("control_grid",
                 "found " + number_text(n) + ", expected whole numbers from 4 to " + std::to_string(kSplineMax));
    grid.push_back(static_cast<std::size_t>(n));
    points *= grid.back();
    if (points > kSplineMax)
      table.fail("control_grid", "found a grid of " + std::to_string(points) + " points or more, expected at most " +
                                     std::to_string(kSplineMax));
  }
  std::string error;
  SurfacePtr surface = make_spline(control, grid, error);
  if (!surface) table.fail("control_points_m", error);
  return surface;
}

SurfacePtr read_surface_of(StrictTable& table, SmoothKind kind) {
  switch (kind) {
    case SmoothKind::ellipsoid:
      return read_ellipsoid(table);
    case SmoothKind::superellipsoid:
      return read_superellipsoid(table);
    case SmoothKind::torus:
      return read_torus(table);
    case SmoothKind::quadric:
      return read_quadric(table);
    case SmoothKind::revolution:
      return read_revolution(table);
    case SmoothKind::spline:
      return read_spline(table);
  }
  table.fail_expected("kind", "a smooth kind");
}

// As World takes pairs: of different bodies, one of which moves by forces.
bool may_meet(const Model& model, const ShapeInstance& x, const ShapeInstance& y) {
  if (x.body == y.body || (x.group & y.mask) == 0 || (y.group & x.mask) == 0) return false;
  if (!takes_wrenches(model.bodies[x.body].mode) && !takes_wrenches(model.bodies[y.body].mode)) return false;
  const std::pair<BodyIndex, BodyIndex> bodies = std::minmax(x.body, y.body);
  return !std::binary_search(model.no_collision.begin(), model.no_collision.end(), bodies);
}

}  // namespace

void read_smooth(StrictTable& table, SmoothKind kind, ShapeSpec& spec) {
  SurfacePtr surface = read_surface_of(table, kind);
  if (surface->radius() > kSizeMax || surface->centre().norm() > kSizeMax || surface->radius() < kSizeMin)
    table.fail("kind", "found a surface of radius " + number_text(surface->radius()) + " m, expected " +
                           number_text(kSizeMin) + " to " + number_text(kSizeMax) + " m, not farther away than that");
  if (table.flag("cavity", false)) surface = make_cavity(std::move(surface));
  spec.smooth = std::move(surface);
  spec.shape = make_smooth(spec.smooth.get());
}

void refuse_meshes_at_bowls(const SceneBuilder& builder, const StrictTable& root) {
  const Model& model = *builder.model;
  for (const ShapeInstance& mesh : model.shapes) {
    if (mesh.shape.kind != ShapeKind::mesh) continue;
    for (const ShapeInstance& smooth : model.shapes) {
      if (smooth.shape.kind != ShapeKind::smooth || !smooth.shape.smooth->cavity()) continue;
      if (is_mesh_smooth_pair(mesh.shape, smooth.shape)) continue;
      if (!may_meet(model, mesh, smooth)) continue;
      const std::string &name = model.bodies[smooth.body].name, &other = model.bodies[mesh.body].name;
      const int line = std::max(builder.line_of(name), builder.line_of(other));
      throw InputError(
          root.file().name + (line > 0 ? ":" + std::to_string(line) : "") + ": body.shape: found a " +
          to_string(smooth.shape.smooth->kind()) + " with cavity = true of body \"" + name +
          "\" that could touch a mesh of body \"" + other +
          "\", expected groups and masks or no_collision that keep them apart: no model collides "
          "a mesh with the inside of a surface that is not convex (a convex shape or a hull of the mesh does)");
    }
  }
}

}  // namespace tactus
