#include "server/record/mcap_writer.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "core/check.h"
#include "proto/cpp/mcap_format.h"

namespace tactus::mcap {
namespace {

std::uint32_t crc(std::uint32_t before, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

void put_record(std::string& out, Op op, std::string_view content) {
  put(out, static_cast<std::uint8_t>(op));
  put(out, static_cast<std::uint64_t>(content.size()));
  out.append(content);
}

// Writes what `fill` appends as a record in place.
template <typename Fill>
void put_filled(std::string& out, Op op, Fill fill) {
  std::string content;
  fill(content);
  put_record(out, op, content);
}

}  // namespace

struct Writer::Packer {
  Packer() : context(ZSTD_createCCtx()) { TACTUS_ASSERT(context != nullptr); }
  ~Packer() { ZSTD_freeCCtx(context); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  ZSTD_CCtx* context;
};

Writer::Writer(const WriterOptions& options) : options_(options), packer_(std::make_unique<Packer>()) {
  std::string head(kMagic);
  put_filled(head, Op::header, [this](std::string& content) {
    put_text(content, "");
    put_text(content, options_.library);
  });
  emit(head);
}

Writer::~Writer() = default;

void Writer::emit(std::string_view bytes) {
  TACTUS_ASSERT(!finished_);
  data_crc_ = crc(data_crc_, bytes);
  position_ += bytes.size();
  out_.append(bytes);
}

std::string Writer::take() {
  std::string out;
  out.swap(out_);
  return out;
}

// Definitions stand in the chunk that needs them, so that a file that was cut off can be read; and again in the
// summary.
std::uint16_t Writer::add_schema(std::string_view name, std::string_view encoding, std::string_view data) {
  const std::uint16_t id = ++schemas_;
  std::string record;
  put_filled(record, Op::schema, [&](std::string& content) {
    put(content, id);
    put_text(content, name);
    put_text(content, encoding);
    put_text(content, data);
  });
  schema_records_ += record;
  chunk_ += record;
  return id;
}

std::uint16_t Writer::add_channel(std::uint16_t schema, std::string_view topic, std::string_view encoding) {
  TACTUS_ASSERT(schema <= schemas_);
  const auto id = static_cast<std::uint16_t>(channels_.size());
  std::string record;
  put_filled(record, Op::channel, [&](std::string& content) {
    put(content, id);
    put(content, schema);
    put_text(content, topic);
    put_text(content, encoding);
    put(content, std::uint32_t{0});  // no metadata
  });
  channel_records_ += record;
  chunk_ += record;
  channels_.push_back({schema, 0, {}});
  return id;
}

void Writer::add_message(std::uint16_t channel, std::uint64_t time_ns, std::string_view data) {
  TACTUS_ASSERT(channel < channels_.size());
  Channel& c = channels_[channel];
  c.index.emplace_back(time_ns, chunk_.size());
  put(chunk_, static_cast<std::uint8_t>(Op::message));
  put(chunk_, static_cast<std::uint64_t>(22 + data.size()));
  put(chunk_, channel);
  put(chunk_, static_cast<std::uint32_t>(c.messages));
  put(chunk_, time_ns);
  put(chunk_, time_ns);
  chunk_.append(data);
  ++c.messages;
  first_ns_ = messages_ == 0 ? time_ns : std::min(first_ns_, time_ns);
  last_ns_ = std::max(last_ns_, time_ns);
  ++messages_;
  chunk_first_ns_ = chunk_has_messages_ ? std::min(chunk_first_ns_, time_ns) : time_ns;
  chunk_last_ns_ = chunk_has_messages_ ? std::max(chunk_last_ns_, time_ns) : time_ns;
  chunk_has_messages_ = true;
  if (chunk_.size() >= options_.chunk_bytes) close_chunk();
}

std::string_view Writer::pack() {
  if (!options_.zstd) return chunk_;
  packed_.resize(ZSTD_compressBound(chunk_.size()));
  const std::size_t n =
      ZSTD_compressCCtx(packer_->context, packed_.data(), packed_.size(), chunk_.data(), chunk_.size(), options_.level);
  TACTUS_ASSERT(ZSTD_isError(n) == 0);
  return {packed_.data(), n};
}

void Writer::close_chunk() {
  if (chunk_.empty()) return;
  const std::string_view packed = pack();
  ChunkIndex chunk{};
  if (chunk_has_messages_) chunk.start = chunk_first_ns_, chunk.end = chunk_last_ns_;
  chunk.offset = position_;
  chunk.packed = packed.size();
  chunk.unpacked = chunk_.size();
  std::string head;
  put(head, chunk.start);
  put(head, chunk.end);
  put(head, chunk.unpacked);
  put(head, crc(0, chunk_));
  put_text(head, options_.zstd ? "zstd" : "");
  put(head, chunk.packed);
  std::string prefix;
  put(prefix, static_cast<std::uint8_t>(Op::chunk));
  put(prefix, static_cast<std::uint64_t>(head.size() + packed.size()));
  chunk.length = prefix.size() + head.size() + packed.size();
  emit(prefix);
  emit(head);
  emit(packed);
  write_indexes(chunk);
  chunks_.push_back(std::move(chunk));
  chunk_.clear();
  chunk_has_messages_ = false;
}

void Writer::write_indexes(ChunkIndex& chunk) {
  std::string record;
  for (std::size_t id = 0; id < channels_.size(); ++id) {
    Index& index = channels_[id].index;
    if (index.empty()) continue;
    record.clear();
    put_filled(record, Op::message_index, [&](std::string& content) {
      put(content, static_cast<std::uint16_t>(id));
      put(content, static_cast<std::uint32_t>(16 * index.size()));
      for (const auto& [time, offset] : index) {
        put(content, time);
        put(content, offset);
      }
    });
    chunk.index_offsets[static_cast<std::uint16_t>(id)] = position_;
    chunk.index_length += record.size();
    emit(record);
    index.clear();
  }
}

void Writer::add_attachment(std::string_view name, std::string_view media_type, std::uint64_t time_ns,
                            std::string_view data) {
  close_chunk();
  std::string content;
  put(content, time_ns);
  put(content, time_ns);
  put_text(content, name);
  put_text(content, media_type);
  put(content, static_cast<std::uint64_t>(data.size()));
  content.append(data);
  put(content, crc(0, content));
  put_filled(attachment_indexes_, Op::attachment_index, [&](std::string& index) {
    put(index, position_);
    put(index, static_cast<std::uint64_t>(kPrefixBytes + content.size()));
    put(index, time_ns);
    put(index, time_ns);
    put(index, static_cast<std::uint64_t>(data.size()));
    put_text(index, name);
    put_text(index, media_type);
  });
  std::string record;
  put_record(record, Op::attachment, content);
  emit(record);
  ++attachments_;
}

void Writer::add_metadata(std::string_view name, const std::map<std::string, std::string>& values) {
  close_chunk();
  std::string map, content, record;
  for (const auto& [key, value] : values) {
    put_text(map, key);
    put_text(map, value);
  }
  put_text(content, name);
  put_text(content, map);
  put_record(record, Op::metadata, content);
  put_filled(metadata_indexes_, Op::metadata_index, [&](std::string& index) {
    put(index, position_);
    put(index, static_cast<std::uint64_t>(record.size()));
    put_text(index, name);
  });
  emit(record);
  ++metadata_;
}

// The groups in the order of the specification, then where each of them stands.
std::string Writer::summary() const {
  std::string statistics, chunk_indexes, out, offsets;
  put_filled(statistics, Op::statistics, [this](std::string& content) {
    put(content, messages_);
    put(content, schemas_);
    put(content, static_cast<std::uint32_t>(channels_.size()));
    put(content, attachments_);
    put(content, metadata_);
    put(content, static_cast<std::uint32_t>(chunks_.size()));
    put(content, first_ns_);
    put(content, last_ns_);
    put(content, static_cast<std::uint32_t>(10 * channels_.size()));
    for (std::size_t id = 0; id < channels_.size(); ++id) {
      put(content, static_cast<std::uint16_t>(id));
      put(content, channels_[id].messages);
    }
  });
  for (const ChunkIndex& c : chunks_) {
    put_filled(chunk_indexes, Op::chunk_index, [&](std::string& content) {
      for (const std::uint64_t x : {c.start, c.end, c.offset, c.length}) put(content, x);
      put(content, static_cast<std::uint32_t>(10 * c.index_offsets.size()));
      for (const auto& [id, offset] : c.index_offsets) {
        put(content, id);
        put(content, offset);
      }
      put(content, c.index_length);
      put_text(content, options_.zstd ? "zstd" : "");
      put(content, c.packed);
      put(content, c.unpacked);
    });
  }
  const auto group = [&](Op op, const std::string& records) {
    if (records.empty()) return;
    put_filled(offsets, Op::summary_offset, [&](std::string& content) {
      put(content, static_cast<std::uint8_t>(op));
      put(content, position_ + out.size());
      put(content, static_cast<std::uint64_t>(records.size()));
    });
    out += records;
  };
  group(Op::schema, schema_records_);
  group(Op::channel, channel_records_);
  group(Op::statistics, statistics);
  group(Op::chunk_index, chunk_indexes);
  group(Op::attachment_index, attachment_indexes_);
  group(Op::metadata_index, metadata_indexes_);
  const std::uint64_t offset_start = position_ + out.size();
  out += offsets;
  put(out, static_cast<std::uint8_t>(Op::footer));
  put(out, std::uint64_t{kFooterBytes});
  put(out, position_);
  put(out, offset_start);
  return out;  // the footer's last number is the CRC of all this
}

void Writer::finish() {
  close_chunk();
  std::string end;
  put_filled(end, Op::data_end, [this](std::string& content) { put(content, data_crc_); });
  emit(end);
  std::string rest = summary();
  put(rest, crc(0, rest));
  rest += kMagic;
  emit(rest);
  finished_ = true;
}

}  // namespace tactus::mcap
