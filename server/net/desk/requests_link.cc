// Faults of clients' links: set, and what they did so far.
#include <memory>
#include <utility>

#include "server/net/udp/realtime_port.h"
#include "server/net/desk/record_desk.h"
#include "server/net/desk/requests.h"
#include "server/net/desk/statistics.h"

namespace tactus::net {
namespace {

// The session meant (0: one's own), or null: the client has been told.
Session* find_session(const Exchange& x, std::uint32_t id) {
  Session* session = id == 0 ? x.session() : x.hub().sessions.find_id(id);
  if (session == nullptr)
    x.error(v1::ERROR_NOT_FOUND, "no client has the session " + std::to_string(id) + "; Statistics.clients names them");
  return session;
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

void fill_counters(const FaultyLink& link, v1::LinkFaultCounters& out) {
  const LinkFaultCounters& c = link.counters();
  out.set_datagrams(c.datagrams);
  out.set_lost(c.lost);
  out.set_bursts(c.bursts);
  out.set_duplicated(c.duplicated);
  out.set_reordered(c.reordered);
  out.set_delivered(c.delivered);
  out.set_waiting(link.waiting());
  out.set_queue_full(c.queue_full);
  out.set_flushed(c.flushed);
  set_histogram(out.mutable_delay_us(), c.delay_ns);
  out.mutable_delay_us()->set_mean(1e-3 * c.delay_ns.mean());
  out.set_sequence_hash(c.sequence_hash);
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

void fill_link(const FaultyLink& link, v1::LinkDirection& out) {
  const LinkFaultSettings& s = link.settings();
  out.set_delay_us(s.delay_us);
  out.set_jitter_us(s.jitter_us);
  out.set_loss(s.loss);
  out.set_loss_burst(s.loss_burst);
  out.set_duplicate(s.duplicate);
  out.set_reorder(s.reorder);
  out.set_reorder_us(s.reorder_us);
  out.set_keep_order(s.keep_order);
}

void set_link_faults(const Exchange& x, const v1::SetLinkFaults& request) {
  Session* session = find_session(x, request.session());
  if (session == nullptr) return;
  if (session != x.session() && !x.needs_world()) return;
  const LinkFaultSettings up = settings_of(request.up()), down = settings_of(request.down());
  if (const std::string problem = problem_of(up); !problem.empty())
    return x.error(v1::ERROR_BAD_VALUE, "up." + problem);
  if (const std::string problem = problem_of(down); !problem.empty())
    return x.error(v1::ERROR_BAD_VALUE, "down." + problem);
  x.hub().realtime->flush_links(*session);
  auto faults = std::make_unique<FaultyLinks>(request.seed(), up, down, x.hub().options.link_datagrams);
  if (session != x.session() && !request.keep()) faults->set_by = x.client();
  x.hub().set_faults(*session, std::move(faults));
  x.hub().record->note("set_link_faults", session->name() + ": " + request.ShortDebugString(),
                       x.hub().client_name(x.client()));
  reply_faults(x, *session);
}

void get_link_faults(const Exchange& x, const v1::GetLinkFaults& request) {
  if (const Session* session = find_session(x, request.session())) reply_faults(x, *session);
}

}  // namespace tactus::net
