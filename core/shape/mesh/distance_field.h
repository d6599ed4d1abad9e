// Signed distance of a closed triangle mesh, adaptively sampled (Frisken et al. 2000; Drumwright, Appendix I-A): an
// octree built at load, asked in O(lg N). A cell that trilinear interpolation describes within the tolerance keeps its
// eight corners; a cell at a sharp feature keeps the few triangles that can be nearest, and is exact there. So the
// error near the surface is bounded by the tolerance without refining edges down to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/math/spatial.h"
#include "core/shape/mesh/triangle_mesh.h"

namespace tactus {

struct FieldOptions {
  double tolerance_m = 1e-5;              // the error is at most this + kGrowth |d|
  int max_depth = 12;                     // of the octree, 1..16; cells there are exact whatever their length
  std::size_t max_bytes = 256ULL << 20U;  // of the finished field
};

// How the caller runs independent jobs: core has no threads. The field's bytes do not depend on it.
struct FieldJobs {
  void* context = nullptr;
  // Calls body(data, i) once for each i < count, in any order, on any threads; returns when all are done. Null: in
  // turn.
  void (*run)(void* context, std::size_t count, void (*body)(void* data, std::size_t i), void* data) = nullptr;
  // Levels done so far and levels at most; false stops the build. Called on the caller's thread only. Null: not wanted.
  bool (*progress)(void* context, int levels_done, int levels_max) = nullptr;
};

struct DistanceField {
  // A node is a kind (top two bits) and an index: of the first of eight children (order x + 2 y + 4 z), of a linear
  // leaf, or of an exact leaf.
  static constexpr double kGrowth = 0.03;  // error allowed per distance: exact at the surface, coarse far from it
  enum Kind : std::uint32_t { kInner = 0, kLinear = 1, kExact = 2 };
  // Signed distance = that to the plane of the triangle + what is interpolated. So a flat face is exact to rounding
  // although the corners are single precision: the noise of rounding would make points of one level look unequal.
  struct Linear {
    float corner[8];         // [m] at the corners, order x + 2 y + 4 z
    std::uint32_t triangle;  // nearest to the centre of the cell
  };

  Vec3 origin = Vec3::Zero();  // lowest corner of the root cell, in S [m]
  double size = 0;             // edge of the root cell [m]
  double margin = 0;           // least distance between the root cell's faces and the mesh [m]
  double tolerance = 0;        // as asked for [m]
  double max_error = 0;        // largest (error - kGrowth |d|) met at the test points; at most the tolerance [m]
  std::uint32_t triangle_count = 0;
  int depth = 0;                                            // levels below the root
  static constexpr std::uint32_t kIndexMask = 0x3fffffffu;  // of a node; the bits above say what it is
  std::vector<std::uint32_t> nodes;                         // the root first
  std::vector<Linear> linear;
  std::vector<std::uint32_t>
      exact_first;  // CSR: exact leaf i keeps exact_triangles[exact_first[i], exact_first[i + 1])
  std::vector<std::uint32_t> exact_triangles;
};

struct FieldStats {
  std::size_t cells = 0, linear_cells = 0, exact_cells = 0, bytes = 0;
  double triangles_per_exact_cell = 0;
  int depth = 0;
  double max_error = 0;  // as measured while building [m]
};
FieldStats field_stats(const DistanceField& field) noexcept;

// Builds the field of a mesh that has its features and its tree. False with a reason when the mesh is not closed, the
// field would exceed max_bytes, or progress() said stop. O(cells * lg triangles). The same bytes whatever runs the
// jobs.
bool build_distance_field(const TriangleMesh& mesh, const FieldOptions& options, const FieldJobs& jobs,
                          DistanceField& out, std::string& error);

struct FieldSample {
  double distance = 0;             // negative inside [m]
  Vec3 gradient_S = Vec3::Zero();  // unit, outwards
  std::uint32_t triangle = 0;      // nearest (exact leaf), or nearest to the cell's centre
};

// Signed distance at p_S [m] and its direction of steepest growth; the mesh must be the one the field was built from.
// Outside the root cell: a lower bound. O(depth); allocates nothing.
FieldSample sample_field(const DistanceField& field, const TriangleMesh& mesh, const Vec3& p_S) noexcept;
// The distance alone.
double field_distance(const DistanceField& field, const TriangleMesh& mesh, const Vec3& p_S) noexcept;

// For a cache on disk; the layout carries its version. Reading checks every index and number; a damaged or foreign file
// gives false and the reason, never a crash. The caller compares triangle_count with the mesh.
std::vector<std::byte> field_bytes(const DistanceField& field);
bool field_from_bytes(std::span<const std::byte> bytes, DistanceField& out, std::string& error);

}  // namespace tactus
