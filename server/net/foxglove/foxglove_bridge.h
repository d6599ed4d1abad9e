// One Foxglove or Lichtblick viewer as a client of this server: what it asks for becomes requests of control.proto,
// what comes back becomes frames of its protocol. So its leases, limits and verdicts are those of any client. Lives on
// the web thread; knows no socket.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plot.pb.h"
#include "proto/cpp/seal.h"
#include "server/net/foxglove/foxglove_protocol.h"
#include "server/record/foxglove_scene.h"

namespace tactus::net {

class FoxgloveBridge {
 public:
  struct Frame {
    bool is_state = false;  // a newer one of the same key replaces it; otherwise once only, in order
    bool is_text = false;
    std::uint64_t key = 0;
    FoxgloveBytes bytes;
  };
  struct Out {
    std::vector<FoxgloveBytes> to_net;  // frames of control.proto, with their macs
    bool forget_states = false;         // those that wait are of before a jump: first
    std::vector<Frame> to_viewer;
    std::string end;  // not empty: why the viewer must be cut off
  };

  // name: of the session. token: with which to authenticate where the server has one.
  FoxgloveBridge(std::string name, std::string token);
  void start(Out& out);
  void from_viewer(bool is_text, std::string_view message, Out& out);
  void from_net(std::span<const std::uint8_t> reply, Out& out);
  // About twice a second.
  void look(Out& out);

 private:
  using Channel = foxglove_wire::Channel;
  using FoxgloveScene = record::FoxgloveScene;
  enum class Purpose : std::uint8_t {
    other,
    hello,
    scene,
    world_stream,
    plot_stream,
    still_stream,
    begin,
    statistics,
    playback,
    lease,
    set,
    mesh
  };
  struct Waiting {
    Purpose purpose = Purpose::other;
    std::string text;  // the parameter's name; the epoch of a stream; the viewer's request of a mesh
  };

  std::uint32_t ask(v1::Request& request, Purpose purpose, Out& out, const std::string& text = {});
  void on_reply(const Waiting& waiting, const v1::Reply& reply, Out& out);
  void on_hello(const v1::HelloReply& hello, Out& out);
  void on_scene(const v1::SceneDescription& scene, Out& out);
  void begin(const v1::Statistics& statistics, Out& out);
  void on_subscribed(Purpose purpose, std::uint32_t id, Out& out);
  void on_event(const v1::Event& event, Out& out);
  void on_state(const std::string& bytes, Out& out);
  void on_world(const v1::StatePacket& state, Out& out);
  void on_plot(const v1::StatePacket& state, Out& out);
  void on_mesh(const v1::Reply& reply, Out& out);
  void on_lease(const v1::Reply& reply, Out& out);
  void set_done(const Waiting& waiting, const v1::Reply& reply, Out& out);

  void control(std::string_view frame, Out& out);
  void tell_playback(const std::string& request, bool did_seek, Out& out) const;
  void jumped(Out& out);
  void answer_control(Out& out);
  void follow_playback();
  [[nodiscard]] bool has_stream() const { return world_ != 0 || plot_ != 0; }

  void subscribe(const foxglove_wire::Wish& wish, Out& out);
  void stream_what_is_wanted(Out& out);
  void drop(std::uint32_t& subscription, Out& out);
  void set_parameters(const foxglove_wire::Wish& wish, Out& out);
  void begin_sets(Out& out);
  void fetch(const foxglove_wire::Wish& wish, Out& out);
  void fetch_piece(Out& out);
  [[nodiscard]] nlohmann::json parameters(const std::vector<std::string>& names) const;
  void tell_parameters(const std::string& id, const std::vector<std::string>& names, Out& out);
  void tell_scene(Out& out);
  void say(foxglove_wire::Level level, const std::string& text, Out& out) const;

  [[nodiscard]] std::string epoch_text() const;
  [[nodiscard]] bool wants(Channel channel) const;
  void publish(Channel channel, const google::protobuf::Message& message, bool once, Out& out) const;
  [[nodiscard]] std::uint64_t time_ns() const;

  const std::string name_, token_;
  wire::Nonce nonce_{};
  std::optional<wire::Sealer> sealer_;
  std::uint64_t counter_ = 0;
  std::uint32_t last_request_ = 0;
  std::map<std::uint32_t, Waiting> waiting_;

  FoxgloveScene scene_;
  bool is_advertised_ = false, is_paused_ = false;
  double time_s_ = 0;                               // of the newest state: simulated, or in a playback recorded
  std::optional<v1::Playback> playback_;            // empty: the world is live
  bool has_jumped_ = false;                         // the next state is not the one after the last
  std::string play_request_;                        // of the playback bar, whose answer is due
  std::map<std::uint32_t, Channel> subscriptions_;  // the viewer's, by its id
  std::uint32_t world_ = 0, plot_ = 0, still_ = 0;  // ours at the server; 0: none
  bool world_asked_ = false, plot_asked_ = false;   // under way
  std::uint32_t world_wish_ = 0;                    // the channels that world_ serves, as bits
  foxglove::FrameTransforms still_frames_;
  v1::PlotBatch batch_;
  std::deque<foxglove::Log> logs_;  // the last ones, for who subscribes later

  bool watches_parameters_ = false;
  struct Set {
    std::string name;
    nlohmann::json value;
  };
  std::deque<Set> sets_;     // that wait for the lease
  std::string set_id_;       // of the request whose answer is due
  std::uint32_t lease_ = 0;  // "world", while parameters are set
  bool lease_asked_ = false;
  std::size_t sets_under_way_ = 0;

  struct Fetch {
    std::uint32_t request = 0;
    FoxgloveScene::Asset asset;
    std::vector<float> corners;
  };
  std::deque<Fetch> fetches_;  // the first one is under way
};

}  // namespace tactus::net
