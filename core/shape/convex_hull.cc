#include "core/shape/convex_hull.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace tactus {

namespace {

using Index = std::uint32_t;
using Loop = std::vector<Index>;  // a face: indices into the input, counter-clockwise seen from outside

struct Plane {
  Vec3 nhat = Vec3::Zero();
  double offset = 0;
};

// The lowest point of a planar set along u, then v: an extreme point even when many points tie within eps.
Index extreme_in_band(std::span<const Vec3> points, const Loop& set, const Vec3& u, const Vec3& v, double eps) {
  double low = std::numeric_limits<double>::infinity();
  for (const Index i : set) low = std::min(low, points[i].dot(u));
  Index best = set.front();
  double best_v = std::numeric_limits<double>::infinity();
  for (const Index i : set) {
    const double s = points[i].dot(v);
    if (points[i].dot(u) <= low + eps && s < best_v) {
      best = i;
      best_v = s;
    }
  }
  return best;
}

// Convex polygon of points in one plane by wrapping: from each corner the next one has all others on its left; of
// points on one line the farthest, so that points along an edge are no corners. Empty when it does not close
// (numerically inconsistent).
Loop planar_hull(std::span<const Vec3> points, const Loop& set, const Vec3& nhat, double eps) {
  Vec3 u, v;
  tangent_basis(nhat, u, v);
  const Index start = extreme_in_band(points, set, u, v, eps);
  Loop loop{start};
  Index at = start;
  while (loop.size() <= set.size()) {
    Index next = at;
    Vec3 to_next = Vec3::Zero();
    for (const Index i : set) {
      const Vec3 d = points[i] - points[at];
      const double length = d.norm();
      if (length <= eps) continue;
      const double next_length = to_next.norm();
      const double side = nhat.dot(to_next.cross(d)) / std::max(length, next_length);
      if (next == at || side < -eps || (side <= eps && length > next_length && d.dot(to_next) > 0)) {
        next = i;
        to_next = d;
      }
    }
    if (next == at) return {};
    if (next == start) return loop;
    loop.push_back(next);
    at = next;
  }
  return {};
}

// Newell's normal of a loop and the mean offset: the best plane through all corners.
Plane fit_plane(std::span<const Vec3> points, const Loop& loop) {
  Vec3 mean = Vec3::Zero();
  for (const Index i : loop) mean += points[i];
  mean /= static_cast<double>(loop.size());
  Vec3 area = Vec3::Zero();
  for (std::size_t k = 0; k < loop.size(); ++k) {
    area += (points[loop[k]] - mean).cross(points[loop[(k + 1) % loop.size()]] - mean);
  }
  Plane plane;
  plane.nhat = area.normalized();
  plane.offset = plane.nhat.dot(mean);
  return plane;
}

// Gift wrapping with whole planar faces as steps (Chand & Kapur 1970): coplanar points are one face from the start, so
// no facet ever has to be merged and slivers cannot arise. O(points * edges).
class Wrapper {
 public:
  Wrapper(std::span<const Vec3> points, double eps, std::size_t max_vertices)
      : points_(points), eps_(eps), max_vertices_(max_vertices), used_(points.size(), false) {}

  // nullptr on success, else the reason.
  const char* run() {
    Loop first;
    if (const char* why = first_face(first)) return why;
    if (const char* why = add_face(first)) return why;
    for (std::size_t k = 0; k < pending_.size(); ++k) {
      const auto [a, b] = pending_[k];
      if (half_edges_.count({b, a}) != 0) continue;
      Loop next;
      if (const char* why = face_across(a, b, next)) return why;
      if (const char* why = add_face(next)) return why;
    }
    for (const auto& [key, face] : half_edges_) {
      if (half_edges_.count({key.second, key.first}) == 0) return kInconsistent;
    }
    if (vertex_count_ + loops_.size() != half_edges_.size() / 2 + 2) return kInconsistent;  // Euler
    return nullptr;
  }

  static constexpr const char* kInconsistent = "points are too close to each other or to one plane to decide the faces";
  static constexpr const char* kFlat = "all points lie in one plane or on one line";
  static constexpr const char* kTooMany = "more extreme points than the limit of vertices";

  std::vector<Loop> loops_;
  std::vector<Plane> planes_;
  std::map<std::pair<Index, Index>, Index> half_edges_;  // directed edge -> face

 private:
  Loop points_on(const Plane& plane) const {
    Loop set;
    for (Index i = 0; i < points_.size(); ++i) {
      if (std::abs(plane.nhat.dot(points_[i]) - plane.offset) <= eps_) set.push_back(i);
    }
    return set;
  }

