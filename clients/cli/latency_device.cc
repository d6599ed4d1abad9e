// `tactus latency --device TOOL`: a DEVICE to the TOOL of the tick that used it, stage by stage, beside a bare UDP
// echo. The phase is what a sample waited for the grid point of its tick: two clocks that know nothing of each other,
// not the link. All else counts: a tick that wakes late, its work up to the answer, and both ways. The tool is attached
// and never engaged, so nothing moves.
#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>

#include "clients/cli/echo.h"
#include "clients/cli/json.h"
#include "clients/cli/latency.h"
#include "haptic.pb.h"

namespace tactus::cli {
namespace {

// One round trip [us]. There and back are told apart by the estimate of the server's clock; their sum needs none.
struct Stages {
  double whole = 0, there = 0, phase = 0, late = 0, tick = 0, net = 0, back = 0;
  double without_phase() const { return whole - phase; }
};

class RoundTrips {
 public:
  void sent(std::uint64_t sample, std::int64_t at) {
    const std::lock_guard lock(m_);
    sent_[sample % sent_.size()] = {sample, at};
  }
  // The first TOOL that echoes a sample ends its round trip. offset_ns: the server's clock before ours.
  void take(const v1::ToolPacket& packet, std::int64_t at, std::int64_t offset_ns) {
    const std::lock_guard lock(m_);
    const Sent& s = sent_[packet.sample_echo() % sent_.size()];
    if (packet.subscription() != 0 || packet.sample_echo() <= newest_ || s.sample != packet.sample_echo()) return;
    newest_ = packet.sample_echo();
    Stages t;
    t.whole = 1e-3 * static_cast<double>(at - s.at);
    t.late = std::min<double>(packet.late_us(), packet.wait_us());  // of one that came after the grid point, less
    t.phase = packet.wait_us() - t.late;
    t.tick = packet.tick_us();
    t.net = packet.net_us();
    t.back = 1e-3 * static_cast<double>(at + offset_ns - static_cast<std::int64_t>(packet.send_ns()));
    t.there = t.whole - t.phase - t.late - t.tick - t.net - t.back;
    trips_.push_back(t);
  }
  Spread spread(double (*of)(const Stages&)) {
    std::vector<double> us;
    for (const Stages& t : trips_) us.push_back(of(t));
    return spread_of(std::move(us));
  }

 private:
  struct Sent {
    std::uint64_t sample = 0;
    std::int64_t at = 0;
  };
  std::mutex m_;
  std::array<Sent, 4096> sent_;
  std::uint64_t newest_ = 0;
  std::vector<Stages> trips_;
};

struct Stage {
  const char *name, *key;
  double (*of)(const Stages&);
};
constexpr Stage kStages[] = {
    {"device to force", "device_to_force_us", [](const Stages& t) { return t.whole; }},
    {"- phase of the beat", "phase_us", [](const Stages& t) { return t.phase; }},
    {"= without phase", "without_phase_us", [](const Stages& t) { return t.without_phase(); }},
    {"  there", "there_us", [](const Stages& t) { return t.there; }},
    {"  tick woke late", "late_us", [](const Stages& t) { return t.late; }},
    {"  tick to answer", "tick_us", [](const Stages& t) { return t.tick; }},
    {"  net to socket", "net_us", [](const Stages& t) { return t.net; }},
    {"  back", "back_us", [](const Stages& t) { return t.back; }},
};

v1::ToolAttached attach(client::Client& client, const LatencyOptions& options) {
  client.claim({"tool/" + options.device});
  v1::AttachTool request;
  request.set_tool(options.device);
  v1::DeviceCapabilities& device = *request.mutable_device();
  device.set_name("latency");
  device.set_axes_sensed(3);
  device.set_rate_hz(options.rate_hz);
  return client.attach_tool(request);
}

v1::DevicePacket idle_packet(client::Client& client, std::uint32_t tool) {
  v1::DevicePacket packet;
  packet.set_scene_epoch(client.epoch());
  packet.set_tool(tool);
  for (const double x : {0., 0., 0., 1., 0., 0., 0.}) packet.add_pose(x);
  for (int i = 0; i < 6; ++i) packet.add_velocity(0);
  return packet;
}

void print_device(const Common& common, const LatencyOptions& options, RoundTrips& trips, const Spread& bare,
                  const Spread& anywhere) {
  const Spread without = trips.spread([](const Stages& t) { return t.without_phase(); });
  const double ratio = bare.count > 0 && bare.p50 > 0 ? without.p50 / bare.p50 : 0;
  if (common.json) {
    Json json;
    json.open('{').field("tool", options.device);
    for (const Stage& stage : kStages) json.field(stage.key, trips.spread(stage.of));
    json.field("bare_echo_us", bare).field("bare_echo_anywhere_us", anywhere).field("ratio", ratio);
    std::printf("%s\n", json.close('}').text().c_str());
    return;
  }
  std::printf("%-24s %8s %8s %8s %8s  samples\n", "microseconds", "p50", "p99", "p99.9", "max");
  for (const Stage& stage : kStages) print_row(stage.name, trips.spread(stage.of));
  print_row("bare echo, as net runs", bare);
  print_row("bare echo, anywhere", anywhere);
  std::printf("without phase is %.2f times the bare echo (p50)\n", ratio);
}

}  // namespace

int run_device_latency(const Common& common, const LatencyOptions& options) {
  client::Client client(client_options(common, "latency"));
  const v1::ToolAttached attached = attach(client, options);
  v1::DevicePacket packet = idle_packet(client, attached.tool());
  RoundTrips trips;
  client.on_tool([&client, &trips](const v1::ToolPacket& tool, std::int64_t at) {
    trips.take(tool, at, client.clock().offset_ns);
  });
  Echo echo(true), anywhere;
  const auto period = static_cast<std::int64_t>(1e9 / options.rate_hz);
  const std::int64_t start = client::now_ns(), end = start + static_cast<std::int64_t>(1e9 * options.seconds);
  std::uint64_t sample = 0;
  // Phases wander against the server's tick, so that every wait is met; each echo has its turn between, sent by the
  // same thread just after it woke.
  for (std::int64_t due = start; due < end && !interrupted(); due += period + period / 37) {
    sleep_until_ns(due);
    packet.set_sample(++sample);
    packet.set_client_send_ns(static_cast<std::uint64_t>(client::now_ns()));
    trips.sent(sample, client::now_ns());
    (void)client.send_device(packet);
    sleep_until_ns(due + period / 3);
    echo.send();
    sleep_until_ns(due + 2 * period / 3);
    anywhere.send();
  }
  sleep_until_ns(client::now_ns() + 50'000'000);
  client.on_tool(nullptr);
  client.list_leases();  // the io thread is no longer inside the callback
  client.detach_tool(attached.tool());
  print_device(common, options, trips, spread_of(echo.stop()), spread_of(anywhere.stop()));
  return trips.spread(kStages[0].of).count > 0 ? 0 : 1;
}

}  // namespace tactus::cli
