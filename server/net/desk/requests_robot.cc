// What a subscription shows of robots; how their channels take commands; faults.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/actuation/robot_sensors.h"
#include "server/net/desk/requests.h"

namespace tactus::net {
namespace {

// Does `wish`, "*" or a robot or a full name, mean the thing called `name` (robot/thing)?
bool means(const std::string& wish, const std::string& name) {
  return wish == "*" || wish == name ||
         (name.size() > wish.size() && name[wish.size()] == '/' && name.starts_with(wish));
}

// The indices of what `wishes` mean, ascending; false: says what is unknown.
template <typename Things, typename Fits>
bool find(const Exchange& x, const google::protobuf::RepeatedPtrField<std::string>& wishes, const Things& things,
          const char* what, Fits fits, std::vector<std::uint32_t>& out) {
  std::vector<bool> chosen(things.size(), false);
  for (const std::string& wish : wishes) {
    bool any = wish == "*";
    for (std::uint32_t i = 0; i < things.size(); ++i) {
      if (!fits(things[i]) || !means(wish, things[i].name)) continue;
      chosen[i] = any = true;
    }
    if (!any) {
      x.error(v1::ERROR_NOT_FOUND, fmt::format("no {} '{}' in scene '{}'; DescribeScene lists robots with theirs", what,
                                               wish, x.hub().scene.name));
      return false;
    }
  }
  for (std::uint32_t i = 0; i < things.size(); ++i) {
    if (chosen[i]) out.push_back(i);
  }
  return true;
}

bool may_drive(const Exchange& x, Channel channel) {
  const std::uint64_t now = x.hub().lease_now();
  const Authority& authority = x.hub().authority;
  return authority.holds(x.client(), channel, now) || authority.holds(x.client(), kWorldChannel, now);
}

}  // namespace

bool find_robot_parts(const Exchange& x, const v1::Subscribe& request, SubscriptionSpec& spec) {
  const Model& model = x.hub().scene.model();
  std::vector<std::uint32_t> sensors;
  const auto one_coordinate = [](const Joint& joint) { return position_count(joint.kind) == 1; };
  const auto all = [](const auto&) { return true; };
  if (!find(x, request.joints(), model.joints, "joint or robot", one_coordinate, spec.joints) ||
      !find(x, request.sensors(), model.sensors, "sensor or robot", all, sensors) ||
      !find(x, request.end_effectors(), model.frames, "link", all, spec.end_effectors))
    return false;
  std::uint32_t first = 0;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < model.sensors.size() && next < sensors.size(); ++i) {
    const std::uint32_t count = value_count(model.sensors[i].kind);
    if (sensors[next] == i) {
      spec.sensors.push_back({i, first, count});
      ++next;
    }
    first += count;
  }
  spec.jacobian = request.jacobian();
  return true;
}

void set_joint_options(const Exchange& x, const v1::SetJointOptions& request) {
  Hub& hub = x.hub();
  const auto options = std::make_shared<ChannelOptions>();
  read_options(request.options(), *options);
  if (const char* fault = fault_in(*options)) return x.error(v1::ERROR_BAD_VALUE, std::string("options: ") + fault);
  std::vector<std::uint32_t> joints;
  const std::vector<std::uint32_t>& driven = hub.scene.driven;
  const auto commanded = [&](const Joint& joint) {
    return driven[static_cast<std::size_t>(&joint - hub.scene.model().joints.data())] != kNone;
  };
  if (!find(x, request.joints(), hub.scene.model().joints, "commanded joint or robot", commanded, joints)) return;
  if (joints.empty()) return x.error(v1::ERROR_BAD_VALUE, "name at least one joint or robot");
  for (const JointIndex joint : joints) {
    if (may_drive(x, hub.scene.joint_channel(joint))) continue;
    return x.error(v1::ERROR_NOT_LEASED, fmt::format("this needs the lease '{}', or 'world': AcquireLease first",
                                                     hub.scene.channel_name(hub.scene.joint_channel(joint))));
  }
  for (const JointIndex joint : joints) {
    hub.owned_options.change(joint, hub.scene.joint_options[driven[joint]], x.client(), request.keep());
    hub.scene.joint_options[driven[joint]] = *options;
    Command command;
    command.kind = Command::Kind::set_joint_options;
    command.client = x.client();
    command.epoch = hub.scene.epoch;
    command.joint.joint = joint;
    command.options = options.get();
    const bool last = joint == joints.back();
    hub.tick.post(command, [x, options, last](const Notice& notice) {
      if (!last) return;
      if (!notice.ok) return x.error(v1::ERROR_STALE_EPOCH, "the scene changed before the options were set");
      x.done();
    });
  }
}

void recover_fault(const Exchange& x, const v1::RecoverFault& request) {
  Hub& hub = x.hub();
  const std::uint32_t robot = hub.scene.find_robot(request.robot());
  if (robot == kNone)
    return x.error(v1::ERROR_NOT_FOUND, fmt::format("no robot '{}' in scene '{}'; DescribeScene lists them",
                                                    request.robot(), hub.scene.name));
  const std::span<const DrivenJoint> joints = hub.scene.world->driven_joints(robot);
  const bool may = std::any_of(joints.begin(), joints.end(), [&](const DrivenJoint& joint) {
    return may_drive(x, hub.scene.joint_channel(joint.drive.joint));
  });
  if (!may)
    return x.error(
        v1::ERROR_NOT_LEASED,
        fmt::format("this needs the lease of a joint of '{}', or 'world': AcquireLease first", request.robot()));
  Command command;
  command.kind = Command::Kind::recover_robot;
  command.client = x.client();
  command.epoch = hub.scene.epoch;
  command.value = robot;
  hub.tick.post(command, [x, name = request.robot()](const Notice& notice) {
    if (!notice.ok) return x.error(v1::ERROR_STALE_EPOCH, "the scene changed meanwhile");
    spdlog::info("robot '{}': fault cleared by {}", name, x.hub().client_name(x.client()));
    x.hub().broadcast(v1::Event::ROBOT_RECOVERED, name);
    x.done();
  });
}

}  // namespace tactus::net
