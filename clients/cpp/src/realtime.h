// The UDP side of one session: seals and sends from any thread, receives on the io thread, or on a user's that waits
// for an answer.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "clients/cpp/src/arrival.h"
#include "clients/cpp/src/asio.h"
#include "clients/cpp/src/link_math.h"
#include "haptic.pb.h"
#include "proto/cpp/seal.h"
#include "realtime.pb.h"

namespace tactus::client {

class Realtime : public std::enable_shared_from_this<Realtime> {
 public:
  struct Handlers {
    std::function<void(const v1::StatePacket&, std::uint64_t sequence, std::int64_t receive_ns)> state;
    std::function<void(const v1::Pong&, std::int64_t receive_ns)> pong;
    std::function<void(const v1::GrantedPacket&)> granted;
    std::function<void(const v1::ShadowPacket&, std::int64_t receive_ns)> shadow;
    std::function<void(const v1::ToolPacket&, std::int64_t receive_ns)> tool;
    std::function<void(const v1::VerdictPacket&, std::int64_t receive_ns)> verdicts;
    std::function<void(const v1::ChallengePacket&)> challenge;
  };
  // Throws std::system_error when the socket cannot be made.
  Realtime(asio::io_context& io, const asio::ip::udp::endpoint& server, const wire::Key& key, std::uint32_t session,
           Handlers handlers);

  void start();  // io thread
  void close();  // any thread

  // Seals and sends; returns the sequence number, or 0 with `blocked` or `closed` set. `before` runs with the number
  // just before the datagram leaves, so that an answer cannot overtake its book-keeping.
  enum class Sent { ok, blocked, closed, too_large };
  Sent send(wire::DatagramType type, const google::protobuf::MessageLite& message, std::uint64_t& sequence,
            const std::function<void(std::uint64_t)>& before = {}) noexcept;
  // The parts of one command, with sequence numbers that follow each other; `sequence` is the first one's.
  Sent send_parts(std::span<const v1::CommandPacket> parts, std::uint64_t& sequence,
                  const std::function<void(std::uint64_t)>& before) noexcept;

  // Waits for a datagram on the caller's thread, at most so long, and takes what is there; handlers run on it. An
  // answer then wakes one thread, not two in turn. The io thread leaves the socket alone until give_back() or
  // take_back().
  void receive_here(std::chrono::milliseconds timeout);
  void give_back();  // by one who waits for something else: the io thread receives again at once
  void take_back();  // io thread, now and then: receives again when no user has for 20 ms

  // Any thread; of the newest datagram when a handler asks.
  Datagrams datagrams() const;
  // Why nothing is heard, where nothing has been for seconds; empty otherwise. Any thread.
  std::string silence() const;
  // When a datagram of the server was read last; 0: none so far. Any thread.
  std::int64_t heard_ns() const { return heard_ns_.load(std::memory_order_relaxed); }
  std::uint64_t packets_lost() const { return missing_.load(std::memory_order_relaxed); }
  std::uint64_t packets_refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  void wait();
  Sent send_locked(wire::DatagramType type, const google::protobuf::MessageLite& message, std::uint64_t& sequence,
                   const std::function<void(std::uint64_t)>& before) noexcept;
  bool receive_one();  // false: none is there
  void drain();
  void take(std::size_t size, std::int64_t receive_ns);

  const std::uint32_t session_;
  const Handlers handlers_;
  const std::uint16_t port_;  // of the server
  const std::int64_t opened_ns_;
  std::atomic<std::int64_t> heard_ns_{0};
  asio::ip::udp::socket socket_;

  std::mutex send_mutex_;  // guards the four below and closing the socket
  wire::Sealer sealer_;
  std::uint64_t sequence_ = 0;
  bool closed_ = false;
  std::array<std::uint8_t, wire::kDatagramMax> out_{};

  std::mutex receive_mutex_;  // guards what follows, and closing the socket; taken after the send mutex
  std::atomic<bool> lent_{false};
  std::int64_t lent_ns_ = 0;  // last use by a user's thread
  bool armed_ = false;        // io thread: it is waiting for the socket
  wire::Sealer opener_;
  ReplayWindow window_;
  std::array<std::uint8_t, 2048> in_{};
  v1::StatePacket packet_;
  v1::ShadowPacket shadow_;
  v1::ToolPacket tool_;
  v1::VerdictPacket verdicts_;
  std::atomic<std::uint64_t> missing_{0}, overflowed_{0}, refused_{0};  // missing: overflowed ones, too
  std::atomic<std::int64_t> arrived_ns_{0};
};

}  // namespace tactus::client
