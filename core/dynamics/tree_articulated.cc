// The factor of a Tree by articulated bodies: the same L as the packed one, never written out. Eliminating dofs from
// the tips to the root leaves of each dof its pivot D = S . I_A S and the column K = I_A S / D (Featherstone 2008, 7.1;
// Rodriguez, Jain and Kreutz-Delgado 1991: M = (1 + H phi K) D (1 + H phi K)^T), and a triangular factor in a given
// order is unique: L_da = sqrt(D_d) K_d . S_a for an ancestor a. All about O, so nothing is shifted on the way.
//
// A joint of several dofs is that many joints with massless links between. For trees without mimic joints, where dof d
// moves with column d.
#include <cmath>

#include "core/check.h"
#include "core/dynamics/tree.h"

namespace tactus {

void Tree::choose_factor(TreeFactor kind) {
  // Multiplications of the packed factor are half the sum of squares of the rows' lengths; by articulated bodies a dof
  // costs as much as a row of this length (measured: core/DECISIONS.md).
  constexpr double kBreakEven = 7;
  double squares = 0;
  for (const std::uint32_t depth : depth_) squares += (depth + 1.0) * (depth + 1.0);
  const bool wins = squares > kBreakEven * kBreakEven * v_count_;
  by_articulated_ = !has_mimic_ && (kind == TreeFactor::articulated || (kind == TreeFactor::automatic && wins));
  if (!by_articulated_) return;
  TACTUS_ASSERT(columns_.size() == v_count_);
  pivots_.resize(v_count_);
  flow_.resize(links_.size());
}

// Inertia of dof d when none yields, from the composite body of its link.
double Tree::whole_inertia(DofIndex d, const RigidInertia& I) const noexcept {
  const SpatialVelocity& S = columns_[d];
  const Vec3 Iw(I.I[0] * S.w.x() + I.I[1] * S.w.y() + I.I[2] * S.w.z(),
                I.I[1] * S.w.x() + I.I[3] * S.w.y() + I.I[4] * S.w.z(),
                I.I[2] * S.w.x() + I.I[4] * S.w.y() + I.I[5] * S.w.z());
  return S.w.dot(Iw) + 2 * S.v.dot(S.w.cross(I.h)) + I.mass * S.v.squaredNorm() + armature_[d];
}

void Tree::load_articulated() noexcept {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const RigidInertia& I = composite_[i] = links_[i].inertia;
    Mat3 own;
    own << I.I[0], I.I[1], I.I[2], I.I[1], I.I[3], I.I[4], I.I[2], I.I[4], I.I[5];
    articulated_[i].I << own, skew(I.h), -skew(I.h), I.mass * Mat3::Identity();
  }
}

bool Tree::factor_articulated(const double* extra) noexcept {
  load_articulated();
  for (std::uint32_t i = link_count(); i-- > 0;) {
    const Constants& c = constants_[i];
    Articulated& body = articulated_[i];
    for (DofIndex d = c.dof + c.column_count; d-- > c.dof;) {
      Pivot& pivot = pivots_[d];
      const double more = extra != nullptr ? extra[d] : 0.0, whole = whole_inertia(d, composite_[i]) + more;
      pivot.S = stacked(columns_[d].w, columns_[d].v);
      const Vector6 U = body.I * pivot.S;
      const double D = pivot.S.dot(U) + armature_[d] + more;
      if (!(D > kSmallestPivot * whole) || !(whole > 0)) return false;
      pivot.K = U / D;
      pivot.root = std::sqrt(D);
      inv_diagonal_[d] = 1.0 / pivot.root;
      body.I.noalias() -= U * pivot.K.transpose();
    }
    if (c.parent == kNone) continue;
    articulated_[c.parent].I += body.I;
    composite_[c.parent].add(composite_[i]);
  }
  return true;
}

