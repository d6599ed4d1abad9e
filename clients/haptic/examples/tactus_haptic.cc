// tactus-haptic: a device at a running server. The built-in virtual one in a simulated hand, the keyboard, or a Haply
// Inverse3; with another Device in their place this is the whole program for other hardware.
#include <CLI/CLI.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "clients/haptic/examples/terminal_keys.h"
#include "tactus/haptic/haply_device.h"
#include "tactus/haptic/link.h"
#include "tactus/haptic/virtual_admittance.h"
#include "tactus/haptic/virtual_device.h"

namespace {

namespace haptic = tactus::haptic;
using Clock = std::chrono::steady_clock;

struct Wishes {
  std::string host = "127.0.0.1", tool = "ball", mode = "auto", device = "virtual";
  std::uint16_t port = 17800;
  double seconds = 3, depth = 0.05, watchdog = 0, scale = 1, step = 0.005;
  double damping = 1, deadband = 0, mass = 0;
  haptic::HaplyOptions haply;
  bool json = false, passivity = false;
};

volatile std::sig_atomic_t interrupted = 0;

int read_wishes(int argc, char** argv, Wishes& w) {
  CLI::App app{"A haptic device at a Tactus server"};
  app.add_option("--host", w.host, "server");
  app.add_option("--port", w.port, "its control port");
  app.add_option("--tool", w.tool, "a free body, or robot/link");
  app.add_option("--device", w.device,
                 "virtual (a simulated hand presses), admittance (the same, force in and motion out), keyboard, haply")
      ->check(CLI::IsMember({"virtual", "admittance", "keyboard", "haply"}));
  app.add_option("--mode", w.mode, "auto: the server chooses; or local, direct, wave")
      ->check(CLI::IsMember({"auto", "local", "direct", "wave"}));
  app.add_option("--seconds", w.seconds, "how long");
  app.add_option("--scale", w.scale, "the tool's motion for the handle's");
  app.add_option("--depth", w.depth, "virtual: how far down the hand goes [m]");
  app.add_option("--damping", w.damping, "virtual: of the device [N s/m]");
  app.add_option("--mass", w.mass, "admittance: felt [kg]; 0: its least");
  app.add_option("--step", w.step, "keyboard: a key's [m]");
  app.add_option("--haply-host", w.haply.host, "haply: where the Inverse Service is");
  app.add_option("--haply-port", w.haply.port, "haply: its port");
  app.add_option("--haply-device", w.haply.device_id, "haply: which Inverse3; empty: the first");
  app.add_option("--haply-force", w.haply.force_max, "haply: what the device may give at most [N]");
  app.add_option("--haply-stiffness", w.haply.stiffness_max, "haply: closed loop, at most [N/m]");
  app.add_option("--deadband", w.deadband, "share of change below which nothing is sent anew; 0: all is sent");
  app.add_flag("--passivity", w.passivity, "mode direct under time-domain passivity, if the link is within its limits");
  app.add_option("--watchdog", w.watchdog, "[s]; 0: the server's");
  app.add_flag("--json", w.json, "one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? -1 : 2;
  }
  return 0;
}

void print(const haptic::LinkStatus& s, const char* mode, bool json) {
  const char* form = json ? "{\"mode\":\"%s\",\"force_n\":%.6f,\"tool_force_n\":%.6f,\"press_m\":%.6f,"
                            "\"stiffness_n_per_m\":%.1f,\"given_j\":%.6g,\"taken_j\":%.6g,\"round_trip_ms\":%.2f,"
                            "\"cycles\":%llu,\"missed\":%llu,\"saved_up\":%.4f,\"saved_down\":%.4f,\"band_error\":%.4f,"
                            "\"device_bits\":%u,\"tool_bits\":%u}\n"
                          : "%s: force %.3f N, on the tool %.3f N, %.4f m beyond the tool, stiffness %.0f N/m, ledger "
                            "%.4g J out %.4g J in, round trip %.2f ms, %llu cycles, %llu missed, saved %.2f up %.2f "
                            "down, error %.2f of the band, bits %u %u\n";
  const double press = (s.X_WT.p - s.X_WR.p).norm();
  std::printf(form, mode, s.force.force.norm(), s.tool_force.force.norm(), press,
              press > 0 ? s.force.force.norm() / press : 0.0, s.given, s.taken, 1e3 * s.round_trip_s,
              static_cast<unsigned long long>(s.cycles), static_cast<unsigned long long>(s.missed), s.saved_up,
              s.saved_down, s.band_error, s.device_bits, s.tool_bits);
}

void print_force(const haptic::LinkStatus& s) {
  const haptic::Vec3& f = s.tool_force.force;
  const int bar = static_cast<int>(std::min(30.0, 3 * f.norm()));
  std::fprintf(stderr, "\rforce %7.2f %7.2f %7.2f N  |%-30.*s|  %s ", f.x(), f.y(), f.z(), bar,
               "##############################", s.reason.c_str());
  std::fflush(stderr);
}

// Attaches, lets `each` run every 20 ms until it or the time ends.
template <class Each>
int hold(const Wishes& w, haptic::Device& device, std::function<void(int)> after_cycle, Each each) {
  tactus::Client client(w.host, w.port);
  haptic::LinkOptions options;
  options.tool = w.tool;
  if (w.mode == "local") options.mode = haptic::Mode::local;
  if (w.mode == "direct") options.mode = haptic::Mode::direct;
  if (w.mode == "wave") options.mode = haptic::Mode::wave;
  options.watchdog_s = w.watchdog;
  options.position_scale = w.scale;
  options.deadband = w.deadband;
  options.mass = w.mass;
  options.passivity = w.passivity;
  haptic::Link link(client, device, options);
  for (const std::string& note : link.attached().notes()) std::fprintf(stderr, "note: %s\n", note.c_str());
  link.set_after_cycle(std::move(after_cycle));
  const auto end = Clock::now() + std::chrono::duration<double>(w.seconds);
  while (Clock::now() < end && interrupted == 0 && each(link)) {
  }
  const haptic::LinkStatus status = link.status();
  print(status, haptic::mode_name(static_cast<haptic::Mode>(link.attached().mode())), w.json);
  if (!status.reason.empty()) std::fprintf(stderr, "not engaged any more: %s\n", status.reason.c_str());
  return status.reason.empty() ? 0 : 1;
}

bool rest(haptic::Link&) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return true;
}

