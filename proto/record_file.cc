#include "proto/record_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <istream>

namespace tactus::wire {
namespace {

constexpr std::size_t kCrcBytes = 5;   // tag and value
constexpr char kCrcTag = 15 << 3 | 5;  // field 15, four bytes

std::uint32_t crc_of(const char* bytes, std::size_t length) {
  return static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes), static_cast<uInt>(length)));
}

}  // namespace

void append_record(const v1::Record& record, std::string& out) {
  for (std::uint64_t rest = record.ByteSizeLong() + kCrcBytes;; rest >>= 7) {
    out.push_back(static_cast<char>(rest < 0x80 ? rest : (rest & 0x7f) | 0x80));
    if (rest < 0x80) break;
  }
  const std::size_t begin = out.size();
  record.AppendToString(&out);
  const std::uint32_t crc = crc_of(out.data() + begin, out.size() - begin);
  out.push_back(kCrcTag);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(crc >> shift & 0xff));
}

bool RecordReader::fail(const std::string& what) {
  damage_ = "record " + std::to_string(records_ + 1) + " at byte " + std::to_string(offset_) + ": " + what;
  return false;
}

// False at a clean end, too: then damage() is empty.
bool RecordReader::read_length(std::uint64_t& length, std::uint64_t& prefix) {
  length = prefix = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const int c = in_.get();
    if (c == std::istream::traits_type::eof()) return prefix == 0 ? false : fail("the file ends inside a length");
    ++prefix;
    length |= static_cast<std::uint64_t>(c & 0x7f) << shift;
    if ((c & 0x80) == 0) return true;
  }
  return fail("a length of more than five bytes");
}

bool RecordReader::next(v1::Record& out) {
  std::uint64_t length = 0, prefix = 0;
  if (damaged() || !read_length(length, prefix)) return false;
  if (length < kCrcBytes || length > kRecordBytesMax)
    return fail("a length of " + std::to_string(length) + " bytes, expected 5 to " + std::to_string(kRecordBytesMax));
  bytes_.clear();
  while (bytes_.size() < length) {  // in pieces: a damaged length asks for no more memory than the file has bytes
    const std::size_t have = bytes_.size(), piece = std::min<std::size_t>(length - have, 1u << 16);
    bytes_.resize(have + piece);
    in_.read(bytes_.data() + have, static_cast<std::streamsize>(piece));
    if (static_cast<std::size_t>(in_.gcount()) < piece)
      return fail("cut off: " + std::to_string(have + static_cast<std::size_t>(in_.gcount())) + " of " +
                  std::to_string(length) + " bytes are there");
  }
  const std::size_t body = length - kCrcBytes;
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i < 4; ++i)
    crc |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes_[body + 1 + i])) << (8 * i);
  if (bytes_[body] != kCrcTag || crc != crc_of(bytes_.data(), body)) return fail("its CRC-32 is not that of its bytes");
  if (!out.ParseFromArray(bytes_.data(), static_cast<int>(body))) return fail("it does not decode");
  if (records_ == 0 && !out.has_header()) return fail("it is no header: not a recording of Tactus");
  offset_ += prefix + length;
  ++records_;
  return true;
}

}  // namespace tactus::wire
