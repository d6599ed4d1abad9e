// The deadband codec of a device's two datagrams (Hinterseer et al. 2008; IEEE 1918.1.1): each sender keeps what the
// receiver has and sends only when that would be wrong by more than the band, when something discrete changes, and at
// least every `heartbeat` cycles, so that held data does not look lost. Shared by server and clients; plain C++,
// allocates nothing, knows neither clock nor message.
//   poses   the receiver goes on with the velocity last sent (predict_pose); absolute band
//   wrenches  the receiver holds, and gives away no more than the least that the band allows while what it holds drives
//           the motion (passive_scale); a share of what was last sent, or a floor (Weber's law)
//   planes  the receiver holds; the gap at the tool's present pose, in the same way
// On a lossless link the error is never above the band; a lost datagram is made good by the next, the heartbeat at
// latest.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tactus::wire {

struct DeadbandOptions {
  double share = 0.1;            // of the wrench, or gap, last sent; 0: everything is sent
  double force_floor = 0.02;     // [N]
  double torque_floor = 5e-4;    // [N m]
  double position_band = 5e-5;   // [m]
  double angle_band = 1e-3;      // [rad]
  double gap_floor = 5e-6;       // [m]
  double arm_band = 2e-4;        // of a plane's point on the tool, along the plane [m]
  std::uint32_t heartbeat = 40;  // cycles; the other side's watchdog waits for 2.5 times that
};
// Heartbeat that a watchdog of so many cycles bears: one may be lost before it acts. 100 cycles bear the default.
inline std::uint32_t heartbeat_for(std::uint32_t watchdog_cycles) noexcept {
  return std::clamp<std::uint32_t>(2 * watchdog_cycles / 5, 1, 40);
}

// What was saved, and what it cost.
struct DeadbandCount {
  std::uint64_t seen = 0, sent = 0;
  double error = 0, error_max = 0;  // of what the receiver has, in units of the band: now, most so far (declared: 1)
  [[nodiscard]] double saved() const noexcept {
    return seen == 0 ? 0 : 1 - static_cast<double>(sent) / static_cast<double>(seen);
  }
};

using PoseRow = std::array<double, 7>;  // p [m], q (w x y z)
using SixRow = std::array<double, 6>;   // v, w or force, torque

// Where a pose is after so long at its velocity (v, w in W): the same on both sides.
inline PoseRow predict_pose(const PoseRow& X, const SixRow& V, double seconds) noexcept {
  PoseRow out = X;
  for (std::size_t i = 0; i < 3; ++i) out[i] += seconds * V[i];
  const double x = 0.5 * seconds * V[3], y = 0.5 * seconds * V[4], z = 0.5 * seconds * V[5];
  out[3] -= x * X[4] + y * X[5] + z * X[6];
  out[4] += x * X[3] + y * X[6] - z * X[5];
  out[5] += y * X[3] + z * X[4] - x * X[6];
  out[6] += z * X[3] + x * X[5] - y * X[4];
  const double norm = std::sqrt(out[3] * out[3] + out[4] * out[4] + out[5] * out[5] + out[6] * out[6]);
  for (std::size_t i = 3; i < 7; ++i) out[i] /= norm;
  return out;
}
// What of a held wrench may act while it drives the motion (its power is above 0): the least that the band allows.
inline double passive_scale(double power, double share) noexcept {
  return power > 0 ? 1 / (1 + share) : 1.0;
}

namespace deadband {  // the parts of take()

template <std::size_t N>
double distance(const std::array<double, N>& a, const std::array<double, N>& b, std::size_t from,
                std::size_t to) noexcept {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}
// The larger of force and torque error, in units of the band.
inline double wrench_error(const SixRow& held, const SixRow& now, const DeadbandOptions& o) noexcept {
  const double force = std::max(o.force_floor, o.share * distance(held, SixRow{}, 0, 3));
  const double torque = std::max(o.torque_floor, o.share * distance(held, SixRow{}, 3, 6));
  return std::max(distance(held, now, 0, 3) / force, distance(held, now, 3, 6) / torque);
}
inline double pose_error(const PoseRow& held, const PoseRow& now, const DeadbandOptions& o) noexcept {
  double dot = 0;  // the angle's sine is twice the distance of the quaternions, near enough within any band
  for (std::size_t i = 3; i < 7; ++i) dot += held[i] * now[i];
  const double angle = 2 * std::sqrt(std::max(0.0, 1 - dot * dot));
  return std::max(distance(held, now, 0, 3) / o.position_band, angle / o.angle_band);
}

}  // namespace deadband

// A side's decision, cycle by cycle.
class DeadbandClock {
 public:
  explicit DeadbandClock(const DeadbandOptions& options) noexcept : options_(options) {}
  [[nodiscard]] const DeadbandOptions& options() const noexcept { return options_; }
  [[nodiscard]] const DeadbandCount& count() const noexcept { return count_; }

