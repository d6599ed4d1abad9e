// Recordings: Records one after another, each preceded by its length as a varint and ended by its CRC-32. Writing into
// a buffer, reading from a stream. proto/record.proto says what they mean.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "record.pb.h"

namespace tactus::wire {

inline constexpr std::size_t kRecordBytesMax = 64u << 20;  // of one record; a longer length is damage

// Appends the record, with its length before it and its CRC as its last field. The record's own crc must be unset.
void append_record(const v1::Record& record, std::string& out);

// Reads a file record by record. Everything up to the first damage is good; what follows damage is not looked at.
class RecordReader {
 public:
  explicit RecordReader(std::istream& in) : in_(in) {}
  // False: the end, or damage.
  bool next(v1::Record& out);
  [[nodiscard]] bool damaged() const { return !damage_.empty(); }
  // What is wrong and at which byte; empty when the file ended where a record ends.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }  // of the next record
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  bool read_length(std::uint64_t& length, std::uint64_t& prefix);
  bool fail(const std::string& what);

  std::istream& in_;
  std::string bytes_, damage_;
  std::uint64_t offset_ = 0, records_ = 0;
};

}  // namespace tactus::wire
