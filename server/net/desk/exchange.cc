#include "server/net/desk/exchange.h"

#include <utility>

namespace tactus::net {

Exchange::Exchange(SessionTable& sessions, const std::shared_ptr<ClientLine>& line, std::uint32_t id)
    : sessions_(sessions), line_(line), id_(id), client_(line->session()->slot()) {}

void Exchange::error(v1::ErrorCode code, const std::string& text) const {
  if (const auto line = line_.lock()) line->send_error(id_, code, text);
}

void Exchange::done() const {
  v1::Reply reply;
  reply.mutable_done();
  this->reply(std::move(reply));
}

void Exchange::reply(v1::Reply&& body) const {
  body.set_id(id_);
  if (const auto line = line_.lock()) line->send(body);
}

bool Exchange::needs_world(const Leases& leases) const {
  const std::uint64_t now = leases.now();
  if (leases.authority.holds(client_, kWorldChannel, now)) return true;
  if (leases.authority.is_held(kWorldChannel, now)) {
    error(v1::ERROR_LEASED_BY_OTHER, "the lease 'world' is held by " + name_of(leases.authority.holder(kWorldChannel)));
  } else {
    error(v1::ERROR_NOT_LEASED, "this needs the lease 'world': AcquireLease first");
  }
  return false;
}

Command command_of(const Exchange& x, Command::Kind kind) {
  Command command;
  command.kind = kind;
  command.client = x.client();
  return command;
}

void reply_scene(const Exchange& x, const SceneView& scene) {
  v1::Reply reply;
  describe(scene, *reply.mutable_scene());
  x.reply(std::move(reply));
}

}  // namespace tactus::net
