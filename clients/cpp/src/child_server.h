// Starts a tactusd of our own on free ports and stops it again, whatever happens. POSIX only; elsewhere it says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tactus::client {

// The directory this program lies in.
std::string own_directory(const std::string& argv0);

class ChildServer {
 public:
  // Waits until it listens; throws Error with its last words when it does not within 20 s, or give_up() says so. flags:
  // beside those of its ports.
  ChildServer(const std::string& program, const std::vector<std::string>& flags,
              const std::function<bool()>& give_up = nullptr);
  ~ChildServer();  // asks it to end, waits, insists
  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;
  std::uint16_t control_port() const { return port_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::uint16_t port_ = 0;
};

}  // namespace tactus::client
