// Which client's device holds which tool, and with what: net's side of the tick's ToolDesk.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "haptic.pb.h"
#include "proto/cpp/deadband.h"
#include "server/net/haptic_options.h"
#include "server/net/scene/sample_clock.h"
#include "server/net/scene/tick_port.h"
#include "server/realtime/tool_desk.h"
#include "server/session/authority.h"

namespace tactus::net {

// What a device gets, chosen from what it can and what was wished for.
struct ToolChoice {
  ToolSettings settings;
  double reach = 0;
  double stiffness = 0, damping = 0, turn_stiffness = 0, turn_damping = 0;  // for the client, at the tool
  double force_limit = 0, torque_limit = 0;                                 // at the handle
  bool passivity = false;  // time-domain passivity, up to passivity_round_trip [s]
  double passivity_round_trip = 0;
  double deadband = 0;  // share; 0: none
  std::uint32_t heartbeat_ticks = 0;
  std::vector<std::string> notes;
};

// Empty: fine. Otherwise which capability is wrong or contradicts which, and what is expected.
[[nodiscard]] std::string fault_in(const v1::DeviceCapabilities& device);
// The whole request.
[[nodiscard]] std::string fault_in(const v1::AttachTool& request);
// What a tool meets where it is attached.
struct ToolScene {
  bool meshes = false;      // the scene has some
  bool link = false;        // the tool is a robot's
  bool slow = false;        // a model that is solved beside the tick is in charge
  bool other_hand = false;  // another tool is held already
};
// The request must have been found sound. h: the tick [s].
[[nodiscard]] ToolChoice choose(const v1::AttachTool& request, const HapticOptions& options, double h,
                                const ToolScene& scene = {});

class ToolTable {
 public:
  struct Entry {
    bool used = false;
    ClientSlot client = 0;
    BodyIndex body = kNoBody;
    std::optional<wire::ToolBand> band;  // of the TOOLs to its own client
    SampleClock samples = {};
  };
  // kTools: no place is free.
  [[nodiscard]] std::uint32_t free_place() const;
  [[nodiscard]] const Entry& operator[](std::size_t i) const { return entries_[i]; }
  void set(std::uint32_t place, ClientSlot client, BodyIndex body, const ToolChoice& choice);
  [[nodiscard]] Entry& at(std::size_t i) { return entries_[i]; }
  void free(std::uint32_t place) { entries_[place] = {}; }
  [[nodiscard]] bool holds(std::uint32_t place, ClientSlot client) const {
    return place < kTools && entries_[place].used && entries_[place].client == client;
  }
  // The lease of a body's tool has ended: the coupling ramps to zero.
  void release(TickPort& tick, std::uint32_t epoch, BodyIndex body);
  void clear() { entries_ = {}; }

 private:
  std::array<Entry, kTools> entries_;
};

}  // namespace tactus::net
