// Text for the wire: a protobuf string is UTF-8, or the other side drops the whole message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tactus::wire {

// Length of the well-formed UTF-8 character (RFC 3629) at the begin of `text`, or 0.
inline std::size_t utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xed && byte(1) > 0x9f, is_beyond = first == 0xf4 && byte(1) > 0x8f;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

// What quotes a file or a name of the system may hold any bytes: each that is no UTF-8 becomes U+FFFD.
inline std::string as_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length > 0)
      out.append(text.substr(0, length));
    else
      out += "\xef\xbf\xbd";
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

}  // namespace tactus::wire
