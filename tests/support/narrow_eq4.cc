#include "tests/support/narrow_eq4.h"

#include <algorithm>
#include <limits>

#include "core/collide/convex/narrow_core.h"

namespace tactus::test {

namespace {

constexpr int kMaxFacets = 256, kMaxPoints = 1024, kMaxCorners = 96;

struct Polygon {
  Vec3 p[kMaxCorners];
  int count = 0;
};

// Facets of both solids that touch the other, and the corners of the overlap; in A's frame.
struct Overlap {
  Vec3 nhat[2 * kMaxFacets];  // outward
  double offset[2 * kMaxFacets];
  bool of_a[2 * kMaxFacets];
  int facets = 0;
  Vec3 points[kMaxPoints];
  int count = 0;
};

// Keeps the part with nhat . p <= offset.
void cut(const Vec3& nhat, double offset, Polygon& polygon) noexcept {
  Polygon out;
  for (int i = 0; i < polygon.count; ++i) {
    const Vec3& p = polygon.p[i];
    const Vec3& q = polygon.p[i + 1 == polygon.count ? 0 : i + 1];
    const double sp = nhat.dot(p) - offset, sq = nhat.dot(q) - offset;
    if (sp <= 0 && out.count < kMaxCorners) out.p[out.count++] = p;
    if (((sp < 0 && sq > 0) || (sp > 0 && sq < 0)) && out.count < kMaxCorners) {
      out.p[out.count++] = p + (sp / (sp - sq)) * (q - p);
    }
  }
  polygon = out;
}

// Clips each facet of x by the solid y; what is left touches y, and its corners are corners of the overlap.
void gather(const Core& x, const Core& y, bool x_is_a, Overlap& out) noexcept {
  for (int f = 0; f < x.face_count; ++f) {
    const ConvexHull::Face& face = x.faces[f];
    Polygon polygon;
    for (std::uint32_t i = 0; i < face.count && polygon.count < kMaxCorners / 2; ++i) {
      polygon.p[polygon.count++] = x.R * x.vertices[x.face_vertices[face.first + i]] + x.p;
    }
    for (int g = 0; g < y.face_count && polygon.count > 0; ++g) {
      const Vec3 n = y.R * y.faces[g].nhat;
      cut(n, y.faces[g].offset + n.dot(y.p), polygon);
    }
    if (polygon.count == 0) continue;
    const Vec3 n = x.R * face.nhat;
    out.nhat[out.facets] = n;
    out.offset[out.facets] = face.offset + n.dot(x.p);
    out.of_a[out.facets++] = x_is_a;
    for (int i = 0; i < polygon.count && out.count < kMaxPoints; ++i) out.points[out.count++] = polygon.p[i];
  }
}

// How deep p is in a solid: the distance to its nearest plane.
double depth_in(const Core& x, const Vec3& p) noexcept {
  double depth = std::numeric_limits<double>::infinity();
  const Vec3 p_X = x.R.transpose() * (p - x.p);
  for (int f = 0; f < x.face_count; ++f) depth = std::min(depth, x.faces[f].offset - x.faces[f].nhat.dot(p_X));
  return depth;
}

double farthest(const Overlap& s, int facet) noexcept {
  double most = 0;
  for (int j = 0; j < s.count; ++j) most = std::max(most, std::abs(s.nhat[facet].dot(s.points[j]) - s.offset[facet]));
  return most;
}

}  // namespace

bool eq4_normal(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Eq4Normal& out) noexcept {
  CoreStorage storage_a, storage_b;
  const Mat3 R_AB = X_WA.R.transpose() * X_WB.R;
  const Core x = make_core(a, Mat3::Identity(), Vec3::Zero(), storage_a);
  const Core y = make_core(b, R_AB, X_WA.R.transpose() * (X_WB.p - X_WA.p), storage_b);
  if (x.face_count > kMaxFacets || y.face_count > kMaxFacets) return false;
  Overlap s;
  gather(x, y, true, s);
  gather(y, x, false, s);
  if (s.facets == 0 || s.count == 0) return false;
  // The point of deepest penetration: farthest inside whichever solid it is a corner's intruder of.
  int deepest = 0;
  double most = -1;
  for (int j = 0; j < s.count; ++j) {
    const double depth = std::max(depth_in(x, s.points[j]), depth_in(y, s.points[j]));
    if (depth > most) {
      most = depth;
      deepest = j;
    }
  }
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < s.facets; ++i) {
    const double d = std::abs(s.nhat[i].dot(s.points[deepest]) - s.offset[i]);
    // The deepest point lies in the facets of its own solid, which say nothing about the other: distance about zero.
    if (d > 1e-9 * most && d < least) {
      least = d;
      best = i;
    }
  }
  out.by_shortcut = least < std::numeric_limits<double>::infinity() && farthest(s, best) <= least * (1 + 1e-12);
  if (!out.by_shortcut) {
    least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < s.facets; ++i) {
      const double d = farthest(s, i);
      if (d < least) {
        least = d;
        best = i;
      }
    }
  }
  out.depth = least;
  out.nhat_BA_W = X_WA.R * (s.of_a[best] ? Vec3(-s.nhat[best]) : s.nhat[best]);
  return true;
}

}  // namespace tactus::test
