// Distances of features that touch, and their rates, against finite differences along random motions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/collide/contact_features.h"
#include "core/collide/narrow_phase.h"
#include "tests/support/motions.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Motion;
using test::Random;

// Two shapes a little apart, at a random pose each, whose features are those named.
struct Case {
  const char* name;
  FeatureCore a, b;
  double radius_a, radius_b;
};

constexpr Case kCases[] = {
    {"vertex on face", FeatureCore::point, FeatureCore::plane, 0, 0},
    {"face on sphere", FeatureCore::plane, FeatureCore::point, 0, 0.2},
    {"sphere on sphere", FeatureCore::point, FeatureCore::point, 0.1, 0.3},
    {"vertex on sphere", FeatureCore::point, FeatureCore::point, 0, 0.3},
    {"sphere on edge", FeatureCore::point, FeatureCore::line, 0.2, 0},
    {"capsule on vertex", FeatureCore::line, FeatureCore::point, 0.2, 0},
    {"edge on edge", FeatureCore::line, FeatureCore::line, 0, 0},
    {"capsule on capsule", FeatureCore::line, FeatureCore::line, 0.1, 0.2},
};

FeatureSide random_side(Random& random, FeatureCore core, double radius) {
  const Vec3 p = random.in_cube(0.3);
  const Vec3 u = random.direction();
  return {core, p, u, core == FeatureCore::plane ? 0 : radius};
}

}  // namespace

TEST_CASE("features: d' to 1e-9 and d'' to 1e-7 of finite differences; points' and normals' rates") {
  Random random(7);
  for (const Case& kind : kCases) {
    CAPTURE(kind.name);
    int tried = 0;
    while (tried < 200) {
      ContactFeatures f{random_side(random, kind.a, kind.radius_a), random_side(random, kind.b, kind.radius_b)};
      Motion A = test::random_motion(random, 1, 2, 3), B = test::random_motion(random, 1, 2, 3);
      A.alpha = 0.7 * A.w0, B.alpha = -0.4 * B.w0;
      const auto jet_at = [&](double t) { return contact_jet(f, A.at(t), A.rates(t), B.at(t), B.rates(t)); };
      const ContactJet jet = jet_at(0);
      if (!jet.known || std::abs(jet.d) < 0.05) continue;
      // Lines nearly parallel, and cores nearly in one another, have rates without bound.
      const Vec3 ua = A.R0 * f.a.u_S, ub = B.R0 * f.b.u_S;
      if (kind.a == FeatureCore::line && kind.b == FeatureCore::line && ua.cross(ub).norm() < 0.3) continue;
      if (jet.d + f.a.radius + f.b.radius < 0.2 && kind.a != FeatureCore::plane && kind.b != FeatureCore::plane)
        continue;
      ++tried;
      const auto slope = [&](auto&& value, double h) {  // of sixth order
        return ((value(3 * h) - value(-3 * h)) - 9 * (value(2 * h) - value(-2 * h)) + 45 * (value(h) - value(-h))) /
               (60 * h);
      };
      const double h = 1e-3;
      const auto d = [&](double t) { return jet_at(t).d; };
      const auto rate = [&](double t) { return gap_rate(jet_at(t), A.rates(t), B.rates(t)); };
      const double scale = 1 + std::abs(gap_acceleration(jet, A.rates(0), B.rates(0)));
      CHECK_WITHIN(slope(d, h) - rate(0), 1e-9 * scale);
      CHECK_WITHIN((slope(rate, h) - gap_acceleration(jet, A.rates(0), B.rates(0))) / scale, 1e-7);
      for (int i = 0; i < 3; ++i) {
        CHECK_WITHIN(slope([&](double t) { return jet_at(t).nhat_BA[i]; }, h) - jet.nhat_dot[i], 1e-7);
        CHECK_WITHIN(slope([&](double t) { return jet_at(t).pa[i]; }, h) - jet.pa_dot[i], 1e-7 * scale);
        CHECK_WITHIN(slope([&](double t) { return jet_at(t).pb[i]; }, h) - jet.pb_dot[i], 1e-7 * scale);
      }
      CHECK((jet.pa - jet.pb - jet.d * jet.nhat_BA).norm() < 1e-12);
    }
  }
}

TEST_CASE("features: found from contacts of shapes that touch, they give the depth that collision saw") {
  Random random(11);
  const Shape shapes[] = {make_sphere(0.3), make_box(Vec3(0.3, 0.2, 0.25)), make_capsule(0.15, 0.3),
                          make_cylinder(0.2, 0.25), make_half_space()};
  int seen = 0;
  for (int i = 0; i < 20000; ++i) {
    const Shape &a = shapes[random.below(5)], &b = shapes[random.below(5)];
    if (a.kind > b.kind || (a.kind == ShapeKind::half_space && b.kind == ShapeKind::half_space)) continue;
    const Frame X_WA{random.rotation().toRotationMatrix(), random.in_cube(0.4)};
    const Frame X_WB{random.rotation().toRotationMatrix(), Vec3::Zero()};
    ContactPoint points[64];
    ContactBuffer buffer{points, 64};
    Witness witness;
    collide(a, X_WA, b, X_WB, witness, buffer);
    double deepest = 0;
    for (std::uint32_t k = 0; k < buffer.count; ++k) deepest = std::max(deepest, points[k].depth);
    if (deepest > 0.01) continue;  // the features of a deep overlap are not those that touch
    for (std::uint32_t k = 0; k < buffer.count; ++k) {
      const ContactFeatures f = find_features(a, X_WA, b, X_WB, buffer.nhat_BA_W, points[k]);
      const ContactJet jet = contact_jet(f, X_WA, {}, X_WB, {});
      ++seen;
      CAPTURE(std::string(to_string(a.kind)));
      CAPTURE(std::string(to_string(b.kind)));
      CHECK(jet.known);
      CHECK_WITHIN(jet.d + points[k].depth, 1e-9);
      CHECK(jet.nhat_BA.dot(buffer.nhat_BA_W) > 1 - 1e-9);
    }
  }
  CHECK(seen > 100);
}

}  // namespace tactus
