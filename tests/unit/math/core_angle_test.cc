// Sine and cosine by plain arithmetic.
#include "core/math/angle.h"

#include <limits>

#include "tests/support/random.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

void check(double x) {
  double s, c;
  sine_cosine(x, s, c);
  // long double: what libm's own double would round away.
  CHECK_WITHIN(static_cast<double>(s - std::sin(static_cast<long double>(x))), 2.3e-16);
  CHECK_WITHIN(static_cast<double>(c - std::cos(static_cast<long double>(x))), 2.3e-16);
  double minus_s, same_c;
  sine_cosine(-x, minus_s, same_c);
  CHECK(minus_s == -s);
  CHECK(same_c == c);
}

TEST_CASE("angle: sine and cosine to 2.3e-16, odd and even") {
  test::Random random(1);
  for (int i = 0; i < 20000; ++i) {
    check(random.uniform(-4, 4));
    check(random.log_uniform(1e-12, 0.9e6));
  }
  for (int k = -2000; k <= 2000; ++k) {
    for (const double nudge : {-1e-9, 0.0, 1e-9}) check(k * M_PI / 4 + nudge);
  }
  for (const double x : {0.0, 1e-300, 999999.9, 1e6, 3e9}) check(x);
}

TEST_CASE("angle: what is not finite gives NaN") {
  for (const double x : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    double s, c;
    sine_cosine(x, s, c);
    CHECK(std::isnan(s));
    CHECK(std::isnan(c));
  }
}

}  // namespace
}  // namespace tactus
