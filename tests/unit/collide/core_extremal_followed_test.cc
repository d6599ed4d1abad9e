// Pairs that are not convex, followed from call to call where something proves the nearest place: the
// same place as a search from nothing finds, whatever was remembered; hits on floors and boxes; a replay to the bit.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/collide/smooth/extremal_points.h"
#include "core/dynamics/state_bytes.h"
#include "core/shape/convex_hull.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_shapes.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

struct Surfaces {
  Surfaces() {
    std::string error;
    torus = owned_.add(make_torus(0.3, 0.1));
    folded = {torus, owned_.add(make_revolution(test::pear_profile(), error)),
              owned_.add(make_spline(test::torus_control(9, 6), {9, 6}, error))};
    egg = owned_.add(make_ellipsoid({0.15, 0.1, 0.12}));
    partners = {make_sphere(0.1), make_box({0.15, 0.1, 0.05}), make_capsule(0.05, 0.1), egg,
                owned_.add(make_torus(0.12, 0.05))};
    bowl = owned_.add(make_cavity(make_ellipsoid({0.5, 0.45, 0.4})));
  }
  Shape torus, egg, bowl;
  std::vector<Shape> folded, partners;

 private:
  test::OwnedShapes owned_;
};

// Bodies of every kind, and how often they are followed at least.
struct InBowl {
  InBowl() {
    std::string error;
    const Mat3 R = Quat(0.5, 0.1, -0.7, 0.5).normalized().toRotationMatrix();
    bowls = {owned_.add(make_cavity(make_ellipsoid({0.5, 0.45, 0.4}))),
             owned_.add(make_cavity(make_quadric(test::quadric_of({0.45, 0.5, 0.4}, R, {0.02, 0, -0.05}, 1), error)))};
    std::vector<Vec2> egg = test::egg_profile(), pear = test::pear_profile(), ring = test::ring_profile();
    std::vector<Vec3> torus = test::torus_control(9, 6);
    for (Vec3& x : torus) x *= 0.4;
    for (Vec2& x : egg) x *= 0.4;
    for (Vec2& x : pear) x *= 0.4;
    for (Vec2& x : ring) x *= 0.4;
    Random rng(5);
    std::vector<Vec3> cloud;
    for (int i = 0; i < 20; ++i) cloud.push_back(rng.direction().cwiseProduct(Vec3(0.2, 0.15, 0.1)));
    if (!build_convex_hull(cloud, 64, hull_, error)) hull_ = {};
    all = {{make_capsule(0.05, 0.1), 0.9},
           {make_box({0.15, 0.1, 0.05}), 0.9},
           {make_cylinder(0.1, 0.1), 0.9},
           {make_convex(&hull_), 0.9},
           {owned_.add(make_ellipsoid({0.2, 0.15, 0.02})), 0.9},
           {owned_.add(make_patched_ellipsoid({0.15, 0.1, 0.12})), 0.9},
           {owned_.add(make_superellipsoid({0.15, 0.1, 0.12}, 0.7, 0.8)), 0.9},
           {owned_.add(make_superellipsoid({0.15, 0.15, 0.1}, 0.3, 0.3)), 0.9},
           {owned_.add(make_superellipsoid({0.2, 0.18, 0.15}, 0.2, 0.6)), 0.9},
           {owned_.add(make_superellipsoid({0.2, 0.15, 0.2}, 0.8, 0.4)), 0.9},
           {owned_.add(make_revolution(egg, error)), 0.8},
           {owned_.add(make_revolution(pear, error)), 0.9},
           {owned_.add(make_revolution(ring, error)), 0.9},
           {owned_.add(make_torus(0.15, 0.05)), 0.9},
           {owned_.add(make_spline(torus, {9, 6}, error)), 0.9}};
  }
  struct Body {
    Shape shape;
    double least;
  };
  std::vector<Shape> bowls;
  std::vector<Body> all;

 private:
  test::OwnedShapes owned_;
  ConvexHull hull_;
};

struct Followed {
  ExtremalSide side_a, side_b;
  ExtremalPair find(const Shape& a, const Frame& A, const Shape& b, const Frame& B) {
    look_ahead(side_a), look_ahead(side_b);
    return extremal_points(a, A, b, B, side_a, side_b);
  }
};

