// Logarithm and powers of 1 + t for 0 <= t <= 1, from tables about 64ths: no logarithm and no exponential on the tick.
#pragma once

#include "core/check.h"
#include "core/math/power.h"

namespace tactus {

namespace one_plus_detail {

constexpr int kParts = 64;

struct Part {
  double inverse = 0, log = 0;  // of the middle c = 1 + i / kParts
};
struct Parts {
  Part parts[kParts + 1];
};
constexpr Parts make_parts() noexcept {
  Parts out{};
  for (int i = 0; i <= kParts; ++i) {
    const double c = 1 + static_cast<double>(i) / kParts;
    out.parts[i] = {1 / c, i == 0 ? 0.0 : -power_detail::slow_logarithm(1 / c)};
  }
  return out;
}
inline constexpr Parts kTable = make_parts();

}  // namespace one_plus_detail

// 1 + t = c (1 + r), abs(r) <= 1/128.
struct OnePlus {
  int part;
  double r;

  explicit OnePlus(double t) noexcept : part(static_cast<int>(t * one_plus_detail::kParts + 0.5)) {
    constexpr double kWidth = 1.0 / one_plus_detail::kParts;
    TACTUS_DCHECK(part >= 0 && part <= one_plus_detail::kParts);  // tables are read at it
    r = (t - part * kWidth) * one_plus_detail::kTable.parts[part].inverse;
  }
};

// ln(1 + t), absolute error below 2^-51.
inline double logarithm(const OnePlus& x) noexcept {
  const double r = x.r, r2 = r * r;
  const double low = r2 * (-1.0 / 2 + r * (1.0 / 3)),
               end = (-1.0 / 4 + r * (1.0 / 5)) + r2 * (-1.0 / 6 + r * (1.0 / 7));
  return one_plus_detail::kTable.parts[x.part].log + (r + (low + r2 * r2 * end));
}

// (1 + t)^e for one e in [0, 1]: c^e and the binomial series, whose next term is below 2e-19. Relative error below
// 2^-50.
class OnePlusPower {
 public:
  explicit OnePlusPower(double e) noexcept {
    TACTUS_DCHECK(e >= 0 && e <= 1);
    double c = 1;
    for (int i = 0; i < kTerms; ++i) series_[i] = c *= (e - i) / (i + 1);
    for (int i = 0; i <= one_plus_detail::kParts; ++i)
      powers_[i] = exponential(e * one_plus_detail::kTable.parts[i].log);
  }
  [[nodiscard]] double operator()(const OnePlus& x) const noexcept {
    const double r = x.r, r2 = r * r, *c = series_;
    const double low = r * (c[0] + r * c[1]), end = (c[2] + r * c[3]) + r2 * (c[4] + r * (c[5] + r * c[6]));
    const double part = powers_[x.part];
    return part + part * (low + (r * r2) * end);
  }

 private:
  static constexpr int kTerms = 7;
  double series_[kTerms], powers_[one_plus_detail::kParts + 1];
};

}  // namespace tactus
