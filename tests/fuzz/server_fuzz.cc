// A whole server in this process, in lockstep, against a client with the right key and any contents: control requests,
// datagrams, and bytes before a handshake. What it must do: answer or cut off, never fall. Its state goes on from input
// to input.
#include <asio/connect.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <cstdlib>
#include <memory>

#include "clients/cpp/src/control_codec.h"
#include "tests/support/whole_server.h"

using namespace tactus;

namespace {

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
    lease();
    attach(reply.hello().scene_epoch());
  }
  // False: the server has cut us off.
  bool request(const std::string& payload) {
    v1::Request parsed;
    const bool answered = parsed.ParseFromString(payload);
    if (!write(payload)) return false;
    v1::Reply reply;
    while (read(reply)) {
      if (reply.id() == (answered ? parsed.id() : 0) && !reply.has_event()) return answered;
    }
    return false;
  }
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
  std::optional<wire::Sealer> sealer_;
  std::uint32_t session_ = 0;
  std::uint64_t sequence_ = 0;
};

// Bytes of a stranger, and gone again.
void stranger(test::WholeServer& server, std::span<const std::uint8_t> bytes) {
  asio::io_context io;
  tcp::socket socket(io);
  asio::error_code ignored;
  socket.connect({asio::ip::address_v4::loopback(), server.net.control_port()}, ignored);
  asio::write(socket, asio::buffer(bytes.data(), bytes.size()), ignored);
}

}  // namespace

// The first byte chooses the door.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* server = new test::WholeServer(test::kBlockScene, test::free_ports());
  static std::unique_ptr<Peer> peer;
  static int uses = 0;
  if (size < 2) return 0;
  if (!peer || ++uses % 500 == 0) {  // a lease lasts 10 s
    peer.reset();
    peer = std::make_unique<Peer>(*server);
  }
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  if (data[0] < 0x10) {
    stranger(*server, rest);
  } else if (data[0] < 0x60) {
    peer->datagram(data[0] % 10, rest);
  } else if (!peer->request({reinterpret_cast<const char*>(rest.data()), rest.size()})) {
    peer.reset();
  }
  return 0;
}
