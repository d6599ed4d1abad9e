#include "server/realtime/play_show.h"

#include <algorithm>

#include "core/check.h"

namespace tactus {
namespace {

// The columns that a recording has; the others stay as they are, empty.
void copy_state(const StateSlot& from, StateSlot& to) noexcept {
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

PlayShow::PlayShow(PlayFeed* feed, std::uint32_t bodies, std::uint32_t contacts) : feed_(feed) {
  if (active()) shown_.resize(bodies, contacts);
}

PlayShow::Turn PlayShow::show_next(RunControl& run) noexcept {
  TACTUS_ASSERT(active());
  const std::uint32_t wanted = feed_->wanted.load(std::memory_order_acquire);
  const StateSlot* next = feed_->states.begin_read();
  while (next != nullptr && next->frame.play_generation != wanted) {
    feed_->states.release();
    next = feed_->states.begin_read();
  }
  const bool is_first = shown_.frame.play_time_ns == 0 || shown_.frame.play_generation != wanted;
  if (!is_first && run.paused() && !run.stepping()) return {};
  if (!is_first && !run.paused() && beats_ + 1 < shown_.frame.play_beats) {
    ++beats_;
    return {};
  }
  if (next == nullptr) {
    if (!shown_.frame.play_ended) feed_->waited.add();
    if (!is_first && shown_.frame.play_ended) run.shorten_steps();
  } else {
    take(*next);
    feed_->states.release();
  }
  // What a wish begins with is no step: a Step that comes before it moves on from there.
  const bool is_step = !is_first && (next != nullptr || shown_.frame.play_ended);
  return {next != nullptr, is_step && run.count_step()};
}

void PlayShow::take(const StateSlot& next) noexcept {
  const StateFrame& before = shown_.frame;
  const bool goes_on = before.play_time_ns != 0 && before.play_generation == next.frame.play_generation;
  simulated_s_ = goes_on ? 1e-9 * static_cast<double>(next.frame.play_time_ns - before.play_time_ns) : 0;
  copy_state(next, shown_);
  beats_ = 0;
}

void PlayShow::copy_to(StateSlot& slot) const noexcept {
  copy_state(shown_, slot);
}

}  // namespace tactus
