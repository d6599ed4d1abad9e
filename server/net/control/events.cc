#include "server/net/control/events.h"

#include "proto/cpp/utf8.h"

namespace tactus::net {

v1::Reply Events::reply_of(v1::Event::Kind kind, const std::string& text) const {
  v1::Reply reply;
  v1::Event* event = reply.mutable_event();
  event->set_kind(kind);
  event->set_tick(status_.newest.tick);
  event->set_text(wire::as_utf8(text));
  event->set_scene_epoch(scene_.epoch);
  return reply;
}

void Events::broadcast(v1::Event::Kind kind, const std::string& text, std::uint32_t count) {
  v1::Reply reply = reply_of(kind, text);
  if (count > 1) reply.mutable_event()->set_count(count);
  journal_.event(reply.event());
  lines_.for_each([&reply](ClientLine& line) {
    if (line.session() != nullptr) line.send(reply);
  });
}

void Events::send(ClientSlot client, v1::Event::Kind kind, const std::string& text) {
  const v1::Reply reply = reply_of(kind, text);
  journal_.event(reply.event());
  if (const auto line = lines_.find(client)) line->send(reply);
}

}  // namespace tactus::net
