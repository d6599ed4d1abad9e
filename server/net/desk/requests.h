// Which desk answers which control request. Replies at once, or when the tick has done it.
#pragma once

#include <memory>
#include <string>

#include "server/net/desk/device_desk.h"
#include "server/net/desk/exchange.h"
#include "server/net/desk/joint_desk.h"
#include "server/net/desk/lease_desk.h"
#include "server/net/desk/link_desk.h"
#include "server/net/desk/mode_desk.h"
#include "server/net/desk/model_desk.h"
#include "server/net/desk/play_desk.h"
#include "server/net/desk/record_desk.h"
#include "server/net/desk/scene_desk.h"
#include "server/net/desk/statistics.h"
#include "server/net/desk/view_desk.h"
#include "server/net/desk/world_desk.h"
#include "server/net/udp/realtime_port.h"

namespace tactus::net {

class RequestDesk {
 public:
  struct Uses {
    const NetOptions& options;
    const SceneView& scene;
    const WorldStatus& status;
    SessionTable& sessions;
    RealtimePort& realtime;
  };
  struct Desks {
    SceneDesk& scenes;
    ViewDesk& views;
    LeaseDesk& leases;
    ModeDesk& modes;
    WorldDesk& worlds;
    ModelDesk& models;
    JointDesk& joints;
    DeviceDesk& devices;
    LinkDesk& links;
    RecordDesk& records;
    NetStatistics& statistics;
  };
  RequestDesk(const Uses& uses, const Desks& desks) : uses_(uses), desks_(desks) {}

  // A request of a session whose handshake is done.
  void serve(const std::shared_ptr<ClientLine>& line, const v1::Request& request);
  // What is shown is a recording.
  void play(PlayDesk& desk) { play_ = &desk; }

 private:
  void take_command(const Exchange& x, std::uint64_t sequence, const std::string& packet);
  void set_playback(const Exchange& x, const v1::SetPlayback& request);

  const Uses uses_;
  const Desks desks_;
  PlayDesk* play_ = nullptr;  // null: the world is live
};

}  // namespace tactus::net
