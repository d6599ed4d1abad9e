// Exact mass, mass centre and inertia of solids of uniform density, and their sums (compound bodies).
#pragma once

#include <optional>

#include "core/shape/shape.h"

namespace tactus {

struct MassProperties {
  double mass = 0;             // [kg]
  Vec3 p_SScm = Vec3::Zero();  // mass centre from the origin of S, in S [m]
  Mat3 I_SScm = Mat3::Zero();  // about the mass centre, in the axes of S [kg m^2]
};

// Volume [m^3] of a bounded shape; half_space and smooth cavities: infinity.
double volume(const Shape& shape) noexcept;

// Closed forms; for a convex polyhedron and a mesh the exact integral over tetrahedra; smooth surfaces say themselves
// how exact they are (smooth_shapes.h). Not for half_space and cavities.
MassProperties mass_properties(const Shape& shape, double density) noexcept;

// The same body seen from another frame: S placed at X_BS in B.
MassProperties transformed(const MassProperties& m, const Pose& X_BS) noexcept;

// Both together (both given in one frame); parallel-axis theorem.
MassProperties combined(const MassProperties& a, const MassProperties& b) noexcept;

// Why an inertia cannot belong to a real body: not symmetric, not positive, or a principal moment larger than the sum
// of the other two (relative tolerance 1e-9). nullptr when physical.
const char* inertia_defect(const Mat3& I) noexcept;

}  // namespace tactus
