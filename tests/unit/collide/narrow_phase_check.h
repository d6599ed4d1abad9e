// What every contact of two convex solids must satisfy, whatever function found it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/collide/narrow_phase.h"
#include "core/shape/convex_hull.h"

namespace tactus::geometry_test {

using Rng = std::mt19937_64;

inline double uniform(Rng& rng, double lo, double hi) {
  return lo + (hi - lo) * (static_cast<double>(rng() >> 11) * 0x1p-53);
}
inline Vec3 in_cube(Rng& rng, double half) {
  const double x = uniform(rng, -half, half), y = uniform(rng, -half, half), z = uniform(rng, -half, half);
  return {x, y, z};
}
inline Vec3 direction(Rng& rng) {
  for (;;) {
    const Vec3 v = in_cube(rng, 1);
    const double n = v.norm();
    if (n > 0.05 && n <= 1) return v / n;
  }
}
inline Mat3 rotation(Rng& rng) {
  Quat q(uniform(rng, -1, 1), uniform(rng, -1, 1), uniform(rng, -1, 1), uniform(rng, -1, 1));
  return q.normalized().toRotationMatrix();
}

struct Placed {
  Shape shape;
  Frame X;
};

// h(d) = max over the solid of d . x, for unit d in W. A half-space only knows its own normal.
inline double height(const Placed& s, const Vec3& d_W) {
  if (s.shape.kind == ShapeKind::half_space) {
    const Vec3 n = s.X.R.col(2);
    return d_W.dot(n) > 1 - 1e-12 ? n.dot(s.X.p) : std::numeric_limits<double>::infinity();
  }
  return d_W.dot(s.X.p) + support(s.shape, s.X.R.transpose() * d_W).dot(s.X.R.transpose() * d_W);
}

// How far A must be moved along the unit vector n to leave B.
inline double overlap_along(const Placed& a, const Placed& b, const Vec3& n) {
  return height(b, n) + height(a, -n);
}

// Local minimum of the overlap near n by shrinking random steps.
inline double refined(const Placed& a, const Placed& b, Rng& rng, Vec3& n) {
  double value = overlap_along(a, b, n);
  double step = 0.2;
  for (int i = 0; i < 120; ++i) {
    const Vec3 trial = (n + step * in_cube(rng, 1)).normalized();
    const double v = overlap_along(a, b, trial);
    if (v < value) {
      value = v;
      n = trial;
      step *= 1.5;
    } else {
      step *= 0.85;
    }
  }
  return value;
}

// Least overlap over all directions, by sampling and shrinking random steps from the best starts: an upper bound that
// is nearly always the minimum.
inline double sampled_minimum(const Placed& a, const Placed& b, Rng& rng, int samples, Vec3* best_n = nullptr) {
  std::vector<std::pair<double, Vec3>> tried;
  for (int i = 0; i < samples; ++i) {
    const Vec3 n = direction(rng);
    tried.emplace_back(overlap_along(a, b, n), n);
  }
  const std::size_t keep = std::min<std::size_t>(3, tried.size());
  std::partial_sort(tried.begin(), tried.begin() + static_cast<std::ptrdiff_t>(keep), tried.end(),
                    [](const auto& x, const auto& y) { return x.first < y.first; });
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < keep; ++k) {
    Vec3 n = tried[k].second;
    const double value = refined(a, b, rng, n);
    if (value < best) {
      best = value;
      if (best_n != nullptr) *best_n = n;
    }
  }
  return best;
}

// Overlap along the direction of the nearest point of the difference of two separated solids (Gilbert 1966): <= 0
// proves them apart.
inline double gilbert_minimum(const Placed& a, const Placed& b, Rng& rng) {
  const auto point = [](const Placed& s, const Vec3& d) { return Vec3(s.X * support(s.shape, s.X.R.transpose() * d)); };
  Vec3 v = a.X.p - b.X.p;  // a point of a - b; nearest to the origin
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 2000 && v.norm() > 1e-12; ++i) {
    best = std::min(best, overlap_along(a, b, v.normalized()));
    if (best <= 0) break;
    const Vec3 w = point(a, -v) - point(b, v);
    const Vec3 d = w - v;
    const double t = std::clamp(-v.dot(d) / std::max(1e-300, d.squaredNorm()), 0.0, 1.0);
    v += t * d;
  }
  for (int i = 0; i < 20 && best > 0; ++i) {
    Vec3 n = v.normalized();
    best = std::min(best, refined(a, b, rng, n));
  }
  return best;
}

// Signed distance bound: <= 0 inside. Exact sign.
inline double outside(const Placed& s, const Vec3& p_W) {
  const Vec3 p = s.X.to_local(p_W);
  const Shape& shape = s.shape;
  switch (shape.kind) {
    case ShapeKind::sphere:
      return p.norm() - shape.radius;
    case ShapeKind::box:
      return (p.cwiseAbs() - shape.half_S).maxCoeff();
    case ShapeKind::capsule: {
      const double z = std::clamp(p.z(), -shape.half_length, shape.half_length);
      return (p - Vec3(0, 0, z)).norm() - shape.radius;
    }
    case ShapeKind::cylinder:
      return std::max(std::hypot(p.x(), p.y()) - shape.radius, std::abs(p.z()) - shape.half_length);
    case ShapeKind::half_space:
      return p.z();
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      break;
    case ShapeKind::convex: {
      double d = -std::numeric_limits<double>::infinity();
      for (const auto& face : shape.hull->faces) d = std::max(d, face.nhat.dot(p) - face.offset);
      return d;
    }
  }
  return 0;
}