struct Tally {
  int calls = 0, hits = 0;
};

// 100 steps of 1 ms at up to 0.5 m/s and 2 rad/s, held at about `gap`.
void follow(const Shape& a, const Shape& b, double gap, double spread, Random& rng, Tally& tally) {
  Frame A{rng.rotation().toRotationMatrix(), Vec3::Zero()},
      B{rng.rotation().toRotationMatrix(), spread * rng.direction()};
  ExtremalPair pair = test::from_nothing(a, A, b, B);
  if (!pair.has_rates() || pair.d < 1e-3) return;
  B.p += (pair.d - gap) * pair.nhat_BA_W;
  const Vec3 v = 5e-4 * rng.direction(), turn_a = 1e-3 * rng.in_cube(1), turn_b = 1e-3 * rng.in_cube(1);
  Followed followed;
  followed.find(a, A, b, B);
  for (int i = 0; i < 100; ++i) {
    A.R = rotate_by(turn_a, Quat(A.R)).toRotationMatrix(), B.R = rotate_by(turn_b, Quat(B.R)).toRotationMatrix();
    B.p += v;
    {
      const test::AllocGuard guard;
      pair = followed.find(a, A, b, B);
      CHECK(guard.count() == 0);
    }
    const ExtremalPair expected = test::from_nothing(a, A, b, B);
    REQUIRE(pair.known());
    ++tally.calls;
    tally.hits += pair.warm ? 1 : 0;
    if (pair.warm) {
      CHECK_WITHIN(pair.d - expected.d, 1e-12);
      CHECK_WITHIN((pair.nhat_BA_W - expected.nhat_BA_W).norm(), 1e-6);
    }
    if (std::abs(pair.d - gap) < 0.05) B.p += (pair.d - gap) * pair.nhat_BA_W;
  }
}

TEST_CASE("extremal points, not convex: followed pairs have the place that a search from nothing finds") {
  const Surfaces shapes;
  Random rng(41);
  Tally all;
  for (const Shape& first : shapes.folded) {
    for (const Shape& second : shapes.partners) {
      for (int i = 0; i < 8; ++i) follow(first, second, i % 2 == 0 ? 2e-3 : -5e-4, 1, rng, all);
    }
  }
  CHECK(all.calls > 8000);
  CHECK(all.hits > 0.5 * all.calls);
}

// What has no face lies in a ball that touches the wall where the body does; boxes' corners do where the box stands.
TEST_CASE("extremal points, not convex: in a bowl and in a torus' hole a body is followed, and stays at its place") {
  const Surfaces shapes;
  Random rng(45);
  Tally balls, eggs, boxes;
  for (int i = 0; i < 40; ++i) {
    const double gap = i % 2 == 0 ? 2e-3 : -5e-4;
    follow(shapes.bowl, make_sphere(0.1), gap, 0.1, rng, balls);
    follow(shapes.torus, make_sphere(0.05), gap, 0.1, rng, balls);
    follow(shapes.bowl, shapes.egg, gap, 0.1, rng, eggs);
    follow(shapes.bowl, make_box({0.1, 0.1, 0.1}), gap, 0.1, rng, boxes);
  }
  CHECK(balls.calls > 6000);
  CHECK(balls.hits > 0.99 * balls.calls);
  CHECK(eggs.calls > 3000);
  CHECK(eggs.hits > 0.99 * eggs.calls);
  CHECK(boxes.calls > 3000);
  CHECK(boxes.hits > 0.5 * boxes.calls);
}

// Bodies of every kind that no ball holds: what proves their place is an ellipsoid within the wall.
TEST_CASE("extremal points, not convex: in a bowl bodies of every kind are followed, and have the nearest place") {
  const InBowl bodies;
  Random rng(46);
  int index = 0;
  for (const auto& [body, least] : bodies.all) {
    ++index;
    for (const Shape& bowl : bodies.bowls) {
      Tally tally;
      for (int i = 0; i < 20; ++i) follow(bowl, body, i % 2 == 0 ? 2e-3 : -5e-4, 0.08, rng, tally);
      INFO("body " << index);
      CHECK(tally.calls > 1500);
      CHECK(tally.hits > least * tally.calls);
    }
  }
}

