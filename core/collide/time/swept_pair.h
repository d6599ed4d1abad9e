// Two shapes over a step: do they touch, and when? By conservative advancement (Mirtich 1996; Baraff 1993, 3.1): bounds
// on how fast a gap can close say how far in the step they are safe, so nothing is passed through, however thin or
// fast.
#pragma once

#include "core/shape/shape.h"

namespace tactus {

// A shape's motion over a step, t from 0 to 1: its body's mass centre moves evenly along travel_W, the body turns
// evenly about the axis of turn_W, by its length [rad].
struct SweptShape {
  const Shape& shape;
  Frame X_WS;         // at t = 0
  Vec3 centre_W;      // mass centre at t = 0
  Vec3 travel_W;      // [m]
  Vec3 turn_W;        // [rad]
  double radius = 0;  // no point of the shape is farther from the mass centre [m]; of a half-space: 0, it must not turn
  double stopped = 1;  // the part of the step after which it stands

  [[nodiscard]] Frame at(double t) const noexcept;
};

struct SweptTouch {
  bool found = false;
  double t = 1;               // part of the step
  std::uint32_t looks = 0;    // poses looked at
  std::uint32_t unknown = 0;  // of them: the search for extremal points found nothing, or a mesh took too much work
};

// Does the narrow phase know such a pair, and first_touch() or MeshSweep with it? Not two half-spaces, a bowl's solid
// and a half-space, a mesh or another bowl's.
bool is_swept_pair(const Shape& a, const Shape& b) noexcept;

// A pair that is apart at t = 0 is stopped when it overlaps by `slack` (so that the next step's narrow phase sees a
// contact); one that touches, when it overlaps by `deepest`, or by 20 slack more than at t = 0, if that is more,
// along the axis of contact: beyond, it would come out on the other side. Not later than that; earlier by at most slack
// where shapes turn, or where a surface is not convex. After 100 looks it stops where it is: safe, and the next step
// goes on from there; so it does where the search for extremal points fails, but at t = 0. Meshes: against half-spaces
// and smooth shapes only, else see swept_mesh.h. A half-space stands second. Touches at `until` and later are not
// looked for.
SweptTouch first_touch(const SweptShape& a, const SweptShape& b, double slack, double deepest,
                       double until = 1) noexcept;

}  // namespace tactus
