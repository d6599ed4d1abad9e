#include "core/dynamics/tree.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/angle.h"

namespace tactus {

namespace {

Vec3 vec3(const double* x) noexcept {
  return Vec3(x[0], x[1], x[2]);
}
Quat quaternion(const double* x) noexcept {
  return Quat(x[0], x[1], x[2], x[3]);
}
// q times the turn about axis: written out, because Eigen's packed product waits for what was just stored in parts.
Quat turned(const Quat& q, const Vec3& axis, double angle) noexcept {
  double s, c;
  sine_cosine(0.5 * angle, s, c);
  const Vec3 v = q.vec();
  const double a = s * axis.x(), b = s * axis.y(), d = s * axis.z(), w = q.w();
  return Quat(c * w - (a * v.x() + b * v.y() + d * v.z()), c * v.x() + w * a + (v.y() * d - v.z() * b),
              c * v.y() + w * b + (v.z() * a - v.x() * d), c * v.z() + w * d + (v.x() * b - v.y() * a));
}
void store(const Quat& q, double* x) noexcept {
  x[0] = q.w(), x[1] = q.x(), x[2] = q.y(), x[3] = q.z();
}

}  // namespace

Tree::Tree(const Model& model, std::uint32_t robot, TreeFactor kind) : model_(&model), robot_(robot) {
  TACTUS_ASSERT(robot < model.robots.size());
  const Robot& r = model.robots[robot];
  TACTUS_ASSERT(r.reach.size() == r.joint_count && r.dof_parent.size() == r.v_count);  // finish_robots() was here
  first_q_ = r.first_q, first_v_ = r.first_v, v_count_ = r.v_count;
  size_links();
  size_dofs();
  find_paths();
  choose_factor(kind);
  find_floating();
}

void Tree::size_links() {
  const Robot& r = robot();
  std::uint32_t column = 0;
  for (std::uint32_t i = 0; i < r.joint_count; ++i) {
    const Joint& joint = model_->joints[r.first_joint + i];
    const Body& body = model_->bodies[joint.child];
    const bool is_root = joint.parent == kNone || model_->bodies[joint.parent].mode != BodyMode::link;
    Constants c;
    c.kind = joint.kind;
    c.parent = is_root ? kNone : model_->bodies[joint.parent].joint - r.first_joint;
    c.root = is_root ? i : constants_[c.parent].root;
    c.body = joint.child;
    c.carrier = is_root ? joint.parent : kNone;
    c.q = joint.first_q - r.first_q;
    c.dof = joint.first_v - r.first_v;
    c.column = column;
    c.column_count = velocity_count(joint.kind);
    column += c.column_count;
    const bool is_mimic = joint.mimic != kNone;
    has_mimic_ = has_mimic_ || is_mimic;
    c.multiplier = is_mimic ? joint.multiplier : 1;
    c.offset = is_mimic ? joint.offset : 0;
    c.armature = joint.armature;
    c.axis_F = joint.axis_F.normalized();
    c.X_PF = {joint.X_PF.q.normalized(), joint.X_PF.p};
    c.turned = !(c.X_PF.q.w() == 1);
    c.p_BBcm = body.p_BBcm;
    c.mass = body.mass;
    c.gravity_mass = body.mass * body.gravity_scale;
    c.I_BBcm = body.I_BBcm;
    constants_.push_back(c);
  }
  links_.resize(r.joint_count);
  columns_.resize(column);
  composite_.resize(r.joint_count);
  articulated_.resize(r.joint_count);
  elimination_.resize(column);
  force_.resize(r.joint_count);
  acceleration_.resize(r.joint_count);
}

void Tree::size_dofs() {
  const Robot& r = robot();
  dof_reach_start_.push_back(0);
  for (DofIndex d = 0; d < v_count_; ++d) {
    const DofIndex parent = r.dof_parent[d];
    depth_.push_back(parent == kNone ? 0 : depth_[parent] + 1);
    for (DofIndex a = d; a != kNone; a = r.dof_parent[a]) dof_reach_.push_back(a);
    dof_reach_start_.push_back(static_cast<std::uint32_t>(dof_reach_.size()));
  }
  armature_.assign(v_count_, 0.0);
  for (const Constants& c : constants_) {
    for (std::uint32_t k = 0; k < c.column_count; ++k) {
      armature_[c.dof + k] += c.multiplier * c.multiplier * c.armature;
    }
  }
  joint_damping_.assign(v_count_, 0.0);
  joint_friction_.assign(v_count_, 0.0);
  for (std::uint32_t i = 0; i < r.joint_count; ++i) {
    const Joint& joint = model_->joints[r.first_joint + i];
    const Constants& c = constants_[i];
    for (std::uint32_t k = 0; k < c.column_count; ++k) {
      joint_damping_[c.dof + k] += c.multiplier * c.multiplier * joint.damping;
      joint_friction_[c.dof + k] += std::abs(c.multiplier) * joint.friction;
    }
    carried_ = carried_ || (c.carrier != kNone && model_->bodies[c.carrier].mode == BodyMode::kinematic);
  }
  velocity_.assign(v_count_, 0.0);
  inv_diagonal_.assign(v_count_, 0.0);
  M_.assign(dof_reach_.size(), 0.0);
  L_.assign(dof_reach_.size(), 0.0);
}

void Tree::find_paths() {
  const Robot& r = robot();
  path_start_.push_back(0);
  for (std::uint32_t i = 0; i < r.joint_count; ++i) {
    const std::vector<DofIndex>& rows = r.reach[i];
    for (std::uint32_t j = i; j != kNone; j = constants_[j].parent) {
      const Constants& c = constants_[j];
      for (std::uint32_t k = c.column_count; k-- > 0;) {
        const DofIndex d = c.dof + k;
        const auto row = static_cast<std::uint32_t>(std::find(rows.begin(), rows.end(), d) - rows.begin());
        path_.push_back({c.column + k, d, row});
      }
    }
    path_start_.push_back(static_cast<std::uint32_t>(path_.size()));
  }
}

// The joint frame F of a root or child: pose of the parent's body frame times X_PF, relative to `from`.
Pose Tree::joint_frame(const Constants& c, const Quat& q_WP, const Mat3& R_WP, const Vec3& p_OP) noexcept {
  return {c.turned ? q_WP * c.X_PF.q : q_WP, p_OP + R_WP * c.X_PF.p};
}

// Pose of the child from that of F and the joint's coordinates q.
Pose Tree::child_pose(const Constants& c, const Pose& X_OF, const double* q) noexcept {
  switch (c.kind) {
    case JointKind::fixed:
      return X_OF;
    case JointKind::revolute:
    case JointKind::continuous:
      return {turned(X_OF.q, c.axis_F, c.multiplier * q[0] + c.offset), X_OF.p};
    case JointKind::prismatic:
      return {X_OF.q, X_OF.p + (c.multiplier * q[0] + c.offset) * (X_OF.q * c.axis_F)};
    case JointKind::planar: {
      Vec3 t1, t2;
      tangent_basis(c.axis_F, t1, t2);
      return {turned(X_OF.q, c.axis_F, q[2]), X_OF * Vec3(q[0] * t1 + q[1] * t2)};
    }
    case JointKind::spherical:
      return {X_OF.q * quaternion(q), X_OF.p};
    case JointKind::floating:
      return {X_OF.q * quaternion(q + 3), X_OF * vec3(q)};
  }
  return X_OF;
}

// Poses relative to O. O is the mass centre of link 0, a root; its own pose relative to O then takes no subtraction of
// large numbers.
void Tree::positions(const State& state, const double* q) noexcept {
  velocities_known_ = false;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Constants& c = constants_[i];
    Link& link = links_[i];
    Pose X_OF;
    if (c.parent != kNone) {
      const Link& parent = links_[c.parent];
      X_OF = joint_frame(c, parent.q_WB, parent.R_WB, parent.p_OB);
    } else {
      const Pose X_WP = c.carrier == kNone ? Pose{} : body_pose(*model_, state, c.carrier);
      X_OF = joint_frame(c, X_WP.q, X_WP.q.toRotationMatrix(), i == 0 ? X_WP.p : Vec3(X_WP.p - p_WO_));
    }
    if (by_floating_ && i == 0 && !floating_.aligned) floating_.R_WF = X_OF.q.toRotationMatrix();
    const Pose X_OB = child_pose(c, X_OF, q + c.q);
    link.q_WB = X_OB.q;
    link.R_WB = X_OB.q.toRotationMatrix();
    link.p_OB = X_OB.p;
    const Vec3 p_BBcm_W = link.R_WB * c.p_BBcm;
    if (i == 0) {
      p_WO_ = link.p_OB + p_BBcm_W;
      link.p_OB = -p_BBcm_W;
      link.p_OBcm.setZero();
    } else {
      link.p_OBcm = link.p_OB + p_BBcm_W;
    }
    set_columns(c, X_OF.q, link);
    set_inertia(c, link);
  }
}

