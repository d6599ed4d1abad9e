// Corners of smooth shapes that a turn within the step brings down (collide/places/points_ahead.h): what such a turn
// makes overlap is told before, on planes, boxes, each other and meshes; what is round has one point.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/collide/places/collide_mesh_smooth.h"
#include "core/collide/time/collide_ahead.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/meshes.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_shapes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

constexpr double kHalf = 0.1;

struct Found {
  std::vector<ContactPoint> points;
  Vec3 n = Vec3::Zero();
};

Found ahead(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach) {
  std::vector<ContactPoint> room(512);
  ContactBuffer buffer{room.data(), 512};
  buffer.travel = reach;
  Witness witness;
  test::AllocGuard guard;
  collide_ahead(a, X_WA, b, X_WB, reach, witness, buffer);
  CHECK(guard.count() == 0);
  room.resize(buffer.count);
  return {std::move(room), buffer.nhat_BA_W};
}

// The cube over z = 0, tilted by `tilt` some way, its lowest point at `gap`.
Frame over_floor(const Shape& cube, double tilt, double gap, Random& rng) {
  const double way = rng.uniform(0, 2 * M_PI);
  const Quat q =
      test::turned(Vec3(std::cos(way), std::sin(way), 0), tilt) * test::turned(Vec3::UnitZ(), rng.uniform(0, 2 * M_PI));
  Frame X{q.toRotationMatrix(), Vec3::Zero()};
  X.p.z() = gap - (X * support(cube, X.R.transpose() * -Vec3::UnitZ())).z();
  return X;
}

// By how much the turn about p makes the cube overlap z = 0, and by how much its points say that it does.
double not_told(const Shape& cube, const Frame& X, const Found& found, const Vec3& u, double turn) {
  const Vec3 p = found.points[0].p_WC;
  const Mat3 R = test::turned(Vec3::UnitZ().cross(u), turn).toRotationMatrix();
  const Frame turned{R * X.R, p + R * (X.p - p)};
  const double overlap = -(turned * support(cube, turned.R.transpose() * -Vec3::UnitZ())).z();
  double told = -1;
  for (const ContactPoint& c : found.points) told = std::max(told, c.depth + turn * u.dot(c.p_WC - p));
  return overlap - told;
}

void check_turns(double exponent, const Shape& floor, const Frame& X_WF, double bound) {
  CAPTURE(exponent);
  CAPTURE(static_cast<int>(floor.kind));
  test::OwnedShapes owned;
  const Shape cube = owned.add(make_superellipsoid({kHalf, kHalf, kHalf}, exponent, exponent));
  Random rng(7);
  double worst = 0;
  int several = 0;
  for (int i = 0; i < 300; ++i) {
    const double reach = rng.log_uniform(4e-3, 2e-2), turn = reach / cube.smooth->radius();
    const double gap = rng.uniform(0, 0.3) * reach;
    const Frame X = over_floor(cube, rng.uniform(0, 1.5) * turn, gap, rng);
    const Found found = ahead(cube, X, floor, X_WF, reach);
    REQUIRE(!found.points.empty());
    several += found.points.size() > 1 ? 1 : 0;
    for (int k = 0; k < 20; ++k) {
      const double way = rng.uniform(0, 2 * M_PI);
      const Vec3 u(std::cos(way), std::sin(way), 0);
      const double part = rng.uniform(0, 1);
      worst = std::max(worst, not_told(cube, X, found, u, part * turn) / reach);
    }
  }
  CHECK(several > 200);
  MESSAGE("exponent " << exponent << ", floor of kind " << static_cast<int>(floor.kind) << ": not told " << worst
                      << " of the reach");
  CHECK(worst < bound);
}

}  // namespace

// By its nearest place alone a corner comes down by up to the turn times the face's width.
TEST_CASE("points ahead: what a turn of the step brings down was told before") {
  for (const double exponent : {0.1, 0.2, 0.3}) {
    check_turns(exponent, make_half_space(), {}, 0.3);
    check_turns(exponent, make_box({1, 1, 0.5}), {Mat3::Identity(), Vec3(0, 0, -0.5)}, 0.3);
    check_turns(exponent, make_box({1, 1, 0.005}), {Mat3::Identity(), Vec3(0, 0, -0.005)}, 0.3);  // thin
  }
}

TEST_CASE("points ahead: the points are where both surfaces are, at their gap along the normal") {
  test::OwnedShapes owned;
  const Shape cube = owned.add(make_superellipsoid({kHalf, kHalf, kHalf}, 0.1, 0.1));
  Random rng(3);
  for (int i = 0; i < 200; ++i) {
    const double reach = rng.log_uniform(5e-4, 0.3);
    const Frame X = over_floor(cube, rng.uniform(0, 0.1), rng.uniform(0, 1) * reach, rng);
    const Found found = ahead(cube, X, make_half_space(), {}, reach);
    for (const ContactPoint& c : found.points) {
      CHECK_WITHIN(c.p_WC.z() + 0.5 * c.depth, 1e-6);  // midway, but for an area's rise
      const Vec3 p_S = X.to_local(c.p_WC - 0.5 * c.depth * Vec3::UnitZ());
      const ImplicitJet jet = cube.smooth->implicit(p_S);
      CHECK_WITHIN(jet.F / jet.grad.norm(), 1e-6);
    }
  }
}

