#include "core/collide/time/collide_ahead.h"

#include <algorithm>

#include "core/check.h"
#include "core/collide/convex/narrow_core.h"
#include "core/collide/mesh/collide_mesh.h"
#include "core/collide/narrow_table.h"
#include "core/collide/places/points_ahead.h"
#include "core/collide/time/separation.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// How far behind the nearest features others are looked for, of the smaller shape's size.
constexpr double kBehind = 0.25;
// Nearer than this, of the smaller shape's size, a direction of least distance is noise: they touch.
constexpr double kTouching = 1e-7;

// Everything within the shift, where the gap along n is known. Shifting favours normals across n: one along which the
// shapes are nearer, or overlap more, than along n is refused, and the shift made smaller. False: none was found.
bool meet_along(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Separation& d, double reach,
                double behind, Witness& witness, ContactBuffer& out) noexcept {
  TACTUS_DCHECK(not_below(behind, 0));
  const double least = d.gap > 0 ? std::min(0.5 * d.gap, d.gap - 1e-3 * behind) : 1.001 * d.gap - 1e-6 * behind;
  for (int attempt = 0; attempt < 4; ++attempt, behind *= 0.03) {
    witness.axis_A = X_WA.R.transpose() * d.n_W;
    if (attempt > 0) {  // faces and edges
      if (witness.feature_a >= 0) witness.feature_a = -1;
      if (witness.feature_b >= 0) witness.feature_b = -1;
    }
    collide(a, X_WA, b, X_WB, std::min(reach, std::max(d.gap, 0.0) + behind), witness, out);
    if (out.count == 0) return false;
    if (gap_along(a, X_WA, b, X_WB, out.nhat_BA_W) >= least) return true;
  }
  out.count = 0;
  return false;
}

}  // namespace

namespace {

// Vertices as numbers from 1, in Witness::step_a and step_b, which such pairs do not need; 0: none.
CoreFeatures features_of(const Witness& witness) noexcept {
  CoreFeatures f;
  const auto number = [](double x) { return x >= 1 && x < 1e9 ? static_cast<std::int32_t>(x) - 1 : -1; };
  for (; f.count < 3 && number(witness.step_a[f.count]) >= 0; ++f.count) {
    f.a[f.count] = number(witness.step_a[f.count]), f.b[f.count] = number(witness.step_b[f.count]);
  }
  return f;
}

void remember(const CoreFeatures& f, Witness& witness) noexcept {
  witness.step_a.setZero(), witness.step_b.setZero();
  for (int k = 0; k < f.count; ++k) witness.step_a[k] = f.a[k] + 1, witness.step_b[k] = f.b[k] + 1;
}

// True: what the last tick left was enough; false: directions were searched for. Counts of what it called aside.
bool look_ahead(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach, Witness& witness,
                ContactBuffer& out) noexcept {
  const double size = std::min(smallest_size(a), smallest_size(b)), behind = kBehind * size;
  out.count = 0;
  Separation d;
  if (!witness.axis_A.isZero(0)) {
    d.n_W = X_WA.R * witness.axis_A;
    d.gap = gap_along(a, X_WA, b, X_WB, d.n_W);
    if (d.gap > reach) return true;
    // As far as this axis says, they touch as they did.
    if (d.gap <= kTouching * size && meet_along(a, X_WA, b, X_WB, d, reach, behind, witness, out)) {
      return out.witnesses.misses == 0;
    }
  }
  CoreFeatures features = features_of(witness);
  bool hit = false;
  d = find_separation(a, X_WA, b, X_WB, reach, features, hit);
  remember(features, witness);
  if (d.gap > reach) {
    witness.axis_A = X_WA.R.transpose() * d.n_W;
    out.count = 0;
    return hit;
  }
  if (d.gap > kTouching * size) {
    meet_along(a, X_WA, b, X_WB, d, reach, behind, witness, out);
    return hit && out.witnesses.misses == 0;
  }
  collide(a, X_WA, b, X_WB, witness, out);  // finds the axis along which they just overlap, or touch
  if (witness.axis_A.isZero(0)) {
    if (d.apart <= kTouching * size) return false;
    witness.axis_A = X_WA.R.transpose() * d.n_W;  // round shapes that touch to rounding: collide() sees no overlap
  }
  d.n_W = X_WA.R * witness.axis_A;
  d.gap = gap_along(a, X_WA, b, X_WB, d.n_W);
  if (!meet_along(a, X_WA, b, X_WB, d, reach, behind, witness, out)) collide(a, X_WA, b, X_WB, witness, out);
  return hit && out.witnesses.misses == 0;
}

}  // namespace

void collide_ahead(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach, Witness& witness,
                   ContactBuffer& out) noexcept {
  TACTUS_DCHECK(!is_mesh_pair(a, b) && not_below(reach, 0));
  if (is_smooth_pair(a, b)) {
    collide_smooth_within(a, X_WA, b, X_WB, reach, witness, out);
    return add_points_ahead(a, X_WA, b, X_WB, out);
  }
  const bool plane_a = a.kind == ShapeKind::half_space, plane_b = b.kind == ShapeKind::half_space;
  if (plane_a || plane_b) {
    const Vec3 n_W = plane_b ? Vec3(X_WB.R.col(2)) : Vec3(-X_WA.R.col(2));
    witness.axis_A = X_WA.R.transpose() * n_W;
    return collide(a, X_WA, b, X_WB, reach, witness, out);
  }
  const WitnessCounts before = out.witnesses;
  out.witnesses = {};
  const bool hit = look_ahead(a, X_WA, b, X_WB, reach, witness, out);
  out.witnesses = before;
  out.witnesses.add(hit);
}

}  // namespace tactus
