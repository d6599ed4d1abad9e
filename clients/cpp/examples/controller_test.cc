// A controller under test, as a CI job runs it: doctest, and a server in lockstep. The results are the same on every
// machine and in every run.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tactus/testing.h"

namespace {

using tactus::testing::Vec3;

constexpr const char* kScene = R"(title = "A block on the floor"
[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"
[[body]]
name = "block"
position_m = [0, 0, 0.1]
mass_kg = 2
force_limit_n = 60
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]
)";
constexpr double kMass = 2, kFriction = 0.5, kGravity = 9.81, kSpeed = 0.2;  // kg, 1, m/s^2, m/s

// The trajectory: off after half a second, at constant speed.
Vec3 along_x(double t) {
  return {kSpeed * std::max(0.0, t - 0.5), 0, 0.1};
}

// A spring and a damper along the trajectory, and what friction takes. The same function serves Client::run().
tactus::client::Loop controller(std::uint32_t block) {
  return [block](const auto& state, const auto&, auto& command) {
    const auto& b = state.body(block);
    const double speed = state.sim_time_s > 0.5 ? kSpeed : 0;
    const double friction = speed > 0 ? kFriction * kMass * kGravity : 0;
    const double force = 400 * (along_x(state.sim_time_s)[0] - b.p_WB[0]) + 60 * (speed - b.v_WB[0]) + friction;
    command.force(block, {force, 0, 0});
    return true;
  };
}

// A server for each test case, on a scene of this file.
struct Bench {
  static std::string scene() {
    const auto path = std::filesystem::temp_directory_path() / "tactus-example-block.toml";
    std::ofstream(path) << kScene;
    return path.string();
  }
  tactus::testing::Simulation sim{scene()};
};

}  // namespace

TEST_CASE_FIXTURE(Bench, "it tracks, with less than two percent of its commands lost") {
  const auto run = sim.run({"block"}, 5, controller(sim.client().body("block")));
  const auto position = sim.position("block");
  CHECK(run.tracks(position, along_x, 0.02));
  CHECK(run.tracks(position, along_x, 0.005, 1.5));
  CHECK(run.loss_below(0.02));
  CHECK(run.no_faults());
}

TEST_CASE_FIXTURE(Bench, "every run ends in the same bits") {
  const auto block = sim.client().body("block");
  const auto first = sim.run({"block"}, 1, controller(block)), second = sim.run({"block"}, 1, controller(block));
  CHECK(first.same_bits(second));
  const auto other = sim.run({"block"}, 1, [](const auto&, const auto&, auto&) { return true; });
  CHECK_FALSE(first.same_bits(other));
}

TEST_CASE_FIXTURE(Bench, "what is not so is told") {
  const auto idle = sim.run({"block"}, 0.7, [](const auto&, const auto&, auto&) { return true; });
  const auto tracks = idle.tracks(sim.position("block"), along_x, 0.01);
  CHECK_FALSE(tracks);
  CHECK(tracks.text().find("0.04 off its target at t = 0.7 s") != std::string::npos);
  CHECK_FALSE(idle.loss_below(0.02));  // nothing was sent: there is nothing to judge
}
