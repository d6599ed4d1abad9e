// What net knows of the running scene: names, ids, the constant Model, and its own copies of what may be changed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "control.pb.h"
#include "core/world.h"
#include "server/session/authority.h"

namespace tactus::net {

struct KeptSnapshot {
  State state;
  std::uint64_t tick = 0, hash = 0;
};

struct SceneView {
  const World* world =
      nullptr;  // only model(), limits(), serialise(), deserialise(): those do not touch what the tick changes
  std::string name;
  std::uint32_t epoch = 0;
  State blank;
  Parameters parameters;
  ContactModelKind contact_model = ContactModelKind::penalty;
  ContactModelKind in_charge = ContactModelKind::penalty;  // once the commands under way have acted
  std::unordered_map<std::string, BodyIndex> body_ids;
  std::map<std::string, KeptSnapshot> snapshots;

  void set(const World& new_world, std::string scene_name, std::uint32_t new_epoch, State blank_state);
  [[nodiscard]] const Model& model() const { return world->model(); }
  // "world" or "body/NAME/wrench"; false when there is no such channel.
  [[nodiscard]] bool parse_channel(const std::string& text, Channel& out) const;
  [[nodiscard]] std::string channel_name(Channel channel) const;
};

void describe(const SceneView& view, v1::SceneDescription& out);
// The contact models of this build, separated by ", ".
std::string model_names();

}  // namespace tactus::net
