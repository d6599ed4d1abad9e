// The mass matrix of a Tree and its sparse factor. Rows are packed: row i holds columns i, parent(i), its parent, ...,
// so that the row of an ancestor lies along the end of the rows below it, and every inner loop runs over neighbours.
#include <algorithm>
#include <cmath>

#include "core/dynamics/tree.h"

namespace tactus {

namespace {

// y -= f x, n numbers; the two never overlap.
inline void subtract(double* __restrict y, const double* __restrict x, double f, std::uint32_t n) noexcept {
  for (std::uint32_t i = 0; i < n; ++i) y[i] -= f * x[i];
}

}  // namespace

// M_ab = S_a . I_composite S_b, a at or below b; a composite inertia is a plain sum, since all are about O.
void Tree::mass_matrix() noexcept {
  if (has_mimic_) {
    std::fill(M_.begin(), M_.end(), 0.0);
    for (DofIndex d = 0; d < v_count_; ++d) M_[entry(d, d)] = armature_[d];
  }
  for (std::uint32_t i = 0; i < links_.size(); ++i) composite_[i] = links_[i].inertia;
  for (std::uint32_t i = link_count(); i-- > 0;) {
    const std::uint32_t parent = constants_[i].parent;
    if (by_floating_ && parent == kNone) return base_mass(composite_[i]);
    add_mass(i);
    if (parent == kNone) continue;
    composite_[parent].add(composite_[i]);
  }
}

void Tree::add_mass(std::uint32_t link) noexcept {
  const Constants& c = constants_[link];
  const RigidInertia& I = composite_[link];
  std::span<const PathEntry> above = path(link);
  for (std::uint32_t k = c.column_count; k-- > 0; above = above.subspan(1)) {
    const SpatialVelocity& S = columns_[c.column + k];
    // Momentum of the composite body that moves with S.
    const Vec3 p = I.mass * S.v + S.w.cross(I.h);
    const Vec3 L = I.h.cross(S.v) + Vec3(I.I[0] * S.w.x() + I.I[1] * S.w.y() + I.I[2] * S.w.z(),
                                         I.I[1] * S.w.x() + I.I[3] * S.w.y() + I.I[4] * S.w.z(),
                                         I.I[2] * S.w.x() + I.I[4] * S.w.y() + I.I[5] * S.w.z());
    if (!has_mimic_) {  // the path's dofs are those of the packed row
      double* row = M_.data() + dof_reach_start_[c.dof + k];
      double* const diagonal = row;
      for (const PathEntry& e : by_floating_ ? above.first(above.size() - 6) : above) {
        const SpatialVelocity& T = columns_[e.column];
        *row++ = T.w.dot(L) + T.v.dot(p);
      }
      *diagonal += armature_[c.dof + k];
      if (by_floating_) add_base_mass(p, L, row);
      continue;
    }
    for (const PathEntry& e : above) {
      const SpatialVelocity& T = columns_[e.column];
      const double m = T.w.dot(L) + T.v.dot(p);
      const DofIndex a = std::max(e.dof, c.dof + k), b = std::min(e.dof, c.dof + k);
      // Two joints of one dof: the entry and its mirror image fall together.
      M_[entry(a, b)] += a == b && e.column != c.column + k ? 2 * m : m;
    }
  }
}

double Tree::mass(DofIndex i, DofIndex j) const noexcept {
  const DofIndex a = std::max(i, j), b = std::min(i, j);
  if (depth_[b] > depth_[a]) return 0;
  const std::size_t at = entry(a, b);
  return dof_reach_[at] == b ? M_[at] : 0;
}

void Tree::times_mass(const double* x, double* y) const noexcept {
  std::fill(y, y + v_count_, 0.0);
  for (DofIndex i = 0; i < v_count_; ++i) {
    const std::uint32_t start = dof_reach_start_[i], end = dof_reach_start_[i + 1];
    double sum = M_[start] * x[i];
    for (std::uint32_t k = start + 1; k < end; ++k) {
      sum += M_[k] * x[dof_reach_[k]];
      y[dof_reach_[k]] += M_[k] * x[i];
    }
    y[i] += sum;
  }
}

void Tree::prepare_factor() noexcept {
  if (!by_articulated_) mass_matrix();
}

// Featherstone's LTL: row k, the last, is finished; its outer product leaves the rows of its ancestors, each of which
// is the end of row k itself in length and order.
bool Tree::factor(const double* extra) noexcept {
  if (by_articulated_) return factor_articulated(extra);
  if (by_floating_) return factor_floating(extra);
  std::copy(M_.begin(), M_.end(), L_.begin());
  if (extra != nullptr) {
    for (DofIndex d = 0; d < v_count_; ++d) L_[dof_reach_start_[d]] += extra[d];
  }
  for (DofIndex k = v_count_; k-- > 0;) {
    const std::uint32_t start = dof_reach_start_[k], length = dof_reach_start_[k + 1] - start;
    double* row = L_.data() + start;
    const double whole = M_[start] + (extra != nullptr ? extra[k] : 0.0);
    if (!(row[0] > kSmallestPivot * whole) || !(whole > 0)) return false;
    const double inverse = 1.0 / row[0];
    for (std::uint32_t s = 1; s < length; ++s) {
      subtract(L_.data() + dof_reach_start_[dof_reach_[start + s]], row + s, row[s] * inverse, length - s);
    }
  }
  for (DofIndex k = 0; k < v_count_; ++k) {  // here, because roots above would wait for each other
    const std::uint32_t start = dof_reach_start_[k], end = dof_reach_start_[k + 1];
    const double root = std::sqrt(L_[start]);
    inv_diagonal_[k] = 1.0 / root;
    L_[start] = root;
    for (std::uint32_t s = start + 1; s < end; ++s) L_[s] *= inv_diagonal_[k];
  }
  return true;
}

void Tree::half(double* x) const noexcept {
  if (by_articulated_) return half_articulated(x);
  if (by_floating_) return half_floating(x);
  for (DofIndex k = v_count_; k-- > 0;) {
    const std::uint32_t start = dof_reach_start_[k], end = dof_reach_start_[k + 1];
    x[k] *= inv_diagonal_[k];
    for (std::uint32_t s = start + 1; s < end; ++s) x[dof_reach_[s]] -= L_[s] * x[k];
  }
}

void Tree::from_half(double* x) const noexcept {
  if (by_articulated_) return from_half_articulated(x);
  if (by_floating_) return from_half_floating(x);
  for (DofIndex k = 0; k < v_count_; ++k) {
    const std::uint32_t start = dof_reach_start_[k], end = dof_reach_start_[k + 1];
    double sum = x[k];
    for (std::uint32_t s = start + 1; s < end; ++s) sum -= L_[s] * x[dof_reach_[s]];
    x[k] = sum * inv_diagonal_[k];
  }
}

void Tree::to_half(double* x) const noexcept {
  if (by_articulated_) return to_half_articulated(x);
  if (by_floating_) return to_half_floating(x);
  for (DofIndex k = v_count_; k-- > 0;) {  // rows look only at earlier dofs
    double sum = 0;
    for (std::uint32_t s = dof_reach_start_[k]; s < dof_reach_start_[k + 1]; ++s) sum += L_[s] * x[dof_reach_[s]];
    x[k] = sum;
  }
}

void Tree::solve(double* x) const noexcept {
  half(x);
  from_half(x);
}

// Y := L^-T Y on the rows of reach(link): back substitution that meets only dofs which move the link.
template <int width>
void Tree::response_rows(std::uint32_t link, double* Y) const noexcept {
  const std::span<const DofIndex> rows = reach(link);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const DofIndex k = rows[r];
    double* y = Y + width * r;
    for (int i = 0; i < width; ++i) y[i] *= inv_diagonal_[k];
    std::size_t at = r;
    for (std::uint32_t s = dof_reach_start_[k] + 1; s < dof_reach_start_[k + 1]; ++s) {
      do ++at;
      while (rows[at] != dof_reach_[s]);  // a chain without mimics takes one step
      subtract(Y + width * at, y, L_[s], width);
    }
  }
}

