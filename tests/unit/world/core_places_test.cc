// Several places of one pair (collide/places/extremal_places.h): corners in a bowl, two tips, a bar across a ring.
// Against closed forms, and at rest in a World under every model.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/collide/places/extremal_places.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/fixed_shape.h"
#include "tests/support/models.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_shapes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::at;
using test::Random;

// The nearest place and all others within reach, nearest first.
std::vector<ExtremalPair> places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach) {
  ExtremalSide side_a, side_b;
  std::vector<ExtremalPair> found{extremal_points(a, X_WA, b, X_WB, side_a, side_b)};
  ExtremalPlace others[8];
  const std::uint32_t n = other_places(a, X_WA, b, X_WB, reach, {found.data(), 1}, others, 8);
  for (std::uint32_t i = 0; i < n; ++i) found.push_back(others[i].pair);
  std::sort(found.begin(), found.end(), [](const ExtremalPair& x, const ExtremalPair& y) { return x.d < y.d; });
  return found;
}

Frame frame(const Quat& q, const Vec3& p) {
  return {q.toRotationMatrix(), p};
}

}  // namespace

TEST_CASE("places: every corner of a box in a round bowl that is within reach, R - |v| from the wall") {
  Random random(5);
  const double R = 1;
  const auto bowl = make_cavity(make_ellipsoid(Vec3::Constant(R)));
  const Shape wall = make_smooth(bowl.get());
  int found = 0, several = 0;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const Vec3 half = Vec3(0.4, 0.4, 0.4) + 0.1 * random.in_cube(1);
    const Frame X_WA = frame(random.rotation(), 0.3 * random.in_cube(1)), X_WB;
    std::vector<double> expected;
    const double reach = random.uniform(-0.02, 0.25);
    for (int c = 0; c < 8; ++c) {
      const Vec3 v = X_WA * Vec3((c & 1 ? 1 : -1) * half.x(), (c & 2 ? 1 : -1) * half.y(), (c & 4 ? 1 : -1) * half.z());
      expected.push_back(R - v.norm());
    }
    std::sort(expected.begin(), expected.end());
    const bool swapped = i % 2 == 1;
    const Shape box = make_box(half);
    const auto pairs = swapped ? places(wall, X_WB, box, X_WA, reach) : places(box, X_WA, wall, X_WB, reach);
    const auto within = std::count_if(expected.begin(), expected.end(), [&](double d) { return d < reach; });
    REQUIRE(pairs.size() == std::size_t(std::max<std::ptrdiff_t>(within, 1)));
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const ExtremalPair& pair = pairs[k];
      const Vec3 corner = swapped ? pair.pb_W : pair.pa_W, n = swapped ? Vec3(-pair.nhat_BA_W) : pair.nhat_BA_W;
      CHECK_WITHIN(pair.d - expected[k], 1e-12);
      CHECK_WITHIN((n + corner.normalized()).norm(), 1e-12);
    }
    found += static_cast<int>(pairs.size());
    several += pairs.size() > 1 ? 1 : 0;
  }
  CHECK(found > 600);
  CHECK(several > 100);
}

