#include "server/session/authority.h"

#include <algorithm>

#include "core/check.h"

namespace tactus {

std::vector<LostChannel> Authority::end_driving() {
  std::vector<LostChannel> lost;
  for (Lease& lease : leases_) {
    for (const Channel channel : lease.channels) {
      if (channel == kWorldChannel) continue;
      lost.push_back({lease.client, channel});
      holder_[channel] = Holder{};
    }
    std::erase_if(lease.channels, [](Channel c) { return c != kWorldChannel; });
  }
  std::erase_if(leases_, [](const Lease& lease) { return lease.channels.empty(); });
  return lost;
}

std::vector<LostChannel> Authority::set_bodies(std::uint32_t bodies, std::uint32_t joints) {
  std::vector<LostChannel> lost = end_driving();
  holder_.resize(1);
  holder_.resize(std::size_t{bodies} + joints + 1);
  return lost;
}

Authority::Acquired Authority::acquire(ClientSlot client, std::span<const Channel> channels, std::uint64_t now_ns,
                                       std::uint64_t duration_ns, bool take_over, bool may) {
  Acquired out;
  for (const Channel channel : channels) {
    TACTUS_ASSERT(channel < holder_.size());
    if (!is_held(channel, now_ns) || holder_[channel].client == client) continue;
    if (take_over && may) continue;
    out.result = take_over ? AcquireResult::may_not_take_over : AcquireResult::held_by_other;
    out.conflict = channel;
    out.holder = holder_[channel].client;
    return out;
  }
  Lease lease{next_lease_++, client, {}, now_ns + duration_ns, duration_ns};
  for (const Channel channel : channels) {
    Holder& h = holder_[channel];
    if (h.lease == lease.id) continue;  // named twice
    if (h.lease != 0) {
      if (h.client != client) out.taken.push_back({h.client, channel});
      take_from_lease(channel);
    }
    h = {lease.id, client, lease.expires_ns};
    lease.channels.push_back(channel);
  }
  out.lease = lease.id;
  leases_.push_back(std::move(lease));
  return out;
}

void Authority::take_from_lease(Channel channel) {
  const std::uint32_t id = holder_[channel].lease;
  for (Lease& lease : leases_) {
    if (lease.id == id) std::erase(lease.channels, channel);
  }
  std::erase_if(leases_, [](const Lease& lease) { return lease.channels.empty(); });
}

bool Authority::renew(ClientSlot client, std::uint32_t id, std::uint64_t now_ns) {
  for (Lease& lease : leases_) {
    if (lease.id != id || lease.client != client || lease.expires_ns <= now_ns) continue;
    lease.expires_ns = now_ns + lease.duration_ns;
    for (const Channel channel : lease.channels) holder_[channel].expires_ns = lease.expires_ns;
    return true;
  }
  return false;
}

template <typename Match>
std::vector<LostChannel> Authority::free_leases(Match match) {
  std::vector<LostChannel> lost;
  for (const Lease& lease : leases_) {
    if (!match(lease)) continue;
    for (const Channel channel : lease.channels) {
      lost.push_back({lease.client, channel});
      holder_[channel] = Holder{};
    }
  }
  std::erase_if(leases_, match);
  return lost;
}

std::vector<LostChannel> Authority::release(ClientSlot client, std::uint32_t id) {
  return free_leases([=](const Lease& lease) { return lease.id == id && lease.client == client; });
}

std::vector<LostChannel> Authority::drop_client(ClientSlot client) {
  return free_leases([=](const Lease& lease) { return lease.client == client; });
}

std::vector<LostChannel> Authority::expire(std::uint64_t now_ns) {
  return free_leases([=](const Lease& lease) { return lease.expires_ns <= now_ns; });
}

}  // namespace tactus
