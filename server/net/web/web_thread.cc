#include "server/net/web/web_thread.h"

#include <libwebsockets.h>
#include <pthread.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <thread>
#include <unordered_map>
#include <utility>

#include "server/net/web/web_client.h"
#include "server/net/web/web_http.h"
#include "server/net/web/web_lobby.h"
#include "server/net/web/web_policy.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr int kSendBuffer = 256 << 10;  // of a viewer, in the system [bytes]
constexpr std::size_t kReadBytes = 64u << 10;
constexpr unsigned kHeaderTimeS = 5;                // for a request's head
constexpr std::size_t kInboundWaiting = 1024;       // frames that net has not taken: beyond, a client is cut off
constexpr lws_usec_t kLookUs = 500'000;             // how often a client is looked at
constexpr std::uint64_t kTellNs = 10'000'000'000u;  // how often the log says that the door is full
constexpr const char* kProtocol = "tactus.v1";
constexpr std::string_view kDoorPath = "/door";

// Mostly no file descriptor is left. The library tries again at once, for as long as somebody waits.
std::atomic<bool> accept_failed{false};
constexpr auto kAcceptPause = std::chrono::milliseconds(20);

void to_log(int, const char* line) {
  const std::string_view text(line, std::strcspn(line, "\n"));
  if (text.find("accept: errno") != std::string_view::npos) accept_failed.store(true, std::memory_order_relaxed);
  spdlog::debug("web: {}", text);
}

bool offers_foxglove(const std::string& list) {
  return offers(list, foxglove_wire::kProtocols[0]) || offers(list, foxglove_wire::kProtocols[1]);
}

// The library says only that it failed; asio says why, in the words of the other ports.
void try_port(const std::string& listen, std::uint16_t port) {
  if (port == 0) return;
  asio::io_context io;
  try {
    const asio::ip::tcp::acceptor probe(io, {asio::ip::make_address(listen), port});
  } catch (const asio::system_error& e) {
    throw asio::system_error(e.code(), fmt::format("web port (TCP) {} on {}", port, listen));
  }
}

}  // namespace

struct WebThread::Impl {
  Impl(WebDoor d, WebLink& l)
      : door(std::move(d)),
        options(door.options),
        link(l),
        http(options.directory, door.pages),
        lobby(options.connections) {
    try_port(door.listen, options.port);
    lws_set_log_level(LLL_ERR | LLL_WARN, to_log);
    open(door.listen);
  }
  ~Impl() {
    // First the context: it says good-bye to each client, which must still be there.
    if (context != nullptr) lws_context_destroy(context);
    for (const WebInbound& in : waiting) {
      delete in.bytes;
      delete in.gauge;
    }
  }

  void open(const std::string& listen);
  void run(int avoid_cpu);
  void take_outbound();
  void tell_net(WebInbound message, WebBytes* bytes, WebGaugePtr* gauge = nullptr);
  void to_bridge(WebClient& client, const WebOutbound& message, WebBytes&& bytes);
  void from_bridge(WebClient& client, FoxgloveBridge::Out& out);
  [[nodiscard]] int answer(lws* wsi, std::string_view path, WebReply** reply);
  [[nodiscard]] int confirm_upgrade(lws* wsi, const char* to);
  void established(lws* wsi, WebClient** slot);
  [[nodiscard]] int received(WebClient& client, const void* data, std::size_t length);
  [[nodiscard]] int look(WebClient& client);
  void closed(WebClient& client);
  void leave(WebClient& client);
  void tell_full();
  void let_in(lws* wsi);
  void rest();

  static int on_http(lws* wsi, lws_callback_reasons reason, void* user, void* in, std::size_t length);
  static int on_socket(lws* wsi, lws_callback_reasons reason, void* user, void* in, std::size_t length);

  const WebDoor door;
  const WebOptions& options;
  WebLink& link;
  WebHttp http;
  WebLobby lobby;
  PeerOwner owner;
  lws_context* context = nullptr;
  lws_vhost* vhost = nullptr;
  std::thread thread;
  std::atomic<bool> stopping{false}, woken{false};
  std::unordered_map<std::uint32_t, std::unique_ptr<WebClient>> clients;
  std::deque<WebInbound> waiting;  // for room in the ring
  std::uint32_t next_client = 1;
  std::size_t sockets = 0, own_sockets = 0;
  std::uint64_t told_full_ns = 0, told_unaccepted_ns = 0;
  std::vector<std::uint8_t> scratch;
};

