// Whether triangles bound a solid: closed, oriented, with area, outside out, not through each other. What is wrong is
// named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/shape/mesh/mesh_repair.h"

namespace tactus {

enum class MeshDefectKind : std::uint8_t {
  none,
  empty,              // fewer than four triangles
  not_finite,         // a vertex is no number
  flat,               // the whole mesh has no size, or one with which nothing can be computed
  repeated_vertex,    // a triangle has a vertex twice
  no_area,            // a triangle is a line
  duplicate,          // two triangles have the same vertices in the same order
  open_edge,          // an edge with one triangle: a hole
  crowded_edge,       // an edge with three triangles or more
  same_way,           // two neighbours run along their edge the same way: one of them is turned
  one_sided,          // neighbours cannot agree at all (a Moebius band)
  pinched_vertex,     // surfaces that meet in one vertex only
  inside_out,         // an outer shell whose normals point inwards, or a cavity whose normals point into it
  self_intersection,  // two triangles cross
};

// The first defect, and how many of its kind there are. Triangles are indices into the mesh that was checked.
struct MeshDefect {
  MeshDefectKind kind = MeshDefectKind::none;
  std::uint32_t triangle = 0, other = 0;
  Vec3 p = Vec3::Zero(), q = Vec3::Zero();  // the ends of the edge, or a vertex, in S [m]
  std::size_t uses = 0;                     // triangles at the edge; shells around an inside-out one
  std::size_t count = 0;                    // defects of this kind
  double value = 0;                         // height [m] of a flat triangle, volume [m^3] of a shell

  explicit operator bool() const noexcept { return kind != MeshDefectKind::none; }
};

// Sizes [m] whose sixth powers (inertia, its squares) are far from the ends of what a double can hold.
inline constexpr double kSizeMin = 1e-9, kSizeMax = 1e9;

// Crossings shallower than this fraction of the diagonal are rounding of the coordinates, not self-intersection.
inline constexpr double kCrossingTolerance = 1e-6;

// All but self-intersection, in the order of MeshDefectKind. O(n lg n), and O(shells n) for shells inside each other.
MeshDefect check_mesh(const MeshSoup& soup);

// One sentence without a file's name. Triangle t is called "<element> <origin[t]>" ("triangle 12", "line 40").
// repairable: whether the repairs of mesh_repair.h (asked for by the user) could help.
std::string describe(const MeshDefect& defect, const std::vector<std::uint32_t>& origin, const char* element);
bool repairable(MeshDefectKind kind) noexcept;

// Self-intersection. The mesh has its features and its tree. Parallel triangles that overlap are not seen, nor are
// crossings along a common edge. Expected O(n lg n); stops at 1000.
MeshDefect check_crossings(const TriangleMesh& mesh);

}  // namespace tactus
