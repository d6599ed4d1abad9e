// Keys and message authentication of the wire (proto/README.md), on OpenSSL 3. Used by the server's net thread and the
// C++ clients.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "proto/cpp/wire.h"

namespace tactus::wire {

using Key = std::array<std::uint8_t, kKeyBytes>;
using Nonce = std::array<std::uint8_t, kNonceBytes>;
using Mac = std::array<std::uint8_t, kMacBytes>;
using Proof = std::array<std::uint8_t, 32>;

// Cryptographically random bytes. Aborts when the system has none.
void random_bytes(std::span<std::uint8_t> out);

// HKDF-SHA256(token, client || server, "tactus.v1 session").
Key derive_session_key(std::string_view token, const Nonce& client, const Nonce& server);

// HMAC-SHA256(token, "tactus.v1 " + who || client || server); who is "client" or "server".
Proof handshake_proof(std::string_view token, std::string_view who, const Nonce& client, const Nonce& server);

// Constant-time comparison.
bool equal(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

// HMAC-SHA256 under one key, context reused. Not thread-safe; one per session and thread.
class Sealer {
 public:
  explicit Sealer(const Key& key);
  ~Sealer();
  Sealer(Sealer&&) noexcept;
  Sealer& operator=(Sealer&&) noexcept;

  // The first 16 bytes of the HMAC over the concatenation of up to two parts.
  Mac mac(std::span<const std::uint8_t> head, std::span<const std::uint8_t> tail = {});

  // The mac of a control frame: direction 'C' or 'S', frame counter, payload.
  Mac control_mac(char direction, std::uint64_t counter, std::span<const std::uint8_t> payload);

  // Writes the mac of buffer[0, length) behind it; buffer must have room for 16 more bytes. Returns length + 16.
  std::size_t seal_datagram(std::uint8_t* buffer, std::size_t length);
  // True when the last 16 of length bytes are the right mac.
  bool open_datagram(const std::uint8_t* buffer, std::size_t length);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Header of a datagram; plain struct, little-endian on the wire.
struct DatagramHeader {
  DatagramType type;
  std::uint32_t session;
  std::uint64_t sequence;
};
void write_header(std::uint8_t* out16, const DatagramHeader& header);
enum class HeaderError : std::uint8_t { none, too_short, too_long, magic, version, type };
HeaderError read_header(std::span<const std::uint8_t> datagram, DatagramHeader& out);

}  // namespace tactus::wire