// A surface in patches knows its distance from far only at its seeds.
TEST_CASE("places: as many in a bowl of patches as in the same one with an implicit form, as far from the wall") {
  Random random(11);
  const Vec3 radii(1, 0.8, 0.6);
  const auto bowl = make_cavity(make_ellipsoid(radii)), patched = make_cavity(make_patched_ellipsoid(radii));
  int several = 0, missed = 0;
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const Shape body = i % 2 == 0 ? make_cylinder(0.15, 0.1) : make_box({0.12, 0.1, 0.08});
    // Near the bottom, nearly upright: both ends of a rim are as near as each other.
    const Vec3 tilt = 0.1 * random.in_cube(1);
    const Frame X_WA = frame(rotate_by(tilt, Quat::Identity()), Vec3(0.1, 0.1, -0.45) + 0.05 * random.in_cube(1)), X_WB;
    const double nearest = places(body, X_WA, make_smooth(bowl.get()), X_WB, -1).front().d, reach = nearest + 0.01;
    const auto expected = places(body, X_WA, make_smooth(bowl.get()), X_WB, reach);
    const auto found = places(body, X_WA, make_smooth(patched.get()), X_WB, reach);
    several += expected.size() > 1 ? 1 : 0;
    missed += found.size() < expected.size() ? 1 : 0;
    CHECK_WITHIN(found.front().d - expected.front().d, 1e-12);
    if (found.size() != expected.size()) continue;
    for (std::size_t k = 0; k < found.size(); ++k) CHECK_WITHIN(found[k].d - expected[k].d, 1e-12);
  }
  MESSAGE(several << " of 400 with several places, fewer found in patches: " << missed);
  CHECK(several > 50);
  CHECK(missed <= 2);  // eight points of a rim may tell two places for one
}

TEST_CASE("places: both tips of an ellipsoid, both rims of a cylinder, both ends of a capsule in a round bowl") {
  const auto bowl = make_cavity(make_ellipsoid(Vec3::Constant(1)));
  const Shape wall = make_smooth(bowl.get());
  const auto egg = make_ellipsoid({0.95, 0.2, 0.2});
  const Quat q = test::turned(Vec3(1, 2, 3), 0.4);
  for (const double off : {0.0, 0.01, 0.04}) {
    CAPTURE(off);
    // Along the long axis: 1 - a -+ off.
    auto found = places(make_smooth(egg.get()), frame(q, q * Vec3(off, 0, 0)), wall, {}, 0.2);
    REQUIRE(found.size() == 2);
    CHECK_WITHIN(found[0].d - (0.05 - off), 1e-12);
    CHECK_WITHIN(found[1].d - (0.05 + off), 1e-12);
    const double r = 0.1, l = 0.8;  // half length
    found = places(make_capsule(r, l), frame(q, q * Vec3(0.02, 0, off)), wall, {}, 0.2);
    REQUIRE(found.size() == 2);
    CHECK_WITHIN(found[0].d - (1 - r - std::hypot(0.02, l + off)), 1e-12);
    CHECK_WITHIN(found[1].d - (1 - r - std::hypot(0.02, l - off)), 1e-12);
    // Each rim comes nearest where the cylinder is off the middle.
    found = places(make_cylinder(0.3, 0.8), frame(q, q * Vec3(0.02, 0, off)), wall, {}, 0.2);
    REQUIRE(found.size() == 2);
    CHECK_WITHIN(found[0].d - (1 - std::hypot(0.32, 0.8 + off)), 1e-12);
    CHECK_WITHIN(found[1].d - (1 - std::hypot(0.32, 0.8 - off)), 1e-12);
  }
}

TEST_CASE("places: a bar across a ring is near it twice, however it turns") {
  const double ring = 0.5, tube = 0.1, edge = 0.02;
  const auto torus = make_torus(ring, tube);
  for (int i = -4; i <= 4; ++i) {
    CAPTURE(i);
    const double tilt = 0.04 * i, height = 0.2;
    // Its lower edge lies in the plane y = 0: a line `height` above the middle, against two circles.
    const Quat q = test::turned(Vec3::UnitY(), tilt) * test::turned(Vec3::UnitX(), M_PI / 4);
    const Vec3 up = test::turned(Vec3::UnitY(), tilt) * Vec3::UnitZ();
    const Frame X_WA = frame(q, Vec3(0, 0, height) + edge * std::sqrt(2.0) * up);
    const auto found = places(make_box({1, edge, edge}), X_WA, make_smooth(torus.get()), {}, 0.3);
    REQUIRE(found.size() == 2);
    const double lower = height * std::cos(tilt) - ring * std::abs(std::sin(tilt)) - tube;
    const double upper = height * std::cos(tilt) + ring * std::abs(std::sin(tilt)) - tube;
    CHECK_WITHIN(found[0].d - lower, 1e-12);
    CHECK_WITHIN(found[1].d - upper, 1e-12);
  }
}