// Tips to root: what a dof does not take of a force on it goes on to its parent.
void Tree::half_articulated(double* x) const noexcept {
  for (Vector6& f : flow_) f.setZero();
  for (std::uint32_t i = link_count(); i-- > 0;) {
    const Constants& c = constants_[i];
    Vector6& f = flow_[i];
    for (DofIndex d = c.dof + c.column_count; d-- > c.dof;) {
      const double rest = x[d] - pivots_[d].S.dot(f);
      f += rest * pivots_[d].K;
      x[d] = rest * inv_diagonal_[d];
    }
    if (c.parent != kNone) flow_[c.parent] += f;
  }
}

// Root to tips: V is the velocity that the dofs above give.
void Tree::from_half_articulated(double* x) const noexcept {
  for (std::uint32_t i = 0; i < link_count(); ++i) {
    const Constants& c = constants_[i];
    Vector6& V = flow_[i];
    V = c.parent == kNone ? Vector6(Vector6::Zero()) : flow_[c.parent];
    for (DofIndex d = c.dof; d < c.dof + c.column_count; ++d) {
      x[d] = x[d] * inv_diagonal_[d] - pivots_[d].K.dot(V);
      V += x[d] * pivots_[d].S;
    }
  }
}

void Tree::to_half_articulated(double* x) const noexcept {
  for (std::uint32_t i = 0; i < link_count(); ++i) {
    const Constants& c = constants_[i];
    Vector6& V = flow_[i];
    V = c.parent == kNone ? Vector6(Vector6::Zero()) : flow_[c.parent];
    for (DofIndex d = c.dof; d < c.dof + c.column_count; ++d) {
      const double v = x[d];
      x[d] = pivots_[d].root * (v + pivots_[d].K.dot(V));
      V += v * pivots_[d].S;
    }
  }
}

// Y := L^-T Y, on the rows of a chain of dofs to the root, first the lowest. F: forces on its link, `width` of them, as
// six rows. Sums in one order, whatever the width.
template <int width>
void Tree::response_articulated(std::span<const DofIndex> rows, double (&F)[6][width], double* Y) const noexcept {
  for (const DofIndex d : rows) {
    const Pivot& pivot = pivots_[d];
    double rest[width] = {};
    for (int i = 0; i < 6; ++i) {
      for (int k = 0; k < width; ++k) rest[k] += pivot.S[i] * F[i][k];
    }
    for (int i = 0; i < 6; ++i) {
      for (int k = 0; k < width; ++k) F[i][k] -= pivot.K[i] * rest[k];
    }
    for (int k = 0; k < width; ++k) Y[k] = rest[k] * inv_diagonal_[d];
    Y += width;
  }
}

void Tree::half_response_articulated(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept {
  const Vec3 r = p_W - p_WO_;
  double F[6][6] = {};
  for (int k = 0; k < 3; ++k) {
    const Vec3 moment = r.cross(E_W.col(k));
    for (int i = 0; i < 3; ++i) F[i][k] = moment[i], F[3 + i][k] = F[i][3 + k] = E_W(i, k);
  }
  response_articulated(reach(link), F, Y);
}

void Tree::half_response_force_articulated(std::uint32_t link, const Vec3& p_W, const Mat3& E_W,
                                           double* Y) const noexcept {
  const Vec3 r = p_W - p_WO_;
  double F[6][3];
  for (int k = 0; k < 3; ++k) {
    const Vec3 moment = r.cross(E_W.col(k));
    for (int i = 0; i < 3; ++i) F[i][k] = moment[i], F[3 + i][k] = E_W(i, k);
  }
  response_articulated(reach(link), F, Y);
}

void Tree::half_response_dof_articulated(DofIndex d, double* y) const noexcept {
  y[0] = inv_diagonal_[d];
  double F[6][1];
  for (int i = 0; i < 6; ++i) F[i][0] = -pivots_[d].K[i];
  response_articulated(dof_reach(d).subspan(1), F, y + 1);
}

}  // namespace tactus
