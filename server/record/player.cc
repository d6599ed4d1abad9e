#include "server/record/player.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>

#include "core/check.h"
#include "server/realtime/rights.h"

namespace tactus::record {
namespace {

// Up to this speed each beat shows a state of its own. Beyond it a state is shown for several, so that at most about
// 60 a second must be found, and chunks between them are passed over unread.
constexpr double kSpeedOfEachBeat = 8;
constexpr double kShown_s = 1.0 / 60;

}  // namespace

Player::Player(const std::string& path, double speed) : tape_(path), speed_(speed) {
  TACTUS_ASSERT(speed >= kSpeedLeast && speed <= kSpeedMost);
  damage_ = tape_.damage();
}

Player::~Player() {
  stop();
}

bool Player::start(PlayFeed& feed, std::uint32_t bodies, std::uint32_t contacts, std::uint64_t step_ns, int avoid_cpu) {
  TACTUS_ASSERT(feed_ == nullptr && step_ns > 0);
  feed_ = &feed;
  step_ns_ = step_ns;
  avoid_cpu_ = avoid_cpu;
  tape_.size(bodies, contacts);
  [[maybe_unused]] const bool filled = fill_next();
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Player::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

std::uint32_t Player::seek(std::uint64_t position_ns) {
  const std::lock_guard lock(mutex_);
  wish_ = std::clamp(position_ns, tape_.begin_ns(), tape_.end_ns());
  ++wish_generation_;
  feed_->wanted.store(wish_generation_, std::memory_order_release);
  return wish_generation_;
}

void Player::set_speed(double speed) {
  TACTUS_ASSERT(speed >= kSpeedLeast && speed <= kSpeedMost);
  speed_.store(speed, std::memory_order_relaxed);
}

std::string Player::damage() {
  const std::lock_guard lock(mutex_);
  return damage_;
}

void Player::run() {
  pthread_setname_np(pthread_self(), "tactus-player");
  set_helper_priority(0);
  [[maybe_unused]] const Rights rights = ask_for_helper_rights(0, avoid_cpu_);
  while (!stop_) {
    const bool is_new = take_wish();
    if (!is_new && !fill_next()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool Player::take_wish() {
  const std::lock_guard lock(mutex_);
  damage_ = tape_.damage();
  if (!wish_) return false;
  position_ns_ = static_cast<double>(*wish_ - tape_.begin_ns());
  wish_.reset();
  generation_ = wish_generation_;
  ended_ = false;
  return true;
}

// False: there is nothing to be done before the tick has taken some.
bool Player::fill_next() {
  const double speed = speed_.load(std::memory_order_relaxed), beat_s = 1e-9 * static_cast<double>(step_ns_);
  const double beats = speed <= kSpeedOfEachBeat ? 1 : std::max(1.0, std::floor(kShown_s / beat_s));
  if (ended_ || static_cast<double>(feed_->states.size()) * beats >= PlayFeed::kStates) return false;
  StateSlot* slot = feed_->states.begin_write();
  if (slot == nullptr) return false;
  const auto length = static_cast<double>(tape_.end_ns() - tape_.begin_ns());
  tape_.at(tape_.begin_ns() + static_cast<std::uint64_t>(std::llround(std::min(position_ns_, length))), *slot);
  ended_ = position_ns_ >= length;
  slot->frame.play_generation = generation_;
  slot->frame.play_beats = static_cast<std::uint32_t>(beats);
  slot->frame.play_ended = ended_;
  feed_->states.commit();
  position_ns_ += beats * speed * static_cast<double>(step_ns_);
  return true;
}

}  // namespace tactus::record
