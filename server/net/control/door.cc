#include "server/net/control/door.h"

#include <sys/resource.h>

#include <algorithm>

namespace tactus::net {

std::size_t connections_at_once(std::size_t wanted, std::size_t part) {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return wanted;
  return std::min<std::size_t>(wanted, descriptors.rlim_cur / part);
}

}  // namespace tactus::net
