// Cases with a known answer, degenerate poses, and continuity: what a hand would feel as a kick must not happen.
#include "tests/unit/collide/narrow_phase_check.h"

namespace tactus {
namespace {

using namespace geometry_test;

Mat3 about(const Vec3& axis, double angle) {
  return Eigen::AngleAxisd(angle, axis.normalized()).toRotationMatrix();
}
Placed at(const Shape& shape, const Vec3& p, const Mat3& R = Mat3::Identity()) {
  return {shape, {R, p}};
}

// Half width of the points' spread in the plane across n, along its weakest direction: > 0 means a polygon.
double spread(const Result& r) {
  Vec3 t1, t2, mean = Vec3::Zero();
  tangent_basis(r.nhat, t1, t2);
  for (const auto& p : r.points) mean += p.p_WC / static_cast<double>(r.points.size());
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 16; ++k) {
    const double phi = M_PI * k / 16;
    double reach = 0;
    for (const auto& p : r.points) {
      reach = std::max(reach, std::abs((std::cos(phi) * t1 + std::sin(phi) * t2).dot(p.p_WC - mean)));
    }
    least = std::min(least, reach);
  }
  return least;
}

TEST_CASE("narrow_phase: aligned unit cubes, stacked with 1e-6 of overlap, touch in the four corners") {
  const Shape cube = make_box({0.5, 0.5, 0.5});
  const ConvexHull hull = box_hull({0.5, 0.5, 0.5});
  for (const Shape& upper : {cube, make_convex(&hull)}) {
    for (const Shape& lower : {cube, make_convex(&hull)}) {
      const Result r = run(at(upper, {0, 0, 1 - 1e-6}), at(lower, {0, 0, 0}));
      REQUIRE(r.points.size() == 4);
      CHECK((r.nhat - Vec3::UnitZ()).norm() < 1e-12);
      for (const auto& p : r.points) {
        CHECK(p.depth == doctest::Approx(1e-6).epsilon(1e-6));
        CHECK(std::abs(p.p_WC.z() - (0.5 - 0.5e-6)) < 1e-12);
        CHECK(std::abs(std::abs(p.p_WC.x()) - 0.5) < 1e-9);
        CHECK(std::abs(std::abs(p.p_WC.y()) - 0.5) < 1e-9);
      }
      CHECK(run(at(upper, {0, 0, 1}), at(lower, {0, 0, 0})).points.empty());
      CHECK(run(at(upper, {0, 0, 1 + 1e-9}), at(lower, {0, 0, 0})).points.empty());
      // Turned by 45 degrees about the vertical the overlap is an octagon.
      CHECK(run(at(upper, {0, 0, 1 - 1e-6}, about(Vec3::UnitZ(), M_PI / 4)), at(lower, {0, 0, 0})).points.size() == 8);
    }
  }
}

TEST_CASE("narrow_phase: nearly parallel faces keep a polygon of points whatever axis is the least") {
  Rng rng(21);
  for (int trial = 0; trial < 300; ++trial) {
    const Mat3 R = about(direction(rng), 1e-4) * about(Vec3::UnitZ(), uniform(rng, 0, 6.28));
    const Placed upper = at(make_box({0.5, 0.5, 0.5}), {uniform(rng, -0.1, 0.1), uniform(rng, -0.1, 0.1), 1 - 3e-4}, R);
    const Result r = run(upper, at(make_box({0.5, 0.5, 0.5}), {0, 0, 0}));
    CHECK(r.points.size() >= 4);
    CHECK(spread(r) > 0.3);
    CHECK(r.nhat.z() > 1 - 1e-6);
  }
}

TEST_CASE("narrow_phase: box and hull of the same box have the same contacts") {
  Rng rng(22);
  const Vec3 half_a(0.5, 0.4, 0.3), half_b(0.3, 0.6, 0.5);
  const ConvexHull hull_a = box_hull(half_a), hull_b = box_hull(half_b);
  int compared = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const Frame X_WA{rotation(rng), in_cube(rng, 0.6)}, X_WB{rotation(rng), in_cube(rng, 0.6)};
    const Result x = run({make_box(half_a), X_WA}, {make_box(half_b), X_WB});
    for (const Result& y : {run({make_convex(&hull_a), X_WA}, {make_convex(&hull_b), X_WB}),
                            run({make_box(half_a), X_WA}, {make_convex(&hull_b), X_WB})}) {
      CHECK(x.points.empty() == y.points.empty());
      if ((x.nhat - y.nhat).norm() > 1e-6) continue;  // a tie within the preference for faces
      CHECK(std::abs(x.depth - y.depth) < 1e-9);
      ++compared;
    }
  }
  CHECK(compared > 300);
}

