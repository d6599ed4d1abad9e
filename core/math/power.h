// Real powers by plain arithmetic: the same bits with every libm.
#pragma once

#include <bit>
#include <cstdint>

namespace tactus {

// ln x for x >= 1e-300 by the series of atanh on [sqrt(1/2), sqrt(2)]. Absolute error below (2 + |ln x|) 2^-53.
inline double logarithm(double x) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // |t| < 0.172: the next term is below 1e-18. Both series by pairs (Estrin), for their length in time.
  const double t = (m - 1) / (m + 1), t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
  const double low = (1 + t2 * (1.0 / 3)) + t4 * (1.0 / 5 + t2 * (1.0 / 7));
  const double high = (1.0 / 9 + t2 * (1.0 / 11)) + t4 * (1.0 / 13 + t2 * (1.0 / 15));
  const double end = (1.0 / 17 + t2 * (1.0 / 19)) + t4 * (1.0 / 21);
  const double series = low + t8 * (high + t8 * end);
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  return static_cast<double>(exponent) * kLn2 + 2 * t * series;
}

// e^a for a <= 690, by its series on [-ln(2)/2, ln(2)/2]; below -690 it is 0. Relative error below 2^-51 from a's own.
inline double exponential(double a) noexcept {
  if (a < -690) return 0;
  constexpr double kRound = 0x1.8p52;  // adding it leaves no bits below one
  const double k = (a * 0x1.71547652b82fep+0 + kRound) - kRound;
  const double r = (a - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;  // Cody & Waite 1980
  const double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
  const double s0 = (1 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
  const double s4 = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  const double s8 = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
  const double s12 = 1.0 / 479001600 + r * (1.0 / 6227020800);
  const double s = (s0 + r4 * s4) + r8 * (s8 + r4 * s12);
  return s * std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52);
}

// x^y for 0 <= x <= 1 and y >= 0; 0^0 = 1. Relative error below (4 + 2 |y ln x|) 2^-52; below 1e-300 it is 0.
inline double power(double x, double y) noexcept {
  if (y == 0 || x == 1) return 1;
  if (x < 1e-300) return 0;
  return exponential(y * logarithm(x));
}

}  // namespace tactus
