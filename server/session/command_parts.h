// Commands that come in several datagrams (CommandPacket.part of parts, sequence numbers that follow each other): kept
// until all parts are here, or until the time of one is over. Each is told once: complete, or incomplete. Nothing is
// allocated after construction; O(parts kept).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/cpp/wire.h"

namespace tactus {

class CommandParts {
 public:
  static constexpr std::size_t kOpen = 4;     // commands under way at one time
  static constexpr std::size_t kClosed = 32;  // remembered: as many as fit the window of sequence numbers
  static constexpr std::size_t kPartBytes = wire::kDatagramMax - wire::kHeaderBytes - wire::kMacBytes;

  struct Part {
    std::uint64_t sequence = 0;  // of its datagram
    std::uint32_t part = 0, parts = 0;
    std::span<const std::uint8_t> payload;
  };
  enum class Taken : std::uint8_t {
    waiting,    // others are still to come
    complete,   // part(0) to part(parts - 1), until the next call of take()
    late,       // of a command that has its verdict
    malformed,  // no such part, too many, too long, or it contradicts the parts before it: the command is over
    full        // make_room() first
  };
  CommandParts() : bytes_(kOpen * wire::kCommandPartsMax * kPartBytes) {}

  // due: when the command is given up unless it is complete; that of its first part counts.
  [[nodiscard]] Taken take(const Part& part, std::uint64_t due) noexcept;
  [[nodiscard]] std::uint64_t sequence() const noexcept { return told_; }  // of part 0: of what take() told last
  [[nodiscard]] std::uint32_t parts() const noexcept { return complete_ == nullptr ? 0 : complete_->parts; }
  [[nodiscard]] std::span<const std::uint8_t> part(std::uint32_t index) const noexcept;
  // The sequence of a command whose time is over; it is given up. Ask again until there is none.
  [[nodiscard]] std::optional<std::uint64_t> take_overdue(std::uint64_t now) noexcept;
  // Gives up the command that would be given up next.
  [[nodiscard]] std::uint64_t make_room() noexcept;

 private:
  struct Slot {
    bool open = false;
    std::uint64_t sequence = 0, due = 0;
    std::uint32_t parts = 0, have = 0;  // have: one bit a part
    std::array<std::uint32_t, wire::kCommandPartsMax> length{};
  };
  [[nodiscard]] Slot* find(std::uint64_t sequence) noexcept;
  [[nodiscard]] Slot* earliest() noexcept;
  [[nodiscard]] bool is_closed(std::uint64_t sequence) const noexcept;
  void close(std::uint64_t sequence) noexcept;
  [[nodiscard]] std::size_t offset(const Slot& slot, std::uint32_t part) const noexcept;

  std::array<Slot, kOpen> slots_{};
  std::vector<std::uint8_t> bytes_;
  std::array<std::uint64_t, kClosed> closed_{};  // sequences of part 0
  std::size_t closed_at_ = 0;
  std::uint64_t told_ = 0;
  const Slot* complete_ = nullptr;
};

}  // namespace tactus