TEST_CASE("places: a ball that the bowl is much wider than has one, and no second is looked for") {
  const auto bowl = make_cavity(make_ellipsoid({1, 0.8, 0.6}));
  const auto found =
      places(make_sphere(0.1), {Mat3::Identity(), Vec3(0.1, 0.1, -0.49)}, make_smooth(bowl.get()), {}, 0);
  CHECK(found.size() == 1);
}

namespace {

struct Resting {
  const char* name;
  Shape fixed, moving;
  Quat q;
  Vec3 p;
  double most_depth;  // [m]
};

struct Hourglass {
  std::unique_ptr<SmoothSurface> surface;
  Hourglass() {
    std::string error;
    surface =
        make_revolution({{0, -0.3}, {0.15, -0.28}, {0.2, -0.2}, {0.1, 0}, {0.2, 0.2}, {0.15, 0.28}, {0, 0.3}}, error);
    REQUIRE_MESSAGE(surface != nullptr, error);
  }
};

}  // namespace

// What rolls over a curved wall under ap sinks by the square of its way in a step (core/contact/README.md): only
// what does not roll is asked for here.
TEST_CASE("places: what touches a bowl, a ring or a floor in several places comes to rest, under each model") {
  const auto bowl = make_cavity(make_ellipsoid({1, 0.8, 0.6}));
  const auto torus = make_torus(0.3, 0.08);
  const Hourglass hourglass;
  const Quat tilted = test::turned(Vec3(2, 1, 3), 0.35);
  const Resting cases[] = {
      {"box in a bowl", make_smooth(bowl.get()), make_box({0.15, 0.125, 0.1}), tilted, {0.15, 0.1, -0.3}, 1e-5},
      {"plate on a ring",
       make_smooth(torus.get()),
       make_box({0.3, 0.15, 0.02}),
       Quat::Identity(),
       {0.03, 0, 0.12},
       1e-5},
      {"hourglass that lies",
       make_half_space(),
       make_smooth(hourglass.surface.get()),
       test::turned(Vec3::UnitY(), 1.5),
       {0, 0, 0.25},
       1e-5},
  };
  for (const test::Stepping& stepping : test::kAllSteppings) {
    if (stepping.kind == ContactModelKind::deepest) continue;  // takes one point a manifold
    for (const Resting& c : cases) {
      CAPTURE(stepping.name());
      CAPTURE(std::string(c.name));
      test::Scene scene(0.5);
      stepping.set(*scene.model);
      test::add_fixed(scene, c.fixed);
      const BodyIndex body = scene.add(c.moving, 1, {c.q, c.p});
      World world = scene.world();
      const int rest = 2500, steps = 3000;
      double deepest = 0, fastest = 0;
      WitnessTotals witnesses;
      for (int i = 0; i < steps; ++i) {
        const StepReport report = world.step();
        CHECK(report.solver_failures == 0);
        if (i < rest) continue;
        witnesses += report.witnesses;
        deepest = std::max(deepest, report.depth_max);
        fastest = std::max({fastest, world.state().v_WBcm(body).norm(), world.state().w_WB(body).norm()});
      }
      CHECK(deepest < c.most_depth);
      CHECK(fastest < 1e-4);
      CHECK(world.contacts().point_count >= 2);
      CHECK(double(witnesses.hits) / double(witnesses.hits + witnesses.misses) > 0.99);
    }
  }
}

