#include "server/net/desk/joint_desk.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

#include "server/net/desk/find_parts.h"

namespace tactus::net {

bool JointDesk::may_drive(const Exchange& x, Channel channel) const {
  const std::uint64_t now = uses_.leases.now();
  const Authority& authority = uses_.leases.authority;
  return authority.holds(x.client(), channel, now) || authority.holds(x.client(), kWorldChannel, now);
}

void JointDesk::set_options(const Exchange& x, const v1::SetJointOptions& request) {
  const auto options = std::make_shared<ChannelOptions>();
  read_options(request.options(), *options);
  if (const char* fault = fault_in(*options)) return x.error(v1::ERROR_BAD_VALUE, std::string("options: ") + fault);
  std::vector<std::uint32_t> joints;
  const std::vector<std::uint32_t>& driven = uses_.scene.driven;
  const auto commanded = [&](const Joint& joint) {
    return driven[static_cast<std::size_t>(&joint - uses_.scene.model().joints.data())] != kNone;
  };
  if (!find_parts(x, request.joints(), uses_.scene.model().joints, "commanded joint or robot", commanded,
                  uses_.scene.name, joints))
    return;
  if (joints.empty()) return x.error(v1::ERROR_BAD_VALUE, "name at least one joint or robot");
  for (const JointIndex joint : joints) {
    if (may_drive(x, uses_.scene.joint_channel(joint))) continue;
    return x.error(v1::ERROR_NOT_LEASED, fmt::format("this needs the lease '{}', or 'world': AcquireLease first",
                                                     uses_.scene.channel_name(uses_.scene.joint_channel(joint))));
  }
  for (const JointIndex joint : joints) {
    owned_.change(joint, uses_.scene.joint_options[driven[joint]], x.client(), request.keep());
    uses_.scene.joint_options[driven[joint]] = *options;
    Command command;
    command.kind = Command::Kind::set_joint_options;
    command.client = x.client();
    command.epoch = uses_.scene.epoch;
    command.joint.joint = joint;
    command.options = options.get();
    const bool last = joint == joints.back();
    uses_.tick.post(command, [x, options, last](const Notice& notice) {
      if (!last) return;
      if (!notice.ok) return x.error(v1::ERROR_STALE_EPOCH, "the scene changed before the options were set");
      x.done();
    });
  }
}

void JointDesk::recover(const Exchange& x, const v1::RecoverFault& request) {
  const std::uint32_t robot = uses_.scene.find_robot(request.robot());
  if (robot == kNone)
    return x.error(v1::ERROR_NOT_FOUND, fmt::format("no robot '{}' in scene '{}'; DescribeScene lists them",
                                                    request.robot(), uses_.scene.name));
  const std::span<const DrivenJoint> joints = uses_.scene.world->driven_joints(robot);
  const bool may = std::any_of(joints.begin(), joints.end(), [&](const DrivenJoint& joint) {
    return may_drive(x, uses_.scene.joint_channel(joint.drive.joint));
  });
  if (!may)
    return x.error(
        v1::ERROR_NOT_LEASED,
        fmt::format("this needs the lease of a joint of '{}', or 'world': AcquireLease first", request.robot()));
  Command command;
  command.kind = Command::Kind::recover_robot;
  command.client = x.client();
  command.epoch = uses_.scene.epoch;
  command.value = robot;
  uses_.tick.post(command, [this, x, name = request.robot()](const Notice& notice) {
    if (!notice.ok) return x.error(v1::ERROR_STALE_EPOCH, "the scene changed meanwhile");
    spdlog::info("robot '{}': fault cleared by {}", name, x.name());
    uses_.events.broadcast(v1::Event::ROBOT_RECOVERED, name);
    x.done();
  });
}

void JointDesk::lost(const std::vector<LostChannel>& lost) {
  for (const LostChannel& l : lost) {
    std::vector<OwnedOptions::Before> ended;
    if (l.channel == kWorldChannel) continue;
    const JointIndex joint = uses_.scene.joint_of(l.channel);
    if (joint == kNone) continue;
    if (auto before = owned_.lost(l.client, joint)) ended.push_back(*before);
    put_back(ended, client_name(uses_.sessions, l.client));
  }
}

void JointDesk::taken(ClientSlot by, const std::vector<Channel>& taken) {
  for (const Channel channel : taken) {
    const JointIndex joint = channel == kWorldChannel ? kNone : uses_.scene.joint_of(channel);
    if (joint == kNone) continue;
    if (const auto before = owned_.taken(by, joint)) put_back({*before}, client_name(uses_.sessions, before->owner));
  }
}

void JointDesk::left(ClientSlot client, const std::string& whose) {
  put_back(owned_.left(client), whose);
}

void JointDesk::put_back(const std::vector<OwnedOptions::Before>& ended, const std::string& whose) {
  for (const OwnedOptions::Before& before : ended) {
    uses_.scene.joint_options[uses_.scene.driven[before.joint]] = before.options;
    const auto options = std::make_shared<ChannelOptions>(before.options);
    Command command;
    command.kind = Command::Kind::set_joint_options;
    command.epoch = uses_.scene.epoch;
    command.joint.joint = before.joint;
    command.options = options.get();
    uses_.tick.post(command, [options](const Notice&) {});
  }
  if (!ended.empty()) uses_.events.broadcast(v1::Event::OPTIONS_ENDED, "joint options of " + whose);
}

}  // namespace tactus::net
