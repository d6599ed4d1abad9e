// Wrench commands between drain and tick: newest per channel, one verdict per datagram. Allocates nothing after
// construction.
//
// A datagram's rows stay here until the next tick takes them (settle), a newer datagram replaces them (superseded), or
// its deadline passes first (expired: only while the world stands still). A datagram is superseded when all its rows
// were; when some were, the rest is applied and the verdict says so.
#pragma once

#include <cstdint>
#include <vector>

#include "core/actuation/wrench_channels.h"
#include "server/realtime/messages.h"
#include "server/realtime/ring.h"

namespace tactus {

// What a tick needs to judge commands.
struct JudgeContext {
  std::uint64_t tick = 0;  // that verdicts name
  std::uint64_t now_ns = 0;
  std::uint32_t epoch = 0;
  bool lockstep = false;  // ages are 0 and no deadline passes on the wall clock
};

class PendingCommands {
 public:
  PendingCommands(std::uint32_t bodies, Ring<Notice>& notices);

  // Takes one row from the ring, in the order of arrival.
  void add(const Command& command, const JudgeContext& context) noexcept;
  // Forgets what waits for this body and which sequence number it saw last (its lease has changed hands).
  void drop(BodyIndex body, const JudgeContext& context) noexcept;
  // Everything that waits becomes stale: the world has changed under it.
  void drop_all(const JudgeContext& context) noexcept;
  // Gives up what waited longer than its deadline.
  void expire(const JudgeContext& context) noexcept;
  // Hands all rows to the channels and gives the verdicts applied or clamped. channel_tick: the channels' clock.
  void settle(const JudgeContext& context, const Model& model, const State& state, std::uint64_t channel_tick, double h,
              WrenchChannels& channels) noexcept;

  [[nodiscard]] std::uint32_t waiting() const noexcept { return static_cast<std::uint32_t>(bodies_.size()); }

 private:
  using Index = std::uint16_t;
  static constexpr Index kNone = 0xffff;

  struct Datagram {
    ClientSlot client = kNoClient;
    std::uint64_t ticket = 0, received_ns = 0;
    std::uint32_t deadline_us = 0, live_rows = 0, clamped_row = 0;
    bool clamped = false;
  };
  struct Channel {
    Index datagram = kNone;  // that owns the waiting row
    std::uint32_t row_index = 0;
    std::uint32_t position = 0;  // in bodies_
    WrenchCommand command;
    ClientSlot newest_client = kNoClient;
    std::uint64_t newest_ticket = 0;  // a datagram that the network delivered late never replaces a newer one
  };

  Index take_datagram(const Command& command) noexcept;
  void place(const Command& command, Index datagram) noexcept;
  void lose_row(BodyIndex body, Verdict verdict, const JudgeContext& context) noexcept;
  void judge(const Datagram& datagram, Verdict verdict, std::uint32_t row, const JudgeContext& context) noexcept;

  Ring<Notice>& notices_;
  std::vector<Channel> channels_;
  std::vector<BodyIndex> bodies_;  // with a waiting row
  std::vector<Datagram> datagrams_;
  std::vector<Index> free_;
  Index open_ = kNone;  // the datagram whose rows are arriving
};

}  // namespace tactus
