#include "core/scene/mesh_library.h"

#include <array>
#include <cstdio>
#include <filesystem>

#include "core/check.h"
#include "core/scene/strict_table.h"
#include "core/shape/mesh/mesh_build.h"
#include "core/shape/mesh/mesh_features.h"
#include "core/shape/mesh/mesh_subdivide.h"

namespace tactus {
namespace {

constexpr double kLargest = 100, kSmallest = 1e-3;  // sizes [m] beyond which a scale is likely to be wrong

void apply_scale(MeshSoup& soup, const Vec3& scale) {
  for (Vec3& v : soup.vertices) v = v.cwiseProduct(scale);
  if (scale.prod() > 0) return;
  for (auto& t : soup.triangles) std::swap(t[1], t[2]);
}

void refuse(const MeshRequest& request, const MeshDefect& defect, const MeshSoup& soup, const char* element) {
  std::string hint;
  if (repairable(defect.kind)) hint = request.repair ? "; repair = true did not help" : "; repair = true would mend it";
  throw InputError(request.path + ": " + describe(defect, soup.origin, element) + hint);
}

// A measured length for people: four digits.
std::string short_text(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", x);
  return text.data();
}

// "3 triangles", or nothing for 0.
void add_count(std::string& text, std::uint32_t n, const std::string& what) {
  if (n > 0) text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + what;
}

}  // namespace

std::string MeshRequest::key() const {
  std::error_code ignored;
  std::string out = std::filesystem::weakly_canonical(path, ignored).string();
  for (const double x : {scale.x(), scale.y(), scale.z(), repair ? 1.0 : 0.0, max_area, field_tolerance})
    out += "|" + number_text(x);
  return out;
}

MeshFileLimits MeshLibrary::file_limits() const noexcept {
  return {limits_.mesh_file_bytes, limits_.mesh_triangles};
}

void MeshLibrary::note_repairs(const MeshRequest& request, const MeshRepairs& done) {
  std::string seams;
  add_count(seams, done.welded, "vertices of open edges merged with their neighbours");
  add_count(seams, done.split, "open edges split at vertices that lie on them");
  if (!seams.empty())
    notes_.push_back(request.path + ": closed gaps of up to " + short_text(done.gap) + " m: " + seams);
  std::string repairs;
  add_count(repairs, done.degenerate, "triangles without area dropped");
  add_count(repairs, done.duplicate, "triangles dropped that stood there twice");
  add_count(repairs, done.pinched, "vertices doubled where surfaces only touched");
  add_count(repairs, done.turned, "triangles turned to agree with their neighbours");
  add_count(repairs, done.turned_shells, "shells turned the right way out");
  if (!repairs.empty()) notes_.push_back(request.path + ": repaired: " + repairs);
}

void MeshLibrary::note_size(const MeshRequest& request, const MeshSoup& soup) {
  const MeshBounds box = bounds_of(soup.vertices);
  const Vec3 size = box.hi - box.lo;
  const double largest = size.maxCoeff();
  if (largest >= kSmallest && largest <= kLargest) return;
  const bool scaled_down = request.scale.cwiseAbs().maxCoeff() < 1;
  const std::string advice = largest > kLargest ? "if the file is in millimetres, scale = 0.001 is right"
                             : scaled_down      ? "if the file is in metres, leave scale out"
                                                : "if it is 1000 times too small, scale = 1000 is right";
  notes_.push_back(request.path + ": found a size of " + short_text(size.x()) + " x " + short_text(size.y()) + " x " +
                   short_text(size.z()) + " m; " + advice);
}

TriangleMesh MeshLibrary::load(const MeshRequest& request) {
  MeshFile file = read_mesh_file(request.path, file_limits());
  apply_scale(file.soup, request.scale);
  MeshRepairs done;
  if (const MeshDefect defect = prepare_mesh(file.soup, request.repair, done))
    refuse(request, defect, file.soup, file.element);
  TriangleMesh mesh = finish_mesh(file.soup);
  if (const MeshDefect defect = check_crossings(mesh)) refuse(request, defect, file.soup, file.element);
  note_size(request, file.soup);
  note_repairs(request, done);
  if (request.max_area > 0) {
    std::string error;
    if (!subdivide(file.soup, request.max_area, limits_.mesh_triangles - triangles_, error))
      throw InputError(request.path + ": max_triangle_area_m2 = " + number_text(request.max_area) + " " + error);
    mesh = finish_mesh(file.soup);
  }
  return mesh;
}

std::shared_ptr<const TriangleMesh> MeshLibrary::get(const MeshRequest& request) {
  auto& known = meshes_[request.key()];
  if (known) return known;
  auto mesh = std::make_shared<TriangleMesh>(load(request));
  if (triangles_ + mesh->triangles.size() > limits_.mesh_triangles)
    throw InputError(request.path + ": found " + std::to_string(triangles_ + mesh->triangles.size()) +
                     " triangles in all meshes of the scene, expected at most " +
                     std::to_string(limits_.mesh_triangles));
  FieldOptions options;
  options.tolerance_m =
      request.field_tolerance > 0 ? request.field_tolerance : kFieldTolerance * (mesh->hi - mesh->lo).norm();
  options.max_bytes = std::min<std::size_t>(options.max_bytes, limits_.field_bytes - field_bytes_);
  mesh->field = cached_field(*mesh, options, request.path, cache_, notes_);
  triangles_ += mesh->triangles.size();
  field_bytes_ += field_stats(*mesh->field).bytes;
  known = mesh;
  return known;
}

std::vector<Vec3> MeshLibrary::points(const std::string& path, const Vec3& scale) const {
  std::vector<Vec3> out = read_mesh_file(path, file_limits()).soup.vertices;
  for (Vec3& p : out) p = p.cwiseProduct(scale);
  return out;
}

}  // namespace tactus
