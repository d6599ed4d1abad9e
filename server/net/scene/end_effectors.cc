#include "server/net/scene/end_effectors.h"

#include <algorithm>

namespace tactus::net {
namespace {

Vec3 three(const double* x) {
  return Vec3(x[0], x[1], x[2]);
}

EndEffectorRow row_of(const Model& model, const LinkFrame& frame, const StateSlot& slot) {
  const std::size_t b = frame.body;
  const double *pose = &slot.pose[7 * b], *velocity = &slot.velocity[6 * b], *wrench = &slot.link_wrenches[6 * b];
  const Pose X_WB{Quat(pose[3], pose[4], pose[5], pose[6]), three(pose)};
  const Pose X_WE = X_WB * frame.X_BF;
  const Vec3 w = three(velocity + 3), v = three(velocity) + w.cross(X_WE.p - X_WB.p);
  const Vec3 force = three(wrench);
  const Vec3 torque = three(wrench + 3) + (X_WB * model.bodies[b].p_BBcm - X_WE.p).cross(force);
  return {X_WE.p.x(), X_WE.p.y(), X_WE.p.z(), X_WE.q.w(), X_WE.q.x(), X_WE.q.y(), X_WE.q.z(),
          v.x(),      v.y(),      v.z(),      w.x(),      w.y(),      w.z(),      force.x(),
          force.y(),  force.z(),  torque.x(), torque.y(), torque.z()};
}

}  // namespace

void EndEffectors::find(const Model& model, const SubscriptionSpec& spec, const StateSlot& slot) {
  rows_.clear();
  columns_.clear();
  for (const std::uint32_t frame : spec.end_effectors) {
    rows_.push_back(row_of(model, model.frames[frame], slot));
    if (spec.jacobian) add_columns(model, frame, slot, three(rows_.back().data()));
  }
}

void EndEffectors::add_columns(const Model& model, std::uint32_t frame, const StateSlot& slot, const Vec3& p_WE) {
  scratch_.resize(model.joint_v0.size());
  const std::uint32_t count = frame_jacobian(model, slot.pose, model.frames[frame].body, p_WE, scratch_);
  for (std::uint32_t i = 0; i < count; ++i) {
    const JacobianColumn& c = scratch_[i];
    columns_.push_back(
        {frame, c.dof, {c.linear.x(), c.linear.y(), c.linear.z(), c.angular.x(), c.angular.y(), c.angular.z()}});
  }
}

std::uint32_t jacobian_columns(const Model& model, const SubscriptionSpec& spec) {
  if (!spec.jacobian) return 0;
  const std::vector<double> pose(7 * model.bodies.size(), 0.5);  // which dofs there are does not depend on it
  std::vector<JacobianColumn> columns(model.joint_v0.size());
  std::uint32_t count = 0;
  for (const std::uint32_t frame : spec.end_effectors)
    count += frame_jacobian(model, pose, model.frames[frame].body, Vec3::Zero(), columns);
  return count;
}

}  // namespace tactus::net
