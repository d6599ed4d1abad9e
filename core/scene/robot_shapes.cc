// Collision shapes of a robot's links: primitives, and meshes as convex hulls or as they are.
#include <array>
#include <cstdio>
#include <filesystem>

#include "core/check.h"
#include "core/scene/hull_points.h"
#include "core/scene/package_path.h"
#include "core/scene/robot_spec.h"

namespace tactus {
namespace {

constexpr double kToldFraction = 1e-5;  // of the size: what a hull leaves out is told above this

// Sum over the triangles' tetrahedra; negative when the surface is wound inside out. In file units cubed.
double signed_volume(const MeshSoup& soup) {
  double sum = 0;
  for (const auto& [a, b, c] : soup.triangles)
    sum += soup.vertices[a].dot(soup.vertices[b].cross(soup.vertices[c])) / 6;
  return sum;
}

std::string short_text(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2g", x);
  return text.data();
}

}  // namespace

const ConvexHull* RobotShapes::hull_of(const std::string& path, const UrdfCollision& collision) {
  const Vec3& scale = collision.scale;
  const std::string key =
      path + "|" + number_text(scale.x()) + "|" + number_text(scale.y()) + "|" + number_text(scale.z());
  if (const auto known = hulls_.find(key); known != hulls_.end()) return known->second;
  const Limits& limits = builder_.limits();
  MeshFile file = read_mesh_file(path, {limits.mesh_file_bytes, limits.mesh_triangles});
  const std::string name = std::filesystem::path(path).filename().string();
  if (signed_volume(file.soup) < 0) notes_.push_back(name + " is wound inside out: repaired by taking its convex hull");
  for (Vec3& p : file.soup.vertices) p = p.cwiseProduct(scale);
  auto hull = std::make_unique<ConvexHull>();
  HullFit fit;
  std::string error;
  if (!fit_convex_hull(file.soup.vertices, std::min(spec_.hull_vertices, limits.hull_vertices), *hull, fit, error))
    throw InputError(path + ": found points without a usable hull: " + error);
  if (fit.left_out > kToldFraction * hull->radius)
    notes_.push_back(name + ": its convex hull is approximated by " + std::to_string(hull->vertices.size()) +
                     " vertices, at most " + short_text(1e3 * fit.left_out) + " mm inside");
  const ConvexHull* out = hull.get();
  builder_.model->hulls.push_back(std::move(hull));
  hulls_[key] = out;
  return out;
}

Shape RobotShapes::mesh_shape(const UrdfCollision& collision, ShapeSpec& out) {
  const MeshPlace place = find_mesh(collision.mesh, robot_.file, spec_.packages);
  if (!place.note.empty() && std::find(notes_.begin(), notes_.end(), place.note) == notes_.end())
    notes_.push_back(place.note);
  if (!spec_.mesh_shapes) return make_convex(hull_of(place.path, collision));
  MeshRequest request;
  request.path = place.path;
  request.scale = collision.scale;
  request.repair = spec_.repairs.mesh;
  out.mesh = builder_.meshes().get(request);
  return make_mesh(out.mesh.get());
}

std::vector<ShapeSpec> RobotShapes::read(const UrdfLink& link) {
  std::vector<ShapeSpec> out;
  for (const UrdfCollision& c : link.collisions) {
    ShapeSpec s;
    s.X_BS = c.X_LS;
    s.surface = spec_.surface;
    if (!spec_.own_colour) s.surface.colour = link.colour;
    if (const auto own = spec_.materials.find(link.name); own != spec_.materials.end())
      s.surface.material = own->second;
    switch (c.kind) {
      case UrdfCollision::Kind::box:
        s.shape = make_box(0.5 * c.size);
        break;
      case UrdfCollision::Kind::cylinder:
        s.shape = make_cylinder(c.radius, 0.5 * c.length);
        break;
      case UrdfCollision::Kind::sphere:
        s.shape = make_sphere(c.radius);
        break;
      case UrdfCollision::Kind::capsule:
        s.shape = make_capsule(c.radius, 0.5 * c.length);
        break;
      case UrdfCollision::Kind::mesh:
        try {
          s.shape = mesh_shape(c, s);
        } catch (const InputError& e) {
          throw InputError(place_of(robot_, link) + "<collision> (line " + std::to_string(c.line) +
                           "): <mesh>: " + e.what());
        }
        break;
    }
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace tactus
