// The pieces of collide_mesh(): signed distance of any solid, gathering of overlap points, patches and their normals.
// The work frame is A's shape frame.
#pragma once

#include <cstdint>

#include "core/collide/mesh/collide_mesh.h"
#include "core/shape/shape.h"

namespace tactus {

inline constexpr std::uint32_t kNoFacet = 0xffffffffu;
inline constexpr std::uint8_t kNoPatch = 0xff;

enum class MeshPointKind : std::uint8_t {
  vertex,    // of a solid, or the nearest point of a ball's surface: inside the other solid
  edge,      // middle of the part of an edge inside the other solid, when both its ends are outside
  crossing,  // just inside where an edge passes through the other's surface: its depth is known once the normal is
};

struct MeshPoint {
  Vec3 p;                  // in A's frame [m]
  Vec3 nhat_BA;            // gradient of the other solid's distance, turned so that it points from B to A
  Vec3 along;              // edge and crossing: unit direction of the edge
  double distance;         // to the other's surface, > 0 [m]
  double depth;            // along the patch's normal [m]
  double half;             // edge: half the length of the part inside [m]
  std::uint32_t facet;     // of the other solid, where the nearest surface is flat; or kNoFacet
  std::uint32_t triangle;  // one of the facet (mesh)
  MeshPointKind kind;
  bool of_a;  // the point belongs to A
  std::uint8_t patch;
  bool far_side;  // faces another way than its patch: depth by search along the normal
  bool corner;    // nearest to an inner edge of the other solid: between two of its facets, deep under both
};

// One solid of the pair, seen from the work frame.
struct MeshSide {
  const Shape* shape;
  Frame X;            // of the shape in the work frame
  double margin = 0;  // the surface is taken this much further out [m]
};

struct SolidSample {
  double distance;  // negative inside [m]; where it is a bound only: not above the truth outside
  Vec3 gradient;    // unit, outwards, in the work frame
  std::uint32_t facet = kNoFacet, triangle = kNoFacet;
};
// Signed distance of the solid, margin included, at p in the work frame. Mesh: O(lg cells); convex O(faces + edges);
// else closed form.
SolidSample sample_solid(const MeshSide& side, const Vec3& p) noexcept;

// The plane of a facet, margin included: outward normal and offset, in the work frame. False when the solid has no such
// facet.
bool facet_plane(const MeshSide& side, std::uint32_t facet, std::uint32_t triangle, Vec3& nhat,
                 double& offset) noexcept;

struct MeshPair {
  MeshSide side[2];  // A, B
  MeshScratch& scratch;
  std::uint32_t count = 0;  // points found
  std::uint32_t dropped = 0;

  [[nodiscard]] const MeshSide& other(const MeshPoint& point) const noexcept { return side[point.of_a ? 1 : 0]; }
  // Over capacity the point with the least distance goes.
  void add(const MeshPoint& point) noexcept;
};

// All vertices, edges and features of either solid inside the other. mesh_gather.cc, mesh_features of primitives.
void gather_points(MeshPair& pair) noexcept;
// Nearest points of a mesh to spheres and capsules. mesh_balls.cc
void gather_balls(MeshPair& pair, int ball_side) noexcept;
// The part of the segment p q (of an edge of side `owner`) inside the other solid. mesh_edges.cc
void add_segment(MeshPair& pair, int owner, const Vec3& p, const Vec3& q) noexcept;

// Distance from p (inside the solid) along the unit n to its surface, at most `limit`; negative when it is still inside
// there, or when p is outside. [m]
double exit_distance(const MeshSide& side, const Vec3& p, const Vec3& n, double limit) noexcept;

struct MeshPatchState {
  Vec3 nhat_BA = Vec3::Zero();              // zero: not in use
  double depth_max = 0;                     // along the normal [m]
  std::uint32_t triangle = kNoFacet;        // of the facet below
  std::int32_t facet_a = -1, facet_b = -1;  // the facet that gave the normal, of a or of b
  bool remembered = false;                  // from the last tick
};
struct MeshPatches {
  MeshPatchState state[kMaxMeshPatches];
  std::uint32_t count;  // slots
};
// Normal of one patch: eq. 4 where a facet speaks for most of the overlap, else the depth-weighted mean. mesh_normal.cc
void choose_normal(const MeshPair& pair, std::uint8_t patch, MeshPatchState& state) noexcept;
// Of two patches that push against each other the one whose translation frees both takes the other's points.
// mesh_opposed.cc
void resolve_opposed(MeshPair& pair, MeshPatches& patches) noexcept;

}  // namespace tactus
