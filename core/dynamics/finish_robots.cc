// Robots of a Model that has just been built: where their coordinates lie, which dofs move what.
#include "core/check.h"
#include "core/dynamics/model.h"

namespace tactus {

namespace {

// A mimic of a mimic becomes one of the joint that both follow: q = m1 (m2 q2 + o2) + o1.
void resolve_mimic(std::vector<Joint>& joints, const Robot& robot, Joint& joint) {
  for (std::uint32_t step = 0; joint.mimic != kNone; ++step) {
    TACTUS_ASSERT(step < robot.joint_count);  // no circle
    TACTUS_ASSERT(joint.mimic >= robot.first_joint && joint.mimic - robot.first_joint < robot.joint_count);
    const Joint& master = joints[joint.mimic];
    TACTUS_ASSERT(velocity_count(joint.kind) == 1 && velocity_count(master.kind) == 1);
    if (master.mimic == kNone) return;
    joint.offset += joint.multiplier * master.offset;
    joint.multiplier *= master.multiplier;
    joint.mimic = master.mimic;
  }
}

void check_order(Model& model, JointIndex j, const Robot& robot) {
  const Joint& joint = model.joints[j];
  TACTUS_ASSERT(joint.child < model.bodies.size() && joint.parent != joint.child);
  Body& child = model.bodies[joint.child];
  TACTUS_ASSERT(child.mode == BodyMode::link && child.joint == kNone);
  child.joint = j;
  if (joint.parent == kNone) return;
  TACTUS_ASSERT(joint.parent < model.bodies.size());
  const Body& parent = model.bodies[joint.parent];
  if (parent.mode == BodyMode::link) {
    TACTUS_ASSERT(parent.joint != kNone && parent.joint >= robot.first_joint && parent.joint < j);
  } else {
    TACTUS_ASSERT(parent.mode != BodyMode::free);
  }
}

void set_coordinates(Model& model, std::uint32_t index, std::uint32_t& q, std::uint32_t& v) {
  Robot& robot = model.robots[index];
  TACTUS_ASSERT(robot.first_joint + robot.joint_count <= model.joints.size());
  robot.first_q = q;
  robot.first_v = v;
  const JointIndex end = robot.first_joint + robot.joint_count;
  for (JointIndex j = robot.first_joint; j < end; ++j) {
    Joint& joint = model.joints[j];
    joint.robot = index;
    check_order(model, j, robot);
    resolve_mimic(model.joints, robot, joint);
    if (joint.mimic != kNone) continue;
    joint.first_q = q;
    joint.first_v = v;
    q += position_count(joint.kind);
    v += velocity_count(joint.kind);
  }
  for (JointIndex j = robot.first_joint; j < end; ++j) {
    Joint& joint = model.joints[j];
    if (joint.mimic == kNone) continue;
    joint.first_q = model.joints[joint.mimic].first_q;
    joint.first_v = model.joints[joint.mimic].first_v;
  }
  robot.q_count = q - robot.first_q;
  robot.v_count = v - robot.first_v;
}

// Local dofs that move the child of each joint, before they are closed over dof_parent: itself first, then its parents.
std::vector<std::vector<DofIndex>> moving_dofs(const Model& model, const Robot& robot) {
  std::vector<std::vector<DofIndex>> out(robot.joint_count);
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = model.joints[robot.first_joint + i];
    for (std::uint32_t k = velocity_count(joint.kind); k-- > 0;) out[i].push_back(joint.first_v - robot.first_v + k);
    if (joint.parent == kNone || model.bodies[joint.parent].mode != BodyMode::link) continue;
    const std::vector<DofIndex>& above = out[model.bodies[joint.parent].joint - robot.first_joint];
    out[i].insert(out[i].end(), above.begin(), above.end());
  }
  return out;
}

// Symbolic elimination of M from the last dof to the first: what is left of row k once all later dofs are gone joins
// the row of its last column, the parent of k. At load.
void find_dof_parents(const std::vector<std::vector<DofIndex>>& moving, Robot& robot) {
  const std::size_t n = robot.v_count;
  std::vector<std::vector<bool>> row(n, std::vector<bool>(n, false));
  for (const std::vector<DofIndex>& dofs : moving) {
    for (const DofIndex a : dofs) {
      for (const DofIndex b : dofs) {
        if (b < a) row[a][b] = true;
      }
    }
  }
  robot.dof_parent.assign(n, kNone);
  for (std::size_t k = n; k-- > 0;) {
    std::size_t parent = k;
    while (parent > 0 && !row[k][parent - 1]) --parent;
    if (parent == 0) continue;
    --parent;
    robot.dof_parent[k] = static_cast<DofIndex>(parent);
    for (std::size_t j = 0; j < parent; ++j) {
      if (row[k][j]) row[parent][j] = true;
    }
  }
}

void find_reach(const std::vector<std::vector<DofIndex>>& moving, Robot& robot) {
  robot.reach.assign(robot.joint_count, {});
  for (std::size_t i = 0; i < moving.size(); ++i) {
    std::vector<bool> in(robot.v_count, false);
    for (const DofIndex d : moving[i]) in[d] = true;
    for (DofIndex d = robot.v_count; d-- > 0;) {
      if (!in[d]) continue;
      robot.reach[i].push_back(d);
      if (robot.dof_parent[d] != kNone) in[robot.dof_parent[d]] = true;
    }
  }
}

void default_coordinates(Model& model, std::uint32_t q_count, std::uint32_t v_count) {
  if (model.joint_q0.empty()) {
    model.joint_q0.assign(q_count, 0.0);
    for (const Joint& joint : model.joints) {
      if (joint.kind == JointKind::spherical) model.joint_q0[joint.first_q] = 1;
      if (joint.kind == JointKind::floating) model.joint_q0[joint.first_q + 3] = 1;
    }
  }
  if (model.joint_v0.empty()) model.joint_v0.assign(v_count, 0.0);
  TACTUS_ASSERT(model.joint_q0.size() == q_count && model.joint_v0.size() == v_count);
}

}  // namespace

void finish_robots(Model& model) {
  for (Body& body : model.bodies) body.joint = kNone;
  std::uint32_t q = 0, v = 0;
  for (std::uint32_t r = 0; r < model.robots.size(); ++r) {
    set_coordinates(model, r, q, v);
    Robot& robot = model.robots[r];
    const std::vector<std::vector<DofIndex>> moving = moving_dofs(model, robot);
    find_dof_parents(moving, robot);
    find_reach(moving, robot);
  }
  for (const Body& body : model.bodies) TACTUS_ASSERT(body.mode != BodyMode::link || body.joint != kNone);
  default_coordinates(model, q, v);
}

}  // namespace tactus
