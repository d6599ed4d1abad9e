// The texts of Haply's Inverse Service (WebSocket + JSON, version 3; docs.haply.co, Simulation Channel): one state
// frame from the service for each message to it; the first frame comes by itself and also has the configuration.
// Positions in metres, forces in newtons, in the frame that the service is configured for.
#pragma once

#include <string>
#include <string_view>

#include "tactus/haptic/types.h"

namespace tactus::haptic {

struct HaplyFrame {
  std::string device_id;  // of the Inverse3
  std::string type;       // "inverse3", "inverse3x", "minverse"; empty: the frame has no configuration
  Vec3 position = Vec3::Zero(), velocity = Vec3::Zero();
  bool has_velocity = false;
  bool has_grip = false;  // a VerseGrip gives the orientation
  Quat orientation = Quat::Identity();
  std::uint32_t buttons = 0;  // bit 0: a (or the only one), 1: b, 2: c
  bool calibrated = true;
};

// device_id empty: the first Inverse3 of the frame. Empty: read; otherwise what is wrong with the text.
std::string read_haply(std::string_view text, const std::string& device_id, HaplyFrame& out);

// The message that sets the force. first: it also names this program to the service.
std::string haply_command(const std::string& device_id, const Vec3& force, bool first);

}  // namespace tactus::haptic
