#include "server/record/tape.h"

#include <utility>

namespace tactus::record {

Tape::Tape(std::istream& in) : reader_(in) {
  v1::Record first;
  is_recording_ = reader_.next(first);
  if (is_recording_) header_ = std::move(*first.mutable_header());
}

bool Tape::fetch() {
  v1::Record record;
  if (!reader_.next(record)) return false;
  ahead_.push_back(std::move(record));
  return true;
}

bool Tape::next(v1::Record& out) {
  if (ahead_.empty()) return reader_.next(out);
  out = std::move(ahead_.front());
  ahead_.pop_front();
  return true;
}

const v1::Record* Tape::find(const std::function<bool(const v1::Record&)>& wanted) {
  for (std::size_t i = 0; i < kAhead; ++i) {
    if (i >= ahead_.size() && !fetch()) return nullptr;
    if (wanted(ahead_[i])) return &ahead_[i];
  }
  return nullptr;
}

const v1::WorldOperation* Tape::operation(std::uint64_t ticket) {
  const v1::Record* found =
      find([ticket](const v1::Record& r) { return r.has_operation() && r.operation().ticket() == ticket; });
  return found == nullptr ? nullptr : &found->operation();
}

const v1::Keyframe* Tape::keyframe(std::uint64_t ticket) {
  const v1::Record* found =
      find([ticket](const v1::Record& r) { return r.has_keyframe() && r.keyframe().ticket() == ticket; });
  return found == nullptr ? nullptr : &found->keyframe();
}

}  // namespace tactus::record
