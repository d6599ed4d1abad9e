// Forces and accelerations of a Tree: RNEA, ABA, energies and momentum. All about O in W axes.
#include <algorithm>

#include <Eigen/Core>

#include "core/check.h"
#include "core/dynamics/tree.h"

namespace tactus {

namespace {

Vec3 turned(const double (&I)[6], const Vec3& w) noexcept {
  return Vec3(I[0] * w.x() + I[1] * w.y() + I[2] * w.z(), I[1] * w.x() + I[3] * w.y() + I[4] * w.z(),
              I[2] * w.x() + I[4] * w.y() + I[5] * w.z());
}

}  // namespace

// What the link's motion takes when V' = A, less gravity and the outer force: I A + V x* I V - F.
[[gnu::always_inline]] inline SpatialForce Tree::link_force(std::uint32_t i, const SpatialVelocity& A,
                                                            const Vec3& gravity_W,
                                                            const SpatialForce* F_Bcm_W) const noexcept {
  const Constants& c = constants_[i];
  const Link& link = links_[i];
  const RigidInertia& I = link.inertia;
  const SpatialVelocity& V = link.V;
  const Vec3 p = I.mass * V.v + V.w.cross(I.h);
  const Vec3 L = I.h.cross(V.v) + turned(I.I, V.w);
  SpatialForce f;
  f.force = I.mass * A.v + A.w.cross(I.h) + V.w.cross(p);
  f.torque = I.h.cross(A.v) + turned(I.I, A.w) + V.w.cross(L) + V.v.cross(p);
  Vec3 outer = c.gravity_mass * gravity_W;
  if (F_Bcm_W != nullptr) {
    outer += F_Bcm_W[c.body].force;
    f.torque -= F_Bcm_W[c.body].torque;
  }
  f.force -= outer;
  f.torque -= link.p_OBcm.cross(outer);
  return f;
}

void Tree::inverse_dynamics(const Vec3& gravity_W, const double* a, const SpatialForce* F_Bcm_W, double* tau) noexcept {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Constants& c = constants_[i];
    const Link& link = links_[i];
    SpatialVelocity& A = acceleration_[i];
    A = c.parent == kNone ? link.A_carrier : acceleration_[c.parent];
    A.w += link.A.w;
    A.v += link.A.v;
    for (std::uint32_t k = 0; a != nullptr && k < c.column_count; ++k) {
      A.w += a[c.dof + k] * columns_[c.column + k].w;
      A.v += a[c.dof + k] * columns_[c.column + k].v;
    }
    force_[i] = link_force(i, A, gravity_W, F_Bcm_W);
  }
  for (DofIndex d = 0; d < v_count_; ++d) tau[d] = a != nullptr ? armature_[d] * a[d] : 0.0;
  for (std::uint32_t i = link_count(); i-- > 0;) {
    const Constants& c = constants_[i];
    const SpatialForce& f = force_[i];
    if (by_floating_ && i == 0) return add_base_force(f, tau);
    for (std::uint32_t k = 0; k < c.column_count; ++k) {
      tau[c.dof + k] += columns_[c.column + k].w.dot(f.torque) + columns_[c.column + k].v.dot(f.force);
    }
    if (c.parent == kNone) continue;
    force_[c.parent].force += f.force;
    force_[c.parent].torque += f.torque;
  }
}

void Tree::add_force(std::uint32_t link, const SpatialForce& F_Bcm_W, double* tau) const noexcept {
  const Vec3 torque = F_Bcm_W.torque + links_[link].p_OBcm.cross(F_Bcm_W.force);
  std::span<const PathEntry> moving = path(link);
  if (by_floating_) {
    add_base_force({torque, F_Bcm_W.force}, tau);
    moving = moving.first(moving.size() - 6);
  }
  for (const PathEntry& e : moving) {
    tau[e.dof] += columns_[e.column].w.dot(torque) + columns_[e.column].v.dot(F_Bcm_W.force);
  }
}

// A joint of several dofs is taken as that many joints with massless links between: each column's elimination is
// scalar. A = A_parent + A_bias + sum S a.
void Tree::forward_dynamics(const Vec3& gravity_W, const double* tau, const SpatialForce* F_Bcm_W, double* a) noexcept {
  TACTUS_ASSERT(!has_mimic_);
  load_articulated();
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const SpatialForce f = link_force(i, SpatialVelocity{}, gravity_W, F_Bcm_W);
    articulated_[i].f = stacked(f.torque, f.force);
  }
  for (std::uint32_t i = link_count(); i-- > 0;) {
    const Constants& c = constants_[i];
    Articulated& body = articulated_[i];
    body.f += body.I * stacked(links_[i].A.w, links_[i].A.v);
    for (std::uint32_t k = c.column_count; k-- > 0;) {
      const Vector6 S = stacked(columns_[c.column + k].w, columns_[c.column + k].v);
      Elimination& e = elimination_[c.column + k];
      e.U.noalias() = body.I * S;
      e.D = S.dot(e.U) + armature_[c.dof + k];
      e.u = (tau != nullptr ? tau[c.dof + k] : 0.0) - S.dot(body.f);
      body.I.noalias() -= e.U * (e.U / e.D).transpose();
      body.f += e.U * (e.u / e.D);
    }
    if (c.parent == kNone) continue;
    articulated_[c.parent].I += body.I;
    articulated_[c.parent].f += body.f;
  }
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Constants& c = constants_[i];
    const SpatialVelocity& above = c.parent == kNone ? links_[i].A_carrier : acceleration_[c.parent];
    // f was summed with the velocity terms in it: what is eliminated sees the acceleration without them.
    Vector6 A = stacked(above.w, above.v);
    for (std::uint32_t k = 0; k < c.column_count; ++k) {
      const Elimination& e = elimination_[c.column + k];
      a[c.dof + k] = (e.u - e.U.dot(A)) / e.D;
      A += a[c.dof + k] * stacked(columns_[c.column + k].w, columns_[c.column + k].v);
    }
    acceleration_[i] = {A.head<3>() + links_[i].A.w, A.tail<3>() + links_[i].A.v};
  }
}

double Tree::kinetic_energy() const noexcept {
  double twice = 0;
  for (const Link& link : links_) {
    const RigidInertia& I = link.inertia;
    const Vec3 L = I.h.cross(link.V.v) + turned(I.I, link.V.w);
    twice += link.V.w.dot(L) + link.V.v.dot(I.mass * link.V.v + link.V.w.cross(I.h));
  }
  for (DofIndex d = 0; d < v_count_; ++d) twice += armature_[d] * velocity_[d] * velocity_[d];
  return 0.5 * twice;
}

double Tree::potential_energy(const Vec3& gravity_W) const noexcept {
  double energy = 0;
  for (std::uint32_t i = 0; i < links_.size(); ++i) energy -= constants_[i].gravity_mass * gravity_W.dot(p_WBcm(i));
  return energy;
}

Tree::Momentum Tree::momentum() const noexcept {
  Momentum out;
  Vec3 h = Vec3::Zero(), L_O = Vec3::Zero();
  for (const Link& link : links_) {
    const RigidInertia& I = link.inertia;
    out.mass += I.mass;
    h += I.h;
    out.linear_W += I.mass * link.V.v + link.V.w.cross(I.h);
    L_O += I.h.cross(link.V.v) + turned(I.I, link.V.w);
  }
  const Vec3 p_OC = out.mass > 0 ? Vec3(h / out.mass) : Vec3(Vec3::Zero());
  out.p_WC = p_WO_ + p_OC;
  out.angular_C = L_O - p_OC.cross(out.linear_W);
  return out;
}

}  // namespace tactus
