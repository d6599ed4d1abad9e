// Parts of robots by name, as requests give them.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "server/net/desk/exchange.h"

namespace tactus::net {

// Does `wish`, "*" or a robot or a full name, mean the thing called `name` (robot/thing)?
inline bool means(const std::string& wish, const std::string& name) {
  return wish == "*" || wish == name ||
         (name.size() > wish.size() && name[wish.size()] == '/' && name.starts_with(wish));
}

// The indices of what `wishes` mean, ascending; false: says what is unknown. scene: its name.
template <typename Things, typename Fits>
bool find_parts(const Exchange& x, const google::protobuf::RepeatedPtrField<std::string>& wishes, const Things& things,
                const char* what, Fits fits, const std::string& scene, std::vector<std::uint32_t>& out) {
  std::vector<bool> chosen(things.size(), false);
  for (const std::string& wish : wishes) {
    bool any = wish == "*";
    for (std::uint32_t i = 0; i < things.size(); ++i) {
      if (!fits(things[i]) || !means(wish, things[i].name)) continue;
      chosen[i] = any = true;
    }
    if (!any) {
      x.error(v1::ERROR_NOT_FOUND,
              fmt::format("no {} '{}' in scene '{}'; DescribeScene lists robots with theirs", what, wish, scene));
      return false;
    }
  }
  for (std::uint32_t i = 0; i < things.size(); ++i) {
    if (chosen[i]) out.push_back(i);
  }
  return true;
}

}  // namespace tactus::net