  const char* face_on(Plane plane, Loop& loop) const {
    for (int pass = 0; pass < 2; ++pass) {  // the second pass sees the plane fitted to the whole face
      const Loop set = points_on(plane);
      if (set.size() < 3) return kInconsistent;
      loop = planar_hull(points_, set, plane.nhat, eps_);
      if (loop.size() < 3) return kInconsistent;
      plane = fit_plane(points_, loop);
    }
    return nullptr;
  }

  // Turns the supporting plane at an extreme point about a line in it until it hits a point. If it then touches in one
  // line only, that line is an edge, and turning about it gives a face.
  const char* first_face(Loop& loop) const {
    Loop all(points_.size());
    for (Index i = 0; i < all.size(); ++i) all[i] = i;
    const Index a = extreme_in_band(points_, all, Vec3::UnitX(), Vec3::UnitY(), eps_);
    Plane plane;
    Index b = a;
    if (!turn(points_[a], -Vec3::UnitX(), Vec3::UnitY(), plane.nhat, b)) return kFlat;
    plane.offset = plane.nhat.dot(points_[a]);
    if (planar_hull(points_, points_on(plane), plane.nhat, eps_).size() >= 3) return face_on(plane, loop);
    const Vec3 e = (points_[b] - points_[a]).normalized();
    const Vec3 n = (plane.nhat - e * e.dot(plane.nhat)).normalized();
    Index c = a;
    if (!turn(points_[a], n, e.cross(n), plane.nhat, c)) return kFlat;
    plane.offset = plane.nhat.dot(points_[a]);
    return face_on(plane, loop);
  }

  // First point hit by the half-plane from the line through p, perpendicular to n and t, that starts along t with
  // outward normal n and turns towards -n; of points hit together the farthest. Also the plane's outward normal then.
  bool turn(const Vec3& p, const Vec3& n, const Vec3& t, Vec3& nhat, Index& hit) const {
    double hx = 0, hy = 0, reach = 0;
    for (Index i = 0; i < points_.size(); ++i) {
      const Vec3 d = points_[i] - p;
      const double x = d.dot(t);
      const double y = -d.dot(n);
      const double r = std::sqrt(x * x + y * y);
      if (r <= 4 * eps_ || (y <= eps_ && x <= 0)) continue;  // on the line or on the face that we come from
      const double behind = (hx * y - hy * x) / std::max(r, reach);
      if (reach == 0 || behind < -1e-3 * eps_ || (behind <= 1e-3 * eps_ && r > reach)) {
        hx = x;
        hy = y;
        reach = r;
        hit = i;
      }
    }
    if (reach == 0) return false;
    nhat = (hx * n + hy * t) / reach;
    return true;
  }

  const char* face_across(Index a, Index b, Loop& loop) const {
    const Vec3 n = planes_[half_edges_.at({a, b})].nhat;
    const Vec3 e = (points_[b] - points_[a]).normalized();
    const Vec3 t = e.cross(n);
    Index c = a;
    Plane plane;
    if (!turn(points_[a], n, t, plane.nhat, c)) return kFlat;
    plane.offset = plane.nhat.dot(points_[a]);
    if (const char* why = face_on(plane, loop)) return why;
    for (std::size_t k = 0; k < loop.size(); ++k) {
      if (loop[k] == b && loop[(k + 1) % loop.size()] == a) return nullptr;
    }
    return kInconsistent;
  }

  const char* add_face(const Loop& loop) {
    const Index face = static_cast<Index>(loops_.size());
    for (std::size_t k = 0; k < loop.size(); ++k) {
      const Index a = loop[k];
      const Index b = loop[(k + 1) % loop.size()];
      if (!half_edges_.insert({{a, b}, face}).second) return kInconsistent;
      pending_.push_back({a, b});
      if (!used_[a]) {
        used_[a] = true;
        if (++vertex_count_ > max_vertices_) return kTooMany;
      }
    }
    loops_.push_back(loop);
    planes_.push_back(fit_plane(points_, loop));
    return nullptr;
  }

