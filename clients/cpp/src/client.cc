// The life of a Client, its link and its streams.
#include "tactus/client.h"

#include <algorithm>

#include "clients/cpp/src/client_impl.h"

namespace tactus::client {

Client::Client(const Options& options) : impl_(std::make_unique<Impl>(options)) {
  Impl& d = *impl_;
  std::unique_lock lock(d.m);
  const bool settled = d.cv.wait_for(lock, 2 * options.connect_timeout, [&] { return d.up || d.final_down; });
  if (d.up) return;
  const std::string reason =
      settled || !d.down_reason.empty() ? d.down_reason : "the server did not describe its scene in time";
  throw Error(d.down_kind, reason, d.down_code);
}

Client::Client(const std::string& host, std::uint16_t control_port, const std::string& token)
    : Client([&] {
        Options options;
        options.host = host;
        options.control_port = control_port;
        options.token = token;
        return options;
      }()) {}

Client Client::connect(const std::string& host, std::uint16_t control_port, const std::string& token) {
  return Client(host, control_port, token);
}

Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&& other) noexcept {
  if (this == &other) return *this;
  if (impl_) disarm();
  impl_ = std::move(other.impl_);
  return *this;
}

Client::~Client() {
  if (impl_) disarm();
}

bool Client::connected() const {
  const std::lock_guard lock(impl_->m);
  return impl_->up;
}

bool Client::wait_connected(std::chrono::milliseconds timeout) {
  std::unique_lock lock(impl_->m);
  impl_->cv.wait_for(lock, timeout, [&] { return impl_->up || impl_->final_down; });
  return impl_->up;
}

std::uint64_t Client::connections() const {
  const std::lock_guard lock(impl_->m);
  return impl_->connections;
}

std::uint32_t Client::epoch() const {
  const std::lock_guard lock(impl_->m);
  return impl_->scene->scene_epoch();
}

std::string Client::role() const {
  const std::lock_guard lock(impl_->m);
  return impl_->role;
}

Link Client::Impl::link_locked() const {
  Link link;
  link.connected = up;
  link.armed = armed;
  quality.report(link);
  link.verdicts_lost = tracker.numbers_lost();
  link.quality = figures;
  link.states_incomplete = incomplete;
  if (realtime) {
    link.packets_lost = realtime->packets_lost();
    link.packets_refused = realtime->packets_refused();
  }
  if (latest) {
    // Without an estimate yet, at least the time since it arrived.
    const std::int64_t start =
        clock.clock().valid ? latest->tick_start_ns - clock.clock().offset_ns : latest->receive_ns;
    link.age_us = static_cast<double>(now_ns() - start) * 1e-3;
  }
  return link;
}

Link Client::link() const {
  impl_->refresh_figures();
  const std::lock_guard lock(impl_->m);
  return impl_->link_locked();
}

Clock Client::clock() const {
  const std::lock_guard lock(impl_->m);
  return impl_->clock.clock();
}

std::int64_t Client::to_client_ns(std::int64_t server_ns) const {
  return server_ns - clock().offset_ns;
}

void Client::ping() {
  std::shared_ptr<Realtime> link;
  {
    const std::lock_guard lock(impl_->m);
    link = impl_->realtime;
  }
  if (!link) return;
  v1::Ping message;
  message.set_client_send_ns(static_cast<std::uint64_t>(now_ns()));
  std::uint64_t sequence = 0;
  link->send(wire::DatagramType::ping, message, sequence);
}

