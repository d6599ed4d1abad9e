// Writes an MCAP file: chunks with message indexes, CRCs, attachments, metadata and a summary. Pure: bytes out, to be
// taken from time to time and written in their order; the memory is one chunk and 50 bytes a chunk written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tactus::mcap {

struct WriterOptions {
  std::string library;                // who wrote it
  std::size_t chunk_bytes = 1 << 20;  // a chunk is closed when it holds so much, unpacked
  bool zstd = true;
  int level = -3;  // zstd: half the time of 1 for 4 % more bytes (a pile in motion)
};

class Writer {
 public:
  explicit Writer(const WriterOptions& options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Ids count from 1 (schemas) and 0 (channels). A channel's schema must exist.
  std::uint16_t add_schema(std::string_view name, std::string_view encoding, std::string_view data);
  std::uint16_t add_channel(std::uint16_t schema, std::string_view topic, std::string_view encoding);
  // Times [ns] need not increase. Sequence numbers count a channel's messages from 0.
  void add_message(std::uint16_t channel, std::uint64_t time_ns, std::string_view data);
  // These close the chunk.
  void add_attachment(std::string_view name, std::string_view media_type, std::uint64_t time_ns, std::string_view data);
  void add_metadata(std::string_view name, const std::map<std::string, std::string>& values);
  void close_chunk();  // what was added can be read once its bytes are in the file
  void finish();       // nothing may be added afterwards

  // What came since the last call.
  [[nodiscard]] std::string take();
  [[nodiscard]] std::uint64_t bytes() const { return position_; }  // of the file until now, open chunk not included
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] bool chunk_open() const { return !chunk_.empty(); }

 private:
  using Index = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // time, offset in the chunk
  struct Channel {
    std::uint16_t schema;
    std::uint64_t messages = 0;
    Index index;  // of the open chunk
  };
  struct ChunkIndex {
    std::uint64_t start, end, offset, length, index_length, packed, unpacked;
    std::map<std::uint16_t, std::uint64_t> index_offsets;
  };
  struct Packer;

  void emit(std::string_view bytes);
  std::string_view pack();
  void write_indexes(ChunkIndex& chunk);
  std::string summary() const;

  const WriterOptions options_;
  std::unique_ptr<Packer> packer_;
  std::string out_, chunk_, packed_;
  std::uint64_t position_ = 0, messages_ = 0;
  std::uint32_t data_crc_ = 0;
  std::uint64_t first_ns_ = 0, last_ns_ = 0, chunk_first_ns_ = 0, chunk_last_ns_ = 0;
  bool chunk_has_messages_ = false, finished_ = false;
  std::uint32_t attachments_ = 0, metadata_ = 0;
  std::uint16_t schemas_ = 0;
  std::string schema_records_, channel_records_, attachment_indexes_, metadata_indexes_;
  std::vector<Channel> channels_;
  std::vector<ChunkIndex> chunks_;
};

}  // namespace tactus::mcap
