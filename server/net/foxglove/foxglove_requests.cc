// What a Foxglove viewer asks for: parameters, which it reads and sets under the lease "world" for the while, and
// assets.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "server/net/foxglove/foxglove_bridge.h"

namespace tactus::net {

using foxglove_wire::Level;
using foxglove_wire::Wish;
using nlohmann::json;

namespace {

constexpr std::size_t kFetchesMax = 64, kSetsMax = 256, kMessageMax = 1u << 20;

// A setting's text as the viewer shows it: numbers as numbers.
json value_of(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  return {};
}

}  // namespace

void FoxgloveBridge::from_viewer(bool is_text, std::string_view message, Out& out) {
  if (!is_text && playback_) return control(message, out);
  if (!is_text) return say(Level::warning, "binary messages are not taken: this server offers no publishing", out);
  if (message.size() > kMessageMax) return say(Level::error, "the message is too long", out);
  const Wish wish = foxglove_wire::read_wish(message);
  if (wish.kind == Wish::Kind::malformed) return say(Level::error, wish.text, out);
  if (!is_advertised_) return;  // nothing was offered yet
  switch (wish.kind) {
    case Wish::Kind::subscribe:
      return subscribe(wish, out);
    case Wish::Kind::unsubscribe:
      for (const std::uint32_t id : wish.ids) subscriptions_.erase(id);
      return stream_what_is_wanted(out);
    case Wish::Kind::get_parameters:
      return tell_parameters(wish.id, wish.names, out);
    case Wish::Kind::set_parameters:
      return set_parameters(wish, out);
    case Wish::Kind::watch_parameters:
      watches_parameters_ = true;
      return tell_parameters("", wish.names, out);
    case Wish::Kind::unwatch_parameters:
      watches_parameters_ = false;
      return;
    case Wish::Kind::fetch_asset:
      return fetch(wish, out);
    case Wish::Kind::none:
    case Wish::Kind::malformed:
      return;
  }
}

// --- Playback: the bar of Foxglove (playbackControl), and for viewers without one the parameters "playback.position_s"
// and "playback.speed".

void FoxgloveBridge::control(std::string_view frame, Out& out) {
  foxglove_wire::PlayWish wish;
  if (!foxglove_wire::read_play_wish(frame, wish))
    return say(Level::warning, "binary messages: expected playback control", out);
  const double begin_s = 1e-9 * static_cast<double>(playback_->begin_ns());
  Wish sets;
  sets.values.emplace_back("paused", wish.pause);
  if (wish.speed > 0) sets.values.emplace_back("playback.speed", wish.speed);
  if (wish.has_seek)
    sets.values.emplace_back("playback.position_s", 1e-9 * static_cast<double>(wish.seek_ns) - begin_s);
  play_request_ = wish.request;
  set_parameters(sets, out);
}

// After a seek the answer comes with the first state from there, where there is a stream of states.
void FoxgloveBridge::answer_control(Out& out) {
  if (!playback_ || play_request_.empty()) return;
  if (has_jumped_ && has_stream()) return;
  follow_playback();
  if (has_jumped_) return jumped(out);
  tell_playback(std::exchange(play_request_, {}), false, out);
}

// Without a stream the clock is what the server says of the playback.
void FoxgloveBridge::follow_playback() {
  if (!has_stream()) time_s_ = 1e-9 * static_cast<double>(playback_->begin_ns()) + playback_->position_s();
}

void FoxgloveBridge::tell_playback(const std::string& request, bool did_seek, Out& out) const {
  using foxglove_wire::PlayStatus;
  const PlayStatus status = is_paused_           ? PlayStatus::paused
                            : playback_->ended() ? PlayStatus::ended
                                                 : PlayStatus::playing;
  const auto speed = static_cast<float>(playback_->speed());
  out.to_viewer.push_back(
      {false, false, 0, foxglove_wire::playback_state(status, time_ns(), speed, did_seek, request)});
}

// --- Parameters: "paused", "model", and the settings of SetParameter by their keys.

json FoxgloveBridge::parameters(const std::vector<std::string>& names) const {
  json out = json::array();
  const auto add = [&](const std::string& name, json value) {
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) return;
    out.push_back({{"name", name}, {"value", std::move(value)}});
  };
  add("paused", is_paused_);
  add("model", scene_.description().model());
  if (playback_) {
    add("playback.position_s", time_s_ - 1e-9 * static_cast<double>(playback_->begin_ns()));
    add("playback.speed", playback_->speed());
  }
  for (const v1::Parameter& setting : scene_.description().settings()) add(setting.key(), value_of(setting.value()));
  return out;
}

void FoxgloveBridge::tell_parameters(const std::string& id, const std::vector<std::string>& names, Out& out) {
  const std::string text = foxglove_wire::parameter_values(parameters(names), id);
  out.to_viewer.push_back({false, true, 0, FoxgloveBytes(text.begin(), text.end())});
}