void Client::on_ping(std::function<void(std::int64_t, std::int64_t)> callback) {
  impl_->change_callbacks([&](auto& all) { all.ping = std::move(callback); });
}
void Client::on_state(std::function<void(const StatePtr&)> callback) {
  impl_->change_callbacks([&](auto& all) { all.state = std::move(callback); });
}
void Client::on_shadow(std::function<void(const ShadowPtr&)> callback) {
  impl_->change_callbacks([&](auto& all) { all.shadow = std::move(callback); });
}
void Client::on_tool(std::function<void(const v1::ToolPacket&, std::int64_t)> callback) {
  impl_->change_callbacks([&](auto& all) { all.tool = std::move(callback); });
}
void Client::on_verdict(std::function<void(const Verdict&)> callback) {
  impl_->change_callbacks([&](auto& all) { all.verdict = std::move(callback); });
}
void Client::on_event(std::function<void(const v1::Event&)> callback) {
  impl_->change_callbacks([&](auto& all) { all.event = std::move(callback); });
}
void Client::on_link(std::function<void(bool, const std::string&)> callback) {
  impl_->change_callbacks([&](auto& all) { all.link = std::move(callback); });
}

std::shared_ptr<const v1::SceneDescription> Client::scene() const {
  const std::lock_guard lock(impl_->m);
  return impl_->scene;
}

std::uint32_t Client::body(const std::string& name) const {
  const std::lock_guard lock(impl_->m);
  const auto found = impl_->ids.find(name);
  if (found != impl_->ids.end()) return found->second;
  std::string there;
  for (int i = 0; i < std::min(12, impl_->scene->bodies_size()); ++i)
    there += (i > 0 ? ", " : "") + impl_->scene->bodies(i).name();
  if (impl_->scene->bodies_size() > 12) there += ", ...";
  throw Error(Error::Kind::usage,
              "no body named '" + name + "' in scene '" + impl_->scene->name() + "'; there are: " + there);
}

v1::Subscription Client::subscribe(const Subscription& wanted) {
  Impl& d = *impl_;
  unsubscribe();
  v1::Reply reply = d.request(subscribe_request(wanted));
  const std::lock_guard lock(d.m);
  d.subscription = reply.subscription().id();
  d.wanted = wanted;
  d.wants_stream = true;
  d.stream_problem.clear();
  return reply.subscription();
}

void Client::unsubscribe() {
  Impl& d = *impl_;
  std::uint32_t old = 0;
  {
    const std::lock_guard lock(d.m);
    std::swap(old, d.subscription);
    d.wants_stream = false;
  }
  if (old == 0) return;
  v1::Request leave;
  leave.mutable_unsubscribe()->set_id(old);
  const Outcome outcome = d.ask(std::move(leave), d.options.request_timeout);
  if (!outcome.reply && outcome.code != v1::ERROR_NOT_FOUND) throw Error(outcome.kind, outcome.text, outcome.code);
}

StatePtr Client::latest() const {
  const std::lock_guard lock(impl_->m);
  return impl_->latest;
}

std::string Client::Impl::why_silent_locked(const std::string& otherwise) const {
  const std::string silence = realtime ? realtime->silence() : std::string();
  return silence.empty() ? otherwise : ": " + silence;
}

std::string Client::why_silent(const std::string& otherwise) const {
  const std::lock_guard lock(impl_->m);
  return impl_->why_silent_locked(otherwise);
}

StatePtr Client::Impl::wait_newer(std::uint64_t than, std::chrono::milliseconds timeout) {
  std::unique_lock lock(m);
  cv.wait_for(lock, timeout, [&] { return latest && latest_number > than; });
  if (!latest || latest_number <= than) return nullptr;
  returned_number = latest_number;
  return latest;
}

ShadowPtr Client::next_shadow(std::chrono::milliseconds timeout) {
  std::unique_lock lock(impl_->m);
  if (impl_->realtime) impl_->realtime->give_back();  // that advance() has
  impl_->cv.wait_for(lock, timeout, [this] { return impl_->shadow && !impl_->shadow_returned; });
  if (!impl_->shadow || impl_->shadow_returned) return nullptr;
  impl_->shadow_returned = true;
  return impl_->shadow;
}

StatePtr Client::next(std::chrono::milliseconds timeout) {
  ensure_subscribed();
  std::uint64_t seen = 0;
  {
    const std::lock_guard lock(impl_->m);
    seen = impl_->returned_number;
  }
  return impl_->wait_newer(seen, timeout);
}

}  // namespace tactus::client