// The ring is as near all around, wherever a circle of places is lowest by rounding: followed there, the one place ran
// round the ring, and a ball at rest was set whirling (0.8 rad/s in 4 s) or fell through. Dropped beside the middle it
// crosses it some times: with all known places on the half that it comes from, it went 6 mm into the other, and where
// nothing pushes out it stayed there.
TEST_CASE("places: a ball that closes a ring's hole stays, and one that is dropped into it is held") {
  test::OwnedShapes owned;
  const Shape ring = owned.add(make_torus(0.25, 0.1)), smooth_ball = owned.add(make_ellipsoid(Vec3::Constant(0.2)));
  const Vec3 seat(0, 0, std::sqrt(0.3 * 0.3 - 0.25 * 0.25));
  for (const test::Stepping& stepping : test::kAllSteppings) {
    for (const Shape& ball : {smooth_ball, make_sphere(0.2)}) {
      for (const double off : {0.0, 0.003, 0.05}) {
        if (off > 0 && stepping.kind == ContactModelKind::deepest) continue;  // takes one point a manifold
        CAPTURE(stepping.name());
        CAPTURE(to_string(ball.kind));
        CAPTURE(off);
        test::Scene scene(0.5);
        stepping.set(*scene.model);
        test::add_fixed(scene, ring);
        const BodyIndex body = scene.add(ball, 2, {Quat::Identity(), seat + Vec3(0.8 * off, 0.6 * off, 3 * off)});
        World world = scene.world();
        std::uint64_t fallbacks = 0;
        double lowest = 1, fastest = 0;
        for (int i = 0; i < 3000; ++i) {
          const StepReport report = world.step();
          fallbacks += report.witnesses.fallbacks;
          lowest = std::min(lowest, world.state().p_WBcm(body).z());
          if (i >= 2500)
            fastest = std::max(fastest, world.state().v_WBcm(body).norm() + 0.2 * world.state().w_WB(body).norm());
        }
        CHECK(fallbacks == 0);
        CHECK(fastest < 1e-6);
        CHECK((world.state().p_WBcm(body) - seat).norm() < 3e-5);
        CHECK(lowest > seat.z() - (off == 0 ? 3e-5 : 1e-3));
      }
    }
  }
}

// Corners lie between the seeds of a surface, far from all: while one was touched the others were not found, and the
// cube sank 14 mm (penalty), 9 (lcp), or fell out (ap).
TEST_CASE("places: a cube with rounded edges and corners rests on its corners in bowls") {
  test::OwnedShapes owned;
  std::vector<Vec3> lattice;
  for (int i = 0; i < 64; ++i)
    lattice.emplace_back(0.53 * (i / 16) - 0.8, 0.53 * (i / 4 % 4) - 0.8, 0.53 * (i % 4) - 0.8);
  std::string error;
  auto ball = make_spline(lattice, {4, 4, 4}, error);
  REQUIRE(ball != nullptr);
  const Shape round = owned.add(make_cavity(make_ellipsoid({0.6, 0.6, 0.5}))),
              splines = owned.add(make_cavity(std::move(ball))),
              cube = owned.add(make_superellipsoid(Vec3::Constant(0.1), 0.3, 0.3));
  const Quat tilted = Quat(Eigen::AngleAxisd(0.1, Vec3::UnitZ())) * Quat(Eigen::AngleAxisd(0.4, Vec3::UnitY())) *
                      Quat(Eigen::AngleAxisd(0.3, Vec3::UnitX()));
  for (const Shape& bowl : {round, splines}) {
    for (const test::Stepping& stepping : test::kAllSteppings) {
      if (stepping.kind == ContactModelKind::deepest) continue;  // takes one point a manifold
      CAPTURE(stepping.name());
      CAPTURE(bowl.smooth->parametric());
      test::Scene scene(0.5);
      stepping.set(*scene.model);
      test::add_fixed(scene, bowl);
      const BodyIndex body = scene.add(cube, 1, {tilted, Vec3(0.03, 0.02, 0)});
      World world = scene.world();
      double deepest = 0, rests = 0, fastest = 0;
      for (int i = 0; i < 4000; ++i) {
        const double depth = world.step().depth_max;
        deepest = std::max(deepest, depth);
        if (i < 3500) continue;
        rests = std::max(rests, depth);
        fastest = std::max({fastest, world.state().v_WBcm(body).norm(), world.state().w_WB(body).norm()});
      }
      CHECK(deepest < 2e-3);
      CHECK(rests < 1e-6);
      CHECK(fastest < 1e-8);
    }
  }
}

