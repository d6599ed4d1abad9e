// Leases, commands, the control loop and lockstep.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "clients/cpp/src/client_impl.h"
#include "clients/cpp/src/command_codec.h"

namespace tactus::client {

std::string full_channel(const std::string& channel) {
  if (channel == "world" || channel.find('/') != std::string::npos) return channel;
  return "body/" + channel + "/wrench";
}

// joint/ROBOT/* becomes the channels of its commanded joints: the server speaks of those.
void expand_channel(const std::string& channel, const v1::SceneDescription& scene, std::vector<std::string>& out) {
  const std::size_t before = out.size();
  for (const auto& robot : scene.robots()) {
    if (channel != "joint/" + robot.name() + "/*") continue;
    for (const auto& joint : robot.joints())
      if (joint.commanded()) out.push_back("joint/" + joint.name());
  }
  if (out.size() == before) out.push_back(channel);
}

bool Claim::holds(const std::string& channel) const {
  return lease != 0 && std::find(channels.begin(), channels.end(), channel) != channels.end() &&
         std::find(lost.begin(), lost.end(), channel) == lost.end();
}

void Claim::lose(const std::string& channel) {
  if (holds(channel)) lost.push_back(channel);
  if (lost.size() == channels.size()) lease = 0;
}

// Takes the lease of one claim, or renews it when it may still be held.
void Client::Impl::acquire(std::size_t index) {
  Claim claim;
  {
    const std::lock_guard lock(m);
    claim = claims.at(index);
  }
  if (claim.lease != 0 && claim.lost.empty()) {
    v1::Request renew;
    renew.mutable_renew_lease()->set_lease(claim.lease);
    if (ask(std::move(renew), options.request_timeout).reply) return;
  }
  v1::Request request;
  v1::AcquireLease& acquire = *request.mutable_acquire_lease();
  for (const std::string& channel : claim.channels) acquire.add_channels(channel);
  acquire.set_duration_ms(static_cast<std::uint32_t>(options.lease.count()));
  acquire.set_take_over(claim.take_over);
  Outcome outcome = ask(std::move(request), options.request_timeout);
  const std::lock_guard lock(m);
  claims.at(index).lease = outcome.reply ? outcome.reply->lease().lease() : 0;
  claims.at(index).lost.clear();
  if (!outcome.reply) throw Error(outcome.kind, outcome.text, outcome.code);
}

void Client::claim(const std::vector<std::string>& channels, bool take_over) {
  Claim claim;
  const std::shared_ptr<const v1::SceneDescription> known = scene();
  for (const std::string& channel : channels) expand_channel(full_channel(channel), *known, claim.channels);
  claim.take_over = take_over;
  std::sort(claim.channels.begin(), claim.channels.end());
  std::size_t index = 0;
  {
    const std::lock_guard lock(impl_->m);
    auto& all = impl_->claims;
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const Claim& c) { return c.channels == claim.channels; });
    index = static_cast<std::size_t>(same - all.begin());
    if (same == all.end())
      all.push_back(claim);
    else
      same->take_over = take_over;
  }
  try {
    impl_->acquire(index);
  } catch (...) {
    const std::lock_guard lock(impl_->m);
    impl_->claims.erase(impl_->claims.begin() + static_cast<std::ptrdiff_t>(index));
    throw;
  }
}

bool Client::holds(const std::string& channel) const {
  const std::string name = full_channel(channel);
  const std::lock_guard lock(impl_->m);
  return std::any_of(impl_->claims.begin(), impl_->claims.end(), [&](const Claim& claim) { return claim.holds(name); });
}

void Client::release() {
  disarm();
  const std::lock_guard lock(impl_->m);
  impl_->claims.clear();
}

void Client::arm(const std::vector<std::string>& channels, bool take_over) {
  claim(channels, take_over);
  arm();
}

void Client::arm() {
  std::size_t n = 0;
  {
    const std::lock_guard lock(impl_->m);
    n = impl_->claims.size();
  }
  for (std::size_t i = 0; i < n; ++i) impl_->acquire(i);
  const std::lock_guard lock(impl_->m);
  if (!impl_->up) throw Error(Error::Kind::link_lost, "not connected: " + impl_->down_reason);
  impl_->armed = true;
  impl_->disarm_reason.clear();
}

std::string Client::disarm_reason() const {
  const std::lock_guard lock(impl_->m);
  return impl_->armed ? std::string() : impl_->disarm_reason;
}

bool Client::armed() const {
  const std::lock_guard lock(impl_->m);
  return impl_->armed;
}

