#include "core/collide/convex/narrow_closest.h"

#include <limits>

#include "core/check.h"
#include "core/shape/convex_hull.h"

namespace tactus {

namespace {

// Is c, which lies above the face, over it?
bool over_face(const ConvexHull& hull, const ConvexHull::Face& face, const Vec3& c) noexcept {
  const std::uint32_t* index = hull.face_vertices.data() + face.first;
  Vec3 p = hull.vertices[index[face.count - 1]];
  for (std::uint32_t i = 0; i < face.count; ++i) {
    const Vec3& q = hull.vertices[index[i]];
    if ((q - p).cross(c - p).dot(face.nhat) < 0) return false;
    p = q;
  }
  return true;
}

// Nearest point on the edges of the faces that see c.
Vec3 closest_on_edges(const ConvexHull& hull, const Vec3& c) noexcept {
  double best = std::numeric_limits<double>::infinity();
  Vec3 nearest = hull.vertices[0];
  for (const ConvexHull::Edge& edge : hull.edges) {
    const ConvexHull::Face& l = hull.faces[edge.face_left];
    const ConvexHull::Face& r = hull.faces[edge.face_right];
    if (l.nhat.dot(c) < l.offset && r.nhat.dot(c) < r.offset) continue;
    const Vec3& p = hull.vertices[edge.vertex_a];
    const Vec3 e = hull.vertices[edge.vertex_b] - p;
    const double s = std::clamp(e.dot(c - p) / e.squaredNorm(), 0.0, 1.0);
    const Vec3 q = p + s * e;
    const double d2 = (c - q).squaredNorm();
    if (d2 < best) {
      best = d2;
      nearest = q;
    }
  }
  return nearest;
}

}  // namespace

std::int32_t closest_on_hull(const ConvexHull& hull, const Vec3& c, double reach, std::int32_t hint, Vec3& nhat,
                             double& distance) noexcept {
  TACTUS_DCHECK(!hull.faces.empty());
  const std::int32_t faces = static_cast<std::int32_t>(hull.faces.size());
  if (hint >= 0 && hint < faces) {  // the face that separated them last time
    const ConvexHull::Face& face = hull.faces[static_cast<std::size_t>(hint)];
    distance = face.nhat.dot(c) - face.offset;
    nhat = face.nhat;
    if (distance >= reach) return hint;
  }
  std::int32_t best = 0;
  distance = -std::numeric_limits<double>::infinity();
  for (std::int32_t i = 0; i < faces; ++i) {
    const ConvexHull::Face& face = hull.faces[static_cast<std::size_t>(i)];
    const double s = face.nhat.dot(c) - face.offset;
    if (s > distance) {
      distance = s;
      best = i;
    }
  }
  const ConvexHull::Face& face = hull.faces[static_cast<std::size_t>(best)];
  nhat = face.nhat;
  if (distance <= 0 || distance >= reach || over_face(hull, face, c)) return best;
  const Vec3 v = c - closest_on_edges(hull, c);
  const double length = std::sqrt(v.squaredNorm());
  if (length > 1e-150) {
    distance = length;
    nhat = v * (1.0 / length);
  }
  return best;
}

}  // namespace tactus
