// A whole server in this process, in lockstep, against a client with the right key and any contents: control requests,
// datagrams, and bytes before a handshake. What it must do: answer or cut off, never fall. Its state goes on from input
// to input.
#include <memory>

#include "tests/fuzz/peer.h"

using namespace tactus;

namespace {

// Bytes of a stranger, and gone again.
void stranger(test::WholeServer& server, std::span<const std::uint8_t> bytes) {
  asio::io_context io;
  fuzz::tcp::socket socket(io);
  asio::error_code ignored;
  socket.connect({asio::ip::address_v4::loopback(), server.net.control_port()}, ignored);
  asio::write(socket, asio::buffer(bytes.data(), bytes.size()), ignored);
}

}  // namespace

// The first byte chooses the door.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* server = new test::WholeServer(test::kBlockScene, test::free_ports());
  static std::unique_ptr<fuzz::Peer> peer;
  static int uses = 0;
  if (size < 2) return 0;
  if (!peer || ++uses % 500 == 0) {  // a lease lasts 10 s
    peer.reset();
    peer = std::make_unique<fuzz::Peer>(*server);
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