void WebThread::Impl::open(const std::string& listen) {
  static const lws_protocols protocols[] = {
      {"http", &Impl::on_http, sizeof(WebReply*), kReadBytes, 0, nullptr, 0},
      {kProtocol, &Impl::on_socket, sizeof(WebClient*), kReadBytes, 1, nullptr, 0},
      {foxglove_wire::kProtocols[0], &Impl::on_socket, sizeof(WebClient*), kReadBytes, 2, nullptr, 0},
      {foxglove_wire::kProtocols[1], &Impl::on_socket, sizeof(WebClient*), kReadBytes, 3, nullptr, 0},
      {nullptr, nullptr, 0, 0, 0, nullptr, 0}};
  static lws_retry_bo_t silence{};
  silence.secs_since_valid_ping = static_cast<std::uint16_t>(std::max(1u, options.silence_s / 3));
  silence.secs_since_valid_hangup = static_cast<std::uint16_t>(std::max(2u, options.silence_s));
  lws_context_creation_info info{};
  info.port = options.port;
  info.iface = listen == "0.0.0.0" || listen == "::" ? nullptr : listen.c_str();
  info.protocols = protocols;
  info.gid = static_cast<decltype(info.gid)>(-1);
  info.uid = static_cast<decltype(info.uid)>(-1);
  info.user = this;
  info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND;
  if (listen.find(':') == std::string::npos) info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
  info.fd_limit_per_thread = options.connections + static_cast<unsigned>(lobby.places()) + 64;
  info.max_http_header_data = 8192;
  info.max_http_header_pool =
      static_cast<unsigned short>(std::min(options.connections + static_cast<unsigned>(lobby.places()) + 8, 1024u));
  info.pt_serv_buf_size = kReadBytes;
  info.timeout_secs = kHeaderTimeS;
  info.keepalive_timeout = kHeaderTimeS;
  info.ka_time = 5;
  info.ka_probes = 3;
  info.ka_interval = 2;
  info.retry_and_idle_policy = &silence;
  context = lws_create_context(&info);
  if (context != nullptr) vhost = lws_create_vhost(context, &info);
  if (vhost == nullptr) {
    if (context != nullptr) lws_context_destroy(std::exchange(context, nullptr));
    throw asio::system_error(std::make_error_code(std::errc::address_in_use),
                             fmt::format("web port (TCP) {} on {}", options.port, listen));
  }
  own_sockets = sockets;
}

void WebThread::Impl::run(int avoid_cpu) {
  pthread_setname_np(pthread_self(), "tactus-web");
  sched_param normal{};  // made by net, whose scheduling must not be inherited
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &normal);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (avoid_cpu >= 0 && sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1) {
    CPU_CLR(avoid_cpu, &allowed);
    pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
  }
  while (!stopping.load(std::memory_order_acquire) && lws_service(context, 0) >= 0) {
    if (accept_failed.exchange(false, std::memory_order_relaxed)) rest();
  }
}

// Those who are connected are served between two pauses.
void WebThread::Impl::rest() {
  const std::uint64_t now = now_ns();
  if (told_unaccepted_ns == 0 || now - told_unaccepted_ns >= kTellNs) {
    told_unaccepted_ns = now;
    spdlog::warn(
        "web: connections wait and cannot be accepted: no file descriptor is left (ulimit -n, or LimitNOFILE of "
        "the service)");
  }
  std::this_thread::sleep_for(kAcceptPause);
}

void WebThread::Impl::take_outbound() {
  woken.store(false, std::memory_order_release);
  WebOutbound out;
  while (link.outbound.pop(out)) {
    std::unique_ptr<WebBytes> bytes(out.bytes);
    const auto it = clients.find(out.client);
    if (it == clients.end()) continue;
    if (it->second->bridge) {
      to_bridge(*it->second, out, std::move(*bytes));
    } else {
      it->second->put(out, std::move(*bytes));
    }
    lws_callback_on_writable(it->second->wsi);
  }
  while (!waiting.empty() && link.inbound.push(waiting.front())) waiting.pop_front();
}

void WebThread::Impl::tell_net(WebInbound message, WebBytes* bytes, WebGaugePtr* gauge) {
  message.bytes = bytes;
  message.gauge = gauge;
  if (!waiting.empty() || !link.inbound.push(message)) waiting.push_back(message);
  link.wake_net();
}

