// Extremal points of two surfaces: where their distance is least when they are apart, and their overlap greatest when
// they are not (Baraff 1990, sections 4 to 6), and how they move.
//
// Misprinted there: V-dot of (32) is dV/dt at a fixed point, a + alpha x (p - c) - w x v, not the point's acceleration;
// (43) and (57) lack the division by J; (56) to (58) must be six equations in six unknowns, with both multipliers, and
// their root with lambda_2 = 0 is spurious. Here J xdot = -E_t is solved once, and such roots are refused.
//
// With x_a, x_b coordinates on the two features (surface: 2, edge or rim: 1, vertex: 0) and n a unit vector, extremal
// points are the critical points of D(x_a, x_b, n, t) = n . (p_a(x_a, t) - p_b(x_b, t)), which says what eq. 9 and 56
// say: p_a - p_b along n, n normal to both. d is D there; its rates follow from the one linear system of D's Hessian.
#pragma once

#include <cstdint>

#include "core/math/spatial.h"
#include "core/shape/shape.h"

namespace tactus {

// Motion of a rigid body, all in W: of its point that is at c_W now. Any point of the body may be chosen.
struct RigidMotion {
  Vec3 c_W = Vec3::Zero();
  Vec3 v_W = Vec3::Zero(), w_W = Vec3::Zero();      // [m/s], [rad/s]
  Vec3 a_W = Vec3::Zero(), alpha_W = Vec3::Zero();  // [m/s^2], [rad/s^2]
};

// Of a pair: how its bodies move, and how long after now its contacts are meant to be.
struct PairMotion {
  RigidMotion A, B;
  double lead = 0;  // [s]
};

enum class ExtremalStatus : std::uint8_t {
  solved,           // to rounding
  fallen_back,      // Newton's method failed, ascent over support directions solved it (to about 1e-9 of the size in d)
  ill_conditioned,  // solved, but the points' rates are not defined: the surfaces fit each other (line or area contact)
  unknown,          // not solved: neither apart nor overlapping can be claimed
};

// Where one side's extremal point lies: between calls the start of the next solution. In the shape's own frame.
struct ExtremalSide {
  Vec3 p_S = Vec3::Zero();  // [m]; of a parametric surface: (u, v, 0)
  // What it moved by in the last call and in the one before; zero: not known, as after a change of feature or place.
  Vec3 step_S = Vec3::Zero(), last_step_S = Vec3::Zero();
  Vec3 ahead_S = Vec3::Zero();  // how far from p_S to begin: look_ahead() tells; cleared by the call
  std::int32_t feature = -1;  // -1: nothing is known. Polyhedron: vertex i, then vertices + edge, then vertices + edges
                              // + face; cylinder: caps +z -z, rims +z -z, side; parametric surface: the chart; else 0
  Vec3 first_step_S = Vec3::Zero();  // before last_step_S: for who follows with rates, witnesses do not keep it
};

// One side's feature near its extremal point, in the basis (t1, t2) of the tangent plane.
struct ExtremalForm {
  std::int32_t dim = 2;              // 2: surface or face, 1: edge or rim, 0: vertex
  double h11 = 0, h12 = 0, h22 = 0;  // dim 2: second derivatives of the height along nhat [1/m]; dim 1: h11 alone
  double tx = 0, ty = 0;             // dim 1: its direction in the basis, unit
  // Parametric surfaces: (u, v) by (t1, t2); all 0: not known.
  double u1 = 0, u2 = 0, v1 = 0, v2 = 0;
};

struct ExtremalPair {
  Vec3 pa_W = Vec3::Zero(), pb_W = Vec3::Zero();  // on A, on B
  Vec3 nhat_BA_W = Vec3::Zero();                  // unit, outward normal of B at pb
  double d = 0;                                   // nhat . (pa - pb): > 0 apart, < 0 overlap [m]
  ExtremalStatus status = ExtremalStatus::unknown;
  bool warm = false;  // found from what the sides remembered
  std::uint32_t iterations = 0;
  // Smallest singular value of the reduced system (f'' - g'' - h f'' g'' times a length for two surfaces): the points'
  // rates lose about 1 / this in accuracy. Appendix E's condition is neither necessary nor sufficient: a sphere in a
  // bowl of its radius is singular although both curve, crossed cylinders are regular although both determinants are 0.
  double conditioning = 0;
  // What the rates need.
  ExtremalForm a, b;
  Vec3 t1_W = Vec3::Zero(), t2_W = Vec3::Zero();  // with nhat_BA a right-handed basis
  double radius_a = 0, radius_b = 0;              // of spheres and capsules: the form is that of the core point

