// `tactus latency --robot R`: torque control of a robot beside a bare UDP ping-pong, each at the rate of the tick.
#include <atomic>
#include <cstdio>
#include <thread>

#include "clients/cli/echo.h"
#include "clients/cli/json.h"
#include "clients/cli/latency.h"
#include "realtime.pb.h"

namespace tactus::cli {
namespace {

struct Result {
  std::uint64_t ticks = 0, sent = 0, in_time = 0, late = 0, other = 0;  // other: superseded, expired, unanswered
  std::uint64_t echo_grid = 0, echo_in_time = 0;
  Spread command_us, echo_us;
  client::Link link;
  double success() const { return ticks > 0 ? 100.0 * static_cast<double>(in_time) / static_cast<double>(ticks) : 0; }
  double echo_success() const {
    return echo_grid > 0 ? 100.0 * static_cast<double>(echo_in_time) / static_cast<double>(echo_grid) : 0;
  }
};

// A ping at each grid point, on a thread of its own; good when it is back before the next one.
class PingPong {
 public:
  explicit PingPong(std::int64_t period) : thread_([this, period] { run(period); }) {}
  void finish(Result& into) {
    stop_ = true;
    thread_.join();
    const std::vector<double> round_trips = echo_.stop();
    into.echo_grid = grid_;
    for (std::size_t i = 0; i < round_trips.size() && i < room_us_.size(); ++i)
      into.echo_in_time += round_trips[i] <= room_us_[i] ? 1 : 0;
    into.echo_us = spread_of(round_trips);
  }

 private:
  void run(std::int64_t period) {
    std::int64_t due = client::now_ns();
    while (!stop_) {
      sleep_until_ns(due);
      const std::int64_t left = due + period - client::now_ns();
      room_us_.push_back(1e-3 * static_cast<double>(left));
      echo_.send();
      ++grid_;
      for (due += period; due <= client::now_ns(); due += period) ++grid_;  // grid points that had no ping
    }
  }
  Echo echo_;
  std::vector<double> room_us_;  // what was left of the period when the ping went
  std::uint64_t grid_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

Result measure(client::Client& client, const client::Robot& robot, const LatencyOptions& options) {
  Result result;
  std::vector<double> round_trips;
  client.on_verdict([&](const client::Verdict& verdict) {
    if (verdict.in_time()) {
      ++result.in_time;
      round_trips.push_back(1e-3 * static_cast<double>(verdict.received_ns - verdict.sent_ns));
    } else {
      ++(verdict.code == v1::VERDICT_LATE ? result.late : result.other);
    }
  });
  std::vector<double> rest, efforts(robot.size());
  std::uint64_t first_tick = 0, last_tick = 0;
  const auto period = static_cast<std::int64_t>(1e9 * client.scene()->step_s());
  PingPong ping_pong(period);
  const std::int64_t end = client::now_ns() + static_cast<std::int64_t>(1e9 * options.seconds);
  client.run([&](const client::State& state, const client::Link&, client::Command& command) {
    const client::RobotView now = state.robot(robot);
    if (rest.empty()) {
      for (std::size_t i = 0; i < robot.size(); ++i) rest.push_back(now.q(i));
      first_tick = state.tick;
    }
    // A spring and a damper at each joint, soft enough for a command that comes some ticks late.
    for (std::size_t i = 0; i < robot.size(); ++i) efforts[i] = 20 * (rest[i] - now.q(i)) - 2 * now.dq(i);
    command.effort(robot, efforts);
    ++result.sent;
    last_tick = state.tick;
    return client::now_ns() < end && !interrupted();
  });
  sleep_until_ns(client::now_ns() + 300'000'000);  // the last verdicts
  ping_pong.finish(result);
  client.on_verdict({});
  client.list_leases();  // the io thread is no longer inside the callback
  result.ticks = last_tick - first_tick + 1;
  result.command_us = spread_of(std::move(round_trips));
  result.link = client.link();
  return result;
}

}  // namespace

int run_joint_latency(const Common& common, const LatencyOptions& options) {
  client::Client client(client_options(common, "latency"));
  const client::Robot robot = client.robot(options.robot);
  client::Subscription wanted;
  wanted.joints = {robot.name};
  client.subscribe(wanted);
  client.arm({robot.channel()}, options.take_over);
  client::JointOptions joints;
  joints.tolerance_ticks = 1;  // in time is in the tick after the state that it answers
  client.set_joint_options({robot.name}, joints);
  const Result r = measure(client, robot, options);
  client.release();
  if (common.json) {
    Json json;
    json.open('{')
        .field("robot", robot.name)
        .field("joints", robot.size())
        .field("ticks", r.ticks)
        .field("sent", r.sent);
    json.field("in_time", r.in_time).field("late", r.late).field("success_percent", r.success());
    json.field("echo_grid_points", r.echo_grid).field("echo_success_percent", r.echo_success());
    json.field("command_to_state_us", r.command_us).field("bare_echo_us", r.echo_us);
    std::printf("%s\n", json.close('}').text().c_str());
  } else {
    std::printf("%-24s %8s %8s %8s %8s  samples\n", "microseconds", "p50", "p99", "p99.9", "max");
    print_row("command to state", r.command_us);
    print_row("bare UDP ping-pong", r.echo_us);
    std::printf("in time: %.2f %% of %llu ticks (%llu late, %llu not applied); ping-pong %.2f %% of %llu grid points\n",
                r.success(), static_cast<unsigned long long>(r.ticks), static_cast<unsigned long long>(r.late),
                static_cast<unsigned long long>(r.other), r.echo_success(),
                static_cast<unsigned long long>(r.echo_grid));
    std::printf("%s\n", r.link.explain().c_str());
  }
  return r.in_time > 0 ? 0 : 1;
}

}  // namespace tactus::cli
