#include "core/collide/convex/narrow_core.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// Corners of a box: bit 0 is x, bit 1 y, bit 2 z. Faces +x -x +y -y +z -z, counter-clockwise from outside.
constexpr std::array<std::uint32_t, 24> kBoxFaceVertices{1, 3, 7, 5, 0, 4, 6, 2, 2, 6, 7, 3,
                                                         0, 1, 5, 4, 4, 5, 7, 6, 0, 2, 3, 1};

constexpr int face_with_edge(std::uint32_t a, std::uint32_t b) {
  for (int f = 0; f < 6; ++f) {
    for (int i = 0; i < 4; ++i) {
      if (kBoxFaceVertices[static_cast<std::size_t>(4 * f + i)] == a &&
          kBoxFaceVertices[static_cast<std::size_t>(4 * f + (i + 1) % 4)] == b) {
        return f;
      }
    }
  }
  return -1;
}

constexpr std::array<ConvexHull::Edge, 12> box_edges() {
  std::array<ConvexHull::Edge, 12> edges{};
  std::size_t count = 0;
  for (std::uint32_t a = 0; a < 8; ++a) {
    for (const std::uint32_t bit : {1u, 2u, 4u}) {
      const std::uint32_t b = a | bit;
      if (b == a) continue;
      edges[count++] = {a, b, static_cast<std::uint32_t>(face_with_edge(a, b)),
                        static_cast<std::uint32_t>(face_with_edge(b, a))};
    }
  }
  return edges;
}

constexpr std::array<ConvexHull::Edge, 12> kBoxEdges = box_edges();
constexpr ConvexHull::Edge kSegmentEdge{0, 1, 0, 0};  // has no faces

void make_box_core(const Vec3& half, Core& core, CoreStorage& storage) noexcept {
  TACTUS_DCHECK((half.array() > 0).all());
  for (int i = 0; i < 8; ++i) {
    storage.vertices[i] = {(i & 1) != 0 ? half.x() : -half.x(), (i & 2) != 0 ? half.y() : -half.y(),
                           (i & 4) != 0 ? half.z() : -half.z()};
  }
  for (int f = 0; f < 6; ++f) {
    storage.faces[f].nhat = ((f & 1) != 0 ? -1.0 : 1.0) * Vec3::Unit(f / 2);
    storage.faces[f].offset = half[f / 2];
    storage.faces[f].first = static_cast<std::uint32_t>(4 * f);
    storage.faces[f].count = 4;
  }
  core.vertices = storage.vertices;
  core.vertex_count = 8;
  core.faces = storage.faces;
  core.face_count = 6;
  core.edges = kBoxEdges.data();
  core.edge_count = 12;
  core.face_vertices = kBoxFaceVertices.data();
}

// Height of a solid above its own origin along the unit vector d, in its own frame.
double own_height(const Shape& shape, const Vec3& d) noexcept {
  switch (shape.kind) {
    case ShapeKind::sphere:
      return shape.radius;
    case ShapeKind::box:
      return shape.half_S.dot(d.cwiseAbs());
    case ShapeKind::capsule:
      return shape.radius + shape.half_length * std::abs(d.z());
    case ShapeKind::cylinder:
      return shape.half_length * std::abs(d.z()) + shape.radius * std::sqrt(d.x() * d.x() + d.y() * d.y());
    case ShapeKind::half_space:
    case ShapeKind::convex:
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      break;
  }
  TACTUS_DCHECK(shape.kind == ShapeKind::convex);
  const ConvexHull& hull = *shape.hull;
  double height = hull.vertices[0].dot(d);
  for (std::size_t i = 1; i < hull.vertices.size(); ++i) height = std::max(height, hull.vertices[i].dot(d));
  return height;
}

}  // namespace

bool apart_along_witness(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
                         const Witness& witness) noexcept {
  if (witness.axis_A.isZero(0)) return false;
  const Vec3 n_W = X_WA.R * witness.axis_A;
  const double gap = n_W.dot(X_WA.p - X_WB.p) - own_height(a, -witness.axis_A);
  const Vec3 n_B = X_WB.R.transpose() * n_W;
  return gap >= own_height(b, n_B);
}

Core make_core(const Shape& shape, const Mat3& R, const Vec3& p, CoreStorage& storage) noexcept {
  TACTUS_DCHECK(is_rotation(R));
  Core core;
  core.R = R;
  core.p = p;
  switch (shape.kind) {
    case ShapeKind::box:
      make_box_core(shape.half_S, core, storage);
      break;
    case ShapeKind::capsule:
      storage.vertices[0] = {0, 0, -shape.half_length};
      storage.vertices[1] = {0, 0, shape.half_length};
      core.vertices = storage.vertices;
      core.vertex_count = 2;
      core.edges = &kSegmentEdge;
      core.edge_count = 1;
      break;
    case ShapeKind::cylinder:
      core.radius = shape.radius;
      core.half_length = shape.half_length;
      break;
    case ShapeKind::convex: {
      const ConvexHull& hull = *shape.hull;
      core.vertices = hull.vertices.data();
      core.vertex_count = static_cast<int>(hull.vertices.size());
      core.faces = hull.faces.data();
      core.face_count = static_cast<int>(hull.faces.size());
      core.edges = hull.edges.data();
      core.edge_count = static_cast<int>(hull.edges.size());
      core.face_vertices = hull.face_vertices.data();
      break;
    }
    case ShapeKind::sphere:
    case ShapeKind::half_space:
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      TACTUS_ASSERT(!"no core for this kind");
      break;
  }
  return core;
}

}  // namespace tactus
