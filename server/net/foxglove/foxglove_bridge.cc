#include "server/net/foxglove/foxglove_bridge.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tactus::net {

using foxglove_wire::Level;
using foxglove_wire::Wish;

namespace {

constexpr std::size_t kLogsKept = 100, kViewerSubscriptions = 64;
constexpr double kWorldHz = 30, kPlotHz = 20;

std::uint32_t bit(foxglove_wire::Channel channel) {
  return 1u << static_cast<unsigned>(channel);
}

}  // namespace

FoxgloveBridge::FoxgloveBridge(std::string name, std::string token)
    : name_(std::move(name)), token_(std::move(token)) {}

std::uint32_t FoxgloveBridge::ask(v1::Request& request, Purpose purpose, Out& out, const std::string& text) {
  request.set_id(++last_request_);
  waiting_[last_request_] = {purpose, text};
  FoxgloveBytes bytes(request.ByteSizeLong());
  request.SerializeWithCachedSizesToArray(bytes.data());
  if (sealer_) {
    const wire::Mac mac = sealer_->control_mac('C', counter_++, bytes);
    bytes.insert(bytes.end(), mac.begin(), mac.end());
  }
  out.to_net.push_back(std::move(bytes));
  return last_request_;
}

void FoxgloveBridge::start(Out& out) {
  wire::random_bytes(nonce_);
  v1::Request request;
  v1::Hello& hello = *request.mutable_hello();
  hello.set_version_major(wire::kVersionMajor);
  hello.set_version_minor(wire::kVersionMinor);
  hello.set_client_name(name_);
  hello.set_nonce(nonce_.data(), nonce_.size());
  ask(request, Purpose::hello, out);
}

