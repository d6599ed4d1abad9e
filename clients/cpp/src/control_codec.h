// Frames of the control channel (proto/README.md): u32 length | payload | mac. Knows no socket.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/cpp/seal.h"
#include "proto/cpp/wire.h"

namespace tactus::client {

class ControlCodec {
 public:
  // `out` is the direction this side writes: 'C' for a client, 'S' for a server (tests).
  explicit ControlCodec(char out = 'C') : out_(out), in_(out == 'C' ? 'S' : 'C') {}

  // From now on frames carry a mac, in both directions, counted from 0.
  void set_key(const wire::Key& key);
  bool sealed() const { return sealer_.has_value(); }

  // A frame ready to be written in one call.
  std::vector<std::uint8_t> encode(std::span<const std::uint8_t> payload);

  // Is this a legal value of the length field?
  bool legal_length(std::uint32_t length) const;

  // The payload of a received frame (what followed the length), or nothing when its mac is wrong. Only a right mac
  // counts.
  std::optional<std::span<const std::uint8_t>> decode(std::span<const std::uint8_t> frame);

 private:
  char out_, in_;
  std::optional<wire::Sealer> sealer_;
  std::uint64_t sent_ = 0, received_ = 0;
};

inline std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace tactus::client
