#include "tactus/testing.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <ostream>
#include <sstream>

#include "clients/cpp/src/child_server.h"
#include "realtime.pb.h"

namespace tactus::testing {
namespace {

constexpr unsigned kSafetyNetS = 3600;  // a server ends by itself when its test was killed
constexpr int kFirstStateTicks = 1000;
constexpr std::uint32_t kDeadlineCapUs = 200'000;

std::string find_server(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* folder = std::getenv("TACTUS_BIN"); folder != nullptr && *folder != '\0')
    return std::string(folder) + "/tactusd";
  const std::string here = client::own_directory("");
  for (const std::string& place : {here, here + "/../bin"})
    if (std::filesystem::exists(place + "/tactusd")) return place + "/tactusd";
  return here + "/tactusd";
}

std::vector<std::string> flags_of(const Options& options) {
  std::vector<std::string> out{"--lockstep", "--duration-s", std::to_string(kSafetyNetS)};
  if (!options.scene.empty()) out.insert(out.end(), {"--scene", options.scene});
  for (const auto& [key, value] : options.settings) out.insert(out.end(), {"--set", key + "=" + value});
  out.insert(out.end(), options.flags.begin(), options.flags.end());
  return out;
}

client::Options client_options(std::uint16_t port) {
  client::Options out;
  out.control_port = port;
  out.name = "testing";
  out.reconnect = false;
  return out;
}

// Of different lengths: not a number.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::nan("");
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

std::string text_of(const std::vector<double>& x) {
  std::ostringstream out;
  for (std::size_t i = 0; i < x.size(); ++i) out << (i == 0 ? '(' : ' ') << x[i] << (i + 1 < x.size() ? "," : ")");
  return out.str();
}

std::vector<double> numbers(const Vec3& x) {
  return {x.begin(), x.end()};
}

bool tells_of_a_fault(const v1::Event& event) {
  return event.kind() == v1::Event::BODY_FROZEN || event.kind() == v1::Event::ROBOT_FAULT ||
         event.kind() == v1::Event::SERVER_STOPPING ||
         (event.kind() == v1::Event::LEASE_LOST && event.text() != "world");
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Check& check) {
  return out << check.text();
}

// --- Run

Check Run::tracks(const Value& value, const Target& target, double within, double after_s) const {
  return tracks([&value](const State& state) { return numbers(value(state)); },
                [&target](double t) { return numbers(target(t)); }, within, after_s);
}

Check Run::tracks(const Joints& value, const JointTarget& target, double within, double after_s) const {
  double worst = -1;
  std::string where;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (t_s(i) < after_s - 1e-9) continue;
    const std::vector<double> found = value(*states[i]), wanted = target(t_s(i));
    const double error = distance(found, wanted);
    if (error <= worst) continue;  // NaN is the worst
    worst = error;
    std::ostringstream text;
    text << error << " off its target at t = " << t_s(i) << " s (tick " << states[i]->tick << "): found "
         << text_of(found) << ", expected " << text_of(wanted) << " within " << within;
    where = text.str();
    if (std::isnan(worst)) break;
  }
  if (where.empty()) return Check::fail("nothing to judge: the run ends before the check begins");
  return worst <= within ? Check::pass() : Check::fail(where);
}

Check Run::tracks(const Value& value, const Vec3& target, double within, double after_s) const {
  return tracks(
      value, [&target](double) { return target; }, within, after_s);
}

Check Run::tracks(const Joints& value, const std::vector<double>& target, double within, double after_s) const {
  return tracks(
      value, [&target](double) { return target; }, within, after_s);
}

Check Run::loss_below(double ratio) const {
  if (commands == 0) return Check::fail("no command was sent: there is no loss to judge");
  if (loss() < ratio) return Check::pass();
  std::ostringstream text;
  text << lost << " of " << commands << " commands were lost, at most " << lost_in_a_row << " in a row:";
  for (const auto& [name, count] : verdicts) text << ' ' << count << ' ' << name;
  return Check::fail(text.str());
}

Check Run::no_faults() const {
  constexpr std::uint32_t kBits =
      v1::STATUS_FAULT | v1::STATUS_BODY_FROZEN | v1::STATUS_COMMANDS_DROPPED | v1::STATUS_ROBOT_FAULT;
  for (const client::StatePtr& state : states) {
    if ((state->status_bits & kBits) == 0) continue;
    return Check::fail("status bits " + std::to_string(state->status_bits & kBits) + " at tick " +
                       std::to_string(state->tick) + (faults.empty() ? "" : "; " + faults.front()));
  }
  return faults.empty() ? Check::pass() : Check::fail(faults.front());
}

Check Run::same_bits(const Run& other) const {
  if (states.back()->tick == other.states.back()->tick && state_hash == other.state_hash) return Check::pass();
  for (std::size_t i = 0; i < std::min(states.size(), other.states.size()); ++i) {
    const State &a = *states[i], &b = *other.states[i];
    const auto same = [](const client::BodyState& x, const client::BodyState& y) {
      return x.p_WB == y.p_WB && x.q_WB == y.q_WB && x.v_WB == y.v_WB && x.w_WB == y.w_WB;
    };
    if (a.tick != b.tick || !std::equal(a.bodies.begin(), a.bodies.end(), b.bodies.begin(), b.bodies.end(), same))
      return Check::fail("the runs differ: first at tick " + std::to_string(a.tick));
  }
  return Check::fail("the runs end in different states, though what was recorded of them is the same");
}

