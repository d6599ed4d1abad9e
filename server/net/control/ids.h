// Names that clients give, and random numbers that stand for sessions and scenes.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>

#include "proto/cpp/seal.h"

namespace tactus::net {

// [A-Za-z0-9_.-]{1,64}: clients, snapshots, files.
inline bool is_name(const std::string& text) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-'; };
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), allowed);
}

// Never 0.
inline std::uint32_t random_u32() {
  std::uint32_t out = 0;
  while (out == 0) wire::random_bytes({reinterpret_cast<std::uint8_t*>(&out), sizeof out});
  return out;
}

}  // namespace tactus::net
