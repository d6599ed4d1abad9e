// What writer and reader of MCAP files share: opcodes, limits, little-endian numbers. Specification: mcap.dev/spec.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tactus::mcap {

inline constexpr std::string_view kMagic{"\x89MCAP0\r\n", 8};
inline constexpr std::size_t kPrefixBytes = 9;               // of a record: opcode and length
inline constexpr std::size_t kFooterBytes = 20;              // of its content
inline constexpr std::uint64_t kRecordBytesMax = 64u << 20;  // of one record, and of an unpacked chunk: more is damage

enum class Op : std::uint8_t {
  header = 1,
  footer,
  schema,
  channel,
  message,
  chunk,
  message_index,
  chunk_index,
  attachment,
  attachment_index,
  statistics,
  metadata,
  metadata_index,
  summary_offset,
  data_end,
};

// Appends to a string.
template <typename Number>
void put(std::string& out, Number x) {
  for (std::size_t i = 0; i < sizeof x; ++i)
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(x) >> (8 * i) & 0xff));
}
inline void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

// Takes from the front of bytes. Too short: everything from there on is 0 or empty, and ok is false.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : rest_(bytes) {}
  template <typename Number>
  Number number() {
    std::uint64_t x = 0;
    const std::string_view bytes = take(sizeof(Number));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      x |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[i])) << (8 * i);
    return static_cast<Number>(x);
  }
  std::string_view text() { return take(number<std::uint32_t>()); }
  std::string_view long_text() { return take(number<std::uint64_t>()); }
  std::string_view take(std::uint64_t count) {
    ok_ = ok_ && count <= rest_.size();
    if (!ok_) return {};
    const std::string_view out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool whole() const { return ok_ && rest_.empty(); }  // read to the last byte

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace tactus::mcap
