#include "clients/cpp/src/realtime.h"

#ifdef _WIN32
#include <winsock2.h>
#else
#include <poll.h>
#endif

#include <algorithm>
#include <thread>

namespace tactus::client {

namespace {

// A light scene's answer is there before a sleeping thread would be awake. What else wants the processor gets it.
constexpr std::int64_t kLookNs = 30'000;
constexpr std::int64_t kFirstAnswerNs = 300'000'000, kAnswerNs = 2'500'000'000;  // pings go out ten times a second
constexpr std::int64_t kLentNs = 20'000'000;  // unused for so long, the socket goes back to the io thread

// Asio has no wait for a socket that ends by itself.
void wait_readable(asio::ip::udp::socket::native_handle_type socket, std::chrono::milliseconds timeout) {
#ifdef _WIN32
  WSAPOLLFD at{socket, POLLIN, 0};
  WSAPoll(&at, 1, static_cast<int>(timeout.count()));
#else
  pollfd at{socket, POLLIN, 0};
  poll(&at, 1, static_cast<int>(timeout.count()));
#endif
}

}  // namespace

Realtime::Realtime(asio::io_context& io, const asio::ip::udp::endpoint& server, const wire::Key& key,
                   std::uint32_t session, Handlers handlers)
    : session_(session),
      handlers_(std::move(handlers)),
      port_(server.port()),
      opened_ns_(now_ns()),
      socket_(io, server.protocol()),
      sealer_(key),
      opener_(key) {
  std::error_code ignored;
  socket_.set_option(asio::socket_base::receive_buffer_size(1 << 20), ignored);
  socket_.set_option(asio::socket_base::send_buffer_size(1 << 18), ignored);
  tell_arrivals(socket_);
  socket_.connect(server);
  // Non-blocking from the start, so that sends from other threads only read the socket's flags.
  socket_.non_blocking(true);
}

std::string Realtime::silence() const {
  const std::int64_t heard = heard_ns_.load(std::memory_order_relaxed);
  if (now_ns() - (heard == 0 ? opened_ns_ : heard) < (heard == 0 ? kFirstAnswerNs : kAnswerNs)) return {};
  return "UDP port " + std::to_string(port_) + " answers nothing: firewall, or the wrong address";
}

void Realtime::start() {
  wait();
}

void Realtime::close() {
  const std::lock_guard lock(send_mutex_);
  if (closed_) return;
  closed_ = true;
  // The io thread may be receiving: it alone closes the descriptor.
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    const std::scoped_lock inner(self->send_mutex_, self->receive_mutex_);
    std::error_code ignored;
    self->socket_.close(ignored);
  });
}

void Realtime::wait() {
  armed_ = true;
  socket_.async_wait(asio::ip::udp::socket::wait_read, [self = shared_from_this()](std::error_code error) {
    self->armed_ = false;
    if (error == asio::error::operation_aborted || !self->socket_.is_open()) return;
    {
      // A user's thread that is there takes all that comes.
      const std::unique_lock lock(self->receive_mutex_, std::try_to_lock);
      if (lock.owns_lock()) self->drain();
    }
    if (self->socket_.is_open() && !self->lent_) self->wait();
  });
}

void Realtime::receive_here(std::chrono::milliseconds timeout) {
  const std::lock_guard lock(receive_mutex_);
  if (!socket_.is_open()) return;
  lent_ = true;
  bool got = receive_one();
  for (const std::int64_t until = now_ns() + kLookNs; !got && now_ns() < until; got = receive_one()) {
    std::this_thread::yield();
  }
  if (!got) wait_readable(socket_.native_handle(), timeout);
  drain();
  lent_ns_ = now_ns();
}

void Realtime::give_back() {
  if (!lent_) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    const std::lock_guard lock(self->receive_mutex_);
    self->lent_ = false;
    if (!self->armed_ && self->socket_.is_open()) self->wait();
  });
}

void Realtime::take_back() {
  if (!lent_) return;
  const std::unique_lock lock(receive_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || now_ns() - lent_ns_ < kLentNs || !socket_.is_open()) return;
  lent_ = false;
  if (!armed_) wait();
}

bool Realtime::receive_one() {
  std::error_code error;
  const Arrival arrival = receive_arrival(socket_, in_, error);
  if (error == asio::error::would_block || error == asio::error::try_again) return false;
  // An ICMP "port unreachable" of an earlier send says nothing: the control connection tells the truth.
  if (error) return true;
  arrived_ns_.store(arrival.arrived_ns, std::memory_order_relaxed);
  if (arrival.overflowed != 0) overflowed_.store(arrival.overflowed, std::memory_order_relaxed);
  take(arrival.size, now_ns());
  return true;
}

