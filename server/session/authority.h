// Who may drive what, until when: leases on channels, one holder each. Pure: the clock's readings are passed in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tactus {

using ClientSlot = std::uint16_t;
using Channel = std::uint32_t;  // 0: world; 1 + body index: body/NAME/wrench; then one a joint: joint/ROBOT/JOINT; then
                                // tool/NAME, one a body
inline constexpr Channel kWorldChannel = 0;

// What a session may: look on, or drive as well.
enum class Role : std::uint8_t { observe, control };
inline const char* to_string(Role role) {
  return role == Role::control ? "control" : "observe";
}

struct Lease {
  std::uint32_t id = 0;
  ClientSlot client = 0;
  std::vector<Channel> channels;
  std::uint64_t expires_ns = 0, duration_ns = 0;
};

// A channel that a client no longer holds.
struct LostChannel {
  ClientSlot client;
  Channel channel;
};

enum class AcquireResult : std::uint8_t { granted, held_by_other, may_not_take_over };

class Authority {
 public:
  // Only the world's channel until the first set_bodies().
  Authority() { holder_.resize(1); }

  struct Acquired {
    AcquireResult result = AcquireResult::granted;
    std::uint32_t lease = 0;
    Channel conflict = 0;            // held_by_other, may_not_take_over: which channel ...
    ClientSlot holder = 0;           // ... and whose
    std::vector<LostChannel> taken;  // granted by take-over: from whom
  };
  // All or nothing. A client's own channels move into the new lease. take_over: the client asks for it; may: its
  // session allows it.
  Acquired acquire(ClientSlot client, std::span<const Channel> channels, std::uint64_t now_ns,
                   std::uint64_t duration_ns, bool take_over, bool may);
  // False: not this client's lease, or it has expired.
  bool renew(ClientSlot client, std::uint32_t lease, std::uint64_t now_ns);
  // The channels that became free. Empty: not this client's lease.
  std::vector<LostChannel> release(ClientSlot client, std::uint32_t lease);
  // A new scene: all leases of body and joint channels are void, and returned; the world's stays.
  std::vector<LostChannel> set_bodies(std::uint32_t bodies, std::uint32_t joints = 0);
  std::vector<LostChannel> drop_client(ClientSlot client);
  // All leases but that of the world end.
  std::vector<LostChannel> end_driving();
  std::vector<LostChannel> expire(std::uint64_t now_ns);

  // O(1): for each row of each command.
  [[nodiscard]] bool holds(ClientSlot client, Channel channel, std::uint64_t now_ns) const noexcept {
    const Holder& h = holder_[channel];
    return h.lease != 0 && h.client == client && now_ns < h.expires_ns;
  }
  [[nodiscard]] bool is_held(Channel channel, std::uint64_t now_ns) const noexcept {
    return holder_[channel].lease != 0 && now_ns < holder_[channel].expires_ns;
  }
  [[nodiscard]] ClientSlot holder(Channel channel) const noexcept { return holder_[channel].client; }
  [[nodiscard]] std::size_t channel_count() const noexcept { return holder_.size(); }
  [[nodiscard]] std::span<const Lease> leases() const noexcept { return leases_; }

 private:
  struct Holder {
    std::uint32_t lease = 0;  // 0: free
    ClientSlot client = 0;
    std::uint64_t expires_ns = 0;
  };
  void take_from_lease(Channel channel);
  template <typename Match>
  std::vector<LostChannel> free_leases(Match match);

  std::vector<Holder> holder_;  // by channel
  std::vector<Lease> leases_;
  std::uint32_t next_lease_ = 1;
};

}  // namespace tactus
