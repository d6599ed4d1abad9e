#include "tests/support/tolerance.h"

#include <cstdlib>
#include <string>

namespace tactus::test {

double tolerance_scale() {
  static const double scale = [] {
    const char* text = std::getenv("TACTUS_TOL_SCALE");
    return text ? std::atof(text) : 1.0;
  }();
  return scale;
}

bool within(double residual, double tolerance) {
  return tolerance_scale() > 0 && std::abs(residual) <= tolerance_scale() * tolerance;
}

void check_within(double residual, double tolerance, const char* text, const char* file, int line) {
  if (within(residual, tolerance)) {
    CHECK(true);  // counted
  } else {
    ADD_FAIL_CHECK_AT(file, line, std::string(text) << " is " << residual << ", tolerance " << tolerance);
  }
}

}  // namespace tactus::test