void Client::disarm() noexcept {
  Impl& d = *impl_;
  try {
    // Datagrams may be lost: three, before the leases go. Should all be lost, the deadline ends the force.
    for (int i = 0; i < 3; ++i) d.send_zero();
    std::vector<std::uint32_t> held;
    {
      const std::lock_guard lock(d.m);
      d.armed = false;
      d.disarm_reason = "disarmed by this program";
      d.commanded.clear();
      d.commanded_joints.clear();
      for (Claim& claim : d.claims) {
        if (claim.lease != 0) held.push_back(claim.lease);
        claim.lease = 0;
      }
      if (!d.up) held.clear();
    }
    for (const std::uint32_t lease : held) {
      v1::Request request;
      request.mutable_release_lease()->set_lease(lease);
      if (d.on_io_thread())
        d.session.request(std::move(request), [](const Outcome&) {});
      else
        d.ask(std::move(request), std::chrono::milliseconds(500));
    }
  } catch (...) {
    // Out of memory at worst: the deadline ends the force and the lease's time the lease.
  }
}

std::int64_t awake_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

std::string stood_still_text(std::int64_t ns) {
  char text[160];
  std::snprintf(text, sizeof text,
                "this program stood still for %.1f s, longer than its commands live; look at the world, arm() to go on",
                1e-9 * static_cast<double>(ns));
  return text;
}

// Suspended, or in a debugger that stops all threads: then the io thread did not turn. What waited to be sent is of a
// world that has moved on. In lockstep the world waited, too.
bool Client::Impl::stood_still() noexcept {
  const std::int64_t turned = turned_ns.load(std::memory_order_relaxed), still_ns = awake_ns() - turned;
  if (turned == 0 || still_ns < kStandstillNs) return false;
  try {
    {
      const std::lock_guard lock(m);
      const bool lockstep = known_tick || (latest && (latest->status_bits & v1::STATUS_LOCKSTEP) != 0);
      if (!armed || lockstep || commanded_ns == 0 || turned - commanded_ns > kStandstillNs) return false;
    }
    drop_authority(stood_still_text(still_ns));
  } catch (...) {
    return true;  // no memory for the words: the command is not sent all the same
  }
  return true;
}

// What the server judges the link by.
void Client::Impl::stamp(v1::CommandPacket& packet, const Realtime& link) {
  {
    const std::lock_guard lock(m);
    packet.set_client_recv_ns(static_cast<std::uint64_t>(quality.receive_ns(packet.expected_tick())));
    packet.set_states_received(static_cast<std::uint32_t>(quality.states()));
    packet.set_states_due(static_cast<std::uint32_t>(quality.states_due()));
    packet.set_verdicts_received(acknowledged = tracker.received());
  }
  packet.set_states_lost(static_cast<std::uint32_t>(link.datagrams().lost));
  packet.set_client_send_ns(static_cast<std::uint64_t>(now_ns()));
}

SendResult Client::Impl::send(const Command& command, bool zero) noexcept {
  if (!zero && !command.empty() && stood_still()) return {SendStatus::not_armed, 0};
  std::shared_ptr<Realtime> link;
  std::shared_ptr<const v1::SceneDescription> description;
  {
    const std::lock_guard lock(m);
    if (!up || !realtime) return {SendStatus::not_connected, 0};
    if (!armed && !zero) return {SendStatus::not_armed, 0};
    link = realtime;
    description = scene;
  }
  thread_local v1::CommandPacket packet;
  thread_local std::vector<v1::CommandPacket> parts;
  std::span<v1::CommandPacket> packets(&packet, 1);
  SendStatus status = encode_command(command, *description, packet);
  if (status == SendStatus::too_large) {
    status = encode_parts(command, *description, parts);
    packets = parts;
  }
  if (status != SendStatus::sent) return {status, 0};
  for (v1::CommandPacket& p : packets) {
    p.set_ends(zero ? 1 : 0);
    stamp(p, *link);
  }
  return send_packets(command, *link, packets, zero);
}

SendResult Client::Impl::send_packets(const Command& command, Realtime& link, std::span<v1::CommandPacket> packets,
                                      bool zero) noexcept {
  std::uint64_t sequence = 0;
  const bool judged = !command.empty();  // an empty command is a heartbeat
  const auto note = [&](std::uint64_t number) {
    if (!judged) return;
    const std::lock_guard lock(m);
    if (realtime.get() != &link) return;
    const std::int64_t now = now_ns();
    tracker.sent(number, now);
    commanded_ns = awake_ns();
    const std::uint32_t deadline = command.deadline_us == 0 ? wire::kDeadlineDefaultUs : command.deadline_us;
    quality.on_sent({number, command.expected_tick, now, deadline, zero});
    for (const Wrench& row : command.rows) commanded.insert(row.body);
    for (const JointRow& row : command.joints) commanded_joints.insert(row.joint);
  };
  const Realtime::Sent sent = link.send_parts(packets, sequence, note);
  if (sent == Realtime::Sent::ok) return {SendStatus::sent, sequence};
  if (judged) {
    const std::lock_guard lock(m);
    if (realtime.get() == &link) {
      tracker.unsent(sequence);
      quality.on_unsent();
    }
  }
  if (sent == Realtime::Sent::too_large) return {SendStatus::too_large, 0};
  return {sent == Realtime::Sent::blocked ? SendStatus::would_block : SendStatus::not_connected, 0};
}

