// A recording's states in the place of the world's steps: the next one of the player's ring becomes what is shown.
#include <algorithm>

#include "core/check.h"
#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"

namespace tactus {
namespace {

// The columns that a recording has; the others stay as they are, empty.
void copy(const StateSlot& from, StateSlot& to) noexcept {
  const std::size_t n = from.frame.body_count;
  TACTUS_ASSERT(7 * n <= to.pose.size() && from.frame.contact_count <= to.contacts.size());
  TACTUS_ASSERT(from.frame.joint_count <= to.joints.size());
  to.frame = from.frame;
  std::copy_n(from.pose.begin(), 7 * n, to.pose.begin());
  std::copy_n(from.velocity.begin(), 6 * n, to.velocity.begin());
  std::copy_n(from.wrench.begin(), 6 * n, to.wrench.begin());
  std::copy_n(from.contacts.begin(), from.frame.contact_count, to.contacts.begin());
  std::copy_n(from.joints.begin(), from.frame.joint_count, to.joints.begin());
}

}  // namespace

// Whether what is shown has moved on. In a pause only by steps, and to the first state of a new wish.
bool TickLoop::play() noexcept {
  step_start_ns_ = now_ns();
  step_ns_ = 0;
  PlayFeed& feed = *link_.play;
  const std::uint32_t wanted = feed.wanted.load(std::memory_order_acquire);
  const StateSlot* next = feed.states.begin_read();
  while (next != nullptr && next->frame.play_generation != wanted) {
    feed.states.release();
    next = feed.states.begin_read();
  }
  const bool is_first = played_.frame.play_time_ns == 0 || played_.frame.play_generation != wanted;
  if (!is_first && paused_ && steps_left_ == 0) return false;
  if (!is_first && !paused_ && played_beats_ + 1 < played_.frame.play_beats) {
    ++played_beats_;
    return false;
  }
  if (next == nullptr) {
    if (!played_.frame.play_ended) feed.waited.add();
    if (!is_first && played_.frame.play_ended && steps_left_ > 0) steps_left_ = 1;  // there is nothing left to step to
  } else {
    take_played(*next);
    feed.states.release();
  }
  // What a wish begins with is no step: a Step that comes before it moves on from there.
  const bool is_step = !is_first && steps_left_ > 0 && (next != nullptr || played_.frame.play_ended);
  if (is_step && --steps_left_ == 0) notify(done(step_command_));
  return next != nullptr;
}

std::uint64_t TickLoop::shown_tick() const noexcept {
  return link_.play == nullptr ? world_->state().tick : played_.frame.tick;
}

void TickLoop::take_played(const StateSlot& next) noexcept {
  const StateFrame& before = played_.frame;
  const bool goes_on = before.play_time_ns != 0 && before.play_generation == next.frame.play_generation;
  played_s_ = goes_on ? 1e-9 * static_cast<double>(next.frame.play_time_ns - before.play_time_ns) : 0;
  copy(next, played_);
  played_beats_ = 0;
}

void TickLoop::fill_played(StateSlot& slot, const Wake& wake) const noexcept {
  copy(played_, slot);
  slot.tool_count = 0;
  StateFrame& f = slot.frame;
  f.beat = beat_;
  f.epoch = epoch_;
  f.advanced = advanced_;
  f.tick_start_ns = wake.start_ns;
  f.status_bits &= ~(kStatusPaused | kStatusLockstep | kStatusFault);
  if (paused_) f.status_bits |= kStatusPaused;
  if (fault_) f.status_bits |= kStatusFault;
  f.real_time_factor = factor_now_;
}

}  // namespace tactus
