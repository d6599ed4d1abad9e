// Faulty links: datagrams of clients whose links have faults on purpose take this way round.
#pragma once

#include <asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <span>

#include "server/net/control/journal.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/tick_port.h"
#include "server/net/udp/client_ways.h"
#include "server/net/udp/datagram.h"

namespace tactus::net {

// Takes an authentic datagram, once it has passed the client's link.
class DatagramTaker {
 public:
  virtual ~DatagramTaker() = default;
  virtual void take(Session& session, const wire::DatagramHeader& header, std::span<const std::uint8_t> payload,
                    std::uint64_t now) = 0;
};

class LinkPort {
 public:
  struct Uses {
    asio::io_context& io;
    SessionTable& sessions;
    const SceneView& scene;
    const TickPort& tick;
    Journal& journal;
    ClientWays& ways;
    DatagramTaker& taker;
  };
  explicit LinkPort(const Uses& uses) : uses_(uses), timer_(uses.io) {}
  void stop() { timer_.cancel(); }

  // Null, or without any fault: a sound link.
  void set(Session& session, std::unique_ptr<FaultyLinks> faults);
  // Whether a datagram of this kind meets the link's faults.
  [[nodiscard]] bool takes_part(wire::DatagramType type, std::span<const std::uint8_t> payload);
  // Into the session's link of that direction, which has faults; what they do is recorded.
  void submit(Session& session, bool down, std::span<const std::uint8_t> datagram);
  // Datagrams that faulty links hold back and that have arrived by now; arms the timer for the next ones.
  void release_due();
  // What is under way on this client's links is let through at once.
  void flush(Session& session);
  // A run begins: what is under way is gone, or (deliver) let through first; the fates begin anew.
  void restart(bool deliver);
  // Simulated time in lockstep, where no time passes between grants [ns].
  [[nodiscard]] std::uint64_t clock() const { return now() * unit(); }

 private:
  [[nodiscard]] std::uint64_t now() const;   // ns, or in lockstep the tick
  [[nodiscard]] std::uint64_t unit() const;  // ns
  void deliver_up(Session& session, std::span<const std::uint8_t> datagram);
  void arm_timer(std::uint64_t due_ns);

  const Uses uses_;
  asio::steady_timer timer_;
  std::uint64_t timer_due_ = 0;  // 0: not armed
  std::size_t faulty_ = 0;       // clients with faults on their links
  DatagramDecoder decoder_;
};

}  // namespace tactus::net
