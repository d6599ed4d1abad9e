// Smooth surfaces against finite differences, supports against the surfaces themselves, and the limits that exponents
// below one go to at poles and zero coordinates.
#include "core/shape/smooth/smooth_surface.h"

#include <vector>

#include "core/math/one_plus.h"
#include "core/math/power.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using namespace test;

TEST_CASE("smooth surfaces: gradient and Hessian of F are what differences say") {
  Random rng(1);
  for (const SurfacePtr& surface : implicit_surfaces()) {
    INFO(to_string(surface->kind()));
    double worst_gradient = 0, worst_hessian = 0;
    for (int i = 0; i < 200; ++i) {
      const SurfaceSeed s = surface->at(random_layout(rng, *surface));
      const Vec3 p = surface->centre() + rng.uniform(0.7, 1.5) * (s.p_S - surface->centre());
      const double h = 1e-4 * (s.p_S - surface->centre()).cwiseAbs().minCoeff();  // no coordinate changes sign
      const ImplicitJet jet = surface->implicit(p);
      Vec3 gradient;
      Mat3 hessian;
      for (int k = 0; k < 3; ++k) {
        gradient[k] = differences([&](const Vec3& x) { return surface->implicit(x).F; }, p, h, k);
        hessian.col(k) = differences([&](const Vec3& x) { return Vec3(surface->implicit(x).grad); }, p, h, k);
      }
      const double rounding = 1e-15 * surface->radius() / h;  // of the differences themselves
      worst_gradient =
          std::max(worst_gradient, (gradient - jet.grad).norm() / jet.grad.norm() / (1e-9 + 10 * rounding));
      worst_hessian = std::max(worst_hessian, (hessian - jet.hess).norm() / jet.hess.norm() / (1e-8 + 10 * rounding));
    }
    CHECK_WITHIN(worst_gradient, 1);
    CHECK_WITHIN(worst_hessian, 1);
  }
}

TEST_CASE("smooth surfaces: laid-out points lie on the surface with outward normals") {
  Random rng(2);
  for (const SurfacePtr& surface : implicit_surfaces()) {
    INFO(to_string(surface->kind()));
    const double size = surface->radius();
    for (int i = 0; i < 200; ++i) {
      const SurfaceSeed s = surface->at(random_layout(rng, *surface));
      const ImplicitJet jet = surface->implicit(s.p_S);
      CHECK_WITHIN(jet.F / (size * jet.grad.norm()), 1e-14);
      CHECK_WITHIN((jet.grad.normalized() - s.n_S).norm(), 1e-13);
      // Along the normal F grows: outside is where it is positive.
      CHECK(surface->implicit(s.p_S + 1e-5 * size * s.n_S).F > 0);
      CHECK(surface->implicit(s.p_S - 1e-5 * size * s.n_S).F < 0);
      CHECK((s.p_S - surface->centre()).norm() <= size * (1 + 1e-14));
      CHECK(jet.grad.norm() > 1e-3);
    }
  }
}

TEST_CASE("smooth surfaces: the support is on the surface, its normal is the direction, nothing lies beyond it") {
  Random rng(3);
  for (const SurfacePtr& surface : implicit_surfaces()) {
    INFO(to_string(surface->kind()));
    const double size = surface->radius();
    std::vector<Vec3> cloud;
    for (int i = 0; i < 500; ++i) cloud.push_back(surface->at(random_layout(rng, *surface)).p_S);
    for (int i = 0; i < 100; ++i) {
      const Vec3 d = rng.direction(), p = surface->support(7 * d);
      const ImplicitJet jet = surface->implicit(p);
      CHECK_WITHIN(jet.F / (size * jet.grad.norm()), 1e-13);
      const Vec3 n = (surface->cavity() ? -1.0 : 1.0) * jet.grad.normalized();
      CHECK_WITHIN(n.cross(d).norm(), 1e-11);
      CHECK(n.dot(d) > 0);
      for (const Vec3& q : cloud) CHECK(d.dot(q) <= d.dot(p) + 1e-14 * size);
    }
  }
}

