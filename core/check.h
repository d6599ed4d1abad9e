// The three kinds of check: outside data, our own mistake, and what is too dear for a release.
//   TACTUS_REQUIRE  outside data, at load time only, in scene/ and in programs: throws InputError.
//   TACTUS_ASSERT   our own mistake; always on. Calls the handler (the server publishes a fault and zero force), then
//   aborts. TACTUS_DCHECK   costs more than O(1), or stands in an inner loop; only with -DTACTUS_DCHECKS=ON.
#pragma once

#include <stdexcept>
#include <string>

namespace tactus {

// What is wrong with outside data: where it stands, what was found and what is expected.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message) : std::runtime_error(message) {}
};

using AssertHandler = void (*)(const char* condition, const char* file, int line) noexcept;

// Called once before abort(); must not allocate. Returns the previous handler.
AssertHandler set_assert_handler(AssertHandler handler) noexcept;
[[noreturn]] void assert_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace tactus

#define TACTUS_REQUIRE(cond, message)                 \
  do {                                                \
    if (!(cond)) throw ::tactus::InputError(message); \
  } while (false)

#define TACTUS_ASSERT(cond)                                                               \
  do {                                                                                    \
    if (__builtin_expect(!(cond), 0)) ::tactus::assert_failed(#cond, __FILE__, __LINE__); \
  } while (false)

#ifdef TACTUS_DCHECKS
#define TACTUS_DCHECK(cond) TACTUS_ASSERT(cond)
#else
// Compiled, so that it does not rot, and never evaluated.
#define TACTUS_DCHECK(cond)                \
  do {                                     \
    if (false) static_cast<void>(!(cond)); \
  } while (false)
#endif
