#include "tactus/haptic/device.h"

#include <algorithm>
#include <sstream>

namespace tactus::haptic {
namespace {

int bucket_of(std::int64_t ns) {
  const double octave = std::log2(static_cast<double>(std::max<std::int64_t>(ns, 1)));
  return std::clamp(static_cast<int>(8 * octave), 0, 255);
}

struct Number {
  const char* name;
  double value, max;
};

}  // namespace

std::string fault_in(const Capabilities& c) {
  std::ostringstream out;
  const Number numbers[] = {{"force_max", c.force_max, 1e3},
                            {"torque_max", c.torque_max, 1e3},
                            {"mass", c.mass, 100},
                            {"damping", c.damping, 1e3},
                            {"stiffness_max", c.stiffness_max, 1e6},
                            {"damping_max", c.damping_max, 1e4},
                            {"inertia", c.inertia, 10},
                            {"turn_damping", c.turn_damping, 10},
                            {"turn_stiffness_max", c.turn_stiffness_max, 1e5},
                            {"workspace_radius", c.workspace_radius, 100},
                            {"delay_s", c.delay_s, 1},
                            {"speed_max", c.speed_max, 100},
                            {"turn_speed_max", c.turn_speed_max, 1e3},
                            {"acceleration_max", c.acceleration_max, 1e5}};
  for (const Number& n : numbers) {
    if (std::isfinite(n.value) && n.value >= 0 && n.value <= n.max) continue;
    out << "capability " << n.name << " is " << n.value << ", expected 0.." << n.max;
    return out.str();
  }
  if (c.axes_sensed != 3 && c.axes_sensed != 6) {
    out << "capability axes_sensed is " << c.axes_sensed << ", expected 3 or 6";
  } else if (c.axes_actuated != 0 && c.axes_actuated != 3 && c.axes_actuated != 6) {
    out << "capability axes_actuated is " << c.axes_actuated << ", expected 0, 3 or 6";
  } else if (c.axes_actuated > c.axes_sensed) {
    out << "capability axes_actuated is " << c.axes_actuated << " but axes_sensed is " << c.axes_sensed
        << ": what is driven must be sensed";
  } else if (c.axes_actuated >= 3 && !(c.force_max > 0)) {
    out << "capability force_max is 0, expected more: the device drives " << c.axes_actuated << " axes";
  } else if (c.axes_actuated == 6 && !(c.torque_max > 0)) {
    out << "capability torque_max is 0, expected more: the device drives torques";
  } else if (c.axes_actuated == 0 && (c.force_max > 0 || c.torque_max > 0)) {
    out << "capability force_max is " << c.force_max << " but axes_actuated is 0";
  } else if (!(c.rate_hz >= 50 && c.rate_hz <= 1e5)) {
    out << "capability rate_hz is " << c.rate_hz << ", expected 50..100000";
  } else if (c.axes_actuated > 0 && !(c.damping > 0) && !(c.stiffness_max > 0)) {
    out << "capabilities damping and stiffness_max are both 0: no stiffness is known to be stable; give either";
  } else if (c.admittance && c.axes_actuated == 0) {
    out << "capability axes_actuated is 0 but the device is one of admittance: it cannot be moved";
  } else if (c.admittance && !(c.mass > 0 && c.speed_max > 0 && c.acceleration_max > 0)) {
    out << "capabilities mass, speed_max and acceleration_max are " << c.mass << ", " << c.speed_max << ", "
        << c.acceleration_max << ", expected more: an admittance device is moved as a mass is";
  } else if (c.admittance && c.axes_actuated == 6 && !(c.inertia > 0 && c.turn_speed_max > 0)) {
    out << "capabilities inertia and turn_speed_max are " << c.inertia << ", " << c.turn_speed_max
        << ", expected more: the device turns the hand";
  }
  return out.str();
}

std::int64_t Deadline::next(std::int64_t due_ns, std::int64_t start_ns, std::int64_t end_ns) {
  const std::int64_t late = std::max<std::int64_t>(0, start_ns - due_ns);
  ++cycles_;
  late_sum_ns_ += late;
  late_max_ns_ = std::max(late_max_ns_, late);
  ++buckets_[bucket_of(late)];
  const std::int64_t points = std::max<std::int64_t>(1, (end_ns - due_ns) / period_ns_ + 1);
  missed_ += static_cast<std::uint64_t>(points - 1);
  return due_ns + points * period_ns_;
}

double Deadline::late_us(double share) const {
  const double wanted = share * static_cast<double>(cycles_);
  double seen = 0;
  for (int i = 0; i < 256; ++i) {
    seen += static_cast<double>(buckets_[i]);
    if (seen >= wanted) return 1e-3 * std::exp2((i + 0.5) / 8);
  }
  return 0;
}

}  // namespace tactus::haptic