struct Result {
  std::vector<ContactPoint> points;
  Vec3 nhat = Vec3::Zero();
  double depth = 0;
  bool all_on_bottom = false;
  Witness witness;
};

inline Result run(const Placed& a, const Placed& b, Witness witness = {}) {
  ContactPoint storage[512];
  ContactBuffer buffer{storage, 512};
  collide(a.shape, a.X, b.shape, b.X, witness, buffer);
  Result r;
  r.points.assign(storage, storage + buffer.count);
  r.nhat = buffer.nhat_BA_W;
  for (const auto& p : r.points) r.depth = std::max(r.depth, p.depth);
  r.all_on_bottom = buffer.all_on_bottom;
  r.witness = witness;
  CHECK(!buffer.truncated);
  return r;
}

inline std::string describe(const Placed& s) {
  std::string out = to_string(s.shape.kind);
  char text[400];
  const Quat q(s.X.R);
  std::snprintf(text, sizeof text,
                " half (%.17g %.17g %.17g) r %.17g h %.17g at (%.17g %.17g %.17g) q (%.17g %.17g %.17g %.17g)",
                s.shape.half_S.x(), s.shape.half_S.y(), s.shape.half_S.z(), s.shape.radius, s.shape.half_length,
                s.X.p.x(), s.X.p.y(), s.X.p.z(), q.w(), q.x(), q.y(), q.z());
  return out + text;
}

// The axioms. `size` scales the rounding tolerance; relative: the share by which ties and preferences may exceed the
// minimum.
struct Tolerance {
  double rounding = 1e-8;  // times size (rims are found to about 1e-9)
  double relative = 6e-3;  // of the depth: hysteresis plus preference of faces
};

inline void check_axioms(const Placed& a, const Placed& b, const Result& r, Rng& rng, double size, int samples,
                         const Tolerance& tol = {}) {
  INFO(describe(a) << "\n" << describe(b));
  if (r.points.empty()) {
    if (a.shape.kind == ShapeKind::half_space || b.shape.kind == ShapeKind::half_space) return;
    CHECK(std::min(sampled_minimum(a, b, rng, samples), gilbert_minimum(a, b, rng)) <= 1e-4 * size);
    return;
  }
  CHECK(std::abs(r.nhat.norm() - 1) < 1e-12);
  const double along = overlap_along(a, b, r.nhat);
  CHECK(along > 0);
  CHECK(std::abs(r.depth - along) <= tol.rounding * size + tol.relative * along);
  CHECK(along <= sampled_minimum(a, b, rng, samples) * (1 + tol.relative) + tol.rounding * size);
  for (const auto& point : r.points) {
    CHECK(point.depth > 0);
    // The contact point is half a depth from a point of A and from a point of B, along the normal.
    const Vec3 p_A = point.p_WC - 0.5 * point.depth * r.nhat, p_B = point.p_WC + 0.5 * point.depth * r.nhat;
    // A slanted cylinder's side ends a little off the plane across it, and a preferred face may be a hair too short.
    const bool round = a.shape.kind == ShapeKind::cylinder || b.shape.kind == ShapeKind::cylinder;
    const double slack = tol.rounding * size + (round ? 0.2 * along + 1e-3 * size : 0.0);
    CHECK(outside(a, p_A) <= slack);
    CHECK(outside(b, p_B) <= slack);
  }
}

// Both lists hold the same points, in any order.
inline void check_same_points(const std::vector<ContactPoint>& x, const std::vector<ContactPoint>& y,
                              double tolerance) {
  CHECK(x.size() == y.size());
  for (const auto& p : x) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const auto& q : y) nearest = std::min(nearest, (p.p_WC - q.p_WC).norm() + std::abs(p.depth - q.depth));
    CHECK(nearest <= tolerance);
  }
}

inline ConvexHull random_hull(Rng& rng, int points) {
  std::vector<Vec3> cloud;
  for (int i = 0; i < points; ++i) {
    const Vec3 d = direction(rng);
    cloud.push_back(d.cwiseProduct(Vec3(1, 0.8, 0.6)) * uniform(rng, 0.7, 1.0));
  }
  ConvexHull hull;
  std::string error;
  REQUIRE(build_convex_hull(cloud, 256, hull, error));
  return hull;
}

inline ConvexHull box_hull(const Vec3& half) {
  std::vector<Vec3> cloud;
  for (int i = 0; i < 8; ++i) {
    cloud.push_back(Vec3((i & 1) ? 1 : -1, (i & 2) ? 1 : -1, (i & 4) ? 1 : -1).cwiseProduct(half));
  }
  ConvexHull hull;
  std::string error;
  REQUIRE(build_convex_hull(cloud, 256, hull, error));
  return hull;
}

}  // namespace tactus::geometry_test
