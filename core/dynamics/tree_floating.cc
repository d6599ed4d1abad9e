// Trees that hang on one floating joint: dofs 0 to 5 are those of the base and end every row of L, so that what is done
// with them has a known length. Of the base's block A of L the inverse N is kept: products do not wait for each other
// as substitutions do. Numbers of the base stand in ascending order, two at a time.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/dynamics/tree.h"
#include "core/math/two.h"

namespace tactus {

namespace {

constexpr int kBase = 6;

// out += f row, the first n numbers of it, n rounded up to even; row must be that long.
template <int n>
inline void add_row(double f, const double* row, double* out) noexcept {
  const Two factor = two(f);
  for (int i = 0; i < n; i += 2) store_two(load_two(out + i) + factor * load_two(row + i), out + i);
}

// Row k of A, the last that is left, leaves those above: A_jl -= A_kj A_kl / A_kk, l <= j.
template <int k, int... j>
inline void eliminate(double (&A)[kBase][kBase], double inverse, std::integer_sequence<int, j...>) noexcept {
  (add_row<j + 1>(-(A[k][j] * inverse), A[k], A[j]), ...);
}

// Row k of N: -1 / A_kk sum A_ki N_i, and root on the diagonal. Written in pairs, as it is read at once.
template <int k, int... i>
inline void invert_row(const double (&A)[kBase][kBase], double inverse, double root, double (&N)[kBase][kBase],
                       std::integer_sequence<int, i...>) noexcept {
  double sum[kBase] = {};
  (add_row<i + 1>(A[k][i], N[i], sum), ...);
  for (int c = 0; c + 1 < k; c += 2) store_two(-inverse * load_two(sum + c), N[k] + c);
  store_two(k % 2 == 0 ? Two{root, 0.0} : Two{-inverse * sum[k - k % 2], root}, N[k] + k - k % 2);
}

}  // namespace

void Tree::find_floating() {
  by_floating_ = !by_articulated_ && !has_mimic_ && !constants_.empty() && constants_[0].kind == JointKind::floating;
  for (std::size_t i = 1; i < constants_.size(); ++i) by_floating_ = by_floating_ && constants_[i].parent != kNone;
  if (!by_floating_) return;
  TACTUS_ASSERT(v_count_ >= kBase);
  for (DofIndex d = 0; d < v_count_; ++d) {
    const std::span<const DofIndex> row = dof_reach(d);
    TACTUS_ASSERT(row.size() >= std::min<std::size_t>(d + 1, kBase));
    for (DofIndex i = 0; i < std::min<DofIndex>(d + 1, kBase); ++i) TACTUS_ASSERT(row[row.size() - 1 - i] == i);
  }
  floating_.aligned = !constants_[0].turned && constants_[0].carrier == kNone;
  floating_.tails.assign(static_cast<std::size_t>(kBase) * (v_count_ - kBase), 0.0);
}

// Rows of M that end in the base's columns: what the composite body's momentum about the base's origin B is worth
// along each of its axes F. p, L: that momentum about O.
void Tree::add_base_mass(const Vec3& p, const Vec3& L, double* row) const noexcept {
  const Vec3 force = floating_.to_F(p), torque = floating_.to_F(L - links_[0].p_OB.cross(p));
  for (int k = 0; k < 3; ++k) row[k] = torque[2 - k], row[3 + k] = force[2 - k];
}

// The base's own block, from the composite inertia about B in the axes F: mass, first moment, second moments.
void Tree::base_mass(const RigidInertia& I) noexcept {
  const Vec3& p = links_[0].p_OB;
  const double m = I.mass;
  const Vec3 h = I.h - m * p, a = I.h + h;  // both moments: I_B = I_O - (a . p) 1 + (a p^T + p a^T) / 2
  const double trace = a.dot(p);
  Mat3 about;
  about(0, 0) = I.I[0] - trace + a.x() * p.x();
  about(1, 1) = I.I[3] - trace + a.y() * p.y();
  about(2, 2) = I.I[5] - trace + a.z() * p.z();
  about(0, 1) = about(1, 0) = I.I[1] + 0.5 * (a.x() * p.y() + a.y() * p.x());
  about(0, 2) = about(2, 0) = I.I[2] + 0.5 * (a.x() * p.z() + a.z() * p.x());
  about(1, 2) = about(2, 1) = I.I[4] + 0.5 * (a.y() * p.z() + a.z() * p.y());
  if (!floating_.aligned) about = floating_.R_WF.transpose() * about * floating_.R_WF;
  const Vec3 f = floating_.to_F(h);
  // Rows from the second on as L keeps them: from the diagonal backwards.
  const double rows[] = {m,           0,           m,           0,           0,      about(0, 0), f.y(),
                         -f.z(),      0,           about(1, 1), about(0, 1), -f.x(), 0,           f.z(),
                         about(2, 2), about(1, 2), about(0, 2), 0,           f.x(),  -f.y()};
  M_[0] = m;
  std::copy(std::begin(rows), std::end(rows), M_.begin() + 1);
  for (DofIndex d = 0; d < kBase; ++d) M_[dof_reach_start_[d]] += armature_[d];
}

// As factor(), the rows of the base eliminated in order of their columns.
bool Tree::factor_floating(const double* extra) noexcept {
  double(&A)[kBase][kBase] = floating_.A;
  const double* m = M_.data();
  for (int i = 0; i < kBase; m += ++i) {  // in pairs; of even rows a zero goes along
    const double diagonal = m[0] + (extra != nullptr ? extra[i] : 0.0);
    for (int j = 0; j + 1 < i; j += 2) store_two(Two{m[i - j], m[i - j - 1]}, A[i] + j);
    store_two(i % 2 == 0 ? Two{diagonal, 0.0} : Two{m[1], diagonal}, A[i] + i - i % 2);
  }
  std::copy(M_.begin() + dof_reach_start_[kBase], M_.end(), L_.begin() + dof_reach_start_[kBase]);
  for (DofIndex k = v_count_; k-- > kBase;) {
    const std::uint32_t start = dof_reach_start_[k], length = dof_reach_start_[k + 1] - start, own = length - kBase;
    double* row = L_.data() + start;
    const double more = extra != nullptr ? extra[k] : 0.0, whole = M_[start] + more;
    row[0] += more;
    if (!(row[0] > kSmallestPivot * whole) || !(whole > 0)) return false;
    const double inverse = inv_diagonal_[k] = 1.0 / row[0];
    for (std::uint32_t s = 1; s < own; ++s) {
      double* above = L_.data() + dof_reach_start_[dof_reach_[start + s]];
      const double f = row[s] * inverse;
      for (std::uint32_t i = 0; i < length - s; ++i) above[i] -= f * row[s + i];
    }
    double* tail = floating_.tails.data() + std::size_t{kBase} * (k - kBase);
    const double* last = row + length - 1;
    for (int i = 0; i < kBase; i += 2) store_two(Two{last[-i], last[-i - 1]}, tail + i);
    add_row<1>(-(tail[0] * inverse), tail, A[0]);
    add_row<2>(-(tail[1] * inverse), tail, A[1]);
    add_row<3>(-(tail[2] * inverse), tail, A[2]);
    add_row<4>(-(tail[3] * inverse), tail, A[3]);
    add_row<5>(-(tail[4] * inverse), tail, A[4]);
    add_row<6>(-(tail[5] * inverse), tail, A[5]);
  }
  for (DofIndex k = kBase; k < v_count_; ++k) {  // here, because roots above would wait for each other
    const double root = std::sqrt(L_[dof_reach_start_[k]]);
    L_[dof_reach_start_[k]] = root;
    const double f = inv_diagonal_[k] *= root;
    for (std::uint32_t s = dof_reach_start_[k] + 1; s + kBase < dof_reach_start_[k + 1]; ++s) L_[s] *= f;
    double* tail = floating_.tails.data() + std::size_t{kBase} * (k - kBase);
    for (int i = 0; i < kBase; i += 2) store_two(f * load_two(tail + i), tail + i);
  }
  return factor_base(extra);
}

template <int k>
bool Tree::take_base_row(const double* extra, double (&inverse)[kBase]) noexcept {
  double(&A)[kBase][kBase] = floating_.A;
  const double whole = M_[dof_reach_start_[k]] + (extra != nullptr ? extra[k] : 0.0);
  if (!(A[k][k] > kSmallestPivot * whole) || !(whole > 0)) return false;
  inverse[k] = 1.0 / A[k][k];
  eliminate<k>(A, inverse[k], std::make_integer_sequence<int, k>{});
  return true;
}

bool Tree::factor_base(const double* extra) noexcept {
  double inverse[kBase];
  if (!(take_base_row<5>(extra, inverse) && take_base_row<4>(extra, inverse) && take_base_row<3>(extra, inverse) &&
        take_base_row<2>(extra, inverse) && take_base_row<1>(extra, inverse) && take_base_row<0>(extra, inverse))) {
    return false;
  }
  double(&A)[kBase][kBase] = floating_.A;
  double(&N)[kBase][kBase] = floating_.N;
  double root[kBase];
  for (int k = 0; k < kBase; ++k) inv_diagonal_[static_cast<DofIndex>(k)] = root[k] = std::sqrt(A[k][k]) * inverse[k];
  store_two(Two{root[0], 0.0}, N[0]);
  invert_row<1>(A, inverse[1], root[1], N, std::make_integer_sequence<int, 1>{});
  invert_row<2>(A, inverse[2], root[2], N, std::make_integer_sequence<int, 2>{});
  invert_row<3>(A, inverse[3], root[3], N, std::make_integer_sequence<int, 3>{});
  invert_row<4>(A, inverse[4], root[4], N, std::make_integer_sequence<int, 4>{});
  invert_row<5>(A, inverse[5], root[5], N, std::make_integer_sequence<int, 5>{});
  return true;
}

namespace {

// x := N^T x.
inline void base_half(const double (&N)[kBase][kBase], double* x) noexcept {
  double out[kBase] = {};
  add_row<1>(x[0], N[0], out);
  add_row<2>(x[1], N[1], out);
  add_row<3>(x[2], N[2], out);
  add_row<4>(x[3], N[3], out);
  add_row<5>(x[4], N[4], out);
  add_row<6>(x[5], N[5], out);
  std::copy(out, out + kBase, x);
}

// Six numbers that are read in pairs: loaded once, before any of them is written alone.
struct Six {
  Two a, b, c;

