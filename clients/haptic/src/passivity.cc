#include "tactus/haptic/passivity.h"

#include <algorithm>

namespace tactus::haptic {

void Gate::add(const Wrench& held, const Motion& moved) {
  bank_ -= work(held, moved);
  held_ = held;
  const bool quiet = held.force.isZero(0) && held.torque.isZero(0);
  quiet_s_ = quiet ? quiet_s_ + o_.period : 0;
  if (quiet_s_ > o_.forget_s + round_trip_) bank_ = o_.allowance;
}

Vec3 WaveEnd::send(const Vec3& wanted, double taken, double period) {
  const double most = std::max(0.0, bank_ + 0.5 * period * in_.squaredNorm() + taken);
  const double energy = 0.5 * period * wanted.squaredNorm();
  bank_ = std::min(cap_, std::max(0.0, most - energy));
  return energy > most ? Vec3(std::sqrt(most / energy) * wanted) : wanted;
}

double NetworkPort::damper(double power, double speed, double period, double most) const {
  const double over = period * std::max(0.0, power) - bank();
  if (!(over > 0) || !(speed > 0)) return 0;
  return std::min(most, over / (period * speed * speed));
}

// The bound for s times the wanted wrench: a s + b s^2 <= bank, with a = power and what the estimate may miss, b = what
// the wrench itself adds within the period. A wrench that brakes may reverse the handle within the period and drive it.
// V is the mean of the period before: what the wrench of then added in its second half comes to it.
Wrench Gate::limit(const Wrench& wanted, const Twist& V) {
  const double f = wanted.force.norm(), t = wanted.torque.norm();
  const double T = o_.period;
  double driving = power(wanted, V);
  if (o_.mass > 0) driving += 0.5 * T / o_.mass * wanted.force.dot(held_.force);
  if (o_.inertia > 0) driving += 0.5 * T / o_.inertia * wanted.torque.dot(held_.torque);
  double b = 0;
  if (o_.mass > 0) b += 0.5 * T * T * f * f / o_.mass;
  if (o_.inertia > 0) b += 0.5 * T * T * t * t / o_.inertia;
  const double missed = driving > 0 ? f * o_.speed + t * o_.turn_speed : 0.0;
  const double a = T * (driving + missed), bank = std::max(0.0, bank_);
  scale_ = 1;
  acted_ = a + b > bank;
  if (!acted_) return wanted;
  const double root = std::sqrt(a * a + 4 * b * bank);
  if (b > 0) scale_ = a > 0 ? 2 * bank / (a + root) : (root - a) / (2 * b);
  if (b <= 0) scale_ = a > 0 ? bank / a : 1.0;
  scale_ = std::min(1.0, scale_);
  return scale_ * wanted;
}

}  // namespace tactus::haptic
