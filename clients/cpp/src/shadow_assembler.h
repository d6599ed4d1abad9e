// Puts the SHADOW packets of one comparison together.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "realtime.pb.h"
#include "tactus/types.h"

namespace tactus::client {

class ShadowAssembler {
 public:
  // Adds one packet. Returns the comparison that it completes, else null. A newer one gives up what is incomplete;
  // parts of an older one, repeated parts and packets whose columns do not match are ignored.
  std::shared_ptr<Shadow> add(const v1::ShadowPacket& packet, std::int64_t receive_ns);

 private:
  std::shared_ptr<Shadow> shadow_;  // null: nothing under way
  std::vector<bool> have_;
  std::uint32_t received_ = 0, done_subscription_ = 0, done_epoch_ = 0;
  std::uint64_t done_tick_ = 0;
};

}  // namespace tactus::client
