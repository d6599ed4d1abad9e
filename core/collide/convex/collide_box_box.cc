// Box against box. Normal: the least overlap over the 15 axes of the separating axis test, exact for boxes. Points: the
// incident face clipped by the side planes of the reference face, those below the reference face; or the crossing of
// two edges. O(1).
#include <algorithm>

#include "core/check.h"
#include "core/collide/convex/narrow_axis.h"
#include "core/collide/convex/narrow_clip.h"
#include "core/collide/convex/narrow_closest.h"
#include "core/collide/convex/narrow_feature.h"
#include "core/collide/convex/narrow_witness.h"
#include "core/collide/narrow_table.h"

namespace tactus {

namespace {

// Axes 0-2: faces of a, 3-5: faces of b, 6 + 3 i + j: edge i of a times edge j of b. Everything in the frame of a.
struct BoxPair {
  const Vec3& a;  // half edges
  const Vec3& b;
  Mat3 C;  // R_AB
  Mat3 C_abs;
  Vec3 d;    // from b's centre to a's, in A
  Vec3 d_B;  // the same in B
};

struct BestAxis {
  int code = -1;
  double depth = 0;         // overlap along n_A
  Vec3 n_A = Vec3::Zero();  // unit, from b into a
};

// Overlap along the unit axis n_A (any orientation of it).
double overlap(const BoxPair& pair, const Vec3& n_A) noexcept {
  const Vec3 n_B = pair.C.transpose() * n_A;
  return n_A.cwiseAbs().dot(pair.a) + n_B.cwiseAbs().dot(pair.b) - n_A.dot(pair.d);
}

// The six face axes. False when one separates.
bool test_faces(const BoxPair& pair, int last, const Vec3& last_axis, BestAxis& best) noexcept {
  best.depth = std::numeric_limits<double>::infinity();
  double best_score = best.depth;
  for (int code = 0; code < 6; ++code) {
    const bool of_a = code < 3;
    const int i = of_a ? code : code - 3;
    const double centre = of_a ? pair.d[i] : pair.d_B[i];
    const double reach = of_a ? pair.a[i] + pair.C_abs.row(i).dot(pair.b) : pair.b[i] + pair.C_abs.col(i).dot(pair.a);
    double depth = reach - std::abs(centre);
    double score = depth;
    double side = centre < 0 ? -1.0 : 1.0;
    if (code == last) {
      const double last_side = (of_a ? last_axis[i] : pair.C.col(i).dot(last_axis)) < 0 ? -1.0 : 1.0;
      const double kept = reach - last_side * centre;
      if (depth > 0 && kept <= depth * (1 + kHysteresis)) {
        side = last_side;
        depth = kept;
      }
      score = depth * (1 - kHysteresis);
    }
    if (score < best_score || depth <= 0) {
      best.code = code;
      best.depth = depth;
      best_score = score;
      if (of_a) {
        best.n_A.setZero();
        best.n_A[i] = side;
      } else {
        best.n_A = side * pair.C.col(i);
      }
      if (depth <= 0) return false;
    }
  }
  return true;
}

// The nine edge axes, which must beat the faces by the margin. False when one separates.
bool test_edges(const BoxPair& pair, int last, BestAxis& best) noexcept {
  const double bias = best.code == last ? kHysteresis : 0.0;
  double threshold = best.depth * (1 - kEdgeMargin - bias) - 1e-10 * (pair.a.sum() + pair.b.sum());
  bool first = true;
  BestAxis edge;
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      const double length2 = 1.0 - pair.C(i, j) * pair.C(i, j);
      if (length2 < kParallelEdges2) continue;
      // L = e_i x C e_j; the overlap scaled by |L| first, the root only for those that may win.
      const double centre = pair.d[i2] * pair.C(i1, j) - pair.d[i1] * pair.C(i2, j);
      const double reach = pair.a[i1] * pair.C_abs(i2, j) + pair.a[i2] * pair.C_abs(i1, j) +
                           pair.b[j1] * pair.C_abs(i, j2) + pair.b[j2] * pair.C_abs(i, j1);
      const double scaled = reach - std::abs(centre);
      const int code = 6 + 3 * i + j;
      const double limit = code == last ? best.depth * (1 - kEdgeMargin) / (1 - kHysteresis) : threshold;
      if (scaled > 0 && (limit <= 0 || scaled * scaled >= limit * limit * length2)) continue;
      const double scale = (centre < 0 ? -1.0 : 1.0) / std::sqrt(length2);
      Vec3 L = Vec3::Zero();
      L[i1] = -pair.C(i2, j) * scale;
      L[i2] = pair.C(i1, j) * scale;
      const double depth = overlap(pair, L);
      const double score = code == last ? depth * (1 - kHysteresis) : depth;
      if (depth > 0 && !first && score >= threshold) continue;
      first = false;
      edge = {code, depth, L};
      threshold = std::min(threshold, score);
      if (depth <= 0) {
        best = edge;
        return false;
      }
    }
  }
  if (edge.code >= 0) best = edge;
  return true;
}

