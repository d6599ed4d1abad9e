#include "server/net/web/web_port.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <asio/post.hpp>

#include <cstring>
#include <utility>

namespace tactus::net {
namespace {
constexpr std::uint64_t kToolKey = std::uint64_t{1} << 63;  // tools' states beside those of bodies
constexpr int kFramesAtOnce = 32;                           // frames served before the loop serves others

WebDoor door_of(const NetOptions& options, const Scrape& scrape) {
  WebDoor door;
  door.options = options.web;
  door.options.connections = static_cast<std::uint32_t>(connections_at_once(options.web.connections, 4));
  door.listen = options.listen;
  door.requests_per_s = options.requests_per_s;
  door.pages = [&scrape](std::string_view path, bool is_local) { return scrape.page(path, is_local); };
  door.is_foxglove_open = door.options.foxglove == "open" || (door.options.foxglove == "auto" && options.token.empty());
  door.token = options.token;
  return door;
}
}  // namespace

class WebConnection final : public Conversation {
 public:
  WebConnection(const Reception& reception, WebPort& port, const WebInbound& opened, const std::string& address)
      : Conversation(reception, address, source_of(address)),
        port_(port),
        id_(opened.client),
        gauge_(*opened.gauge),
        peer_(opened.peer) {
    if (!opened.is_bridge || reception.options.web.foxglove != "open") return;
    strangers_look_on_ = true;  // such a viewer can show no token
    if (reception.options.needs_token()) role_most_ = Role::observe;
  }

  void start() { arm_watchdog(); }
  void take(std::span<const std::uint8_t> frame) {
    if (!closed_ && !closing_) serve_frame(frame);
  }
  // The socket is gone.
  void gone() {
    closed_ = true;
    leave();
  }
  void close_after_flush(const std::string& why) override {
    if (closed_ || closing_) return;
    closing_ = true;
    say_and_close(why);
  }
  void close(const std::string& why) override {
    if (closed_) return;
    closed_ = true;
    if (!closing_) say_and_close(why);
    leave();
  }
  [[nodiscard]] bool is_framed() const override { return true; }
  [[nodiscard]] std::uint64_t states_replaced() const override {
    return gauge_->states_replaced.load(std::memory_order_relaxed);
  }

  bool send_realtime(wire::DatagramType type, std::uint64_t key, std::span<const std::uint8_t> payload) override {
    if (closed_ || closing_) return true;
    const bool is_state = type == wire::DatagramType::state;
    auto bytes = std::make_unique<WebBytes>();
    bytes->reserve(payload.size() + 8);
    const std::uint32_t field = type == wire::DatagramType::tool ? 91u : is_state ? 80u : 81u;
    put_varint(*bytes, field << 3 | 2u);  // Reply.tool, Reply.state, Reply.shadow
    put_varint(*bytes, static_cast<std::uint32_t>(payload.size()));
    bytes->insert(bytes->end(), payload.begin(), payload.end());
    WebOutbound out;
    const bool is_tool = type == wire::DatagramType::tool;
    out.kind = is_state || is_tool ? WebOutbound::Kind::state : WebOutbound::Kind::frame;
    out.key = is_tool ? kToolKey | key : key;
    out.mac = sealed();
    if (is_state || is_tool) return post(out, std::move(bytes));
    // A shadow's comparison is not told twice, but it is no event either: left out for a client that lags behind.
    if (gauge_->queued_bytes.load(std::memory_order_relaxed) > (1u << 20)) return true;
    gauge_->queued_bytes.fetch_add(bytes->size(), std::memory_order_relaxed);
    return post(out, std::move(bytes));
  }

 protected:
  [[nodiscard]] PeerUser peer() override { return peer_; }
  void deliver(const v1::Reply& reply, std::size_t payload) override {
    auto bytes = std::make_unique<WebBytes>(payload);
    reply.SerializeWithCachedSizesToArray(bytes->data());
    const std::size_t waiting = gauge_->queued_bytes.fetch_add(payload, std::memory_order_relaxed) + payload;
    WebOutbound out;
    out.mac = sealed();
    post(out, std::move(bytes));
    if (waiting <= reception_.options.send_queue_bytes) return;
    reception_.refusals.add("web_does_not_read");
    close("does not read: " + std::to_string(waiting) + " bytes are waiting (limits.send_queue_bytes)");
  }
  void on_key(const wire::Key& key) override {
    WebOutbound out;
    out.kind = WebOutbound::Kind::key;
    post(out, std::make_unique<WebBytes>(key.begin(), key.end()));
  }

