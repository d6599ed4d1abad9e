#include "server/net/hub.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "proto/cpp/seal.h"
#include "proto/cpp/utf8.h"
#include "server/net/control/conversation.h"
#include "server/net/desk/lockstep.h"
#include "server/net/desk/modes.h"
#include "server/net/udp/realtime_port.h"
#include "server/net/desk/record_desk.h"
#include "server/realtime/clock.h"

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

}  // namespace

void ShadowSeen::add(const ShadowSummary& summary) noexcept {
  last = summary;
  position_max = std::max(position_max, summary.position.value);
  angle_max = std::max(angle_max, summary.angle.value);
  velocity_max = std::max(velocity_max, summary.velocity.value);
  force_max = std::max(force_max, summary.force.value);
}

std::size_t connections_at_once(std::size_t wanted, std::size_t part) {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return wanted;
  return std::min<std::size_t>(wanted, descriptors.rlim_cur / part);
}

std::uint32_t random_u32() {
  std::uint32_t out = 0;
  while (out == 0) wire::random_bytes({reinterpret_cast<std::uint8_t*>(&out), sizeof out});
  return out;
}

v1::Reply Hub::event_reply(v1::Event::Kind kind, const std::string& text) const {
  v1::Reply reply;
  v1::Event* event = reply.mutable_event();
  event->set_kind(kind);
  event->set_tick(newest.tick);
  event->set_text(wire::as_utf8(text));
  event->set_scene_epoch(scene.epoch);
  return reply;
}

std::uint64_t Hub::lease_now() const {
  return lease_clock.read(now_ns());
}

void Hub::tell_expiries() {
  for (const ExpiryNews::News& news : expiries.take(now_ns()))
    broadcast(v1::Event::COMMANDS_EXPIRED, news.text, news.count);
}

void Hub::broadcast(v1::Event::Kind kind, const std::string& text, std::uint32_t count) {
  v1::Reply reply = event_reply(kind, text);
  if (count > 1) reply.mutable_event()->set_count(count);
  if (record != nullptr) record->event(reply.event());
  for (const auto& weak : connections) {
    const auto c = weak.lock();
    if (c && c->session() != nullptr) c->send(reply);
  }
}

std::shared_ptr<Conversation> Hub::connection(ClientSlot client) {
  for (const auto& weak : connections) {
    auto c = weak.lock();
    if (c && c->session() != nullptr && c->session()->slot() == client) return c;
  }
  return nullptr;
}

void Hub::send_event(ClientSlot client, v1::Event::Kind kind, const std::string& text) {
  const v1::Reply reply = event_reply(kind, text);
  if (record != nullptr) record->event(reply.event());
  if (const auto c = connection(client)) c->send(reply);
}

void Hub::channels_lost(const std::vector<LostChannel>& lost, bool tell) {
  if (tell) end_options(*this, lost);
  for (const LostChannel& l : lost) {
    if (tell) send_event(l.client, v1::Event::LEASE_LOST, scene.channel_name(l.channel));
    if (l.channel == kWorldChannel) continue;
    if (const BodyIndex tool = scene.tool_of(l.channel); tool != kNoBody) {
      tools.release(*this, tool);
      continue;
    }
    Command command;
    const JointIndex joint = scene.joint_of(l.channel);
    command.kind = joint == kNone ? Command::Kind::drop_channel : Command::Kind::drop_joint;
    command.epoch = scene.epoch;
    if (joint == kNone) {
      command.row.body = l.channel - 1;
    } else {
      command.joint.joint = joint;
    }
    tick.post(command);
  }
}

void Hub::set_faults(Session& session, std::unique_ptr<FaultyLinks> faults, const char* why) {
  if (faults && !faults->up && !faults->down && !faults->of_scene) faults = nullptr;
  if (why != nullptr && record != nullptr && (faults || session.faults)) {
    const auto told = [](const FaultyLink* link) { return link != nullptr ? text_of(link->settings()) : "sound"; };
    record->note(why,
                 faults ? "seed=" + std::to_string(faults->seed) + " up: " + told(faults->up.get()) +
                              " down: " + told(faults->down.get())
                        : std::string("sound"),
                 session.name());
  }
  session.faults = std::move(faults);
  faulty_links = 0;
  sessions.for_each([this](const Session& s) { faulty_links += s.faults ? 1 : 0; });
}

const SceneLink* Hub::scene_link(const std::string& client) const {
  const SceneLink* other = nullptr;
  for (const SceneLink& link : scene_links) {
    if (link.client == client) return &link;
    if (link.client.empty()) other = &link;
  }
  return other;
}

void Hub::begin_faults(Session& session) {
  const SceneLink* link = scene_link(session.name());
  const std::uint64_t seed = link_seed(link != nullptr ? link->seed : options.link_seed, session.name());
  const LinkFaultSettings up = link != nullptr ? settings_of(link->up) : options.link_up;
  const LinkFaultSettings down = link != nullptr ? settings_of(link->down) : options.link_down;
  auto faults = std::make_unique<FaultyLinks>(seed, up, down, options.link_datagrams);
  faults->of_scene = link != nullptr;
  set_faults(session, std::move(faults), link != nullptr ? "scene_link_faults" : "config_link_faults");
}

void Hub::scene_links_changed(const std::vector<SceneLink>& links) {
  scene_links = links;
  sessions.for_each([this](Session& session) {
    const bool was = session.faults && session.faults->of_scene;
    if (!was && scene_link(session.name()) == nullptr) return;
    realtime->flush_links(session);
    begin_faults(session);
  });
}

void Hub::client_left(ClientSlot client) {
  if (Session* session = sessions.find(client)) set_faults(*session, nullptr);
  channels_lost(authority.drop_client(client), false);
  fall_back(*this, client);
  sessions.remove(client);
}

std::string Hub::client_name(ClientSlot client) {
  const Session* session = sessions.find(client);
  return session == nullptr ? std::string("a client that has left") : session->name();
}

void Hub::scene_changed(const World& world, std::string name, std::uint32_t epoch, State blank) {
  // Told in the terms of the old scene: its names, its epoch. Nothing is left to drop: the tick has dropped it all.
  const auto bodies = static_cast<std::uint32_t>(world.model().bodies.size());
  const auto joints = static_cast<std::uint32_t>(world.model().joints.size());
  for (const LostChannel& l : authority.set_bodies(bodies, joints + bodies))
    send_event(l.client, v1::Event::LEASE_LOST, scene.channel_name(l.channel));
  scene.set(world, std::move(name), epoch, std::move(blank));
  tools.clear();
  owned_options.clear();
  sessions.for_each([](Session& session) { session.subscriptions.clear(); });
}

}  // namespace tactus::net
