#include "core/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace tactus {
namespace {
std::atomic<AssertHandler> g_handler{nullptr};
}  // namespace

AssertHandler set_assert_handler(AssertHandler handler) noexcept {
  return g_handler.exchange(handler);
}

void assert_failed(const char* condition, const char* file, int line) noexcept {
  if (AssertHandler handler = g_handler.exchange(nullptr)) handler(condition, file, line);
  std::fprintf(stderr, "tactus: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace tactus
