#include "core/collide/pair_memory.h"

#include <algorithm>

#include "core/check.h"

namespace tactus {

PairMemory& PairMemory::operator=(const PairMemory& other) {
  if (this == &other) return *this;
  if (records_.size() != other.records_.size()) records_.assign(other.records_.size(), PairRecord{});
  std::copy(other.records_.begin(), other.records_.begin() + other.size_, records_.begin());
  size_ = other.size_;
  return *this;
}

void PairMemory::match(std::span<const PairKey> keys, PairRecord* scratch) noexcept {
  TACTUS_ASSERT(keys.size() <= records_.size());
  const auto same = [](const PairRecord& record, const PairKey& key) { return record.key == key; };
  if (keys.size() == size_ && std::equal(records_.begin(), records_.begin() + size_, keys.begin(), same)) return;
  std::uint32_t old = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    TACTUS_DCHECK(i == 0 || keys[i - 1] < keys[i]);
    while (old < size_ && records_[old].key < keys[i]) ++old;
    if (old < size_ && records_[old].key == keys[i]) {
      scratch[i] = records_[old];
    } else {
      scratch[i] = PairRecord{};
      scratch[i].key = keys[i];
    }
  }
  std::copy(scratch, scratch + keys.size(), records_.begin());
  size_ = static_cast<std::uint32_t>(keys.size());
}

void PairMemory::clear_model_blocks() noexcept {
  for (std::uint32_t i = 0; i < size_; ++i) records_[i].model.fill(0.0);
}

}  // namespace tactus
