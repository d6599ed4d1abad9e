// What the sensors of robots read after a tick (after a step, where that is of several ticks: then "tick" below is it).
// A reading is quantised(true + bias + sigma gauss); values, in order:
//   encoder       q, v                                      of the joint at the end of the tick; q quantised
//   imu           w [rad/s], f [m/s^2]                      w at the end; f = a - g, mean over the tick: the change of
//                                                           the sensor's velocity, in its axes at the tick's middle
//   force_torque  F [N], T [N m]                            mean over the tick of what the parent exerts on the child
//                                                           through the joint, at the sensor's origin, in its axes,
//                                                           both at the end: change of the subtree's momentum, less
//                                                           gravity, contacts, impacts and applied forces (Newton,
//                                                           Euler)
//   contact       F [N]                                     sum of the contact forces on the frame's shapes, in W, mean
//                                                           over the tick, with impacts; where other links' shapes are
//                                                           merged into the body: the forces of World::contact_force()
// Noise is a function of the sensor's seed, the tick and the value's number: no state, and a restored run repeats it.
#pragma once

#include <span>
#include <vector>

#include "core/collide/contact_set.h"
#include "core/dynamics/model.h"
#include "core/dynamics/state.h"

namespace tactus {

[[nodiscard]] std::uint32_t value_count(SensorKind kind) noexcept;  // 2, 6, 6, 3

// A standard normal number: Marsaglia's polar method on SplitMix64 of the three keys. Only arithmetic and sqrt, which
// round alike on every machine; the logarithm is a series.
double counter_gauss(std::uint64_t seed, std::uint64_t tick, std::uint64_t number) noexcept;

// What acted on robots in a tick, for those who measure. Per body, at its mass centre of the tick's start, in W.
struct TickForces {
  const SpatialForce* applied;
  const SpatialForce* contact;  // mean of the contact forces and, with their moments
  const SpatialForce* impulse;  // sum of the impacts at the start of the tick [N m s, N s]; 0 unless a link
  const ContactSet& contacts;   // with the force on A at each point:
  const SpatialForce* on_points;
};

class RobotSensors {
 public:
  RobotSensors(const Model& model, double h);  // h: of a step of the world [s]

  // Before a tick, and after it (State::tick then is that of the reading).
  void begin(const State& state) noexcept;
  void measure(const Model& model, const Vec3& gravity_W, const TickForces& forces, const State& state) noexcept;

  // Encoders alone, between the steps of another world that measures the rest.
  void measure_encoders(const Model& model, const State& state) noexcept;

  // All readings, one sensor after the other; taken over from another world's sensors.
  [[nodiscard]] std::span<const double> all_values() const noexcept { return values_; }
  void set_values(std::span<const double> values) noexcept;
  [[nodiscard]] std::span<const double> values(std::uint32_t sensor) const noexcept {
    return {values_.data() + first_[sensor], first_[sensor + 1] - first_[sensor]};
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(first_.size() - 1); }

 private:
  void read_encoder(const Model& model, const SensorSpec& s, const State& state, double* out) const noexcept;
  void read_imu(const Model& model, const SensorSpec& s, const Vec3& gravity_W, const State& state,
                double* out) const noexcept;
  void read_force_torque(const Model& model, std::uint32_t i, const Vec3& gravity_W, const TickForces& forces,
                         const State& state, double* out) const noexcept;
  void read_contact(const Model& model, const SensorSpec& s, const TickForces& forces, double* out) const noexcept;

  double h_;
  std::vector<std::uint32_t> first_;  // of each sensor, and the end
  std::vector<double> values_;
  std::vector<std::vector<BodyIndex>> subtree_;  // force_torque: links that hang on the joint
  std::vector<double> q_start_, v_start_;        // State::q, v at the start of the tick
};

}  // namespace tactus
