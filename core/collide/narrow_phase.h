// Narrow phase: the table [shape][shape] -> function. Each function finds the normal of minimum translation and all
// contact points of one pair. Normal from B into A; depth > 0 is overlap (core/README.md).
#pragma once

#include <cstdint>

#include "core/check.h"
#include "core/collide/contact_set.h"
#include "core/shape/shape.h"

namespace tactus {

// What a pair remembers of its geometry, so that the next tick starts where this one ended. Part of State:
// zero-initialised means "knows nothing", and any value must give the same contacts up to rounding, only slower or
// faster.
struct Witness {
  Vec3 axis_A = Vec3::Zero();  // last separating or contact axis, from B towards A, in the frame of shape A; zero: none
  std::int32_t feature_a = -1, feature_b = -1;  // meaning is the pair function's own; polyhedra: narrow_witness.h
  // Smooth pairs: extremal points on the two shapes, in their own frames, and what they moved by in the last call and
  // in the one before (ExtremalSide); their features are feature_a, feature_b.
  Vec3 point_a = Vec3::Zero(), point_b = Vec3::Zero();
  Vec3 step_a = Vec3::Zero(), step_b = Vec3::Zero();
  Vec3 last_step_a = Vec3::Zero(), last_step_b = Vec3::Zero();
};

// What became of witnesses (Baraff 1990, Table 1), of pairs whose contacts are searched for. A hit: the last tick's
// still decides, updated to the new poses; a miss: a new one was searched for, at a first meeting too. Pairs in closed
// form (of spheres, of half-spaces, of capsules with their like) search for nothing: a first meeting and all others are
// counted apart from those.
struct WitnessCounts {
  std::uint32_t hits = 0, misses = 0;
  std::uint32_t closed_hits = 0, closed_misses = 0;
  std::uint32_t fallbacks = 0;  // misses among which Newton's method failed and ascent over directions did not
  std::uint32_t unknown = 0;    // not solved: nothing is claimed about the pair in this call

  void add(bool hit) noexcept { ++(hit ? hits : misses); }
  void add_closed(bool hit) noexcept { ++(hit ? closed_hits : closed_misses); }
  [[nodiscard]] bool searched() const noexcept { return hits + misses > 0; }
  WitnessCounts& operator+=(const WitnessCounts& o) noexcept {
    hits += o.hits, misses += o.misses, closed_hits += o.closed_hits, closed_misses += o.closed_misses,
        fallbacks += o.fallbacks, unknown += o.unknown;
    return *this;
  }
};

struct WitnessTotals {  // over many steps
  std::uint64_t hits = 0, misses = 0, closed_hits = 0, closed_misses = 0, fallbacks = 0, unknown = 0;

  WitnessTotals& operator+=(const WitnessCounts& o) noexcept {
    hits += o.hits, misses += o.misses, closed_hits += o.closed_hits, closed_misses += o.closed_misses,
        fallbacks += o.fallbacks, unknown += o.unknown;
    return *this;
  }
};

// Points of one pair, written into caller's storage.
struct PairMotion;  // extremal_points.h

struct ContactBuffer {
  ContactPoint* points;  // capacity entries
  std::uint32_t capacity;
  std::uint32_t count = 0;
  Vec3 nhat_BA_W = Vec3::Zero();
  bool all_on_bottom =
      false;  // the function proves that every point is on the bottom of the overlap (III-A can be skipped)
  bool truncated = false;     // more points than capacity: the deepest were kept
  WitnessCounts witnesses{};  // added to by pair functions, not cleared by collide()
  // Smooth shapes: the normal is asked for as it will be a little later. null: as it is. Depths and points are of now.
  const PairMotion* motion = nullptr;
  double gap_curve = 0;  // with it: second rate of the gap that velocities alone make [m/s^2]
  // Models that look ahead: what both bodies may travel in the step [m]; smooth shapes then give corners that a turn by
  // as much brings down, too (points_ahead.h). 0: they do not.
  double travel = 0;
  std::uint32_t kept = 16;  // with it: points of the pair that the caller keeps; corners take no other point's room

  void add(const Vec3& p_WC, double depth) noexcept {
    TACTUS_DCHECK(points != nullptr && count <= capacity);
    if (count < capacity) {
      points[count++] = {p_WC, depth};
    } else {
      add_full(p_WC, depth);
    }
  }
  void add_full(const Vec3& p_WC, double depth) noexcept;  // replaces the shallowest if that is shallower
};

// Finds the contacts of a at X_WA against b at X_WB. count = 0 when they do not overlap (touching counts as depth 0: no
// point).
using CollideFn = void (*)(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                           ContactBuffer& out) noexcept;

// Contacts of any pair; looks up the table. kinds in either order; half_space against half_space finds nothing. Nor
// does a mesh: it may touch in several places and needs room to work in, see collide_mesh.h.
void collide(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
             ContactBuffer& out) noexcept;

// The same across a gap: pairs up to `margin` apart along the axis that the witness remembers (their contact normal, if
// they touched last tick) still get their points, with depth = -gap. Both are brought nearer by half the margin along
// that axis, which changes the overlap along any normal by an amount known exactly.
void collide(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double margin, Witness& witness,
             ContactBuffer& out) noexcept;

// The table, for tests and for documentation: function name of [a][b], with a.kind <= b.kind.
const char* collide_function_name(ShapeKind a, ShapeKind b) noexcept;

}  // namespace tactus