void Tree::half_response(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept {
  if (by_articulated_) return half_response_articulated(link, p_W, E_W, Y);
  if (by_floating_) return half_response_floating(link, p_W, E_W, Y);
  const Vec3 r = p_W - p_WO_;
  std::fill(Y, Y + 6 * reach(link).size(), 0.0);
  for (const PathEntry& e : path(link)) {
    const SpatialVelocity& S = columns_[e.column];
    const Vec3 v = S.v + S.w.cross(r);
    double* y = Y + 6 * e.row;
    for (int k = 0; k < 3; ++k) {
      y[k] += E_W.col(k).dot(v);
      y[3 + k] += E_W.col(k).dot(S.w);
    }
  }
  response_rows<6>(link, Y);
}

void Tree::half_response_force(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept {
  if (by_articulated_) return half_response_force_articulated(link, p_W, E_W, Y);
  if (by_floating_) return half_response_force_floating(link, p_W, E_W, Y);
  const Vec3 r = p_W - p_WO_;
  std::fill(Y, Y + 3 * reach(link).size(), 0.0);
  for (const PathEntry& e : path(link)) {
    const SpatialVelocity& S = columns_[e.column];
    const Vec3 v = S.v + S.w.cross(r);
    for (int k = 0; k < 3; ++k) Y[3 * e.row + static_cast<std::uint32_t>(k)] += E_W.col(k).dot(v);
  }
  response_rows<3>(link, Y);
}

void Tree::half_response_dof(DofIndex d, double* y) const noexcept {
  if (by_articulated_) return half_response_dof_articulated(d, y);
  if (by_floating_) return half_response_dof_floating(d, y);
  const std::span<const DofIndex> rows = dof_reach(d);
  std::fill(y, y + rows.size(), 0.0);
  y[0] = 1;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double* row = L_.data() + dof_reach_start_[rows[r]];
    y[r] *= inv_diagonal_[rows[r]];
    for (std::size_t s = r + 1; s < rows.size(); ++s) y[s] -= row[s - r] * y[r];
  }
}

}  // namespace tactus
