// [[link]]: faults that a scene puts on the links of a server's clients. Numbers only: what they do is the server's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tactus {

class StrictTable;

// One direction; all zero: sound. Ranges: config/README.md.
struct SceneLinkDirection {
  std::uint32_t delay_us = 0, jitter_us = 0, reorder_us = 0;
  double loss = 0, loss_burst = 0, duplicate = 0, reorder = 0;  // shares; loss_burst: mean datagrams lost in a row
  bool keep_order = false;
};

struct SceneLink {
  std::string client;  // the name that it gives; empty: any that no other entry names
  std::uint64_t seed = 1;
  SceneLinkDirection up, down;  // client to server, server to client
};

// The scene's [[link]] tables. Throws InputError.
std::vector<SceneLink> read_links(StrictTable& root);

}  // namespace tactus
