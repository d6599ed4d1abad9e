// One way to judge a residual. TACTUS_TOL_SCALE scales every tolerance: 0 makes each check print its true residual and
// fail, 10 shows what only just passes.
#pragma once

#include <doctest/doctest.h>

#include <cmath>

namespace tactus::test {

double tolerance_scale();

// False for a residual that is not a number.
bool within(double residual, double tolerance);

// What CHECK_WITHIN does, compiled once.
void check_within(double residual, double tolerance, const char* text, const char* file, int line);

}  // namespace tactus::test

// The residual must be at most the tolerance, both of one unit. Evaluates the residual once.
#define CHECK_WITHIN(residual, tolerance) \
  ::tactus::test::check_within((residual), (tolerance), #residual, __FILE__, __LINE__)
