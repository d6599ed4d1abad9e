// The net room as a whole: binds, accepts, keeps time, stops. One thread: whoever runs the io_context.
#pragma once

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <functional>
#include <string>

#include "server/net/hub.h"
#include "server/net/control/last_descriptor.h"
#include "server/net/desk/lockstep.h"
#include "server/net/desk/play_desk.h"
#include "server/net/udp/realtime_port.h"
#include "server/net/desk/record_desk.h"
#include "server/net/desk/statistics.h"
#include "server/net/web/web_port.h"

namespace tactus::net {

class NetServer {
 public:
  // Binds its ports. Throws asio::system_error with the port in its text.
  NetServer(asio::io_context& io, const NetOptions& options, TickLink& link, TickLoop& loop,
            const std::string& scene_file, record::Recorder* recorder = nullptr);
  ~NetServer();

  // Before start(): what is shown is this recording's. The tick loop must have its feed.
  void play(record::Player& player);
  // The scene that the tick loop was built with, before the loop starts: its first state is recorded before its first
  // tick.
  void begin(const World& world, const std::string& name, std::uint32_t epoch, State blank,
             const SceneSource& source = {});
  // While devices hold tools the net thread is awake around each beat, from so long before it [ns]. Only where it has a
  // processor of its own.
  void set_spin(std::uint64_t spin_ns) { hub_.tick.set_spin(spin_ns); }
  // Serves, once the loop has started.
  void start(bool lockstep);
  // Tells the clients why, lets the queues empty, and stops the io_context.
  void stop(const std::string& why);

  // The world moves by grants alone.
  [[nodiscard]] bool lockstep() const { return hub_.tick.lockstep(); }
  [[nodiscard]] std::uint16_t control_port() const { return control_port_; }
  [[nodiscard]] std::uint16_t realtime_port() const { return realtime_.port(); }
  [[nodiscard]] std::uint16_t web_port() const { return web_ ? web_->port() : std::uint16_t{0}; }
  // Once a second, after the statistics window was closed.
  std::function<void(const std::string& status_line)> on_second;

 private:
  void accept();
  void accept_later(asio::error_code error);
  void take(asio::ip::tcp::socket socket);
  void watch_leases();
  void every_second();
  void end_silent();
  void joint_expired(JointIndex joint);
  void on_event(const Notice& notice);

  Hub hub_;
  asio::ip::tcp::acceptor acceptor_;
  std::uint16_t control_port_ = 0;
  RealtimePort realtime_;
  LockstepDesk lockstep_;
  NetStatistics statistics_;
  std::unique_ptr<WebPort> web_;  // null: switched off
  RecordDesk record_;
  SilenceWatch silence_;
  std::unique_ptr<PlayDesk> play_;  // null: the world is live
  LastDescriptor last_descriptor_;
  asio::steady_timer accept_timer_, lease_timer_, second_timer_, stop_timer_;
};

}  // namespace tactus::net