SendResult Client::send_device(const v1::DevicePacket& packet) noexcept {
  std::shared_ptr<Realtime> link;
  {
    const std::lock_guard lock(impl_->m);
    if (!impl_->up || !impl_->realtime) return {SendStatus::not_connected, 0};
    link = impl_->realtime;
  }
  std::uint64_t sequence = 0;
  switch (link->send(wire::DatagramType::device, packet, sequence)) {
    case Realtime::Sent::ok:
      return {SendStatus::sent, sequence};
    case Realtime::Sent::blocked:
      return {SendStatus::would_block, 0};
    case Realtime::Sent::too_large:
      return {SendStatus::too_large, 0};
    default:
      return {SendStatus::not_connected, 0};
  }
}

SendResult Client::send(const Command& command) noexcept {
  return impl_->send(command);
}
void Client::send_zero() noexcept {
  impl_->send_zero();
}

void Client::Impl::send_zero() noexcept {
  std::vector<std::uint32_t> bodies, joints;
  {
    const std::lock_guard lock(m);
    bodies.assign(commanded.begin(), commanded.end());
    joints.assign(commanded_joints.begin(), commanded_joints.end());
  }
  for (std::size_t at = 0; at < joints.size(); at += 32) {
    Command command;
    for (std::size_t i = at; i < std::min(at + 32, joints.size()); ++i)
      command.joint({joints[i], JointMode::release, 0, 0});
    send(command, true);
  }
  for (std::size_t at = 0; at < bodies.size(); at += 16) {
    Command command;
    for (std::size_t i = at; i < std::min(at + 16, bodies.size()); ++i) command.force(bodies[i], {});
    send(command, true);
  }
}

std::vector<Verdict> Client::take_verdicts() {
  const std::lock_guard lock(impl_->m);
  std::vector<Verdict> out(impl_->verdicts.begin(), impl_->verdicts.end());
  impl_->verdicts.clear();
  return out;
}

namespace {

// Sends a zero command when a control loop ends, however it ends.
struct ZeroAtEnd {
  Client& client;
  ~ZeroAtEnd() { client.send_zero(); }
};

}  // namespace

// What one turn of run() needs to know.
struct Client::Impl::Turn {
  StatePtr state;
  Link link;
  std::optional<std::pair<Report::End, std::string>> end;
};

std::string Client::Impl::silence_text_locked() const {
  if (!stream_problem.empty()) return stream_problem;
  const bool free_run = latest && (latest->status_bits & v1::STATUS_LOCKSTEP) == 0;
  return "no state for a second" +
         why_silent_locked(free_run ? ": the server or the link stands still" : "; in lockstep, use advance()");
}

// Waits for a state newer than `seen`, at most 20 ms; says whether the loop must end without it. A program that was
// suspended may come to this before its io thread does.
Client::Impl::Turn Client::Impl::take_turn(std::uint64_t& seen, bool was_armed, std::int64_t heard_ns) {
  Turn turn;
  turn.state = wait_newer(seen, std::chrono::milliseconds(20));
  const bool silent = !turn.state && now_ns() - heard_ns > kSilenceNs;
  if (silent) stood_still();
  const std::lock_guard lock(m);
  if (turn.state) seen = returned_number;
  turn.link = link_locked();
  if (!up)
    turn.end = {Report::End::link_lost, down_reason.empty() ? "not connected" : down_reason};
  else if (was_armed && !armed)
    turn.end = {Report::End::disarmed, disarm_reason.empty() ? "disarmed" : disarm_reason};
  else if (silent)
    turn.end = {Report::End::silent, silence_text_locked()};
  return turn;
}

void Client::ensure_subscribed() {
  bool subscribed = false;
  {
    const std::lock_guard lock(impl_->m);
    subscribed = impl_->wants_stream;
  }
  if (subscribed) return;
  Subscription all;
  if (scene()->robots_size() > 0) all.bodies = all.joints = {"*"};
  subscribe(all);
}

