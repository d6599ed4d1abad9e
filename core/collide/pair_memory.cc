#include "core/collide/pair_memory.h"

#include <algorithm>

#include "core/check.h"

namespace tactus {

namespace {
constexpr std::uint32_t kTaken = 0xffffffffu;
}

PairMemory& PairMemory::operator=(const PairMemory& other) {
  if (this == &other) return *this;
  if (records_.size() != other.records_.size()) {
    records_.assign(other.records_.size(), PairRecord{});
    left_.assign(other.left_.size(), LeftPair{});
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

// Those taken go, and records that are not among the keys come: two sorted runs, merged from behind.
void PairMemory::add_left(std::span<const PairKey> keys) noexcept {
  const auto taken = [](const LeftPair& pair) { return pair.key.patch == kTaken; };
  const auto end = std::remove_if(left_.begin(), left_.begin() + left_size_, taken);
  auto old = static_cast<std::uint32_t>(end - left_.begin());
  std::uint32_t gone = 0;
  for (std::size_t i = 0, k = 0; i < size_; ++i) {
    while (k < keys.size() && keys[k] < records_[i].key) ++k;
    if (k < keys.size() && keys[k] == records_[i].key) continue;
    records_[gone++] = records_[i];  // no longer needed where it was
  }
  gone = std::min(gone, static_cast<std::uint32_t>(left_.size()) - old);
  left_size_ = old + gone;
  for (std::uint32_t at = left_size_; gone > 0;) {
    if (old > 0 && records_[gone - 1].key < left_[old - 1].key) {
      left_[--at] = left_[--old];
    } else {
      --gone;
      left_[--at] = {records_[gone].key, records_[gone].witness};
    }
  }
}

void PairMemory::match(std::span<const PairKey> keys, PairRecord* scratch, bool keep_left) noexcept {
  TACTUS_ASSERT(keys.size() <= records_.size());
  if (!keep_left) left_size_ = 0;
  const auto same = [](const PairRecord& record, const PairKey& key) { return record.key == key; };
  if (keys.size() == size_ && std::equal(records_.begin(), records_.begin() + size_, keys.begin(), same)) return;
  std::uint32_t old = 0, left = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    TACTUS_DCHECK(i == 0 || keys[i - 1] < keys[i]);
    while (old < size_ && records_[old].key < keys[i]) ++old;
    if (old < size_ && records_[old].key == keys[i]) {
      scratch[i] = records_[old];
    } else {
      scratch[i] = PairRecord{};
      scratch[i].key = keys[i];
      scratch[i].met = take_left(keys[i], left, scratch[i].witness) ? 1 : 0;
    }
  }
  if (keep_left) add_left(keys);
  std::copy(scratch, scratch + keys.size(), records_.begin());
  size_ = static_cast<std::uint32_t>(keys.size());
}

void PairMemory::clear_model_blocks() noexcept {
  for (std::uint32_t i = 0; i < size_; ++i) records_[i].model.fill(0.0);
}

}  // namespace tactus
