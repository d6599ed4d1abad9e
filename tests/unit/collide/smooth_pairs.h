// Smooth shapes with what they meet, and slow independent ways to the distance of two.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/shape/convex_hull.h"
#include "core/shape/shape.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/support/random.h"
#include "tests/support/smooth_shapes.h"

namespace tactus::smooth_pairs {

struct Body {
  Shape shape;
  Frame X;
};

inline ExtremalPair from_nothing(const Body& a, const Body& b) {
  return test::from_nothing(a.shape, a.X, b.shape, b.X);
}

// Shapes of about 0.3 m. `partners`: every kind that is bounded and convex, smooth ones included.
class Shapes {
 public:
  Shapes() {
    add(make_ellipsoid({0.3, 0.2, 0.25}));
    add(make_ellipsoid({0.4, 0.3, 0.04}));
    add(make_superellipsoid({0.3, 0.2, 0.25}, 0.7, 0.8));
    add(make_superellipsoid({0.3, 0.3, 0.2}, 0.3, 0.3));
    add(make_patched_ellipsoid({0.3, 0.2, 0.25}));
    std::string error;
    add(make_revolution({{0, -0.32}, {0.15, -0.3}, {0.24, -0.1}, {0.2, 0.2}, {0.08, 0.41}, {0, 0.42}}, error));
    test::Random rng(5);
    std::vector<Vec3> cloud;
    for (int i = 0; i < 40; ++i) cloud.push_back(rng.direction().cwiseProduct(Vec3(0.35, 0.3, 0.2)));
    REQUIRE(build_convex_hull(cloud, 64, hull_, error));
    partners = convex;
    for (const Shape& shape : {make_sphere(0.2), make_capsule(0.1, 0.3), make_box({0.3, 0.2, 0.1}),
                               make_cylinder(0.2, 0.25), make_convex(&hull_)}) {
      partners.push_back(shape);
    }
  }
  std::vector<Shape> convex, partners;

 private:
  void add(std::unique_ptr<SmoothSurface> surface) {
    convex.push_back(owned_.add(std::move(surface)));
    REQUIRE(convex.back().smooth->convex());
  }
  test::OwnedShapes owned_;
  ConvexHull hull_;
};

inline std::string describe(const Shape& shape) {
  return shape.kind == ShapeKind::smooth ? to_string(shape.smooth->kind()) : to_string(shape.kind);
}

inline Body placed(const Shape& shape, test::Random& rng, double spread) {
  const Mat3 R = rng.rotation().toRotationMatrix();
  return {shape, {R, rng.in_cube(spread)}};
}

// How far a lies beyond b along the unit n; a half-space only knows its own normal.
inline double gap_along(const Body& a, const Body& b, const Vec3& n) {
  const auto height = [](const Body& s, const Vec3& d) {
    if (s.shape.kind == ShapeKind::half_space) return d.dot(s.X.p);
    return d.dot(s.X * support(s.shape, s.X.R.transpose() * d));
  };
  return -height(a, -n) - height(b, n);
}

// Largest gap along any direction: a sample, and shrinking random steps from the best three.
inline double searched_gap(const Body& a, const Body& b, test::Random& rng, int samples = 300) {
  std::vector<std::pair<double, Vec3>> tried;
  for (int i = 0; i < samples; ++i) {
    const Vec3 n = rng.direction();
    tried.emplace_back(-gap_along(a, b, n), n);
  }
  std::partial_sort(tried.begin(), tried.begin() + 3, tried.end(),
                    [](const auto& x, const auto& y) { return x.first < y.first; });
  double best = -std::numeric_limits<double>::infinity();
  for (int k = 0; k < 3; ++k) {
    Vec3 n = tried[static_cast<std::size_t>(k)].second;
    double value = gap_along(a, b, n);
    // Again from where it ended until that helps no more: on ridges steps shrink before they have climbed.
    for (int in_vain = 0; in_vain < 3; ++in_vain) {
      const double last = value;
      for (double step = 0.2; step > 1e-9;) {
        const Vec3 trial = (n + step * rng.in_cube(1)).normalized();
        const double v = gap_along(a, b, trial);
        step *= v > value ? 1.5 : 0.9;
        if (v > value) value = v, n = trial;
      }
      if (value > last + 1e-14) in_vain = 0;
    }
    best = std::max(best, value);
  }
  return best;
}

}  // namespace tactus::smooth_pairs
