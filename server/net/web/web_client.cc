#include "server/net/web/web_client.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "server/realtime/clock.h"

namespace tactus::net {
namespace {
constexpr std::size_t kBeforeKeyMax = 4096;    // of a message before there is a session
constexpr std::size_t kUnreadMax = 64u << 20;  // once-only frames of a bridge that a viewer may leave unread
constexpr std::size_t kCloseTextMax = 120;     // RFC 6455: a control frame has at most 125 bytes
}  // namespace

std::string header_of(lws* wsi, lws_token_indexes token) {
  const int length = lws_hdr_total_length(wsi, token);
  if (length <= 0) return {};
  std::string out(static_cast<std::size_t>(length) + 1, '\0');
  const int copied = lws_hdr_copy(wsi, out.data(), length + 1, token);
  out.resize(copied < 0 ? 0 : static_cast<std::size_t>(copied));
  return out;
}

std::string peer_of(lws* wsi) {
  std::array<char, 64> name{};
  return lws_get_peer_simple(wsi, name.data(), name.size()) == nullptr ? "?" : name.data();
}

std::string own_url_of(lws* wsi) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(lws_get_socket_fd(wsi), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return "http://127.0.0.1:8765";
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<sockaddr*>(&own), size, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "http://127.0.0.1:8765";
  std::string name = host.data();
  if (name.starts_with("::ffff:")) name.erase(0, 7);
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  return "http://" + name + ":" + port.data();
}

bool offers(const std::string& list, const std::string& name) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::size_t first = begin, last = end;
    while (first < last && list[first] == ' ') ++first;
    while (last > first && list[last - 1] == ' ') --last;
    if (list.compare(first, last - first, name) == 0) return true;
    begin = end + 1;
  }
  return false;
}

WebClient::WebClient(lws* socket, std::uint32_t number, double requests_per_s)
    : wsi(socket),
      id(number),
      address(peer_of(socket)),
      cap(requests_per_s, std::max(50.0, requests_per_s / 5)),
      moved_ns_(now_ns()) {
  heard_ns = moved_ns_;
}

const char* WebClient::append(const void* data, std::size_t length) {
  is_text = lws_frame_is_binary(wsi) == 0;
  if (is_text && !bridge) return "expected binary messages";
  const std::size_t limit = sealer_ || bridge ? wire::kControlInboundMax + wire::kMacBytes : kBeforeKeyMax;
  if (in.size() + length > limit) return "the message is longer than a control frame may be";
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  in.insert(in.end(), bytes, bytes + length);
  return nullptr;
}

bool WebClient::is_complete() const {
  return lws_is_final_fragment(wsi) != 0 && lws_remaining_packet_payload(wsi) == 0;
}

void WebClient::put(const WebOutbound& message, WebBytes&& bytes) {
  if (queue_.empty() && states_.empty()) moved_ns_ = now_ns();
  if (message.kind != WebOutbound::Kind::state) {
    queue_.push_back({message, std::move(bytes)});
    return;
  }
  put_state({message, std::move(bytes)});
}

void WebClient::put_state(Item&& item) {
  for (Item& there : states_) {
    if (there.message.key != item.message.key) continue;
    there = std::move(item);
    gauge->states_replaced.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  states_.push_back(std::move(item));
}

bool WebClient::put(FoxgloveBridge::Frame&& frame) {
  if (queue_.empty() && states_.empty()) moved_ns_ = now_ns();
  Item item;
  item.message.kind = frame.is_state ? WebOutbound::Kind::state : WebOutbound::Kind::frame;
  item.message.key = frame.key;
  item.is_text = frame.is_text;
  item.bytes = std::move(frame.bytes);
  if (frame.is_state) {
    put_state(std::move(item));
    return true;
  }
  waiting_bytes_ += item.bytes.size();
  queue_.push_back(std::move(item));
  return waiting_bytes_ <= kUnreadMax;
}

bool WebClient::next(Item& out) {
  std::deque<Item>& from = queue_.empty() ? states_ : queue_;
  if (from.empty()) return false;
  out = std::move(from.front());
  from.pop_front();
  return true;
}

int WebClient::write(std::vector<std::uint8_t>& scratch) {
  moved_ns_ = now_ns();
  Item item;
  while (next(item)) {
    if (item.message.kind == WebOutbound::Kind::key) {
      wire::Key key{};
      std::copy_n(item.bytes.begin(), std::min(key.size(), item.bytes.size()), key.begin());
      sealer_.emplace(key);
      continue;
    }
    if (item.message.kind == WebOutbound::Kind::close)
      return end(LWS_CLOSE_STATUS_POLICY_VIOLATION, std::string(item.bytes.begin(), item.bytes.end()));
    const int result = send(item, scratch);
    if (result == 0 && !(queue_.empty() && states_.empty())) lws_callback_on_writable(wsi);
    return result;
  }
  return 0;
}

int WebClient::send(const Item& item, std::vector<std::uint8_t>& scratch) {
  const std::size_t payload = item.bytes.size();
  const bool with_mac = item.message.mac && sealer_;
  const std::size_t length = payload + (with_mac ? wire::kMacBytes : 0);
  scratch.resize(LWS_PRE + length);
  std::memcpy(scratch.data() + LWS_PRE, item.bytes.data(), payload);
  if (with_mac) {
    const wire::Mac mac = sealer_->control_mac('S', counter_out_++, {scratch.data() + LWS_PRE, payload});
    std::memcpy(scratch.data() + LWS_PRE + payload, mac.data(), mac.size());
  }
  if (item.message.kind == WebOutbound::Kind::frame && bridge) waiting_bytes_ -= payload;
  if (item.message.kind == WebOutbound::Kind::frame && !bridge)
    gauge->queued_bytes.fetch_sub(payload, std::memory_order_relaxed);
  const lws_write_protocol kind = item.is_text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY;
  return lws_write(wsi, scratch.data() + LWS_PRE, length, kind) < 0 ? -1 : 0;
}

bool WebClient::is_stalled(std::uint64_t now, std::uint64_t limit_ns) {
  const bool waits = !queue_.empty() || !states_.empty() || lws_partial_buffered(wsi) != 0;
  return waits && now > moved_ns_ + limit_ns;
}

// libwebsockets (4.1.6) keeps a ping's time where the reason waits to be sent: no ping until then.
void WebClient::keep_reason() noexcept {
  lws_validity_confirmed(wsi);
}

int WebClient::end(lws_close_status status, const std::string& why) {
  is_ending = true;
  std::string text = why.substr(0, kCloseTextMax);
  lws_close_reason(wsi, status, reinterpret_cast<unsigned char*>(text.data()), text.size());
  keep_reason();
  return -1;
}

}  // namespace tactus::net