// Motion subspace at O. Rotations turn about the origin of B, which at rest against F is that of F.
void Tree::set_columns(const Constants& c, const Quat& q_WF, const Link& link) noexcept {
  SpatialVelocity* S = columns_.data() + c.column;
  const Vec3& p = link.p_OB;
  switch (c.kind) {
    case JointKind::fixed:
      return;
    case JointKind::revolute:
    case JointKind::continuous:
      S[0].w = link.R_WB * (c.multiplier * c.axis_F);
      S[0].v = p.cross(S[0].w);
      return;
    case JointKind::prismatic:
      S[0].w.setZero();
      S[0].v = link.R_WB * (c.multiplier * c.axis_F);
      return;
    case JointKind::planar: {
      Vec3 t1, t2;
      tangent_basis(c.axis_F, t1, t2);
      S[0] = {Vec3::Zero(), q_WF * t1};
      S[1] = {Vec3::Zero(), q_WF * t2};
      S[2].w = link.R_WB * c.axis_F;
      S[2].v = p.cross(S[2].w);
      return;
    }
    case JointKind::spherical:
    case JointKind::floating: {
      const Mat3 R_WF = q_WF.toRotationMatrix();
      if (c.kind == JointKind::floating) {
        for (int k = 0; k < 3; ++k) S[k] = {Vec3::Zero(), R_WF.col(k)};
        S += 3;
      }
      for (int k = 0; k < 3; ++k) {
        S[k].w = R_WF.col(k);
        S[k].v = p.cross(S[k].w);
      }
      return;
    }
  }
}

