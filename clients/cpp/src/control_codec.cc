#include "clients/cpp/src/control_codec.h"

#include <cstring>

namespace tactus::client {

void ControlCodec::set_key(const wire::Key& key) {
  sealer_.emplace(key);
  sent_ = received_ = 0;
}

std::vector<std::uint8_t> ControlCodec::encode(std::span<const std::uint8_t> payload) {
  const std::size_t length = payload.size() + (sealed() ? wire::kMacBytes : 0);
  std::vector<std::uint8_t> frame(4 + length);
  const std::uint32_t prefix = static_cast<std::uint32_t>(length);
  for (int i = 0; i < 4; ++i) frame[i] = static_cast<std::uint8_t>(prefix >> (8 * i));
  if (!payload.empty()) std::memcpy(frame.data() + 4, payload.data(), payload.size());
  if (sealed()) {
    const wire::Mac mac = sealer_->control_mac(out_, sent_++, payload);
    std::memcpy(frame.data() + 4 + payload.size(), mac.data(), mac.size());
  }
  return frame;
}

bool ControlCodec::legal_length(std::uint32_t length) const {
  return length > 0 && length <= wire::kControlFrameMax;
}

std::optional<std::span<const std::uint8_t>> ControlCodec::decode(std::span<const std::uint8_t> frame) {
  if (!sealed()) return frame;
  if (frame.size() < wire::kMacBytes) return std::nullopt;
  const auto payload = frame.first(frame.size() - wire::kMacBytes);
  const wire::Mac mac = sealer_->control_mac(in_, received_, payload);
  if (!wire::equal(mac, frame.last(wire::kMacBytes))) return std::nullopt;
  ++received_;
  return payload;
}

}  // namespace tactus::client
