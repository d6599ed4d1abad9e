// Reads any MCAP file message by message, in the order of the file, and checks what can be checked: magic, lengths, the
// CRC of each chunk before a message of it is given out, of the data section, of attachments and of the summary. Up to
// the first damage all is good; what follows it is not looked at. A file has its messages in chunks, or has no chunks.
// Of a file that was cut off all whole chunks are read.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tactus::mcap {

struct Message {
  std::uint16_t channel = 0;
  std::uint32_t sequence = 0;
  std::uint64_t time_ns = 0;  // log time
  std::string_view data;      // valid until the next call
};

struct ChannelInfo {
  std::string topic, encoding, schema, schema_encoding;
};

// Where a chunk stands, and the times of its messages [ns].
struct ChunkPlace {
  std::uint64_t offset = 0, first_ns = 0, last_ns = 0;
};
// All whole chunks of a file, in their order, by the heads of its records alone: nothing is unpacked, and nothing
// checked but that it fits the file.
std::vector<ChunkPlace> find_chunks(std::istream& in);

class Reader {
 public:
  // In pieces: a damaged length asks for no more memory than the file has bytes.
  explicit Reader(std::istream& in);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // False: the end, or damage.
  bool next(Message& out);
  // next() goes on with the record at this byte, which is where a chunk begins (find_chunks); whatever was found
  // damaged before is forgotten, and the CRC of the data section, which covers all of it, is not looked at any more.
  void jump(std::uint64_t offset);
  // Of a message that next() gave.
  [[nodiscard]] const ChannelInfo& channel(std::uint16_t id) const { return channels_.at(id); }
  [[nodiscard]] bool damaged() const { return !damage_.empty(); }
  // What is wrong and at which byte; empty when the file is whole.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }  // of the next record; where all before is good
  [[nodiscard]] std::uint64_t chunks() const { return chunks_; }
  [[nodiscard]] bool is_mcap() const { return is_mcap_; }  // the file began like one; after the first next()

 private:
  struct Unpacker;
  struct Schema {
    std::string name, encoding;
  };

  bool fail(const std::string& what);
  bool read_bytes(std::uint64_t count, std::string& out);
  bool begin();
  bool read_record();
  bool take_record(std::uint8_t op, std::string_view content);
  bool take_definition(std::uint8_t op, std::string_view content);
  bool take_message(std::string_view content, Message& out);
  bool take_chunk(std::string_view content);
  bool next_in_chunk(Message& out, bool& found);
  bool unpack(std::string_view compression, std::string_view packed, std::uint64_t size);
  bool take_attachment(std::string_view content);
  bool take_end(std::string_view content);
  bool finish();

  std::istream& in_;
  std::unique_ptr<Unpacker> unpacker_;
  std::string record_, chunk_, damage_;
  std::string_view chunk_rest_, chunk_all_, loose_;  // not yet read of the chunk; a message outside of chunks
  std::uint64_t offset_ = 0, read_ = 0, chunks_ = 0;
  std::uint32_t data_crc_ = 0, crc_before_ = 0;
  bool begun_ = false, is_mcap_ = false, done_ = false, jumped_ = false;
  std::map<std::uint16_t, Schema> schemas_;
  std::map<std::uint16_t, ChannelInfo> channels_;
};

}  // namespace tactus::mcap
