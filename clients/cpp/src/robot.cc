// Robots: what a scene says of them, and how they are in a state.
#include <algorithm>

#include "clients/cpp/src/client_impl.h"
#include "realtime.pb.h"

namespace tactus::client {
namespace {

template <typename List, typename Name>
std::size_t find_name(const List& list, const std::string& robot, const std::string& wanted, const char* what,
                      Name name_of) {
  std::string there;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string& name = name_of(list[i]);
    if (name == wanted || name == robot + "/" + wanted) return i;
    there += (i > 0 ? ", " : "") + name;
  }
  throw Error(Error::Kind::usage,
              std::string("no ") + what + " '" + wanted + "' in robot '" + robot + "'; there are: " + there);
}

template <typename List>
const auto& find_id(const List& list, std::uint32_t id, const char* what) {
  const auto it = std::find_if(list.begin(), list.end(), [id](const auto& x) { return x.id == id; });
  if (it == list.end())
    throw Error(Error::Kind::usage,
                std::string(what) + " " + std::to_string(id) + " is not in this state: subscribe to it");
  return *it;
}

const std::string& first_of(const std::pair<std::string, std::uint32_t>& x) {
  return x.first;
}

}  // namespace

std::size_t Robot::joint(const std::string& joint_name) const {
  return find_name(joints, name, joint_name, "commanded joint",
                   [](const Joint& j) -> const std::string& { return j.name; });
}
std::uint32_t Robot::link(const std::string& link_name) const {
  return links[find_name(links, name, link_name, "link", first_of)].second;
}
std::uint32_t Robot::sensor(const std::string& sensor_name) const {
  return sensors[find_name(sensors, name, sensor_name, "sensor", first_of)].second;
}

const JointState& RobotView::joint(std::size_t i) const {
  const std::uint32_t id = robot_->joints.at(i).id;
  const auto before = [](const JointState& joint, std::uint32_t wanted) { return joint.id < wanted; };
  const auto at = std::lower_bound(state_->joints.begin(), state_->joints.end(), id, before);
  if (at == state_->joints.end() || at->id != id)
    throw Error(Error::Kind::usage, "joint '" + robot_->joints[i].name + "' is not in this state: subscribe to it");
  return *at;
}

bool RobotView::fault() const {
  for (std::size_t i = 0; i < size(); ++i)
    if ((joint(i).bits & v1::JOINT_FAULT) != 0) return true;
  return false;
}

std::vector<JacobianColumn> RobotView::jacobian(std::uint32_t link) const {
  std::vector<JacobianColumn> out(size());
  for (std::size_t i = 0; i < size(); ++i) {
    out[i].end_effector = link;
    out[i].dof = robot_->joints[i].dof;
    for (const JacobianColumn& column : state_->jacobian)
      if (column.end_effector == link && column.dof == out[i].dof) out[i] = column;
  }
  return out;
}

const SensorState& State::sensor(std::uint32_t id) const {
  return find_id(sensors, id, "sensor");
}
const EndEffectorState& State::end_effector(std::uint32_t link) const {
  return find_id(end_effectors, link, "link");
}

Command& Command::whole(const Robot& robot, JointMode mode, const std::vector<double>& values,
                        const std::vector<double>& rates) {
  if (values.size() != robot.joints.size() || (!rates.empty() && rates.size() != values.size())) {
    wrong_count = true;
    return *this;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    joints.push_back({robot.joints[i].id, mode, values[i], rates.empty() ? 0.0 : rates[i]});
  return *this;
}

Robot Client::robot(const std::string& name) const {
  const std::shared_ptr<const v1::SceneDescription> scene = this->scene();
  std::string there;
  for (const v1::RobotDescription& robot : scene->robots()) {
    there += (there.empty() ? "" : ", ") + robot.name();
    if (robot.name() != name) continue;
    Robot out;
    out.id = robot.id();
    out.name = name;
    for (const v1::JointDescription& j : robot.joints())
      if (j.commanded())
        out.joints.push_back({j.id(), j.dof(), j.name(), j.lower(), j.upper(), j.effort_limit(), j.velocity_limit()});
    for (const v1::LinkDescription& link : robot.links()) out.links.emplace_back(link.name(), link.id());
    for (const v1::SensorDescription& sensor : robot.sensors()) out.sensors.emplace_back(sensor.name(), sensor.id());
    return out;
  }
  throw Error(Error::Kind::usage, "no robot '" + name + "' in scene '" + scene->name() +
                                      "'; there are: " + (there.empty() ? "none" : there));
}

void Client::set_joint_options(const std::vector<std::string>& joints, const JointOptions& options) {
  v1::Request message;
  v1::SetJointOptions& set = *message.mutable_set_joint_options();
  for (const std::string& name : joints) set.add_joints(name);
  v1::JointOptions& out = *set.mutable_options();
  out.set_missed(options.missed);
  out.set_tolerance_ticks(options.tolerance_ticks);
  out.set_fault_ticks(options.fault_ticks);
  out.set_ramp_s(options.ramp_s);
  out.set_cutoff_hz(options.cutoff_hz);
  out.set_effort_limit(options.effort_limit);
  out.set_effort_rate_limit(options.effort_rate_limit);
  out.set_velocity_limit(options.velocity_limit);
  request(std::move(message));
}

void Client::recover(const std::string& robot) {
  v1::Request message;
  message.mutable_recover_fault()->set_robot(robot);
  request(std::move(message));
}

}  // namespace tactus::client
