// The web door of a whole server in this process, in lockstep: bytes of a stranger as HTTP, as frames after the
// upgrade, and as messages in proper frames. What it must do: answer or cut off, never fall.
#include <spdlog/spdlog.h>

#include <asio/connect.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "core/scene/scene.h"
#include "server/net/server.h"

using namespace tactus;

namespace {

using asio::ip::tcp;

constexpr const char* kScene = "[[body]]\nname = \"floor\"\nmode = \"fixed\"\n[[body.shape]]\nkind = \"half_space\"\n";

Limits small_limits() {
  Limits limits;
  limits.bodies = 16;
  limits.shapes = 16;
  limits.pairs = 64;
  return limits;
}

net::NetOptions net_options() {
  net::NetOptions options;
  options.control_port = options.realtime_port = 0;
  options.web.port = 0;
  options.web.connections = 200;
  options.limits = small_limits();
  options.requests_per_s = 1e5;
  options.scenes_dir = options.web.directory = (std::filesystem::temp_directory_path() / "nothing-here").string();
  return options;
}

std::unique_ptr<World> make_world() {
  SceneOptions options;
  options.limits = small_limits();
  return std::make_unique<World>(parse_scene(kScene, "fuzz", options), small_limits());
}

TickOptions tick_options() {
  TickOptions options;
  options.rights.enabled = false;
  options.bodies = small_limits().bodies;
  options.lockstep = true;
  return options;
}

// Lives until the process ends.
struct Server {
  Server()
      : link(small_limits().bodies, 64, 256),
        world(make_world()),
        blank(world->state()),
        model(world.get()),
        loop(tick_options(), link, std::move(world), 7),
        net(io, net_options(), link, loop, "") {
    spdlog::set_level(spdlog::level::off);
    if (!loop.start()) std::abort();
    net.start(*model, "fuzz", 7, std::move(blank), true);
    thread = std::thread([this] { io.run(); });
    thread.detach();
  }
  TickLink link;
  std::unique_ptr<World> world;
  State blank;
  const World* model;
  TickLoop loop;
  asio::io_context io{1};
  net::NetServer net;
  std::thread thread;
};

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

// Until the server has closed, or has nothing more to say.
void drain(tcp::socket& socket, int waits) {
  std::array<char, 4096> bytes;
  asio::error_code error;
  socket.non_blocking(true, error);
  while (waits > 0) {
    socket.read_some(asio::buffer(bytes), error);
    if (error == asio::error::would_block) {
      --waits;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    } else if (error) {
      return;
    }
  }
}

}  // namespace

// The first byte chooses the door.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Server* server = new Server;
  if (size < 2 || size > 60'000) return 0;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  asio::io_context io;
  tcp::socket socket(io);
  asio::error_code error;
  socket.connect({asio::ip::address_v4::loopback(), server->net.web_port()}, error);
  if (error) return 0;
  if (data[0] >= 0x40) {
    asio::write(socket, asio::buffer(kUpgrade, std::strlen(kUpgrade)), error);
    std::string head;
    asio::read_until(socket, asio::dynamic_buffer(head, 8192), "\r\n\r\n", error);
    if (!error && !head.starts_with("HTTP/1.1 101")) std::abort();
  }
  const std::string message = data[0] < 0xa0 ? std::string(rest.begin(), rest.end()) : framed(rest);
  if (!error) asio::write(socket, asio::buffer(message), error);
  drain(socket, 4);
  return 0;
}
