// What a session sends, as a sequence of whole messages, and how one is changed into another that decodes as well: by
// the fields' ranges (proto/cpp/ranges.h), at their ends and beyond.
//
// As bytes: door (255: a Request, otherwise a datagram's type), length (4 bytes), payload; and again. Live tests leave
// such files (TACTUS_RECORD_SENT).
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace tactus::fuzz {

inline constexpr std::uint8_t kControl = 255;

struct Sent {
  std::uint8_t door = kControl;
  std::unique_ptr<google::protobuf::Message> message;
};
using Talk = std::vector<Sent>;
using Random = std::minstd_rand;

// What decodes, up to the first piece that is cut off.
Talk read_talk(std::span<const std::uint8_t> bytes);
// As bytes, as many whole messages as fit.
std::string write_talk(const Talk& talk, std::size_t most);
// One to four changes: a field's value, a message dropped, doubled, moved, or a new one.
void change(Talk& talk, Random& random);

}  // namespace tactus::fuzz