Datagrams Realtime::datagrams() const {
  const std::uint64_t missing = missing_.load(std::memory_order_relaxed);
  const std::uint64_t overflowed = std::min(missing, overflowed_.load(std::memory_order_relaxed));
  return {missing - overflowed, overflowed, arrived_ns_.load(std::memory_order_relaxed)};
}

void Realtime::drain() {
  for (int i = 0; i < 256 && receive_one(); ++i) {  // bounded, so that timers and TCP get their turn
  }
}

void Realtime::take(std::size_t size, std::int64_t receive_ns) {
  wire::DatagramHeader header;
  using Type = wire::DatagramType;
  const bool good = wire::read_header({in_.data(), size}, header) == wire::HeaderError::none &&
                    (header.type == Type::state || header.type == Type::pong || header.type == Type::granted ||
                     header.type == Type::shadow || header.type == Type::tool || header.type == Type::verdicts ||
                     header.type == Type::challenge) &&
                    header.session == session_ && opener_.open_datagram(in_.data(), size) &&
                    window_.accept(header.sequence);
  const std::uint8_t* body = in_.data() + wire::kHeaderBytes;
  const int length = static_cast<int>(size) - static_cast<int>(wire::kHeaderBytes + wire::kMacBytes);
  v1::Pong pong;
  v1::GrantedPacket granted;
  v1::ChallengePacket challenge;
  google::protobuf::MessageLite* message = &pong;
  if (header.type == Type::state) message = &packet_;
  if (header.type == Type::granted) message = &granted;
  if (header.type == Type::shadow) message = &shadow_;
  if (header.type == Type::tool) message = &tool_;
  if (header.type == Type::verdicts) message = &verdicts_;
  if (header.type == Type::challenge) message = &challenge;
  const bool decoded = good && message->ParseFromArray(body, length);
  missing_.store(window_.lost(), std::memory_order_relaxed);
  if (!decoded) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  heard_ns_.store(receive_ns, std::memory_order_relaxed);
  if (header.type == Type::state)
    handlers_.state(packet_, header.sequence, receive_ns);
  else if (header.type == Type::shadow)
    handlers_.shadow(shadow_, receive_ns);
  else if (header.type == Type::tool)
    handlers_.tool(tool_, receive_ns);
  else if (header.type == Type::verdicts)
    handlers_.verdicts(verdicts_, receive_ns);
  else if (header.type == Type::pong)
    handlers_.pong(pong, receive_ns);
  else if (header.type == Type::challenge && handlers_.challenge)
    handlers_.challenge(challenge);
  else if (header.type == Type::granted && handlers_.granted)
    handlers_.granted(granted);
}

Realtime::Sent Realtime::send(wire::DatagramType type, const google::protobuf::MessageLite& message,
                              std::uint64_t& sequence, const std::function<void(std::uint64_t)>& before) noexcept {
  const std::lock_guard lock(send_mutex_);
  return send_locked(type, message, sequence, before);
}

Realtime::Sent Realtime::send_parts(std::span<const v1::CommandPacket> parts, std::uint64_t& sequence,
                                    const std::function<void(std::uint64_t)>& before) noexcept {
  const std::lock_guard lock(send_mutex_);
  Sent sent = send_locked(wire::DatagramType::command, parts.front(), sequence, before);
  for (const v1::CommandPacket& part : parts.subspan(1)) {
    std::uint64_t number = 0;
    if (sent == Sent::ok) sent = send_locked(wire::DatagramType::command, part, number, {});
  }
  return sent;
}

Realtime::Sent Realtime::send_locked(wire::DatagramType type, const google::protobuf::MessageLite& message,
                                     std::uint64_t& sequence,
                                     const std::function<void(std::uint64_t)>& before) noexcept {
  sequence = 0;
  if (closed_) return Sent::closed;
  const std::size_t size = message.ByteSizeLong();
  if (size > wire::kDatagramMax - wire::kHeaderBytes - wire::kMacBytes) return Sent::too_large;
  wire::write_header(out_.data(), {type, session_, ++sequence_});
  message.SerializeWithCachedSizesToArray(out_.data() + wire::kHeaderBytes);
  const std::size_t total = sealer_.seal_datagram(out_.data(), wire::kHeaderBytes + size);
  sequence = sequence_;
  if (before) before(sequence_);
  std::error_code error;
  socket_.send(asio::buffer(out_.data(), total), 0, error);
  if (error == asio::error::connection_refused)
    socket_.send(asio::buffer(out_.data(), total), 0, error);  // an old ICMP
  if (!error) return Sent::ok;
  return error == asio::error::would_block || error == asio::error::no_buffer_space ? Sent::blocked : Sent::closed;
}

}  // namespace tactus::client
