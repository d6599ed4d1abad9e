// How much of a long test sanitized programs run: they are up to 50 times slower, and look for what few runs show as
// well as many. The bars stay the same.
#pragma once

#include <algorithm>

namespace tactus::test {

// whole, or a part of it under sanitizers; at least 1 of what is counted.
constexpr int share(int whole, [[maybe_unused]] int part = 10) noexcept {
#ifdef TACTUS_SANITIZED
  return std::max(1, whole / part);
#else
  return whole;
#endif
}

}  // namespace tactus::test
