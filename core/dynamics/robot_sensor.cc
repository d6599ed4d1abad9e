#include "core/dynamics/robot_sensor.h"

#include <array>

namespace tactus {

const char* to_string(SensorKind kind) noexcept {
  static constexpr std::array<const char*, 4> kSensors{"encoder", "imu", "force_torque", "contact"};
  return kSensors[static_cast<std::size_t>(kind)];
}

}  // namespace tactus