 private:
  static void put_varint(WebBytes& out, std::uint32_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
    out.push_back(static_cast<std::uint8_t>(value));
  }
  bool post(WebOutbound out, std::unique_ptr<WebBytes> bytes) {
    out.client = id_;
    out.bytes = bytes.get();
    if (port_.post(out)) {
      bytes.release();
      return true;
    }
    if (Session* s = session()) ++s->counters.packets_dropped;
    return true;
  }
  void say_and_close(const std::string& why) {
    if (!why.empty() && is_open()) spdlog::info("{} ({}): closing: {}", name_, address_, why);
    WebOutbound out;
    out.kind = WebOutbound::Kind::close;
    post(out, std::make_unique<WebBytes>(why.begin(), why.end()));
  }

  WebPort& port_;
  std::uint32_t id_;
  WebGaugePtr gauge_;
  PeerUser peer_;
};

WebPort::WebPort(const Reception& reception, ClientLines& lines, const Scrape& scrape)
    : reception_(reception),
      lines_(lines),
      thread_(door_of(reception.options, scrape), link_),
      wake_(reception.io, dup(link_.net_fd)) {}

WebPort::~WebPort() {
  stop();
  for (const WebOutbound& out : backlog_) delete out.bytes;
}

void WebPort::start() {
  thread_.start(reception_.tick.cpu());
  wait();
}

void WebPort::stop() {
  asio::error_code ignored;
  wake_.close(ignored);
  thread_.stop();
}

void WebPort::wait() {
  wake_.async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code error) {
    if (error) return;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = read(wake_.native_handle(), &count, sizeof count);
    serve();
    wait();
  });
}

void WebPort::serve() {
  flush_backlog();
  WebInbound message;
  int served = 0;
  while (served < kFramesAtOnce && link_.inbound.pop(message)) {
    const std::unique_ptr<WebBytes> bytes(message.bytes);
    const std::unique_ptr<WebGaugePtr> gauge(message.gauge);
    handle(message);
    ++served;
  }
  if (served == kFramesAtOnce) link_.wake_net();  // the rest after the others' turn
}

void WebPort::handle(const WebInbound& message) {
  if (message.kind == WebInbound::Kind::opened) {
    const auto client = std::make_shared<WebConnection>(reception_, *this, message,
                                                        std::string(message.bytes->begin(), message.bytes->end()));
    lines_.add(client);
    clients_.emplace(message.client, client);
    return client->start();
  }
  const auto it = clients_.find(message.client);
  if (it == clients_.end()) return;
  const std::shared_ptr<WebConnection> client = it->second;
  if (message.kind == WebInbound::Kind::frame) return client->take(*message.bytes);
  client->gone();
  clients_.erase(it);
}

bool WebPort::post(const WebOutbound& message) {
  flush_backlog();
  const bool is_state = message.kind == WebOutbound::Kind::state;
  if (is_state && (!backlog_.empty() || link_.outbound.size() > link_.outbound.capacity() / 2)) return false;
  if (!backlog_.empty() || !link_.outbound.push(message)) backlog_.push_back(message);
  thread_.wake();
  return true;
}

void WebPort::flush_backlog() {
  while (!backlog_.empty() && link_.outbound.push(backlog_.front())) backlog_.pop_front();
}

void WebPort::count(v1::Statistics& out) const {
  const auto add = [&out](const char* name, const std::atomic<std::uint64_t>& value) {
    if (value.load(std::memory_order_relaxed) == 0) return;
    v1::Parameter* p = out.add_refused_by_reason();
    p->set_key(name);
    p->set_value(std::to_string(value.load(std::memory_order_relaxed)));
  };
  add("web_origin", link_.refused_origin);
  add("web_too_many_connections", link_.refused_connections);
  add("web_http", link_.refused_http);
  add("web_frames", link_.refused_frames);
  add("web_slow", link_.slow);
  add("web_silent", link_.silent);
}

}  // namespace tactus::net
