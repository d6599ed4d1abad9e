#include "server/net/desk/lockstep.h"

#include <asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/realtime/clock.h"
#include "server/realtime/rights.h"

namespace tactus::net {
namespace {
constexpr std::uint64_t kSliceNs = 2'000'000;
// A tick that takes so long keeps others waiting: they get a share of its time before the next, in which a handshake or
// several requests with their replies are done.
constexpr std::uint64_t kSlowNs = 20'000'000, kShare = 20;
}  // namespace

bool LockstepDesk::grant(ClientSlot client, std::uint64_t until, bool mute_before, Answer answer) {
  if (!uses_.tick.lockstep()) return false;
  const std::uint64_t tick = uses_.tick.world().state().tick;
  if (until > tick + kGrantTicksMax) return false;
  if (until <= tick) {
    if (mute_before && !uses_.answers.send_granted(client)) show_present(client);
    if (answer) answer(true);
    return true;
  }
  if (mute_before) uses_.answers.expect(client, until, true);
  waiting_.push_back({client, until, std::move(answer)});
  if (!scheduled_) run_slice();
  return true;
}

bool LockstepDesk::grant_by_datagram(ClientSlot client, std::uint64_t until) {
  return grant(client, until, true, nullptr);
}

void LockstepDesk::show_present(ClientSlot client) {
  uses_.answers.expect(client, uses_.tick.world().state().tick, false);
  uses_.tick.serve();
  answer_reached();
}

void LockstepDesk::run_slice() {
  scheduled_ = false;
  const std::uint64_t begin = now_ns(), end = begin + kSliceNs;
  while (!waiting_.empty() && uses_.tick.lockstep()) {
    uses_.links.release_due();  // commands that a faulty link has held back until now
    uses_.tick.run_tick();
    answer_reached();
    if (now_ns() >= end) break;
  }
  if (waiting_.empty() || scheduled_) return;
  scheduled_ = true;
  const std::uint64_t took = now_ns() - begin;
  if (took < kSlowNs) return asio::post(uses_.io, [this] { run_slice(); });
  breather_.expires_after(std::chrono::nanoseconds(took / kShare));
  breather_.async_wait([this](std::error_code error) {
    if (!error) run_slice();
  });
}

void LockstepDesk::answer_reached() {
  const std::uint64_t tick = uses_.tick.world().state().tick;
  std::vector<Waiting> reached;
  for (Waiting& w : waiting_) {
    if (w.until <= tick) reached.push_back(std::move(w));
  }
  std::erase_if(waiting_, [tick](const Waiting& w) { return w.until <= tick; });
  uses_.answers.reached(tick);
  for (const Waiting& w : reached) {
    if (w.answer) w.answer(true);
  }
}

void LockstepDesk::cancel() {
  const std::vector<Waiting> void_now = std::exchange(waiting_, {});
  uses_.answers.reached(~std::uint64_t{0});
  for (const Waiting& w : void_now) {
    if (w.answer) w.answer(false);
  }
}

void LockstepDesk::forget(ClientSlot client) {
  std::erase_if(waiting_, [client](const Waiting& w) { return w.client == client; });
}

void LockstepDesk::begin() {
  if (!uses_.tick.lockstep()) uses_.tick.take_world();
  uses_.leases.clock.stop(now_ns());
  uses_.links.restart(false);
  uses_.status.paused = false;
  uses_.modes.pause.end();
  if (uses_.options.priority > 0) set_helper_priority(0);
  uses_.events.broadcast(v1::Event::LOCKSTEP_CHANGED, "on");
}

void LockstepDesk::end(const std::string& why) {
  cancel();
  uses_.modes.lockstep.end();
  uses_.links.restart(true);
  uses_.tick.give_world_back();
  uses_.leases.clock.go(now_ns());
  uses_.status.paused = false;
  if (uses_.options.priority > 0) set_helper_priority(uses_.options.priority);
  uses_.events.broadcast(v1::Event::LOCKSTEP_CHANGED, why.empty() ? "off" : "off: " + why);
}

}  // namespace tactus::net
