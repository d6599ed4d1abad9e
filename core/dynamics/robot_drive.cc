#include "core/dynamics/robot_drive.h"

#include <array>

namespace tactus {

const char* to_string(DriveKind kind) noexcept {
  static constexpr std::array<const char*, 3> kDrives{"torque", "velocity", "position"};
  return kDrives[static_cast<std::size_t>(kind)];
}
const char* to_string(MissedPolicy policy) noexcept {
  static constexpr std::array<const char*, 4> kPolicies{"hold", "extrapolate", "ramp", "brake"};
  return kPolicies[static_cast<std::size_t>(policy)];
}
const char* fault_in(const ChannelOptions& o) noexcept {
  if (o.missed > MissedPolicy::brake) return "missed: expected hold, extrapolate, ramp or brake";
  if (o.tolerance_ticks > 1'000'000 || o.fault_ticks > 1'000'000)
    return "tolerance_ticks, fault_ticks: at most 1,000,000";
  if (!(o.ramp >= 0 && o.ramp <= 1)) return "ramp_s: expected 0 to 1";
  if (!(o.cutoff >= 0 && o.cutoff <= 1e6)) return "cutoff_hz: expected 0 (none) to 1e6";
  if (!(o.effort_limit >= 0)) return "effort_limit: expected 0 or more";
  if (!(o.effort_rate_limit > 0)) return "effort_rate_limit: expected more than 0";
  if (!(o.velocity_limit >= 0)) return "velocity_limit: expected 0 or more";
  return nullptr;
}

}  // namespace tactus
