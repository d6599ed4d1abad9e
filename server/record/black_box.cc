#include "server/record/black_box.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"

namespace tactus::record {

BlackBox::BlackBox(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes / kAlign, 64) * kAlign) {}

BlackBox::Entry BlackBox::entry_at(std::uint64_t position) const noexcept {
  Entry entry;
  std::memcpy(&entry, &bytes_[position % bytes_.size()], sizeof entry);
  return entry;
}

void BlackBox::write_entry(const Entry& entry) noexcept {
  std::memcpy(&bytes_[head_ % bytes_.size()], &entry, sizeof entry);
}

void BlackBox::make_room(std::size_t bytes) noexcept {
  while (head_ + bytes - tail_ > bytes_.size()) tail_ += footprint(entry_at(tail_).size);
}

// An entry never wraps: where it would, padding fills the end of the ring.
bool BlackBox::append(std::uint16_t kind, double time, std::initializer_list<Bytes> parts) noexcept {
  TACTUS_ASSERT(kind != kPadding);
  std::size_t size = 0;
  for (const Bytes part : parts) size += part.size();
  const std::size_t need = footprint(size);
  if (need > bytes_.size() / 4) return false;
  const std::size_t left = bytes_.size() - head_ % bytes_.size();
  if (left < need) {
    make_room(left);
    write_entry({static_cast<std::uint32_t>(left - sizeof(Entry)), kPadding, 0, time});
    head_ += left;
  }
  make_room(need);
  write_entry({static_cast<std::uint32_t>(size), kind, 0, time});
  std::byte* out = &bytes_[head_ % bytes_.size()] + sizeof(Entry);
  for (const Bytes part : parts) {
    if (!part.empty()) std::memcpy(out, part.data(), part.size());
    out += part.size();
  }
  head_ += need;
  for (Entry oldest = entry_at(tail_); oldest.time < time - keep_; oldest = entry_at(tail_))
    tail_ += footprint(oldest.size);
  TACTUS_ASSERT(tail_ < head_);
  return true;
}

bool BlackBox::at(std::uint64_t& position, std::uint64_t end, Entry& entry, Bytes& bytes) const noexcept {
  TACTUS_ASSERT(position >= tail_ && end <= head_);
  while (position < end) {
    entry = entry_at(position);
    bytes = {&bytes_[position % bytes_.size()] + sizeof(Entry), entry.size};
    position += footprint(entry.size);
    if (entry.kind != kPadding) return true;
  }
  return false;
}

}  // namespace tactus::record
