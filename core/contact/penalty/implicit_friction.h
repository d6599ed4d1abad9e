// Friction and rolling resistance of one manifold of the implicit law (implicit_contact.h).
#pragma once

#include "core/contact/penalty/implicit_contact.h"

namespace tactus {

// Fixes where friction acts in this tick: at the pressure centre of the normal impulses P. O(points).
void find_patch(ImplicitContact& c, const Vec3& P) noexcept;
// The same for a contact at one point.
void find_point_patch(ImplicitContact& c) noexcept;

// Impulse (F1, F2, M0) of the tangential and torsional springs, together inside one limit surface
// |F|^2 + (M / R)^2 <= (mu N)^2: one budget for both. q: the velocities (V1, V2, W0) without friction.
Vec3 friction_impulse(ImplicitContact& c, const Vec3& q, double N) noexcept;
// Of a contact at one point, (F1, F2) from (V1, V2): nothing resists spin.
Eigen::Vector2d point_friction(ImplicitContact& c, const Eigen::Vector2d& q, double N) noexcept;

// A spring-damper against rolling, of the tangential gains at the arm of the rolling resistance, up to that arm times
// the normal impulse. w1, w2: W1 and W2 without it.
void rolling_impulse(ImplicitContact& c, double w1, double w2, double N) noexcept;

}  // namespace tactus
