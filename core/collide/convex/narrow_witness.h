// Witnesses of two convex polyhedra (boxes, convex shapes): the features of the plane that separated them, or along
// which they overlapped least, looked at again a tick later (Baraff 1990, section 7).
#pragma once

#include "core/collide/convex/narrow_core.h"

namespace tactus {

// What Witness::feature_a and feature_b hold for such a pair. A separating plane embeds a face of one, or an edge of
// each: it moves with the bodies and needs no search. With a face goes the other's vertex that was nearest to it, as
// -2 - vertex (-1: not known yet): from there a climb over neighbours finds the nearest one now, and the plane is
// proved to separate without looking at the rest (Fig. 9).
inline constexpr std::int32_t nearest_vertex_feature(std::int32_t vertex) noexcept {
  return -2 - vertex;
}
// The vertex that nearest_vertex_feature() made a feature of, or the code of another pair function that keeps codes so.
// Negative: the feature is none of these, whatever number is stored.
inline constexpr std::int32_t code_of_feature(std::int32_t feature) noexcept {
  return feature < -1 ? -2 - feature : -1;
}

// Does the plane of the last features still separate them, with at least as much as a touch? True: axis_A is its normal
// now, and the features name the nearest vertex. Without features: the axis as it was, fixed in A. `visited` counts the
// vertices whose height was found: a few, whatever the number of vertices, where bodies have moved little; a box is
// O(1) and counts its one nearest corner. Any stored numbers are safe: what they do not prove is false.
bool apart_by_witness(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                      std::uint32_t& visited) noexcept;

// The axis of least overlap of two cores in a's own frame, where the last one's features are proved to give it still
// (narrow_proof.h): what least_overlap_polyhedra() would return, and a witness that they overlap: no plane separates
// them.
bool same_axis_polyhedra(const Core& a, const Core& b, const Axis& last, Axis& out) noexcept;

}  // namespace tactus
