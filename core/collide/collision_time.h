// When two bodies that were apart at t0 and overlap at t1 touched (Baraff 1990, section 8).
#pragma once

#include <cstdint>

namespace tactus {

// A measure of distance and its rates at a time: chi of eq. 3 or 8, or the extreme distance itself.
struct ChiJet {
  double chi = 0;       // > 0 apart [m]
  double chi_dot = 0;   // [m/s]
  double chi_ddot = 0;  // [m/s^2]
  bool known = true;    // false: neither apart nor overlapping can be claimed at this time
};

enum class RootMethod : std::uint8_t { quadratic, newton, regula_falsi, bisection };  // eq. 21, eq. 19, ...

struct CollisionTime {
  double t = 0;                   // [s]; chi(t) within tolerance of 0 from above, or the bracket narrower than it
  std::uint32_t evaluations = 0;  // beyond those at t0 and t1
  bool found = false;
};

}  // namespace tactus
