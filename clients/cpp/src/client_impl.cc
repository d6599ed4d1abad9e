// The io thread's side of a Client: link up and down, streams, heartbeats, leases.
#include "clients/cpp/src/client_impl.h"

#include <algorithm>
#include <future>

namespace tactus::client {
namespace {

constexpr auto kBeat = std::chrono::milliseconds(10);
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr auto kLoad = std::chrono::minutes(10);
thread_local const void* running_impl = nullptr;  // whose io thread this is

// A scene may take minutes to load, and the server answers when it is there. That it lives is seen by other means.
std::chrono::milliseconds patience_for(const v1::Request& request, const Options& options) {
  const bool builds = request.has_load_scene() || request.has_reset();
  return builds ? std::max<std::chrono::milliseconds>(kLoad, options.request_timeout) : options.request_timeout;
}

}  // namespace

v1::Request subscribe_request(const Subscription& wanted) {
  v1::Request request;
  v1::Subscribe& s = *request.mutable_subscribe();
  for (const std::string& name : wanted.bodies) s.add_bodies(name);
  s.set_velocity(wanted.velocity);
  s.set_wrench(wanted.wrench);
  s.set_contacts(wanted.contacts);
  s.set_single_precision(wanted.single_precision);
  s.set_decimation(wanted.decimation);
  for (const std::string& name : wanted.joints) s.add_joints(name);
  for (const std::string& name : wanted.sensors) s.add_sensors(name);
  for (const std::string& name : wanted.end_effectors) s.add_end_effectors(name);
  s.set_jacobian(wanted.jacobian);
  s.set_shadow(wanted.shadow);
  s.set_tools(wanted.tools);
  return request;
}

bool Client::Impl::on_io_thread() const {
  return running_impl == this;
}

Client::Impl::Impl(Options options_in)
    : options(std::move(options_in)),
      session(
          io, options,
          {[this](const Handshake& handshake) { on_up(handshake); },
           [this](const Error& reason, bool final) { on_down(reason, final); },
           [this](const v1::Reply& reply) { on_reply(reply); }, [this](const v1::Event& event) { on_event(event); }}) {
  session.start();
  thread = std::thread([this] {
    running_impl = this;
    io.run();
  });
}

Client::Impl::~Impl() {
  asio::post(io, [this] { session.stop(); });
  asio::post(io, [this] {
    timer.cancel();
    work.reset();
  });
  thread.join();
}

void Client::Impl::on_up(const Handshake& handshake) {
  // An assembler of its own for each connection: a packet of the old one cannot reach the new one.
  auto assembler = std::make_shared<Assembler>();
  auto shadows = std::make_shared<ShadowAssembler>();
  auto link = std::make_shared<Realtime>(
      io, handshake.realtime, handshake.key, handshake.session,
      Realtime::Handlers{
          [this, assembler](const v1::StatePacket& packet, std::uint64_t sequence, std::int64_t receive_ns) {
            on_packet(assembler, packet, sequence, receive_ns);
          },
          [this](const v1::Pong& pong, std::int64_t receive_ns) { on_pong(pong, receive_ns); },
          [this](const v1::GrantedPacket& granted) { on_granted(granted); },
          [this, shadows](const v1::ShadowPacket& packet, std::int64_t receive_ns) {
            on_shadow(*shadows, packet, receive_ns);
          },
          [this](const v1::ToolPacket& packet, std::int64_t receive_ns) {
            const auto call = current_callbacks();
            if (call->tool) call->tool(packet, receive_ns);
          },
          [this](const v1::VerdictPacket& packet, std::int64_t receive_ns) { on_verdicts(packet, receive_ns); },
          [this](const v1::ChallengePacket& packet) {
            asio::post(io, [this, number = packet.challenge()] { send_heartbeat(number); });
          }});
  link->start();
  {
    const std::lock_guard lock(m);
    role = handshake.role;
    realtime = link;
    tracker = {};
    acknowledged = 0;
    quality = {};
    quality.set_period_s(handshake.step_s);
    figures = {};
    clock = {};
    incomplete = 0;
    subscription = 0;
    auto placeholder = std::make_shared<v1::SceneDescription>();
    placeholder->set_scene_epoch(handshake.scene_epoch);
    scene = placeholder;
  }
  beats = 0;
  turned_ns.store(awake_ns(), std::memory_order_relaxed);
  heartbeat_ns = probe_sent_ns = 0;
  renewed_ns = now_ns();
  set_up_streams();
  beat();
}

void Client::Impl::set_up_streams() {
  send_heartbeat();  // binds our UDP address before the first state is due
  v1::Request describe;
  describe.mutable_describe_scene();
  session.request(std::move(describe), [this](const Outcome& outcome) {
    if (!outcome.reply) return session.close("the server did not describe its scene: " + outcome.text);
    std::uint32_t old = 0;
    std::optional<v1::Request> request;
    {
      const std::lock_guard lock(m);
      std::swap(old, subscription);
      if (wants_stream) request = subscribe_request(wanted);
    }
    if (old != 0) {
      v1::Request leave;
      leave.mutable_unsubscribe()->set_id(old);
      session.request(std::move(leave), [](const Outcome&) {});  // it may be gone with its scene
    }
    if (!request) return finish_up();
    session.request(std::move(*request), [this](const Outcome& subscribed) {
      {
        const std::lock_guard lock(m);
        if (subscribed.reply) subscription = subscribed.reply->subscription().id();
        // For example, a subscribed body is not in the new scene. Stay connected; run() and next() will be silent.
        if (subscribed.kind == Error::Kind::refused) stream_problem = subscribed.text;
      }
      finish_up();
    });
  });
}

void Client::Impl::finish_up() {
  bool news = false;
  {
    const std::lock_guard lock(m);
    news = !up && realtime != nullptr;
    if (news) {
      up = true;
      news = ++connections > 1;  // the constructor's return tells of the first
    }
  }
  cv.notify_all();
  const auto call = current_callbacks();
  if (news && call->link) call->link(true, "");
}

void Client::Impl::on_down(const Error& error, bool final) {
  const std::string reason = error.what();
  std::shared_ptr<Realtime> old;
  bool was_up = false;
  {
    const std::lock_guard lock(m);
    was_up = up;
    up = false;
    final_down = final;
    down_kind = error.kind();
    down_code = error.code();
    down_reason = reason;
    old = std::move(realtime);
    realtime = nullptr;
    for (Claim& claim : claims) claim.lease = 0;
    if (armed) disarm_reason = reason;
    armed = false;
    commanded.clear();
    commanded_joints.clear();
    latest = nullptr;
    granted_tick.reset();
    known_tick.reset();
  }
  timer.cancel();
  if (old) old->close();
  cv.notify_all();
  const auto call = current_callbacks();
  if (was_up && call->link) call->link(false, reason);
}

// Every successful reply, before its own handler: scenes come by three requests.
void Client::Impl::on_reply(const v1::Reply& reply) {
  if (reply.has_scene()) adopt_scene(reply.scene());
  if (!reply.has_grant()) return;
  const std::lock_guard lock(m);
  known_tick = reply.grant().tick();
}

void Client::Impl::adopt_scene(const v1::SceneDescription& description) {
  bool changed = false;
  {
    const std::lock_guard lock(m);
    changed = up && description.scene_epoch() != scene->scene_epoch();
    scene = std::make_shared<v1::SceneDescription>(description);
    quality.set_period_s(description.step_s());
    ids.clear();
    for (const auto& body : description.bodies()) ids[body.name()] = body.id();
  }
  if (changed) drop_authority("the scene changed: its bodies have new ids");
  if (changed) set_up_streams();
}

void Client::Impl::forget_tick() {
  const std::lock_guard lock(m);
  granted_tick.reset();
  known_tick.reset();
  latest = nullptr;
}

void Client::Impl::drop_authority(const std::string& why) {
  {
    const std::lock_guard lock(m);
    if (armed) disarm_reason = why;
    armed = false;
    commanded.clear();
    commanded_joints.clear();
  }
  cv.notify_all();
}

void Client::Impl::on_event(const v1::Event& event) {
  if (event.kind() == v1::Event::RESTORED || event.kind() == v1::Event::LOCKSTEP_CHANGED) forget_tick();
  if (event.kind() == v1::Event::SCENE_CHANGED) {
    bool known = false;
    {
      const std::lock_guard lock(m);
      known = event.scene_epoch() == scene->scene_epoch();
    }
    if (!known) {
      forget_tick();
      drop_authority("the scene changed: its bodies have new ids");
      v1::Request describe;
      describe.mutable_describe_scene();
      session.request(std::move(describe), [](const Outcome&) {});  // on_reply adopts it
    }
  }
  if (event.kind() == v1::Event::STOPPED)
    drop_authority("stopped by " + event.text() + ": look at the world, arm() to go on");
  if (event.kind() == v1::Event::LEASE_LOST) {
    bool ours = false;
    {
      const std::lock_guard lock(m);
      for (Claim& claim : claims)
        for (const std::string& channel : claim.channels)
          if (event.text() == channel) {  // the server names one channel
            claim.lose(channel);
            ours = true;
          }
    }
    if (ours) drop_authority("a lease was lost: " + event.text());
  }
  const auto call = current_callbacks();
  if (call->event) call->event(event);
}

void Client::Impl::on_packet(const std::shared_ptr<Assembler>& assembler, const v1::StatePacket& packet,
                             std::uint64_t sequence, std::int64_t receive_ns) {
  std::vector<Verdict> judged;
  StatePtr state = assembler->add(packet, sequence, receive_ns);
  {
    const std::lock_guard lock(m);
    tracker.receive(packet, receive_ns, judged);
    tracker.expire(receive_ns, judged);
    for (const Verdict& verdict : judged) quality.on_verdict(verdict);
    incomplete = assembler->incomplete();
    if (state) {
      latest = state;
      ++latest_number;
      quality.on_state(*state, wanted.decimation, realtime ? realtime->datagrams() : Datagrams{});
    }
  }
  deliver(judged);
  if (!state) return;
  cv.notify_all();
  const auto call = current_callbacks();
  if (call->state) call->state(state);
}

void Client::Impl::on_verdicts(const v1::VerdictPacket& packet, std::int64_t receive_ns) {
  std::vector<Verdict> judged;
  {
    const std::lock_guard lock(m);
    tracker.receive(packet, receive_ns, judged);
    for (const Verdict& verdict : judged) quality.on_verdict(verdict);
  }
  deliver(judged);
}

// In lockstep a command waits for as long as nobody grants: none is given up between states.
void Client::Impl::tell_verdicts() {
  std::vector<Verdict> judged;
  bool news = false;
  {
    const std::lock_guard lock(m);
    news = tracker.received() > acknowledged;
    if (latest && (latest->status_bits & v1::STATUS_LOCKSTEP) == 0) tracker.expire(now_ns(), judged);
    for (const Verdict& verdict : judged) quality.on_verdict(verdict);
  }
  deliver(judged);
  if (news) send_heartbeat();
}

void Client::Impl::on_shadow(ShadowAssembler& assembler, const v1::ShadowPacket& packet, std::int64_t receive_ns) {
  const ShadowPtr complete = assembler.add(packet, receive_ns);
  if (!complete) return;
  {
    const std::lock_guard lock(m);
    shadow = complete;
    shadow_returned = false;
  }
  cv.notify_all();
  const auto call = current_callbacks();
  if (call->shadow) call->shadow(complete);
}

void Client::Impl::deliver(const std::vector<Verdict>& judged) {
  if (judged.empty()) return;
  const auto call = current_callbacks();
  if (call->verdict) {
    for (const Verdict& verdict : judged) call->verdict(verdict);
    return;
  }
  const std::lock_guard lock(m);
  verdicts.insert(verdicts.end(), judged.begin(), judged.end());
  while (verdicts.size() > 4096) verdicts.pop_front();
}

void Client::Impl::on_pong(const v1::Pong& pong, std::int64_t receive_ns) {
  ClockFilter::Sample sample;
  {
    const std::lock_guard lock(m);
    sample =
        clock.add(static_cast<std::int64_t>(pong.client_send_ns()), static_cast<std::int64_t>(pong.server_recv_ns()),
                  static_cast<std::int64_t>(pong.server_send_ns()), receive_ns);
  }
  const auto call = current_callbacks();
  if (call->ping) call->ping(sample.round_trip_ns, sample.offset_ns);
}

void Client::Impl::on_granted(const v1::GrantedPacket& granted) {
  {
    const std::lock_guard lock(m);
    if (granted.scene_epoch() != scene->scene_epoch()) return;
    granted_tick = granted.tick();
  }
  cv.notify_all();
}

// With a challenge: shows the server that this client is where its datagrams come from (behind NAT that is not where
// its control connection comes from).
void Client::Impl::send_heartbeat(std::uint64_t challenge) {
  std::shared_ptr<Realtime> link;
  v1::CommandPacket packet;
  {
    const std::lock_guard lock(m);
    link = realtime;
    packet.set_scene_epoch(scene->scene_epoch());
  }
  if (!link) return;
  packet.set_challenge(challenge);
  stamp(packet, *link);
  std::uint64_t sequence = 0;
  link->send(wire::DatagramType::command, packet, sequence);
  heartbeat_ns = now_ns();
}

void Client::Impl::io_turned() {
  stood_still();  // before the mark moves on: whoever wakes first finds it
  turned_ns.store(awake_ns(), std::memory_order_relaxed);
}

// Every 10 ms. Pings: each beat in the first 200 ms, so that the clock is known early; ten a second afterwards.
void Client::Impl::beat() {
  timer.expires_after(kBeat);
  timer.async_wait([this](std::error_code error) {
    std::shared_ptr<Realtime> link;
    {
      const std::lock_guard lock(m);
      link = realtime;
    }
    if (error || !link) return;
    io_turned();
    link->take_back();
    const std::int64_t now = now_ns();
    if (++beats < 20 || beats % 10 == 0) {
      v1::Ping ping;
      ping.set_client_send_ns(static_cast<std::uint64_t>(now));
      std::uint64_t sequence = 0;
      link->send(wire::DatagramType::ping, ping, sequence);
    }
    if (beats % 50 == 0) refresh_figures();
    tell_verdicts();
    if (now - heartbeat_ns > 250 * kMillisecond) send_heartbeat();
    if (now - renewed_ns > options.lease.count() * kMillisecond / 3) renew_leases();
    const std::int64_t heard_ns = session.last_received_ns();
    look_for_deafness(*link, heard_ns);
    if (probe_sent_ns <= heard_ns && now - heard_ns > 2000 * kMillisecond) {
      probe_sent_ns = now;
      v1::Request probe;
      probe.mutable_list_leases();
      session.request(std::move(probe), [](const Outcome&) {});
    }
    if (probe_sent_ns > heard_ns && now - probe_sent_ns > options.link_timeout.count() * kMillisecond)
      return session.close("the server has not answered for " + std::to_string(options.link_timeout.count()) + " ms");
    beat();
  });
}

void Client::Impl::look_for_deafness(const Realtime& link, std::int64_t tcp_ns) {
  const std::lock_guard lock(m);
  quality.look_for_deafness(now_ns(), link.heard_ns(), tcp_ns);
}

// Outside the lock: percentiles take longer than a control loop should wait.
void Client::Impl::refresh_figures() {
  auto meter = std::make_unique<LinkMeter>();
  {
    const std::lock_guard lock(m);
    *meter = quality.meter();
    quality.count_silence(*meter, now_ns());
  }
  LinkFigures fresh = meter->figures();
  const std::lock_guard lock(m);
  figures = std::move(fresh);
}

void Client::Impl::renew_leases() {
  renewed_ns = now_ns();
  std::vector<std::uint32_t> held;
  {
    const std::lock_guard lock(m);
    for (const Claim& claim : claims)
      if (claim.lease != 0) held.push_back(claim.lease);
  }
  for (const std::uint32_t lease : held) {
    v1::Request request;
    request.mutable_renew_lease()->set_lease(lease);
    session.request(std::move(request), [this, lease](const Outcome& outcome) {
      if (outcome.reply || outcome.kind != Error::Kind::refused) return;
      bool lost = false;
      {
        const std::lock_guard lock(m);
        for (Claim& claim : claims)
          if (claim.lease == lease) {
            claim.lease = 0;
            lost = true;
          }
      }
      if (lost) drop_authority("a lease could not be renewed: " + outcome.text);
    });
  }
}

Outcome Client::Impl::ask(v1::Request request, std::chrono::milliseconds timeout) {
  if (on_io_thread())
    return {std::nullopt, Error::Kind::usage, 0, "requests cannot be made from a callback of the client's io thread"};
  auto promise = std::make_shared<std::promise<Outcome>>();
  std::future<Outcome> future = promise->get_future();
  asio::post(io, [this, promise, moved = std::move(request)]() mutable {
    session.request(std::move(moved), [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
  });
  if (future.wait_for(timeout) != std::future_status::ready)
    return {std::nullopt, Error::Kind::timeout, 0, "no reply within " + std::to_string(timeout.count()) + " ms"};
  return future.get();
}

v1::Reply Client::Impl::request(v1::Request message) {
  const std::chrono::milliseconds patience = patience_for(message, options);
  Outcome outcome = ask(std::move(message), patience);
  if (!outcome.reply) throw Error(outcome.kind, outcome.text, outcome.code);
  return std::move(*outcome.reply);
}

}  // namespace tactus::client