// Points of the face contact: `ref` is the reference box. n_R: from the reference face outwards, in the frame R of ref.
void face_points(const Vec3& ref, const Vec3& inc, const Mat3& R_RI, const Vec3& p_RI, int axis, double side,
                 const Frame& X_WR, ContactBuffer& out) noexcept {
  TACTUS_DCHECK(axis >= 0 && axis < 3 && (side == 1 || side == -1));
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  // Incident face: the one that looks most against the reference face.
  const Vec3 facing = side * R_RI.row(axis).transpose();
  int k = 0;
  facing.cwiseAbs().maxCoeff(&k);
  const int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
  const double k_side = facing[k] > 0 ? -1.0 : 1.0;
  const Vec3 centre = p_RI + (k_side * inc[k]) * R_RI.col(k);
  const Vec3 e1 = inc[k1] * R_RI.col(k1);
  const Vec3 e2 = inc[k2] * R_RI.col(k2);
  ClipPolygon polygon;
  polygon.count = 4;
  const Vec3 corners[4] = {centre + e1 + e2, centre - e1 + e2, centre - e1 - e2, centre + e1 - e2};
  for (int i = 0; i < 4; ++i) polygon.p[i] = {corners[i][u], corners[i][v], ref[axis] - side * corners[i][axis]};
  clip_to_rectangle(polygon, ref[u], ref[v]);
  for (int i = 0; i < polygon.count; ++i) {
    const double depth = polygon.p[i].z();
    if (depth <= 0) continue;
    Vec3 p_R;
    p_R[u] = polygon.p[i].x();
    p_R[v] = polygon.p[i].y();
    p_R[axis] = side * (ref[axis] - 0.5 * depth);
    out.add(X_WR * p_R, depth);
  }
}

// Points of an edge contact: where the faces beside the edges overlap. Between nearly parallel faces the least overlap
// often is along an edge axis a hair off the faces' normals, and the whole face carries then.
void edge_points(const Shape& a, const Shape& b, const BoxPair& pair, const BestAxis& best, const Frame& X_WA,
                 ContactBuffer& out) noexcept {
  const int i = (best.code - 6) / 3, j = (best.code - 6) % 3;
  CoreStorage storage_a, storage_b;
  const Core core_a = make_core(a, Mat3::Identity(), Vec3::Zero(), storage_a);
  const Core core_b = make_core(b, pair.C, -pair.d, storage_b);
  Feature face_a, face_b;
  facing_polygon(core_a, -best.n_A, -1, face_a);
  facing_polygon(core_b, best.n_A, -1, face_b);
  PointGatherer points(best.n_A, best.depth, std::min(smallest_size(a), smallest_size(b)));
  points.intersect(face_a, face_b);
  const Vec3 n_B = pair.C.transpose() * best.n_A;
  Vec3 p_A, p_B;  // middles of the edges
  for (int k = 0; k < 3; ++k) {
    p_A[k] = k == i ? 0.0 : std::copysign(pair.a[k], -best.n_A[k]);
    p_B[k] = k == j ? 0.0 : std::copysign(pair.b[k], n_B[k]);
  }
  const Vec3 u_A = pair.a[i] * Vec3::Unit(i);
  double s = 0, t = 0;
  closest_on_segments(p_A - (pair.C * p_B - pair.d), u_A, pair.b[j] * pair.C.col(j), s, t);
  points.ensure_deepest(p_A + s * u_A);
  points.write(X_WA, out);
}

// Witness::feature_a of an axis that separates; those of overlaps are the codes as they are.
std::int32_t separating(int code) noexcept {
  return -2 - code;
}

// Does the last separating axis, moved with its features, separate them still?
bool still_apart(const BoxPair& pair, Witness& witness) noexcept {
  if (witness.axis_A.isZero(0)) return false;
  Vec3 n_A = witness.axis_A;  // a face of a, or not known: fixed in A
  const int code = code_of_feature(witness.feature_a);
  if (code >= 3 && code < 15) {
    n_A = pair.C.col(code < 6 ? code - 3 : (code - 6) % 3);
    if (code >= 6) n_A = Vec3::Unit((code - 6) / 3).cross(n_A);
    const double length2 = n_A.squaredNorm();
    if (length2 < kParallelEdges2) return false;
    n_A *= (n_A.dot(witness.axis_A) < 0 ? -1.0 : 1.0) / std::sqrt(length2);
  }
  if (overlap(pair, n_A) > 0) return false;
  witness.axis_A = n_A;
  return true;
}

}  // namespace

void collide_box_box(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                     ContactBuffer& out) noexcept {
  BoxPair pair{a.half_S, b.half_S, {}, {}, {}, {}};
  const Vec3 d_W = X_WA.p - X_WB.p;
  pair.C.noalias() = X_WA.R.transpose() * X_WB.R;
  pair.d.noalias() = X_WA.R.transpose() * d_W;
  if (still_apart(pair, witness)) return out.witnesses.add(true);
  pair.C_abs = pair.C.cwiseAbs();
  pair.d_B.noalias() = X_WB.R.transpose() * d_W;
  const int last = witness.feature_a;
  BestAxis best;
  const bool overlapping = test_faces(pair, last, witness.axis_A, best) && test_edges(pair, last, best);
  witness.axis_A = best.n_A;
  witness.feature_a = overlapping ? best.code : separating(best.code);
  out.witnesses.add(overlapping && best.code == last);
  if (!overlapping) return;
  out.nhat_BA_W = X_WA.R * best.n_A;
  out.all_on_bottom = true;  // a clipped convex face, or one point
  if (best.code < 3) {
    const Vec3 p_AB = -pair.d;
    face_points(a.half_S, b.half_S, pair.C, p_AB, best.code, best.n_A[best.code] > 0 ? -1.0 : 1.0, X_WA, out);
  } else if (best.code < 6) {
    const int j = best.code - 3;
    face_points(b.half_S, a.half_S, pair.C.transpose(), pair.d_B, j, pair.C.col(j).dot(best.n_A) > 0 ? 1.0 : -1.0, X_WB,
                out);
  } else {
    edge_points(a, b, pair, best, X_WA, out);
  }
}

}  // namespace tactus
