// What proves that a body in an ellipsoid's hollow is nowhere nearer to the wall than where it touches: no proof of
// what is not so, and how much tighter walls are that hold the body without a proof.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/shape/smooth/smooth_shapes.h"
#include "tests/support/random.h"
#include "tests/support/smooth_surfaces.h"

namespace tactus {
namespace {

using test::Random;

// How far q is from the surface of an ellipsoid about the origin, negative outside: Eberly's (2013) root of one
// variable, bracketed. Each coordinate of the nearest place is r^2 q / (r^2 + t), t > 0 for what is outside.
double depth_in(const Vec3& radii, const Vec3& q) {
  const Vec3 r2 = radii.cwiseAbs2();
  const auto place = [&](double t) { return Vec3(r2.cwiseProduct(q).array() / (r2.array() + t)); };
  const auto off = [&](double t) { return place(t).cwiseQuotient(radii).squaredNorm() - 1; };
  double low = -r2.minCoeff() * (1 - 1e-12), high = radii.maxCoeff() * q.norm();
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (off(middle) > 0 ? low : high) = middle;
  }
  return (off(0) > 0 ? -1 : 1) * (place(high) - q).norm();
}

// An ellipsoid of these radii, turned by R, that the body touches at one place, d deep.
struct Wall {
  Vec3 radii;
  Mat3 R;
  InnerForm e;
  bool known = false;  // is there an ellipsoid e in its inner parallel body?

  Wall(const SurfaceSeed& at, const Vec3& of_radii, const Mat3& turned, double d) : radii(of_radii), R(turned) {
    EllipsoidForm wall;
    wall.A = R * radii.cwiseAbs2().cwiseInverse().asDiagonal() * R.transpose();
    const Vec3 n = R.transpose() * at.n_S, farthest = radii.cwiseAbs2().cwiseProduct(n) / radii.cwiseProduct(n).norm();
    wall.m = at.p_S + d * at.n_S - R * farthest;
    known = e.set(wall, at.p_S + d * at.n_S, d);
  }
  // By how much less deep than where it touches; negative: nearer to the wall.
  [[nodiscard]] double spare(const Vec3& p) const { return depth_in(radii, R.transpose() * (p - e.wall.m)) - e.d; }
};

class Places {
 public:
  Places(const SmoothSurface& body, Random& rng) : body_(body) {
    const bool sphere = body.topology() == SmoothTopology::sphere;
    for (int i = 0; i < 1500; ++i)
      places_.push_back(body.at(sphere ? rng.direction() : Vec3(rng.uniform(0, 1), rng.uniform(0, 1), 0)));
  }
  // Not in a dent.
  [[nodiscard]] const SurfaceSeed& farthest(const Vec3& n) const {
    return *std::max_element(places_.begin(), places_.end(),
                             [&](const auto& a, const auto& b) { return n.dot(a.p_S) < n.dot(b.p_S); });
  }
  // The least of many, and of more about the touch.
  [[nodiscard]] double least(const Wall& wall, const SurfaceSeed& at, Random& rng) const {
    double least = 0;
    for (const SurfaceSeed& p : places_) least = std::min(least, wall.spare(p.p_S));
    for (int k = 0; k < 400; ++k) {
      const double turn = 0.3 * std::pow(0.5, k % 8);
      least = std::min(least, wall.spare(body_.support((at.n_S + turn * rng.direction()).normalized())));
    }
    return least;
  }

 private:
  const SmoothSurface& body_;
  std::vector<SurfaceSeed> places_;
};

struct Proofs {
  int walls = 0, wrong = 0, tight = 0;
};

// The tightest wall of a shape that a proof is found for: it holds the body. Does one that is 3 % tighter?
void look(const SmoothSurface& body, int tries, Random& rng, Proofs& out) {
  const Places places(body, rng);
  const double enough = 1e-9 * body.radius();
  for (int i = 0; i < tries; ++i) {
    const SurfaceSeed& at = places.farthest(rng.direction());
    const Vec3 shape = body.radius() * Vec3(rng.uniform(0.8, 1.2), rng.uniform(0.8, 1.2), rng.uniform(0.8, 1.2));
    const Mat3 R = rng.rotation().toRotationMatrix();
    const double d = rng.uniform(-0.01, 0.05) * body.radius();
    const auto proved = [&](double size) {
      const Wall wall(at, size * shape, R, d);
      SurfaceSeed beyond{Vec3::Zero(), Vec3::Zero(), {}};
      return wall.known && body.lies_in(wall.e, at, beyond);
    };
    double low = 0.5, high = 3;
    if (!proved(high)) continue;
    for (int k = 0; k < 14; ++k) {
      const double middle = 0.5 * (low + high);
      (proved(middle) ? high : low) = middle;
    }
    ++out.walls;
    out.wrong += places.least(Wall(at, high * shape, R, d), at, rng) < -enough ? 1 : 0;
    out.tight += places.least(Wall(at, 0.97 * high * shape, R, d), at, rng) < -enough ? 1 : 0;
  }
}

std::vector<Vec3> rough(std::vector<Vec3> control, double by, Random& rng) {
  for (Vec3& x : control) x += by * rng.in_cube(1);
  return control;
}

TEST_CASE(
    "bodies in a hollow: what is proved to be no nearer to the wall is not, to walls as tight as there are proofs") {
  Random rng(73);
  std::string error;
  struct Case {
    const char* name;
    test::SurfacePtr surface;
    double tight;  // part of the walls that with 3 % less do not hold the body
  };
  std::vector<Case> cases;
  const auto torus = [&](int nu, int nv, double by) {
    return make_spline(rough(test::torus_control(nu, nv), by, rng),
                       {static_cast<std::size_t>(nu), static_cast<std::size_t>(nv)}, error);
  };
  cases.push_back({"ellipsoid", make_ellipsoid({0.3, 0.2, 0.25}), 0.95});
  cases.push_back({"superellipsoid", make_superellipsoid({0.3, 0.2, 0.25}, 0.7, 0.8), 0.85});
  cases.push_back({"sharp superellipsoid", make_superellipsoid({0.3, 0.3, 0.2}, 0.3, 0.3), 0.75});
  cases.push_back({"spline torus", torus(9, 6, 0), 0.9});
  cases.push_back({"rough spline torus", torus(9, 6, 0.02), 0.8});
  cases.push_back({"coarse spline torus", torus(6, 5, 0.02), 0.8});
  cases.push_back({"fine spline torus", torus(12, 10, 0.004), 0.8});
  cases.push_back({"spline torus held by groups of pieces", torus(16, 10, 0.004), 0.8});
  cases.push_back({"spline torus of 4 points about its tube", torus(8, 4, 0.02), 0.8});
  cases.push_back({"spline torus of 4 points around", torus(4, 6, 0.02), 0.8});
  cases.push_back({"very rough spline torus", torus(6, 5, 0.06), 0.8});
  cases.push_back({"spline ball", make_spline(rough(test::ball_control(5, 4, 6), 0.01, rng), {5, 4, 6}, error), 0.4});
  cases.push_back({"revolution", make_revolution(test::egg_profile(), error), 0.4});
  cases.push_back({"ring", make_revolution(test::ring_profile(), error), 0.8});
  for (const Case& c : cases) {
    INFO(c.name << " " << error);
    REQUIRE(c.surface != nullptr);
    Proofs proofs;
    look(*c.surface, 80, rng, proofs);
    CHECK(proofs.walls > 25);
    CHECK(proofs.wrong == 0);
    CHECK(proofs.tight >= c.tight * proofs.walls);
  }
}

}  // namespace
}  // namespace tactus