  [[nodiscard]] bool known() const noexcept { return status != ExtremalStatus::unknown; }
  [[nodiscard]] bool has_rates() const noexcept {
    return status == ExtremalStatus::solved || status == ExtremalStatus::fallen_back;
  }
};

// Conditioning below this: ill_conditioned.
inline constexpr double kLeastConditioning = 1e-7;

// Extremal points of a smooth shape and a shape of any kind but mesh (either order; not two without a smooth one).
// The sides are where to look first (feature -1: anywhere); on return they hold the points found. A pair of convex
// shapes: the global least distance, or overlap where that is small against both shapes (any start) or found from
// nothing. A surface that is not convex, searched for from its seeds but where a plane or a ball proves the remembered
// place: apart, the least distance; overlapping, the deepest of the places whose way out ends at a touch and is the
// shortest nearby, of those deeper than curvatures the one with the shortest way out; if there is none, fallen_back:
// what separates the hulls. In a bowl: how near the body's points come to the wall, or how far they reach beyond it.
// Two bowls, or a bowl and a half-space, are unknown. Cost: warm about 1 us; from nothing 5 to 200, deep in a surface
// that is not convex up to 5 ms (splines: 30 ms).
ExtremalPair extremal_points(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, ExtremalSide& side_a,
                             ExtremalSide& side_b) noexcept;
// The place near the remembered ones, of a pair that may have several (extremal_places.h): a local minimum of the
// distance, or of the way out; not proved to be the pair's nearest. In bowls A's corners and rims are followed, each by
// itself. Unknown: there is none there any more; the sides are as before.
// one_of_several: where the two are as near along a curve (a ball in a ring's hole), the place stays where it is on it:
// the curve's lowest place runs round it at the least motion, and several would become one.
ExtremalPair extremal_place(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, bool one_of_several,
                            ExtremalSide& side_a, ExtremalSide& side_b) noexcept;
// Calls at steps of one length: where the last points say that the next is, a parabola through three.
void look_ahead(ExtremalSide& side) noexcept;

// Of a body and a bowl: does it lie in the solid as a whole, beyond the wall? Then they count as not met
// (config/README).
bool is_buried(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const ExtremalPair& pair) noexcept;

struct ExtremalRates {
  Vec3 pa_dot_W = Vec3::Zero(), pb_dot_W = Vec3::Zero();  // of the extremal points, not of the bodies' material [m/s]
  Vec3 nhat_dot_W = Vec3::Zero();                         // [1/s]
  double d_dot = 0;                                       // [m/s]
};

// d'' as a linear function of both bodies' accelerations: the motions' points c, in W [m/s^2].
struct SecondRate {
  Vec3 on_a = Vec3::Zero(), on_alpha = Vec3::Zero();      // factors of a_W, alpha_W of A
  Vec3 on_a_B = Vec3::Zero(), on_alpha_B = Vec3::Zero();  // of B
  double constant = 0;                                    // what velocities alone make
  [[nodiscard]] double at(const RigidMotion& A, const RigidMotion& B) const noexcept {
    return on_a.dot(A.a_W) + on_alpha.dot(A.alpha_W) + on_a_B.dot(B.a_W) + on_alpha_B.dot(B.alpha_W) + constant;
  }
};

// One linear solve, J xdot = -E_t. Needs pair.has_rates(); accelerations are not looked at.
ExtremalRates extremal_rates(const ExtremalPair& pair, const RigidMotion& A, const RigidMotion& B) noexcept;
// (49) + d |n'|^2, in a form without f and g: d'' = n . (Aa - Ab) + n' . (Va - Vb).
SecondRate extremal_second_rate(const ExtremalPair& pair, const ExtremalRates& rates, const RigidMotion& A,
                                const RigidMotion& B) noexcept;
// The same along the points' rates (eq. 17, 60) for a call dt [s] later; where up to three last steps, of that length
// too, are known, along the polynomial that goes on from them.
void look_ahead(const ExtremalPair& pair, const ExtremalRates& rates, const RigidMotion& A, const RigidMotion& B,
                const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double dt, ExtremalSide& side_a,
                ExtremalSide& side_b) noexcept;

}  // namespace tactus
