#include "core/collide/feature/feature_shape.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/shape/convex_hull.h"

namespace tactus {

namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // (owner, entry), in the order of the lists

FeatureShape::Lists make_lists(std::size_t owners, const Pairs& pairs) {
  FeatureShape::Lists lists;
  lists.first.assign(owners + 1, 0);
  for (const auto& [owner, entry] : pairs) ++lists.first[owner + 1];
  for (std::size_t i = 0; i < owners; ++i) lists.first[i + 1] += lists.first[i];
  lists.entries.resize(pairs.size());
  std::vector<std::uint32_t> next(lists.first.begin(), lists.first.end() - 1);
  for (const auto& [owner, entry] : pairs) lists.entries[next[owner]++] = entry;
  return lists;
}

void take_hull(const ConvexHull& hull, FeatureShape& out) {
  out.kind = FeatureShape::Kind::solid;
  out.vertices = hull.vertices;
  out.face_vertices = hull.face_vertices;
  Pairs faces, edges, neighbours;
  for (std::uint32_t f = 0; f < hull.faces.size(); ++f) {
    const ConvexHull::Face& face = hull.faces[f];
    out.faces.push_back({face.nhat, face.first, face.count});
    for (std::uint32_t k = 0; k < face.count; ++k) faces.emplace_back(hull.face_vertices[face.first + k], f);
  }
  for (std::uint32_t e = 0; e < hull.edges.size(); ++e) {
    const ConvexHull::Edge& edge = hull.edges[e];
    out.edges.push_back({edge.vertex_a, edge.vertex_b, edge.face_left, edge.face_right});
    edges.emplace_back(edge.vertex_a, e), edges.emplace_back(edge.vertex_b, e);
    neighbours.emplace_back(edge.vertex_a, edge.vertex_b), neighbours.emplace_back(edge.vertex_b, edge.vertex_a);
  }
  out.vertex_faces = make_lists(out.vertices.size(), faces);
  out.vertex_edges = make_lists(out.vertices.size(), edges);
  out.vertex_neighbours = make_lists(out.vertices.size(), neighbours);
}

double turn(const Vec3& a, const Vec3& b, const Vec3& c) {
  return (b.x() - a.x()) * (c.y() - a.y()) - (b.y() - a.y()) * (c.x() - a.x());
}

// Convex outline of the points' projection on x-y, counter-clockwise (Andrew's chains); points closer to a side than
// 1e-9 of the size are left out.
std::vector<Vec3> outline(std::vector<Vec3> points) {
  std::sort(points.begin(), points.end(),
            [](const Vec3& a, const Vec3& b) { return a.x() < b.x() || (a.x() == b.x() && a.y() < b.y()); });
  double size = 0;
  for (const Vec3& p : points) size = std::max(size, (p - points.front()).head<2>().squaredNorm());
  std::vector<Vec3> chain;
  for (int half = 0; half < 2; ++half) {
    const std::size_t start = chain.size();
    for (const Vec3& p : points) {
      while (chain.size() >= start + 2 && turn(chain[chain.size() - 2], chain.back(), p) <= 1e-9 * size) {
        chain.pop_back();
      }
      if (chain.size() == start || (chain.back() - p).head<2>().squaredNorm() > 1e-18 * size) chain.push_back(p);
    }
    chain.pop_back();
    std::reverse(points.begin(), points.end());
  }
  return chain;
}

void make_polygon(const Mat3& R_WS, FeatureShape& shape) {
  std::vector<Vec3> turned;
  for (const Vec3& p : shape.vertices) turned.push_back(R_WS * p);
  const std::vector<Vec3> corners = outline(turned);
  const auto n = static_cast<std::uint32_t>(corners.size());
  TACTUS_ASSERT(n >= 3);
  shape = {};
  shape.kind = FeatureShape::Kind::solid;
  shape.planar = true;
  Pairs faces, neighbours;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t next = (i + 1) % n, last = (i + n - 1) % n;
    const Vec3 d = corners[next] - corners[i];
    const Vec3 nhat = Vec3(d.y(), -d.x(), 0).normalized();
    shape.vertices.push_back(R_WS.transpose() * corners[i]);
    shape.faces.push_back({R_WS.transpose() * nhat, 2 * i, 2});
    shape.face_vertices.push_back(i), shape.face_vertices.push_back(next);
    faces.emplace_back(i, i), faces.emplace_back(i, last);
    neighbours.emplace_back(i, next), neighbours.emplace_back(i, last);
  }
  shape.vertex_faces = make_lists(n, faces);
  shape.vertex_edges = make_lists(n, {});
  shape.vertex_neighbours = make_lists(n, neighbours);
}

}  // namespace

FeatureShape make_feature_shape(const Shape& shape, bool planar, const Mat3& R_WS) {
  FeatureShape out;
  if (shape.kind == ShapeKind::half_space) {
    out.kind = FeatureShape::Kind::plane;
    out.faces.push_back({Vec3::UnitZ(), 0, 0});
  } else if (shape.kind == ShapeKind::convex) {
    take_hull(*shape.hull, out);
  } else if (shape.kind == ShapeKind::box) {
    std::vector<Vec3> corners;
    for (int i = 0; i < 8; ++i) {
      const Vec3 sign((i & 1) != 0 ? 1 : -1, (i & 2) != 0 ? 1 : -1, (i & 4) != 0 ? 1 : -1);
      corners.push_back(shape.half_S.cwiseProduct(sign));
    }
    ConvexHull hull;
    std::string error;
    const bool built = build_convex_hull(corners, 8, hull, error);
    TACTUS_ASSERT(built);
    take_hull(hull, out);
  }
  if (planar && out.kind == FeatureShape::Kind::solid) make_polygon(R_WS, out);
  return out;
}

}  // namespace tactus
