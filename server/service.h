// What a service manager is told (systemd's notification protocol, sd_notify(3)): a datagram to the socket that
// $NOTIFY_SOCKET names. Started by hand there is none, and nothing is sent.
#pragma once

#include <asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace tactus {

class Service {
 public:
  // Reads the environment.
  Service();
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // One or more VARIABLE=VALUE, a line each: "READY=1". False: nobody listens.
  bool tell(const std::string& state) const;
  // How often the manager expects a sign of life ($WATCHDOG_USEC, for this process). Zero: never.
  [[nodiscard]] std::chrono::microseconds watchdog() const { return watchdog_; }

 private:
  int socket_ = -1;
  std::string address_;
  std::chrono::microseconds watchdog_{0};
};

// Tells the manager twice in each of its periods that this process lives, as long as `lives` says so when it is asked.
class ServiceWatchdog {
 public:
  ServiceWatchdog(asio::io_context& io, const Service& service, std::function<bool()> lives);
  void start();

 private:
  const Service& service_;
  const std::function<bool()> lives_;
  asio::steady_timer timer_;
};

}  // namespace tactus
