// Spheres and capsules against a mesh: the nearest points of the triangles to balls along the core. Exact for a sphere,
// also where no vertex is inside it, and in a groove, where it touches both walls.
#include <algorithm>
#include <cmath>

#include "core/collide/mesh/mesh_contact.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

namespace {

constexpr int kCandidates = 128, kTouches = 8, kBalls = 9;
constexpr double kSameWay = 0.82;  // cosine of 35 degrees

struct Touch {
  Vec3 q, dir;  // nearest point of a triangle; from it to the centre, unit; in the mesh's frame
  double distance;
  std::uint32_t triangle;
};

struct Touches {
  Touch touch[kCandidates];
  int count = 0;
  void add(const Touch& t) noexcept {  // over capacity the farthest goes
    if (count < kCandidates) {
      touch[count++] = t;
      return;
    }
    Touch* worst =
        std::max_element(touch, touch + count, [](const Touch& x, const Touch& y) { return x.distance < y.distance; });
    if (t.distance < worst->distance) *worst = t;
  }
};

void add_touch(MeshPair& pair, int ball_side, const Touch& t, double radius) noexcept {
  const MeshSide& mesh = pair.side[1 - ball_side];
  MeshPoint point{};
  point.p = mesh.X * t.q;
  const Vec3 away = mesh.X.R * t.dir;
  point.nhat_BA = ball_side == 0 ? away : Vec3(-away);
  point.along = Vec3::Zero();
  point.distance = radius - t.distance;
  point.facet = point.triangle = kNoFacet;
  point.kind = MeshPointKind::vertex;
  point.of_a = ball_side == 1;
  pair.add(point);
}

// The deepest first; what faces the same way or comes free with it adds nothing.
void choose_touches(MeshPair& pair, int ball_side, const Vec3& c, double radius, Touches& all) noexcept {
  for (int k = 0; k < kTouches && all.count > 0; ++k) {
    const Touch best = *std::min_element(all.touch, all.touch + all.count, [](const Touch& x, const Touch& y) {
      return x.distance < y.distance || (x.distance == y.distance && x.triangle < y.triangle);
    });
    add_touch(pair, ball_side, best, radius);
    const Vec3 moved = c + (radius - best.distance) * best.dir;
    Touch* end = std::remove_if(all.touch, all.touch + all.count, [&](const Touch& t) {
      return t.dir.dot(best.dir) > kSameWay || (t.q - moved).norm() >= radius * (1 - 1e-9);
    });
    all.count = static_cast<int>(end - all.touch);
  }
}

void gather_ball(MeshPair& pair, int ball_side, const Vec3& centre, double own_radius) noexcept {
  const MeshSide& side = pair.side[1 - ball_side];
  const double radius = own_radius + side.margin;
  const TriangleMesh& mesh = *side.shape->mesh;
  const Vec3 c = side.X.to_local(centre);
  if ((mesh.lo - c).maxCoeff() > radius || (c - mesh.hi).maxCoeff() > radius) return;
  const MeshClosest nearest = closest_on_mesh(mesh, c);
  if (nearest.distance >= radius) return;
  if (nearest.distance <= 0) {  // the centre is in the solid: out the shortest way
    add_touch(pair, ball_side, {nearest.p_S, nearest.gradient_S, nearest.distance, nearest.triangle}, radius);
    return;
  }
  Touches all;
  const double r2 = radius * radius;
  visit_boxes(
      mesh.tree->triangles,
      [&](const Vec3& lo, const Vec3& hi) { return (lo - c).cwiseMax(c - hi).cwiseMax(0.0).squaredNorm() < r2; },
      [&](std::uint32_t t) {
        const Vec3 q = closest_on_triangle(mesh, t, c);
        const double d2 = (c - q).squaredNorm();
        if (d2 >= r2 || mesh.normals[t].dot(c - q) <= 0) return;  // seen from behind: the far side of a thin wall
        const double d = std::sqrt(d2);
        all.add({q, (c - q) / d, d, t});
      });
  choose_touches(pair, ball_side, c, radius, all);
}

}  // namespace

void gather_balls(MeshPair& pair, int ball_side) noexcept {
  const MeshSide& side = pair.side[ball_side];
  const Shape& shape = *side.shape;
  if (shape.kind == ShapeKind::sphere) {
    gather_ball(pair, ball_side, side.X.p, shape.radius);
    return;
  }
  for (int i = 0; i < kBalls; ++i) {
    const double at = shape.half_length * (2.0 * i / (kBalls - 1) - 1);
    gather_ball(pair, ball_side, side.X * Vec3(0, 0, at), shape.radius);
  }
}

}  // namespace tactus