TEST_CASE(
    "narrow_phase: a cylinder stands on eight rim points, lies on two, and a cap on a smaller cap touches over the "
    "smaller") {
  const Shape table = make_box({1, 1, 0.5});
  const Shape can = make_cylinder(0.3, 0.4);
  const Result standing = run(at(can, {0.1, 0.2, 0.9 - 1e-4}), at(table, {0, 0, 0}));
  CHECK(standing.points.size() == 8);
  CHECK(spread(standing) > 0.25);
  const Result lying = run(at(can, {0.1, 0.2, 0.8 - 1e-4}, about(Vec3::UnitX(), M_PI / 2)), at(table, {0, 0, 0}));
  CHECK(lying.points.size() == 2);
  CHECK((lying.points[0].p_WC - lying.points[1].p_WC).norm() == doctest::Approx(0.8));
  const Result overhanging = run(at(can, {0.1, 0.9, 0.8 - 1e-4}, about(Vec3::UnitX(), M_PI / 2)), at(table, {0, 0, 0}));
  REQUIRE(overhanging.points.size() == 2);
  CHECK((overhanging.points[0].p_WC - overhanging.points[1].p_WC).norm() == doctest::Approx(0.5));
  const Result caps = run(at(make_cylinder(0.5, 0.2), {0, 0, 0.6 - 1e-4}), at(can, {0, 0, 0}));
  CHECK(caps.points.size() >= 4);
  for (const auto& p : caps.points) {
    CHECK(std::hypot(p.p_WC.x(), p.p_WC.y()) <= 0.3 + 1e-9);
    CHECK(p.depth == doctest::Approx(1e-4).epsilon(1e-6));
  }
  CHECK(spread(caps) > 0.25);
  // A box on a wide cap, and a box on a narrow cap.
  CHECK(run(at(make_box({0.1, 0.1, 0.1}), {0, 0, 0.5 - 1e-4}), at(can, {0, 0, 0})).points.size() == 4);
  CHECK(run(at(table, {0, 0, 0.9 - 1e-4}), at(can, {0, 0, 0})).points.size() == 8);
  // Side by side, parallel: a line.
  const Result sides = run(at(can, {0, 0, 0}), at(can, {0.6 - 1e-4, 0, 0.3}));
  REQUIRE(sides.points.size() == 2);
  CHECK(std::abs(sides.points[0].p_WC.z() - sides.points[1].p_WC.z()) == doctest::Approx(0.5));
  // A cylinder across a table's edge at 45 degrees touches along the edge.
  const Result edge =
      run(at(can, Vec3(1, 0, 0.5) + (0.3 - 1e-4) * Vec3(1, 0, 1).normalized(), about(Vec3::UnitX(), M_PI / 2)),
          at(table, {0, 0, 0}));
  REQUIRE(edge.points.size() == 2);
  CHECK((edge.points[0].p_WC - edge.points[1].p_WC).norm() == doctest::Approx(0.8));
}

TEST_CASE("narrow_phase: parallel capsules touch in two points, crossed ones in one") {
  const Shape pill = make_capsule(0.1, 0.4);
  const Result parallel = run(at(pill, {0, 0, 1.0 - 1e-3}), at(pill, {0, 0, 0}));
  CHECK(parallel.points.size() == 1);  // end to end along z
  const Result beside = run(at(pill, {0.2 - 1e-3, 0, 0.1}), at(pill, {0, 0, 0}));
  REQUIRE(beside.points.size() == 2);
  for (const auto& p : beside.points) CHECK(p.depth == doctest::Approx(1e-3));
  CHECK(std::abs(beside.points[0].p_WC.z() - beside.points[1].p_WC.z()) == doctest::Approx(0.7));
  const Result crossed = run(at(pill, {0.2 - 1e-3, 0, 0}, about(Vec3::UnitX(), M_PI / 2)), at(pill, {0, 0, 0}));
  CHECK(crossed.points.size() == 1);
  const Result through = run(at(pill, {0, 0, 0}, about(Vec3::UnitX(), M_PI / 2)), at(pill, {0, 0, 0}));
  REQUIRE(through.points.size() == 1);
  CHECK(through.depth == doctest::Approx(0.2));
  CHECK(std::abs(through.nhat.x()) == doctest::Approx(1));
}