void FoxgloveBridge::from_net(std::span<const std::uint8_t> bytes, Out& out) {
  v1::Reply reply;
  if (!reply.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  if (reply.body_case() == v1::Reply::kState) return on_state(reply.state(), out);
  if (reply.body_case() == v1::Reply::kEvent) return on_event(reply.event(), out);
  if (reply.id() == 0 && reply.has_error()) return say(Level::error, reply.error().text(), out);
  const auto it = waiting_.find(reply.id());
  if (it == waiting_.end()) return;
  const Waiting waiting = it->second;
  waiting_.erase(it);
  on_reply(waiting, reply, out);
}

void FoxgloveBridge::on_reply(const Waiting& waiting, const v1::Reply& reply, Out& out) {
  switch (waiting.purpose) {
    case Purpose::hello:
      if (reply.has_error()) {
        out.end = reply.error().text();
      } else if (reply.has_hello()) {
        on_hello(reply.hello(), out);
      } else {  // authenticated
        v1::Request request;
        request.mutable_describe_scene();
        ask(request, Purpose::scene, out);
      }
      return;
    case Purpose::scene:
      if (reply.has_scene()) on_scene(reply.scene(), out);
      if (!set_id_.empty() && sets_under_way_ == 0 && sets_.empty())
        tell_parameters(std::exchange(set_id_, {}), {}, out);
      return;
    case Purpose::world_stream:
    case Purpose::plot_stream:
    case Purpose::still_stream:
      if (waiting.text != epoch_text()) return;                                    // of a scene that has gone
      if (reply.has_error()) return say(Level::error, reply.error().text(), out);  // not asked again in this scene
      return on_subscribed(waiting.purpose, reply.subscription().id(), out);
    case Purpose::begin:
      if (reply.has_statistics()) begin(reply.statistics(), out);
      return;
    case Purpose::playback:
      if (!reply.has_playback()) return;
      playback_ = reply.playback();
      follow_playback();
      return tell_playback("", false, out);
    case Purpose::statistics:
      if (!reply.has_statistics()) return;
      is_paused_ = reply.statistics().paused();
      return publish(Channel::statistics, reply.statistics(), false, out);
    case Purpose::lease:
      return on_lease(reply, out);
    case Purpose::set:
      return set_done(waiting, reply, out);
    case Purpose::mesh:
      if (!fetches_.empty() && waiting.text == std::to_string(fetches_.front().request)) on_mesh(reply, out);
      return;
    case Purpose::other:
      return;
  }
}

void FoxgloveBridge::on_hello(const v1::HelloReply& hello, Out& out) {
  v1::Request request;
  if (!hello.needs_token()) {
    wire::Key key{};
    std::copy_n(hello.key().begin(), std::min(key.size(), hello.key().size()), key.begin());
    sealer_.emplace(key);
    request.mutable_describe_scene();
    ask(request, Purpose::scene, out);
    return;
  }
  wire::Nonce theirs{};
  std::copy_n(hello.nonce().begin(), std::min(theirs.size(), hello.nonce().size()), theirs.begin());
  const wire::Proof proof = wire::handshake_proof(token_, "client", nonce_, theirs);
  request.mutable_authenticate()->set_proof(proof.data(), proof.size());
  ask(request, Purpose::hello, out);
  sealer_.emplace(wire::derive_session_key(token_, nonce_, theirs));
}

void FoxgloveBridge::on_scene(const v1::SceneDescription& scene, Out& out) {
  const bool is_new = scene.scene_epoch() != scene_.description().scene_epoch();
  scene_.set(scene);
  if (!is_advertised_) {
    v1::Request request;
    request.mutable_get_statistics();  // is it paused, or a playback?
    ask(request, Purpose::begin, out);
  }
  if (is_new) {
    world_ = plot_ = still_ = world_wish_ = 0;  // gone with their scene
    world_asked_ = plot_asked_ = false;
    still_frames_.Clear();
    batch_.Clear();
    for (const Fetch& fetch : fetches_)
      out.to_viewer.push_back({false, false, 0, foxglove_wire::asset_error(fetch.request, "the scene has changed")});
    fetches_.clear();
    if (wants(Channel::scene)) tell_scene(out);
    stream_what_is_wanted(out);
  }
  if (watches_parameters_) tell_parameters("", {}, out);
}

void FoxgloveBridge::begin(const v1::Statistics& statistics, Out& out) {
  if (is_advertised_) return;
  is_advertised_ = true;
  is_paused_ = statistics.paused();
  foxglove_wire::TimeRange range;
  if (statistics.has_playback()) {
    playback_ = statistics.playback();
    range.begin_ns = playback_->begin_ns();
    range.end_ns = range.begin_ns + static_cast<std::uint64_t>(std::llround(1e9 * playback_->duration_s()));
    time_s_ = 1e-9 * static_cast<double>(range.begin_ns) + playback_->position_s();
  }
  for (const std::string& text :
       {foxglove_wire::server_info("tactusd", epoch_text(), range), foxglove_wire::advertise()})
    out.to_viewer.push_back({false, true, 0, FoxgloveBytes(text.begin(), text.end())});
  if (playback_) tell_playback("", false, out);
}

// --- Streams

std::string FoxgloveBridge::epoch_text() const {
  return fmt::format("{:08x}", scene_.description().scene_epoch());
}

bool FoxgloveBridge::wants(Channel channel) const {
  return std::any_of(subscriptions_.begin(), subscriptions_.end(),
                     [channel](const auto& s) { return s.second == channel; });
}

std::uint64_t FoxgloveBridge::time_ns() const {
  return static_cast<std::uint64_t>(std::llround(1e9 * std::max(0.0, time_s_)));
}

void FoxgloveBridge::publish(Channel channel, const google::protobuf::Message& message, bool once, Out& out) const {
  std::string payload;
  for (const auto& [id, wanted] : subscriptions_) {
    if (wanted != channel) continue;
    if (payload.empty()) payload = message.SerializeAsString();
    out.to_viewer.push_back({!once, false, std::uint64_t{id} + 1, foxglove_wire::message(id, time_ns(), payload)});
  }
}

void FoxgloveBridge::subscribe(const Wish& wish, Out& out) {
  for (const auto& [id, channel] : wish.subscriptions) {
    if (channel < 1 || channel > foxglove_wire::kChannels) {
      say(Level::error, fmt::format("subscribe: there is no channel {}", channel), out);
      continue;
    }
    if (subscriptions_.size() >= kViewerSubscriptions || subscriptions_.contains(id)) {
      say(Level::warning, fmt::format("subscribe: {} is in use, or there are too many", id), out);
      continue;
    }
    const auto which = static_cast<Channel>(channel);
    subscriptions_.emplace(id, which);
    if (which == Channel::scene) tell_scene(out);
    if (which == Channel::transforms && still_frames_.transforms_size() > 0)
      publish(Channel::transforms, still_frames_, true, out);
    if (which != Channel::log) continue;
    for (const foxglove::Log& log : logs_)
      out.to_viewer.push_back({false, false, id, foxglove_wire::message(id, time_ns(), log.SerializeAsString())});
  }
  stream_what_is_wanted(out);
}

void FoxgloveBridge::drop(std::uint32_t& subscription, Out& out) {
  if (subscription == 0) return;
  v1::Request request;
  request.mutable_unsubscribe()->set_id(std::exchange(subscription, 0));
  ask(request, Purpose::other, out);
}

void FoxgloveBridge::stream_what_is_wanted(Out& out) {
  if (!is_advertised_) return;
  const double step = std::max(1e-6, scene_.description().step_s());
  const auto every = [step](double hz) {
    return static_cast<std::uint32_t>(std::max(1.0, std::ceil(1 / (hz * step))));
  };
  std::uint32_t wish = 0;
  for (const Channel channel : {Channel::transforms, Channel::contacts, Channel::joints}) {
    if (wants(channel)) wish |= bit(channel);
  }
  if (wish != world_wish_ && !world_asked_) {
    drop(world_, out);
    world_wish_ = wish;
    if (wish != 0) {
      v1::Request request;
      v1::Subscribe& s = *request.mutable_subscribe();
      s.add_bodies("*");
      s.set_single_precision(true);
      s.set_contacts((wish & bit(Channel::contacts)) != 0);
      if ((wish & bit(Channel::joints)) != 0 && scene_.description().robots_size() > 0) s.add_joints("*");
      s.set_decimation(every(kWorldHz));
      ask(request, Purpose::world_stream, out, epoch_text());
      world_asked_ = true;
    }
    const std::vector<std::string> still = scene_.still_bodies();
    if ((wish & bit(Channel::transforms)) != 0 && still_frames_.transforms_size() == 0 && !still.empty()) {
      v1::Request request;
      for (const std::string& name : still) request.mutable_subscribe()->add_bodies(name);
      request.mutable_subscribe()->set_single_precision(true);
      request.mutable_subscribe()->set_decimation(1);
      ask(request, Purpose::still_stream, out, epoch_text());
    }
  }
  if (!wants(Channel::plot)) return drop(plot_, out);
  if (plot_ != 0 || plot_asked_ || scene_.description().bodies().empty()) return;
  v1::Request request;
  request.mutable_subscribe()->add_bodies(
      scene_.description().bodies(0).name());  // one row: it is the head that counts
  request.mutable_subscribe()->set_single_precision(true);
  request.mutable_subscribe()->set_decimation(1);
  ask(request, Purpose::plot_stream, out, epoch_text());
  plot_asked_ = true;
}

void FoxgloveBridge::on_subscribed(Purpose purpose, std::uint32_t id, Out& out) {
  if (purpose == Purpose::still_stream) {
    still_ = id;
    return;
  }
  if (purpose == Purpose::plot_stream) {
    plot_asked_ = false;
    plot_ = id;
  } else {
    world_asked_ = false;
    world_ = id;
  }
  stream_what_is_wanted(out);  // it may want something else by now
}

void FoxgloveBridge::on_state(const std::string& bytes, Out& out) {
  v1::StatePacket state;
  if (!state.ParseFromString(bytes) || state.scene_epoch() != scene_.description().scene_epoch()) return;
  const double before_s = std::exchange(
      time_s_, state.play_time_ns() != 0 ? 1e-9 * static_cast<double>(state.play_time_ns()) : state.sim_time_s());
  if (time_s_ < before_s) out.forget_states = has_jumped_ = true;  // reset, restored
  is_paused_ = (state.status_bits() & v1::STATUS_PAUSED) != 0;
  jumped(out);
  if (state.subscription() == plot_) return on_plot(state, out);
  if (state.subscription() == still_ && still_ != 0) {
    still_frames_.Clear();
    scene_.fill(still_frames_, state);
    publish(Channel::transforms, still_frames_, true, out);
    return drop(still_, out);
  }
  state.set_sim_time_s(time_s_);  // what the viewer's clock follows: stamps must be of the same
  on_world(state, out);
}

// A viewer takes a clock that goes back for a seek, and drops what it has of later times. So frames of before the jump
// must not come after it, and the clock must come before all that is new.
void FoxgloveBridge::jumped(Out& out) {
  if (!std::exchange(has_jumped_, false)) return;
  batch_.Clear();
  out.to_viewer.push_back({false, false, 0, foxglove_wire::time(time_ns())});
  if (playback_) tell_playback(std::exchange(play_request_, {}), true, out);
}

void FoxgloveBridge::on_world(const v1::StatePacket& state, Out& out) {
  out.to_viewer.push_back({true, false, 0, foxglove_wire::time(time_ns())});
  if (wants(Channel::transforms)) {
    foxglove::FrameTransforms frames;
    scene_.fill(frames, state);
    publish(Channel::transforms, frames, false, out);
  }
  if (wants(Channel::contacts)) {
    foxglove::SceneUpdate arrows;
    scene_.fill_contacts(arrows, state);
    publish(Channel::contacts, arrows, false, out);
  }
  if (wants(Channel::joints) && state.joint_id_size() > 0) {
    foxglove::JointStates joints;
    scene_.fill(joints, state);
    publish(Channel::joints, joints, false, out);
  }
}

namespace {

// samples: those of the batch so far.
void summarise(v1::PlotSummary& out, double value, int samples) {
  out.set_min(samples == 1 ? value : std::min(out.min(), value));
  out.set_max(samples == 1 ? value : std::max(out.max(), value));
  out.set_mean(out.mean() + (value - out.mean()) / samples);
}

}  // namespace

void FoxgloveBridge::on_plot(const v1::StatePacket& state, Out& out) {
  const int count = batch_.samples_size() + 1;
  if (count == 1) batch_.set_first_tick(state.tick());
  if (count > 1 && state.tick() > batch_.last_tick() + 1)
    batch_.set_ticks_left_out(batch_.ticks_left_out() +
                              static_cast<std::uint32_t>(state.tick() - batch_.last_tick() - 1));
  v1::PlotSample& sample = *batch_.add_samples();
  sample.set_tick(state.tick());
  sample.set_sim_time_s(state.sim_time_s());
  sample.set_wake_late_us(state.wake_late_us());
  sample.set_work_us(state.work_us());
  sample.set_penetration_max_m(state.penetration_max_m());
  sample.set_kinetic_energy_j(state.kinetic_energy_j());
  sample.set_contacts(state.contacts());
  batch_.set_last_tick(state.tick());
  batch_.set_sim_time_s(state.sim_time_s());
  batch_.set_ticks_missed(state.ticks_missed());
  batch_.set_real_time_factor(static_cast<double>(state.real_time_factor()));
  summarise(*batch_.mutable_wake_late_us(), static_cast<double>(state.wake_late_us()), count);
  summarise(*batch_.mutable_work_us(), static_cast<double>(state.work_us()), count);
  summarise(*batch_.mutable_penetration_max_m(), static_cast<double>(state.penetration_max_m()), count);
  summarise(*batch_.mutable_kinetic_energy_j(), static_cast<double>(state.kinetic_energy_j()), count);
  summarise(*batch_.mutable_contacts(), state.contacts(), count);
  const double step = std::max(1e-6, scene_.description().step_s());
  if (static_cast<double>(count) * step * kPlotHz < 1) return;
  publish(Channel::plot, batch_, false, out);
  batch_.Clear();
}

void FoxgloveBridge::tell_scene(Out& out) {
  foxglove::SceneUpdate update;
  scene_.fill(update, time_s_);
  publish(Channel::scene, update, true, out);
}

void FoxgloveBridge::look(Out& out) {
  if (!is_advertised_) return;
  out.to_viewer.push_back({true, false, 0, foxglove_wire::time(time_ns())});
  if (playback_) {
    v1::Request request;
    request.mutable_set_playback();
    ask(request, Purpose::playback, out);
  }
  if (!wants(Channel::statistics)) return;
  v1::Request request;
  request.mutable_get_statistics();
  ask(request, Purpose::statistics, out);
}

// --- Events

void FoxgloveBridge::on_event(const v1::Event& event, Out& out) {
  foxglove::Log log;
  log.mutable_timestamp()->set_seconds(static_cast<std::int64_t>(time_s_));
  log.mutable_timestamp()->set_nanos(static_cast<std::int32_t>(1e9 * (time_s_ - std::floor(time_s_))));
  switch (event.kind()) {
    case v1::Event::BODY_FROZEN:
    case v1::Event::ROBOT_FAULT:
    case v1::Event::SERVER_STOPPING:
    case v1::Event::RECORD_FAILED:
      log.set_level(foxglove::Log::ERROR);
      break;
    case v1::Event::LEASE_LOST:
    case v1::Event::COMMANDS_EXPIRED:
    case v1::Event::RECORD_LOST:
    case v1::Event::TOOL_LET_GO:
      log.set_level(foxglove::Log::WARNING);
      break;
    default:
      log.set_level(foxglove::Log::INFO);
  }
  log.set_name("tactusd");
  log.set_message(v1::Event::Kind_Name(event.kind()) + (event.text().empty() ? "" : ": " + event.text()) +
                  fmt::format(" (tick {})", event.tick()));
  logs_.push_back(log);
  if (logs_.size() > kLogsKept) logs_.pop_front();
  publish(Channel::log, log, true, out);
  if (event.kind() == v1::Event::RESTORED && playback_) out.forget_states = has_jumped_ = true;
  if (event.kind() == v1::Event::PAUSED) is_paused_ = true;
  if (event.kind() == v1::Event::RESUMED) is_paused_ = false;
  if (event.kind() == v1::Event::LEASE_LOST) return;
  v1::Request request;  // what it changed: scene, model, settings
  request.mutable_describe_scene();
  ask(request, Purpose::scene, out);
}

void FoxgloveBridge::say(Level level, const std::string& text, Out& out) const {
  const std::string frame = foxglove_wire::status(level, text);
  out.to_viewer.push_back({false, true, 0, FoxgloveBytes(frame.begin(), frame.end())});
}

}  // namespace tactus::net
