// Real powers by plain arithmetic: the same bits with every libm.
#pragma once

#include <bit>
#include <cstdint>

#include "core/check.h"

namespace tactus {

namespace power_detail {

// ln by the series of atanh, for x near 1; e^x by its own, for |x| < 1. Only for the tables.
constexpr double slow_logarithm(double x) noexcept {
  const double t = (x - 1) / (x + 1), t2 = t * t;
  double sum = 0;
  for (int i = 41; i > 0; i -= 2) sum = sum * t2 + 1.0 / i;
  return 2 * t * sum;
}
constexpr double slow_exponential(double x) noexcept {
  double sum = 1;
  for (int i = 20; i > 0; --i) sum = 1 + sum * x / i;
  return sum;
}

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr int kLogSteps = 64, kExpSteps = 32;

// Of the middle c of each part, the one about 1 has c = 1: 1/c to 12 bits and what it leaves of the logarithm.
struct LogEntry {
  double inverse = 0, log = 0;
};
// The bits of where the parts begin, below sqrt(1/2): then 37 parts and a half to 1.
constexpr std::uint64_t kLogPart = std::uint64_t{1} << 46, kLogBegin = (1023ull << 52) - 37 * kLogPart - kLogPart / 2;

struct Tables {
  LogEntry logs[kLogSteps];
  double exps[kExpSteps];  // 2^(i / kExpSteps)
};
constexpr Tables make_tables() noexcept {
  Tables out{};
  for (int i = 0; i < kLogSteps; ++i) {
    const auto c = std::bit_cast<double>(kLogBegin + static_cast<std::uint64_t>(i) * kLogPart + kLogPart / 2);
    const double inverse = static_cast<int>(2048 / c + 0.5) / 2048.0;
    out.logs[i] = {inverse, -slow_logarithm(inverse)};
  }
  for (int i = 0; i < kExpSteps; ++i) out.exps[i] = slow_exponential(kLn2 * i / kExpSteps);
  return out;
}
inline constexpr Tables kTables = make_tables();

}  // namespace power_detail

// ln x for x >= 1e-300. Relative error below 2^-51. Without a division: x times a table's 1/c, then the series of ln(1
// + r), |r| < 0.0082.
[[gnu::always_inline]] inline double logarithm(double x) noexcept {
  TACTUS_DCHECK(!(x < 1e-300));
  const auto bits = std::bit_cast<std::uint64_t>(x), from = bits - power_detail::kLogBegin;
  const auto exponent = static_cast<double>(static_cast<std::int64_t>(from) >> 52);
  const power_detail::LogEntry& entry = power_detail::kTables.logs[(from >> 46) & (power_detail::kLogSteps - 1)];
  const std::uint64_t m_bits = bits - (from & 0xfff0000000000000ull);
  const auto m = std::bit_cast<double>(m_bits), high = std::bit_cast<double>(m_bits & 0xffffffff00000000ull);
  // Exact but for the last sum: the factors have 21 and 12 bits.
  const double r = (high * entry.inverse - 1) + (m - high) * entry.inverse, r2 = r * r;
  const double low = r2 * (-1.0 / 2 + r * (1.0 / 3)),
               end = (-1.0 / 4 + r * (1.0 / 5)) + r2 * (-1.0 / 6 + r * (1.0 / 7));
  return (exponent * power_detail::kLn2 + entry.log) + (r + (low + r2 * r2 * end));
}

// e^a for a <= 690; below -690 it is 0. Relative error below 2^-51. 2^(k/32) and the series of what is left, |r| <
// 0.011, the next term below 1e-17.
[[gnu::always_inline]] inline double exponential(double a) noexcept {
  TACTUS_DCHECK(!(a > 690));
  if (a < -690) return 0;
  constexpr double kRound = 0x1.8p52;  // adding it leaves no bits below one
  const double k = (a * (0x1.71547652b82fep+0 * power_detail::kExpSteps) + kRound) - kRound;
  constexpr double kHigh = 0x1.62e42feep-1 / power_detail::kExpSteps,
                   kLow = 0x1.a39ef35793c76p-33 / power_detail::kExpSteps;
  const double r = (a - k * kHigh) - k * kLow, r2 = r * r;  // Cody & Waite 1980
  const double s = (r + r2 * (1.0 / 2 + r * (1.0 / 6))) + (r2 * r2) * ((1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720));
  const auto steps = static_cast<std::int64_t>(k);
  const double part = power_detail::kTables.exps[steps & (power_detail::kExpSteps - 1)];
  const auto whole = static_cast<std::uint64_t>((steps >> 5) + 1023) << 52;
  return (part + part * s) * std::bit_cast<double>(whole);
}

// x^y for 0 <= x <= 1 and y >= 0; 0^0 = 1. Relative error below (4 + 2 |y ln x|) 2^-52; below 1e-300 it is 0.
inline double power(double x, double y) noexcept {
  TACTUS_DCHECK(!(x < 0 || x > 1 || y < 0));
  if (y == 0 || x == 1) return 1;
  if (x < 1e-300) return 0;
  return exponential(y * logarithm(x));
}

}  // namespace tactus
