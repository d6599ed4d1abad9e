// Closest points between elementary features: the inner pieces of the closed forms.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/math/spatial.h"

namespace tactus {

struct ConvexHull;

// Signed distance of point c from the surface of a convex polyhedron (negative inside) and the unit direction from the
// nearest surface point to c (inside: the normal of the nearest face). Distances beyond `reach` may be returned as any
// separating face's distance. hint: a face index remembered from the last call, or anything. Returns the face with the
// largest distance. O(faces + edges).
std::int32_t closest_on_hull(const ConvexHull& hull, const Vec3& c, double reach, std::int32_t hint, Vec3& nhat,
                             double& distance) noexcept;

// Parameters in [-1, 1] of the closest points c_a + s u_a, c_b + t u_b of two segments given by centre and half vector,
// d = c_a - c_b. Parallel segments: the middle of the common part. (Lumelsky 1985, as in Ericson 5.1.9.)
inline void closest_on_segments(const Vec3& d, const Vec3& u_a, const Vec3& u_b, double& s, double& t) noexcept {
  const double aa = u_a.squaredNorm();
  const double bb = u_b.squaredNorm();
  const double ab = u_a.dot(u_b);
  const double da = d.dot(u_a);
  const double db = d.dot(u_b);
  const double det = aa * bb - ab * ab;
  if (aa <= 0 && bb <= 0) {
    s = t = 0;
  } else if (aa <= 0) {
    s = 0;
    t = std::clamp(db / bb, -1.0, 1.0);
  } else if (det > 1e-14 * aa * bb) {
    s = std::clamp((ab * db - bb * da) / det, -1.0, 1.0);
    const double t_free = (ab * s + db) / bb;
    t = std::clamp(t_free, -1.0, 1.0);
    if (t != t_free) s = std::clamp((ab * t - da) / aa, -1.0, 1.0);
  } else {
    // Parallel: b's ends on a's parameter; the middle of the common part, or the nearest ends when there is none.
    const double centre = -da / aa;
    const double half = std::abs(ab) / aa;
    const double lo = std::max(-1.0, centre - half);
    const double hi = std::min(1.0, centre + half);
    s = lo <= hi ? 0.5 * (lo + hi) : (centre > 0 ? 1.0 : -1.0);
    t = bb > 0 ? std::clamp((ab * s + db) / bb, -1.0, 1.0) : 0.0;
  }
}

}  // namespace tactus
