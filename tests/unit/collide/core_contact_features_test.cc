// Distances of features that touch, and their rates, against finite differences along random motions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/collide/feature/contact_features.h"
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
    {"rim on face", FeatureCore::circle, FeatureCore::plane, 0, 0},
    {"face on rim", FeatureCore::plane, FeatureCore::circle, 0, 0},
    {"rim on sphere", FeatureCore::circle, FeatureCore::point, 0, 0.2},
    {"sphere on rim", FeatureCore::point, FeatureCore::circle, 0.3, 0},
    {"rim on edge", FeatureCore::circle, FeatureCore::line, 0, 0},
    {"edge on rim", FeatureCore::line, FeatureCore::circle, 0, 0},
    {"rim on capsule", FeatureCore::circle, FeatureCore::line, 0, 0.2},
    {"rim on rim", FeatureCore::circle, FeatureCore::circle, 0, 0},
};

FeatureSide random_side(Random& random, FeatureCore core, double radius) {
  const Vec3 p = random.in_cube(0.3);
  const Vec3 u = random.direction();
  FeatureSide side{core, p, u, core == FeatureCore::plane ? 0 : radius};
  if (core == FeatureCore::circle) side.rim = 1, side.e_S = u.unitOrthogonal();
  return side;
}

// The side's point that touches, as it is when features are found.
void start_at(const Vec3& p_S, FeatureSide& side) {
  if (side.core == FeatureCore::circle) side.e_S = (p_S - side.p_S) / side.rim;
  if (side.core == FeatureCore::line) side.p_S += side.u_S.dot(p_S - side.p_S) * side.u_S;
}

bool is_curve(FeatureCore core) {
  return core == FeatureCore::line || core == FeatureCore::circle;
}
Vec3 tangent(const FeatureSide& side) {
  return side.core == FeatureCore::circle ? Vec3(side.u_S.cross(side.e_S)) : side.u_S;
}

// Rates without bound: circles nearly flat on a plane, or a centre on their axis.
bool is_wild(const ContactJet& jet) {
  return jet.pa_dot.norm() + jet.pb_dot.norm() > 10 || jet.nhat_dot.norm() > 10;
}

// d, d', normal and both points.
using Trace = Eigen::Matrix<double, 11, 1>;

// Eighth-order difference: its own error is below what is asked of the rates.
template <typename F>
Trace eighth_order(const F& f, double h) {
  const auto odd = [&](int k) { return Trace(f(k * h) - f(-k * h)); };
  return (672 * odd(1) - 168 * odd(2) + 32 * odd(3) - 3 * odd(4)) / (840 * h);
}

struct Worst {
  double d = 0, points = 0, normal = 0, second = 0;
};

}  // namespace

TEST_CASE("features: rates of d, points and normal to 1e-9 of finite differences, d'' to 1e-7") {
  Random random(7);
  for (const Case& kind : kCases) {
    CAPTURE(std::string(kind.name));
    int tried = 0;
    Worst worst;
    while (tried < 200) {
      ContactFeatures f{random_side(random, kind.a, kind.radius_a), random_side(random, kind.b, kind.radius_b)};
      Motion A = test::random_motion(random, 1, 2, 3), B = test::random_motion(random, 1, 2, 3);
      A.alpha = 0.7 * A.w0, B.alpha = -0.4 * B.w0;
      const auto jet_at = [&](double t) { return contact_jet(f, A.at(t), A.rates(t), B.at(t), B.rates(t)); };
      const ContactJet jet = jet_at(0);
      if (!jet.known || std::abs(jet.d) < 0.05 || is_wild(jet)) continue;
      start_at(A.at(0).to_local(jet.pa), f.a), start_at(B.at(0).to_local(jet.pb), f.b);
      // Curves that run nearly along each other, and cores nearly in one another, have rates without bound.
      const Vec3 ta = A.R0 * tangent(f.a), tb = B.R0 * tangent(f.b);
      const bool curves = is_curve(kind.a) && is_curve(kind.b), sharp = kind.radius_a + kind.radius_b == 0;
      const bool bent = kind.a == FeatureCore::circle || kind.b == FeatureCore::circle;
      if (curves && ta.cross(tb).norm() < (bent ? 0.6 : 0.3)) continue;
      const double apart = jet.d + kind.radius_a + kind.radius_b;
      if (curves && bent && std::abs(apart) > 0.3) continue;  // at a rim's middle all of it is as near
      if (apart < 0.2 && !(curves && sharp) && kind.a != FeatureCore::plane && kind.b != FeatureCore::plane) continue;
      ++tried;
      // Lengths, speeds and turns are about 1 in SI; `scale` is for rates that are larger.
      const double scale = 1 + std::abs(gap_acceleration(jet, A.rates(0), B.rates(0)));
      const double points = 1 + jet.pa_dot.norm() + jet.pb_dot.norm(), turn = 1 + jet.nhat_dot.norm();
      const auto state = [&](double t) {
        const ContactJet at = jet_at(t);
        return (Trace() << at.d, gap_rate(at, A.rates(t), B.rates(t)), at.nhat_BA, at.pa, at.pb).finished();
      };
      const Trace found = eighth_order(state, 1e-3);
      worst.d = std::max(worst.d, std::abs(found[0] - gap_rate(jet, A.rates(0), B.rates(0))) / scale);
      worst.second = std::max(worst.second, std::abs(found[1] - gap_acceleration(jet, A.rates(0), B.rates(0))) / scale);
      worst.normal = std::max(worst.normal, (found.segment<3>(2) - jet.nhat_dot).norm() / turn);
      worst.points = std::max({worst.points, (found.segment<3>(5) - jet.pa_dot).norm() / points,
                               (found.tail<3>() - jet.pb_dot).norm() / points});
      CHECK((jet.pa - jet.pb - jet.d * jet.nhat_BA).norm() < 1e-12);
    }
    MESSAGE(std::string(kind.name) << ": d' " << worst.d << ", points " << worst.points << ", normal " << worst.normal
                                   << ", d'' " << worst.second);
    CHECK_WITHIN(worst.d, 1e-9);
    CHECK_WITHIN(worst.points, 1e-9);
    CHECK_WITHIN(worst.normal, 1e-9);
    CHECK_WITHIN(worst.second, 1e-7);
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
