// A recording as a replay reads it: record after record, with a look ahead for what net wrote down later than the tick.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>

#include "proto/cpp/record_file.h"

namespace tactus::record {

class Tape {
 public:
  explicit Tape(std::istream& in);
  // False: the end, or damage.
  bool next(v1::Record& out);
  // The first record to come that is wanted; null: there is none within so many records. Valid until next().
  const v1::Record* find(const std::function<bool(const v1::Record&)>& wanted);
  const v1::WorldOperation* operation(std::uint64_t ticket);
  const v1::Keyframe* keyframe(std::uint64_t ticket);
  [[nodiscard]] const v1::RecordHeader& header() const { return header_; }
  [[nodiscard]] bool is_recording() const { return is_recording_; }
  [[nodiscard]] const std::string& damage() const { return reader_.damage(); }

 private:
  bool fetch();

  static constexpr std::size_t kAhead = 20'000;
  wire::RecordReader reader_;
  v1::RecordHeader header_;
  bool is_recording_ = false;
  std::deque<v1::Record> ahead_;
};

}  // namespace tactus::record
