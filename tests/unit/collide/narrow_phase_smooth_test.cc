// Contacts of smooth shapes: exact depth and normal in every pair, whatever was remembered; points where surfaces fit.
#include <array>
#include <memory>
#include <vector>

#include "core/collide/narrow_phase.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/collide/time/collide_ahead.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"
#include "tests/unit/collide/smooth_pairs.h"

namespace tactus {
namespace {

using smooth_pairs::Body;
using smooth_pairs::Shapes;
using test::Random;

struct Contacts {
  std::vector<ContactPoint> points;
  Vec3 nhat = Vec3::Zero();
  WitnessCounts counts;
};

Contacts met(const Body& a, const Body& b, Witness& witness) {
  ContactPoint storage[32];
  ContactBuffer buffer{storage, 32};
  collide(a.shape, a.X, b.shape, b.X, witness, buffer);
  return {{storage, storage + buffer.count}, buffer.nhat_BA_W, buffer.witnesses};
}

// A pair apart, brought together along the shortest connection until it overlaps by `depth`.
bool overlapping(const Shape& first, const Shape& second, double depth, Random& rng, Body& a, Body& b) {
  a = smooth_pairs::placed(first, rng, 0), b = smooth_pairs::placed(second, rng, 1);
  const ExtremalPair pair = smooth_pairs::from_nothing(a, b);
  if (!pair.known() || pair.d <= 0) return false;
  a.X.p -= (pair.d + depth) * pair.nhat_BA_W;
  return true;
}

TEST_CASE("smooth contacts: depth and normal are the least overlap's, the point lies midway between both surfaces") {
  const Shapes shapes;
  Random rng(31);
  int checked = 0;
  for (const Shape& first : shapes.convex) {
    for (const Shape& second : shapes.partners) {
      for (int i = 0; i < 4; ++i) {
        Body a, b;
        if (!overlapping(first, second, 2e-3, rng, a, b)) continue;
        INFO(smooth_pairs::describe(first) << " " << smooth_pairs::describe(second));
        Witness witness;
        const Contacts contacts = met(a, b, witness);
        REQUIRE(contacts.points.size() >= 1);
        ++checked;
        const double depth = contacts.points[0].depth;
        CHECK_WITHIN(-smooth_pairs::gap_along(a, b, contacts.nhat) - depth, 1e-12);
        // No direction is found along which it is less.
        CHECK(-smooth_pairs::searched_gap(a, b, rng, 100) >= depth - 1e-12);
        CHECK_WITHIN(depth - 2e-3, 1e-4);
        // Midway: half a depth to either side is the farthest point of one solid.
        const Vec3 on_a = contacts.points[0].p_WC - 0.5 * depth * contacts.nhat;
        const Vec3 far_a = a.X * support(a.shape, a.X.R.transpose() * -contacts.nhat);
        CHECK_WITHIN(contacts.nhat.dot(on_a - far_a), 1e-12);

        // Swapped, and from any memory: the same contact.
        Witness reversed, strange = witness;
        const Contacts other = met(b, a, reversed);
        CHECK_WITHIN((other.nhat + contacts.nhat).norm(), 1e-7);
        CHECK_WITHIN(other.points[0].depth - depth, 1e-12);
        strange.point_a = rng.in_cube(0.3), strange.point_b = rng.in_cube(0.3);
        strange.step_a = rng.in_cube(1);
        strange.feature_a = static_cast<std::int32_t>(rng.below(3)), strange.axis_A = rng.direction();
        const Contacts from_strange = met(a, b, strange);
        if (from_strange.points.empty()) continue;  // the axis claims nothing when they overlap along it
        CHECK_WITHIN(from_strange.points[0].depth - depth, 1e-11);
        CHECK_WITHIN((from_strange.points[0].p_WC - contacts.points[0].p_WC).norm(), 1e-6);
      }
    }
  }
  CHECK(checked > 100);
}

TEST_CASE("smooth contacts: a body that slides and turns by 2 mrad a call is followed") {
  const Shapes shapes;
  Random rng(33);
  WitnessCounts sum;
  for (const Shape& second : shapes.partners) {
    Body a, b;
    if (!overlapping(shapes.convex[0], second, 2e-3, rng, a, b)) continue;
    Witness witness;
    const Vec3 drift = 1e-4 * rng.direction(), turn = 2e-3 * rng.direction();
    for (int i = 0; i < 200; ++i) {
      a.X.R = rotate_by(turn, Quat(a.X.R)).toRotationMatrix();
      a.X.p += i % 100 < 50 ? drift : Vec3(-drift);
      const Contacts contacts = met(a, b, witness);
      sum += contacts.counts;
      if (!contacts.points.empty()) a.X.p += (contacts.points[0].depth - 1e-3) * contacts.nhat;
    }
  }
  CHECK(sum.hits >= 200 * 7);
  CHECK(sum.hits >= 99 * sum.misses);
  CHECK(sum.unknown == 0);
}

TEST_CASE("smooth contacts ahead: the gap is the least distance, and nothing beyond the reach") {
  const Shapes shapes;
  Random rng(34);
  for (const Shape& second : shapes.partners) {
    Body a, b;
    while (!overlapping(shapes.convex[0], second, -0.05, rng, a, b)) {
    }
    Witness witness;
    ContactPoint storage[32];
    ContactBuffer out{storage, 32};
    collide_ahead(a.shape, a.X, b.shape, b.X, 0.05 + 1e-9, witness, out);
    REQUIRE(out.count >= 1);
    CHECK_WITHIN(out.points[0].depth + 0.05, 1e-12);
    CHECK_WITHIN(smooth_pairs::gap_along(a, b, out.nhat_BA_W) - 0.05, 1e-12);
    collide_ahead(a.shape, a.X, b.shape, b.X, 0.05 - 1e-9, witness, out);
    CHECK(out.count == 0);
  }
}

TEST_CASE("smooth contacts: a torus lying flat touches all around") {
  const auto torus = make_torus(0.3, 0.1);
  const Body a{make_smooth(torus.get()), {Mat3::Identity(), Vec3(0, 0, 0.1 - 1e-5)}};
  for (const Shape& floor : {make_half_space(), make_box({2, 2, 0.5})}) {
    Body b{floor, Frame{}};
    if (floor.kind == ShapeKind::box) b.X.p.z() = -0.5;
    Witness witness;
    const Contacts contacts = met(a, b, witness);
    CHECK(contacts.points.size() >= 6);
    Vec3 middle = Vec3::Zero();
    for (const ContactPoint& point : contacts.points) {
      CHECK_WITHIN(point.depth - 1e-5, 1e-9);
      CHECK_WITHIN(std::hypot(point.p_WC.x(), point.p_WC.y()) - 0.3, 1e-4);
      middle += point.p_WC / static_cast<double>(contacts.points.size());
    }
    CHECK(std::hypot(middle.x(), middle.y()) < 0.06);
  }
}

TEST_CASE("smooth contacts: a ball in the hole and beside the ring of a torus, and a ball in a bowl, in closed form") {
  const auto torus = make_torus(0.3, 0.1);
  const auto bowl = make_cavity(make_ellipsoid({0.5, 0.5, 0.5}));
  Random rng(35);
  for (int i = 0; i < 200; ++i) {
    const Mat3 R = rng.rotation().toRotationMatrix();
    const double radius = rng.uniform(0.02, 0.15);
    // To the torus's centre line, less both radii.
    const Vec3 c(rng.uniform(-0.6, 0.6), rng.uniform(-0.6, 0.6), rng.uniform(-0.3, 0.3));
    const double ring = std::hypot(c.x(), c.y()) - 0.3, line = std::hypot(ring, c.z());
    const Body ball{make_sphere(radius), {R, R * c}}, hoop{make_smooth(torus.get()), {R, Vec3::Zero()}};
    ExtremalSide none_a, none_b;
    if (line > 0.06 && std::hypot(c.x(), c.y()) > 0.02) {
      const ExtremalPair pair = extremal_points(ball.shape, ball.X, hoop.shape, hoop.X, none_a, none_b);
      CHECK(pair.known());
      CHECK_WITHIN(pair.d - (line - 0.1 - radius), 1e-12);
    }
    const Vec3 inside = rng.in_cube(0.3);
    if (inside.norm() < 0.01) continue;
    const Body in_bowl{make_sphere(radius), {R, inside}}, dish{make_smooth(bowl.get()), {R, Vec3::Zero()}};
    none_a = none_b = {};
    const ExtremalPair pair = extremal_points(in_bowl.shape, in_bowl.X, dish.shape, dish.X, none_a, none_b);
    CHECK(pair.known());
    CHECK_WITHIN(pair.d - (0.5 - inside.norm() - radius), 1e-12);
    CHECK_WITHIN((pair.nhat_BA_W + inside.normalized()).norm(), 1e-9);
  }
}

}  // namespace
}  // namespace tactus
