// Recordings: MCAP files with one channel per kind of Record, topic "tactus/KIND" (KIND as in the oneof of Record), in
// the order in which things happened. proto/record.proto says what they mean.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "proto/cpp/mcap_reader.h"
#include "record.pb.h"

namespace tactus::wire {

inline constexpr char kTopicPrefix[] = "tactus/";

// Reads a file record by record. Everything up to the first damage is good; what follows damage is not looked at.
class RecordReader {
 public:
  explicit RecordReader(std::istream& in) : file_(in) {}
  // False: the end, or damage.
  bool next(v1::Record& out);
  // As mcap::Reader::jump(), after the header was read.
  void jump(std::uint64_t offset) {
    file_.jump(offset);
    damage_.clear();
  }
  [[nodiscard]] bool damaged() const { return !damage_.empty(); }
  // What is wrong and at which byte; empty when the file is whole.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  [[nodiscard]] std::uint64_t offset() const { return file_.offset(); }  // up to which all is good
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t time_ns() const { return time_ns_; }  // of the last record
  [[nodiscard]] bool is_recording() const { return records_ > 0; }  // else: not one of Tactus

 private:
  const google::protobuf::FieldDescriptor* field_of(std::uint16_t channel);
  bool fail(const std::string& what);

  mcap::Reader file_;
  std::vector<const google::protobuf::FieldDescriptor*> fields_;  // by channel; null: not ours
  std::vector<bool> known_;
  std::string damage_;
  std::uint64_t records_ = 0, time_ns_ = 0;
};

}  // namespace tactus::wire
