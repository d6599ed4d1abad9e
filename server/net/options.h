// What the net room is told at start; filled from config/server.toml and the command line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/dynamics/robot_drive.h"
#include "core/limits.h"
#include "proto/cpp/wire.h"
#include "server/net/haptic_options.h"
#include "server/session/link_faults.h"
#include "server/solver/model_rates.h"

namespace tactus::net {

// Config [access].
struct AccessOptions {
  bool open = false;              // everybody on this machine drives
  std::string users, groups;      // names or numbers, separated by blanks
  std::string others = "refuse";  // what the machine's other users may: refuse, observe
  std::string observe_token_file;
  std::string observe_token;         // what stands in it
  std::vector<std::uint32_t> named;  // uids of users and groups
};

struct WebOptions {
  bool enabled = true;
  std::uint16_t port = wire::kDefaultWebPort;  // 0: any free one
  std::string directory;                       // of the built viewer; empty: as shipped, beside the build
  std::string allowed_origins;                 // besides the server's own, separated by blanks
  std::string allowed_hosts;                   // names by which /metrics may be asked, separated by blanks
  std::string foxglove = "auto";               // who may connect with Foxglove's protocol: off, auto, open
  std::string metrics = "loopback";            // who may read /metrics: off, loopback, all
  std::uint32_t connections = 64;              // WebSockets at one time; half as many for other connections
  std::uint32_t silence_s = 15;                // a WebSocket client that answers no ping for so long is cut off
  std::uint32_t stall_s = 10;                  // one that takes nothing of what waits for it for so long, too
};

// "FILE:LINE: " of each key that a config file sets.
using ConfigPlaces = std::map<std::string, std::string>;
// The key, and where it is set.
inline std::string named(const ConfigPlaces& places, const std::string& key) {
  const auto place = places.find(key);
  return (place == places.end() ? "" : place->second) + key;
}

struct NetOptions {
  std::string listen = "127.0.0.1";
  std::uint16_t control_port = wire::kDefaultControlPort,
                realtime_port = wire::kDefaultRealtimePort;  // 0: any free one
  std::string token;                                         // empty: none, loopback only
  AccessOptions access;
  std::size_t clients = 32, subscriptions_per_client = 8, snapshots = 8;
  std::size_t handshakes = 64;                        // connections that are still shaking hands, beside the clients
  double commands_per_s = 5000, command_burst = 500;  // datagrams of one client
  double requests_per_s = 500;                        // control requests of one client
  std::size_t send_queue_bytes = 8u << 20;            // control bytes that a client may leave unread
  std::size_t socket_buffer_bytes = 1u << 20;
  LinkFaultSettings link_up, link_down;  // of every client's link, until it is set otherwise
  std::uint64_t link_seed = 1;
  std::uint32_t link_datagrams = 4096;  // under way on one faulty link, each direction
  int priority = 70;                    // SCHED_FIFO of the net thread in free run; 0 = normal
  std::string scenes_dir;
  Limits limits;
  double rate_hz = 0;  // 0: each scene's own step
  ModelRates rates;
  ConfigPlaces places;
  std::string shadow_model;     // empty: none
  double shadow_rate_hz = 100;  // where the client names none
  bool shadow_rate_chosen = false;
  std::uint32_t contacts = 2048;  // of a slow model's step that are published
  WebOptions web;
  HapticOptions haptic;
  ChannelOptions joint_channel;  // of joints for which the scene says nothing
  std::string joint_missed = "hold";
  std::string build;
  std::string config_text;  // every setting in force, for recordings

  [[nodiscard]] bool needs_token() const { return !token.empty(); }
};

}  // namespace tactus::net
