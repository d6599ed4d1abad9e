// `tactus latency --device TOOL`: a DEVICE to the TOOL of the tick that used it, beside a bare UDP echo. What a sample
// waited for its tick (ToolPacket.wait_us) is told apart: it is the phase between two clocks, not the link. The tool is
// attached and never engaged, so nothing moves.
#include <array>
#include <cstdio>
#include <mutex>

#include "clients/cli/echo.h"
#include "clients/cli/json.h"
#include "clients/cli/latency.h"
#include "haptic.pb.h"

namespace tactus::cli {
namespace {

class RoundTrips {
 public:
  void sent(std::uint64_t sample, std::int64_t at) {
    const std::lock_guard lock(m_);
    sent_[sample % sent_.size()] = {sample, at};
  }
  // The first TOOL that echoes a sample ends its round trip.
  void take(const v1::ToolPacket& packet, std::int64_t at) {
    const std::lock_guard lock(m_);
    const Sent& s = sent_[packet.sample_echo() % sent_.size()];
    if (packet.subscription() != 0 || packet.sample_echo() <= newest_ || s.sample != packet.sample_echo()) return;
    newest_ = packet.sample_echo();
    const double whole = 1e-3 * static_cast<double>(at - s.at);
    whole_us_.push_back(whole);
    without_us_.push_back(whole - packet.wait_us());
  }
  std::vector<double> whole() { return whole_us_; }
  std::vector<double> without() { return without_us_; }

 private:
  struct Sent {
    std::uint64_t sample = 0;
    std::int64_t at = 0;
  };
  std::mutex m_;
  std::array<Sent, 4096> sent_;
  std::uint64_t newest_ = 0;
  std::vector<double> whole_us_, without_us_;
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

}  // namespace

int run_device_latency(const Common& common, const LatencyOptions& options) {
  client::Client client(client_options(common, "latency"));
  const v1::ToolAttached attached = attach(client, options);
  v1::DevicePacket packet = idle_packet(client, attached.tool());
  RoundTrips trips;
  client.on_tool([&trips](const v1::ToolPacket& tool, std::int64_t at) { trips.take(tool, at); });
  Echo echo;
  const auto period = static_cast<std::int64_t>(1e9 / options.rate_hz);
  const std::int64_t start = client::now_ns(), end = start + static_cast<std::int64_t>(1e9 * options.seconds);
  std::uint64_t sample = 0;
  // Phases wander against the server's tick, so that every wait is met; the echo has its turn between.
  for (std::int64_t due = start; due < end && !interrupted(); due += period + period / 37) {
    sleep_until_ns(due);
    packet.set_sample(++sample);
    packet.set_client_send_ns(static_cast<std::uint64_t>(client::now_ns()));
    trips.sent(sample, client::now_ns());
    (void)client.send_device(packet);
    sleep_until_ns(due + period / 2);
    echo.send();
  }
  sleep_until_ns(client::now_ns() + 50'000'000);
  client.on_tool(nullptr);
  client.list_leases();  // the io thread is no longer inside the callback
  client.detach_tool(attached.tool());
  const Spread whole = spread_of(trips.whole()), without = spread_of(trips.without()), bare = spread_of(echo.stop());
  const double ratio = bare.count > 0 && bare.p50 > 0 ? without.p50 / bare.p50 : 0;
  if (common.json) {
    Json json;
    json.open('{').field("tool", options.device).field("device_to_force_us", whole).field("without_wait_us", without);
    json.field("bare_echo_us", bare).field("ratio", ratio);
    std::printf("%s\n", json.close('}').text().c_str());
  } else {
    std::printf("%-24s %8s %8s %8s %8s  samples\n", "microseconds", "p50", "p99", "p99.9", "max");
    print_row("device to force", whole);
    print_row("without wait for a tick", without);
    print_row("bare UDP echo, same rate", bare);
    std::printf("ratio of the medians: %.2f\n", ratio);
  }
  return without.count > 0 ? 0 : 1;
}

}  // namespace tactus::cli
