// What a pair of shapes remembers between ticks. One fixed-size record for all contact models: a common part and a
// block that belongs to the model. Part of State: a snapshot without it would break the replay.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "core/collide/narrow_phase.h"

namespace tactus {

// Drumwright Fig. 2. apart -> impacting when a new contact approaches faster than epsilon; -> resting when it does not,
// or when the impact is done. resting stays until the pair separates; a resting pair impacts again only when a third
// body hits one of the two.
enum class ContactPhase : std::uint8_t { apart = 0, impacting = 1, resting = 2 };

// Identifies a pair: shape_a < shape_b. Ordered by a, then b, then patch. What is not convex may touch in several
// places, each a manifold with a memory of its own: patch counts them; convex pairs have patch 0 only.
struct PairKey {
  std::uint32_t shape_a = 0, shape_b = 0, patch = 0;
  friend constexpr bool operator==(PairKey, PairKey) = default;
  friend constexpr auto operator<=>(PairKey, PairKey) = default;
};

struct PairRecord {
  PairKey key;
  ContactPhase phase = ContactPhase::apart;
  std::uint8_t met = 0;  // looked at before: of pairs in closed form all that their witness is
  std::uint8_t reserved[2] = {};
  std::uint32_t age = 0;  // ticks in contact without interruption
  Witness witness;
  std::array<double, 19>
      model{};  // the present contact model's block; all zero on first contact and after a switch of model
};
static_assert(std::is_trivially_destructible_v<PairRecord>);

// A pair whose boxes no longer overlap, and what it knew: it starts from there if they do again.
struct LeftPair {
  PairKey key;
  Witness witness;
};

// The model's view of its block. T is a plain struct of at most 19 doubles, for which all zero means "remembers
// nothing".
template <typename T>
T load_block(const PairRecord& record) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(record.model));
  T block;
  std::memcpy(&block, record.model.data(), sizeof(T));
  return block;
}
template <typename T>
void store_block(PairRecord& record, const T& block) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(record.model));
  std::memcpy(record.model.data(), &block, sizeof(T));
}

// Sorted by key, fixed capacity. Copyable, O(size): only the records in use are copied; between memories of equal
// capacity nothing is allocated.
class PairMemory {
 public:
  explicit PairMemory(std::uint32_t capacity = 0) : records_(capacity), left_(capacity), from_(capacity) {}
  PairMemory(const PairMemory& other)
      : records_(other.records_.size()), left_(other.left_.size()), from_(other.from_.size()) {
    *this = other;
  }
  PairMemory& operator=(const PairMemory& other);
  PairMemory(PairMemory&&) noexcept = default;
  PairMemory& operator=(PairMemory&&) noexcept = default;
  ~PairMemory() = default;

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(records_.size()); }
  PairRecord& operator[](std::uint32_t i) noexcept {
    TACTUS_DCHECK(i < records_.size());
    return records_[i];
  }
  const PairRecord& operator[](std::uint32_t i) const noexcept {
    TACTUS_DCHECK(i < records_.size());
    return records_[i];
  }
  [[nodiscard]] std::span<const PairRecord> records() const noexcept { return {records_.data(), size_}; }

  // Makes the memory hold exactly these keys (sorted, unique, at most capacity): kept records survive, new ones start
  // empty. O(n); only records whose place changes are moved. scratch: room for capacity records. keep_left: witnesses
  // of those that go are kept for when they come back, as far as there is room; otherwise none are.
  void match(std::span<const PairKey> keys, PairRecord* scratch, bool keep_left = false) noexcept;
  // Sorted by key; none of them in records().
  [[nodiscard]] std::span<const LeftPair> left() const noexcept { return {left_.data(), left_size_}; }
  std::span<LeftPair> resize_left(std::uint32_t n) noexcept;  // at most capacity
  // Clears every record's model block (a switch of contact model); phases, ages and witnesses stay.
  void clear_model_blocks() noexcept;
  void clear() noexcept { size_ = left_size_ = 0; }
  PairRecord* data() noexcept { return records_.data(); }
  void set_size(std::uint32_t n) noexcept {
    TACTUS_ASSERT(n <= records_.size());
    size_ = n;
  }

 private:
  [[nodiscard]] bool take_left(const PairKey& key, std::uint32_t& from, Witness& witness) noexcept;
  void add_left(std::span<const PairRecord> gone) noexcept;
  std::uint32_t move_forward(std::span<const PairKey> keys, PairRecord* gone) noexcept;

  std::vector<PairRecord> records_;
  std::vector<LeftPair> left_;
  std::vector<std::uint32_t> from_;  // of match(): which record each key had
  std::uint32_t size_ = 0, left_size_ = 0;
};

}  // namespace tactus
