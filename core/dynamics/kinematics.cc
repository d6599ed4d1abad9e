#include "core/dynamics/kinematics.h"

#include <algorithm>
#include <limits>

namespace tactus {

void resize(const Model& model, Kinematics& out) {
  out.bodies.resize(model.bodies.size());
  out.X_WS.resize(model.shapes.size());
  out.boxes.resize(model.shapes.size());
  out.robots.clear();
  for (std::uint32_t i = 0; i < model.robots.size(); ++i) out.robots.push_back(std::make_unique<Tree>(model, i));
  if (!model.robots.empty()) out.link_impulses = std::make_unique<SpatialForce[]>(model.bodies.size());
  out.placed_at = std::make_unique<double[]>(model.joint_q0.size());
  std::fill_n(out.placed_at.get(), model.joint_q0.size(), std::numeric_limits<double>::quiet_NaN());
}

bool robot_frozen(const Model& model, const State& state, const Robot& robot) noexcept {
  return robot.joint_count > 0 && state.frozen[model.joints[robot.first_joint].child] != 0;
}

void update_links(const Model& model, const Kinematics& kinematics, State& state) noexcept {
  for (const auto& tree : kinematics.robots) {
    if (robot_frozen(model, state, tree->robot())) continue;
    tree->positions(state);
    tree->velocities(state);
    tree->write_links(state);
    const std::uint32_t first = tree->robot().first_q;
    std::copy_n(state.joint_q.begin() + first, tree->robot().q_count, kinematics.placed_at.get() + first);
  }
}

namespace {

// Positions that the end of the last tick found hold at the start of this one, unless a carrier moved since.
bool is_placed(const Model& model, const State& state, const Robot& robot, const Kinematics& kinematics) noexcept {
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const BodyIndex parent = model.joints[robot.first_joint + i].parent;
    if (parent != kNone && model.bodies[parent].mode == BodyMode::kinematic) return false;
  }
  return std::equal(state.joint_q.begin() + robot.first_q, state.joint_q.begin() + robot.first_q + robot.q_count,
                    kinematics.placed_at.get() + robot.first_q);
}

void find_robots(const Model& model, const State& state, Kinematics& out) noexcept {
  for (const auto& tree : out.robots) {
    const Robot& robot = tree->robot();
    const bool frozen = robot_frozen(model, state, robot);
    if (!frozen && !is_placed(model, state, robot, out)) tree->positions(state);
    for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
      BodyKinematics& k = out.bodies[model.joints[robot.first_joint + i].child];
      k.robot = frozen ? nullptr : tree.get();
      k.link = i;
    }
  }
}

}  // namespace

void compute_kinematics(const Model& model, const State& state, Kinematics& out) noexcept {
  if (out.link_impulses) std::fill_n(out.link_impulses.get(), state.body_count(), SpatialForce{});
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Body& body = model.bodies[b];
    BodyKinematics& k = out.bodies[b];
    k.X_WBcm.R = state.q_WB(b).toRotationMatrix();
    k.X_WBcm.p = state.p_WBcm(b);
    k.robot = nullptr;
    if (body.mode != BodyMode::free || state.frozen[b]) {
      k.inv_mass = 0;
      k.inv_I_W.setZero();
    } else {
      k.inv_mass = body.inv_mass;
      const Mat3 half = k.X_WBcm.R * body.inv_I_BBcm;
      k.inv_I_W.noalias() = half * k.X_WBcm.R.transpose();
    }
  }
  find_robots(model, state, out);
  for (std::size_t s = 0; s < model.shapes.size(); ++s) {
    const ShapeInstance& instance = model.shapes[s];
    const Frame& X_WBcm = out.bodies[instance.body].X_WBcm;
    Frame& X_WS = out.X_WS[s];
    if (instance.shape_at_centre) {
      X_WS = X_WBcm;
    } else {
      const Quat& q_BS = instance.X_BcmS.q;
      X_WS.R = q_BS.w() == 1 ? X_WBcm.R : Mat3(X_WBcm.R * q_BS.toRotationMatrix());
      X_WS.p = X_WBcm * instance.X_BcmS.p;
    }
    out.boxes[s] = bounds(instance.shape, X_WS);
  }
}

}  // namespace tactus
