// How many messages a target has been given and how many of them were taken, told at its end. TACTUS_FUZZ_MESSAGES ends
// it after so many, with a last look for leaks.
#pragma once

#include <sanitizer/lsan_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace tactus::fuzz {

inline std::uint64_t messages = 0, messages_taken = 0;
inline void (*tell_more)() = nullptr;

inline void tell_messages() {
  std::fprintf(stderr, "messages: %llu, taken: %llu\n", static_cast<unsigned long long>(messages),
               static_cast<unsigned long long>(messages_taken));
  if (tell_more != nullptr) tell_more();
}

inline void count_message() {
  static const bool told = std::atexit(tell_messages) == 0;
  static const char* const text = std::getenv("TACTUS_FUZZ_MESSAGES");
  static const std::uint64_t last = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  if (++messages != last || !told) return;
  tell_messages();
  std::_Exit(__lsan_do_recoverable_leak_check() == 0 ? 0 : 1);  // libFuzzer takes exit() for a crash
}

// The last one was not refused.
inline void count_taken() {
  ++messages_taken;
}

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

}  // namespace tactus::fuzz
