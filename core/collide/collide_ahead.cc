#include "core/collide/collide_ahead.h"

#include <algorithm>

#include "core/collide/closest_cores.h"
#include "core/collide/narrow_table.h"

namespace tactus {

namespace {

// How far behind the nearest features others are looked for, of the smaller shape's size.
constexpr double kBehind = 0.25;
// Nearer than this, of the smaller shape's size, a direction of least distance is noise: they touch.
constexpr double kTouching = 1e-7;

double reach_of(const Shape& shape) noexcept {
  return shape.kind == ShapeKind::sphere || shape.kind == ShapeKind::capsule ? shape.radius : 0.0;
}

Core core_at(const Shape& shape, const Mat3& R, const Vec3& p, CoreStorage& storage) noexcept {
  if (shape.kind != ShapeKind::sphere) return make_core(shape, R, p, storage);
  Core core;
  storage.vertices[0].setZero();
  core.vertices = storage.vertices;
  core.vertex_count = 1;
  core.R = R, core.p = p;
  return core;
}

// Distance along the unit n_W (from b into a); negative: overlap along it.
double gap_along(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Vec3& n_W) noexcept {
  const Vec3 p_A = support(a, X_WA.R.transpose() * -n_W), p_B = support(b, X_WB.R.transpose() * n_W);
  return n_W.dot(X_WA * p_A - X_WB * p_B);
}

struct Direction {
  double gap = 0;           // along n_W; <= 0: they touch
  Vec3 n_W = Vec3::Zero();  // from b into a; zero: not known
  double apart = 0;         // of the cores, where that was looked for
};

Direction nearest(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) noexcept {
  CoreStorage storage_a, storage_b;
  const Core core_a = core_at(a, X_WA.R, X_WA.p - X_WB.p, storage_a);
  const Core core_b = core_at(b, X_WB.R, Vec3::Zero(), storage_b);
  Direction out;
  out.apart = closest_cores(core_a, core_b, out.n_W);
  out.gap = out.apart - reach_of(a) - reach_of(b);
  return out;
}

// Everything within the shift, where the gap along n is known. Shifting favours normals across n: one along which the
// shapes are nearer, or overlap more, than along n is refused, and the shift made smaller. False: none was found.
bool meet_along(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Direction& d, double reach,
                double behind, Witness& witness, ContactBuffer& out) noexcept {
  const double least = d.gap > 0 ? std::min(0.5 * d.gap, d.gap - 1e-3 * behind) : 1.001 * d.gap - 1e-6 * behind;
  for (int attempt = 0; attempt < 4; ++attempt, behind *= 0.03) {
    witness.axis_A = X_WA.R.transpose() * d.n_W;
    if (attempt > 0 || d.gap > 0) witness.feature_a = witness.feature_b = -1;
    collide(a, X_WA, b, X_WB, std::min(reach, std::max(d.gap, 0.0) + behind), witness, out);
    if (out.count == 0) return false;
    if (gap_along(a, X_WA, b, X_WB, out.nhat_BA_W) >= least) return true;
  }
  out.count = 0;
  return false;
}

}  // namespace

void collide_ahead(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach, Witness& witness,
                   ContactBuffer& out) noexcept {
  if (is_smooth_pair(a, b)) return collide_smooth_within(a, X_WA, b, X_WB, reach, witness, out);
  const bool plane_a = a.kind == ShapeKind::half_space, plane_b = b.kind == ShapeKind::half_space;
  if (plane_a || plane_b) {
    const Vec3 n_W = plane_b ? Vec3(X_WB.R.col(2)) : Vec3(-X_WA.R.col(2));
    witness.axis_A = X_WA.R.transpose() * n_W;
    return collide(a, X_WA, b, X_WB, reach, witness, out);
  }
  const double size = std::min(smallest_size(a), smallest_size(b)), behind = kBehind * size;
  out.count = 0;
  Direction d;
  if (!witness.axis_A.isZero(0)) {
    d.n_W = X_WA.R * witness.axis_A;
    d.gap = gap_along(a, X_WA, b, X_WB, d.n_W);
    if (d.gap > reach) return;
    // As far as this axis says, they touch as they did.
    if (d.gap <= kTouching * size && meet_along(a, X_WA, b, X_WB, d, reach, behind, witness, out)) return;
  }
  d = nearest(a, X_WA, b, X_WB);
  if (d.gap > reach) {
    witness.axis_A = X_WA.R.transpose() * d.n_W;
    out.count = 0;
    return;
  }
  if (d.gap > kTouching * size) {
    meet_along(a, X_WA, b, X_WB, d, reach, behind, witness, out);
    return;
  }
  collide(a, X_WA, b, X_WB, witness, out);  // finds the axis along which they just overlap, or touch
  if (witness.axis_A.isZero(0)) {
    if (d.apart <= kTouching * size) return;
    witness.axis_A = X_WA.R.transpose() * d.n_W;  // round shapes that touch to rounding: collide() sees no overlap
  }
  d.n_W = X_WA.R * witness.axis_A;
  d.gap = gap_along(a, X_WA, b, X_WB, d.n_W);
  if (!meet_along(a, X_WA, b, X_WB, d, reach, behind, witness, out)) collide(a, X_WA, b, X_WB, witness, out);
}

}  // namespace tactus
