// What a benchmark says of itself when asked by an option; most take nothing but a number or a file.
#pragma once

#include <cstdio>

namespace tactus::bench {

// True: an option was given, and the text that says what there is has been printed.
inline bool tells_usage(int count, char** arguments, const char* text) {
  if (count < 2 || arguments[1][0] != '-') return false;
  std::printf("usage: %s %s\n", arguments[0], text);
  return true;
}

}  // namespace tactus::bench
