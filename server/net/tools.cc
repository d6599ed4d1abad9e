#include "server/net/tools.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "server/net/hub.h"

namespace tactus::net {
namespace {

// Of what is passive (2b/T of Colgate & Schenkel; b / (T/2 + delay)): the rest is for what is not known of the device.
constexpr double kShare = 0.72;
constexpr double kDampingShare = 0.9;  // low-passed by the client (clients/haptic, local_model.h)
constexpr double kWaveImpedance = 14, kTurnImpedance = 0.014;

struct Range {
  const char* name;
  double value, high;
};

}  // namespace

std::string fault_in(const v1::DeviceCapabilities& d) {
  for (const Range& r :
       {Range{"force_max_n", d.force_max_n(), 1e3}, Range{"torque_max_n_m", d.torque_max_n_m(), 1e3},
        Range{"mass_kg", d.mass_kg(), 100}, Range{"damping_n_s_per_m", d.damping_n_s_per_m(), 1e3},
        Range{"stiffness_max_n_per_m", d.stiffness_max_n_per_m(), 1e6},
        Range{"damping_max_n_s_per_m", d.damping_max_n_s_per_m(), 1e4}, Range{"inertia_kg_m2", d.inertia_kg_m2(), 10},
        Range{"turn_damping_n_m_s_per_rad", d.turn_damping_n_m_s_per_rad(), 10},
        Range{"turn_stiffness_max_n_m_per_rad", d.turn_stiffness_max_n_m_per_rad(), 1e5},
        Range{"workspace_radius_m", d.workspace_radius_m(), 100}, Range{"delay_s", d.delay_s(), 1}}) {
    if (!(r.value >= 0 && r.value <= r.high))
      return fmt::format("device.{} is {}, expected 0..{}", r.name, r.value, r.high);
  }
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
  if (!(d.rate_hz() >= 50 && d.rate_hz() <= 1e5))
    return fmt::format("device.rate_hz is {}, expected 50..100000", d.rate_hz());
  if (d.axes_actuated() > 0 && d.damping_n_s_per_m() <= 0 && d.stiffness_max_n_per_m() <= 0)
    return "device.damping_n_s_per_m and stiffness_max_n_per_m are both 0: no stiffness is known to be stable; give "
           "one";
  return {};
}

ToolChoice choose(const v1::AttachTool& request, const HapticOptions& o, double h) {
  const v1::DeviceCapabilities& d = request.device();
  const double T = 1 / d.rate_hz(), scale = request.position_scale() > 0 ? request.position_scale() : 1.0;
  ToolChoice out;
  const auto lower = [&](double& x, double limit, const char* what, const char* why) {
    if (x <= limit) return;
    out.notes.push_back(fmt::format("{} {:.4g} is cut to {:.4g}: {}", what, x, limit, why));
    x = limit;
  };
  const double passive = kShare * d.damping_n_s_per_m() / (0.5 * T + d.delay_s());
  const double turn_passive = kShare * d.turn_damping_n_m_s_per_rad() / (0.5 * T + d.delay_s());
  double k = d.damping_n_s_per_m() > 0 ? passive : d.stiffness_max_n_per_m();
  if (d.stiffness_max_n_per_m() > 0) k = std::min(k, d.stiffness_max_n_per_m());
  if (d.axes_actuated() == 0) k = 500;  // nobody feels it: it moves the tool
  double wished = request.stiffness_n_per_m() > 0 ? request.stiffness_n_per_m() * scale * scale : k;
  lower(wished, k, "stiffness at the handle",
        "what is passive with the damping, rate and delay that the device states");
  lower(wished, o.stiffness_max, "stiffness at the handle", "haptic.stiffness_max_n_per_m of the server");
  out.stiffness = wished / (scale * scale);
  out.damping = kDampingShare * d.damping_n_s_per_m() / (scale * scale);
  out.turn_stiffness = d.turn_damping_n_m_s_per_rad() > 0 ? turn_passive : d.turn_stiffness_max_n_m_per_rad();
  if (d.turn_stiffness_max_n_m_per_rad() > 0)
    out.turn_stiffness = std::min(out.turn_stiffness, d.turn_stiffness_max_n_m_per_rad());
  if (d.axes_actuated() < 6) out.turn_stiffness = 0.2;  // not felt: keeps the tool upright
  out.turn_damping = kDampingShare * d.turn_damping_n_m_s_per_rad();
  out.force_limit = d.axes_actuated() > 0 ? d.force_max_n() : o.force_max;
  out.torque_limit = d.axes_actuated() == 6 ? d.torque_max_n_m() : o.torque_max;
  lower(out.force_limit, o.force_max, "force", "haptic.force_max_n of the server");
  lower(out.torque_limit, o.torque_max, "torque", "haptic.torque_max_n_m of the server");
  out.reach = request.reach_m() > 0 ? request.reach_m() : o.reach_m;
  ToolSettings& s = out.settings;
  s.mode = static_cast<ToolMode>(request.mode());
  s.gains = {out.stiffness, 2, out.turn_stiffness, 2e-4};
  if (s.mode == ToolMode::wave) s.gains = {5000, kWaveImpedance, 0.5, 1e-3};
  s.position_scale = scale;
  s.wave_impedance = kWaveImpedance;
  s.turn_impedance = kTurnImpedance;
  s.force_limit = out.force_limit / scale;
  s.torque_limit = out.torque_limit;
  const double watchdog = request.watchdog_s() > 0 ? request.watchdog_s() : o.watchdog_s;
  const auto ticks = [h](double seconds) { return static_cast<std::uint32_t>(std::ceil(seconds / h - 1e-6)); };
  s.watchdog_ticks = std::max(1u, ticks(watchdog));
  s.ramp_ticks = std::max(1u, ticks(o.ramp_s));
  s.ramp_in_ticks = std::max(1u, ticks(0.2));
  return out;
}

std::uint32_t ToolTable::free_place() const {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.used; });
  return static_cast<std::uint32_t>(it - entries_.begin());
}

void ToolTable::release(Hub& hub, BodyIndex body) {
  for (std::uint32_t i = 0; i < kTools; ++i) {
    if (!entries_[i].used || entries_[i].body != body) continue;
    Command command;
    command.kind = Command::Kind::detach_tool;
    command.epoch = hub.scene.epoch;
    command.value = i;
    hub.tick.post(command);
    entries_[i] = {};
  }
}

}  // namespace tactus::net
