// Contacts of a pair before it touches: for models that prevent overlap within a step instead of answering it.
#pragma once

#include "core/collide/narrow_phase.h"

namespace tactus {

// Like collide(), but points up to `reach` apart are found too, with depth = -gap, and with them all points of the two
// features that face each other. Both shapes are brought together along the direction of their least distance (closed
// form for half-spaces and spheres, GJK elsewhere; the last normal where they touched) and met there; what the shift
// adds is taken off again. Features farther than a quarter of the smaller shape behind the nearest ones are not looked
// for, so that the normal stays that of the approach. Not for meshes: collide_mesh() takes the reach as its margin.
void collide_ahead(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach, Witness& witness,
                   ContactBuffer& out) noexcept;

}  // namespace tactus
