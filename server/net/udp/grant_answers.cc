#include "server/net/udp/grant_answers.h"

#include "server/realtime/clock.h"

namespace tactus::net {

void GrantAnswers::expect(ClientSlot client, std::uint64_t until, bool mute_before) {
  answers_.push_back({client, until, mute_before});
}

void GrantAnswers::reached(std::uint64_t tick) {
  for (const Answer& a : answers_) {
    if (a.mute_before && a.until <= tick) send_granted(a.client);
  }
  if (std::erase_if(answers_, [tick](const Answer& a) { return a.until <= tick; }) > 0) answered_ns_ = now_ns();
}

void GrantAnswers::forget(ClientSlot client) {
  std::erase_if(answers_, [client](const Answer& a) { return a.client == client; });
}

GrantAnswers::Wish GrantAnswers::wish(ClientSlot client, std::uint64_t tick) const {
  Wish out;
  for (const Answer& answer : answers_) {
    if (answer.client != client) continue;
    out.muted = out.muted || (answer.mute_before && tick < answer.until);
    out.forced = out.forced || tick == answer.until;
  }
  return out;
}

bool GrantAnswers::send_granted(ClientSlot client) {
  Session* session = sessions_.find(client);
  if (outlet_.is_around_faults() || session == nullptr || !session->faults || !session->faults->down) return false;
  if (!session->is_heard(now_ns())) return true;
  v1::GrantedPacket granted;
  granted.set_scene_epoch(scene_.epoch);
  granted.set_tick(tick_.lockstep() ? tick_.world().state().tick : status_.newest.tick);
  const std::size_t length = granted.ByteSizeLong();
  granted.SerializeWithCachedSizesToArray(outlet_.payload());
  outlet_.send(*session, wire::DatagramType::granted, length);
  return true;
}

}  // namespace tactus::net
