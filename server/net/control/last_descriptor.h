// A descriptor kept back: with it a server that has none left can take a connection for a moment and say why it goes.
#pragma once

#include <cstdint>
#include <span>

namespace tactus::net {

class LastDescriptor {
 public:
  LastDescriptor();
  ~LastDescriptor();
  LastDescriptor(const LastDescriptor&) = delete;
  LastDescriptor& operator=(const LastDescriptor&) = delete;

  // Takes the connections that wait at a listening socket, some of them, and sends each this word before it is closed.
  void turn_away(int listener, std::span<const std::uint8_t> word);

 private:
  int spare_ = -1;
};

}  // namespace tactus::net
