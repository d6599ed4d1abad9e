#include "server/net/control/client_lines.h"

namespace tactus::net {

void ClientLines::add(const std::shared_ptr<ClientLine>& line) {
  std::erase_if(lines_, [](const auto& weak) { return weak.expired(); });
  lines_.push_back(line);
}

std::shared_ptr<ClientLine> ClientLines::find(ClientSlot client) const {
  for (const auto& weak : lines_) {
    auto line = weak.lock();
    if (line && line->session() != nullptr && line->session()->slot() == client) return line;
  }
  return nullptr;
}

std::string client_name(SessionTable& sessions, ClientSlot client) {
  const Session* session = sessions.find(client);
  return session == nullptr ? std::string("a client that has left") : session->name();
}

}  // namespace tactus::net