// --- Simulation

struct Simulation::Impl {
  explicit Impl(const Options& options)
      : server(find_server(options.server), flags_of(options)), client(client_options(server.control_port())) {
    client.on_event([this](const v1::Event& event) {
      if (!tells_of_a_fault(event)) return;
      const std::lock_guard lock(m);
      faults.push_back(v1::Event::Kind_Name(event.kind()) + " " + event.text() + " at tick " +
                       std::to_string(event.tick()));
    });
    client.claim({"world"});
  }
  std::vector<std::string> take_faults() {
    const std::lock_guard lock(m);
    return std::exchange(faults, {});
  }

  client::ChildServer server;
  std::mutex m;
  std::vector<std::string> faults;
  client::Client client;  // last: its callbacks end first
};

Simulation::Simulation(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
Simulation::~Simulation() = default;

client::Client& Simulation::client() {
  return impl_->client;
}

std::uint16_t Simulation::control_port() const {
  return impl_->server.control_port();
}

Value Simulation::position(const std::string& body) {
  return [id = impl_->client.body(body)](const State& state) { return state.body(id).p_WB; };
}

client::Robot Simulation::robot(const std::string& name) {
  return impl_->client.robot(name);
}

Joints Simulation::joints(const std::string& name) {
  return [robot = impl_->client.robot(name)](const State& state) {
    std::vector<double> q;
    for (std::size_t i = 0; i < robot.size(); ++i) q.push_back(state.robot(robot).q(i));
    return q;
  };
}

namespace {

// That no fresh command came for a tick: told after the verdict of the one that acts on.
bool tells_of_a_miss(int code) {
  return code >= v1::VERDICT_HELD && code <= v1::VERDICT_BRAKED;
}

void add_verdicts(client::Client& client, Run& run, std::uint64_t& in_a_row, std::uint64_t& judged) {
  for (const client::Verdict& verdict : client.take_verdicts()) {
    ++run.verdicts[client::verdict_name(verdict.code)];
    if (tells_of_a_miss(verdict.code)) continue;
    ++judged;
    const bool lost = !verdict.applied() && verdict.code != v1::VERDICT_SUPERSEDED;
    in_a_row = lost ? in_a_row + 1 : 0;
    run.lost += lost ? 1 : 0;
    run.lost_in_a_row = std::max(run.lost_in_a_row, in_a_row);
  }
}

}  // namespace

// On a link with faults the present state may be lost: then the next one, up to kFirstStateTicks on.
static client::StatePtr first_state(client::Client& client) {
  client::StatePtr state = client.advance(0);
  for (int i = 0; !state && i < kFirstStateTicks; ++i) state = client.advance(1);
  if (!state)
    throw client::Error(client::Error::Kind::timeout, "no state came within 1,000 ticks: is all of the link lost?");
  return state;
}

Run Simulation::run(const std::vector<std::string>& bodies, double seconds, const client::Loop& controller,
                    const RunOptions& options) {
  client::Subscription shown;
  shown.bodies = bodies;
  shown.wrench = true;
  return run(shown, bodies, seconds, controller, options);
}

Run Simulation::run_robot(const std::string& robot, double seconds, const client::Loop& controller,
                          const RunOptions& options) {
  client::Subscription shown;
  shown.bodies = {"*"};
  shown.joints = {robot};
  for (const auto& [name, id] : impl_->client.robot(robot).links) shown.end_effectors.push_back(name);
  shown.jacobian = true;
  return run(shown, {impl_->client.robot(robot).channel()}, seconds, controller, options);
}

Run Simulation::run(const client::Subscription& shown, std::vector<std::string> channels, double seconds,
                    const client::Loop& controller, const RunOptions& options) {
  client::Client& client = impl_->client;
  if (options.reset) client.reset();
  impl_->take_faults();
  client.take_verdicts();
  client.subscribe(shown);
  const double cycle_s = options.every * client.scene()->step_s();
  channels.emplace_back("world");
  client.arm(channels);

  Run run;
  client::Command command;
  std::uint64_t in_a_row = 0, judged = 0;
  run.states.push_back(first_state(client));
  const auto cycles = std::max<long long>(1, std::llround(seconds / cycle_s));
  for (long long i = 0; i < cycles; ++i) {
    command.clear();
    command.deadline_us = options.deadline_us != 0 ? options.deadline_us
                                                   : static_cast<std::uint32_t>(std::clamp(2e6 * cycle_s, 2e4, 2e5));
    command.deadline_us = std::min(command.deadline_us, kDeadlineCapUs);
    command.expected_tick = run.states.back()->tick;
    if (!controller(*run.states.back(), client.link(), command)) break;
    run.commands += command.empty() ? 0 : 1;
    const client::StatePtr next = client.advance(options.every, command.empty() ? nullptr : &command);
    run.states.push_back(next ? next : run.states.back());  // on a link with faults none may have come
    add_verdicts(client, run, in_a_row, judged);
  }
  run.state_hash = client.grant(run.states.back()->tick).state_hash();
  run.faults = impl_->take_faults();
  run.lost += run.commands - std::min(judged, run.commands);  // no verdict came
  return run;
}

}  // namespace tactus::testing
