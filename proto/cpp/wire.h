// Constants of the framing (proto/README.md) shared by server and clients. Plain C++, no dependency.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tactus::wire {

inline constexpr std::uint32_t kVersionMajor = 1, kVersionMinor = 0;
inline constexpr std::uint16_t kDefaultControlPort = 17800, kDefaultRealtimePort = 17801, kDefaultWebPort = 8765;
inline constexpr std::size_t kDatagramMax = 1400, kHeaderBytes = 16, kMacBytes = 16, kKeyBytes = 32, kNonceBytes = 32;
inline constexpr std::size_t kControlFrameMax = 4u << 20, kControlInboundMax = 1u << 20;
inline constexpr std::uint8_t kMagic0 = 'T', kMagic1 = 'C';
enum class DatagramType : std::uint8_t {
  state = 1,
  command = 2,
  ping = 3,
  pong = 4,
  grant = 5,
  shadow = 6,
  granted = 7,
  device = 8,
  tool = 9,
  verdicts = 10,
  challenge = 11
};
inline constexpr std::size_t kCommandRowsMax = 64;  // of wrenches; further bounded by the datagram's size
inline constexpr std::size_t kJointRowsMax = 128;
inline constexpr std::uint32_t kDeadlineDefaultUs = 20'000, kDeadlineCapUs = 200'000;
inline constexpr std::uint32_t kReplayWindow = 64, kVerdictsRepeated = 8;
inline constexpr std::uint32_t kVerdictsKept = 4096;  // of a client, until it acknowledges them
inline constexpr std::uint32_t kVerdictRowsMax = 47;  // of a VERDICTS datagram: 28 bytes each, and 38 for the rest
inline constexpr std::uint32_t kCommandPartsMax = 8;

}  // namespace tactus::wire