void FoxgloveBridge::set_parameters(const Wish& wish, Out& out) {
  for (const auto& entry : wish.values) {
    const std::string& name = entry.first;  // a lambda may not capture a structured binding
    const json& value = entry.second;
    const auto& settings = scene_.description().settings();
    const bool plays = name == "playback.position_s" || name == "playback.speed";
    const bool is_known = name == "paused" || name == "model" || (plays && playback_) ||
                          std::any_of(settings.begin(), settings.end(), [&](const auto& s) { return s.key() == name; });
    const bool fits = name == "paused" ? value.is_boolean() : plays ? value.is_number() : !text_of(value).empty();
    if (!is_known || !fits) {
      say(Level::error,
          is_known ? "parameter " + name + ": expected " + (name == "paused" ? "true or false" : "a number or a text")
                   : "there is no parameter " + name,
          out);
    } else if (sets_.size() >= kSetsMax) {
      say(Level::error, "too many parameters at one time", out);
    } else {
      sets_.push_back({name, value});
    }
  }
  set_id_ = wish.id;
  if (sets_.empty()) return tell_parameters(std::exchange(set_id_, {}), {}, out);
  if (lease_ != 0) return begin_sets(out);
  if (std::exchange(lease_asked_, true)) return;
  v1::Request request;
  request.mutable_acquire_lease()->add_channels("world");
  ask(request, Purpose::lease, out);
}

void FoxgloveBridge::on_lease(const v1::Reply& reply, Out& out) {
  lease_asked_ = false;
  if (reply.has_error()) {
    say(Level::error, "not set: " + reply.error().text(), out);
    sets_.clear();
    answer_control(out);
    return tell_parameters(std::exchange(set_id_, {}), {}, out);
  }
  lease_ = reply.lease().lease();
  begin_sets(out);
}

void FoxgloveBridge::begin_sets(Out& out) {
  for (const Set& set : std::exchange(sets_, {})) {
    v1::Request request;
    if (set.name == "paused" && set.value.get<bool>()) {
      request.mutable_pause();
    } else if (set.name == "paused") {
      request.mutable_resume();
    } else if (set.name == "playback.position_s") {
      request.mutable_set_playback()->set_position_s(set.value.get<double>());
    } else if (set.name == "playback.speed") {
      request.mutable_set_playback()->set_speed(set.value.get<double>());
    } else if (set.name == "model") {
      request.mutable_set_model()->set_name(text_of(set.value));
    } else {
      request.mutable_set_parameter()->set_key(set.name);
      request.mutable_set_parameter()->set_value(text_of(set.value));
    }
    ask(request, Purpose::set, out, set.name);
    ++sets_under_way_;
  }
}

void FoxgloveBridge::set_done(const Waiting& waiting, const v1::Reply& reply, Out& out) {
  if (reply.has_error()) {
    say(Level::error, "parameter " + waiting.text + ": " + reply.error().text(), out);
  }
  if (reply.has_playback()) playback_ = reply.playback();
  if (--sets_under_way_ > 0 || !sets_.empty()) return;
  answer_control(out);
  v1::Request release, describe;
  release.mutable_release_lease()->set_lease(std::exchange(lease_, 0));
  ask(release, Purpose::other, out);
  describe.mutable_describe_scene();
  ask(describe, Purpose::scene, out);
}

// --- Assets

void FoxgloveBridge::fetch(const Wish& wish, Out& out) {
  Fetch next;
  next.request = wish.request;
  const char* why = nullptr;
  if (!scene_.find_asset(wish.text, next.asset)) why = "there is no such asset in this scene";
  if (fetches_.size() >= kFetchesMax) why = "too many assets at one time";
  if (why != nullptr) {
    out.to_viewer.push_back({false, false, 0, foxglove_wire::asset_error(wish.request, why)});
    return;
  }
  fetches_.push_back(std::move(next));
  if (fetches_.size() == 1) fetch_piece(out);
}

void FoxgloveBridge::fetch_piece(Out& out) {
  const Fetch& fetch = fetches_.front();
  v1::Request request;
  v1::GetMesh& mesh = *request.mutable_get_mesh();
  mesh.set_body(fetch.asset.body);
  mesh.set_shape(fetch.asset.shape);
  mesh.set_scene_epoch(scene_.description().scene_epoch());
  mesh.set_first(static_cast<std::uint32_t>(fetch.corners.size() / 9));
  ask(request, Purpose::mesh, out, std::to_string(fetch.request));
}

void FoxgloveBridge::on_mesh(const v1::Reply& reply, Out& out) {
  Fetch& fetch = fetches_.front();
  const v1::Mesh& mesh = reply.mesh();
  fetch.corners.insert(fetch.corners.end(), mesh.corner_m().begin(), mesh.corner_m().end());
  const bool is_stuck = reply.has_error() || mesh.corner_m().empty();
  if (!is_stuck && fetch.corners.size() / 9 < mesh.triangles()) return fetch_piece(out);
  out.to_viewer.push_back(
      {false, false, 0,
       is_stuck ? foxglove_wire::asset_error(fetch.request, reply.has_error() ? reply.error().text() : "it is empty")
                : foxglove_wire::asset(fetch.request, record::stl_of(fetch.corners))});
  fetches_.pop_front();
  if (!fetches_.empty()) fetch_piece(out);
}

}  // namespace tactus::net
