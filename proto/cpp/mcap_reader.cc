#include "proto/cpp/mcap_reader.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <istream>
#include <utility>

#include "proto/cpp/mcap_format.h"

namespace tactus::mcap {
namespace {

constexpr std::size_t kPiece = 1u << 16;

std::uint32_t crc(std::uint32_t before, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

std::string number(std::uint64_t x) {
  return std::to_string(x);
}

}  // namespace

std::vector<ChunkPlace> find_chunks(std::istream& in) {
  std::vector<ChunkPlace> out;
  in.clear();
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(0, in.tellg()));
  std::string head(kPrefixBytes + 2 * sizeof(std::uint64_t), '\0');
  for (std::uint64_t at = kMagic.size(); at + head.size() <= size;) {
    in.seekg(static_cast<std::streamoff>(at));
    if (!in.read(head.data(), static_cast<std::streamsize>(head.size()))) break;
    Taker taker(head);
    const auto op = static_cast<Op>(taker.number<std::uint8_t>());
    const auto length = taker.number<std::uint64_t>();
    if (length > kRecordBytesMax || at + kPrefixBytes + length > size || op == Op::data_end) break;
    const auto first = taker.number<std::uint64_t>();
    if (op == Op::chunk && length > 2 * sizeof first) out.push_back({at, first, taker.number<std::uint64_t>()});
    at += kPrefixBytes + length;
  }
  return out;
}

struct Reader::Unpacker {
  Unpacker() : context(ZSTD_createDCtx()) {}
  ~Unpacker() { ZSTD_freeDCtx(context); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ZSTD_DCtx* context;
};

Reader::Reader(std::istream& in) : in_(in), unpacker_(std::make_unique<Unpacker>()) {}
Reader::~Reader() = default;

bool Reader::fail(const std::string& what) {
  if (damage_.empty()) damage_ = "at byte " + number(offset_) + ": " + what;
  done_ = true;
  return false;
}

// Fewer when the file ends: false, and that is no damage yet.
bool Reader::read_bytes(std::uint64_t count, std::string& out) {
  out.clear();
  while (out.size() < count) {
    const std::size_t have = out.size(), piece = std::min<std::uint64_t>(count - have, kPiece);
    out.resize(have + piece);
    in_.read(out.data() + have, static_cast<std::streamsize>(piece));
    const auto got = static_cast<std::size_t>(in_.gcount());
    out.resize(have + got);
    read_ += got;
    if (got < piece) return false;
  }
  return true;
}

bool Reader::begin() {
  begun_ = true;
  if (!read_bytes(kMagic.size(), record_) || record_ != kMagic)
    return fail(read_ == 0 ? "the file is empty: not an MCAP file" : "not an MCAP file: it begins otherwise");
  is_mcap_ = true;
  data_crc_ = crc(0, record_);
  offset_ = read_;
  return true;
}

bool Reader::next(Message& out) {
  if (!begun_ && !begin()) return false;
  while (!done_) {
    bool found = false;
    if (!next_in_chunk(out, found)) return false;
    if (found) return true;
    loose_ = {};
    if (!read_record()) return false;
    if (!loose_.empty()) return take_message(std::exchange(loose_, {}), out);
  }
  return false;
}

void Reader::jump(std::uint64_t offset) {
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(offset));
  offset_ = read_ = offset;
  chunk_rest_ = loose_ = {};
  damage_.clear();
  done_ = false;
  jumped_ = true;
}

bool Reader::read_record() {
  std::string prefix;
  if (!read_bytes(kPrefixBytes, prefix)) return fail("cut off: the file ends without a summary");
  Taker head(prefix);
  const auto op = head.number<std::uint8_t>();
  const auto length = head.number<std::uint64_t>();
  if (length > kRecordBytesMax)
    return fail("a record of " + number(length) + " bytes, expected at most " + number(kRecordBytesMax));
  if (!read_bytes(length, record_))
    return fail("cut off: " + number(record_.size()) + " of a record's " + number(length) + " bytes are there");
  crc_before_ = data_crc_;
  data_crc_ = crc(crc(data_crc_, prefix), record_);
  if (!take_record(op, record_)) return false;
  if (!done_) offset_ = read_;
  return true;
}

bool Reader::take_record(std::uint8_t op, std::string_view content) {
  switch (static_cast<Op>(op)) {
    case Op::schema:
    case Op::channel:
      return take_definition(op, content);
    case Op::message:  // no CRC stands for it before the end of the data: more likely a damaged record of another kind
      if (chunks_ > 0) return fail("a message outside of the chunks");
      loose_ = content;
      return true;
    case Op::chunk:
      return take_chunk(content);
    case Op::attachment:
      return take_attachment(content);
    case Op::data_end:
      return take_end(content);
    case Op::message_index: {
      Taker taker(content);
      taker.number<std::uint16_t>();
      taker.take(taker.number<std::uint32_t>());
      return taker.whole() || fail("a message index that does not decode");
    }
    case Op::metadata: {
      Taker taker(content);
      taker.text();
      taker.text();
      return taker.whole() || fail("metadata that do not decode");
    }
    case Op::header:
      return offset_ == kMagic.size() || fail("a second header");
    default:  // private kinds, too: a chunk whose kind was damaged must not be passed over
      return fail("a record of kind " + number(op) + ", which does not belong there");
  }
}

bool Reader::take_definition(std::uint8_t op, std::string_view content) {
  Taker taker(content);
  const auto id = taker.number<std::uint16_t>();
  if (static_cast<Op>(op) == Op::schema) {
    Schema schema;
    schema.name = taker.text();
    schema.encoding = taker.text();
    taker.text();
    if (!taker.ok() || id == 0) return fail("a schema that does not decode");
    schemas_.insert({id, schema});
    return true;
  }
  const auto schema_id = taker.number<std::uint16_t>();
  ChannelInfo channel;
  channel.topic = taker.text();
  channel.encoding = taker.text();
  taker.text();
  if (!taker.ok()) return fail("a channel that does not decode");
  const auto schema = schemas_.find(schema_id);
  if (schema_id != 0 && schema == schemas_.end())
    return fail("channel '" + channel.topic + "' names schema " + number(schema_id) + ", which was not given");
  if (schema_id != 0) channel.schema = schema->second.name, channel.schema_encoding = schema->second.encoding;
  channels_.insert({id, channel});
  return true;
}

bool Reader::take_message(std::string_view content, Message& out) {
  Taker taker(content);
  out.channel = taker.number<std::uint16_t>();
  out.sequence = taker.number<std::uint32_t>();
  out.time_ns = taker.number<std::uint64_t>();
  taker.number<std::uint64_t>();
  out.data = taker.rest();
  if (!taker.ok()) return fail("a message that does not decode");
  if (channels_.find(out.channel) == channels_.end())
    return fail("a message of channel " + number(out.channel) + ", which was not given");
  return true;
}

bool Reader::take_chunk(std::string_view content) {
  Taker taker(content);
  taker.number<std::uint64_t>();
  taker.number<std::uint64_t>();
  const auto size = taker.number<std::uint64_t>();
  const auto sum = taker.number<std::uint32_t>();
  const std::string_view compression = taker.text(), packed = taker.long_text();
  if (!taker.whole()) return fail("a chunk that does not decode");
  if (!unpack(compression, packed, size)) return false;
  if (sum != 0 && crc(0, chunk_all_) != sum) return fail("a chunk whose CRC-32 is not that of its bytes");
  chunk_rest_ = chunk_all_;
  ++chunks_;
  return true;
}

bool Reader::unpack(std::string_view compression, std::string_view packed, std::uint64_t size) {
  if (size > kRecordBytesMax) return fail("a chunk of " + number(size) + " bytes unpacked");
  if (compression.empty()) {
    chunk_all_ = packed;
    return packed.size() == size || fail("a chunk whose length is not what it says");
  }
  if (compression != "zstd")
    return fail("a chunk packed with '" + std::string(compression) + "', expected zstd or none");
  // The frame says its size itself, and what it says is asked for only where it agrees.
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != size)
    return fail("a chunk that does not unpack to its length");
  chunk_.resize(size);
  const std::size_t n =
      ZSTD_decompressDCtx(unpacker_->context, chunk_.data(), chunk_.size(), packed.data(), packed.size());
  if (ZSTD_isError(n) != 0 || n != size) return fail("a chunk that does not unpack");
  chunk_all_ = chunk_;
  return true;
}

