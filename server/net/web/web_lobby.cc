#include "server/net/web/web_lobby.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <string>

namespace tactus::net {
namespace {

std::string address_of(lws* wsi) {
  std::array<char, 64> text{};
  lws_get_peer_simple(wsi, text.data(), text.size());
  return text.data();
}

bool has_unread(lws* wsi) {
  int bytes = 0;
  return ioctl(lws_get_socket_fd(wsi), FIONREAD, &bytes) == 0 && bytes > 0;
}

}  // namespace

void WebLobby::enter(lws* wsi) {
  hear();
  tickets_[wsi] = lobby_.enter(source_of(address_of(wsi)), [this, wsi] {
    ++sent_away_;
    tickets_.erase(wsi);
    // A close by the library would wait for the other side's, which says nothing: so it is seen to have hung up.
    shutdown(lws_get_socket_fd(wsi), SHUT_RDWR);
  });
}

// What has come and was not read yet counts as said.
void WebLobby::hear() {
  for (const auto& [wsi, ticket] : tickets_)
    if (has_unread(wsi)) lobby_.spoke(ticket);
}

void WebLobby::spoke(lws* wsi) {
  if (const auto it = tickets_.find(wsi); it != tickets_.end()) lobby_.spoke(it->second);
}

void WebLobby::leave(lws* wsi) {
  const auto it = tickets_.find(wsi);
  if (it == tickets_.end()) return;
  lobby_.leave(it->second);
  tickets_.erase(it);
}

}  // namespace tactus::net