TEST_CASE("points ahead: the order of the two does not matter, and a box is as a floor") {
  test::OwnedShapes owned;
  const Shape cube = owned.add(make_superellipsoid({kHalf, kHalf, kHalf}, 0.1, 0.1));
  const Shape block = owned.add(make_superellipsoid({0.6, 0.6, 0.3}, 0.05, 0.05));
  const Frame below{Mat3::Identity(), Vec3(0, 0, -0.3)};
  Random rng(13);
  const Shape floors[] = {make_half_space(), make_box({1, 1, 0.3}), block};
  for (const Shape& floor : floors) {
    for (int i = 0; i < 100; ++i) {
      const double reach = rng.log_uniform(5e-3, 2e-2), turn = reach / cube.smooth->radius();
      const Frame X = over_floor(cube, rng.uniform(0.2, 1) * turn, 0.1 * reach, rng);
      const Frame X_WF = floor.kind == ShapeKind::half_space ? Frame{} : below;
      const Found one = ahead(cube, X, floor, X_WF, reach), other = ahead(floor, X_WF, cube, X, reach);
      const Found plane = ahead(cube, X, make_half_space(), {}, reach);
      CHECK_WITHIN((one.n + other.n).norm(), 1e-9);
      for (int k = 0; k < 16; ++k) {
        const Vec3 u(std::cos(k * M_PI / 8), std::sin(k * M_PI / 8), 0);
        const auto told = [&](const Found& found) {
          double most = -1;
          for (const ContactPoint& c : found.points) most = std::max(most, c.depth + turn * u.dot(c.p_WC));
          return most / reach;
        };
        CHECK_WITHIN(told(one) - told(other), 0.1);
        if (floor.kind != ShapeKind::smooth) CHECK_WITHIN(told(one) - told(plane), 0.1);
      }
    }
  }
}

TEST_CASE("points ahead: what is round has its nearest place alone, however far is looked") {
  test::OwnedShapes owned;
  const Shape egg = owned.add(make_ellipsoid({0.1, 0.09, 0.12})), ball = owned.add(make_ellipsoid({0.1, 0.1, 0.1}));
  const Shape disc = owned.add(make_ellipsoid({0.1, 0.1, 0.06}));
  Random rng(5);
  for (const Shape& round : {egg, ball, disc}) {
    for (int i = 0; i < 200; ++i) {
      const double reach = rng.log_uniform(1e-3, 0.1);
      const Frame X = over_floor(round, rng.uniform(0, 1.5), rng.uniform(0, 0.5) * reach, rng);
      CHECK(ahead(round, X, make_half_space(), {}, reach).points.size() == 1);
      CHECK(ahead(round, X, make_box({1, 1, 0.5}), {Mat3::Identity(), Vec3(0, 0, -0.5)}, reach).points.size() == 1);
      CHECK(
          ahead(ball, {Mat3::Identity(), Vec3(0, 0, 0.1)}, round, {X.R, Vec3(X.p - 2 * X.p.z() * Vec3::UnitZ())}, reach)
              .points.size() <= 1);
    }
  }
}

TEST_CASE("points ahead: on a floor of triangles they are those on a half-space") {
  static const test::MeshPtr slab = test::finish_mesh(test::box_mesh({1, 1, 0.25}, 7, 9, 2));
  const Shape floor = make_mesh(slab.get());
  test::OwnedShapes owned;
  Random rng(11);
  for (const double exponent : {0.1, 0.3}) {
    const Shape cube = owned.add(make_superellipsoid({kHalf, kHalf, kHalf}, exponent, exponent));
    for (int i = 0; i < 100; ++i) {
      const double reach = rng.log_uniform(1e-3, 2e-2);
      const Frame X = over_floor(cube, rng.uniform(0, 1) * reach / cube.smooth->radius(), 0.1 * reach, rng);
      const Found plane = ahead(cube, X, make_half_space(), {}, reach);
      PairRecord records[kMaxMeshPatches];
      std::vector<ContactPoint> room(64 * kMaxMeshPatches);
      PlaceContacts on_mesh;
      for (std::uint32_t k = 0; k < kMaxMeshPatches; ++k) {
        on_mesh.place[k] = {room.data() + 64 * std::size_t{k}, 64};
        on_mesh.place[k].travel = reach;
      }
      collide_mesh_smooth(cube, X, floor, {Mat3::Identity(), Vec3(0, 0, -0.25)}, reach, 0, records, kMaxMeshPatches,
                          on_mesh);
      REQUIRE(on_mesh.place[0].count > 0);
      // The deepest that either says a turn brings, whichever way.
      for (int k = 0; k < 16; ++k) {
        const Vec3 u(std::cos(k * M_PI / 8), std::sin(k * M_PI / 8), 0);
        const double turn = reach / cube.smooth->radius();
        const auto told = [&](const ContactPoint* points, std::size_t count) {
          double most = -1;
          for (std::size_t j = 0; j < count; ++j) most = std::max(most, points[j].depth + turn * u.dot(points[j].p_WC));
          return most;
        };
        const double a = told(plane.points.data(), plane.points.size()),
                     b = told(on_mesh.place[0].points, on_mesh.place[0].count);
        CHECK_WITHIN((a - b) / reach, 0.1);
      }
    }
  }
}

}  // namespace tactus
