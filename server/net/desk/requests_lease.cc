// Leases: who may drive what, until when.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "proto/cpp/ranges.h"
#include "server/net/desk/modes.h"
#include "server/net/desk/play_desk.h"
#include "server/net/desk/requests.h"

namespace tactus::net {
namespace {
constexpr std::uint32_t kDefaultMs = 2000;
constexpr auto kCapMs = static_cast<std::uint32_t>(wire::range_of("AcquireLease.duration_ms").high);

// A control loop needs more than the lease 'world'.
bool may_command(const Exchange& x) {
  for (const Lease& lease : x.hub().authority.leases()) {
    if (lease.client != x.client()) continue;
    for (const Channel channel : lease.channels)
      if (channel != kWorldChannel) return true;
  }
  return false;
}

}  // namespace

void acquire_lease(const Exchange& x, const v1::AcquireLease& request) {
  Hub& hub = x.hub();
  const std::uint64_t now = hub.lease_now();
  hub.channels_lost(hub.authority.expire(now), true);
  if (x.session() == nullptr) return;  // the news filled this client's queue, and it was cut off
  std::vector<Channel> channels;
  for (const std::string& text : request.channels()) {
    if (!hub.scene.parse_channel(text, channels)) {
      if (text.starts_with("tool/")) return x.error(v1::ERROR_NOT_FOUND, hub.scene.why_no_tool(text.substr(5)));
      return x.error(v1::ERROR_NOT_FOUND,
                     "no channel '" + text +
                         "'; channels are 'world', 'body/NAME/wrench', 'tool/NAME' of what "
                         "moves and, of joints that take commands, 'joint/ROBOT/JOINT' and 'joint/ROBOT/*'");
    }
  }
  if (channels.empty()) return x.error(v1::ERROR_BAD_VALUE, "name at least one channel");
  const bool drives = std::any_of(channels.begin(), channels.end(), [](Channel c) { return c != kWorldChannel; });
  if (hub.play != nullptr && drives) return x.error(v1::ERROR_WRONG_STATE, hub.play->why());
  const std::uint32_t duration_ms = request.duration_ms() == 0 ? kDefaultMs : std::min(request.duration_ms(), kCapMs);
  const bool may = x.session()->by_token();
  const Authority::Acquired got = hub.authority.acquire(
      x.client(), channels, now, std::uint64_t{1'000'000} * duration_ms, request.take_over(), may);
  if (got.result != AcquireResult::granted) {
    std::string text =
        fmt::format("'{}' is held by {}", hub.scene.channel_name(got.conflict), hub.client_name(got.holder));
    if (got.result == AcquireResult::may_not_take_over)
      text += "; taking over needs a session made with a token (start tactusd with --token-file)";
    return x.error(v1::ERROR_LEASED_BY_OTHER, text);
  }
  hub.channels_lost(got.taken, true);
  end_options_of_others(hub, x.client(), channels);
  if (x.session() == nullptr) return;
  v1::Reply reply;
  reply.mutable_lease()->set_lease(got.lease);
  reply.mutable_lease()->set_duration_ms(duration_ms);
  reply.mutable_lease()->set_held_by(x.session()->name());
  x.reply(std::move(reply));
}

void renew_lease(const Exchange& x, const v1::RenewLease& request) {
  Hub& hub = x.hub();
  if (!hub.authority.renew(x.client(), request.lease(), hub.lease_now())) {
    return x.error(v1::ERROR_NOT_FOUND, "lease " + std::to_string(request.lease()) +
                                            " is not this client's, or it has expired: acquire it again");
  }
  for (const Lease& lease : hub.authority.leases()) {
    if (lease.id != request.lease()) continue;
    v1::Reply reply;
    reply.mutable_lease()->set_lease(lease.id);
    reply.mutable_lease()->set_duration_ms(static_cast<std::uint32_t>(lease.duration_ns / 1'000'000));
    reply.mutable_lease()->set_held_by(x.session()->name());
    return x.reply(std::move(reply));
  }
}

void release_lease(const Exchange& x, const v1::ReleaseLease& request) {
  const std::vector<LostChannel> freed = x.hub().authority.release(x.client(), request.lease());
  if (freed.empty())
    return x.error(v1::ERROR_NOT_FOUND, "lease " + std::to_string(request.lease()) + " is not this client's");
  x.hub().channels_lost(freed, false);
  if (x.session() != nullptr && !may_command(x)) x.session()->released();
  x.done();
}

void list_leases(const Exchange& x) {
  Hub& hub = x.hub();
  const std::uint64_t now = hub.lease_now();
  v1::Reply reply;
  v1::LeaseList* list = reply.mutable_leases();
  for (const Lease& lease : hub.authority.leases()) {
    if (lease.expires_ns <= now) continue;
    for (const Channel channel : lease.channels) {
      v1::LeaseList::Entry* entry = list->add_leases();
      entry->set_channel(hub.scene.channel_name(channel));
      entry->set_client(hub.client_name(lease.client));
      entry->set_left_ms(static_cast<std::uint32_t>((lease.expires_ns - now) / 1'000'000));
    }
  }
  x.reply(std::move(reply));
}

}  // namespace tactus::net
