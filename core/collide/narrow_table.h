// The pair functions behind collide(): one per pair of kinds with a.kind <= b.kind, grouped by file. All have
// CollideFn's contract.
#pragma once

#include "core/collide/narrow_phase.h"

namespace tactus {

#define TACTUS_COLLIDE_FN(name)                                                                     \
  void name(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness, \
            ContactBuffer& out) noexcept

// collide_sphere.cc
TACTUS_COLLIDE_FN(collide_sphere_sphere);
TACTUS_COLLIDE_FN(collide_sphere_box);
TACTUS_COLLIDE_FN(collide_sphere_capsule);
TACTUS_COLLIDE_FN(collide_sphere_cylinder);
TACTUS_COLLIDE_FN(collide_sphere_half_space);
TACTUS_COLLIDE_FN(collide_sphere_convex);
// collide_half_space.cc
TACTUS_COLLIDE_FN(collide_box_half_space);
TACTUS_COLLIDE_FN(collide_capsule_half_space);
TACTUS_COLLIDE_FN(collide_cylinder_half_space);
TACTUS_COLLIDE_FN(collide_half_space_convex);
// collide_box_box.cc
TACTUS_COLLIDE_FN(collide_box_box);
// collide_capsule.cc
TACTUS_COLLIDE_FN(collide_capsule_capsule);
TACTUS_COLLIDE_FN(collide_box_capsule);
TACTUS_COLLIDE_FN(collide_capsule_cylinder);
TACTUS_COLLIDE_FN(collide_capsule_convex);
// collide_generic.cc
TACTUS_COLLIDE_FN(collide_box_convex);
TACTUS_COLLIDE_FN(collide_convex_convex);
TACTUS_COLLIDE_FN(collide_box_cylinder);
TACTUS_COLLIDE_FN(collide_cylinder_cylinder);
TACTUS_COLLIDE_FN(collide_cylinder_convex);
// collide_smooth.cc
TACTUS_COLLIDE_FN(collide_smooth);

#undef TACTUS_COLLIDE_FN

// A smooth shape and any other but a mesh, in either order: points up to `reach` apart are found too, with
// depth = -gap.
void collide_smooth_within(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                           Witness& witness, ContactBuffer& out) noexcept;
inline bool is_smooth_pair(const Shape& a, const Shape& b) noexcept {
  return (a.kind == ShapeKind::smooth || b.kind == ShapeKind::smooth) && a.kind != ShapeKind::mesh &&
         b.kind != ShapeKind::mesh;
}

}  // namespace tactus
