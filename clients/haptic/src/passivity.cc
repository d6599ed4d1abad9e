#include "tactus/haptic/passivity.h"

#include <algorithm>

namespace tactus::haptic {

void Gate::add(const Wrench& held, const Motion& moved) {
  bank_ -= work(held, moved);
  const bool quiet = held.force.isZero(0) && held.torque.isZero(0);
  quiet_s_ = quiet ? quiet_s_ + o_.period : 0;
  if (quiet_s_ > o_.forget_s + round_trip_) bank_ = o_.allowance;
}

// The bound for s times the wanted wrench: a s + b s^2 <= bank, with a = power and what the estimate may miss, b = what
// the wrench itself adds within the period.
Wrench Gate::limit(const Wrench& wanted, const Twist& V) {
  const double f = wanted.force.norm(), t = wanted.torque.norm();
  const double T = o_.period, driving = power(wanted, V);
  double b = 0;
  if (o_.mass > 0) b += 0.5 * T * T * f * f / o_.mass;
  if (o_.inertia > 0) b += 0.5 * T * T * t * t / o_.inertia;
  const double a = T * (driving + f * o_.speed + t * o_.turn_speed);
  scale_ = 1;
  acted_ = false;
  if (driving <= 0 || a + b <= bank_) return wanted;
  acted_ = true;
  if (bank_ <= 0) {
    scale_ = 0;
  } else {
    scale_ = b > 0 ? 2 * bank_ / (a + std::sqrt(a * a + 4 * b * bank_)) : bank_ / a;
  }
  return scale_ * wanted;
}

}  // namespace tactus::haptic
