// Foxglove's protocol, with any bytes: texts and binary frames of a viewer, alone and as a conversation of a bridge
// with a viewer and a server that both send what they like. It answers, says what it does not take, or cuts off; what
// it sends to the server is always a request, and what it sends to a viewer always a frame of the protocol.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/net/foxglove/foxglove_bridge.h"

namespace {

using namespace tactus;
using net::FoxgloveBridge;

// The next `length` bytes.
std::string_view cut(std::string_view& rest, std::size_t length) {
  const std::string_view out = rest.substr(0, std::min(length, rest.size()));
  rest.remove_prefix(out.size());
  return out;
}

void check_viewer(const FoxgloveBridge::Frame& frame) {
  const std::string_view bytes(reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size());
  if (frame.is_text) {
    const auto json = nlohmann::json::parse(bytes, nullptr, false);
    if (!json.is_object() || !json.contains("op")) std::abort();
  } else if (bytes.empty() || bytes[0] < 1 || bytes[0] > 5) {
    std::abort();
  }
}

struct Conversation {
  FoxgloveBridge bridge{"fuzz", "a token"};
  bool keyed = false;
  std::size_t frames = 0;

  void take(FoxgloveBridge::Out& out) {
    for (const net::FoxgloveBytes& bytes : out.to_net) {
      const std::size_t mac = keyed ? wire::kMacBytes : 0;
      v1::Request request;
      if (bytes.size() < mac || !request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size() - mac)))
        std::abort();
      if (request.id() == 0 || request.body_case() == v1::Request::BODY_NOT_SET) std::abort();
    }
    for (const FoxgloveBridge::Frame& frame : out.to_viewer) check_viewer(frame);
    frames += out.to_viewer.size();
  }
  void reply(const v1::Reply& message) {
    const std::string bytes = message.SerializeAsString();
    FoxgloveBridge::Out out;
    keyed = keyed || message.has_hello();
    bridge.from_net({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, out);
    take(out);
  }
  // As a server would begin: a key, a scene of one body and one joint, statistics; a playback on request.
  void open(bool plays) {
    FoxgloveBridge::Out out;
    bridge.start(out);
    take(out);
    v1::Reply hello, scene, statistics;
    hello.set_id(1);
    hello.mutable_hello()->set_key(std::string(32, 'k'));
    reply(hello);
    scene.set_id(2);
    scene.mutable_scene()->set_scene_epoch(7);
    scene.mutable_scene()->set_step_s(0.001);
    v1::BodyDescription& body = *scene.mutable_scene()->add_bodies();
    body.set_name("block");
    body.set_mass_kg(1);
    body.add_shapes()->set_kind("mesh");
    v1::Parameter& setting = *scene.mutable_scene()->add_settings();
    setting.set_key("alpha");
    setting.set_value("0.5");
    reply(scene);
    statistics.set_id(3);
    statistics.mutable_statistics()->set_paused(false);
    if (plays) {
      statistics.mutable_statistics()->mutable_playback()->set_begin_ns(1'790'000'000'000'000'000u);
      statistics.mutable_statistics()->mutable_playback()->set_duration_s(10);
    }
    reply(statistics);
  }
};

}  // namespace

// The first byte: whether it plays. Then pieces: who sends (u8), how long (u8), bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  [[maybe_unused]] const auto wish = net::foxglove_wire::read_wish(rest);
  net::foxglove_wire::PlayWish play;
  if (net::foxglove_wire::read_play_wish(rest, play) && play.request.size() > rest.size()) std::abort();
  if (rest.empty()) return 0;
  Conversation conversation;
  conversation.open((cut(rest, 1)[0] & 1) != 0);
  while (rest.size() > 2) {
    const auto who = static_cast<std::uint8_t>(cut(rest, 1)[0]);
    const auto length = static_cast<std::uint8_t>(cut(rest, 1)[0]);
    const std::string_view piece = cut(rest, length);
    FoxgloveBridge::Out out;
    if (who % 4 == 0) {
      conversation.bridge.from_viewer(true, piece, out);
    } else if (who % 4 == 1) {
      conversation.bridge.from_viewer(false, piece, out);
    } else if (who % 4 == 2) {
      conversation.bridge.from_net({reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()}, out);
    } else {
      conversation.bridge.look(out);
    }
    conversation.take(out);
  }
  return 0;
}