TEST_CASE("narrow_phase: coincident poses have a finite answer, the same one every time") {
  const ConvexHull hull = box_hull({0.5, 0.4, 0.3});
  const std::vector<Shape> shapes{make_sphere(0.5), make_box({0.5, 0.4, 0.3}), make_capsule(0.2, 0.4),
                                  make_cylinder(0.3, 0.4), make_convex(&hull)};
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      INFO(to_string(a.kind) << " " << to_string(b.kind));
      const Placed x = at(a, {1, 2, 3}), y = at(b, {1, 2, 3});
      const Result r = run(x, y), again = run(x, y);
      REQUIRE(!r.points.empty());
      CHECK(r.nhat.allFinite());
      CHECK(std::abs(r.nhat.norm() - 1) < 1e-12);
      CHECK(r.depth > 0.3);
      CHECK(r.nhat == again.nhat);
      Rng rng(23);
      CHECK(overlap_along(x, y, r.nhat) <= sampled_minimum(x, y, rng, 500) * 1.003 + 1e-9);
    }
  }
}

TEST_CASE("narrow_phase: noise at a tie does not flip the normal of a remembered contact") {
  Rng rng(24);
  const ConvexHull hull = box_hull({0.5, 0.5, 0.5});
  const Shape cube = make_box({0.5, 0.5, 0.5});
  const std::vector<std::pair<Shape, Shape>> pairs{
      {cube, cube}, {cube, make_convex(&hull)}, {make_convex(&hull), make_convex(&hull)}};
  for (const auto& [sa, sb] : pairs) {
    Witness witness;
    Vec3 last = Vec3::Zero();
    for (int tick = 0; tick < 200; ++tick) {  // two faces are nearest with equal depth, up to noise
      const Vec3 noise = in_cube(rng, 1e-6);
      const Result r = run(at(sa, Vec3(0.9, 0.9, 0.1) + noise), at(sb, {0, 0, 0}), witness);
      REQUIRE(!r.points.empty());
      if (tick > 0) CHECK((r.nhat - last).norm() < 1e-3);
      last = r.nhat;
      witness = r.witness;
    }
  }
}

TEST_CASE("narrow_phase: a thousand times larger or smaller partner") {
  const Shape ground = make_box({500, 500, 500});
  const ConvexHull hull = box_hull({0.005, 0.005, 0.005});
  for (const Shape& tiny : {make_sphere(0.005), make_box({0.005, 0.005, 0.005}), make_convex(&hull)}) {
    const Result r = run(at(tiny, {123, -77, 500.005 - 1e-6}), at(ground, {0, 0, 0}));
    INFO(to_string(tiny.kind));
    REQUIRE(!r.points.empty());
    CHECK((r.nhat - Vec3::UnitZ()).norm() < 1e-9);
    CHECK(r.depth == doctest::Approx(1e-6).epsilon(1e-3));
    CHECK(r.points.size() == (tiny.kind == ShapeKind::sphere ? 1u : 4u));
  }
  const Result can = run(at(make_cylinder(0.005, 0.005), {123, -77, 500.005 - 1e-6}), at(ground, {0, 0, 0}));
  REQUIRE(can.points.size() == 8);
  CHECK((can.nhat - Vec3::UnitZ()).norm() < 1e-9);
  const Result pill = run(at(make_capsule(0.005, 0.005), {123, -77, 500.005 - 1e-6}, about(Vec3::UnitX(), M_PI / 2)),
                          at(ground, {0, 0, 0}));
  CHECK(pill.points.size() == 2);
}

