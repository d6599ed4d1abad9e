// What clients/cpp/README.md says of ros2_control and of libfranka's loops, as code that runs: the two frameworks are
// stood in for by the few types that a plugin and a callback see.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "clients/cpp/examples/planar_arm.h"
#include "tactus/testing.h"

namespace {

using namespace std::chrono_literals;

// --- ros2_control

enum class return_type { OK, ERROR };

// The calls of hardware_interface::SystemInterface; the vectors are what its state and command interfaces export.
class ArmHardware {
 public:
  std::vector<double> position, velocity, effort, effort_command;

  ArmHardware(std::string name, std::uint16_t port, bool lockstep)
      : name_(std::move(name)), port_(port), lockstep_(lockstep) {}

  void on_configure() {
    client_.emplace("127.0.0.1", port_);
    arm_ = client_->robot(name_);
    tactus::client::Subscription wanted;
    wanted.joints = {name_};
    client_->subscribe(wanted);
    for (auto* values : {&position, &velocity, &effort, &effort_command}) values->assign(arm_.size(), 0.0);
  }
  void on_activate() {
    client_->arm(lockstep_ ? std::vector<std::string>{arm_.channel(), "world"}
                           : std::vector<std::string>{arm_.channel()});
    tactus::client::JointOptions options;
    options.missed = "hold";
    client_->set_joint_options({name_}, options);
  }
  void on_deactivate() { client_->disarm(); }

  return_type read() {
    if (!lockstep_) state_ = client_->next(5ms);
    if (lockstep_ && !state_) state_ = client_->advance(0);
    if (!state_) return return_type::ERROR;
    for (std::size_t i = 0; i < arm_.size(); ++i) {
      position[i] = state_->robot(arm_).q(i);
      velocity[i] = state_->robot(arm_).dq(i);
      effort[i] = state_->robot(arm_).effort(i);
    }
    return return_type::OK;
  }
  return_type write() {
    command_.clear();
    command_.expected_tick = state_->tick;
    command_.effort(arm_, effort_command);
    if (lockstep_) {
      state_ = client_->advance(1, &command_);
      return state_ ? return_type::OK : return_type::ERROR;
    }
    return client_->send(command_) ? return_type::OK : return_type::ERROR;
  }

 private:
  const std::string name_;
  const std::uint16_t port_;
  const bool lockstep_;
  std::optional<tactus::Client> client_;
  tactus::client::Robot arm_;
  tactus::client::StatePtr state_;
  tactus::client::Command command_;
};

// --- libfranka

struct RobotState {
  std::vector<double> q, dq, tau_J;
};
struct Torques {
  std::vector<double> tau_J;
  bool motion_finished = false;
};

// robot.control(callback): ten lines on Client::run().
tactus::client::Report control(tactus::Client& client, const tactus::client::Robot& arm,
                               const std::function<Torques(const RobotState&, double period_s)>& callback) {
  double last_s = -1;
  return client.run([&](const auto& state, const auto&, auto& command) {
    RobotState robot;
    for (std::size_t i = 0; i < arm.size(); ++i) {
      robot.q.push_back(state.robot(arm).q(i));
      robot.dq.push_back(state.robot(arm).dq(i));
      robot.tau_J.push_back(state.robot(arm).effort(i));
    }
    const Torques torques = callback(robot, last_s < 0 ? 0 : state.sim_time_s - last_s);
    last_s = state.sim_time_s;
    command.effort(arm, torques.tau_J);
    return !torques.motion_finished;
  });
}

// Holds the arm at q_d: gravity, and dynamics of 20 rad/s.
std::vector<double> hold(const std::vector<double>& q, const std::vector<double>& dq, const std::vector<double>& q_d) {
  const double a[2] = {400 * (q_d[0] - q[0]) - 40 * dq[0], 400 * (q_d[1] - q[1]) - 40 * dq[1]};
  double tau[2];
  example::PlanarArm::inverse_dynamics(q.data(), dq.data(), a, tau);
  return {tau[0], tau[1]};
}

}  // namespace

TEST_CASE("a hardware interface of ros2_control in lockstep: the arm goes where its controller wants it") {
  tactus::testing::Simulation sim("planar_arm");
  sim.client().release();  // who grants ticks holds "world"
  ArmHardware hardware("arm", sim.control_port(), true);
  hardware.on_configure();
  hardware.on_activate();
  REQUIRE(hardware.read() == return_type::OK);
  const std::vector<double> q_d{hardware.position[0] + 0.2, hardware.position[1] - 0.1};
  for (int i = 0; i < 1000; ++i) {
    hardware.effort_command = hold(hardware.position, hardware.velocity, q_d);
    REQUIRE(hardware.write() == return_type::OK);
    REQUIRE(hardware.read() == return_type::OK);
    CHECK(hardware.effort[0] == doctest::Approx(hardware.effort_command[0]).epsilon(1e-6));  // far below its limits
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(hardware.position[i] == doctest::Approx(q_d[i]).epsilon(1e-4));
    CHECK(std::abs(hardware.velocity[i]) < 1e-3);
  }
  hardware.on_deactivate();
}

// In real time nothing is said of how fast: only that what is written acts, and that all is given back.
TEST_CASE("the same in real time: what is written acts") {
  tactus::testing::Simulation sim("planar_arm");
  sim.client().set_lockstep(false);
  ArmHardware hardware("arm", sim.control_port(), false);
  hardware.on_configure();
  hardware.on_activate();
  bool acted = false;
  for (int tries = 0; tries < 5000 && !acted; ++tries) {
    if (hardware.read() != return_type::OK) continue;  // a busy machine
    acted = std::abs(hardware.effort[1] - 0.125) < 1e-9;
    hardware.effort_command = {0, 0.125};
    CHECK(hardware.write() == return_type::OK);
  }
  CHECK(acted);
  hardware.on_deactivate();
  CHECK(sim.client().list_leases().leases_size() == 1);  // "world", the test's own
}

TEST_CASE("a loop of libfranka's kind ends when its motion is finished") {
  tactus::testing::Simulation sim("planar_arm");
  sim.client().set_lockstep(false);
  tactus::Client client("127.0.0.1", sim.control_port());
  const auto arm = client.robot("arm");
  client.arm({arm.channel()});
  std::vector<double> start;
  double t = 0;
  int cycles = 0;
  const auto report = control(client, arm, [&](const RobotState& robot, double period_s) {
    if (start.empty()) start = robot.q;
    t += period_s;
    return Torques{hold(robot.q, robot.dq, start), ++cycles >= 200};
  });
  CHECK(report.end == tactus::client::Report::End::finished);
  CHECK(cycles == 200);
  CHECK(t > 0.15);  // a state is a tick at least, the first one is at 0
}
