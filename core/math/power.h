// Real powers by plain arithmetic: the same bits with every libm.
#pragma once

#include <bit>
#include <cstdint>

namespace tactus {

// x^y for 0 <= x <= 1 and y >= 0; 0^0 = 1. Relative error below (4 + 2 |y ln x|) 2^-52; below 1e-300 it is 0.
// ln x by the series of atanh on [sqrt(1/2), sqrt(2)], then exp by its own on [-ln(2)/2, ln(2)/2].
inline double power(double x, double y) noexcept {
  if (y == 0 || x == 1) return 1;
  if (x < 1e-300) return 0;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double t = (m - 1) / (m + 1), t2 = t * t;  // |t| < 0.172: the next term is below 1e-18
  const double end = 1.0 / 13 + t2 * (1.0 / 15 + t2 * (1.0 / 17 + t2 * (1.0 / 19 + t2 * (1.0 / 21))));
  const double series =
      1 + t2 * (1.0 / 3 + t2 * (1.0 / 5 + t2 * (1.0 / 7 + t2 * (1.0 / 9 + t2 * (1.0 / 11 + t2 * end)))));
  const auto e = static_cast<double>(exponent);
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  const double a = y * (e * kLn2 + 2 * t * series);
  if (a < -690) return 0;
  constexpr double kRound = 0x1.8p52;  // adding it leaves no bits below one
  const double k = (a * 0x1.71547652b82fep+0 + kRound) - kRound;
  const double r = (a - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;  // Cody & Waite 1980
  double s = 1;
  for (int n = 14; n > 0; --n) s = 1 + s * r * (1.0 / n);
  return s * std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52);
}

}  // namespace tactus
