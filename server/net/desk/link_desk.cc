#include "server/net/desk/link_desk.h"

#include <utility>

#include "server/net/desk/figures.h"

namespace tactus::net {
namespace {

// Ranges were checked when the scene was read.
LinkFaultSettings settings_of(const SceneLinkDirection& in) {
  LinkFaultSettings out;
  out.delay_us = in.delay_us;
  out.jitter_us = in.jitter_us;
  out.loss = in.loss;
  out.loss_burst = in.loss_burst;
  out.duplicate = in.duplicate;
  out.reorder = in.reorder;
  out.reorder_us = in.reorder_us;
  out.keep_order = in.keep_order;
  return out;
}

LinkFaultSettings settings_of(const v1::LinkDirection& in) {
  LinkFaultSettings out;
  out.delay_us = in.delay_us();
  out.jitter_us = in.jitter_us();
  out.loss = in.loss();
  out.loss_burst = in.loss_burst();
  out.duplicate = in.duplicate();
  out.reorder = in.reorder();
  out.reorder_us = in.reorder_us();
  out.keep_order = in.keep_order();
  return out;
}

void reply_faults(const Exchange& x, const Session& session) {
  v1::Reply reply;
  v1::LinkFaultsReply* out = reply.mutable_link_faults();
  out->set_session(session.id());
  if (session.faults) {
    out->set_seed(session.faults->seed);
    if (const FaultyLink* up = session.faults->up.get()) {
      fill_link(*up, *out->mutable_up());
      fill_counters(*up, *out->mutable_up_counters());
      for (const std::uint32_t fate : up->fates()) out->add_up_fates(fate);
    }
    if (const FaultyLink* down = session.faults->down.get()) {
      fill_link(*down, *out->mutable_down());
      fill_counters(*down, *out->mutable_down_counters());
      for (const std::uint32_t fate : down->fates()) out->add_down_fates(fate);
    }
  }
  x.reply(std::move(reply));
}

}  // namespace

// The session meant (0: one's own), or null: the client has been told.
Session* LinkDesk::find_session(const Exchange& x, std::uint32_t id) const {
  Session* session = id == 0 ? x.session() : uses_.sessions.find_id(id);
  if (session == nullptr)
    x.error(v1::ERROR_NOT_FOUND, "no client has the session " + std::to_string(id) + "; Statistics.clients names them");
  return session;
}

void LinkDesk::set(const Exchange& x, const v1::SetLinkFaults& request) {
  Session* session = find_session(x, request.session());
  if (session == nullptr) return;
  if (session != x.session() && !x.needs_world(uses_.leases)) return;
  const LinkFaultSettings up = settings_of(request.up()), down = settings_of(request.down());
  if (const std::string problem = problem_of(up); !problem.empty())
    return x.error(v1::ERROR_BAD_VALUE, "up." + problem);
  if (const std::string problem = problem_of(down); !problem.empty())
    return x.error(v1::ERROR_BAD_VALUE, "down." + problem);
  uses_.links.flush(*session);
  auto faults = std::make_unique<FaultyLinks>(request.seed(), up, down, uses_.options.link_datagrams);
  if (session != x.session() && !request.keep()) faults->set_by = x.client();
  set_faults(*session, std::move(faults));
  uses_.journal.note("set_link_faults", session->name() + ": " + request.ShortDebugString(), x.name());
  reply_faults(x, *session);
}

void LinkDesk::get(const Exchange& x, const v1::GetLinkFaults& request) {
  if (const Session* session = find_session(x, request.session())) reply_faults(x, *session);
}

void LinkDesk::set_faults(Session& session, std::unique_ptr<FaultyLinks> faults, const char* why) {
  if (faults && !faults->up && !faults->down && !faults->of_scene) faults = nullptr;
  if (why != nullptr && (faults || session.faults)) {
    const auto told = [](const FaultyLink* link) { return link != nullptr ? text_of(link->settings()) : "sound"; };
    uses_.journal.note(why,
                       faults ? "seed=" + std::to_string(faults->seed) + " up: " + told(faults->up.get()) +
                                    " down: " + told(faults->down.get())
                              : std::string("sound"),
                       session.name());
  }
  uses_.links.set(session, std::move(faults));
}

const SceneLink* LinkDesk::scene_link(const std::string& client) const {
  const SceneLink* other = nullptr;
  for (const SceneLink& link : scene_links_) {
    if (link.client == client) return &link;
    if (link.client.empty()) other = &link;
  }
  return other;
}

void LinkDesk::welcome(Session& session) {
  const SceneLink* link = scene_link(session.name());
  const std::uint64_t seed = link_seed(link != nullptr ? link->seed : uses_.options.link_seed, session.name());
  const LinkFaultSettings up = link != nullptr ? settings_of(link->up) : uses_.options.link_up;
  const LinkFaultSettings down = link != nullptr ? settings_of(link->down) : uses_.options.link_down;
  auto faults = std::make_unique<FaultyLinks>(seed, up, down, uses_.options.link_datagrams);
  faults->of_scene = link != nullptr;
  set_faults(session, std::move(faults), link != nullptr ? "scene_link_faults" : "config_link_faults");
}

void LinkDesk::scene_changed(const std::vector<SceneLink>& links) {
  scene_links_ = links;
  uses_.sessions.for_each([this](Session& session) {
    const bool was = session.faults && session.faults->of_scene;
    if (!was && scene_link(session.name()) == nullptr) return;
    uses_.links.flush(session);
    welcome(session);
  });
}

void LinkDesk::left(ClientSlot client, const std::string& whose) {
  bool any = false;
  uses_.sessions.for_each([&](Session& session) {
    if (!session.faults || session.faults->set_by != client) return;
    uses_.links.flush(session);
    welcome(session);
    any = true;
  });
  if (any) uses_.events.broadcast(v1::Event::OPTIONS_ENDED, "link faults of " + whose);
}

}  // namespace tactus::net
