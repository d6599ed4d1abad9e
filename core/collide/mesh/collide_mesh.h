// Pairs in which at least one shape is a triangle mesh, after Drumwright, Appendix I: vertices of each solid inside the
// other by signed distance, the normal by eq. 4 where the surface is flat. Unlike convex pairs, such a pair may touch
// in several places with normals of their own, and it needs room to work in.
#pragma once

#include <cstdint>
#include <memory>

#include "core/collide/narrow_phase.h"
#include "core/collide/pair_memory.h"

namespace tactus {

inline constexpr std::uint32_t kMaxMeshPatches = 8;

struct MeshPoint;  // mesh_contact.h

// Room for one pair at a time; sized once. Thrown away after each pair.
class MeshScratch {
 public:
  // points: overlap points looked at per pair (Limits::mesh_points_per_pair).
  explicit MeshScratch(std::uint32_t points);
  ~MeshScratch();
  MeshScratch(const MeshScratch&) = delete;
  MeshScratch& operator=(const MeshScratch&) = delete;

  std::unique_ptr<MeshPoint[]> found;
  std::unique_ptr<ContactPoint[]> contacts;
  std::uint32_t capacity;
};

struct MeshContacts {
  ContactBuffer patch[kMaxMeshPatches];  // as collide() fills one; count 0: nothing there. Points live in the scratch
  std::uint32_t dropped = 0;             // points of patches beyond patch_count, or beyond the scratch
};

inline bool is_mesh_pair(const Shape& a, const Shape& b) noexcept {
  return a.kind == ShapeKind::mesh || b.kind == ShapeKind::mesh;
}

// All contacts of a at X_WA against b at X_WB. records: patch_count (at most kMaxMeshPatches) consecutive records of
// this pair; patch k goes with records[k], whose witness says which way it faced in the last tick, so that its friction
// and phase stay with it. A patch is a set of points whose surfaces face within about 35 degrees of each other; a point
// that one patch's own translation sets free belongs to that patch, whichever way it faces. Two places with one normal
// are one patch: their depths are measured point by point. O(n lg N) for n points near the other's surface and N cells
// of its field; allocates nothing. margin: a pair of which a patch touched last tick is seen across gaps up to this,
// with points of negative depth [m].
void collide_mesh(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double margin,
                  PairRecord* records, std::uint32_t patch_count, MeshScratch& scratch, MeshContacts& out) noexcept;

}  // namespace tactus