// Bodies that nearly touch the wall at several places at once: cells of normals prove the place, and where another is
// nearer they say which. Of splines with few and with many control points.
TEST_CASE("extremal points, not convex: in a bowl that a body hardly fits in it is followed to the nearest place") {
  std::string error;
  test::OwnedShapes owned;
  const Shape bowl = owned.add(make_cavity(make_ellipsoid({0.5, 0.5, 0.4})));
  const auto torus = [&](std::size_t nu, std::size_t nv) {
    std::vector<Vec3> control = test::torus_control(static_cast<int>(nu), static_cast<int>(nv));
    for (Vec3& x : control) x *= 0.85;
    return owned.add(make_spline(control, {nu, nv}, error));
  };
  const auto ball = [&](std::size_t nx, std::size_t ny, std::size_t nz, double bumps, Random& rng) {
    std::vector<Vec3> control = test::ball_control(static_cast<int>(nx), static_cast<int>(ny), static_cast<int>(nz));
    for (Vec3& x : control) x = 1.2 * x + bumps * rng.in_cube(1);
    return owned.add(make_spline(control, {nx, ny, nz}, error));
  };
  Random bumps(49);
  struct Body {
    Shape shape;
    double least;
  };
  const std::vector<Body> bodies = {{torus(9, 6), 0.98},
                                    {torus(12, 10), 0.98},
                                    {torus(16, 10), 0.98},
                                    {ball(5, 4, 6, 0, bumps), 0.95},
                                    {ball(5, 4, 6, 0.01, bumps), 0.95},
                                    {ball(7, 6, 6, 0.01, bumps), 0.85},
                                    {owned.add(make_superellipsoid({0.3, 0.3, 0.2}, 0.3, 0.3)), 0.95},
                                    {owned.add(make_superellipsoid({0.3, 0.28, 0.25}, 0.2, 0.6)), 0.95},
                                    {owned.add(make_superellipsoid({0.3, 0.2, 0.25}, 0.7, 0.8)), 0.95}};
  Random rng(48);
  int index = 0;
  for (const auto& [body, least] : bodies) {
    ++index;
    Tally tally;
    for (int i = 0; i < 40; ++i) follow(bowl, body, i % 2 == 0 ? 2e-3 : -5e-4, 0.05, rng, tally);
    INFO("body " << index);
    CHECK(tally.calls > 1000);
    CHECK(tally.hits > least * tally.calls);
  }
}

// Beside a waist and beside a wavy ring: parts of the one lie beyond the plane between the two points. What proves the
// place is that those are farther from the other's hull.
TEST_CASE("extremal points, not convex: where no plane lies between the hulls a pair is followed") {
  const Surfaces shapes;
  std::vector<Shape> partners = shapes.partners;
  partners.insert(partners.end(), {shapes.folded[1], shapes.folded[2]});
  Random rng(47);
  for (std::size_t first = 1; first < shapes.folded.size(); ++first) {
    for (std::size_t second = 0; second < partners.size(); ++second) {
      Tally tally;
      for (int i = 0; i < 20; ++i) {
        const double gap[] = {2e-3, -5e-4, 0.1, 0.3};
        follow(shapes.folded[first], partners[second], gap[i % 4], 1, rng, tally);
      }
      INFO("surface " << first << ", partner " << second);
      CHECK(tally.calls > 1200);
      CHECK(tally.hits > (first == 1 ? 0.9 : 0.85) * tally.calls);
    }
  }
}

TEST_CASE("extremal points, not convex: on a floor and on a box that is wider than it a body is followed") {
  const Surfaces shapes;
  Random rng(42);
  const Shape box = make_box({3, 3, 0.1}), floor = make_half_space();
  Tally tally;
  for (const Shape& first : shapes.folded) {
    for (int i = 0; i < 40; ++i) {
      Frame A{rng.rotation().toRotationMatrix(), Vec3(0, 0, 1)};
      const Shape& under = i % 2 == 0 ? box : floor;
      const Frame B{Mat3::Identity(), Vec3(0, 0, i % 2 == 0 ? -0.1 : 0)};
      const Vec3 turn = 1e-3 * rng.in_cube(1);
      A.p.z() -= test::from_nothing(first, A, under, B).d - 1e-3;
      Followed followed;
      followed.find(first, A, under, B);
      for (int k = 0; k < 50; ++k) {
        A.R = rotate_by(turn, Quat(A.R)).toRotationMatrix();
        const ExtremalPair pair = followed.find(first, A, under, B);
        ++tally.calls;
        tally.hits += pair.warm ? 1 : 0;
        const Vec3 low_W = A * first.smooth->support(A.R.transpose() * Vec3(0, 0, -1));
        CHECK_WITHIN(pair.d - low_W.z(), 1e-12);
        A.p.z() -= pair.d - (k < 25 ? 1e-3 : -2e-4);
      }
    }
  }
  // But where another place becomes the lowest.
  CHECK(tally.hits > 0.99 * tally.calls);
}

