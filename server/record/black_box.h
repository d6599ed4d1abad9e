// The memory of the last seconds: entries of any length in a ring of fixed size, the oldest given up for the newest.
// Pure: no thread, no clock. Nothing is allocated after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace tactus::record {

using Bytes = std::span<const std::byte>;

class BlackBox {
 public:
  // What lies before an entry's bytes.
  struct Entry {
    std::uint32_t size = 0;  // of its bytes, without this and padding
    std::uint16_t kind = 0;  // the user's; kPadding is ours
    std::uint16_t reserved = 0;
    double time = 0;  // [s]
  };
  static constexpr std::uint16_t kPadding = 0xffff;

  explicit BlackBox(std::size_t bytes);

  // Entries older than this behind the newest are given up [s].
  void keep(double seconds) noexcept { keep_ = seconds; }
  // The parts one after another, as one entry. Times do not decrease. False, and nothing changes: larger than a quarter
  // of the ring.
  bool append(std::uint16_t kind, double time, std::initializer_list<Bytes> parts) noexcept;
  void clear() noexcept { tail_ = head_; }

  // Positions count bytes since construction and only grow: entries stand from tail() to head().
  [[nodiscard]] std::uint64_t tail() const noexcept { return tail_; }
  [[nodiscard]] std::uint64_t head() const noexcept { return head_; }
  [[nodiscard]] double oldest_time() const noexcept { return entry_at(tail_).time; }  // not when empty
  [[nodiscard]] std::size_t capacity() const noexcept { return bytes_.size(); }
  // The entry at a position between tail and head, its bytes, and where the next one stands. Padding is skipped; false
  // when there is none before `end`.
  bool at(std::uint64_t& position, std::uint64_t end, Entry& entry, Bytes& bytes) const noexcept;

 private:
  static constexpr std::size_t kAlign = 16;
  static_assert(sizeof(Entry) == kAlign);
  [[nodiscard]] static std::size_t footprint(std::size_t size) noexcept {
    return sizeof(Entry) + (size + kAlign - 1) / kAlign * kAlign;
  }
  [[nodiscard]] Entry entry_at(std::uint64_t position) const noexcept;
  void write_entry(const Entry& entry) noexcept;
  void make_room(std::size_t bytes) noexcept;

  std::vector<std::byte> bytes_;
  std::uint64_t tail_ = 0, head_ = 0;
  double keep_ = 1e300;
};

}  // namespace tactus::record
