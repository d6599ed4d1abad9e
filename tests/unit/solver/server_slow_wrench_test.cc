// What end effectors feel under slow models: the wrench on a link is that of the step adopted last, held over its
// ticks.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "core/scene/scene.h"
#include "server/solver/slow_ticker.h"
#include "tests/support/models.h"
#include "tests/support/tolerance.h"

using namespace tactus;

namespace {

constexpr std::uint32_t kTicks = 4;
constexpr double kMass = 1.5, kPush = 7.0, kGravity = 9.81;

// A foot on a vertical slide without friction, 1 mm over the floor, turned by 0.3 rad so that its frame is not the
// world's; nothing carries it but the floor.
constexpr const char* kSlideUrdf = R"(<robot name="foot">
  <link name="rail"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="foot">
    <inertial><origin xyz="0.01 0 0"/><mass value="1.5"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision>
  </link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="foot"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="100" velocity="10"/></joint>
</robot>)";

std::unique_ptr<World> make_foot() {
  const std::string path = std::string(TACTUS_BUILD_DIR) + "/slow_wrench_foot.urdf";
  std::FILE* file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  std::fputs(kSlideUrdf, file);
  std::fclose(file);
  SceneOptions options;
  options.limits.bodies = options.limits.shapes = 8;
  options.limits.pairs = 16;
  const std::string scene =
      "title = \"a foot\"\n[[body]]\nname = \"floor\"\nmode = \"fixed\"\n[[body.shape]]\nkind = \"half_space\"\n"
      "[[robot]]\nname = \"foot\"\nurdf = \"" +
      path +
      "\"\nbase = \"fixed\"\nposition_m = [0, 0, 0.051]\n"
      "roll_pitch_yaw_rad = [0, 0, 0.3]\n";
  return std::make_unique<World>(parse_scene(scene, "test", options), options.limits);
}

struct Bench {
  std::unique_ptr<World> world = make_foot();
  std::unique_ptr<SlowSolver> solver;
  SlowTicker ticker{8, 64};
  BodyIndex foot = kNoBody;

  explicit Bench(ContactModelKind kind) {
    solver =
        std::make_unique<SlowSolver>(make_solver_world(world->shared_model(), world->limits(), kind, kTicks), kind, 64);
    world->yield_to(kind);
    CHECK(ticker.exchange(solver.get(), *world) == nullptr);
    for (BodyIndex b = 0; b < world->model().bodies.size(); ++b)
      if (world->model().bodies[b].name == "foot/foot") foot = b;
    REQUIRE(foot != kNoBody);
  }
  void tick(double push) {
    world->apply(foot, {Vec3(0, 0, 0), Vec3(0, 0, -push)});
    ticker.step(*world, Meet::wait, Meet::wait, true);
    solver->solve_here();
  }
};

}  // namespace

// The floor carries the weight and what pushes; what pushes is part of what is felt. So the sum is the weight alone,
// in every tick, between steps too; and the joint's external effort is the same force along its axis.
TEST_CASE("server_slow: under a slow model a standing foot feels its weight in every tick") {
  for (const ContactModelKind kind : test::kAllModels) {
    CAPTURE(to_string(kind));
    Bench bench(kind);
    for (int i = 0; i < 1500; ++i) bench.tick(0);
    double felt = 0;
    for (int i = 0; i < 400; ++i) {
      bench.tick(kPush);
      const SpatialForce& F = bench.world->external_wrench(bench.foot);
      CHECK(F.force.z() == doctest::Approx(bench.world->joint_reading(0).external_effort).epsilon(1e-9));
      if (i < 200) continue;
      felt += F.force.z() / 200;
      CHECK(F.force.z() == doctest::Approx(kMass * kGravity).epsilon(0.02));
      CHECK(F.force.head<2>().norm() < 1e-3 * kMass * kGravity);
      // The floor's force passes under the mass centre or the rail holds the foot: nothing turns about the axis.
      CHECK(std::abs(F.torque.z()) < 1e-3);
    }
    CHECK(felt == doctest::Approx(kMass * kGravity).epsilon(1e-3));
  }
}

TEST_CASE("server_slow: in the air only what is applied is felt, from the step on that took it, and no longer") {
  Bench bench(ContactModelKind::st);
  bench.world->set_drive(0, {});
  for (std::uint32_t n = 1; n <= 3 * kTicks; ++n) {
    bench.world->apply(bench.foot, {Vec3(0.2, 0, 0), Vec3(0, 3, 60)});  // up and away
    bench.ticker.step(*bench.world, Meet::wait, Meet::wait, true);
    bench.solver->solve_here();
    const SpatialForce& F = bench.world->external_wrench(bench.foot);
    const bool felt = n >= 2 * kTicks;  // applied in ticks 1..4, in the step begun at 4, adopted at 8
    CHECK(F.force.y() == doctest::Approx(felt ? 3.0 : 0.0).epsilon(1e-12));
    if (felt) CHECK(F.force.z() == doctest::Approx(60.0).epsilon(1e-9));
  }
  for (std::uint32_t n = 1; n <= 3 * kTicks; ++n) {
    bench.ticker.step(*bench.world, Meet::wait, Meet::wait, true);
    bench.solver->solve_here();
  }
  CHECK(bench.world->external_wrench(bench.foot).force.norm() == 0);
}