bool Reader::next_in_chunk(Message& out, bool& found) {
  while (!chunk_rest_.empty()) {
    Taker taker(chunk_rest_);
    const auto op = taker.number<std::uint8_t>();
    const std::string_view content = taker.long_text();
    if (!taker.ok()) return fail("a record that does not fit its chunk");
    chunk_rest_ = taker.rest();
    if (static_cast<Op>(op) == Op::message) {
      found = take_message(content, out);
      return found;
    }
    const bool definition = static_cast<Op>(op) == Op::schema || static_cast<Op>(op) == Op::channel;
    if (definition && !take_definition(op, content)) return false;
  }
  return true;
}

bool Reader::take_attachment(std::string_view content) {
  if (content.size() < 4) return fail("an attachment that does not decode");
  Taker last(content.substr(content.size() - 4));
  const auto sum = last.number<std::uint32_t>();
  if (sum != 0 && crc(0, content.substr(0, content.size() - 4)) != sum)
    return fail("an attachment whose CRC-32 is not that of its bytes");
  return true;
}

bool Reader::take_end(std::string_view content) {
  Taker taker(content);
  const auto sum = taker.number<std::uint32_t>();
  if (!taker.whole()) return fail("an end of the data that does not decode");
  if (sum != 0 && sum != crc_before_ && !jumped_)
    return fail("the CRC-32 of the data section is not that of its bytes");
  offset_ = read_;
  return finish();
}

// The summary as one piece: its CRC covers all of it.
bool Reader::finish() {
  done_ = true;
  const std::uint64_t start = offset_;
  std::string rest;
  read_bytes(kRecordBytesMax, rest);
  const std::size_t tail = kPrefixBytes + kFooterBytes + kMagic.size();
  if (rest.size() < tail || std::string_view(rest).substr(rest.size() - kMagic.size()) != kMagic)
    return fail("cut off: the summary does not end as it should");
  const std::string_view all(rest);
  Taker taker(all.substr(all.size() - tail, kPrefixBytes + kFooterBytes));
  const auto op = taker.number<std::uint8_t>();
  const auto length = taker.number<std::uint64_t>();
  const auto summary_start = taker.number<std::uint64_t>();
  const auto offset_start = taker.number<std::uint64_t>();
  const auto sum = taker.number<std::uint32_t>();
  const bool footer = static_cast<Op>(op) == Op::footer && length == kFooterBytes;
  const std::uint64_t footer_at = start + all.size() - tail;
  if (!footer || (summary_start != 0 && summary_start != start) || offset_start > footer_at)
    return fail("a footer that does not fit the file");
  const std::string_view covered = all.substr(0, all.size() - kMagic.size() - 4);
  if (sum != 0 && crc(0, covered) != sum) return fail("the CRC-32 of the summary is not that of its bytes");
  offset_ = read_;
  return true;
}

}  // namespace tactus::mcap
