// From the triangles of a file to a mesh that can be checked: welding, T-junctions, and the repairs that a user asks
// for.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/shape/mesh/triangle_mesh.h"

namespace tactus {

// Triangles as a file has them: nothing is known of them but that the indices are in range.
struct MeshSoup {
  std::vector<Vec3> vertices;
  std::vector<TriangleMesh::Triangle> triangles;
  std::vector<std::uint32_t> origin;  // of each triangle: its line (OBJ) or its number from 1 (STL); kept by repairs
};

// Tolerances, as fractions of the bounding box's diagonal.
inline constexpr double kWeldTolerance = 1e-6;        // between vertices of open edges
inline constexpr double kJunctionTolerance = 1e-4;    // from a vertex to the open edge that it lies on
inline constexpr double kDegenerateTolerance = 1e-9;  // height of a triangle over its longest edge

struct MeshRepairs {
  std::uint32_t merged = 0;         // vertices at the same place; a matter of course
  std::uint32_t welded = 0;         // vertices of open edges merged with a near one
  std::uint32_t split = 0;          // open edges split at vertices that lie on them
  double gap = 0;                   // the largest distance that welding or splitting closed [m]
  std::uint32_t degenerate = 0;     // triangles dropped: no area
  std::uint32_t duplicate = 0;      // triangles dropped: the same three vertices in the same order
  std::uint32_t turned = 0;         // triangles turned to agree with their neighbours
  std::uint32_t turned_shells = 0;  // whole shells turned inside out
  std::uint32_t pinched = 0;        // vertices made two where surfaces only touched
};

// Merges vertices at the same place and drops vertices that no triangle uses. O(n lg n).
void merge_equal_vertices(MeshSoup& soup, MeshRepairs& done);

// Closes what only rounding opened: vertices of open edges that are within kWeldTolerance become one, and an open edge
// on which vertices of other open edges lie (T-junctions) is split there. Holes stay. O(n lg n) for few open edges.
void close_seams(MeshSoup& soup, MeshRepairs& done);

// Drops triangles without area (by collapsing needles and by splitting what lies behind a cap) and duplicates.
void drop_degenerate(MeshSoup& soup, MeshRepairs& done);

// Turns triangles until neighbours agree, then shells until outer ones have their outside out and cavities their
// outside in. False when neighbours cannot agree (a Moebius band). Edges must be closed. O(n lg n + shells n).
bool orient(MeshSoup& soup, MeshRepairs& done);

// Vertices where two fans of triangles meet in nothing but the point are made two, at one place.
void split_pinched_vertices(MeshSoup& soup, MeshRepairs& done);

// How deep each shell (connected over edges) stands in others, and how it is wound.
struct Shell {
  std::uint32_t triangle = 0;   // its first
  std::uint32_t triangles = 0;  // how many
  double volume = 0;            // signed
  std::uint32_t inside_of = 0;  // number of shells around it; odd: it bounds a cavity
  [[nodiscard]] bool wrong_way() const noexcept { return (volume > 0) == (inside_of % 2 == 1); }
};
// shell_of: the number of each triangle's shell. Edges must be closed and neighbours agree.
std::vector<Shell> find_shells(const std::vector<Vec3>& vertices, const std::vector<TriangleMesh::Triangle>& triangles,
                               std::vector<std::uint32_t>& shell_of);

}  // namespace tactus
