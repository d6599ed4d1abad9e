#include "core/dynamics/frame_jacobian.h"

#include <array>

namespace tactus {
namespace {

Pose pose_of(std::span<const double> X_WB, BodyIndex b) noexcept {
  const double* x = X_WB.data() + 7 * static_cast<std::size_t>(b);
  return {Quat(x[3], x[4], x[5], x[6]), Vec3(x[0], x[1], x[2])};
}

// Sorted, each dof once.
class Columns {
 public:
  explicit Columns(std::span<JacobianColumn> out) : out_(out) {}
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  void add(const JacobianColumn& column) noexcept {
    std::uint32_t at = count_;
    while (at > 0 && out_[at - 1].dof >= column.dof) --at;
    if (at < count_ && out_[at].dof == column.dof) {
      out_[at].linear += column.linear;
      out_[at].angular += column.angular;
      return;
    }
    if (count_ == out_.size()) return;
    for (std::uint32_t i = count_++; i > at; --i) out_[i] = out_[i - 1];
    out_[at] = column;
  }

 private:
  std::span<JacobianColumn> out_;
  std::uint32_t count_ = 0;
};

// Rotations turn about the origin of B, which at rest against F is that of F.
void add_joint(const Joint& joint, const Pose& X_WF, const Pose& X_WB, const Vec3& p_WE, Columns& out) noexcept {
  const Vec3 axis_W = X_WB.q * joint.axis_F.normalized(), arm = p_WE - X_WB.p;
  const double ratio = joint.mimic != kNone ? joint.multiplier : 1.0;
  const auto turn = [&](std::uint32_t k, const Vec3& w) { out.add({joint.first_v + k, w.cross(arm), w}); };
  const auto move = [&](std::uint32_t k, const Vec3& v) { out.add({joint.first_v + k, v, Vec3::Zero()}); };
  switch (joint.kind) {
    case JointKind::fixed:
      return;
    case JointKind::revolute:
    case JointKind::continuous:
      return turn(0, ratio * axis_W);
    case JointKind::prismatic:
      return move(0, ratio * axis_W);
    case JointKind::planar: {
      Vec3 t1, t2;
      tangent_basis(joint.axis_F.normalized(), t1, t2);
      move(0, X_WF.q * t1);
      move(1, X_WF.q * t2);
      return turn(2, axis_W);
    }
    case JointKind::spherical:
      for (std::uint32_t k = 0; k < 3; ++k) turn(k, X_WF.q * Vec3::Unit(k));
      return;
    case JointKind::floating:
      for (std::uint32_t k = 0; k < 3; ++k) move(k, X_WF.q * Vec3::Unit(k));
      for (std::uint32_t k = 0; k < 3; ++k) turn(3 + k, X_WF.q * Vec3::Unit(k));
      return;
  }
}

}  // namespace

std::uint32_t frame_jacobian(const Model& model, std::span<const double> X_WB, BodyIndex link, const Vec3& p_WE,
                             std::span<JacobianColumn> out) noexcept {
  Columns columns(out);
  for (BodyIndex b = link; b != kNone && model.bodies[b].mode == BodyMode::link;) {
    const Joint& joint = model.joints[model.bodies[b].joint];
    const Pose X_WP = joint.parent == kNone ? Pose{} : pose_of(X_WB, joint.parent);
    add_joint(joint, X_WP * joint.X_PF, pose_of(X_WB, b), p_WE, columns);
    b = joint.parent;
  }
  return columns.count();
}

}  // namespace tactus