// Points of the hull, whose normal's support they are; nearly all of those are known to be.
TEST_CASE("smooth surfaces: what is said to be on the hull is the farthest along its own normal") {
  Random rng(12);
  std::vector<SurfacePtr> surfaces = smooth_surfaces();
  std::string error;
  for (int i = 0; i < 8; ++i) {
    std::vector<Vec3> control = torus_control(9 + i, 6 + i);
    for (Vec3& p : control) p += 0.01 * rng.in_cube(1);
    const auto nu = static_cast<std::size_t>(9 + i), nv = static_cast<std::size_t>(6 + i);
    surfaces.push_back(checked(make_spline(control, {nu, nv}, error), error));
    if (i % 2 != 0) continue;
    std::vector<Vec3> lattice = ball_control(5, 4 + i / 2, 6);
    for (Vec3& p : lattice) p += 0.02 * rng.in_cube(1);
    surfaces.push_back(checked(make_spline(lattice, {5, static_cast<std::size_t>(4 + i / 2), 6}, error), error));
  }
  for (const SurfacePtr& surface : surfaces) {
    INFO(to_string(surface->kind()));
    int known = 0, farthest = 0;
    for (int i = 0; i < 2000; ++i) {
      const SurfaceSeed at = surface->at(random_layout(rng, *surface));
      const double beyond = at.n_S.dot(surface->support(at.n_S) - at.p_S);
      const bool said = surface->on_hull(at);
      CHECK_FALSE((said && (surface->cavity() || beyond > 1e-12 * surface->radius())));
      known += said ? 1 : 0;
      farthest += beyond <= 1e-12 * surface->radius() ? 1 : 0;
    }
    // A torus with as many bumps as points has little of its hull for itself.
    if (!surface->cavity()) CHECK(known > 0.5 * farthest);
    if (surface->kind() == SmoothKind::revolution) CHECK(known > 0.9 * farthest);
  }
}

TEST_CASE("smooth surfaces: the box touches the surface on all six sides") {
  Random rng(4);
  for (const SurfacePtr& surface : smooth_surfaces()) {
    INFO(to_string(surface->kind()));
    const Vec3 place = rng.in_cube(2);
    const Frame X_WS{rng.rotation().toRotationMatrix(), place};
    const Aabb box = bounds(make_smooth(surface.get()), X_WS);
    for (int i = 0; i < 3; ++i) {
      const Vec3 axis_S = X_WS.R.transpose() * Vec3::Unit(i);
      const double over = box.hi[i] - (X_WS * surface->support(axis_S))[i];
      const double under = (X_WS * surface->support(-axis_S))[i] - box.lo[i];
      const double slack = surface->kind() == SmoothKind::spline ? surface->radius() : 1e-14;  // of a box in S
      CHECK(std::min(over, under) >= -1e-14);
      CHECK_WITHIN(std::max(over, under), slack);
    }
  }
}

TEST_CASE("smooth surfaces: seeds are sorted and leave no point far from all of them") {
  Random rng(5);
  for (const SurfacePtr& surface : smooth_surfaces()) {
    INFO(to_string(surface->kind()));
    const auto seeds = surface->seeds();
    CHECK(seeds.size() >= 24);
    for (std::size_t i = 1; i < seeds.size(); ++i) CHECK(seeds[i - 1].p_S.x() <= seeds[i].p_S.x());
    for (int i = 0; i < 300; ++i) {
      const SurfaceSeed s = surface->at(random_layout(rng, *surface));
      double nearest = 1e9;
      for (const SurfaceSeed& seed : seeds) nearest = std::min(nearest, (seed.p_S - s.p_S).norm());
      CHECK(nearest < 0.5 * surface->radius());
    }
  }
}

