// Net's part of a playback (tactusd --play): seek and speed for clients, and what is refused while a recording is
// shown.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "server/net/desk/requests.h"
#include "server/record/player.h"

namespace tactus::net {

class PlayDesk {
 public:
  PlayDesk(Hub& hub, record::Player& player) : hub_(hub), player_(player) {}

  // Requests that look on, and those that hold the playback or let it go on. The others would change a live world.
  [[nodiscard]] static bool allows(v1::Request::BodyCase request);
  // Why the others are refused, and channels but "world".
  [[nodiscard]] std::string why() const;
  void serve(const Exchange& x, const v1::SetPlayback& request);
  // Before the state goes to clients: answers seeks, and tells all of jumps and of the end.
  void published(const StateFrame& frame);
  void report(v1::Playback& out) const;

 private:
  void tell_jump(const char* what);

  Hub& hub_;
  record::Player& player_;
  std::vector<std::pair<std::uint32_t, Exchange>> seeks_;  // that wait for their state, by its generation
  std::uint64_t tick_ = 0, play_time_ns_ = 0;
  std::uint32_t generation_ = 0;
  std::uint32_t here_ = 0;  // a seek of our own, to where the playback stands: no jump
  bool ended_ = false;
};

}  // namespace tactus::net
