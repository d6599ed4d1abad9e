// What was refused of those who are no clients, or of frames that could not be read: counted by reason.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tactus::net {

struct Refusals {
  std::map<std::string, std::uint64_t> by_reason;
  std::uint64_t datagrams = 0;

  void add(const char* reason) { ++by_reason[reason]; }
};

}  // namespace tactus::net