// Inertia about O in W: R I R^T + m (|p|^2 1 - p p^T).
void Tree::set_inertia(const Constants& c, Link& link) noexcept {
  const Mat3& R = link.R_WB;
  const Vec3& p = link.p_OBcm;
  const double m = c.mass;
  const Vec3 h = m * p;
  const Mat3 RI = R * c.I_BBcm;
  const Vec3 r0 = R.row(0), r1 = R.row(1), r2 = R.row(2);
  RigidInertia& I = link.inertia;
  I.mass = m;
  I.h = h;
  I.I[0] = RI.row(0).dot(r0) + (h.y() * p.y() + h.z() * p.z());
  I.I[1] = RI.row(0).dot(r1) - h.x() * p.y();
  I.I[2] = RI.row(0).dot(r2) - h.x() * p.z();
  I.I[3] = RI.row(1).dot(r1) + (h.x() * p.x() + h.z() * p.z());
  I.I[4] = RI.row(1).dot(r2) - h.y() * p.z();
  I.I[5] = RI.row(2).dot(r2) + (h.x() * p.x() + h.y() * p.y());
}

// A link's V_O = V_O of its parent + S v. S is fixed in the parent, so S' v = V_parent x (S v); where the turning point
// moves against F (planar, floating) its velocity adds v x w.
void Tree::velocities(const State& state, const double* v) noexcept {
  std::copy(v, v + v_count_, velocity_.begin());
  velocities_known_ = true;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Constants& c = constants_[i];
    Link& link = links_[i];
    if (c.parent == kNone) set_carrier(state, c, link);
    const SpatialVelocity& V = c.parent == kNone ? link.V_carrier : links_[c.parent].V;
    const SpatialVelocity* S = columns_.data() + c.column;
    const double* x = v + c.dof;
    SpatialVelocity J;
    link.A.v.setZero();
    if (c.column_count == 1) {
      J.w = x[0] * S[0].w;
      J.v = x[0] * S[0].v;
    } else if (by_floating_ && i == 0) {
      Vec3 slide;
      J = base_velocity(x, slide);
      link.A.v = slide.cross(J.w);
    } else {
      for (std::uint32_t k = 0; k < c.column_count; ++k) {
        J.w += x[k] * S[k].w;
        J.v += x[k] * S[k].v;
      }
      // The sliding part of planar and floating joints.
      Vec3 slide = Vec3::Zero();
      if (c.kind == JointKind::planar) slide = x[0] * S[0].v + x[1] * S[1].v;
      if (c.kind == JointKind::floating) slide = x[0] * S[0].v + x[1] * S[1].v + x[2] * S[2].v;
      link.A.v = slide.cross(J.w);
    }
    link.A.w = V.w.cross(J.w);
    link.A.v += V.w.cross(J.v) + V.v.cross(J.w);
    link.V.w = V.w + J.w;
    link.V.v = V.v + J.v;
  }
}

