// Polygons (prisms of planar worlds) and polyhedra for the tests of the models that look at features, and what two of
// them truly have between them, found without the code under test.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/scenes.h"

namespace tactus::test {

inline BodyIndex add_hull(Scene& scene, const std::vector<Vec3>& points, double mass, const Pose& X_WB,
                          const SpatialVelocity& V_WB = {}, BodyMode mode = BodyMode::free) {
  auto hull = std::make_unique<ConvexHull>();
  std::string error;
  TACTUS_ASSERT(build_convex_hull(points, 256, *hull, error));
  scene.model->hulls.push_back(std::move(hull));
  return scene.add(make_convex(scene.model->hulls.back().get()), mass, X_WB, V_WB, 0, mode);
}

// A polygon of the x-y plane as a prism of height 1.
inline std::vector<Vec3> prism(const std::vector<Vec3>& corners) {
  std::vector<Vec3> points;
  for (const Vec3& p : corners) {
    points.push_back(p - 0.5 * Vec3::UnitZ());
    points.push_back(p + 0.5 * Vec3::UnitZ());
  }
  return points;
}
inline std::vector<Vec3> regular_polygon(int n, double radius) {
  std::vector<Vec3> corners;
  for (int i = 0; i < n; ++i) {
    const double angle = 2 * M_PI * i / n;
    corners.emplace_back(radius * std::cos(angle), radius * std::sin(angle), 0);
  }
  return corners;
}
inline std::vector<Vec3> box_corners(const Vec3& half) {
  std::vector<Vec3> points;
  for (int i = 0; i < 8; ++i) {
    points.push_back(half.cwiseProduct(Vec3((i & 1) != 0 ? 1 : -1, (i & 2) != 0 ? 1 : -1, (i & 4) != 0 ? 1 : -1)));
  }
  return points;
}

// Corners of the first shape of a body in W.
inline std::vector<Vec3> corners_of(const World& world, BodyIndex b) {
  const Model& model = world.model();
  const ShapeInstance& instance = model.shapes[model.bodies[b].first_shape];
  const std::vector<Vec3> local =
      instance.shape.kind == ShapeKind::box ? box_corners(instance.shape.half_S) : instance.shape.hull->vertices;
  std::vector<Vec3> out;
  const Pose X_WS = Pose{world.state().q_WB(b), world.state().p_WBcm(b)} * instance.X_BcmS;
  for (const Vec3& p : local) out.push_back(X_WS * p);
  return out;
}

// Largest gap over all planes that could separate two sets of corners: through three corners of one set, or along two
// edges. Slow and without any notion of features. Negative: the depth of least translation.
inline double gap_between(const std::vector<Vec3>& a, const std::vector<Vec3>& b, bool planar) {
  double best = -std::numeric_limits<double>::infinity();
  const auto along = [&](const Vec3& direction) {
    const double length = direction.norm();
    if (length < 1e-9) return;
    const Vec3 n = direction / length;
    double a_lo = 1e300, a_hi = -1e300, b_lo = 1e300, b_hi = -1e300;
    for (const Vec3& p : a) a_lo = std::min(a_lo, n.dot(p)), a_hi = std::max(a_hi, n.dot(p));
    for (const Vec3& p : b) b_lo = std::min(b_lo, n.dot(p)), b_hi = std::max(b_hi, n.dot(p));
    best = std::max({best, a_lo - b_hi, b_lo - a_hi});
  };
  std::vector<Vec3> edges_a, edges_b;
  for (const auto& [points, edges] : {std::pair(&a, &edges_a), std::pair(&b, &edges_b)}) {
    for (std::size_t i = 0; i < points->size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        Vec3 e = (*points)[i] - (*points)[j];
        if (planar) e.z() = 0;
        if (e.norm() > 1e-9) edges->push_back(e);
      }
    }
  }
  if (planar) {
    for (const auto* edges : {&edges_a, &edges_b}) {
      for (const Vec3& e : *edges) along(Vec3(e.y(), -e.x(), 0));
    }
    return best;
  }
  for (std::size_t i = 0; i < edges_a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) along(edges_a[i].cross(edges_a[j]));
    for (const Vec3& e : edges_b) along(edges_a[i].cross(e));
  }
  for (std::size_t i = 0; i < edges_b.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) along(edges_b[i].cross(edges_b[j]));
  }
  return best;
}
inline double gap_between(const World& world, BodyIndex a, BodyIndex b) {
  return gap_between(corners_of(world, a), corners_of(world, b), world.model().planar);
}

}  // namespace tactus::test
