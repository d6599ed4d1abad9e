// Sine and cosine of joint angles by plain arithmetic: the same bits with every libm, and both in the time of one.
#pragma once

#include <cmath>
#include <cstdint>

namespace tactus {

// s = sin x, c = cos x, each to 2.3e-16 absolute. Up to 1e6 rad by reduction to [-pi/4, pi/4] with pi/2 in three parts
// (Cody & Waite 1980; the first two have 32 bits, so their products with k < 2^21 are exact) and Taylor's series, whose
// next terms are below 3e-18. Larger angles (a wheel after weeks) go to libm. Not finite: NaN.
inline void sine_cosine(double x, double& s, double& c) noexcept {
  if (!(std::abs(x) < 1e6)) {
    s = std::sin(x);
    c = std::cos(x);
    return;
  }
  constexpr double kRound = 0x1.8p52;  // adding it leaves no bits below one
  const double k = (x * 0x1.45f306dc9c883p-1 + kRound) - kRound;
  const double r = ((x - k * 0x1.921fb544p+0) - k * 0x1.0b4611a6p-34) - k * 0x1.3198a2e037073p-69;
  const double z = r * r;
  const double tail =
      1.0 / 362880 -
      z * (1.0 / 39916800 - z * (1.0 / 6227020800 - z * (1.0 / 1307674368000 - z * (1.0 / 355687428096000))));
  const double sine = r - r * z * (1.0 / 6 - z * (1.0 / 120 - z * (1.0 / 5040 - z * tail)));
  const double end =
      1.0 / 40320 - z * (1.0 / 3628800 - z * (1.0 / 479001600 - z * (1.0 / 87178291200 - z * (1.0 / 20922789888000))));
  const double cosine = 1.0 - z * (0.5 - z * (1.0 / 24 - z * (1.0 / 720 - z * end)));
  const auto quarter = static_cast<std::int64_t>(k) & 3;
  const double a = (quarter & 1) != 0 ? cosine : sine, b = (quarter & 1) != 0 ? sine : cosine;
  s = (quarter & 2) != 0 ? -a : a;
  c = ((quarter + 1) & 2) != 0 ? -b : b;
}

}  // namespace tactus