Report Client::run(const Loop& loop) {
  Impl& d = *impl_;
  Report report;
  bool was_armed = false;
  std::uint64_t seen = 0;
  {
    const std::lock_guard lock(d.m);
    was_armed = d.armed;
    seen = d.latest_number;
  }
  const ZeroAtEnd zero{*this};
  const auto end = [&](Report::End how, const std::string& reason) {
    report.end = how;
    report.reason = reason;
    report.link = link();
    return report;
  };
  try {
    ensure_subscribed();
  } catch (const Error& error) {
    return end(Report::End::silent, std::string("no subscription: ") + error.what());
  }
  Command command;
  bool pushes = false;  // the first call may take its time: nothing acts yet
  std::int64_t heard_ns = now_ns();
  while (true) {
    const Impl::Turn turn = d.take_turn(seen, was_armed, heard_ns);
    if (turn.end) return end(turn.end->first, turn.end->second);
    if (!turn.state) continue;
    heard_ns = now_ns();
    const std::int64_t called_ns = awake_ns();
    command.clear();
    command.deadline_us = 0;
    command.expected_tick = turn.state->tick;
    const bool go_on = loop(*turn.state, turn.link, command);
    ++report.cycles;
    const std::int64_t still_ns = awake_ns() - called_ns;
    const bool lockstep = (turn.state->status_bits & v1::STATUS_LOCKSTEP) != 0;
    if (pushes && was_armed && !lockstep && still_ns > kStandstillNs) {
      d.drop_authority(stood_still_text(still_ns));  // in the callback, for example at a breakpoint
      return end(Report::End::disarmed, stood_still_text(still_ns));
    }
    pushes = pushes || !command.empty();
    if (!command.empty() && !send(command)) ++report.send_failures;
    if (!go_on) return end(Report::End::finished, "the loop's callback ended it");
  }
}

v1::GrantReply Client::step(std::uint32_t ticks) {
  const v1::Statistics now = statistics();
  if (now.lockstep()) return grant(now.tick() + ticks);
  v1::Request message;
  message.mutable_step()->set_ticks(ticks);
  return request(std::move(message)).grant();
}

v1::GrantReply Client::grant(std::uint64_t run_to_tick) {
  v1::Request message;
  message.mutable_grant()->set_run_to_tick(run_to_tick);
  message.mutable_grant()->set_scene_epoch(epoch());
  return request(std::move(message)).grant();
}

bool Client::Impl::wait_granted(Realtime& link, std::uint64_t target, std::int64_t since_ns) {
  constexpr std::chrono::milliseconds kPatience(20);  // then the grant goes out again
  const auto reached = [&] {
    return (granted_tick && *granted_tick >= target) ||
           (latest && latest->tick >= target && latest->receive_ns >= since_ns);
  };
  std::unique_lock lock(m);
  if (!callbacks->deaf()) return cv.wait_for(lock, kPatience, reached);
  for (const std::int64_t until = now_ns() + std::chrono::nanoseconds(kPatience).count();;) {
    if (reached()) return true;
    if (now_ns() >= until) return false;
    lock.unlock();
    link.receive_here(kPatience);
    lock.lock();
  }
}

StatePtr Client::advance(std::uint32_t ticks, const Command* command, std::chrono::milliseconds timeout) {
  Impl& d = *impl_;
  ensure_subscribed();
  std::optional<std::uint64_t> from;
  {
    const std::lock_guard lock(d.m);
    from = d.known_tick;
  }
  const std::uint64_t target = (from ? *from : statistics().tick()) + ticks;
  if (command != nullptr) {
    const SendResult sent = send(*command);
    if (!sent)
      throw Error(Error::Kind::usage, std::string("the command was not sent: ") + send_status_name(sent.status));
  }
  v1::GrantPacket packet;
  packet.set_scene_epoch(epoch());
  packet.set_run_to_tick(target);
  const std::int64_t start = now_ns();
  const std::int64_t until = start + timeout.count() * 1'000'000;
  while (now_ns() < until) {
    std::shared_ptr<Realtime> link;
    {
      const std::lock_guard lock(d.m);
      link = d.realtime;
    }
    if (!link) throw Error(Error::Kind::link_lost, "not connected");
    packet.set_client_send_ns(static_cast<std::uint64_t>(now_ns()));
    std::uint64_t sequence = 0;
    link->send(wire::DatagramType::grant, packet, sequence);
    if (d.wait_granted(*link, target, start)) {
      const std::lock_guard lock(d.m);
      d.known_tick = std::max(d.granted_tick.value_or(0), d.latest ? d.latest->tick : 0);
      d.returned_number = d.latest_number;
      return d.latest;
    }
  }
  throw Error(Error::Kind::timeout, "tick " + std::to_string(target) + " was not reached in time" +
                                        why_silent(": is the server in lockstep, and is the lease \"world\" held?"));
}

}  // namespace tactus::client
