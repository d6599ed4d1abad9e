#include "core/collide/pair_memory.h"

#include <algorithm>

#include "core/check.h"

namespace tactus {

namespace {
constexpr std::uint32_t kTaken = 0xffffffffu, kNew = 0xffffffffu;
}

PairMemory& PairMemory::operator=(const PairMemory& other) {
  if (this == &other) return *this;
  if (records_.size() != other.records_.size()) {
    records_.assign(other.records_.size(), PairRecord{});
    left_.assign(other.left_.size(), LeftPair{});
    from_.assign(other.from_.size(), 0);
  }
  std::copy(other.records_.begin(), other.records_.begin() + other.size_, records_.begin());
  size_ = other.size_;
  std::copy(other.left_.begin(), other.left_.begin() + other.left_size_, left_.begin());
  left_size_ = other.left_size_;
  return *this;
}

std::span<LeftPair> PairMemory::resize_left(std::uint32_t n) noexcept {
  TACTUS_ASSERT(n <= left_.size());
  left_size_ = n;
  return {left_.data(), n};
}

// Out of left_, where only its place is marked. from: where to look on, for keys in order.
bool PairMemory::take_left(const PairKey& key, std::uint32_t& from, Witness& witness) noexcept {
  while (from < left_size_ && left_[from].key < key) ++from;
  if (from == left_size_ || left_[from].key != key) return false;
  witness = left_[from].witness;
  left_[from++].key.patch = kTaken;
  return true;
}

// Those taken go, and `gone` come: two sorted runs, merged from behind.
void PairMemory::add_left(std::span<const PairRecord> gone) noexcept {
  const auto taken = [](const LeftPair& pair) { return pair.key.patch == kTaken; };
  const auto end = std::remove_if(left_.begin(), left_.begin() + left_size_, taken);
  auto old = static_cast<std::uint32_t>(end - left_.begin());
  auto more = std::min(static_cast<std::uint32_t>(gone.size()), static_cast<std::uint32_t>(left_.size()) - old);
  left_size_ = old + more;
  for (std::uint32_t at = left_size_; more > 0;) {
    if (old > 0 && gone[more - 1].key < left_[old - 1].key) {
      left_[--at] = left_[--old];
    } else {
      --more;
      left_[--at] = {gone[more].key, gone[more].witness};
    }
  }
}

// Where each key's record is now, kNew where it has none. Those that go forward are there already: from the front, so
// that none is written over before its turn. Records without a key are copied to `gone`, if any wants them.
std::uint32_t PairMemory::move_forward(std::span<const PairKey> keys, PairRecord* gone) noexcept {
  std::uint32_t old = 0, gone_count = 0;
  const auto leave = [&](const PairKey* before) {
    for (; old < size_ && (before == nullptr || records_[old].key < *before); ++old) {
      if (gone != nullptr) gone[gone_count++] = records_[old];
    }
  };
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    TACTUS_DCHECK(i == 0 || keys[i - 1] < keys[i]);
    leave(&keys[i]);
    from_[i] = old < size_ && records_[old].key == keys[i] ? old++ : kNew;
    if (from_[i] != kNew && from_[i] > i) records_[i] = records_[from_[i]];
  }
  leave(nullptr);
  return gone_count;
}

// Most ticks a few pairs come and go: records move only as far as those make them, and what stays is not touched.
void PairMemory::match(std::span<const PairKey> keys, PairRecord* scratch, bool keep_left) noexcept {
  TACTUS_ASSERT(keys.size() <= records_.size());
  if (!keep_left) left_size_ = 0;
  const auto same = [](const PairRecord& record, const PairKey& key) { return record.key == key; };
  if (keys.size() == size_ && std::equal(records_.begin(), records_.begin() + size_, keys.begin(), same)) return;
  const std::uint32_t gone = move_forward(keys, keep_left ? scratch : nullptr);
  size_ = static_cast<std::uint32_t>(keys.size());
  for (std::uint32_t i = size_; i-- > 0;) {
    if (from_[i] != kNew && from_[i] < i) records_[i] = records_[from_[i]];
  }
  std::uint32_t left = 0;
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (from_[i] != kNew) continue;
    records_[i] = PairRecord{};
    records_[i].key = keys[i];
    records_[i].met = take_left(keys[i], left, records_[i].witness) ? 1 : 0;
  }
  TACTUS_DCHECK(!keep_left || (scratch != nullptr && gone <= records_.size()));
  if (keep_left) add_left({scratch, gone});
}

void PairMemory::clear_model_blocks() noexcept {
  for (std::uint32_t i = 0; i < size_; ++i) records_[i].model.fill(0.0);
}

}  // namespace tactus
