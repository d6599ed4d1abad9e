// A joint controller under test, as a CI job runs it: computed torque on the planar arm for five seconds, in lockstep.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "clients/cpp/examples/planar_arm.h"
#include "tactus/testing.h"

namespace {

constexpr double kW = 4, kA[2] = {0.3, -0.4};  // rad/s, rad

// Both joints along sines from where they are at the start. The same object serves Client::run().
struct Tracker {
  tactus::client::Robot arm;
  double start_s = -1, start[2] = {0, 0};

  bool operator()(const tactus::client::State& state, const tactus::client::Link&, tactus::client::Command& command) {
    const auto now = state.robot(arm);
    const double q[2] = {now.q(0), now.q(1)}, dq[2] = {now.dq(0), now.dq(1)};
    if (start_s < 0) start_s = state.sim_time_s, start[0] = q[0], start[1] = q[1];
    const double t = state.sim_time_s - start_s;
    double a[2], tau[2];
    for (int i = 0; i < 2; ++i) {  // the error's dynamics at 20 rad/s
      const double q_d = start[i] + kA[i] * (1 - std::cos(kW * t)), dq_d = kA[i] * kW * std::sin(kW * t);
      a[i] = kA[i] * kW * kW * std::cos(kW * t) + 400 * (q_d - q[i]) + 40 * (dq_d - dq[i]);
    }
    example::PlanarArm::inverse_dynamics(q, dq, a, tau);
    command.effort(arm, {tau[0], tau[1]});
    return true;
  }
};

std::vector<double> wanted(const std::vector<double>& start, double t) {
  return {start[0] + kA[0] * (1 - std::cos(kW * t)), start[1] + kA[1] * (1 - std::cos(kW * t))};
}

}  // namespace

TEST_CASE("the arm tracks for five seconds") {
  tactus::testing::Simulation sim("planar_arm");
  const auto run = sim.run_robot("arm", 5.0, Tracker{sim.robot("arm")});
  const auto q = sim.joints("arm");
  const std::vector<double> start = q(*run.states.front());
  CHECK(run.states.size() == 5001);
  CHECK(run.commands == 5000);
  CHECK(run.tracks(
      q, [&](double t) { return wanted(start, t); }, 0.003, 1.0));
  CHECK(run.loss_below(0.02));
  CHECK(run.no_faults());
}

TEST_CASE("every run of the arm ends in the same bits; another controller's does not; what is not so is told") {
  tactus::testing::Simulation sim("planar_arm");
  const auto first = sim.run_robot("arm", 1.0, Tracker{sim.robot("arm")});
  CHECK(first.same_bits(sim.run_robot("arm", 1.0, Tracker{sim.robot("arm")})));
  const auto limp = sim.run_robot("arm", 1.0, [arm = sim.robot("arm")](const auto&, const auto&, auto& command) {
    command.effort(arm, {0, 0});
    return true;
  });
  CHECK_FALSE(first.same_bits(limp));
  const auto start = sim.joints("arm")(*limp.states.front());
  const auto tracks = limp.tracks(
      sim.joints("arm"), [&](double t) { return wanted(start, t); }, 0.003);
  CHECK_FALSE(tracks);
  CHECK(tracks.text().find("off its target") != std::string::npos);
  CHECK_FALSE(limp.tracks(sim.joints("arm"), std::vector<double>{0.0}, 1e9));  // one number for two joints
}

// Half of the commands are lost on the way, by a seed: told, and the same in each run.
TEST_CASE("a lossy link is seen by the check, and tells the same each time") {
  tactus::testing::Simulation sim("planar_arm");
  tactus::v1::SetLinkFaults faults;
  faults.set_seed(3);
  faults.mutable_up()->set_loss(0.5);
  sim.client().set_link_faults(faults);
  const auto run = sim.run_robot("arm", 1.0, Tracker{sim.robot("arm")});
  CHECK(run.loss() > 0.4);
  CHECK(run.loss() < 0.6);
  CHECK_FALSE(run.loss_below(0.02));
  CHECK(run.same_bits(sim.run_robot("arm", 1.0, Tracker{sim.robot("arm")})));
}
