// How many messages a target has been given, told at its end; TACTUS_FUZZ_MESSAGES ends it after so many.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace tactus::fuzz {

inline std::uint64_t messages = 0;

inline void tell_messages() {
  std::fprintf(stderr, "messages: %llu\n", static_cast<unsigned long long>(messages));
}

inline void count_message() {
  static const bool told = std::atexit(tell_messages) == 0;
  static const char* const text = std::getenv("TACTUS_FUZZ_MESSAGES");
  static const std::uint64_t last = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  if (++messages != last || !told) return;
  tell_messages();
  std::_Exit(0);  // libFuzzer takes exit() for a crash
}

}  // namespace tactus::fuzz