  explicit Six(const double* x) noexcept : a{x[0], x[1]}, b{x[2], x[3]}, c{x[4], x[5]} {}
  [[nodiscard]] double dot(const double* y) const noexcept {
    const Two sum = load_two(y) * a + load_two(y + 2) * b + load_two(y + 4) * c;
    return sum[0] + sum[1];
  }
};

}  // namespace

void Tree::half_floating(double* x) const noexcept {
  for (DofIndex k = v_count_; k-- > kBase;) {
    const std::uint32_t start = dof_reach_start_[k], end = dof_reach_start_[k + 1] - kBase;
    x[k] *= inv_diagonal_[k];
    for (std::uint32_t s = start + 1; s < end; ++s) x[dof_reach_[s]] -= L_[s] * x[k];
    add_row<kBase>(-x[k], tail(k), x);
  }
  base_half(floating_.N, x);
}

void Tree::from_half_floating(double* x) const noexcept {
  const Six half(x);
  double v[kBase];
  for (int k = 0; k < kBase; ++k) v[k] = half.dot(floating_.N[k]);
  const Six base(v);
  std::copy(v, v + kBase, x);
  for (DofIndex k = kBase; k < v_count_; ++k) {
    const std::uint32_t start = dof_reach_start_[k], end = dof_reach_start_[k + 1] - kBase;
    double sum = x[k] - base.dot(tail(k));
    for (std::uint32_t s = start + 1; s < end; ++s) sum -= L_[s] * x[dof_reach_[s]];
    x[k] = sum * inv_diagonal_[k];
  }
}

void Tree::to_half_floating(double* x) const noexcept {
  const Six base(x);
  for (DofIndex k = v_count_; k-- > kBase;) {
    double sum = base.dot(tail(k));
    for (std::uint32_t s = dof_reach_start_[k]; s + kBase < dof_reach_start_[k + 1]; ++s)
      sum += L_[s] * x[dof_reach_[s]];
    x[k] = sum;
  }
  for (DofIndex k = kBase; k-- > 0;) {
    double sum = 0;
    for (DofIndex j = 0; j <= k; ++j) sum += floating_.A[k][j] * x[j];
    x[k] = sum * inv_diagonal_[k];
  }
}

// Y := L^-T Y, the rows of a path to the base: own dofs first, then 5 to 0.
template <int width>
void Tree::response_floating(std::span<const DofIndex> rows, double* Y) const noexcept {
  const std::size_t own = rows.size() - kBase;
  double* base[kBase];
  for (std::size_t i = 0; i < kBase; ++i) base[i] = Y + width * (own + kBase - 1 - i);
  for (std::size_t r = 0; r < own; ++r) {
    const DofIndex k = rows[r];
    double* y = Y + width * r;
    for (int i = 0; i < width; ++i) y[i] *= inv_diagonal_[k];
    const double* row = L_.data() + dof_reach_start_[k];
    for (std::size_t s = 1; r + s < own; ++s) {
      for (int i = 0; i < width; ++i) y[width * s + static_cast<std::size_t>(i)] -= row[s] * y[i];
    }
    for (int i = 0; i < kBase; ++i) {
      const double f = tail(k)[i];
      for (int c = 0; c < width; ++c) base[i][c] -= f * y[c];
    }
  }
  const double(&N)[kBase][kBase] = floating_.N;
  for (int c = 0; c + 1 < width; c += 2) {
    Two x[kBase];
    for (int i = 0; i < kBase; ++i) x[i] = load_two(base[i] + c);
    store_two(N[0][0] * x[0] + N[1][0] * x[1] + N[2][0] * x[2] + N[3][0] * x[3] + N[4][0] * x[4] + N[5][0] * x[5],
              base[0] + c);
    store_two(N[1][1] * x[1] + N[2][1] * x[2] + N[3][1] * x[3] + N[4][1] * x[4] + N[5][1] * x[5], base[1] + c);
    store_two(N[2][2] * x[2] + N[3][2] * x[3] + N[4][2] * x[4] + N[5][2] * x[5], base[2] + c);
    store_two(N[3][3] * x[3] + N[4][3] * x[4] + N[5][3] * x[5], base[3] + c);
    store_two(N[4][4] * x[4] + N[5][4] * x[5], base[4] + c);
    store_two(N[5][5] * x[5], base[5] + c);
  }
  for (int c = width - width % 2; c < width; ++c) {
    for (int j = 0; j < kBase; ++j) {
      double sum = 0;
      for (int i = j; i < kBase; ++i) sum += N[i][j] * base[i][c];
      base[j][c] = sum;
    }
  }
}

namespace {

// In pairs, as it is read at once.
template <int width>
inline void store_row(const Vec3& v, const Vec3& w, double* y) noexcept {
  store_two(Two{v[0], v[1]}, y);
  if constexpr (width == 6) {
    store_two(Two{v[2], w[0]}, y + 2);
    store_two(Two{w[1], w[2]}, y + 4);
  } else {
    y[2] = v[2];
  }
}

}  // namespace

// J^T E of a point: own dofs, then turns about F's z, y, x axes and shifts along them.
template <int width>
void Tree::load_floating(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept {
  const std::size_t own = reach(link).size() - kBase;
  const Vec3 r = p_W - p_WO_;
  const PathEntry* entry = path(link).data();
  for (std::size_t k = 0; k < own; ++k) {
    const SpatialVelocity& S = columns_[entry[k].column];
    store_row<width>(E_W.transpose() * (S.v + S.w.cross(r)), E_W.transpose() * S.w, Y + width * k);
  }
  const Mat3 T = floating_.aligned ? Mat3(E_W.transpose()) : Mat3(E_W.transpose() * floating_.R_WF);
  const Vec3 d = floating_.to_F(r - links_[0].p_OB), x = T.col(0), y = T.col(1), z = T.col(2), none = Vec3::Zero();
  double* base = Y + width * own;
  store_row<width>(d.x() * y - d.y() * x, z, base);
  store_row<width>(d.z() * x - d.x() * z, y, base + width);
  store_row<width>(d.y() * z - d.z() * y, x, base + 2 * width);
  store_row<width>(z, none, base + 3 * width);
  store_row<width>(y, none, base + 4 * width);
  store_row<width>(x, none, base + 5 * width);
}

void Tree::half_response_floating(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept {
  load_floating<6>(link, p_W, E_W, Y);
  response_floating<6>(reach(link), Y);
}

void Tree::half_response_force_floating(std::uint32_t link, const Vec3& p_W, const Mat3& E_W,
                                        double* Y) const noexcept {
  load_floating<3>(link, p_W, E_W, Y);
  response_floating<3>(reach(link), Y);
}

void Tree::half_response_dof_floating(DofIndex d, double* y) const noexcept {
  const std::span<const DofIndex> rows = dof_reach(d);
  if (d < kBase) {
    for (DofIndex i = 0; i <= d; ++i) y[d - i] = floating_.N[d][i];
    return;
  }
  const std::size_t own = rows.size() - kBase;
  std::fill(y, y + own, 0.0);
  y[0] = 1;
  double base[kBase] = {};
  for (std::size_t r = 0; r < own; ++r) {
    const double* row = L_.data() + dof_reach_start_[rows[r]];
    y[r] *= inv_diagonal_[rows[r]];
    for (std::size_t s = r + 1; s < own; ++s) y[s] -= row[s - r] * y[r];
    add_row<kBase>(-y[r], tail(rows[r]), base);
  }
  base_half(floating_.N, base);
  for (std::size_t i = 0; i < kBase; ++i) y[own + kBase - 1 - i] = base[i];
}

// What the base's joint does: V_O of the base against the world, and the force that its dofs feel of one at O.
SpatialVelocity Tree::base_velocity(const double* v, Vec3& slide) const noexcept {
  slide = floating_.from_F(Vec3(v[0], v[1], v[2]));
  const Vec3 w = floating_.from_F(Vec3(v[3], v[4], v[5]));
  return {w, slide + links_[0].p_OB.cross(w)};
}

void Tree::add_base_force(const SpatialForce& f_O, double* tau) const noexcept {
  const Vec3 force = floating_.to_F(f_O.force), torque = floating_.to_F(f_O.torque - links_[0].p_OB.cross(f_O.force));
  for (int k = 0; k < 3; ++k) tau[k] += force[k], tau[3 + k] += torque[k];
}

}  // namespace tactus
