// The normal impulses of one manifold of the implicit law (implicit_contact.h).
#pragma once

#include "core/contact/penalty/implicit_contact.h"

namespace tactus {

// Impulses (N, M1, M2) that the springs and dampers of all points give at the end of the substep; each point's own is
// kept in it. n: the velocities (V0, W1, W2) without this manifold's normal impulse; guess: with that of the last
// visit, where the search begins. O(points).
Vec3 normal_impulse(ImplicitContact& c, const Vec3& n, const Vec3& guess) noexcept;

// The same for a contact at one point: N from the velocity V0.
double single_impulse(ImplicitContact& c, double V0) noexcept;

}  // namespace tactus
