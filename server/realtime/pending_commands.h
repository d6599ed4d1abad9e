// Commands to bodies and joints between drain and tick: newest per channel, one verdict per datagram. Allocates nothing
// after construction.
//
// A datagram's rows stay here until the next tick takes them (settle), a newer datagram replaces them (superseded), or
// its deadline passes first (expired: only while the world stands still). A datagram is superseded when all its rows
// were; when some were, the rest is applied and the verdict says so. When a joint refuses its row, none of the datagram
// is applied.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/actuation/joint_channels.h"
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

// What a joint's channel was given.
struct TakenJoint {
  JointRow row;
  std::uint64_t ticks = 0;
};

class PendingCommands {
 public:
  // Room for so many bodies, and as many joints.
  PendingCommands(std::uint32_t bodies, Ring<Notice>& notices);

  // Takes one row from the ring, in the order of arrival.
  void add(const Command& command, const JudgeContext& context) noexcept;
  // Forgets what waits for this body and which sequence number it saw last (its lease has changed hands).
  void drop(BodyIndex body, const JudgeContext& context) noexcept;
  void drop_joint(JointIndex joint, const JudgeContext& context) noexcept;
  // Everything that waits becomes stale: the world has changed under it.
  void drop_all(const JudgeContext& context) noexcept;
  // Gives up what waited longer than its deadline.
  void expire(const JudgeContext& context) noexcept;
  // Hands all rows to the channels, those of joints to the world, and gives the verdicts. channel_tick: the channels'
  // clock.
  void settle(const JudgeContext& context, const Model& model, const State& state, std::uint64_t channel_tick, double h,
              WrenchChannels& channels, World* world = nullptr) noexcept;
  // The joint rows that the last settle() handed over, in their order.
  [[nodiscard]] std::span<const TakenJoint> taken() const noexcept { return taken_; }
  // Tells whose commands these joints missed in the tick just stepped, once a datagram, and what acts instead.
  void tell_missed(const JudgeContext& context, const World& world) noexcept;

  [[nodiscard]] std::uint32_t waiting() const noexcept { return static_cast<std::uint32_t>(waiting_.size()); }

 private:
  using Index = std::uint16_t;
  using ChannelIndex = std::uint32_t;  // a body, or bodies + joint
  static constexpr Index kNoDatagram = 0xffff;

  struct Datagram {
    ClientSlot client = kNoClient;
    std::uint64_t ticket = 0, received_ns = 0;
    std::uint64_t expected_tick = 0;
    std::uint32_t deadline_us = 0, live_rows = 0, row = 0;  // row: that decided the verdict
    Verdict verdict = Verdict::applied;                     // if nothing worse comes
  };
  struct Channel {
    Index datagram = kNoDatagram;  // that owns the waiting row
    std::uint32_t row_index = 0;
    std::uint32_t position = 0;  // in waiting_
    WrenchCommand wrench;
    JointRow joint;
    ClientSlot newest_client = kNoClient;
    std::uint64_t newest_ticket = 0;  // a datagram that the network delivered late never replaces a newer one
  };

  Index take_datagram(const Command& command) noexcept;
  [[nodiscard]] ChannelIndex channel_of(const Command& command) const noexcept;
  void place(const Command& command, Index datagram) noexcept;
  void lose_row(ChannelIndex channel, Verdict verdict, const JudgeContext& context) noexcept;
  void forget(ChannelIndex channel, const JudgeContext& context) noexcept;
  void check_joints(const World& world) noexcept;
  void settle_joint(Channel& channel, Datagram& datagram, const JudgeContext& context, double h, World& world) noexcept;
  void judge(const Datagram& datagram, Verdict verdict, std::uint32_t row, const JudgeContext& context) noexcept;

  Ring<Notice>& notices_;
  const std::uint32_t bodies_;
  std::vector<Channel> channels_;
  std::vector<ChannelIndex> waiting_;  // with a row
  std::vector<Datagram> datagrams_;
  std::vector<TakenJoint> taken_;
  std::vector<Index> free_;
  Index open_ = kNoDatagram;  // the datagram whose rows are arriving
};

}  // namespace tactus