// Decides before the handshake, while there can still be an answer that says why.
int WebThread::Impl::confirm_upgrade(lws* wsi, const char* to) {
  if (to == nullptr || strcasecmp(to, "websocket") != 0) {  // the library would go on with HTTP/2
    link.refused_http.fetch_add(1, std::memory_order_relaxed);
    return -1;
  }
  const std::string origin = header_of(wsi, WSI_TOKEN_ORIGIN), host = header_of(wsi, WSI_TOKEN_HOST);
  std::string why = refusal_of_origin(origin, host, options.allowed_origins, own_url_of(wsi));
  if (clients.size() >= options.connections) {
    why = fmt::format("this server shows itself to {} viewers already ([web] connections)", options.connections);
    link.refused_connections.fetch_add(1, std::memory_order_relaxed);
  } else if (!why.empty()) {
    link.refused_origin.fetch_add(1, std::memory_order_relaxed);
  } else if (const std::string list = header_of(wsi, WSI_TOKEN_PROTOCOL); offers_foxglove(list)) {
    if (door.is_foxglove_open) return 0;
    why = "this server has a token, which Foxglove cannot show: [web] foxglove = \"open\" lets it in without";
    link.refused_http.fetch_add(1, std::memory_order_relaxed);
  } else if (!offers(list, kProtocol)) {
    why = "expected the WebSocket sub-protocol tactus.v1, foxglove.sdk.v1 or foxglove.websocket.v1";
    link.refused_http.fetch_add(1, std::memory_order_relaxed);
  }
  if (why.empty()) return 0;
  spdlog::info("web: {} refused: {}", peer_of(wsi), why);
  lws_return_http_status(wsi, HTTP_STATUS_FORBIDDEN, why.c_str());
  return 1;
}

int WebThread::Impl::answer(lws* wsi, std::string_view path, WebReply** reply) {
  bool is_refused = false;
  // A page cannot read why its WebSocket was refused. It asks here, with its own origin.
  if (path == kDoorPath && lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0) {
    std::array<char, 256> argument{};
    const char* origin =
        lws_get_urlarg_by_name(wsi, "origin=", argument.data(), static_cast<int>(argument.size()));  // its value
    return http.answer_page(wsi,
                            {200, "text/plain; charset=utf-8",
                             refusal_of_origin(origin == nullptr ? "" : origin, header_of(wsi, WSI_TOKEN_HOST),
                                               options.allowed_origins, own_url_of(wsi))},
                            reply);
  }
  if (const std::string host = header_of(wsi, WSI_TOKEN_HOST);
      path == "/metrics" && !is_host_allowed(host, options.allowed_hosts)) {
    link.refused_http.fetch_add(1, std::memory_order_relaxed);
    return http.answer_page(wsi, {403, "text/plain; charset=utf-8", refusal_of_host(own_url_of(wsi))}, reply);
  }
  const int result = http.answer(wsi, path, reply, &is_refused);
  if (is_refused) link.refused_http.fetch_add(1, std::memory_order_relaxed);
  return result;
}

