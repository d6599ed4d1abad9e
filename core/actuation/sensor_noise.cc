#include <bit>
#include <cmath>

#include "core/actuation/robot_sensors.h"

namespace tactus {

namespace {

std::uint64_t mixed(std::uint64_t z) noexcept {  // SplitMix64 (Steele, Lea, Flood 2014)
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// -1 .. 1, never 0.
double signed_unit(std::uint64_t bits) noexcept {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-52 - 1;
}

// ln x for normal x > 0, to about 2e-16 of its size or 1e-16: x = m 2^e with m in [1/sqrt 2, sqrt 2), and ln m = 2
// artanh((m - 1) / (m + 1)), whose argument stays below 0.172.
double logarithm(double x) noexcept {
  constexpr double kLn2 = 0.693147180559945309;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int e = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.41421356237309505) {
    m *= 0.5;
    ++e;
  }
  const double z = (m - 1) / (m + 1), z2 = z * z;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * z2 + 1.0 / k;
  return 2 * z * sum + e * kLn2;
}

}  // namespace

double counter_gauss(std::uint64_t seed, std::uint64_t tick, std::uint64_t number) noexcept {
  const std::uint64_t key = mixed(mixed(mixed(seed) ^ tick) ^ number);
  for (std::uint64_t attempt = 0;; ++attempt) {  // accepted with probability pi / 4
    const double x = signed_unit(mixed(key + 2 * attempt)), y = signed_unit(mixed(key + 2 * attempt + 1));
    const double s = x * x + y * y;
    if (s >= 1 || s < 0x1p-100) continue;
    return x * std::sqrt(-2 * logarithm(s) / s);
  }
}

}  // namespace tactus
