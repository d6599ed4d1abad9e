// What the parts of the net room share. Everything here belongs to the net thread.
#pragma once

#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control.pb.h"
#include "realtime.pb.h"
#include "server/net/control/access.h"
#include "server/net/control/lobby.h"
#include "server/net/options.h"
#include "server/net/scene/scene_library.h"
#include "server/net/scene/scene_view.h"
#include "server/net/scene/solvers.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/tools.h"
#include "server/session/authority.h"
#include "server/session/expiry_news.h"
#include "server/session/ownership.h"
#include "server/session/session.h"

namespace tactus::net {

class Conversation;
class WebPort;
class RealtimePort;
class LockstepDesk;
class NetStatistics;
class RecordDesk;
class PlayDesk;

// What the shadow has found in this scene.
struct ShadowSeen {
  ShadowSummary last;
  float position_max = 0, angle_max = 0, velocity_max = 0, force_max = 0;

  void add(const ShadowSummary& summary) noexcept;
};

// As many of these connections as wanted, or this part of the descriptors that the process may have: most must be left
// for those who are let in.
std::size_t connections_at_once(std::size_t wanted, std::size_t part);

struct Hub {
  Hub(asio::io_context& io_context, const NetOptions& net_options, TickLink& link, TickLoop& loop,
      const std::string& scene_file)
      : io(io_context),
        options(net_options),
        solvers(solver_options(net_options)),
        sessions(net_options.clients),
        access(net_options.access),
        lobby(connections_at_once(net_options.handshakes, 8)),
        library(net_options.scenes_dir, scene_file),
        tick(io_context, link, loop) {}

  asio::io_context& io;
  const NetOptions options;
  SolverOptions solvers;  // the shadow: as clients wish it
  ShadowSeen shadow_seen;
  SessionTable sessions;
  Access access;
  PeerOwner peer_owner;
  Lobby lobby;
  WrongTokens wrong_tokens;
  TurnedAway turned_away;
  Authority authority;
  LeaseClock lease_clock;
  OwnedMode pause_mode, lockstep_mode;
  OwnedOptions owned_options;
  ExpiryNews expiries;
  SceneLibrary library;
  std::vector<SceneLink> scene_links;
  SceneView scene;
  TickPort tick;
  ToolTable tools;
  asio::thread_pool loader{1};  // reads scenes, builds and destroys worlds
  std::vector<std::weak_ptr<Conversation>> connections;
  std::map<std::string, std::uint64_t> refused;  // datagrams and frames that belong to no client, by reason
  std::uint64_t datagrams_refused = 0;
  std::uint16_t realtime_port = 0;
  std::size_t faulty_links = 0;  // clients with faults on their links
  bool paused = false, loading = false, stopping = false;
  StateFrame newest;  // of the last state seen
  std::uint64_t started_ns = 0;

  // Set by the server once they exist.
  RealtimePort* realtime = nullptr;
  LockstepDesk* lockstep = nullptr;
  NetStatistics* statistics = nullptr;
  WebPort* web = nullptr;  // null: no web server
  RecordDesk* record = nullptr;
  PlayDesk* play = nullptr;  // null: the world is live

  void refuse(const char* reason) { ++refused[reason]; }
  // By which leases age: the authority's times.
  [[nodiscard]] std::uint64_t lease_now() const;
  // To every client that has finished its handshake.
  void broadcast(v1::Event::Kind kind, const std::string& text, std::uint32_t count = 0);
  // COMMANDS_EXPIRED, as far as it is due.
  void tell_expiries();
  void send_event(ClientSlot client, v1::Event::Kind kind, const std::string& text);
  [[nodiscard]] std::shared_ptr<Conversation> connection(ClientSlot client);
  // Channels that nobody holds any more ramp to zero; LEASE_LOST goes to those who did not ask for it, and the joint
  // options that they set under them fall back.
  void channels_lost(const std::vector<LostChannel>& lost, bool tell);
  void client_left(ClientSlot client);
  // Null, or without any fault: a sound link. why: of the record; nullptr: told there already.
  void set_faults(Session& session, std::unique_ptr<FaultyLinks> faults, const char* why = nullptr);
  // What a client's link has when its session begins: by the scene, or else by the config.
  void begin_faults(Session& session);
  // A scene with these [[link]]s has come: clients that it speaks of get them, what the scene before had set is taken
  // back.
  void scene_links_changed(const std::vector<SceneLink>& links);
  [[nodiscard]] std::string client_name(ClientSlot client);
  [[nodiscard]] bool needs_token() const { return !options.token.empty(); }
  // For those who may only look on.
  [[nodiscard]] const char* how_to_drive() const {
    return needs_token() ? "driving takes the token of [network] token_file (--token-file)"
                         : "who may drive is said by [access] in the server's config (users, groups, others)";
  }
  // The new world was taken by the tick: everything of the old scene is void.
  void scene_changed(const World& world, std::string name, std::uint32_t epoch, State blank);

 private:
  [[nodiscard]] const SceneLink* scene_link(const std::string& client) const;
  [[nodiscard]] v1::Reply event_reply(v1::Event::Kind kind, const std::string& text) const;
};

std::uint32_t random_u32();

}  // namespace tactus::net
