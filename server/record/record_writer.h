// A recording as bytes: Records become messages of an MCAP file, one channel a kind, each with the descriptors that
// readers without this program's sources need. proto/cpp/record_file.h reads it. Pure: bytes out.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <google/protobuf/message.h>

#include "record.pb.h"
#include "server/record/mcap_writer.h"

namespace tactus::record {

class RecordWriter {
 public:
  // The header is the first message; scene and settings are attachments, too, for people and other programs.
  explicit RecordWriter(const v1::RecordHeader& header);

  // Any kind but header and end. time_ns: since 1970, of the simulated time that was recorded.
  void add(const v1::Record& record, std::uint64_t time_ns);
  // Channels of others beside our own: topic, and messages of one type.
  [[nodiscard]] std::uint16_t add_channel(const std::string& topic, const google::protobuf::Descriptor& type);
  void add(std::uint16_t channel, const google::protobuf::Message& message, std::uint64_t time_ns);
  // All that was added can be read once its bytes are in the file.
  void flush() { file_.close_chunk(); }
  // Counts its own records.
  void finish(v1::RecordEnd end, std::uint64_t time_ns);

  [[nodiscard]] std::string take() { return file_.take(); }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t bytes() const { return file_.bytes(); }
  [[nodiscard]] bool pending() const { return file_.chunk_open(); }

 private:
  void put(const v1::Record& record, std::uint64_t time_ns);
  void add_channels();

  static constexpr std::size_t kKinds = 32;  // field numbers of Record's oneof
  mcap::Writer file_;
  std::array<int, kKinds> channels_{};  // by field number; -1: none
  std::uint64_t records_ = 0;           // of our own channels
  std::string scratch_;
};

// The message's type and all that it is made of, files without dependencies first: a FileDescriptorSet.
std::string descriptor_set(const google::protobuf::Descriptor& type);

}  // namespace tactus::record