 protected:
  // Cycles since the last was sent, this one included.
  std::uint32_t begin() noexcept { return ++count_.seen, ++silent_; }
  bool end(double error, bool changed) noexcept {
    const bool due = count_.sent == 0 || changed || options_.share <= 0 || silent_ >= options_.heartbeat || error > 1;
    count_.error = due ? 0 : error;
    count_.error_max = std::max(count_.error_max, count_.error);
    if (due) ++count_.sent, silent_ = 0;
    return due;
  }

 private:
  DeadbandOptions options_;
  DeadbandCount count_;
  std::uint32_t silent_ = 0;
};

// The device's side: reference and the hand's wrench.
class DeviceBand : public DeadbandClock {
 public:
  DeviceBand(const DeadbandOptions& options, double period) noexcept : DeadbandClock(options), period_(period) {}
  // Whether this cycle's datagram must go out. discrete: grip, buttons and bits, as one number. With a wrench of zeros
  // only the pose decides.
  bool take(const PoseRow& pose, const SixRow& velocity, const SixRow& wrench, std::uint64_t discrete) noexcept {
    const std::uint32_t silent = begin();
    const double error =
        std::max(deadband::pose_error(predict_pose(pose_, velocity_, period_ * silent), pose, options()),
                 deadband::wrench_error(wrench_, wrench, options()));
    if (!end(error, discrete != discrete_)) return false;
    pose_ = pose, velocity_ = velocity, wrench_ = wrench, discrete_ = discrete;
    return true;
  }

 private:
  double period_;
  PoseRow pose_{0, 0, 0, 1, 0, 0, 0};
  SixRow velocity_{}, wrench_{};
  std::uint64_t discrete_ = 0;
};

// A plane as the TOOL datagram has it.
struct PlaneRow {
  std::uint32_t key = 0;
  std::array<double, 3> n{}, p{}, c{};  // normal and point in W, point on the tool in T
};

// The server's side: the coupling's wrench and the planes around the tool.
class ToolBand : public DeadbandClock {
 public:
  static constexpr std::size_t kPlanes = 12;
  using DeadbandClock::DeadbandClock;
  // Whether this tick's datagram must go out. X_WT: the tool's pose. A mode that does not use wrench or planes passes
  // zeros or none.
  bool take(const PoseRow& X_WT, const SixRow& wrench, const PlaneRow* planes, std::size_t count,
            std::uint64_t discrete) noexcept {
    begin();
    count = std::min(count, kPlanes);
    bool changed = discrete != discrete_ || count != count_of_planes_;
    double error = deadband::wrench_error(wrench_, wrench, options());
    for (std::size_t i = 0; i < count && !changed; ++i) {
      const PlaneRow* held = find(planes[i].key);
      changed = held == nullptr;
      if (held != nullptr) error = std::max(error, plane_error(X_WT, *held, planes[i]));
    }
    if (!end(error, changed)) return false;
    wrench_ = wrench, discrete_ = discrete, count_of_planes_ = count;
    for (std::size_t i = 0; i < count; ++i) planes_[i] = planes[i];
    return true;
  }

 private:
  [[nodiscard]] const PlaneRow* find(std::uint32_t key) const noexcept {
    for (std::size_t i = 0; i < count_of_planes_; ++i) {
      if (planes_[i].key == key) return &planes_[i];
    }
    return nullptr;
  }
  // n . (X_WT c - p), and the point X_WT c.
  static double gap(const PoseRow& X, const PlaneRow& plane, std::array<double, 3>& at) noexcept {
    const double w = X[3], x = X[4], y = X[5], z = X[6];
    const std::array<double, 3>& c = plane.c;
    const std::array<double, 3> t{2 * (y * c[2] - z * c[1]), 2 * (z * c[0] - x * c[2]), 2 * (x * c[1] - y * c[0])};
    at = {X[0] + c[0] + w * t[0] + y * t[2] - z * t[1], X[1] + c[1] + w * t[1] + z * t[0] - x * t[2],
          X[2] + c[2] + w * t[2] + x * t[1] - y * t[0]};
    double out = 0;
    for (std::size_t i = 0; i < 3; ++i) out += plane.n[i] * (at[i] - plane.p[i]);
    return out;
  }
  [[nodiscard]] double plane_error(const PoseRow& X, const PlaneRow& held, const PlaneRow& now) const noexcept {
    std::array<double, 3> at_held{}, at_now{};
    const double was = gap(X, held, at_held), is = gap(X, now, at_now);
    const double moved = deadband::distance(at_held, at_now, 0, 3);
    const double turned = deadband::distance(held.n, now.n, 0, 3);
    const double far = std::max(options().gap_floor, options().share * std::abs(was));  // what is far may be vague
    return std::max({std::abs(is - was) / far, moved / (options().arm_band + far), turned / options().angle_band});
  }

  SixRow wrench_{};
  std::array<PlaneRow, kPlanes> planes_{};
  std::size_t count_of_planes_ = 0;
  std::uint64_t discrete_ = 0;
};

}  // namespace tactus::wire
