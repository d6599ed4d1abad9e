#include "server/net/desk/lease_desk.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "proto/cpp/ranges.h"

namespace tactus::net {
namespace {

constexpr std::uint32_t kDefaultMs = 2000;
constexpr auto kCapMs = static_cast<std::uint32_t>(wire::range_of("AcquireLease.duration_ms").high);

}  // namespace

// A control loop needs more than the lease 'world'.
bool LeaseDesk::may_command(const Exchange& x) const {
  for (const Lease& lease : uses_.leases.authority.leases()) {
    if (lease.client != x.client()) continue;
    for (const Channel channel : lease.channels)
      if (channel != kWorldChannel) return true;
  }
  return false;
}

void LeaseDesk::acquire(const Exchange& x, const v1::AcquireLease& request) {
  const std::uint64_t now = uses_.leases.now();
  lost(uses_.leases.authority.expire(now), true);
  if (x.session() == nullptr) return;  // the news filled this client's queue, and it was cut off
  std::vector<Channel> channels;
  for (const std::string& text : request.channels()) {
    if (!uses_.scene.parse_channel(text, channels)) {
      if (text.starts_with("tool/")) return x.error(v1::ERROR_NOT_FOUND, uses_.scene.why_no_tool(text.substr(5)));
      return x.error(v1::ERROR_NOT_FOUND,
                     "no channel '" + text +
                         "'; channels are 'world', 'body/NAME/wrench', 'tool/NAME' of what "
                         "moves and, of joints that take commands, 'joint/ROBOT/JOINT' and 'joint/ROBOT/*'");
    }
  }
  if (channels.empty()) return x.error(v1::ERROR_BAD_VALUE, "name at least one channel");
  const bool drives = std::any_of(channels.begin(), channels.end(), [](Channel c) { return c != kWorldChannel; });
  if (uses_.status.is_playback() && drives) return x.error(v1::ERROR_WRONG_STATE, uses_.status.playing);
  const std::uint32_t duration_ms = request.duration_ms() == 0 ? kDefaultMs : std::min(request.duration_ms(), kCapMs);
  const bool may = x.session()->by_token();
  const Authority::Acquired got = uses_.leases.authority.acquire(
      x.client(), channels, now, std::uint64_t{1'000'000} * duration_ms, request.take_over(), may);
  if (got.result != AcquireResult::granted) {
    std::string text = fmt::format("'{}' is held by {}", uses_.scene.channel_name(got.conflict), x.name_of(got.holder));
    if (got.result == AcquireResult::may_not_take_over)
      text += "; taking over needs a session made with a token (start tactusd with --token-file)";
    return x.error(v1::ERROR_LEASED_BY_OTHER, text);
  }
  lost(got.taken, true);
  uses_.joints.taken(x.client(), channels);
  if (x.session() == nullptr) return;
  v1::Reply reply;
  reply.mutable_lease()->set_lease(got.lease);
  reply.mutable_lease()->set_duration_ms(duration_ms);
  reply.mutable_lease()->set_held_by(x.session()->name());
  x.reply(std::move(reply));
}

void LeaseDesk::renew(const Exchange& x, const v1::RenewLease& request) {
  if (!uses_.leases.authority.renew(x.client(), request.lease(), uses_.leases.now())) {
    return x.error(v1::ERROR_NOT_FOUND, "lease " + std::to_string(request.lease()) +
                                            " is not this client's, or it has expired: acquire it again");
  }
  for (const Lease& lease : uses_.leases.authority.leases()) {
    if (lease.id != request.lease()) continue;
    v1::Reply reply;
    reply.mutable_lease()->set_lease(lease.id);
    reply.mutable_lease()->set_duration_ms(static_cast<std::uint32_t>(lease.duration_ns / 1'000'000));
    reply.mutable_lease()->set_held_by(x.session()->name());
    return x.reply(std::move(reply));
  }
}

void LeaseDesk::release(const Exchange& x, const v1::ReleaseLease& request) {
  const std::vector<LostChannel> freed = uses_.leases.authority.release(x.client(), request.lease());
  if (freed.empty())
    return x.error(v1::ERROR_NOT_FOUND, "lease " + std::to_string(request.lease()) + " is not this client's");
  lost(freed, false);
  if (x.session() != nullptr && !may_command(x)) x.session()->released();
  x.done();
}

void LeaseDesk::list(const Exchange& x) {
  const std::uint64_t now = uses_.leases.now();
  v1::Reply reply;
  v1::LeaseList* list = reply.mutable_leases();
  for (const Lease& lease : uses_.leases.authority.leases()) {
    if (lease.expires_ns <= now) continue;
    for (const Channel channel : lease.channels) {
      v1::LeaseList::Entry* entry = list->add_leases();
      entry->set_channel(uses_.scene.channel_name(channel));
      entry->set_client(x.name_of(lease.client));
      entry->set_left_ms(static_cast<std::uint32_t>((lease.expires_ns - now) / 1'000'000));
    }
  }
  x.reply(std::move(reply));
}

// Told before the leases go, so that no client takes them anew without having heard why they went. Every command that
// acts stands under a lease: what is dropped with it ramps to zero. The answer comes when the tick has done so.
void LeaseDesk::stop(const Exchange& x) {
  const std::string name = x.name();
  spdlog::info("stop: asked for by {}", name);
  uses_.events.broadcast(v1::Event::STOPPED, name);
  lost(uses_.leases.authority.end_driving(), true);
  uses_.tick.post(command_of(x, Command::Kind::probe), [x](const Notice&) { x.done(); });
}

void LeaseDesk::expire() {
  lost(uses_.leases.authority.expire(uses_.leases.now()), true);
}

void LeaseDesk::lost(const std::vector<LostChannel>& channels, bool tell) {
  if (tell) uses_.joints.lost(channels);
  for (const LostChannel& l : channels) {
    if (tell) uses_.events.send(l.client, v1::Event::LEASE_LOST, uses_.scene.channel_name(l.channel));
    if (l.channel == kWorldChannel) continue;
    if (const BodyIndex tool = uses_.scene.tool_of(l.channel); tool != kNoBody) {
      uses_.tools.release(uses_.tick, uses_.scene.epoch, tool);
      continue;
    }
    Command command;
    const JointIndex joint = uses_.scene.joint_of(l.channel);
    command.kind = joint == kNone ? Command::Kind::drop_channel : Command::Kind::drop_joint;
    command.epoch = uses_.scene.epoch;
    if (joint == kNone) {
      command.row.body = l.channel - 1;
    } else {
      command.joint.joint = joint;
    }
    uses_.tick.post(command);
  }
}

}  // namespace tactus::net