// d = |x| from the hole's middle to the nearer side of the ring: the nearest place jumps where a ball passes the
// middle.
TEST_CASE("extremal points, not convex: a followed pair changes over where another place becomes the nearest") {
  const double ring = 0.3, tube = 0.1, ball = 0.03;
  const auto torus = make_torus(ring, tube);
  const Shape a = make_smooth(torus.get()), b = make_sphere(ball);
  Random rng(43);
  Tally tally;
  for (int k = 0; k < 20; ++k) {
    const Frame A{rng.rotation().toRotationMatrix(), rng.in_cube(1)};
    const double angle = rng.uniform(0, 6), off = rng.uniform(1e-3, 0.02);
    const Vec3 along(std::cos(angle), std::sin(angle), 0), across(-along.y(), along.x(), 0);
    Followed followed;
    for (double x = -0.15; x < 0.15; x += 1e-3) {
      const Vec3 p = x * along + off * across;
      const ExtremalPair pair = followed.find(a, A, b, {Mat3::Identity(), A * p});
      tally.hits += pair.warm ? 1 : 0;
      ++tally.calls;
      CHECK_WITHIN(pair.d - (ring - p.norm() - tube - ball), 1e-12);
    }
  }
  CHECK(tally.hits > 0.9 * tally.calls);
}

TEST_CASE("extremal points, not convex: sides that remember something else change nothing") {
  const Surfaces shapes;
  Random rng(44);
  int looked = 0;
  for (const Shape& first : shapes.folded) {
    for (const Shape& second : shapes.partners) {
      const Frame A{rng.rotation().toRotationMatrix(), Vec3::Zero()},
          B{rng.rotation().toRotationMatrix(), rng.direction()};
      Followed known;
      const ExtremalPair expected = known.find(first, A, second, B);
      if (expected.d < 0) continue;
      for (int i = 0; i < 50; ++i) {
        Followed strange = known;
        strange.side_a.p_S = rng.in_cube(0.5), strange.side_b.p_S = rng.in_cube(0.5);
        strange.side_b.feature = static_cast<std::int32_t>(rng.below(8)) - 1;
        const ExtremalPair pair = strange.find(first, A, second, B);
        CHECK_WITHIN(pair.d - expected.d, 1e-12);
        ++looked;
      }
    }
  }
  CHECK(looked > 500);
}

// A torus that falls onto a box, rolls, and lies down.
World torus_on_box(const SmoothSurface& surface) {
  Scene scene(0.3);
  scene.add(make_box({2, 2, 0.1}), 1, test::at(0, 0, -0.1), {}, 0, BodyMode::fixed);
  Pose tilted = test::at(0, 0, 0.45);
  tilted.q = rotate_by(Vec3(1.2, 0, 0), Quat::Identity());
  scene.add(make_smooth(&surface), 1, tilted);
  return scene.world();
}

TEST_CASE("extremal points, not convex: a torus that rolls and lies down is followed, and replayed to the bit") {
  const auto torus = make_torus(0.3, 0.1);
  World world = torus_on_box(*torus);
  test::run(world, 300);
  const State kept = world.state();
  test::run(world, 500);
  const std::vector<std::uint8_t> later = to_bytes(world.state());
  const WitnessTotals& counts = world.state().witnesses;
  CHECK(counts.hits > 20 * counts.misses);
  CHECK(counts.unknown == 0);
  REQUIRE(world.restore(kept));
  test::run(world, 500);
  CHECK(to_bytes(world.state()) == later);
}

}  // namespace
}  // namespace tactus
