// Haply's Inverse Service with an Inverse3 and a VerseGrip, simulated: the virtual device in a simulated hand behind
// the published protocol. One state for each message, and one millisecond of simulated time, so the client's rate is
// the device's rate, as it is there. It can also misbehave. Any port of the loopback; a thread of its own.
#pragma once

#include <libwebsockets.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tactus/haptic/virtual_device.h"

namespace tactus::test {

class HaplyMock {
 public:
  enum class Conduct { sound, no_device, silent, no_json, no_number, leaps, hangs_up };

  explicit HaplyMock(const haptic::Mechanism& mechanism, const haptic::Hand& hand = {}, int port = 0)
      : device_(mechanism, hand) {
    static const lws_protocols protocols[] = {{"http", &HaplyMock::on_event, 0, 16384, 0, nullptr, 0},
                                              {nullptr, nullptr, 0, 0, 0, nullptr, 0}};
    lws_set_log_level(0, nullptr);
    lws_context_creation_info info;
    std::memset(&info, 0, sizeof info);
    info.port = port;
    info.iface = "127.0.0.1";
    info.protocols = protocols;
    info.gid = info.uid = -1;
    info.user = this;
    context_ = lws_create_context(&info);
    if (context_ == nullptr) return;
    port_ = lws_get_vhost_listen_port(lws_get_vhost_by_name(context_, "default"));
    thread_ = std::thread([this] {
      while (!stop_) lws_service(context_, 0);
    });
  }
  ~HaplyMock() {
    stop_ = true;
    if (context_ == nullptr) return;
    lws_cancel_service(context_);
    thread_.join();
    lws_context_destroy(context_);
  }
  int port() const { return port_; }
  void behave(Conduct conduct) { conduct_ = conduct; }

  struct Seen {
    std::uint64_t messages = 0, wrong = 0;  // wrong: not what the service documents
    haptic::Vec3 force = haptic::Vec3::Zero(), hand_force = haptic::Vec3::Zero(), position = haptic::Vec3::Zero();
    std::string profile, first_wrong;
  };
  Seen seen() const {
    const std::lock_guard lock(m_);
    return seen_;
  }

 private:
  using Json = nlohmann::json;
  static Json vector(const haptic::Vec3& x) { return {{"x", x.x()}, {"y", x.y()}, {"z", x.z()}}; }

  std::string frame(bool full) {
    haptic::Reading r;
    device_.read(r);
    haptic::Vec3 p = r.X_DH.p;
    const Conduct conduct = conduct_;
    if (conduct == Conduct::leaps) p.z() += 0.5;
    Json inverse = {{"device_id", "049D"},
                    {"state",
                     {{"cursor_position", vector(p)},
                      {"cursor_velocity", vector(device_.velocity().v)},
                      {"current_cursor_force", vector(seen_.force)}}},
                    {"status", {{"calibrated", true}, {"in_use", true}, {"ready", true}}}};
    if (conduct == Conduct::no_number) inverse["state"]["cursor_position"]["y"] = nullptr;
    if (full) inverse["config"] = {{"type", "inverse3"}, {"handedness", "right"}};
    const haptic::Quat& q = r.X_DH.q;
    const Json grip = {
        {"device_id", "61548"},
        {"state",
         {{"orientation", {{"w", q.w()}, {"x", q.x()}, {"y", q.y()}, {"z", q.z()}}},
          {"buttons", {{"a", (r.buttons & 1) != 0}, {"b", (r.buttons & 2) != 0}, {"c", (r.buttons & 4) != 0}}}}}};
    Json out = {{"inverse3", Json::array({inverse})}, {"wireless_verse_grip", Json::array({grip})}};
    if (conduct == Conduct::no_device) out["inverse3"] = Json::array();
    if (full) out["session_id"] = 7;
    return conduct == Conduct::no_json ? "{\"inverse3\":[" : out.dump();
  }

  void wrong(const std::string& what) {
    if (++seen_.wrong == 1) seen_.first_wrong = what;
  }
  // A message of the client: what it commands, and a millisecond.
  void take(const std::string& text) {
    const std::lock_guard lock(m_);
    const Json message = Json::parse(text, nullptr, false);
    const Json::json_pointer at("/inverse3/0/commands/set_cursor_force/vector");
    ++seen_.messages;
    if (message.is_discarded() || !message.contains(at)) return wrong("no force: " + text);
    if (message["inverse3"][0].value("device_id", "") != "049D") return wrong("another device: " + text);
    const Json::json_pointer name("/session/configure/profile/name");
    if (message.contains(name) != (seen_.messages == 1)) wrong("the profile is for the first message: " + text);
    if (message.contains(name)) seen_.profile = message.at(name);
    const Json& f = message.at(at);
    seen_.force = haptic::Vec3(f.at("x"), f.at("y"), f.at("z"));
    device_.write({seen_.force, haptic::Vec3::Zero()});
    device_.step();
    seen_.hand_force = device_.hand_force().force;
    seen_.position = device_.pose().p;
  }
  int answer(lws* wsi) {
    if (due_ == 0) return 0;
    std::string text;
    {
      const std::lock_guard lock(m_);
      text = frame(full_);
    }
    full_ = false;
    std::vector<unsigned char> out(LWS_PRE + text.size());
    std::memcpy(out.data() + LWS_PRE, text.data(), text.size());
    if (lws_write(wsi, out.data() + LWS_PRE, text.size(), LWS_WRITE_TEXT) < 0) return -1;
    if (--due_ > 0) lws_callback_on_writable(wsi);
    return 0;
  }
  int received(lws* wsi, const char* data, std::size_t length) {
    partial_.append(data, length);
    if (lws_is_final_fragment(wsi) == 0 || lws_remaining_packet_payload(wsi) != 0) return 0;
    take(partial_);
    partial_.clear();
    if (conduct_ == Conduct::hangs_up) return -1;
    if (conduct_ == Conduct::silent) return 0;
    ++due_;
    lws_callback_on_writable(wsi);
    return 0;
  }
  static int on_event(lws* wsi, lws_callback_reasons reason, void*, void* in, std::size_t length) {
    auto* self = static_cast<HaplyMock*>(lws_context_user(lws_get_context(wsi)));
    switch (reason) {
      case LWS_CALLBACK_ESTABLISHED:
        self->full_ = true;
        self->due_ = 1;
        self->partial_.clear();
        {
          const std::lock_guard lock(self->m_);
          self->seen_.messages = 0;
        }
        lws_callback_on_writable(wsi);
        return 0;
      case LWS_CALLBACK_RECEIVE:
        return self->received(wsi, static_cast<const char*>(in), length);
      case LWS_CALLBACK_SERVER_WRITEABLE:
        return self->answer(wsi);
      default:
        return 0;
    }
  }

  lws_context* context_ = nullptr;
  int port_ = 0, due_ = 0;
  bool full_ = false;
  std::string partial_;
  haptic::VirtualDevice device_;
  std::atomic<Conduct> conduct_{Conduct::sound};
  std::atomic<bool> stop_{false};
  mutable std::mutex m_;  // guards seen_ and device_
  Seen seen_;
  std::thread thread_;
};

}  // namespace tactus::test
