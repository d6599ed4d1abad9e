// Frames of the Foxglove WebSocket protocol (texts of JSON, binary frames with little-endian heads): made and read,
// with no memory of a connection. Viewers are offered the channels listed here.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tactus::net {

// A frame.
using FoxgloveBytes = std::vector<std::uint8_t>;

}  // namespace tactus::net

namespace tactus::net::foxglove_wire {

// Sub-protocols, same frames; a viewer may offer both.
inline constexpr const char* kProtocols[] = {"foxglove.sdk.v1", "foxglove.websocket.v1"};

// Ids are the numbers of their row in channels(), from 1.
enum class Channel : std::uint8_t { transforms = 1, scene, contacts, joints, plot, log, statistics };
inline constexpr std::uint32_t kChannels = 7;
[[nodiscard]] const char* topic_of(Channel channel);

// Recorded times of a playback's begin and end; both 0: the world is live.
struct TimeRange {
  std::uint64_t begin_ns = 0, end_ns = 0;
};
std::string server_info(const std::string& name, const std::string& session, TimeRange range);
std::string advertise();  // all channels, with the descriptors of their schemas and of all that these import
enum class Level : std::uint8_t { info, warning, error };
std::string status(Level level, const std::string& text);
// id: of the request that this answers; empty: an update.
std::string parameter_values(const nlohmann::json& parameters, const std::string& id);

FoxgloveBytes message(std::uint32_t subscription, std::uint64_t time_ns, const std::string& payload);
FoxgloveBytes time(std::uint64_t time_ns);
// How a playback stands. request: of the viewer's that this answers; empty: it changed by itself.
enum class PlayStatus : std::uint8_t { playing, paused, buffering, ended };
FoxgloveBytes playback_state(PlayStatus status, std::uint64_t time_ns, float speed, bool did_seek,
                             const std::string& request);
FoxgloveBytes asset(std::uint32_t request, std::span<const std::uint8_t> data);
FoxgloveBytes asset_error(std::uint32_t request, const std::string& why);

// What a viewer asks for.
struct Wish {
  enum class Kind : std::uint8_t {
    none,  // an op that needs no answer of ours, or that we do not offer
    subscribe,
    unsubscribe,
    get_parameters,
    set_parameters,
    watch_parameters,
    unwatch_parameters,
    fetch_asset,
    malformed  // why: text
  };
  Kind kind = Kind::none;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> subscriptions;  // id, channel
  std::vector<std::uint32_t> ids;                                      // unsubscribe
  std::vector<std::string> names;                                      // of parameters; empty: all
  std::vector<std::pair<std::string, nlohmann::json>> values;          // set_parameters
  std::string id, text;                                                // of get and set; uri of an asset, or why
  std::uint32_t request = 0;                                           // of an asset
};
// What a viewer's playback bar asks for; a binary frame.
struct PlayWish {
  bool pause = false, has_seek = false;
  float speed = 1;
  std::uint64_t seek_ns = 0;
  std::string request;
};
// False: it is none, or does not decode.
[[nodiscard]] bool read_play_wish(std::string_view frame, PlayWish& out);
// Never throws; anything may come.
[[nodiscard]] Wish read_wish(std::string_view text);

}  // namespace tactus::net::foxglove_wire
