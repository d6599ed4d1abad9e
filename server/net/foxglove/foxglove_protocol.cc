#include "server/net/foxglove/foxglove_protocol.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "control.pb.h"
#include "foxglove.pb.h"
#include "plot.pb.h"

namespace tactus::net::foxglove_wire {
namespace {

using nlohmann::json;

constexpr std::uint64_t kNsPerS = 1'000'000'000;
constexpr std::size_t kRequestIdMax = 256;
constexpr std::size_t kItemsMax = 1000;  // of one list in a viewer's message

struct Row {
  const char* topic;
  const google::protobuf::Descriptor* (*schema)();
};
const std::array<Row, kChannels>& rows() {
  static const std::array<Row, kChannels> kRows{{{"/tf", &foxglove::FrameTransforms::descriptor},
                                                 {"/scene", &foxglove::SceneUpdate::descriptor},
                                                 {"/contacts", &foxglove::SceneUpdate::descriptor},
                                                 {"/joints", &foxglove::JointStates::descriptor},
                                                 {"/plot", &v1::PlotBatch::descriptor},
                                                 {"/log", &foxglove::Log::descriptor},
                                                 {"/statistics", &v1::Statistics::descriptor}}};
  return kRows;
}

// Dependencies first.
void add_file(const google::protobuf::FileDescriptor* file, std::set<std::string>& seen,
              google::protobuf::FileDescriptorSet& out) {
  if (!seen.insert(file->name()).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) add_file(file->dependency(i), seen, out);
  file->CopyTo(out.add_file());
}

std::string base64(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::string schema_of(const google::protobuf::Descriptor* message) {
  google::protobuf::FileDescriptorSet set;
  std::set<std::string> seen;
  add_file(message->file(), seen, set);
  return base64(set.SerializeAsString());
}

template <typename T>
void put(FoxgloveBytes& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

const json* member(const json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}
bool read_u32(const json* value, std::uint32_t& out) {
  if (value == nullptr || !value->is_number_integer()) return false;
  const auto number = value->get<std::int64_t>();
  if (number < 0 || number > 0xffffffffll) return false;
  out = static_cast<std::uint32_t>(number);
  return true;
}

Wish malformed(const std::string& why) {
  Wish wish;
  wish.kind = Wish::Kind::malformed;
  wish.text = why;
  return wish;
}

Wish read_subscribe(const json& object) {
  Wish wish;
  wish.kind = Wish::Kind::subscribe;
  const json* list = member(object, "subscriptions");
  if (list == nullptr || !list->is_array() || list->size() > kItemsMax)
    return malformed("subscribe: expected a list \"subscriptions\"");
  for (const json& item : *list) {
    std::uint32_t id = 0, channel = 0;
    if (!item.is_object() || !read_u32(member(item, "id"), id) || !read_u32(member(item, "channelId"), channel))
      return malformed("subscribe: expected {\"id\": number, \"channelId\": number}");
    wish.subscriptions.emplace_back(id, channel);
  }
  return wish;
}

Wish read_unsubscribe(const json& object) {
  Wish wish;
  wish.kind = Wish::Kind::unsubscribe;
  const json* list = member(object, "subscriptionIds");
  if (list == nullptr || !list->is_array() || list->size() > kItemsMax)
    return malformed("unsubscribe: expected a list \"subscriptionIds\"");
  for (const json& item : *list) {
    std::uint32_t id = 0;
    if (!read_u32(&item, id)) return malformed("unsubscribe: expected numbers");
    wish.ids.push_back(id);
  }
  return wish;
}

Wish read_names(const json& object, Wish::Kind kind) {
  Wish wish;
  wish.kind = kind;
  const json* list = member(object, "parameterNames");
  if (list != nullptr && (!list->is_array() || list->size() > kItemsMax))
    return malformed("expected a list \"parameterNames\"");
  for (const json& item : list == nullptr ? json::array() : *list) {
    if (!item.is_string()) return malformed("parameterNames: expected texts");
    wish.names.push_back(item.get<std::string>());
  }
  return wish;
}

Wish read_set(const json& object) {
  Wish wish;
  wish.kind = Wish::Kind::set_parameters;
  const json* list = member(object, "parameters");
  if (list == nullptr || !list->is_array() || list->size() > kItemsMax)
    return malformed("setParameters: expected a list \"parameters\"");
  for (const json& item : *list) {
    const json* name = item.is_object() ? member(item, "name") : nullptr;
    if (name == nullptr || !name->is_string())
      return malformed("setParameters: expected {\"name\": text, \"value\": ...}");
    const json* value = member(item, "value");
    wish.values.emplace_back(name->get<std::string>(), value == nullptr ? json() : *value);
  }
  return wish;
}

}  // namespace

const char* topic_of(Channel channel) {
  return rows()[static_cast<std::size_t>(channel) - 1].topic;
}

std::string server_info(const std::string& name, const std::string& session, TimeRange range) {
  json out{{"op", "serverInfo"},
           {"name", name},
           {"capabilities", {"parameters", "parametersSubscribe", "time", "assets"}},
           {"supportedEncodings", json::array()},
           {"metadata", json::object()},
           {"sessionId", session}};
  if (range.end_ns == 0) return out.dump();
  const auto stamp = [](std::uint64_t ns) { return json{{"sec", ns / kNsPerS}, {"nsec", ns % kNsPerS}}; };
  out["capabilities"].push_back("playbackControl");
  out["dataStartTime"] = stamp(range.begin_ns);
  out["dataEndTime"] = stamp(range.end_ns);
  return out.dump();
}

std::string advertise() {
  json list = json::array();
  for (std::uint32_t i = 0; i < kChannels; ++i) {
    const google::protobuf::Descriptor* schema = rows()[i].schema();
    list.push_back({{"id", i + 1},
                    {"topic", rows()[i].topic},
                    {"encoding", "protobuf"},
                    {"schemaName", schema->full_name()},
                    {"schema", schema_of(schema)},
                    {"schemaEncoding", "protobuf"}});
  }
  return json{{"op", "advertise"}, {"channels", std::move(list)}}.dump();
}

std::string status(Level level, const std::string& text) {
  return json{{"op", "status"}, {"level", static_cast<int>(level)}, {"message", text}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

std::string parameter_values(const json& parameters, const std::string& id) {
  json out{{"op", "parameterValues"}, {"parameters", parameters}};
  if (!id.empty()) out["id"] = id;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

FoxgloveBytes message(std::uint32_t subscription, std::uint64_t time_ns, const std::string& payload) {
  FoxgloveBytes out;
  out.reserve(13 + payload.size());
  out.push_back(1);
  put(out, subscription);
  put(out, time_ns);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

FoxgloveBytes time(std::uint64_t time_ns) {
  FoxgloveBytes out{2};
  put(out, time_ns);
  return out;
}

FoxgloveBytes playback_state(PlayStatus status, std::uint64_t time_ns, float speed, bool did_seek,
                             const std::string& request) {
  FoxgloveBytes out{5, static_cast<std::uint8_t>(status)};
  put(out, time_ns);
  put(out, std::bit_cast<std::uint32_t>(speed));
  out.push_back(did_seek ? 1 : 0);
  put(out, static_cast<std::uint32_t>(request.size()));
  out.insert(out.end(), request.begin(), request.end());
  return out;
}

bool read_play_wish(std::string_view frame, PlayWish& out) {
  constexpr std::size_t kHead = 1 + 1 + 4 + 1 + 8 + 4;
  if (frame.size() < kHead || frame[0] != 3) return false;
  const auto number = [frame](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(frame[at + i]);
    return value;
  };
  const std::uint64_t command = number(1, 1), length = number(15, 4);
  if (command > 1 || length > kRequestIdMax || frame.size() != kHead + length) return false;
  out.pause = command == 1;
  out.speed = std::bit_cast<float>(static_cast<std::uint32_t>(number(2, 4)));
  out.has_seek = number(6, 1) != 0;
  out.seek_ns = number(7, 8);
  out.request = frame.substr(kHead);
  return std::isfinite(out.speed);
}

FoxgloveBytes asset(std::uint32_t request, std::span<const std::uint8_t> data) {
  FoxgloveBytes out;
  out.reserve(10 + data.size());
  out.push_back(4);
  put(out, request);
  out.push_back(0);
  put(out, std::uint32_t{0});
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

FoxgloveBytes asset_error(std::uint32_t request, const std::string& why) {
  FoxgloveBytes out{4};
  put(out, request);
  out.push_back(1);
  put(out, static_cast<std::uint32_t>(why.size()));
  out.insert(out.end(), why.begin(), why.end());
  return out;
}

Wish read_wish(std::string_view text) {
  // Without exceptions, and no deeper than any op of the protocol: a text of brackets must not use up the stack.
  const auto shallow = [](int depth, json::parse_event_t, json&) { return depth <= 8; };
  const json object = json::parse(text, shallow, false);
  if (!object.is_object()) return malformed("expected a JSON object with an \"op\"");
  const json* op = member(object, "op");
  if (op == nullptr || !op->is_string()) return malformed("expected a JSON object with an \"op\"");
  const std::string name = op->get<std::string>();
  Wish wish;
  if (name == "subscribe") wish = read_subscribe(object);
  if (name == "unsubscribe") wish = read_unsubscribe(object);
  if (name == "getParameters") wish = read_names(object, Wish::Kind::get_parameters);
  if (name == "setParameters") wish = read_set(object);
  if (name == "subscribeParameterUpdates") wish = read_names(object, Wish::Kind::watch_parameters);
  if (name == "unsubscribeParameterUpdates") wish = read_names(object, Wish::Kind::unwatch_parameters);
  if (name == "fetchAsset") {
    const json* uri = member(object, "uri");
    if (uri == nullptr || !uri->is_string() || !read_u32(member(object, "requestId"), wish.request))
      return malformed("fetchAsset: expected {\"uri\": text, \"requestId\": number}");
    wish.kind = Wish::Kind::fetch_asset;
    wish.text = uri->get<std::string>();
  }
  if (const json* id = member(object, "id"); id != nullptr && id->is_string()) wish.id = id->get<std::string>();
  return wish;
}

}  // namespace tactus::net::foxglove_wire
