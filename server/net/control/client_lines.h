// The lines to all who are connected.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/net/control/client_line.h"

namespace tactus::net {

class ClientLines {
 public:
  void add(const std::shared_ptr<ClientLine>& line);
  // Null: the client has left.
  [[nodiscard]] std::shared_ptr<ClientLine> find(ClientSlot client) const;
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& weak : lines_) {
      if (const std::shared_ptr<ClientLine> line = weak.lock()) visit(*line);
    }
  }

 private:
  std::vector<std::weak_ptr<ClientLine>> lines_;
};

// For people: also of a client that has left.
[[nodiscard]] std::string client_name(SessionTable& sessions, ClientSlot client);

}  // namespace tactus::net