TEST_CASE("narrow_phase: tilting and rolling move depth and normal continuously") {
  // Bodies of bounded size turn by `step` per tick with a remembered witness; the deepest overlap and the normal must
  // follow.
  const ConvexHull block = box_hull({0.3, 0.3, 0.3});
  struct Motion {
    Shape body, support;
    Vec3 start, axis;
    double angle;
  };
  const Shape table = make_box({2, 2, 0.5});
  const Shape drum = make_cylinder(2, 0.5);
  const std::vector<Motion> motions{
      {make_box({0.3, 0.3, 0.3}), table, {0.1, 0.1, 0.79}, {1, 0.3, 0}, 1.5},
      {make_convex(&block), table, {0.1, 0.1, 0.79}, {1, 0.3, 0}, 1.5},
      {make_cylinder(0.3, 0.3), table, {0.1, 0.1, 0.79}, {1, 0.3, 0}, 1.5},
      {make_cylinder(0.3, 0.3), drum, {0.1, 0.1, 0.79}, {1, 0.3, 0}, 1.5},
      {make_capsule(0.1, 0.3), table, {0.1, 0.1, 0.85}, {1, 0.3, 0}, 1.5},
      {make_capsule(0.1, 0.3), drum, {0.1, 0.1, 0.85}, {1, 0.3, 0}, 1.5},
  };
  for (const Motion& m : motions) {
    for (const auto& ground : {m.support, make_half_space()}) {
      INFO(to_string(m.body.kind) << " on " << to_string(ground.kind));
      const double step = 1e-3;
      Witness witness;
      Result last;
      for (int k = 0; k * step < m.angle; ++k) {
        const Placed body = at(m.body, m.start, about(m.axis, k * step));
        const Placed floor = at(ground, ground.kind == ShapeKind::half_space ? Vec3(0, 0, 0.5) : Vec3(0, 0, 0));
        const Result r = run(body, floor, witness);
        if (k > 0 && !r.points.empty() && !last.points.empty()) {
          CHECK(std::abs(r.depth - last.depth) <= 0.6 * step);
          CHECK((r.nhat - last.nhat).norm() <= 1e-6);  // the floor's normal throughout
        }
        witness = r.witness;
        last = r;
      }
    }
  }
}

TEST_CASE("narrow_phase: a cylinder that rolls over a table's edge turns its normal continuously") {
  const Placed table = at(make_box({1, 1, 0.5}), {0, 0, 0});
  const double depth = 1e-4, radius = 0.3;
  Witness witness;
  Vec3 last = Vec3::UnitZ();
  for (int k = 0; k <= 1500; ++k) {
    const double angle = k * 1e-3;  // of the centre about the edge, from above towards the side
    const Vec3 centre = Vec3(1, 0.1, 0.5) + (radius - depth) * Vec3(std::sin(angle), 0, std::cos(angle));
    const Result r =
        run(at(make_cylinder(radius, 0.4), centre, about({1, 0, 0}, M_PI / 2) * about({0, 0, 1}, 0.3)), table, witness);
    INFO(k << " normal " << r.nhat.transpose());
    REQUIRE(r.points.size() == 2);
    CHECK(r.depth == doctest::Approx(depth).epsilon(1e-3));
    CHECK((r.nhat - last).norm() <= 2e-3);
    last = r.nhat;
    witness = r.witness;
  }
  CHECK(last.x() > 0.99);
}

TEST_CASE("narrow_phase: noise on a standing cylinder does not spin its points") {
  Rng rng(25);
  for (const Shape& ground : {make_half_space(), make_box({2, 2, 0.5})}) {
    const Placed floor = at(ground, ground.kind == ShapeKind::half_space ? Vec3(0, 0, 0.5) : Vec3(0, 0, 0));
    std::vector<ContactPoint> first;
    for (int trial = 0; trial < 50; ++trial) {
      const Result r = run(at(make_cylinder(0.3, 0.3), {0, 0, 0.799}, about(direction(rng), 5e-5)), floor);
      REQUIRE(r.points.size() == 8);
      if (trial == 0) first = r.points;
      check_same_points(first, r.points, 2e-4);
    }
  }
}

TEST_CASE("narrow_phase: a full buffer keeps the deepest points and says so") {
  ContactPoint storage[3];
  ContactBuffer buffer{storage, 3};
  Witness witness;
  const Shape cube = make_box({0.5, 0.5, 0.5});
  const Mat3 tilt = about({1, 0.5, 0}, 1e-4);
  collide(cube, {tilt, {0, 0, 0.499}}, make_half_space(), Frame{}, witness, buffer);
  CHECK(buffer.truncated);
  CHECK(buffer.count == 3);
  const Result all = run(at(cube, {0, 0, 0.499}, tilt), at(make_half_space(), {0, 0, 0}));
  REQUIRE(all.points.size() == 4);
  double shallowest = 1;
  for (const auto& p : all.points) shallowest = std::min(shallowest, p.depth);
  for (std::uint32_t i = 0; i < buffer.count; ++i) CHECK(storage[i].depth > shallowest);
}

TEST_CASE("narrow_phase: the table names a function for each pair, in either order") {
  for (int a = 0; a < kShapeKinds; ++a) {
    for (int b = 0; b < kShapeKinds; ++b) {
      const std::string x = collide_function_name(static_cast<ShapeKind>(a), static_cast<ShapeKind>(b));
      CHECK(x == collide_function_name(static_cast<ShapeKind>(b), static_cast<ShapeKind>(a)));
      CHECK(x.rfind("collide_", 0) == 0);
    }
  }
}

}  // namespace
}  // namespace tactus
