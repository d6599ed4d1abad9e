// What crosses between the web thread and the net thread: frames, in rings, both ways. Net owns sessions, keys' checks
// and requests; the web thread owns sockets. Neither ever waits for the other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/cpp/seal.h"
#include "server/net/control/peer_owner.h"
#include "server/realtime/ring.h"

namespace tactus::net {

using WebBytes = std::vector<std::uint8_t>;

// Numbers of one WebSocket client that both threads look at.
struct WebGauge {
  std::atomic<std::size_t> queued_bytes{0};       // replies and events not yet written
  std::atomic<std::uint64_t> states_replaced{0};  // by a newer one before the client could take them
};
using WebGaugePtr = std::shared_ptr<WebGauge>;

// web -> net. Pointers hand the object over.
struct WebInbound {
  enum class Kind : std::uint8_t { opened, frame, closed };
  Kind kind = Kind::frame;
  std::uint32_t client = 0;      // counts connections since start, from 1
  WebBytes* bytes = nullptr;     // frame: the message, with its mac; opened: the address as text
  WebGaugePtr* gauge = nullptr;  // opened
  PeerUser peer;                 // opened: whose it is
  bool is_bridge = false;        // opened: a viewer of Foxglove's protocol
};

// net -> web.
struct WebOutbound {
  enum class Kind : std::uint8_t {
    frame,  // once only, in order
    state,  // the newest of its key wins
    key,    // bytes: the session key for macs of what follows
    close   // after all frames; bytes: why, for people
  };
  Kind kind = Kind::frame;
  bool mac = false;  // the frame carries one
  std::uint32_t client = 0;
  std::uint64_t key = 0;  // state: subscription and part
  WebBytes* bytes = nullptr;
};

struct WebLink {
  WebLink();
  ~WebLink();
  WebLink(const WebLink&) = delete;
  WebLink& operator=(const WebLink&) = delete;

  Ring<WebInbound> inbound{2048};
  Ring<WebOutbound> outbound{4096};
  int net_fd = -1;  // eventfd: something is inbound
  std::atomic<std::uint64_t> refused_origin{0}, refused_connections{0}, refused_http{0}, refused_frames{0}, slow{0},
      silent{0};

  void wake_net() const noexcept;
};

}  // namespace tactus::net