TEST_CASE("superellipsoid: twice differentiable where coordinates are zero, and flat at the poles") {
  for (const auto& exponents : {std::pair(0.8, 1.0), {0.8, 0.8}, {0.5, 0.75}, {0.75, 0.5}, {0.3, 0.3}, {0.1, 0.6}}) {
    const double e1 = exponents.first, e2 = exponents.second;
    const SurfacePtr surface = make_superellipsoid({0.3, 0.2, 0.5}, e1, e2);
    INFO("e1 " << e1 << " e2 " << e2);
    for (const Vec3& pole : {Vec3(0.3, 0, 0), Vec3(0, 0.2, 0), Vec3(0, 0, -0.5), Vec3(0.1, 0.1, 0), Vec3(0, 0.1, 0.3),
                             Vec3(-0.2, 0, 0.2)}) {
      const Mat3 at = surface->implicit(pole).hess;
      CHECK(at.allFinite());
      // The Hessian differs by at most a multiple of delta^(2/e - 2) there.
      const double e = std::max(e1 < 1 ? e1 : 0, e2 < 1 ? e2 : 0), order = 2 / e - 2;
      for (const double delta : {1e-4, 1e-8, 1e-12})
        for (const Vec3& d : {Vec3(1, 0.3, -0.5), Vec3(0, 0, 1), Vec3(-0.4, 1, 0), Vec3(-1, 0, 0)}) {
          const Mat3 near = surface->implicit(pole + 0.2 * delta * d).hess;
          CHECK_WITHIN((near - at).norm(), 1000 * std::max(std::pow(delta, std::min(order, 1.0)), 1e-13));
        }
    }
    // Flat: no curvature in any direction at the pole on z.
    const ImplicitJet pole = surface->implicit({0, 0, 0.5});
    CHECK(pole.hess.topLeftCorner<2, 2>().norm() == 0);
    CHECK(pole.grad.head<2>().norm() == 0);
    // The paper's own form has the same zero set.
    Random rng(6);
    for (int i = 0; i < 100; ++i) {
      const Vec3 p = surface->at(rng.direction()).p_S.cwiseQuotient(Vec3(0.3, 0.2, 0.5)).cwiseAbs();
      const double side = std::pow(std::pow(p.x(), 2 / e2) + std::pow(p.y(), 2 / e2), e2 / e1);
      CHECK_WITHIN(side + std::pow(p.z(), 2 / e1) - 1, 1e-12);
    }
  }
}

TEST_CASE("superellipsoid: with exponents 1 it is the ellipsoid") {
  const SurfacePtr super = make_superellipsoid({0.3, 0.2, 0.5}, 1, 1), plain = make_ellipsoid({0.3, 0.2, 0.5});
  Random rng(7);
  for (int i = 0; i < 100; ++i) {
    const Vec3 p = rng.in_cube(1);
    const ImplicitJet a = super->implicit(p), b = plain->implicit(p);
    CHECK_WITHIN(a.F - b.F, 1e-14 * (1 + std::abs(b.F)));
    CHECK_WITHIN((a.grad - b.grad).norm(), 1e-14 * b.grad.norm());
    CHECK_WITHIN((a.hess - b.hess).norm(), 1e-14 * b.hess.norm());
  }
}

TEST_CASE("superellipsoid: exponents that are not twice differentiable have a reason") {
  for (const auto& [e1, e2] : {std::pair(1.0, 0.9), {1.1, 1.0}, {1.0, 1.1}, {0.5, 1.5}, {0.0, 0.5}, {0.5, -1.0}})
    CHECK(superellipsoid_defect(e1, e2) != nullptr);
  CHECK(superellipsoid_defect(std::nan(""), 0.5) != nullptr);
  for (const auto& [e1, e2] : {std::pair(1.0, 1.0), {0.99, 1.0}, {0.3, 0.3}, {0.05, 1.0}})
    CHECK(superellipsoid_defect(e1, e2) == nullptr);
}

