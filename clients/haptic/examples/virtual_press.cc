// tactus-haptic: the built-in virtual device in a simulated hand presses a tool of a running server down, and says what
// the hand felt. With another Device in place of VirtualDevice this is the whole program for real hardware.
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>

#include "tactus/haptic/link.h"
#include "tactus/haptic/virtual_device.h"

namespace {

namespace haptic = tactus::haptic;

struct Wishes {
  std::string host = "127.0.0.1", tool = "ball", mode = "local";
  std::uint16_t port = 17800;
  double seconds = 3, depth = 0.05, damping = 1, watchdog = 0;
  bool json = false;
};

int read_wishes(int argc, char** argv, Wishes& w) {
  CLI::App app{"A virtual haptic device at a Tactus server"};
  app.add_option("--host", w.host, "server");
  app.add_option("--port", w.port, "its control port");
  app.add_option("--tool", w.tool, "a free body, or robot/link");
  app.add_option("--mode", w.mode, "local, direct or wave")->check(CLI::IsMember({"local", "direct", "wave"}));
  app.add_option("--seconds", w.seconds, "how long to press");
  app.add_option("--depth", w.depth, "how far down the hand goes [m]");
  app.add_option("--damping", w.damping, "of the device [N s/m]");
  app.add_option("--watchdog", w.watchdog, "[s]; 0: the server's");
  app.add_flag("--json", w.json, "one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? -1 : 2;
  }
  return 0;
}

void print(const haptic::LinkStatus& s, const Wishes& w) {
  const char* form = w.json
                         ? "{\"mode\":\"%s\",\"force_n\":%.6f,\"press_m\":%.6f,\"stiffness_n_per_m\":%.1f,"
                           "\"given_j\":%.6g,\"taken_j\":%.6g,\"round_trip_ms\":%.2f,\"cycles\":%llu,"
                           "\"missed\":%llu,\"device_bits\":%u,\"tool_bits\":%u}\n"
                         : "%s: force %.3f N, %.4f m beyond the tool, stiffness %.0f N/m, ledger %.4g J out %.4g J in, "
                           "round trip %.2f ms, %llu cycles, %llu missed, bits %u %u\n";
  const double press = (s.X_WT.p - s.X_WR.p).norm();
  std::printf(form, w.mode.c_str(), s.force.force.norm(), press, press > 0 ? s.force.force.norm() / press : 0.0,
              s.given, s.taken, 1e3 * s.round_trip_s, static_cast<unsigned long long>(s.cycles),
              static_cast<unsigned long long>(s.missed), s.device_bits, s.tool_bits);
}

int press(const Wishes& w) {
  haptic::Mechanism mechanism;
  mechanism.damping = w.damping;
  haptic::Hand hand;
  hand.wants = [&w](double t) {
    haptic::Pose X;
    X.p.z() = -w.depth * std::min(1.0, std::max(0.0, t - 0.5) / 0.5);
    return X;
  };
  haptic::VirtualDevice device(mechanism, hand);
  tactus::Client client(w.host, w.port);
  haptic::LinkOptions options;
  options.tool = w.tool;
  options.mode = w.mode == "local" ? haptic::Mode::local : w.mode == "wave" ? haptic::Mode::wave : haptic::Mode::direct;
  options.watchdog_s = w.watchdog;
  haptic::Link link(client, device, options);
  for (const std::string& note : link.attached().notes()) std::fprintf(stderr, "note: %s\n", note.c_str());
  link.set_after_cycle([&device] { device.step(); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(w.seconds);
  while (std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const haptic::LinkStatus status = link.status();
  print(status, w);
  if (!status.reason.empty()) std::fprintf(stderr, "not engaged any more: %s\n", status.reason.c_str());
  return status.reason.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Wishes w;
  if (const int exit = read_wishes(argc, argv, w); exit != 0) return exit < 0 ? 0 : exit;
  try {
    return press(w);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tactus-haptic: %s\n", e.what());
    return 1;
  }
}
