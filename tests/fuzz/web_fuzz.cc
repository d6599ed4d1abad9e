// The web door of a whole server in this process, in lockstep: bytes of a stranger as HTTP, as frames after the
// upgrade, as messages in proper frames, and as requests of a viewer that has shaken hands. What it must do: answer or
// cut off, never fall.
#include <array>
#include <asio/connect.hpp>
#include <asio/read.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "clients/cpp/src/control_codec.h"
#include "tests/support/whole_server.h"

using namespace tactus;

namespace {

using asio::ip::tcp;

constexpr const char* kUpgrade =
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: tactus.v1\r\n\r\n";

std::string framed(std::span<const std::uint8_t> payload) {
  std::string out{'\x82'};
  if (payload.size() < 126) {
    out += static_cast<char>(0x80 | payload.size());
  } else {
    out += '\xfe';
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size() & 0xff);
  }
  out.append(4, '\0');  // a mask that changes nothing
  out.append(payload.begin(), payload.end());
  return out;
}

// One connection of a stranger.
class Caller {
 public:
  explicit Caller(std::uint16_t port) : socket_(io_) {
    socket_.connect({asio::ip::address_v4::loopback(), port}, error_);
  }
  bool send(const std::string& bytes) {
    if (!error_) asio::write(socket_, asio::buffer(bytes), error_);
    return !error_;
  }
  // The handshake of RFC 6455.
  bool upgrade() {
    if (!send(kUpgrade)) return false;
    const std::size_t head = asio::read_until(socket_, asio::dynamic_buffer(in_, 8192), "\r\n\r\n", error_);
    if (!error_ && !in_.starts_with("HTTP/1.1 101")) std::abort();
    in_.erase(0, head);
    return !error_;
  }
  // The handshake of tactus.v1, and the leases of what there is.
  bool shake_hands() {
    v1::Request hello;
    hello.set_id(1);
    hello.mutable_hello()->set_version_major(1);
    hello.mutable_hello()->set_client_name("fuzz");
    hello.mutable_hello()->set_nonce(std::string(wire::kNonceBytes, 'n'));
    const std::string plain = hello.SerializeAsString();
    if (!send(framed(client::bytes_of(plain)))) return false;
    const std::optional<std::string> answer = receive();
    if (!answer) return false;
    v1::Reply reply;
    wire::Key key;
    if (!reply.ParseFromString(*answer) || reply.hello().key().size() != key.size()) std::abort();
    std::copy(reply.hello().key().begin(), reply.hello().key().end(), key.begin());
    codec_.set_key(key);
    v1::Request lease;
    lease.set_id(2);
    lease.mutable_acquire_lease()->add_channels("world");
    lease.mutable_acquire_lease()->add_channels("body/block/wrench");
    const std::string wanted = lease.SerializeAsString();
    return request(client::bytes_of(wanted));
  }
  // In a frame, with its mac.
  bool request(std::span<const std::uint8_t> payload) {
    const auto bytes = codec_.encode(payload);
    return send(framed(std::span(bytes).subspan(sizeof(std::uint32_t))));  // a frame has a length of its own
  }
  // Until the server has closed, or has had nothing to say for so many looks.
  void drain(int looks) {
    std::array<char, 4096> bytes;
    socket_.non_blocking(true, error_);
    while (looks > 0) {
      socket_.read_some(asio::buffer(bytes), error_);
      if (error_ == asio::error::would_block) {
        --looks;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      } else if (error_) {
        return;
      }
    }
  }

 private:
  // A message of one short frame.
  std::optional<std::string> receive() {
    const auto need = [this](std::size_t n) {
      if (in_.size() < n)
        asio::read(socket_, asio::dynamic_buffer(in_), asio::transfer_exactly(n - in_.size()), error_);
      return !error_;
    };
    if (!need(4)) return std::nullopt;
    std::size_t length = static_cast<unsigned char>(in_[1]), head = 2;
    if (length == 126) {
      length = static_cast<std::size_t>(static_cast<unsigned char>(in_[2])) << 8 | static_cast<unsigned char>(in_[3]);
      head = 4;
    }
    if (!need(head + length)) return std::nullopt;
    std::string out = in_.substr(head, length);
    in_.erase(0, head + length);
    return out;
  }

  asio::io_context io_;
  tcp::socket socket_;
  asio::error_code error_;
  std::string in_;
  client::ControlCodec codec_;
};

net::NetOptions web_options() {
  net::NetOptions options = test::free_ports();
  options.web.enabled = true;
  options.web.connections = 200;
  return options;
}

}  // namespace

// The first byte chooses the door.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* server = new test::WholeServer(test::kBlockScene, web_options());
  if (size < 2 || size > 60'000) return 0;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  Caller caller(server->net.web_port());
  if (data[0] < 0x40) {
    caller.send({rest.begin(), rest.end()});
  } else if (caller.upgrade()) {
    if (data[0] < 0x80) {
      caller.send({rest.begin(), rest.end()});
    } else if (data[0] < 0xa0) {
      caller.send(framed(rest));
    } else if (caller.shake_hands()) {
      caller.request(rest);
    }
  }
  caller.drain(4);
  return 0;
}
