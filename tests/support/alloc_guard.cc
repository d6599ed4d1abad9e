#include "tests/support/alloc_guard.h"

#include <cerrno>
#include <cstddef>

#if !defined(TACTUS_SANITIZED) && defined(__GLIBC__)
#define TACTUS_COUNTS_ALLOCATIONS 1
#endif

namespace tactus::test {
namespace {
thread_local std::uint64_t t_allocations = 0;
}  // namespace

AllocGuard::AllocGuard() noexcept : start_(t_allocations) {}
AllocGuard::~AllocGuard() = default;
std::uint64_t AllocGuard::count() const noexcept {
  return t_allocations - start_;
}

bool AllocGuard::available() noexcept {
#ifdef TACTUS_COUNTS_ALLOCATIONS
  return true;
#else
  return false;
#endif
}

}  // namespace tactus::test

#ifdef TACTUS_COUNTS_ALLOCATIONS
// The C library allows a program to replace these, and then libstdc++'s operator new comes here too. free stays.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t n, std::size_t size);
void* __libc_realloc(void* p, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
  ++tactus::test::t_allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) noexcept {
  ++tactus::test::t_allocations;
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) noexcept {
  ++tactus::test::t_allocations;
  return __libc_realloc(p, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  ++tactus::test::t_allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  ++tactus::test::t_allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  ++tactus::test::t_allocations;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
}
#endif
