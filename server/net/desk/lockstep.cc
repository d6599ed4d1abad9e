#include "server/net/desk/lockstep.h"

#include <asio/post.hpp>

#include <algorithm>
#include <utility>

#include "server/net/udp/realtime_port.h"
#include "server/realtime/clock.h"
#include "server/realtime/rights.h"

namespace tactus::net {
namespace {
constexpr std::uint64_t kSliceNs = 2'000'000;
}  // namespace

bool LockstepDesk::grant(ClientSlot client, std::uint64_t until, bool mute_before, Answer answer) {
  if (!hub_.tick.lockstep()) return false;
  const std::uint64_t tick = hub_.tick.world().state().tick;
  if (until > tick + kGrantTicksMax) return false;
  if (until <= tick) {
    if (mute_before && !hub_.realtime->send_granted(client)) show_present(client);
    if (answer) answer(true);
    return true;
  }
  if (mute_before) hub_.realtime->answer_at(client, until, true);
  waiting_.push_back({client, until, std::move(answer)});
  if (!scheduled_) run_slice();
  return true;
}

void LockstepDesk::show_present(ClientSlot client) {
  hub_.realtime->answer_at(client, hub_.tick.world().state().tick, false);
  hub_.tick.serve();
  answer_reached();
}

void LockstepDesk::run_slice() {
  scheduled_ = false;
  const std::uint64_t end = now_ns() + kSliceNs;
  while (!waiting_.empty() && hub_.tick.lockstep()) {
    hub_.realtime->release_due();  // commands that a faulty link has held back until now
    hub_.tick.run_tick();
    answer_reached();
    if (now_ns() >= end) break;
  }
  if (waiting_.empty() || scheduled_) return;
  scheduled_ = true;
  asio::post(hub_.io, [this] { run_slice(); });
}

void LockstepDesk::answer_reached() {
  const std::uint64_t tick = hub_.tick.world().state().tick;
  std::vector<Waiting> reached;
  for (Waiting& w : waiting_) {
    if (w.until <= tick) reached.push_back(std::move(w));
  }
  std::erase_if(waiting_, [tick](const Waiting& w) { return w.until <= tick; });
  hub_.realtime->answered(tick);
  for (const Waiting& w : reached) {
    if (w.answer) w.answer(true);
  }
}

void LockstepDesk::cancel() {
  const std::vector<Waiting> void_now = std::exchange(waiting_, {});
  hub_.realtime->answered(~std::uint64_t{0});
  for (const Waiting& w : void_now) {
    if (w.answer) w.answer(false);
  }
}

void LockstepDesk::forget(ClientSlot client) {
  std::erase_if(waiting_, [client](const Waiting& w) { return w.client == client; });
}

void LockstepDesk::begin() {
  if (!hub_.tick.lockstep()) hub_.tick.take_world();
  hub_.lease_clock.stop(now_ns());
  hub_.realtime->restart_links(false);
  hub_.paused = false;
  hub_.pause_mode.end();
  if (hub_.options.priority > 0) set_helper_priority(0);
  hub_.broadcast(v1::Event::LOCKSTEP_CHANGED, "on");
}

void LockstepDesk::end(const std::string& why) {
  cancel();
  hub_.lockstep_mode.end();
  hub_.realtime->restart_links(true);
  hub_.tick.give_world_back();
  hub_.lease_clock.go(now_ns());
  hub_.paused = false;
  if (hub_.options.priority > 0) set_helper_priority(hub_.options.priority);
  hub_.broadcast(v1::Event::LOCKSTEP_CHANGED, why.empty() ? "off" : "off: " + why);
}

}  // namespace tactus::net
