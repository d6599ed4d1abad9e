// Two doubles side by side, for the few inner loops that compilers do not take two at a time by themselves. Each half
// is an ordinary double: the same bits as one after the other, at every level of optimisation.
#pragma once

#include <cstring>

namespace tactus {

using Two = double __attribute__((vector_size(16)));

inline Two two(double x) noexcept {
  return Two{x, x};
}
inline Two load_two(const double* x) noexcept {  // of any alignment
  Two t;
  std::memcpy(&t, x, sizeof t);
  return t;
}
inline void store_two(const Two& t, double* x) noexcept {
  std::memcpy(x, &t, sizeof t);
}

}  // namespace tactus
