#include "server/net/scene/tools.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "proto/cpp/ranges.h"

namespace tactus::net {
namespace {

// Of what is passive (2b/T of Colgate & Schenkel; b / (T/2 + delay)): the rest is for what is not known of the device.
constexpr double kShare = 0.72;
constexpr double kDampingShare = 0.9;  // low-passed by the client (clients/haptic, local_model.h)
constexpr double kFollow = 2000;       // of the tool behind a hand that does not feel this spring [N/m]
constexpr double kWaveImpedance = 14, kTurnImpedance = 0.014;

// Round trip up to which the server's own coupling is stiffer than waves are (clients/haptic/README.md) [s].
constexpr double kDirectMax = 0.002;

// Of the watchdog where a deadband is asked for and no watchdog: heartbeats of 20 ms would be an eighth of all
// datagrams.
constexpr double kQuietWatchdog = 2;

// Where time-domain passivity keeps the ledgers without help of the gates (clients/haptic/README.md) [s].
constexpr double kPassivityMax = 0.005;

// Mode for TOOL_AUTO, and why.
ToolMode choose_mode(const v1::AttachTool& request, const ToolScene& at, std::string& why) {
  const double worst = request.round_trip_s() + request.jitter_s();
  if (request.device().axes_actuated() == 0) {
    why = "mode local: nobody feels this device";
    return ToolMode::local;
  }
  if (request.device().admittance()) {
    why = "mode local: an admittance device is moved as a mass that planes hold";
    return ToolMode::local;
  }
  const bool two_hands = at.slow && at.other_hand;
  if (!at.meshes && !at.link && !two_hands) {
    why = "mode local: planes describe this scene, and its force does not depend on the link";
    return ToolMode::local;
  }
  const std::string scene =
      at.link     ? "the tool is a robot's link, whose joints no local planes tell of; "
      : at.meshes ? "the scene has meshes, which local planes see only once they touch; "
                  : "a slow model's friction comes too late for planes to hold a body between two hands; ";
  if (worst > 0 && worst <= kDirectMax && request.loss() == 0) {
    why = fmt::format("mode direct: {}the link's {:.2g} ms are short enough", scene, 1e3 * worst);
    return ToolMode::direct;
  }
  why = fmt::format("mode wave: {}the link's {:.3g} ms and {:.2g} % loss ask for waves", scene, 1e3 * worst,
                    100 * request.loss());
  if (worst <= 0) why = fmt::format("mode wave: {}the link was not measured", scene);
  return ToolMode::wave;
}

// Why time-domain passivity cannot be had; empty: it can.
std::string why_no_passivity(const v1::AttachTool& r, ToolMode mode, const ToolScene& at) {
  const double worst = r.round_trip_s() + r.jitter_s();
  if (mode != ToolMode::direct) return "it is of mode direct";
  if (at.slow) return "a slow model is in charge, whose steps it does not cover";
  if (r.deadband() > 0) return "energies that a deadband does not send are not known";
  if (worst <= 0) return "the link was not measured";
  if (r.loss() > 0) return fmt::format("the link loses {:.2g} % of its datagrams", 100 * r.loss());
  if (worst > kPassivityMax)
    return fmt::format("the link's {:.3g} ms are beyond the {:.3g} ms that it was measured to bear", 1e3 * worst,
                       1e3 * kPassivityMax);
  return {};
}

using Lower = std::function<void(double&, double, const char*, const char*)>;

// At the handle, before scaling.
void choose_gains(const v1::AttachTool& request, const HapticOptions& o, const Lower& lower, ToolChoice& out) {
  const v1::DeviceCapabilities& d = request.device();
  const double T = 1 / d.rate_hz(), scale = request.position_scale() > 0 ? request.position_scale() : 1.0;
  const char* passive_why = "what is passive with the damping, rate and delay that the device states";
  const double passive = kShare * d.damping_n_s_per_m() / (0.5 * T + d.delay_s());
  double k = d.stiffness_max_n_per_m();
  if (k > 0 && d.damping_n_s_per_m() > 0) lower(k, passive, "the device's stiffness_max", passive_why);
  if (!(k > 0)) k = passive;
  if (d.admittance()) k = std::min(k, kFollow);  // not felt: it takes the tool along
  if (d.axes_actuated() == 0) k = 500;           // nobody feels it: it moves the tool
  double wished = request.stiffness_n_per_m() > 0 ? request.stiffness_n_per_m() * scale * scale : k;
  lower(wished, k, "stiffness at the handle", passive_why);
  lower(wished, o.stiffness_max, "stiffness at the handle", "haptic.stiffness_max_n_per_m of the server");
  out.stiffness = wished / (scale * scale);
  out.damping = kDampingShare * d.damping_n_s_per_m() / (scale * scale);
  const double turn_passive = kShare * d.turn_damping_n_m_s_per_rad() / (0.5 * T + d.delay_s());
  out.turn_stiffness = d.turn_stiffness_max_n_m_per_rad();
  if (out.turn_stiffness > 0 && turn_passive > 0)
    lower(out.turn_stiffness, turn_passive, "the device's turn_stiffness_max", passive_why);
  if (!(out.turn_stiffness > 0)) out.turn_stiffness = turn_passive;
  if (d.axes_actuated() < 6) out.turn_stiffness = 0.2;  // not felt: keeps the tool upright
  out.turn_damping = kDampingShare * d.turn_damping_n_m_s_per_rad();
}

}  // namespace

std::string fault_in(const v1::DeviceCapabilities& d) {
  if (const std::string fault = wire::out_of_range(d); !fault.empty()) return "device." + fault;
  if (d.admittance() && (d.axes_actuated() == 0 || !(d.mass_kg() > 0)))
    return fmt::format("device.admittance with axes_actuated {} and mass_kg {}: it is moved as a mass; expected more",
                       d.axes_actuated(), d.mass_kg());
  if (d.axes_sensed() != 3 && d.axes_sensed() != 6)
    return fmt::format("device.axes_sensed is {}, expected 3 or 6", d.axes_sensed());
  if (d.axes_actuated() != 0 && d.axes_actuated() != 3 && d.axes_actuated() != 6)
    return fmt::format("device.axes_actuated is {}, expected 0, 3 or 6", d.axes_actuated());
  if (d.axes_actuated() > d.axes_sensed())
    return fmt::format("device.axes_actuated is {} but axes_sensed is {}: what is driven must be sensed",
                       d.axes_actuated(), d.axes_sensed());
  if (d.axes_actuated() > 0 && d.force_max_n() <= 0)
    return "device.force_max_n is 0 but axes are actuated; expected more";
  if (d.axes_actuated() == 6 && d.torque_max_n_m() <= 0)
    return "device.torque_max_n_m is 0 but 6 axes are actuated; expected more";
  if (d.axes_actuated() == 0 && d.force_max_n() > 0)
    return fmt::format("device.force_max_n is {} but axes_actuated is 0", d.force_max_n());
  if (d.axes_actuated() < 6 && d.torque_max_n_m() > 0)
    return fmt::format("device.torque_max_n_m is {} but axes_actuated is {}: 6 give torque", d.torque_max_n_m(),
                       d.axes_actuated());
  if (d.axes_actuated() > 0 && d.damping_n_s_per_m() <= 0 && d.stiffness_max_n_per_m() <= 0)
    return "device.damping_n_s_per_m and stiffness_max_n_per_m are both 0: no stiffness is known to be stable; give "
           "one";
  return {};
}

std::string fault_in(const v1::AttachTool& r) {
  if (std::string fault = wire::out_of_range(r); !fault.empty()) return fault;
  return fault_in(r.device());
}

ToolChoice choose(const v1::AttachTool& request, const HapticOptions& o, double h, const ToolScene& scene) {
  const v1::DeviceCapabilities& d = request.device();
  const double scale = request.position_scale() > 0 ? request.position_scale() : 1.0;
  ToolChoice out;
  const Lower lower = [&out](double& x, double limit, const char* what, const char* why) {
    if (x <= limit) return;
    out.notes.push_back(fmt::format("{} {:.4g} is cut to {:.4g}: {}", what, x, limit, why));
    x = limit;
  };
  choose_gains(request, o, lower, out);
  out.force_limit = d.axes_actuated() > 0 ? d.force_max_n() : o.force_max;
  out.torque_limit = d.axes_actuated() == 6 ? d.torque_max_n_m() : o.torque_max;
  lower(out.force_limit, o.force_max, "force", "haptic.force_max_n of the server");
  lower(out.torque_limit, o.torque_max, "torque", "haptic.torque_max_n_m of the server");
  out.reach = request.reach_m() > 0 ? request.reach_m() : o.reach_m;
  ToolSettings& s = out.settings;
  s.mode = static_cast<ToolMode>(request.mode());
  if (request.mode() == v1::TOOL_AUTO) s.mode = choose_mode(request, scene, out.notes.emplace_back());
  if (d.admittance() && s.mode != ToolMode::local) {
    s.mode = ToolMode::local;
    out.notes.emplace_back("mode local: admittance devices render against planes; direct and wave give forces");
  }
  if (s.mode == ToolMode::local && scene.slow && d.axes_actuated() > 0)
    out.notes.emplace_back(
        "mode local beside a slow model: a body between two hands slips; direct and wave hold it, for both hands");
  if (request.passivity()) {
    const std::string why = why_no_passivity(request, s.mode, scene);
    out.passivity = s.passivity = why.empty();
    out.passivity_round_trip = out.passivity ? kPassivityMax : 0.0;
    if (!why.empty()) out.notes.emplace_back("no time-domain passivity: " + why);
  }
  s.gains = {out.stiffness, 2, out.turn_stiffness, 2e-4};
  if (s.mode == ToolMode::wave) s.gains = {5000, kWaveImpedance, 0.5, 1e-3};
  s.position_scale = scale;
  s.wave_impedance = kWaveImpedance;
  s.turn_impedance = kTurnImpedance;
  s.force_limit = out.force_limit / scale;
  s.torque_limit = out.torque_limit;
  const auto ticks = [h](double seconds) { return static_cast<std::uint32_t>(std::ceil(seconds / h - 1e-6)); };
  s.ramp_ticks = std::max(1u, ticks(o.ramp_s));
  s.ramp_in_ticks = std::max(1u, ticks(0.2));
  double watchdog = request.watchdog_s() > 0 ? request.watchdog_s() : o.watchdog_s;
  if (request.deadband() > 0 && s.mode == ToolMode::wave) {
    out.notes.emplace_back("no deadband: a wave that is not sent is energy that does not arrive");
  } else if (request.deadband() > 0) {
    out.deadband = request.deadband();
    if (request.watchdog_s() <= 0) watchdog = std::min(kQuietWatchdog * watchdog, 0.2);
    out.heartbeat_ticks = s.predict_ticks = wire::heartbeat_for(std::max(1u, ticks(watchdog)));
  }
  s.watchdog_ticks = std::max(1u, ticks(watchdog));
  return out;
}

void ToolTable::set(std::uint32_t place, ClientSlot client, BodyIndex body, const ToolChoice& choice) {
  entries_[place] = {true, client, body, std::nullopt};
  if (choice.deadband <= 0) return;
  wire::DeadbandOptions options;
  options.share = choice.deadband;
  options.heartbeat = choice.heartbeat_ticks;
  entries_[place].band.emplace(options);
}

std::uint32_t ToolTable::free_place() const {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.used; });
  return static_cast<std::uint32_t>(it - entries_.begin());
}

void ToolTable::release(TickPort& tick, std::uint32_t epoch, BodyIndex body) {
  for (std::uint32_t i = 0; i < kTools; ++i) {
    if (!entries_[i].used || entries_[i].body != body) continue;
    Command command;
    command.kind = Command::Kind::detach_tool;
    command.epoch = epoch;
    command.value = i;
    tick.post(command);
    entries_[i] = {};
  }
}

}  // namespace tactus::net
