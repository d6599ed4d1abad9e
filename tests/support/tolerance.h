// One way to judge a residual. TACTUS_TOL_SCALE scales every tolerance: 0 makes each check print its true residual and
// fail, 10 shows what only just passes.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

namespace tactus::test {

inline double tolerance_scale() {
  static const double scale = [] {
    const char* text = std::getenv("TACTUS_TOL_SCALE");
    return text ? std::atof(text) : 1.0;
  }();
  return scale;
}

// False for a residual that is not a number.
inline bool within(double residual, double tolerance) {
  return tolerance_scale() > 0 && std::abs(residual) <= tolerance_scale() * tolerance;
}

}  // namespace tactus::test

// The residual must be at most the tolerance, both of one unit. Evaluates the residual once.
#define CHECK_WITHIN(residual, tolerance)                                                      \
  do {                                                                                         \
    const double tactus_residual = (residual);                                                 \
    CHECK_MESSAGE(::tactus::test::within(tactus_residual, (tolerance)),                        \
                  #residual " is " << tactus_residual << ", tolerance " << double(tolerance)); \
  } while (false)
