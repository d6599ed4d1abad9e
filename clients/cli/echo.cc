#include "clients/cli/echo.h"

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "clients/cpp/src/asio.h"
#include "tactus/types.h"

namespace tactus::cli {

using asio::ip::udp;

namespace {

// What the server's defaults give its net thread; without the right to it, normal scheduling, as the server then has.
void schedule_like_net() {
  constexpr int kNetPriority = 70;
  sched_param parameter{};
  parameter.sched_priority = kNetPriority;
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &allowed)) --last;
  CPU_CLR(last, &allowed);
  pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
}

}  // namespace

struct Echo::Impl {
  explicit Impl(bool like_net)
      : echo(io, {asio::ip::address_v4::loopback(), 0}), probe(io, {asio::ip::address_v4::loopback(), 0}) {
    probe.connect(echo.local_endpoint());
    echoing = std::thread([this, like_net] {
      if (like_net) schedule_like_net();
      echo_back();
    });
    receiving = std::thread([this] { receive(); });
  }
  void echo_back() {
    std::array<char, 256> datagram;
    udp::endpoint from;
    std::error_code error;
    std::size_t size = 0;
    do {
      size = echo.receive_from(asio::buffer(datagram), from, 0, error);
      if (!error) echo.send_to(asio::buffer(datagram.data(), size), from, 0, error);
    } while (size != 1);
  }
  void receive() {
    std::array<char, 256> datagram;
    std::error_code error;
    while (true) {
      const std::size_t size = probe.receive(asio::buffer(datagram), 0, error);
      const std::int64_t now = client::now_ns();
      if (size == 1) return;
      if (error || size < 8) continue;
      std::int64_t then = 0;
      std::memcpy(&then, datagram.data(), sizeof then);
      round_trips_us.push_back(1e-3 * static_cast<double>(now - then));
      ++received;
      received.notify_all();
    }
  }

  asio::io_context io;
  udp::socket echo, probe;
  std::thread echoing, receiving;
  std::vector<double> round_trips_us;  // read after joining, or after wait(), which sees what `received` follows
  std::atomic<std::uint64_t> received{0};
};

Echo::Echo(bool like_net) : impl_(std::make_unique<Impl>(like_net)) {}

Echo::~Echo() {
  stop();
}

void Echo::send() {
  std::array<char, 120> datagram{};
  const std::int64_t now = client::now_ns();
  std::memcpy(datagram.data(), &now, sizeof now);
  std::error_code ignored;
  impl_->probe.send(asio::buffer(datagram), 0, ignored);
  ++sent_;
}

void Echo::wait() {
  for (std::uint64_t seen = impl_->received; seen < sent_; seen = impl_->received) impl_->received.wait(seen);
}

const std::vector<double>& Echo::so_far() const {
  return impl_->round_trips_us;
}

std::vector<double> Echo::stop() {
  if (impl_->echoing.joinable()) {
    std::error_code ignored;
    const char end = 0;  // one byte: both threads pass it on and leave
    impl_->probe.send(asio::buffer(&end, 1), 0, ignored);
    impl_->echoing.join();
    impl_->receiving.join();
  }
  return impl_->round_trips_us;
}

}  // namespace tactus::cli
