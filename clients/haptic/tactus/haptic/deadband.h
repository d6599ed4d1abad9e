// Perceptual deadband (Hinterseer et al. 2008; IEEE 1918.1.1): a signal is sent when it has left a share of its last
// sent value, or a floor, and at least every `heartbeat` cycles, so that held data does not look old. The receiver
// holds. In a loop the gate stands behind it (NOTES: plain hold gives energy, hold with the passive rule does not).
#pragma once

#include <cstdint>

#include "tactus/haptic/types.h"

namespace tactus::haptic {

class Deadband {
 public:
  struct Options {
    double share = 0.1;            // of the last value sent; 0: everything is sent
    double floor = 0.02;           // absolute [the signal's unit]
    std::uint32_t heartbeat = 40;  // cycles
  };
  explicit Deadband(const Options& options) : o_(options) {}

  // Whether this value must go out now.
  bool take(const Vec3& value) {
    ++seen_;
    const double error = (value - sent_value_).norm();
    const bool due =
        !started_ || ++silent_ >= o_.heartbeat || error > std::max(o_.share * sent_value_.norm(), o_.floor);
    if (!due) {
      error_max_ = std::max(error_max_, error);
      return false;
    }
    started_ = true;
    sent_value_ = value;
    silent_ = 0;
    ++sent_;
    return true;
  }
  const Vec3& held() const { return sent_value_; }  // what the receiver has
  double saved() const { return seen_ == 0 ? 0 : 1 - static_cast<double>(sent_) / static_cast<double>(seen_); }
  double error_max() const { return error_max_; }

 private:
  Options o_;
  Vec3 sent_value_ = Vec3::Zero();
  bool started_ = false;
  std::uint32_t silent_ = 0;
  std::uint64_t seen_ = 0, sent_ = 0;
  double error_max_ = 0;
};

// The receiver's passive rule: while the held force drives the motion, the least force that the band allows.
inline Vec3 passive_hold(const Vec3& held, const Vec3& velocity, double share) {
  return held.dot(velocity) > 0 ? Vec3(held / (1 + share)) : held;
}

}  // namespace tactus::haptic
