// What belongs to the client that asked for it, and falls back when he leaves: modes of the world and joint options.
// And the clock by which leases age. Pure: times are passed in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/actuation/joint_channels.h"
#include "server/session/session.h"

namespace tactus {

// Pause or lockstep: on, and whose it is.
class OwnedMode {
 public:
  // On at somebody's wish. keep: nobody's from now on. A mode that nobody owns stays nobody's until it ends.
  void begin(ClientSlot client, bool keep) noexcept {
    if (!on_ || owner_) owner_ = keep ? std::nullopt : std::optional(client);
    on_ = true;
  }
  // On, and the server's own.
  void begin_for_good() noexcept { on_ = true, owner_.reset(); }
  void end() noexcept { on_ = false, owner_.reset(); }
  // Whether it falls back when this client leaves.
  [[nodiscard]] bool ends_with(ClientSlot client) const noexcept { return on_ && owner_ == client; }

 private:
  bool on_ = false;
  std::optional<ClientSlot> owner_;
};

// Joint options as they were before a client changed them. They come back when his lease is lost, when he leaves, and,
// where he gave the lease back in order, when somebody else takes the joint.
class OwnedOptions {
 public:
  struct Before {
    JointIndex joint = kNone;
    ChannelOptions options;
    ClientSlot owner = 0;
  };
  // client changes a joint's options, which were `before`. keep: what he sets is nobody's.
  void change(JointIndex joint, const ChannelOptions& before, ClientSlot client, bool keep);
  // Those of one joint, when they are this client's; removed here.
  [[nodiscard]] std::optional<Before> lost(ClientSlot client, JointIndex joint);
  // Somebody took a joint: what another had set on it.
  [[nodiscard]] std::optional<Before> taken(ClientSlot by, JointIndex joint);
  // All of a client that leaves, or whose lease `world` is lost.
  [[nodiscard]] std::vector<Before> left(ClientSlot client);
  void clear() noexcept { before_.clear(); }  // a new scene

 private:
  std::map<JointIndex, Before> before_;
};

// Leases age by this clock. In lockstep it stands: a program that sits at a breakpoint keeps what it holds.
class LeaseClock {
 public:
  [[nodiscard]] std::uint64_t read(std::uint64_t now_ns) const noexcept {
    return (stopped_ns_ != 0 ? stopped_ns_ : now_ns) - lost_ns_;
  }
  void stop(std::uint64_t now_ns) noexcept {
    if (stopped_ns_ == 0) stopped_ns_ = now_ns;
  }
  void go(std::uint64_t now_ns) noexcept {
    if (stopped_ns_ != 0) lost_ns_ += now_ns - stopped_ns_;
    stopped_ns_ = 0;
  }

 private:
  std::uint64_t stopped_ns_ = 0, lost_ns_ = 0;
};

// Who was heard last when. A client of which neither a datagram nor a request came for so long has vanished, whatever
// its connection says. A server that stood still itself has heard nobody, and begins anew.
inline constexpr std::uint64_t kSilenceNs = 15'000'000'000, kOwnStandstillNs = 3'000'000'000;

class SilenceWatch {
 public:
  // Called about once a second; stands: leases do not age either (lockstep). True: `vanished` may be asked.
  bool look(std::uint64_t now_ns, bool stands) noexcept {
    const bool gap = stands || looked_ns_ == 0 || now_ns - looked_ns_ > kOwnStandstillNs;
    looked_ns_ = now_ns;
    if (gap) since_ns_ = now_ns;
    return !gap;
  }
  [[nodiscard]] bool vanished(std::uint64_t heard_ns, std::uint64_t now_ns) const noexcept {
    const std::uint64_t from = heard_ns > since_ns_ ? heard_ns : since_ns_;
    return now_ns > from && now_ns - from > kSilenceNs;
  }

 private:
  std::uint64_t looked_ns_ = 0, since_ns_ = 0;
};

}  // namespace tactus