  std::span<const Vec3> points_;
  double eps_;
  std::size_t max_vertices_, vertex_count_ = 0;
  std::vector<bool> used_;
  std::vector<std::pair<Index, Index>> pending_;
};

void fill_neighbours(ConvexHull& hull) {
  hull.neighbours_first.assign(hull.vertices.size() + 1, 0);
  for (const auto& edge : hull.edges) {
    ++hull.neighbours_first[edge.vertex_a + 1];
    ++hull.neighbours_first[edge.vertex_b + 1];
  }
  for (std::size_t i = 1; i < hull.neighbours_first.size(); ++i)
    hull.neighbours_first[i] += hull.neighbours_first[i - 1];
  hull.neighbours.resize(2 * hull.edges.size());
  std::vector<Index> at(hull.neighbours_first.begin(), hull.neighbours_first.end() - 1);
  for (const auto& edge : hull.edges) {
    hull.neighbours[at[edge.vertex_a]++] = edge.vertex_b;
    hull.neighbours[at[edge.vertex_b]++] = edge.vertex_a;
  }
}

// Volume centroid by tetrahedra from the first vertex.
Vec3 hull_centroid(const ConvexHull& hull) {
  const Vec3 o = hull.vertices.front();
  double volume = 0;
  Vec3 moment = Vec3::Zero();
  for (const auto& face : hull.faces) {
    const Index* index = hull.face_vertices.data() + face.first;
    const Vec3 a = hull.vertices[index[0]] - o;
    for (Index i = 1; i + 1 < face.count; ++i) {
      const Vec3 b = hull.vertices[index[i]] - o;
      const Vec3 c = hull.vertices[index[i + 1]] - o;
      const double v = a.dot(b.cross(c));
      volume += v;
      moment += v * (a + b + c) * 0.25;
    }
  }
  return o + moment / volume;
}

// Vertices keep the order of the input, so the same points give the same hull.
void export_hull(std::span<const Vec3> points, const Wrapper& wrapper, const Vec3& shift, ConvexHull& out) {
  out = ConvexHull{};
  std::vector<Index> number(points.size(), 0);
  for (const auto& [key, face] : wrapper.half_edges_) number[key.first] = 1;
  for (Index i = 0; i < points.size(); ++i) {
    if (number[i] == 0) continue;
    number[i] = static_cast<Index>(out.vertices.size());
    out.vertices.push_back(points[i] + shift);
  }
  for (std::size_t f = 0; f < wrapper.loops_.size(); ++f) {
    ConvexHull::Face face;
    face.nhat = wrapper.planes_[f].nhat;
    face.offset = wrapper.planes_[f].offset + face.nhat.dot(shift);
    face.first = static_cast<Index>(out.face_vertices.size());
    face.count = static_cast<Index>(wrapper.loops_[f].size());
    out.faces.push_back(face);
    for (const Index i : wrapper.loops_[f]) out.face_vertices.push_back(number[i]);
  }
  for (const auto& [key, face] : wrapper.half_edges_) {
    if (key.first > key.second) continue;
    out.edges.push_back({number[key.first], number[key.second], face, wrapper.half_edges_.at({key.second, key.first})});
  }
  fill_neighbours(out);
  out.centroid = hull_centroid(out);
  for (const Vec3& p : out.vertices) out.radius = std::max(out.radius, p.norm());
}

// The points in their order, without those closer than eps to an earlier-kept one. O(n lg n) for points that spread
// along x.
std::vector<Vec3> without_duplicates(const std::vector<Vec3>& points, double eps) {
  std::vector<Index> order(points.size());
  for (Index i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](Index i, Index j) {
    return points[i].x() < points[j].x() || (points[i].x() == points[j].x() && i < j);
  });
  std::vector<bool> dropped(points.size(), false);
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (dropped[order[k]]) continue;
    for (std::size_t m = k + 1; m < order.size() && points[order[m]].x() - points[order[k]].x() <= eps; ++m) {
      if ((points[order[m]] - points[order[k]]).squaredNorm() <= eps * eps) dropped[order[m]] = true;
    }
  }
  std::vector<Vec3> kept;
  for (Index i = 0; i < points.size(); ++i) {
    if (!dropped[i]) kept.push_back(points[i]);
  }
  return kept;
}

}  // namespace

bool build_convex_hull(std::span<const Vec3> points, std::size_t max_vertices, ConvexHull& out, std::string& error) {
  if (points.size() < 4) {
    error = "fewer than 4 points";
    return false;
  }
  Vec3 lo = points[0], hi = points[0];
  for (const Vec3& p : points) {
    if (!p.allFinite()) {
      error = "a point is not finite";
      return false;
    }
    lo = lo.cwiseMin(p);
    hi = hi.cwiseMax(p);
  }
  const double size = (hi - lo).norm();
  if (!(size > 0)) {
    error = "all points are the same";
    return false;
  }
  const Vec3 shift = 0.5 * (lo + hi);  // far from the origin the faces would lose digits
  std::vector<Vec3> local(points.begin(), points.end());
  for (Vec3& p : local) p -= shift;
  // Points that are coplanar up to a noise near the tolerance can be undecidable; a coarser tolerance decides them.
  for (double eps = 1e-9; eps < 2e-6; eps *= 10) {
    const std::vector<Vec3> distinct = without_duplicates(local, 8 * eps * size);
    Wrapper wrapper(distinct, eps * size, max_vertices);
    const char* why = wrapper.run();
    if (why == nullptr) {
      export_hull(distinct, wrapper, shift, out);
      return true;
    }
    error = why;
    if (why == Wrapper::kTooMany) return false;
  }
  return false;
}

}  // namespace tactus