void Tree::refresh_velocities(const State& state) noexcept {
  const bool same = velocities_known_ && !carried_ &&
                    std::equal(velocity_.begin(), velocity_.end(), state.joint_v.begin() + first_v_);
  if (!same) velocities(state);
}

void Tree::set_carrier(const State& state, const Constants& c, Link& link) noexcept {
  link.V_carrier = {};
  link.A_carrier = {};
  if (c.carrier == kNone || model_->bodies[c.carrier].mode != BodyMode::kinematic) return;
  const Vec3 w = state.w_WB(c.carrier), v = state.v_WBcm(c.carrier);
  link.V_carrier = {w, v + w.cross(p_WO_ - state.p_WBcm(c.carrier))};
  link.A_carrier = {Vec3::Zero(), v.cross(w)};
}

// The spatial acceleration at O of a body whose mass centre passes by: d/dt (v + w x (O - c)).
void Tree::set_carrier_acceleration(const State& state, BodyIndex carrier, const Vec3& a_WBcm,
                                    const Vec3& alpha_WB) noexcept {
  const Vec3 w = state.w_WB(carrier), v = state.v_WBcm(carrier);
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (constants_[i].parent != kNone || constants_[i].carrier != carrier) continue;
    links_[i].A_carrier = {alpha_WB, a_WBcm + alpha_WB.cross(p_WO_ - state.p_WBcm(carrier)) + v.cross(w)};
  }
}

void Tree::write_links(double* q, double* v) const noexcept {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    const std::size_t b = constants_[i].body;
    double *pose = q + 7 * b, *velocity = v + 6 * b;
    Eigen::Map<Vec3>{pose} = p_WBcm(i);
    pose[3] = link.q_WB.w(), pose[4] = link.q_WB.x(), pose[5] = link.q_WB.y(), pose[6] = link.q_WB.z();
    Eigen::Map<Vec3>{velocity} = link.V.v + link.V.w.cross(link.p_OBcm);
    Eigen::Map<Vec3>{velocity + 3} = link.V.w;
  }
}

void integrate_joints(const Model& model, const Robot& robot, double h, const double* v, double* q) noexcept {
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = model.joints[robot.first_joint + i];
    if (joint.mimic != kNone) continue;
    double* x = q + (joint.first_q - robot.first_q);
    const double* rate = v + (joint.first_v - robot.first_v);
    switch (joint.kind) {
      case JointKind::spherical:
        store(rotate_by(h * vec3(rate), quaternion(x)), x);
        break;
      case JointKind::floating:
        for (int k = 0; k < 3; ++k) x[k] += h * rate[k];
        store(rotate_by(h * vec3(rate + 3), quaternion(x + 3)), x + 3);
        break;
      case JointKind::fixed:
      case JointKind::revolute:
      case JointKind::continuous:
      case JointKind::prismatic:
      case JointKind::planar:
        for (std::uint32_t k = 0; k < velocity_count(joint.kind); ++k) x[k] += h * rate[k];
        break;
    }
  }
}

}  // namespace tactus
