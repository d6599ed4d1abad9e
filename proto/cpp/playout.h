// A playout buffer for cumulative signals over a link with jitter and loss: samples are played at now - (largest age
// seen), holes are interpolated, so that what comes out in a while is what went in. Shared by server and clients; plain
// C++, allocates nothing. Times are counts of each side's own cycles: a constant offset between them does not matter.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tactus::wire {

template <std::size_t N>
class Playout {
 public:
  using Row = std::array<double, N>;
  static constexpr std::size_t kSamples = 512;
  static constexpr std::int64_t kAddedMax = 200;  // a longer silence is a lost link

  // The sender's sample `sent`, arrived at `now`. Late and repeated ones are welcome, in any order.
  void push(std::uint64_t sent, std::uint64_t now, const Row& cumulative) noexcept {
    const auto age = static_cast<std::int64_t>(now) - static_cast<std::int64_t>(sent);
    if (!started_) {
      started_ = true;
      age_max_ = age_min_ = age;
      position_ = static_cast<std::int64_t>(sent);
      value_ = cumulative;
      newest_ = static_cast<std::int64_t>(sent);
    }
    const auto at = static_cast<std::int64_t>(sent);
    // What was lost before it is known, by interpolation, only now: that is its age. Without it a hole would be played
    // in one cycle, and a wave's energy grows with its square.
    const std::int64_t hole = at > newest_ + 1 ? static_cast<std::int64_t>(now) - (newest_ + 1) : age;
    age_max_ = std::max({age_max_, age, std::min(hole, age_min_ + kAddedMax)});
    age_min_ = std::min(age_min_, age);
    if (at <= position_ - static_cast<std::int64_t>(kSamples / 2)) return;
    if (at >= position_ + static_cast<std::int64_t>(kSamples / 2)) jump(at);
    Entry& entry = entries_[index(at)];
    entry = {at, true, cumulative};
    newest_ = std::max(newest_, at);
  }

  // One cycle: what is to be played in it, the increment of the cumulative signal. False: nothing new is due; zero.
  bool advance(std::uint64_t now, Row& increment) noexcept {
    increment.fill(0);
    if (!started_) return false;
    const std::int64_t wanted = static_cast<std::int64_t>(now) - age_max_;
    const std::int64_t to = std::min(wanted, newest_);
    if (to <= position_) return wanted > newest_ && hold(increment);
    const Row before = value_;
    value_ = at(to);
    for (std::size_t i = 0; i < N; ++i) {
      const double due = value_[i] - before[i], repaid = kRepay * lent_[i];
      slope_[i] += kSlope * (due / static_cast<double>(to - position_) - slope_[i]);
      lent_[i] -= repaid;
      increment[i] = due - repaid;
    }
    position_ = to;
    held_ = 0;
    return true;
  }
  // Cycles from sending to playing, less the least seen: what the buffer adds.
  [[nodiscard]] std::int64_t added() const noexcept { return started_ ? age_max_ - age_min_ : 0; }
  // In free space only: a peak is forgotten by one cycle.
  void relax() noexcept {
    if (started_ && age_max_ > age_min_) --age_max_;
  }
  void clear() noexcept { *this = Playout(); }

 private:
  struct Entry {
    std::int64_t at = 0;
    bool full = false;
    Row value{};
  };
  static std::size_t index(std::int64_t at) noexcept { return static_cast<std::uint64_t>(at) % kSamples; }
  [[nodiscard]] const Entry* find(std::int64_t at) const noexcept {
    const Entry& entry = entries_[index(at)];
    return entry.full && entry.at == at ? &entry : nullptr;
  }
  // The signal at a sample that may have been lost: on the line between what is known around it.
  [[nodiscard]] Row at(std::int64_t t) const noexcept {
    std::int64_t next = t;
    while (next < newest_ && find(next) == nullptr) ++next;
    const Entry* entry = find(next);
    if (entry == nullptr) return value_;
    if (next == t) return entry->value;
    Row out;
    const double share = static_cast<double>(t - position_) / static_cast<double>(next - position_);
    for (std::size_t i = 0; i < N; ++i) out[i] = value_[i] + share * (entry->value[i] - value_[i]);
    return out;
  }
  // A hole longer than any before: what comes in it is not known. Nothing would be a pulse, which the line echoes; so
  // the signal goes on as it was for a while, and what was lent is taken back from what comes, too slowly to be felt.
  bool hold(Row& increment) noexcept {
    if (held_ >= kHold) return false;
    ++held_;
    for (std::size_t i = 0; i < N; ++i) increment[i] = slope_[i], lent_[i] += slope_[i];
    return true;
  }
  void jump(std::int64_t at) noexcept { position_ = at - static_cast<std::int64_t>(kSamples / 2) + 1; }

  std::array<Entry, kSamples> entries_{};
  static constexpr int kHold = 20;  // cycles
  static constexpr double kSlope = 1.0 / 8, kRepay = 1.0 / 200;
  Row value_{}, slope_{}, lent_{};  // slope_: of what was played; lent_: played beyond what is known
  int held_ = 0;
  std::int64_t position_ = 0, newest_ = 0, age_max_ = 0, age_min_ = 0;
  bool started_ = false;
};

}  // namespace tactus::wire
