// What net knows of the running scene: names, ids, the constant Model, and its own copies of what may be changed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "control.pb.h"
#include "core/world.h"
#include "realtime.pb.h"
#include "server/realtime/messages.h"
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
  std::vector<std::uint32_t> driven;  // by JointIndex: place in driven_joints, kNone: it takes no commands
  std::vector<DrivenJoint> driven_joints;
  std::vector<ChannelOptions> joint_options;  // by place; as the commands under way will have set them
  std::map<std::string, KeptSnapshot> snapshots;

  void set(const World& new_world, std::string scene_name, std::uint32_t new_epoch, State blank_state);
  [[nodiscard]] const Model& model() const { return world->model(); }
  // "world", "body/NAME/wrench", "tool/NAME", "joint/ROBOT/JOINT" or "joint/ROBOT/*": adds to out; false when there is
  // no such channel.
  [[nodiscard]] bool parse_channel(const std::string& text, std::vector<Channel>& out) const;
  [[nodiscard]] std::string channel_name(Channel channel) const;
  [[nodiscard]] Channel joint_channel(JointIndex joint) const {
    return 1 + static_cast<Channel>(model().bodies.size()) + joint;
  }
  [[nodiscard]] Channel tool_channel(BodyIndex body) const {
    return 1 + static_cast<Channel>(model().bodies.size() + model().joints.size()) + body;
  }
  // The body that a channel holds as a tool; kNoBody: another channel.
  [[nodiscard]] BodyIndex tool_of(Channel channel) const {
    return channel < tool_channel(0) ? kNoBody : channel - tool_channel(0);
  }
  // A body's name, or robot/link: the body, and the tool's frame in it. kNoBody: there is none that moves.
  [[nodiscard]] BodyIndex find_tool(const std::string& tool_name, Pose& X_BT) const;
  // What is wrong with a name that find_tool() does not take.
  [[nodiscard]] std::string why_no_tool(const std::string& tool_name) const;
  // The joint that a channel drives; kNone: the world's, a body's or a tool's.
  [[nodiscard]] JointIndex joint_of(Channel channel) const;
  // kNone when there is no such robot.
  [[nodiscard]] std::uint32_t find_robot(const std::string& robot_name) const;
  // Whether the joint takes this command, but for what only the tick knows (limits, faults).
  [[nodiscard]] v1::VerdictCode check_joint(const JointRow& row) const;

 private:
  [[nodiscard]] BodyIndex find_frame(const std::string& frame_name, Pose& X_BF) const;
  [[nodiscard]] bool parse_joint_channel(const std::string& joint_name, std::vector<Channel>& out) const;
};

void describe(const SceneView& view, v1::SceneDescription& out);
// robot_view.cc
void describe_robots(const SceneView& view, v1::SceneDescription& out);
void read_options(const v1::JointOptions& in, ChannelOptions& out);  // unchecked (fault_in)
// The contact models of this build, separated by ", ".
std::string model_names();

}  // namespace tactus::net
