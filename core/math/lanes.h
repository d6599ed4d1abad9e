// A few doubles at once, each for itself: what a loop over them computes, in pairs where their number is even.
#pragma once

#include <cstdint>

#include "core/math/two.h"

namespace tactus {

template <std::uint32_t kWidth>
struct Lanes {
  static constexpr std::uint32_t kTwos = kWidth / 2;
  static constexpr bool kOdd = kWidth % 2 == 1;
  Two pairs[kTwos + 1];
  double last;

  static Lanes load(const double* from) noexcept {
    Lanes out;
    for (std::uint32_t i = 0; i < kTwos; ++i) out.pairs[i] = load_two(from + 2 * i);
    if constexpr (kOdd) out.last = from[kWidth - 1];
    return out;
  }
  void store(double* to) const noexcept {
    for (std::uint32_t i = 0; i < kTwos; ++i) store_two(pairs[i], to + 2 * i);
    if constexpr (kOdd) to[kWidth - 1] = last;
  }
  // += x s
  void add(const Lanes& x, double s) noexcept {
    const Two ss = two(s);
    for (std::uint32_t i = 0; i < kTwos; ++i) pairs[i] += x.pairs[i] * ss;
    if constexpr (kOdd) last += x.last * s;
  }
  void take(const Lanes& x, double s) noexcept {
    const Two ss = two(s);
    for (std::uint32_t i = 0; i < kTwos; ++i) pairs[i] -= x.pairs[i] * ss;
    if constexpr (kOdd) last -= x.last * s;
  }
  void scale(double s) noexcept {
    const Two ss = two(s);
    for (std::uint32_t i = 0; i < kTwos; ++i) pairs[i] *= ss;
    if constexpr (kOdd) last *= s;
  }
};

}  // namespace tactus
