// One WebSocket as the web thread sees it: the message that is coming in, what waits to go out, and when it last moved.
// Macs of outgoing frames are made here, when a frame leaves, so that a state that a newer one replaced costs none.
#pragma once

#include <libwebsockets.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/net/foxglove/foxglove_bridge.h"
#include "server/net/web/web_link.h"
#include "server/session/rate_cap.h"

namespace tactus::net {

std::string header_of(lws* wsi, lws_token_indexes token);
std::string peer_of(lws* wsi);
// This server as the peer reached it, such as "http://192.168.7.2:8765".
std::string own_url_of(lws* wsi);
// A list of the header's form "a, b" holds this name.
bool offers(const std::string& list, const std::string& name);

class WebClient {
 public:
  WebClient(lws* socket, std::uint32_t number, double requests_per_s);

  // A part of a message. Null, or why the client must be cut off.
  const char* append(const void* data, std::size_t length);
  // The message in `in` is whole.
  [[nodiscard]] bool is_complete() const;
  // Queues what net handed over.
  void put(const WebOutbound& message, WebBytes&& bytes);
  // Queues what the bridge made. False: more waits than a viewer may leave unread.
  bool put(FoxgloveBridge::Frame&& frame);
  // States that wait are not sent any more.
  void forget_states() { states_.clear(); }
  // At most one frame; lws' return code.
  int write(std::vector<std::uint8_t>& scratch);
  // Something waits, and nothing went out for `limit_ns`.
  [[nodiscard]] bool is_stalled(std::uint64_t now_ns, std::uint64_t limit_ns);
  // Sets the reason of the closing handshake; lws' return code.
  int end(lws_close_status status, const std::string& why);
  // While that waits for the socket: from time to time.
  void keep_reason() noexcept;

  lws* const wsi;
  const std::uint32_t id;
  const std::string address;
  WebBytes in;
  RateCap cap;
  bool is_text = false;                    // what is in `in`
  std::unique_ptr<FoxgloveBridge> bridge;  // null: speaks tactus.v1
  bool is_held = false;                    // not read from, for its cap's sake
  bool is_ending = false;                  // the closing handshake waits for the socket
  bool is_gone = false;                    // for net
  std::uint64_t heard_ns = 0;              // last frame or pong
  WebGaugePtr gauge = std::make_shared<WebGauge>();

 private:
  struct Item {
    WebOutbound message;
    WebBytes bytes;
    bool is_text = false;
  };
  void put_state(Item&& item);
  bool next(Item& out);
  int send(const Item& item, std::vector<std::uint8_t>& scratch);

  std::deque<Item> queue_;   // once only, in order
  std::deque<Item> states_;  // one a key, the one that waits longest first
  std::optional<wire::Sealer> sealer_;
  std::uint64_t counter_out_ = 0, moved_ns_ = 0;
  std::size_t waiting_bytes_ = 0;  // of the bridge's frames in queue_
};

}  // namespace tactus::net