// Down by `depth` from 0.5 s to 1 s.
haptic::Hand pressing_hand(const Wishes& w) {
  haptic::Hand hand;
  hand.wants = [&w](double t) {
    haptic::Pose X;
    X.p.z() = -w.depth * std::min(1.0, std::max(0.0, t - 0.5) / 0.5);
    return X;
  };
  return hand;
}

template <class Simulated>
int press(const Wishes& w, Simulated& device) {
  return hold(
      w, device,
      [&device](int cycles) {  // a cycle that the machine missed is time for the hand all the same
        for (int i = 0; i < cycles; ++i) device.step();
      },
      rest);
}

int type(const Wishes& w) {
  haptic::KeyboardDevice device;
  haptic::TerminalKeys keys(w.step);
  std::fprintf(stderr, "%s\n", haptic::TerminalKeys::kHelp);
  return hold(w, device, nullptr, [&](haptic::Link& link) {
    print_force(link.status());
    return keys.feed(device, 20);
  });
}

}  // namespace

int main(int argc, char** argv) {
  Wishes w;
  if (const int exit = read_wishes(argc, argv, w); exit != 0) return exit < 0 ? 0 : exit;
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
  try {
    if (w.device == "keyboard") return type(w);
    if (w.device == "virtual") {
      haptic::Mechanism mechanism;
      mechanism.damping = w.damping;
      haptic::VirtualDevice device(mechanism, pressing_hand(w));
      return press(w, device);
    }
    if (w.device == "admittance") {
      haptic::VirtualAdmittance device({}, pressing_hand(w));
      return press(w, device);
    }
    haptic::HaplyDevice device(w.haply);
    return hold(w, device, nullptr, rest);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tactus-haptic: %s\n", e.what());
    return 1;
  }
}
