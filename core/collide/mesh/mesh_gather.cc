// Which points of either solid are inside the other: the vertices of meshes through their tree, pruned by the other's
// signed distance, and the features of primitives. A tree node is left out when the distance at its centre exceeds its
// radius, so patches that no triangle of the other cuts are found as well.
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/collide/convex/narrow_core.h"
#include "core/collide/mesh/mesh_contact.h"
#include "core/shape/mesh/distance_field.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

namespace {

// Least distance that a reported distance stands for: fields err by kGrowth between their test points, at most twice.
constexpr double kTrust = 1 - 3 * DistanceField::kGrowth;

constexpr double kOnFacet = 0.97;  // cosine: a nearest point in a facet's inside, or on a slight bend

bool shallower(const MeshPoint& x, const MeshPoint& y) noexcept {
  return x.distance > y.distance;  // a heap with the shallowest on top
}

// Is the ball around a box of side `from`'s tree clear of the other solid?
class Pruner {
 public:
  Pruner(const MeshPair& pair, int from) : from_(pair.side[from]), to_(pair.side[1 - from]) {
    const Shape& shape = *to_.shape;
    slack_ = shape.kind == ShapeKind::mesh ? 4 * shape.mesh->field->tolerance : 0;
    bounded_ = shape.kind == ShapeKind::mesh;
  }
  bool operator()(const Vec3& lo, const Vec3& hi) const noexcept {
    const Vec3 centre = from_.X * Vec3(0.5 * (lo + hi));
    const double radius = 0.5 * (hi - lo).norm();
    if (bounded_ && beyond_bounds(centre, radius)) return false;
    return kTrust * sample_solid(to_, centre).distance - slack_ <= radius;
  }
  [[nodiscard]] bool beyond_bounds(const Vec3& p, double radius) const noexcept {
    const TriangleMesh& mesh = *to_.shape->mesh;
    const Vec3 q = to_.X.to_local(p);
    return (mesh.lo - q).maxCoeff() > radius || (q - mesh.hi).maxCoeff() > radius;
  }
  [[nodiscard]] bool bounded() const noexcept { return bounded_; }

 private:
  const MeshSide &from_, &to_;
  double slack_ = 0;
  bool bounded_ = false;
};

void add_vertex(MeshPair& pair, int owner, const Vec3& p) noexcept {
  const SolidSample s = sample_solid(pair.side[1 - owner], p);
  if (s.distance >= 0) return;
  MeshPoint point{};
  point.p = p;
  point.nhat_BA = owner == 0 ? s.gradient : Vec3(-s.gradient);
  point.along = Vec3::Zero();
  point.distance = -s.distance;
  point.facet = s.facet, point.triangle = s.triangle;
  point.kind = MeshPointKind::vertex;
  point.of_a = owner == 0;
  Vec3 nhat;
  double offset = 0;
  point.corner = s.triangle != kNoFacet && facet_plane(pair.side[1 - owner], s.facet, s.triangle, nhat, offset) &&
                 nhat.dot(s.gradient) < kOnFacet;
  pair.add(point);
}

void gather_mesh(MeshPair& pair, int owner) noexcept {
  const MeshSide& side = pair.side[owner];
  const TriangleMesh& mesh = *side.shape->mesh;
  const Pruner keep(pair, owner);
  visit_boxes(mesh.tree->vertices, keep, [&](std::uint32_t v) {
    const Vec3 p = side.X * mesh.vertices[v];
    if (keep.bounded() && keep.beyond_bounds(p, 0)) return;
    add_vertex(pair, owner, p);
  });
  if (pair.side[1 - owner].shape->kind == ShapeKind::half_space) return;  // a plane has no edges to meet
  visit_boxes(mesh.tree->edges, keep, [&](std::uint32_t e) {
    const TriangleTree::Edge& edge = mesh.tree->sharp_edges[e];
    add_segment(pair, owner, side.X * mesh.vertices[edge.vertex_a], side.X * mesh.vertices[edge.vertex_b]);
  });
}

// Corners and edges of boxes and hulls.
void gather_polyhedron(MeshPair& pair, int owner) noexcept {
  CoreStorage storage;
  const MeshSide& side = pair.side[owner];
  const Core core = make_core(*side.shape, side.X.R, side.X.p, storage);
  for (int v = 0; v < core.vertex_count; ++v) add_vertex(pair, owner, side.X * core.vertices[v]);
  for (int e = 0; e < core.edge_count; ++e) {
    add_segment(pair, owner, side.X * core.vertices[core.edges[e].vertex_a],
                side.X * core.vertices[core.edges[e].vertex_b]);
  }
}

// Sixteen points of each rim, the first where the rim reaches farthest against the field's gradient at the cap.
void gather_cylinder(MeshPair& pair, int owner) noexcept {
  constexpr int kRimPoints = 16;
  const MeshSide& side = pair.side[owner];
  for (const double end : {-1.0, 1.0}) {
    const Vec3 cap = side.X * Vec3(0, 0, end * side.shape->half_length);
    const Vec3 g = side.X.R.transpose() * sample_solid(pair.side[1 - owner], cap).gradient;
    const double length = std::sqrt(g.x() * g.x() + g.y() * g.y());
    Vec3 u = length > 1e-6 ? Vec3(-g.x() / length, -g.y() / length, 0) : Vec3(Vec3::UnitX());
    const double c = 0.92387953251128674, s = 0.38268343236508978;  // of a sixteenth turn
    for (int i = 0; i < kRimPoints; ++i) {
      add_vertex(pair, owner, cap + side.X.R * (side.shape->radius * u));
      u = Vec3(c * u.x() - s * u.y(), s * u.x() + c * u.y(), 0);
    }
  }
}

}  // namespace

void MeshPair::add(const MeshPoint& point) noexcept {
  TACTUS_DCHECK(count <= scratch.capacity);
  MeshPoint* first = scratch.found.get();
  if (count < scratch.capacity) {
    first[count++] = point;
    return;
  }
  if (dropped++ == 0) std::make_heap(first, first + count, shallower);
  if (point.distance <= first->distance) return;
  std::pop_heap(first, first + count, shallower);
  first[count - 1] = point;
  std::push_heap(first, first + count, shallower);
}

void gather_points(MeshPair& pair) noexcept {
  for (int owner = 0; owner < 2; ++owner) {
    const ShapeKind kind = pair.side[owner].shape->kind, met = pair.side[1 - owner].shape->kind;
    switch (kind) {
      case ShapeKind::mesh:
        if (met != ShapeKind::sphere) gather_mesh(pair, owner);
        break;
      case ShapeKind::box:
      case ShapeKind::convex:
        gather_polyhedron(pair, owner);
        break;
      case ShapeKind::cylinder:
        gather_cylinder(pair, owner);
        break;
      case ShapeKind::sphere:
      case ShapeKind::capsule:
        gather_balls(pair, owner);
        break;
      case ShapeKind::half_space:
      case ShapeKind::smooth:
        break;
    }
  }
}

}  // namespace tactus