TEST_CASE("places: of a body at rest each keeps its record, and the forces of all bear its weight") {
  const auto bowl = make_cavity(make_ellipsoid({1, 0.8, 0.6}));
  test::Scene scene(0.5);
  scene.model->contact_model = ContactModelKind::lcp;
  test::add_fixed(scene, make_smooth(bowl.get()));
  scene.add(make_box({0.15, 0.125, 0.1}), 2, {test::turned(Vec3(2, 1, 3), 0.35), Vec3(0.15, 0.1, -0.3)});
  World world = scene.world();
  test::run(world, 2500);
  std::vector<PairRecord> before;
  for (const PairRecord& record : world.state().pairs.records()) before.push_back(record);
  const test::AllocGuard guard;
  test::run(world, 200);
  const auto allocations = guard.count();
  if (test::AllocGuard::available()) CHECK(allocations == 0);
  Vec3 force = Vec3::Zero();
  std::uint32_t touching = 0;
  for (std::uint32_t i = 0; i < world.contacts().manifold_count; ++i) {
    const Manifold& m = world.contacts().manifolds[i];
    const PairRecord& record = world.state().pairs[m.pair];
    CHECK(record.age == before[m.pair].age + 200);
    CHECK(record.witness.feature_a == before[m.pair].witness.feature_a);
    for (std::uint32_t k = m.first; k < m.first + m.count; ++k) force += world.contact_force(k);
    ++touching;
  }
  CHECK(touching >= 3);
  CHECK_WITHIN((force.cwiseAbs() - Vec3(0, 0, 2 * test::kGravity)).norm(), 1e-9);
}

namespace {

struct Fitting {
  double exponent;  // of a superellipsoid; 1: a plate that falls flat on a ring
  double restitution, most_depth;
};

}  // namespace

// Deeper by 1e-6 m in a piece of a step is no collision there (core/DECISIONS.md, "The exact stepper, case by case").
TEST_CASE("exact, places: surfaces that fit each other neither stall nor sink") {
  const auto torus = make_torus(0.3, 0.08);
  for (const Fitting& c : {Fitting{0.1, 0.2, 3e-5}, Fitting{0.3, 0.2, 3e-6}, Fitting{1.0, 0, 1e-7}}) {
    CAPTURE(c.exponent);
    test::Scene scene(0.3, c.restitution);
    scene.model->contact_model = ContactModelKind::lcp;
    scene.model->parameters.lcp_stepper = LcpStepper::exact;
    std::unique_ptr<SmoothSurface> pebble;
    BodyIndex body = 0;
    if (c.exponent < 1) {  // rolls over its flat poles
      pebble = make_superellipsoid(Vec3::Constant(0.1), c.exponent, c.exponent);
      scene.add_floor();
      const Quat q = Quat(Eigen::AngleAxisd(0.2, Vec3::UnitY()) * Eigen::AngleAxisd(0.3, Vec3::UnitX()));
      body = scene.add(make_smooth(pebble.get()), 1, {q, Vec3(0, 0, 0.3)});
    } else {
      test::add_fixed(scene, make_smooth(torus.get()));
      body = scene.add(make_box({0.3, 0.15, 0.02}), 1, at(0.03, 0, 0.2));
    }
    World world = scene.world();
    const double start = test::total_energy(world);
    double deepest = 0, most = 0;
    std::uint32_t unresolved = 0, exhausted = 0;
    for (int i = 0; i < 3000; ++i) {
      const StepReport report = world.step();
      unresolved += report.exact.unresolved, exhausted += report.exact.exhausted;
      deepest = std::max(deepest, report.depth_max);
      most = std::max(most, test::total_energy(world));
    }
    CHECK(unresolved == 0);
    CHECK(exhausted == 0);
    CHECK(deepest < c.most_depth);
    CHECK(most <= start + 1e-6);
    CHECK(world.state().p_WBcm(body).z() > 0.0999);
  }
}

}  // namespace tactus
