#include "server/relay/relay.h"

#include <algorithm>
#include <chrono>

#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

using asio::ip::udp;

constexpr int kBatch = 64;

// A burst waits rather than falls; the kernel's cap holds where it is lower.
void enlarge(udp::socket& socket) {
  asio::error_code ignored;
  socket.set_option(asio::socket_base::receive_buffer_size(1 << 20), ignored);
  socket.set_option(asio::socket_base::send_buffer_size(1 << 20), ignored);
}

void add(LinkFaultCounters& to, const LinkFaultCounters& c) {
  to.datagrams += c.datagrams;
  to.lost += c.lost;
  to.bursts += c.bursts;
  to.duplicated += c.duplicated;
  to.reordered += c.reordered;
  to.delivered += c.delivered;
  to.queue_full += c.queue_full;
  to.flushed += c.flushed;
  to.delay_ns.merge(c.delay_ns);
  if (to.sequence_hash == 0) to.sequence_hash = c.sequence_hash;
}

void add(RelayTotals& to, const FaultyLinks& links) {
  if (links.up) add(to.up, links.up->counters());
  if (links.down) add(to.down, links.down->counters());
}

}  // namespace

Relay::Client::Client(asio::io_context& io, const udp::endpoint& client, const RelayOptions& options,
                      std::uint64_t number)
    : address(client),
      socket(io, options.to.protocol()),
      links(options.seed + number, options.up, options.down, options.queue_datagrams) {
  enlarge(socket);
  socket.connect(options.to);
  socket.non_blocking(true);
}

Relay::Relay(asio::io_context& io, const RelayOptions& options)
    : io_(io),
      options_(options),
      socket_(io, udp::endpoint(asio::ip::make_address(options.listen), options.port)),
      port_(socket_.local_endpoint().port()),
      timer_(io) {
  enlarge(socket_);
  socket_.non_blocking(true);
}

void Relay::start() {
  receive_up();
}

void Relay::stop() {
  asio::error_code ignored;
  socket_.close(ignored);
  for (const auto& client : clients_) client->socket.close(ignored);
  timer_.cancel();
}

Relay::Client* Relay::find(const udp::endpoint& from) {
  for (const auto& client : clients_) {
    if (client->address == from) return client.get();
  }
  if (clients_.size() >= options_.clients) {
    const auto oldest = std::min_element(clients_.begin(), clients_.end(),
                                         [](const auto& a, const auto& b) { return a->heard_ns < b->heard_ns; });
    add(totals_, (*oldest)->links);
    asio::error_code ignored;
    (*oldest)->socket.close(ignored);
    clients_.erase(oldest);
  }
  try {
    clients_.push_back(std::make_shared<Client>(io_, from, options_, totals_.clients));
  } catch (const asio::system_error&) {
    return nullptr;  // out of ports or memory for sockets: this datagram is lost
  }
  ++totals_.clients;
  receive_down(clients_.back());
  return clients_.back().get();
}

void Relay::receive_up() {
  socket_.async_wait(udp::socket::wait_read, [this](asio::error_code error) {
    if (error == asio::error::operation_aborted || !socket_.is_open()) return;
    for (int i = 0; i < kBatch; ++i) {
      asio::error_code problem;
      const std::size_t length = socket_.receive_from(asio::buffer(in_), from_, 0, problem);
      if (problem == asio::error::would_block || problem == asio::error::bad_descriptor) break;
      if (problem) continue;
      ++totals_.up_received;
      Client* client = find(from_);
      if (client == nullptr) continue;
      client->heard_ns = now_ns();
      pass(*client, client->links.up.get(), {in_.data(), length}, true);
    }
    release_due();
    receive_up();
  });
}

void Relay::receive_down(const std::shared_ptr<Client>& client) {
  client->socket.async_wait(udp::socket::wait_read, [this, client](asio::error_code error) {
    if (error == asio::error::operation_aborted || !client->socket.is_open()) return;
    for (int i = 0; i < kBatch; ++i) {
      asio::error_code problem;
      const std::size_t length = client->socket.receive(asio::buffer(in_), 0, problem);
      if (problem == asio::error::would_block || problem == asio::error::bad_descriptor) break;
      if (problem) continue;  // nobody listens there yet
      ++totals_.down_received;
      pass(*client, client->links.down.get(), {in_.data(), length}, false);
    }
    release_due();
    receive_down(client);
  });
}

void Relay::pass(Client& client, FaultyLink* link, std::span<const std::uint8_t> datagram, bool up) {
  if (link == nullptr) return send(client, datagram, up);
  if (datagram.empty() || datagram.size() > wire::kDatagramMax) {
    ++totals_.too_long;
    return send(client, datagram, up);
  }
  link->submit(datagram, now_ns(), 1);
}

void Relay::send(Client& client, std::span<const std::uint8_t> datagram, bool up) {
  asio::error_code error;
  if (up) {
    client.socket.send(asio::buffer(datagram.data(), datagram.size()), 0, error);
  } else {
    socket_.send_to(asio::buffer(datagram.data(), datagram.size()), client.address, 0, error);
  }
  ++(error ? totals_.send_failed : up ? totals_.up_sent : totals_.down_sent);
}

void Relay::release_due() {
  std::uint64_t next = ~std::uint64_t{0};
  for (const auto& client : clients_) {
    for (const bool up : {true, false}) {
      FaultyLink* link = up ? client->links.up.get() : client->links.down.get();
      if (link == nullptr) continue;
      for (auto d = link->take_due(now_ns()); !d.empty(); d = link->take_due(now_ns())) send(*client, d, up);
      next = std::min(next, link->next_due());
    }
  }
  if (next == ~std::uint64_t{0}) return;
  timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next)));
  timer_.async_wait([this](asio::error_code error) {
    if (!error) release_due();
  });
}

RelayTotals Relay::totals() const {
  RelayTotals out = totals_;
  for (const auto& client : clients_) add(out, client->links);
  return out;
}

}  // namespace tactus::net
