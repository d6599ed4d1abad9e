// What the start-of-tick poses give: rotation matrices and world inverse inertias of bodies, frames and bounds of
// shapes.
#pragma once

#include <vector>

#include "core/dynamics/state.h"

namespace tactus {

struct BodyKinematics {
  Frame X_WBcm;     // mass centre, axes of B
  Mat3 inv_I_W;     // inverse inertia about the mass centre, in W; zero unless free
  double inv_mass;  // zero unless free
};

struct Kinematics {
  std::vector<BodyKinematics> bodies;
  std::vector<Frame> X_WS;  // per shape
  std::vector<Aabb> boxes;  // per shape
};

// Sizes everything. At load.
void resize(const Model& model, Kinematics& out);
// O(bodies + shapes), closed forms.
void compute_kinematics(const Model& model, const State& state, Kinematics& out) noexcept;

}  // namespace tactus
