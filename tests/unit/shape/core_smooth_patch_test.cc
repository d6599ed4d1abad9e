// Parametric surfaces against finite differences, their charts against each other, poles against the paper's claim that
// a chart of Cartesian kind makes them ordinary points.
#include <algorithm>
#include <vector>

#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using namespace test;

Vec3 normal_of(const PatchJet& jet) {
  return jet.Su.cross(jet.Sv).normalized();
}

TEST_CASE("smooth patches: derivatives are what differences say") {
  Random rng(1);
  for (const SurfacePtr& surface : parametric_surfaces()) {
    INFO(to_string(surface->kind()));
    const double size = surface->radius();
    double worst_first = 0, worst_second = 0;
    for (int i = 0; i < 200; ++i) {
      const SurfacePoint where = surface->at(random_layout(rng, *surface)).where;
      const auto jet_at = [&](const Vec2& uv) { return surface->patch({where.chart, uv}); };
      const PatchJet jet = jet_at(where.uv);
      const double h = 1e-4;
      const auto Su = [&](const Vec2& uv) { return Vec3(jet_at(uv).Su); };
      const auto Sv = [&](const Vec2& uv) { return Vec3(jet_at(uv).Sv); };
      const auto S = [&](const Vec2& uv) { return Vec3(jet_at(uv).S); };
      // A knot within the stencil: the third derivative jumps there, and differences are not of fourth order.
      const double first =
          std::max((differences(S, where.uv, h, 0) - jet.Su).norm(), (differences(S, where.uv, h, 1) - jet.Sv).norm());
      const double second = std::max(
          {(differences(Su, where.uv, h, 0) - jet.Suu).norm(), (differences(Su, where.uv, h, 1) - jet.Suv).norm(),
           (differences(Sv, where.uv, h, 0) - jet.Suv).norm(), (differences(Sv, where.uv, h, 1) - jet.Svv).norm()});
      worst_first = std::max(worst_first, first / size);
      worst_second = std::max(worst_second, second / size);
    }
    CHECK_WITHIN(worst_first, 1e-10);
    CHECK_WITHIN(worst_second, 1e-9);
  }
}

TEST_CASE("smooth patches: normals point out, seeds lie where they say, F agrees where there is one") {
  Random rng(2);
  for (const SurfacePtr& surface : parametric_surfaces()) {
    INFO(to_string(surface->kind()));
    const double size = surface->radius();
    for (int i = 0; i < 200; ++i) {
      const SurfaceSeed s = surface->at(random_layout(rng, *surface));
      const PatchJet jet = surface->patch(s.where);
      CHECK_WITHIN((jet.S - s.p_S).norm() / size, 1e-15);
      CHECK_WITHIN((normal_of(jet) - s.n_S).norm(), 1e-14);
      CHECK((s.p_S - surface->centre()).norm() <= size * (1 + 1e-14));
      CHECK(jet.Su.cross(jet.Sv).norm() > 0);
      if (!surface->has_implicit()) continue;
      const ImplicitJet F = surface->implicit(jet.S);
      CHECK_WITHIN(F.F / (size * F.grad.norm()), 1e-14);
      CHECK_WITHIN((F.grad.normalized() - s.n_S).norm(), 1e-13);
    }
    // The flux of x through the surface is three times the volume, and positive when normals point out.
    CHECK(surface->moments().volume > 0);
  }
}

TEST_CASE("smooth patches: normalise changes the chart, not the point") {
  Random rng(3);
  for (const SurfacePtr& surface : parametric_surfaces()) {
    INFO(to_string(surface->kind()));
    const double size = surface->radius();
    int changed = 0;
    for (int i = 0; i < 2000; ++i) {
      SurfacePoint where = surface->at(random_layout(rng, *surface)).where;
      // As far as a step of Newton's method may take it, but not over a pole.
      where.uv *= rng.uniform(0.8, 1.5);
      const SurfacePoint kept = surface->normalise(where);
      const PatchJet a = surface->patch(where), b = surface->patch(kept);
      if (a.S.allFinite() && a.Su.cross(a.Sv).norm() > 1e-9 * size * size) {
        CHECK_WITHIN((a.S - b.S).norm() / size, 1e-13);
        CHECK_WITHIN((normal_of(a) - normal_of(b)).norm(), 1e-7);
      }
      // It is at rest then, and the chart is regular there.
      const SurfacePoint again = surface->normalise(kept);
      CHECK(again.chart == kept.chart);
      CHECK(again.uv == kept.uv);
      CHECK(b.Su.cross(b.Sv).norm() > 1e-3 * b.Su.norm() * b.Sv.norm());
      changed += kept.chart != where.chart;
    }
    const bool one_chart = surface->kind() == SmoothKind::spline && surface->topology() == SmoothTopology::torus;
    CHECK(one_chart == (changed == 0));
    for (const double bad : {1e300, -1e300, std::nan("")}) {
      const SurfacePoint kept = surface->normalise({0, Vec2(bad, bad)});
      CHECK(surface->patch(kept).S.allFinite());
    }
  }
}

