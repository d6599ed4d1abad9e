// The server as a whole: binds, accepts, keeps time, stops. One thread: whoever runs the io_context. Its parts know of
// each other only what server.cc hands them.
#pragma once

#include <asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/net/options.h"
#include "server/realtime/tick_loop.h"

namespace tactus::record {
class Player;
class Recorder;
}  // namespace tactus::record

namespace tactus::net {

struct SceneSource;

class NetServer {
 public:
  // Binds its ports. Throws asio::system_error with the port in its text.
  NetServer(asio::io_context& io, const NetOptions& options, TickLink& link, TickLoop& loop,
            const std::string& scene_file, record::Recorder* recorder = nullptr);
  ~NetServer();

  // Before start(): what is shown is this recording's. The tick loop must have its feed.
  void play(record::Player& player);
  // The scene that the tick loop was built with, before the loop starts: its first state is recorded before its first
  // tick. source: where it came from.
  void begin(const World& world, const std::string& name, std::uint32_t epoch, State blank, const SceneSource& source);
  void begin(const World& world, const std::string& name, std::uint32_t epoch, State blank);
  // While devices hold tools the net thread is awake around each beat, from so long before it [ns]. Only where it has a
  // processor of its own.
  void set_spin(std::uint64_t spin_ns);
  // Serves, once the loop has started.
  void start(bool lockstep);
  // Tells the clients why, lets the queues empty, and stops the io_context.
  void stop(const std::string& why);

  // The world moves by grants alone.
  [[nodiscard]] bool lockstep() const;
  [[nodiscard]] std::uint16_t control_port() const;
  [[nodiscard]] std::uint16_t realtime_port() const;
  [[nodiscard]] std::uint16_t web_port() const;
  // Once a second, after the statistics window was closed.
  std::function<void(const std::string& status_line)> on_second;

 private:
  struct Parts;
  void accept();
  void accept_later(asio::error_code error);
  void watch_leases();
  void every_second();
  void end_silent();
  void tell_expiries();
  void joint_expired(JointIndex joint);
  void on_event(const Notice& notice);

  std::unique_ptr<Parts> parts_;
};

}  // namespace tactus::net