void WebThread::Impl::established(lws* wsi, WebClient** slot) {
  // What the system holds for a slow viewer is old when it comes, and so are pings: beyond this, states replace each
  // other here.
  setsockopt(lws_get_socket_fd(wsi), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  lobby.leave(wsi);
  const std::uint32_t id = next_client++;
  auto client = std::make_unique<WebClient>(wsi, id, door.requests_per_s);
  *slot = client.get();
  const std::string& address = client->address;
  WebInbound message;
  message.kind = WebInbound::Kind::opened;
  message.client = id;
  message.peer = owner.find(lws_get_socket_fd(wsi));
  const lws_protocols* protocol = lws_get_protocol(wsi);
  message.is_bridge = protocol != nullptr && offers_foxglove(protocol->name);
  tell_net(message, new WebBytes(address.begin(), address.end()), new WebGaugePtr(client->gauge));
  clients.emplace(id, std::move(client));
  lws_set_timer_usecs(wsi, kLookUs);
  if (!message.is_bridge) return;
  WebClient& viewer = **slot;
  viewer.bridge = std::make_unique<FoxgloveBridge>(fmt::format("foxglove-{}", id), door.token);
  FoxgloveBridge::Out out;
  viewer.bridge->start(out);
  from_bridge(viewer, out);
}

// What net says to a bridge.
void WebThread::Impl::to_bridge(WebClient& client, const WebOutbound& message, WebBytes&& bytes) {
  if (message.kind == WebOutbound::Kind::key) return;  // it works out its own
  if (message.kind == WebOutbound::Kind::close) return client.put(message, std::move(bytes));
  if (message.kind == WebOutbound::Kind::frame)
    client.gauge->queued_bytes.fetch_sub(bytes.size(), std::memory_order_relaxed);
  FoxgloveBridge::Out out;
  client.bridge->from_net(bytes, out);
  from_bridge(client, out);
}

void WebThread::Impl::from_bridge(WebClient& client, FoxgloveBridge::Out& out) {
  for (WebBytes& frame : out.to_net) {
    WebInbound message;
    message.client = client.id;
    tell_net(message, new WebBytes(std::move(frame)));
  }
  bool is_read = true;
  if (out.forget_states) client.forget_states();
  for (FoxgloveBridge::Frame& frame : out.to_viewer) is_read = client.put(std::move(frame)) && is_read;
  if (!is_read && out.end.empty()) {
    out.end = "does not read: more waits than a viewer may leave unread";
    link.slow.fetch_add(1, std::memory_order_relaxed);
  }
  if (!out.end.empty()) {
    WebOutbound close;
    close.kind = WebOutbound::Kind::close;
    client.put(close, WebBytes(out.end.begin(), out.end.end()));
  }
  if (!out.to_viewer.empty() || !out.end.empty()) lws_callback_on_writable(client.wsi);
}

int WebThread::Impl::received(WebClient& client, const void* data, std::size_t length) {
  lws_validity_confirmed(client.wsi);
  client.heard_ns = now_ns();
  const char* why = client.append(data, length);
  if (why == nullptr && waiting.size() > kInboundWaiting) why = "the server is too busy for more requests";
  if (why != nullptr) {
    link.refused_frames.fetch_add(1, std::memory_order_relaxed);
    return client.end(lws_frame_is_binary(client.wsi) != 0 ? LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE
                                                           : LWS_CLOSE_STATUS_UNACCEPTABLE_OPCODE,
                      why);
  }
  if (!client.is_complete()) return 0;
  if (client.bridge) {
    FoxgloveBridge::Out out;
    const WebBytes in = std::exchange(client.in, {});
    client.bridge->from_viewer(client.is_text, {reinterpret_cast<const char*>(in.data()), in.size()}, out);
    from_bridge(client, out);
  } else {
    WebInbound message;
    message.client = client.id;
    tell_net(message, new WebBytes(std::exchange(client.in, {})));
  }
  if (!client.cap.take(now_ns())) {  // read on later; the client waits, nothing is refused
    client.is_held = true;
    lws_rx_flow_control(client.wsi, 0);
    lws_set_timer_usecs(client.wsi, static_cast<lws_usec_t>(client.cap.wait_ns() / 1000 + 1));
  }
  return 0;
}

int WebThread::Impl::look(WebClient& client) {
  if (client.is_held && client.cap.take(now_ns())) {
    client.is_held = false;
    lws_rx_flow_control(client.wsi, 1);
  }
  lws_set_timer_usecs(client.wsi, client.is_held ? static_cast<lws_usec_t>(client.cap.wait_ns() / 1000 + 1) : kLookUs);
  while (!waiting.empty() && link.inbound.push(waiting.front())) waiting.pop_front();
  if (client.bridge) {
    FoxgloveBridge::Out out;
    client.bridge->look(out);
    from_bridge(client, out);
  }
  if (client.is_ending) {
    client.keep_reason();
    return 0;
  }
  if (!client.is_stalled(now_ns(), 1'000'000'000u * std::uint64_t{options.stall_s})) return 0;
  link.slow.fetch_add(1, std::memory_order_relaxed);
  const std::string why = fmt::format("does not read: took nothing for {} s ([web] stall_s)", options.stall_s);
  spdlog::info("web: {}: {}; cut off", peer_of(client.wsi), why);
  leave(client);                                              // at once: what it held is free
  return client.end(LWS_CLOSE_STATUS_POLICY_VIOLATION, why);  // it learns why if it reads on within seconds
}

void WebThread::Impl::closed(WebClient& client) {
  // The library hangs up on who answers no ping, and says nothing.
  if (!client.is_ending && now_ns() - client.heard_ns >= 1'000'000'000u * std::uint64_t{options.silence_s}) {
    link.silent.fetch_add(1, std::memory_order_relaxed);
    spdlog::info("web: {}: answered no ping for {} s ([web] silence_s); cut off", client.address, options.silence_s);
  }
  leave(client);
  clients.erase(client.id);
}

void WebThread::Impl::leave(WebClient& client) {
  if (std::exchange(client.is_gone, true)) return;
  WebInbound message;
  message.kind = WebInbound::Kind::closed;
  message.client = client.id;
  tell_net(message, nullptr);
}

void WebThread::Impl::let_in(lws* wsi) {
  const std::uint64_t before = lobby.sent_away();
  lobby.enter(wsi);
  if (lobby.sent_away() != before) tell_full();
}

// The socket is closed before there is anything to answer; a browser shows that it was.
void WebThread::Impl::tell_full() {
  link.refused_connections.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t now = now_ns();
  if (told_full_ns != 0 && now - told_full_ns < kTellNs) return;
  told_full_ns = now;
  spdlog::warn(
      "web: {} viewers and {} other connections, half of these from one address, are as many as [web] connections lets "
      "in; the oldest silent ones are closed",
      options.connections, lobby.places());
}

int WebThread::Impl::on_http(lws* wsi, lws_callback_reasons reason, void* user, void* in, std::size_t length) {
  if (wsi == nullptr || lws_get_context(wsi) == nullptr) return 0;
  auto* self = static_cast<Impl*>(lws_context_user(lws_get_context(wsi)));
  auto** reply = static_cast<WebReply**>(user);
  switch (reason) {
    case LWS_CALLBACK_WSI_CREATE:
      ++self->sockets;
      return 0;
    case LWS_CALLBACK_WSI_DESTROY:
      --self->sockets;
      self->lobby.leave(wsi);
      return 0;
    case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:  // those that are being closed have their places still
      if (self->sockets < self->own_sockets + self->options.connections + 2 * self->lobby.places()) return 0;
      self->tell_full();
      return -1;
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
      self->let_in(wsi);
      return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
      self->take_outbound();
      return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
      return self->confirm_upgrade(wsi, static_cast<const char*>(in));
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
      return -1;  // a WebSocket without our sub-protocol: confirm_upgrade has said so
    case LWS_CALLBACK_HTTP:
      self->lobby.spoke(wsi);
      return self->answer(wsi, {static_cast<const char*>(in), length}, reply);
    case LWS_CALLBACK_HTTP_WRITEABLE:
      return WebHttp::write(wsi, reply);
    case LWS_CALLBACK_CLOSED_HTTP:
      if (reply != nullptr) delete std::exchange(*reply, nullptr);
      return 0;
    default:
      return 0;
  }
}

int WebThread::Impl::on_socket(lws* wsi, lws_callback_reasons reason, void* user, void* in, std::size_t length) {
  if (wsi == nullptr || user == nullptr) return 0;
  auto* self = static_cast<Impl*>(lws_context_user(lws_get_context(wsi)));
  auto** slot = static_cast<WebClient**>(user);
  if (reason == LWS_CALLBACK_ESTABLISHED) self->established(wsi, slot);
  WebClient* client = *slot;
  if (client == nullptr) return 0;
  switch (reason) {
    case LWS_CALLBACK_RECEIVE:
      return self->received(*client, in, length);
    case LWS_CALLBACK_RECEIVE_PONG:
      lws_validity_confirmed(wsi);
      client->heard_ns = now_ns();
      return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
      return client->write(self->scratch);
    case LWS_CALLBACK_TIMER:
      return self->look(*client);
    case LWS_CALLBACK_CLOSED:
      *slot = nullptr;
      self->closed(*client);
      return 0;
    default:
      return 0;
  }
}

WebThread::WebThread(WebDoor door, WebLink& link) : impl_(std::make_unique<Impl>(std::move(door), link)) {}

WebThread::~WebThread() {
  stop();
}

std::uint16_t WebThread::port() const {
  return static_cast<std::uint16_t>(lws_get_vhost_listen_port(impl_->vhost));
}

void WebThread::start(int avoid_cpu) {
  impl_->thread = std::thread([this, avoid_cpu] { impl_->run(avoid_cpu); });
}

void WebThread::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->stopping.store(true, std::memory_order_release);
  lws_cancel_service(impl_->context);
  impl_->thread.join();
}

void WebThread::wake() noexcept {
  if (!impl_->woken.exchange(true, std::memory_order_acq_rel)) lws_cancel_service(impl_->context);
}

}  // namespace tactus::net
