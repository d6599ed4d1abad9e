// Plays a recording: a thread that reads it and fills the tick's ring with what is to be shown in the beats to come.
// The tick is never waited for and never waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "server/realtime/play_feed.h"
#include "server/record/play_tape.h"

namespace tactus::record {

class Player {
 public:
  static constexpr double kSpeedLeast = 0.001, kSpeedMost = 1000;

  // Throws InputError, as PlayTape. speed: recorded over real time, within the bounds above.
  Player(const std::string& path, double speed);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  [[nodiscard]] const PlayTape& tape() const { return tape_; }
  // The first state is in the ring when this returns. False: the thread could not be created.
  // bodies, contacts: what the feed's slots hold. step_ns: a beat of the tick.
  [[nodiscard]] bool start(PlayFeed& feed, std::uint32_t bodies, std::uint32_t contacts, std::uint64_t step_ns,
                           int avoid_cpu);
  void stop();

  // --- Net's thread. position_ns: recorded time. Gives the number of the wish: StateFrame.play_generation.
  std::uint32_t seek(std::uint64_t position_ns);
  void set_speed(double speed);
  [[nodiscard]] double speed() const { return speed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string damage();

 private:
  void run();
  [[nodiscard]] bool take_wish();
  [[nodiscard]] bool fill_next();

  PlayTape tape_;
  PlayFeed* feed_ = nullptr;
  std::uint64_t step_ns_ = 1'000'000;
  std::atomic<double> speed_;
  std::mutex mutex_;  // wish_, damage_
  std::optional<std::uint64_t> wish_;
  std::uint32_t wish_generation_ = 0;
  std::string damage_;
  // The thread's.
  std::uint32_t generation_ = 0;
  double position_ns_ = 0;  // from the begin
  bool ended_ = false;
  std::atomic<bool> stop_{false};
  int avoid_cpu_ = -1;
  std::thread thread_;
};

}  // namespace tactus::record
