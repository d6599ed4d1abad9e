// What the start-of-tick poses give: rotation matrices and world inverse inertias of bodies, frames and bounds of
// shapes.
#pragma once

#include <memory>
#include <vector>

#include "core/dynamics/state.h"
#include "core/dynamics/tree.h"

namespace tactus {

struct BodyKinematics {
  Frame X_WBcm;            // mass centre, axes of B
  Mat3 inv_I_W;            // inverse inertia about the mass centre, in W; zero unless free
  double inv_mass;         // zero unless free
  Tree* robot = nullptr;   // of a link that moves: its robot's dynamics, with positions known
  std::uint32_t link = 0;  // there
};
inline bool moves(const BodyKinematics& k) noexcept {
  return k.inv_mass > 0 || k.robot != nullptr;
}

struct Kinematics {
  std::vector<BodyKinematics> bodies;
  std::vector<Frame> X_WS;                    // per shape
  std::vector<Aabb> boxes;                    // per shape
  std::vector<std::unique_ptr<Tree>> robots;  // scratch, whoever holds the rest as constant
  // Per body, at the mass centre, in W: impulses of impacts on links since compute_kinematics(); null without robots.
  // Whoever applies impulses adds them.
  std::unique_ptr<SpatialForce[]> link_impulses;
  std::unique_ptr<double[]> placed_at;  // joint coordinates that robots know the positions of, like robots
};

// Sizes everything. At load.
void resize(const Model& model, Kinematics& out);
// O(bodies + shapes), closed forms. Robots: positions.
void compute_kinematics(const Model& model, const State& state, Kinematics& out) noexcept;
// A robot stands still once one of its links became non-finite.
bool robot_frozen(const Model& model, const State& state, const Robot& robot) noexcept;
// After joint_q or joint_v changed: positions and velocities of all robots, written to their links in State.
void update_links(const Model& model, const Kinematics& kinematics, State& state) noexcept;

}  // namespace tactus
