// Clipping of small convex polygons in the plane of a reference face (Sutherland & Hodgman 1974).
#pragma once

#include "core/check.h"
#include "core/math/spatial.h"

namespace tactus {

// Corners (u, v, depth below the reference face); depth is interpolated. Capacity: a polygon gains at most one corner
// per cut.
struct ClipPolygon {
  static constexpr int kCapacity = 16;
  Vec3 p[kCapacity];
  int count = 0;
};

// Keeps the part with sign * p[axis] <= limit.
template <int axis>
inline void clip_axis(ClipPolygon& polygon, double sign, double limit) noexcept {
  bool any = false;
  for (int i = 0; i < polygon.count; ++i) any |= sign * polygon.p[i][axis] > limit;
  if (!any) return;
  ClipPolygon out;
  for (int i = 0; i < polygon.count; ++i) {
    const Vec3& p = polygon.p[i];
    const Vec3& q = polygon.p[i + 1 == polygon.count ? 0 : i + 1];
    const double sp = sign * p[axis] - limit;
    const double sq = sign * q[axis] - limit;
    TACTUS_DCHECK(out.count + 2 <= ClipPolygon::kCapacity);
    if (sp <= 0) out.p[out.count++] = p;
    if ((sp < 0 && sq > 0) || (sp > 0 && sq < 0)) out.p[out.count++] = p + (sp / (sp - sq)) * (q - p);
  }
  polygon = out;
}

// Keeps the part with |u| <= half_u and |v| <= half_v.
inline void clip_to_rectangle(ClipPolygon& polygon, double half_u, double half_v) noexcept {
  clip_axis<0>(polygon, 1, half_u);
  clip_axis<0>(polygon, -1, half_u);
  clip_axis<1>(polygon, 1, half_v);
  clip_axis<1>(polygon, -1, half_v);
}

}  // namespace tactus