TEST_CASE("revolution: a pole is a point like others, over which second derivatives are continuous") {
  std::string error;
  for (const auto& profile : {egg_profile(), pear_profile()}) {
    const SurfacePtr surface = make_revolution(profile, error);
    REQUIRE_MESSAGE(surface, error);
    for (const std::int32_t chart : {0, 1}) {
      const PatchJet pole = surface->patch({chart, Vec2::Zero()});
      CHECK(pole.S.head<2>().norm() == 0);
      CHECK((normal_of(pole) - Vec3(0, 0, chart == 0 ? -1 : 1)).norm() == 0);
      for (int i = 0; i < 12; ++i) {
        const double a = M_PI * i / 6;
        for (const double t : {1e-3, 1e-6, 1e-9}) {
          const PatchJet near = surface->patch({chart, t * Vec2(std::cos(a), std::sin(a))});
          CHECK_WITHIN((near.Suu - pole.Suu).norm() + (near.Suv - pole.Suv).norm() + (near.Svv - pole.Svv).norm(),
                       10 * t);
        }
      }
    }
  }
}

TEST_CASE("revolution: convex exactly where it is seen to be") {
  std::string error;
  Random rng(4);
  for (const auto& profile : {egg_profile(), pear_profile(), ring_profile()}) {
    const SurfacePtr surface = make_revolution(profile, error);
    REQUIRE_MESSAGE(surface, error);
    // A surface is convex when all of it lies behind each of its tangent planes.
    bool convex = true;
    for (int i = 0; i < 2000; ++i) {
      const SurfaceSeed s = surface->at(random_layout(rng, *surface));
      convex = convex && s.n_S.dot(surface->support(s.n_S) - s.p_S) < 1e-9;
    }
    CHECK(surface->convex() == convex);
  }
}

TEST_CASE("revolution: supports are on the surface and nothing lies beyond") {
  std::string error;
  Random rng(5);
  for (const auto& profile : {egg_profile(), pear_profile(), ring_profile()}) {
    const SurfacePtr surface = make_revolution(profile, error);
    std::vector<SurfaceSeed> cloud;
    for (int i = 0; i < 4000; ++i) cloud.push_back(surface->at(random_layout(rng, *surface)));
    for (int i = 0; i < 100; ++i) {
      const Vec3 d = rng.direction(), p = surface->support(d);
      double best = -1e9;
      for (const SurfaceSeed& s : cloud) best = std::max(best, d.dot(s.p_S));
      CHECK(best <= d.dot(p) + 1e-14);
      CHECK(d.dot(p) - best < 2e-3);  // among 4000 points there is one near
    }
  }
}

TEST_CASE("revolution: profiles that make no surface are refused by what is wrong") {
  const auto refusal = [](const std::vector<Vec2>& profile) {
    std::string error;
    CHECK(make_revolution(profile, error) == nullptr);
    return error;
  };
  const auto says = [](const std::string& text, const char* word) { return text.find(word) != std::string::npos; };
  std::vector<Vec2> down = egg_profile(), clockwise = ring_profile();
  std::reverse(down.begin(), down.end());
  std::reverse(clockwise.begin(), clockwise.end());
  CHECK(says(refusal({}), "found 0 points"));
  CHECK(says(refusal({{0, 0}, {0, 1}}), "found 2 points"));
  CHECK(says(refusal({{0, 0}, {1, 0}, {0.5, 1}}), "1 points on the axis"));
  CHECK(says(refusal({{0, 0}, {1, 0}, {0, 0.5}, {0.5, 1}, {0, 1}}), "3 points on the axis"));
  CHECK(says(refusal({{0, 0}, {-1, 0}, {0, 1}}), "rho < 0"));
  CHECK(says(refusal(down), "normals point inwards"));
  CHECK(says(refusal(clockwise), "normals point inwards"));
  CHECK(says(refusal({{0, 0}, {0, 0}, {0, 1}}), "axis"));
  CHECK(says(refusal({{0, 0}, {1, 0}, {1, 1}, {0.2, 1}, {1, 0.5}, {1.5, 0.2}, {1.5, 2}, {0, 2}}), "crosses itself"));
  CHECK(says(refusal({{1, 0}, {1, 0}, {1, 0}, {1, 0}}), "cusp"));
}

}  // namespace
}  // namespace tactus
