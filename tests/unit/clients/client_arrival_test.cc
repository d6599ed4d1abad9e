// A datagram's arrival is when it reached this machine, not when it was read; what found the socket full is counted.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <thread>

#include "clients/cpp/src/arrival.h"
#include "tactus/types.h"

#ifdef __linux__

using namespace tactus::client;
using asio::ip::udp;
using namespace std::chrono_literals;

namespace {

struct Pair {
  asio::io_context io;
  udp::socket in{io, udp::endpoint(asio::ip::address_v4::loopback(), 0)}, out{io, udp::v4()};
  std::array<std::uint8_t, 2048> bytes{};

  Pair() {
    in.set_option(asio::socket_base::receive_buffer_size(1 << 16));
    tell_arrivals(in);
    out.connect(in.local_endpoint());
  }
  void send(std::size_t size = 100) { out.send(asio::buffer(bytes.data(), size)); }
  Arrival receive(std::error_code& error) { return receive_arrival(in, bytes, error); }
};

}  // namespace

TEST_CASE("client: a datagram that waits to be read has the time at which it came") {
  Pair pair;
  std::error_code error;
  pair.receive(error);
  CHECK((error == asio::error::would_block || error == asio::error::try_again));
  bool is_stamped = false;  // the system begins to stamp some time after the first socket asks for it
  for (int i = 0; i < 40 && !is_stamped; ++i) {
    const std::int64_t before = tactus::client::now_ns();
    pair.send(123);
    const std::int64_t sent = tactus::client::now_ns();
    std::this_thread::sleep_for(50ms);
    const std::int64_t reading = tactus::client::now_ns();
    const Arrival arrival = pair.receive(error);
    CHECK_FALSE(error);
    CHECK(arrival.size == 123);
    CHECK(arrival.overflowed == 0);
    CHECK(arrival.arrived_ns >= before - 1'000'000);                    // the clocks are read one after the other
    is_stamped = reading - arrival.arrived_ns >= (reading - sent) / 2;  // by far nearer to the sending
  }
  CHECK(is_stamped);
}

TEST_CASE("client: datagrams that found the socket full are counted, not lost without a word") {
  Pair pair;
  std::error_code error;
  constexpr int kSent = 2000;
  for (int i = 0; i < kSent; ++i) pair.send(1000);
  std::uint64_t received = 0;
  for (pair.receive(error); !error; pair.receive(error)) ++received;
  CHECK(received < kSent);
  pair.send();
  const Arrival arrival = pair.receive(error);
  CHECK_FALSE(error);
  CHECK(arrival.overflowed == kSent - received);
}

#endif
