#include "server/session/command_parts.h"

#include <algorithm>

#include "core/check.h"

namespace tactus {

CommandParts::Slot* CommandParts::find(std::uint64_t sequence) noexcept {
  for (Slot& slot : slots_) {
    if (slot.open && slot.sequence == sequence) return &slot;
  }
  return nullptr;
}

CommandParts::Slot* CommandParts::earliest() noexcept {
  Slot* out = nullptr;
  for (Slot& slot : slots_) {
    if (slot.open && (out == nullptr || slot.due < out->due)) out = &slot;
  }
  return out;
}

bool CommandParts::is_closed(std::uint64_t sequence) const noexcept {
  return std::find(closed_.begin(), closed_.end(), sequence) != closed_.end();
}

void CommandParts::close(std::uint64_t sequence) noexcept {
  if (Slot* slot = find(sequence)) slot->open = false;
  closed_[closed_at_++ % kClosed] = sequence;
  told_ = sequence;
}

std::size_t CommandParts::offset(const Slot& slot, std::uint32_t part) const noexcept {
  const auto index = static_cast<std::size_t>(&slot - slots_.data());
  return (index * wire::kCommandPartsMax + part) * kPartBytes;
}

CommandParts::Taken CommandParts::take(const Part& part, std::uint64_t due) noexcept {
  complete_ = nullptr;
  told_ = part.sequence;
  const bool impossible = part.parts < 2 || part.part >= part.parts || part.sequence <= part.part;
  if (impossible) return Taken::malformed;
  const std::uint64_t first = part.sequence - part.part;
  if (is_closed(first)) return Taken::late;
  Slot* slot = find(first);
  const bool contradicts = slot != nullptr && (slot->parts != part.parts || (slot->have >> part.part & 1u) != 0);
  if (part.parts > wire::kCommandPartsMax || part.payload.size() > kPartBytes || contradicts) {
    close(first);
    return Taken::malformed;
  }
  if (slot == nullptr) {
    slot = std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.open; });
    if (slot == slots_.end()) return Taken::full;
    *slot = {};
    slot->open = true;
    slot->sequence = first;
    slot->due = due;
    slot->parts = part.parts;
  }
  std::copy(part.payload.begin(), part.payload.end(),
            bytes_.begin() + static_cast<std::ptrdiff_t>(offset(*slot, part.part)));
  slot->length[part.part] = static_cast<std::uint32_t>(part.payload.size());
  slot->have |= 1u << part.part;
  if (slot->have != (1u << slot->parts) - 1u) return Taken::waiting;
  close(first);
  complete_ = slot;
  return Taken::complete;
}

std::span<const std::uint8_t> CommandParts::part(std::uint32_t index) const noexcept {
  TACTUS_ASSERT(complete_ != nullptr && index < complete_->parts);
  return {bytes_.data() + offset(*complete_, index), complete_->length[index]};
}

std::optional<std::uint64_t> CommandParts::take_overdue(std::uint64_t now) noexcept {
  const Slot* slot = earliest();
  if (slot == nullptr || slot->due > now) return std::nullopt;
  return make_room();
}

std::uint64_t CommandParts::make_room() noexcept {
  Slot* slot = earliest();
  TACTUS_ASSERT(slot != nullptr);
  close(slot->sequence);
  return told_;
}

}  // namespace tactus
