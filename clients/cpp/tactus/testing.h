// Test a controller against a real server, in lockstep: the same run every time, however busy the machine is. For any
// test framework; with doctest:
//
//   TEST_CASE("the controller tracks") {
//     tactus::testing::Simulation sim("scene.toml");
//     const auto run = sim.run({"block"}, 5.0, controller);        // the function that Client::run() takes
//     CHECK(run.tracks(sim.position("block"), [](double t) { return Vec3{0.1 * t, 0, 0.1}; }, 0.01, 1.0));
//     CHECK(run.loss_below(0.02));
//     CHECK(run.no_faults());
//   }
//
// The same for the joints of a robot:
//
//     const auto run = sim.run_robot("arm", 5.0, controller);      // calls command.effort(sim.robot("arm"), {...})
//     CHECK(run.tracks(sim.joints("arm"), [](double t) { return std::vector{0.3 * t, -0.1}; }, 0.01, 1.0));
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tactus/client.h"

namespace tactus::testing {

using client::State;
using client::Vec3;

// True, or false with the worst of what was found. Prints itself, so that CHECK(run.tracks(...)) says why it failed.
class Check {
 public:
  static Check pass() { return Check(true, "as expected"); }
  static Check fail(std::string why) { return Check(false, std::move(why)); }
  explicit operator bool() const { return ok_; }
  const std::string& text() const { return text_; }

 private:
  Check(bool ok, std::string text) : ok_(ok), text_(std::move(text)) {}
  bool ok_;
  std::string text_;
};
std::ostream& operator<<(std::ostream& out, const Check& check);

using Value = std::function<Vec3(const State&)>;
using Target = std::function<Vec3(double t_s)>;  // of the time since the start of the run
using Joints = std::function<std::vector<double>(const State&)>;
using JointTarget = std::function<std::vector<double>(double t_s)>;  // as many as joints

// What came of one run.
struct Run {
  std::vector<client::StatePtr> states;           // one a cycle, from the start on
  std::uint64_t commands = 0;                     // sent
  std::map<std::string, std::uint64_t> verdicts;  // name -> count
  std::uint64_t lost = 0, lost_in_a_row = 0;      // never applied, and not because a newer one took their place
  std::vector<std::string> faults;                // bodies frozen, robots' faults, leases lost ...: one line each
  std::uint64_t state_hash = 0;                   // of the last state: equal hashes mean equal states, bit by bit

  double t_s(std::size_t i) const { return states[i]->sim_time_s - states[0]->sim_time_s; }
  double loss() const { return commands == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(commands); }

  // From after_s on the value is within `within` of the target in each state (length of the difference, SI units).
  Check tracks(const Value& value, const Target& target, double within, double after_s = 0) const;
  Check tracks(const Value& value, const Vec3& target, double within, double after_s = 0) const;
  Check tracks(const Joints& value, const JointTarget& target, double within, double after_s = 0) const;
  Check tracks(const Joints& value, const std::vector<double>& target, double within, double after_s = 0) const;
  // Fewer than this part of the commands were lost. False, too, when none was sent.
  Check loss_below(double ratio) const;
  Check no_faults() const;
  Check same_bits(const Run& other) const;
};

struct Options {
  std::string scene;                                          // a file, or the name of one that is shipped
  std::vector<std::pair<std::string, std::string>> settings;  // override the scene's parameters
  std::vector<std::string> flags;                             // more of tactusd's
  std::string server;  // path of tactusd; empty: $TACTUS_BIN/tactusd, beside this program, ../bin
};

struct RunOptions {
  std::uint32_t every = 1;        // ticks a cycle: one message each
  std::uint32_t deadline_us = 0;  // of a command; 0: twice a cycle, at least 20 ms
  bool reset = true;              // begin at the scene's start
};

// A server of one's own, in lockstep. POSIX systems only. Make it inside a test or a fixture, not as a static: it has
// threads, which must end before main() does.
class Simulation {
 public:
  // Throws client::Error with the server's last words when it does not start.
  explicit Simulation(const Options& options);
  explicit Simulation(const std::string& scene) : Simulation(Options{scene, {}, {}, {}}) {}
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  client::Client& client();
  std::uint16_t control_port() const;
  // p_WB of a body.
  Value position(const std::string& body);
  // The bodies are leased and recorded (none: all that move are recorded). The loop ends early when it returns false.
  Run run(const std::vector<std::string>& bodies, double seconds, const client::Loop& controller,
          const RunOptions& options = {});
  // The same for a robot: all its joints are leased and recorded, and all bodies that move.
  Run run_robot(const std::string& robot, double seconds, const client::Loop& controller,
                const RunOptions& options = {});
  client::Robot robot(const std::string& name);
  // q of the robot's joints that take commands, in the order of every command [rad or m].
  Joints joints(const std::string& robot);

 private:
  Run run(const client::Subscription& shown, std::vector<std::string> channels, double seconds,
          const client::Loop& controller, const RunOptions& options);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tactus::testing
