// Robots in DescribeScene: what a client needs to command joints and to read states.
#include <string>

#include "server/net/scene/scene_view.h"
#include "server/record/keyframe.h"

namespace tactus::net {
namespace {

void describe_joint(const SceneView& view, JointIndex index, v1::JointDescription& out) {
  const Model& model = view.model();
  const Joint& joint = model.joints[index];
  out.set_id(index);
  out.set_name(joint.name);
  out.set_kind(to_string(joint.kind));
  out.set_dof(joint.first_v);
  out.set_dofs(velocity_count(joint.kind));
  if (joint.parent != kNone) out.set_parent(model.bodies[joint.parent].name);
  out.set_child(model.bodies[joint.child].name);
  out.set_lower(joint.lower);
  out.set_upper(joint.upper);
  out.set_effort_limit(joint.effort_limit);
  out.set_velocity_limit(joint.velocity_limit);
  out.set_damping(joint.damping);
  out.set_friction(joint.friction);
  if (joint.mimic != kNone) out.set_mimics(model.joints[joint.mimic].name);
  if (view.driven[index] == kNone) return;
  const DrivenJoint& driven = view.driven_joints[view.driven[index]];
  out.set_commanded(true);
  out.set_effort_limit(driven.drive.effort_limit);
  out.set_stiffness(driven.drive.kp);
  out.set_drive_damping(driven.drive.kd);
  if (driven.in_scene) out.set_drive(to_string(driven.drive.kind));
  record::write_options(view.joint_options[view.driven[index]], *out.mutable_options());
}

void describe_sensor(const Model& model, std::uint32_t index, v1::SensorDescription& out) {
  const SensorSpec& sensor = model.sensors[index];
  out.set_id(index);
  out.set_name(sensor.name);
  out.set_kind(to_string(sensor.kind));
  out.set_values(value_count(sensor.kind));
  if (sensor.joint != kNone) out.set_joint(model.joints[sensor.joint].name);
  if (sensor.frame != kNone) out.set_link(model.frames[sensor.frame].name);
}

}  // namespace

void read_options(const v1::JointOptions& in, ChannelOptions& out) {
  out = record::read_options(in);
  if (!in.missed().empty() && in.missed() != to_string(out.missed)) out.missed = static_cast<MissedPolicy>(255);
}

void describe_robots(const SceneView& view, v1::SceneDescription& out) {
  const Model& model = view.model();
  for (std::uint32_t r = 0; r < model.robots.size(); ++r) {
    const Robot& robot = model.robots[r];
    v1::RobotDescription* one = out.add_robots();
    one->set_id(r);
    one->set_name(robot.name);
    for (std::uint32_t k = 0; k < robot.joint_count; ++k)
      describe_joint(view, robot.first_joint + k, *one->add_joints());
    const std::string head = robot.name + "/";
    for (std::uint32_t i = 0; i < model.sensors.size(); ++i) {
      if (model.sensors[i].name.starts_with(head)) describe_sensor(model, i, *one->add_sensors());
    }
    for (std::uint32_t i = 0; i < model.frames.size(); ++i) {
      if (!model.frames[i].name.starts_with(head)) continue;
      v1::LinkDescription* link = one->add_links();
      link->set_id(i);
      link->set_name(model.frames[i].name);
      link->set_body(model.bodies[model.frames[i].body].name);
    }
  }
}

}  // namespace tactus::net