TEST_CASE("quadric: an ellipsoid that was moved and turned, from coefficients of either sign") {
  Random rng(8);
  for (int i = 0; i < 50; ++i) {
    const double x = rng.log_uniform(0.01, 3), y = rng.log_uniform(0.01, 3), z = rng.log_uniform(0.01, 3);
    const Vec3 radii(x, y, z), m = rng.in_cube(1);
    const Mat3 R = rng.rotation().toRotationMatrix();
    std::string error;
    const double sign = rng.chance(0.5) ? 1 : -1, factor = sign * rng.log_uniform(1e-3, 1e3);
    const SurfacePtr quadric = make_quadric(quadric_of(radii, R, m, factor), error);
    REQUIRE_MESSAGE(quadric, error);
    CHECK_WITHIN((quadric->centre() - m).norm(), 1e-9);
    const SurfacePtr plain = make_ellipsoid(radii);
    const double cancelled = m.squaredNorm() / radii.cwiseAbs2().minCoeff();  // in the constant coefficient
    for (int k = 0; k < 20; ++k) {
      const Vec3 d = rng.direction();
      const Vec3 expected = m + R * plain->support(R.transpose() * d);
      CHECK_WITHIN((quadric->support(d) - expected).norm(), (1e-13 + 1e-15 * cancelled) * 100);
    }
    CHECK_WITHIN(quadric->moments().volume / plain->moments().volume - 1, 1e-12 + 1e-14 * cancelled);
  }
}

TEST_CASE("quadric: what is not bounded is refused by its name") {
  const auto refusal = [](const std::array<double, 10>& c) {
    std::string error;
    CHECK(make_quadric(c, error) == nullptr);
    return error;
  };
  CHECK(refusal({1, 1, -1, 0, 0, 0, 0, 0, 0, -1}).find("hyperboloid") != std::string::npos);
  CHECK(refusal({1, 1, 0, 0, 0, 0, 0, 0, 0, -1}).find("elliptic cylinder") != std::string::npos);
  CHECK(refusal({1, -1, 0, 0, 0, 0, 0, 0, 1, 0}).find("hyperbolic") != std::string::npos);
  CHECK(refusal({1, 0, 0, 0, 0, 0, 0, 0, 1, 0}).find("parabolic cylinder") != std::string::npos);
  CHECK(refusal({0, 0, 0, 0, 0, 0, 0, 0, 1, 0}).find("plane") != std::string::npos);
  CHECK(refusal({1, 1, 1, 0, 0, 0, 0, 0, 0, 0}).find("single point") != std::string::npos);
  CHECK(refusal({1, 1, 1, 0, 0, 0, 0, 0, 0, 1}).find("no real point") != std::string::npos);
}

TEST_CASE("powers and logarithm of 1 + t: like the mathematical library's in long double") {
  Random rng(10);
  for (const double e : {0.05, 0.3, 0.5, 0.7, 0.95, 1.0}) {
    const OnePlusPower root(e);
    CHECK(root(OnePlus(0)) == 1);
    for (int i = 0; i < 5000; ++i) {
      const double t = i == 0 ? 1.0 : (rng.chance(0.5) ? rng.uniform(0, 1) : rng.log_uniform(1e-18, 1));
      const long double log = std::log1p(static_cast<long double>(t)), power = std::exp(e * log);
      CHECK_WITHIN(static_cast<double>(logarithm(OnePlus(t)) - log), 0x1p-51);
      CHECK_WITHIN(static_cast<double>((root(OnePlus(t)) - power) / power), 0x1p-50);
    }
  }
}

TEST_CASE("power: like the mathematical library's, without it") {
  Random rng(9);
  for (int i = 0; i < 20000; ++i) {
    const double x = rng.chance(0.5) ? rng.uniform(0, 1) : rng.log_uniform(1e-12, 1), y = rng.log_uniform(1e-3, 20);
    const long double expected = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    if (expected < 1e-290L) continue;
    const double error = static_cast<double>((power(x, y) - expected) / expected);
    CHECK_WITHIN(error, (4 + 2 * std::abs(y * std::log(x))) * 0x1p-52);
  }
  CHECK(power(0, 0) == 1);
  CHECK(power(0, 0.5) == 0);
  CHECK(power(1, 17) == 1);
  CHECK(power(0.25, 0.5) == doctest::Approx(0.5).epsilon(1e-15));
}

}  // namespace
}  // namespace tactus
