// A client of a whole server in this process that has shaken hands, holds what there is to hold, and sends any
// contents.
#pragma once

#include <asio/connect.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "clients/cpp/src/control_codec.h"
#include "tests/support/whole_server.h"

namespace tactus::fuzz {

using asio::ip::tcp;
using asio::ip::udp;

// A client that has shaken hands.
class Peer {
 public:
  explicit Peer(test::WholeServer& server) : control_(io_), realtime_(io_, udp::v4()) {
    control_.connect({asio::ip::address_v4::loopback(), server.net.control_port()});
    realtime_.connect({asio::ip::address_v4::loopback(), server.net.realtime_port()});
    control_.set_option(tcp::no_delay(true));
    v1::Request hello;
    hello.set_id(1);
    hello.mutable_hello()->set_version_major(1);
    hello.mutable_hello()->set_client_name("fuzz");
    hello.mutable_hello()->set_nonce(std::string(wire::kNonceBytes, 'n'));
    write(hello.SerializeAsString());
    v1::Reply reply;
    if (!read(reply) || reply.hello().key().size() != wire::Key{}.size()) std::abort();
    wire::Key key;
    std::copy(reply.hello().key().begin(), reply.hello().key().end(), key.begin());
    codec_.set_key(key);
    sealer_.emplace(key);
    session_ = reply.hello().session();
    epoch_ = reply.hello().scene_epoch();
    lease();
    attach(epoch_);
  }
  // The present one, as far as replies have told.
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  [[nodiscard]] std::uint32_t session() const { return session_; }
  // False: the server has cut us off.
  bool request(const std::string& payload) {
    v1::Request parsed;
    const bool answered = parsed.ParseFromString(payload);
    if (!write(payload)) return false;
    if (answered && parsed.has_command()) return true;  // its verdict is in the states
    while (read(reply_)) {
      if (reply_.has_scene()) epoch_ = reply_.scene().scene_epoch();
      if (reply_.id() == (answered ? parsed.id() : 0) && !reply_.has_event()) return answered;
    }
    return false;
  }
  // The last one.
  [[nodiscard]] const v1::Reply& reply() const { return reply_; }
  void datagram(std::uint8_t type, std::span<const std::uint8_t> payload) {
    std::vector<std::uint8_t> out(wire::kDatagramMax + 64);
    const std::size_t length = std::min(payload.size(), wire::kDatagramMax - wire::kHeaderBytes - wire::kMacBytes);
    wire::write_header(out.data(), {static_cast<wire::DatagramType>(type), session_, ++sequence_});
    std::copy_n(payload.data(), length, out.data() + wire::kHeaderBytes);
    const std::size_t total = sealer_->seal_datagram(out.data(), wire::kHeaderBytes + length);
    asio::error_code ignored;
    realtime_.send(asio::buffer(out.data(), total), 0, ignored);
  }

 private:
  void lease() {
    v1::Request request;
    request.set_id(2);
    request.mutable_acquire_lease()->add_channels("world");
    request.mutable_acquire_lease()->add_channels("body/block/wrench");
    request.mutable_acquire_lease()->add_channels("tool/block");
    request.mutable_acquire_lease()->set_duration_ms(10'000);
    this->request(request.SerializeAsString());
  }
  // A device on the block, so that DEVICE datagrams are taken.
  void attach(std::uint32_t epoch) {
    v1::Request request;
    request.set_id(3);
    v1::AttachTool& tool = *request.mutable_attach_tool();
    tool.set_tool("block");
    tool.set_scene_epoch(epoch);
    tool.mutable_device()->set_name("fuzz");
    tool.mutable_device()->set_axes_sensed(3);
    tool.mutable_device()->set_rate_hz(1000);
    this->request(request.SerializeAsString());
  }
  bool write(const std::string& payload) {
    asio::error_code error;
    asio::write(control_, asio::buffer(codec_.encode(client::bytes_of(payload))), error);
    return !error;
  }
  bool read(v1::Reply& reply) {
    asio::error_code error;
    std::uint32_t length = 0;
    asio::read(control_, asio::buffer(&length, sizeof length), error);
    if (error) return false;
    std::vector<std::uint8_t> frame(length);
    asio::read(control_, asio::buffer(frame), error);
    if (error) return false;
    const auto payload = codec_.decode(frame);
    return payload && reply.ParseFromArray(payload->data(), static_cast<int>(payload->size()));
  }

  asio::io_context io_;
  tcp::socket control_;
  udp::socket realtime_;
  client::ControlCodec codec_;
  v1::Reply reply_;
  std::optional<wire::Sealer> sealer_;
  std::uint32_t session_ = 0, epoch_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace tactus::fuzz
