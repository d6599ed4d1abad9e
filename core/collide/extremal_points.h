// Extremal points of two surfaces: where their distance is least when they are apart, and their overlap greatest when
// they are not (Baraff 1990, sections 4 to 6), and how they move. papers' notes list what is misprinted there.
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

enum class ExtremalStatus : std::uint8_t {
  solved,           // to rounding
  fallen_back,      // Newton's method failed, the documented other path solved it
  ill_conditioned,  // solved, but the points' rates are not defined: the surfaces fit each other (line or area contact)
  unknown,          // not solved: neither apart nor overlapping can be claimed
};

// Where one side's extremal point lies: between steps the start of the next solution. In the shape's own frame.
struct ExtremalSide {
  Vec3 p_S = Vec3::Zero();      // [m]
  Vec3 p_dot_S = Vec3::Zero();  // its rate within S (eq. 17) [m/s]
  std::int32_t feature = -1;  // of a polyhedron: face, edge or vertex; of a parametric surface: the chart; -1: unknown
};

struct ExtremalPair {
  Vec3 pa_W, pb_W;  // on A, on B
  Vec3 nhat_BA_W;   // unit, outward normal of B at pb
  double d = 0;     // nhat . (pa - pb): > 0 apart, < 0 overlap [m]
  ExtremalStatus status = ExtremalStatus::unknown;
  std::uint32_t iterations = 0;
};

}  // namespace tactus
