// World::mobility(): what a unit impulse at a point of a body does to its twist there.
#include "tests/support/algebra.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/robots.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::RobotBench;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

TEST_CASE("core_mobility: a link's is J M^-1 J^T, between ticks, and asking changes no bit of the run") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    test::RobotOptions options;
    options.base = static_cast<test::Base>(seed % 4);
    options.joints = 2 + static_cast<std::uint32_t>(seed);
    options.mimic = seed % 3 == 0 ? 0.4 : 0;
    const auto scene = [&] {
      Random random(seed + 7);
      return test::random_robot(random, options);
    };
    RobotBench bench(scene());
    World world = scene().world(), other = scene().world();
    Random random(seed + 99);
    for (int k = 0; k < 20; ++k) {
      world.step();
      other.step();
      bench.state = world.state();
      bench.update();
      const std::uint32_t link = random.below(bench.tree->link_count());
      const BodyIndex b = bench.tree->body(link);
      const Vec3 p_W = world.state().p_WBcm(b) + random.in_cube(0.3);
      Matrix6 got;
      const test::AllocGuard guard;
      REQUIRE(world.mobility(b, p_W, got));
      if (test::AllocGuard::available()) CHECK(guard.count() == 0);
      const RobotBench::Matrix J = bench.jacobian(link, p_W);
      const RobotBench::Matrix want = J * bench.mass().ldlt().solve(J.transpose());
      CHECK_WITHIN((got - want).norm() / (1e-9 + want.norm()), 1e-9);
    }
    CHECK(world.hash() == other.hash());
  }
}

TEST_CASE("core_mobility: a free body's is felt by an impulse at that point; what does not move has none") {
  test::Scene scene;
  scene.set_gravity(Vec3::Zero());
  const BodyIndex floor = scene.add_floor(Vec3(0, 0, -5));
  Random random(3);
  const BodyIndex box = scene.add(make_box(Vec3(0.1, 0.2, 0.3)), 2, {random.rotation(), Vec3(1, 2, 3)});
  World world = scene.world();
  const Vec3 p_W = world.state().p_WBcm(box) + Vec3(0.1, -0.2, 0.15);
  Matrix6 W;
  REQUIRE(world.mobility(box, p_W, W));
  const double h = world.model().step;
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    world.reset();
    SpatialForce F{};
    F.force = F.torque = Vec3::Zero();
    (i < 3 ? F.force : F.torque)[i % 3] = 1e-3 / h;  // an impulse of 1e-3
    F.torque += (p_W - world.state().p_WBcm(box)).cross(F.force);
    world.apply(box, F);
    const Vec3 r = p_W - world.state().p_WBcm(box);
    world.step();
    const Vec3 w = world.state().w_WB(box), v = world.state().v_WBcm(box) + w.cross(r);
    Eigen::Matrix<double, 6, 1> twist;
    twist << v, w;
    CHECK_WITHIN((twist / 1e-3 - W.col(i)).norm() / W.col(i).norm(), 1e-4);  // its own turning is of second order
  }
  REQUIRE(world.mobility(floor, p_W, W));
  CHECK(W.norm() == 0);
  State state = world.state();
  state.frozen[box] = 1;
  REQUIRE(world.restore(state));
  REQUIRE(world.mobility(box, p_W, W));
  CHECK(W.norm() == 0);
}

}  // namespace
}  // namespace tactus
