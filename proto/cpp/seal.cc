#include "proto/cpp/seal.h"

#define OPENSSL_SUPPRESS_DEPRECATED  // SHA256_*: of 3.0 on, in favour of EVP
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tactus::wire {
static_assert(std::endian::native == std::endian::little, "the framing is written by memcpy");

void random_bytes(std::span<std::uint8_t> out) {
  if (RAND_bytes(out.data(), static_cast<int>(out.size())) != 1) std::abort();
}

Key derive_session_key(std::string_view token, const Nonce& client, const Nonce& server) {
  std::array<std::uint8_t, 2 * kNonceBytes> salt;
  std::memcpy(salt.data(), client.data(), kNonceBytes);
  std::memcpy(salt.data() + kNonceBytes, server.data(), kNonceBytes);
  static char info[] = "tactus.v1 session";
  char digest[] = "SHA256";
  std::string ikm(token);
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, ikm.data(), ikm.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, sizeof info - 1),
      OSSL_PARAM_construct_end(),
  };
  Key key;
  EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  EVP_KDF_CTX* ctx = EVP_KDF_CTX_new(kdf);
  const bool ok = ctx != nullptr && EVP_KDF_derive(ctx, key.data(), key.size(), params) == 1;
  EVP_KDF_CTX_free(ctx);
  EVP_KDF_free(kdf);
  if (!ok) std::abort();
  return key;
}

Proof handshake_proof(std::string_view token, std::string_view who, const Nonce& client, const Nonce& server) {
  std::string message = "tactus.v1 " + std::string(who);
  message.append(reinterpret_cast<const char*>(client.data()), client.size());
  message.append(reinterpret_cast<const char*>(server.data()), server.size());
  Proof out;
  unsigned length = 0;
  HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), out.data(), &length);
  return out;
}

bool equal(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// HMAC (RFC 2104) by SHA-256's own functions: both keyed states are made once and copied, nothing is allocated or
// looked up. EVP_MAC does the same sums through three layers that allocate (server/DECISIONS.md).
struct Sealer::Impl {
  SHA256_CTX inner, outer;  // after the key's block
  ~Impl() {
    OPENSSL_cleanse(&inner, sizeof inner);
    OPENSSL_cleanse(&outer, sizeof outer);
  }
};

Sealer::Sealer(const Key& key) : impl_(std::make_unique<Impl>()) {
  static_assert(sizeof(Key) <= SHA256_CBLOCK, "a longer key would be hashed first");
  const auto start = [&key](SHA256_CTX& state, std::uint8_t pad) {
    std::array<std::uint8_t, SHA256_CBLOCK> block{};
    std::memcpy(block.data(), key.data(), key.size());
    for (std::uint8_t& byte : block) byte ^= pad;
    if (SHA256_Init(&state) != 1 || SHA256_Update(&state, block.data(), block.size()) != 1) std::abort();
    OPENSSL_cleanse(block.data(), block.size());
  };
  start(impl_->inner, 0x36);
  start(impl_->outer, 0x5c);
}
Sealer::~Sealer() = default;
Sealer::Sealer(Sealer&&) noexcept = default;
Sealer& Sealer::operator=(Sealer&&) noexcept = default;

Mac Sealer::mac(std::span<const std::uint8_t> head, std::span<const std::uint8_t> tail) {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> full;
  SHA256_CTX state = impl_->inner;
  SHA256_Update(&state, head.data(), head.size());
  SHA256_Update(&state, tail.data(), tail.size());
  SHA256_Final(full.data(), &state);
  state = impl_->outer;
  SHA256_Update(&state, full.data(), full.size());
  SHA256_Final(full.data(), &state);
  Mac out;
  std::memcpy(out.data(), full.data(), out.size());
  return out;
}

Mac Sealer::control_mac(char direction, std::uint64_t counter, std::span<const std::uint8_t> payload) {
  std::array<std::uint8_t, 9> head;
  head[0] = static_cast<std::uint8_t>(direction);
  std::memcpy(head.data() + 1, &counter, 8);
  return mac(head, payload);
}

std::size_t Sealer::seal_datagram(std::uint8_t* buffer, std::size_t length) {
  const Mac m = mac({buffer, length});
  std::memcpy(buffer + length, m.data(), m.size());
  return length + m.size();
}

bool Sealer::open_datagram(const std::uint8_t* buffer, std::size_t length) {
  if (length < kHeaderBytes + kMacBytes) return false;
  const Mac m = mac({buffer, length - kMacBytes});
  return equal(m, {buffer + length - kMacBytes, kMacBytes});
}

void write_header(std::uint8_t* out, const DatagramHeader& header) {
  out[0] = kMagic0;
  out[1] = kMagic1;
  out[2] = static_cast<std::uint8_t>(kVersionMajor);
  out[3] = static_cast<std::uint8_t>(header.type);
  std::memcpy(out + 4, &header.session, 4);
  std::memcpy(out + 8, &header.sequence, 8);
}

HeaderError read_header(std::span<const std::uint8_t> d, DatagramHeader& out) {
  if (d.size() < kHeaderBytes + kMacBytes) return HeaderError::too_short;
  if (d.size() > kDatagramMax) return HeaderError::too_long;
  if (d[0] != kMagic0 || d[1] != kMagic1) return HeaderError::magic;
  if (d[2] != kVersionMajor) return HeaderError::version;
  if (d[3] < 1 || d[3] > static_cast<std::uint8_t>(DatagramType::challenge)) return HeaderError::type;
  out.type = static_cast<DatagramType>(d[3]);
  std::memcpy(&out.session, d.data() + 4, 4);
  std::memcpy(&out.sequence, d.data() + 8, 8);
  return HeaderError::none;
}

}  // namespace tactus::wire
