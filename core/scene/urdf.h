// URDF: the robot description format of ROS (wiki.ros.org/urdf/XML), read into plain data. Reading checks form and
// structure; whether masses and inertias are physical is judged when the robot is built (robot_inertia.cc), because
// that depends on what is merged and repaired.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dynamics/robot.h"
#include "core/shape/mass_properties.h"

namespace tactus {

struct UrdfCollision {
  enum class Kind : std::uint8_t { box, cylinder, sphere, capsule, mesh };
  Kind kind = Kind::box;
  Vec3 size = Vec3::Zero();       // box: edges [m]
  double radius = 0, length = 0;  // cylinder; capsule: length between the centres of its caps [m]
  std::string mesh;               // as in the file: package://, file:// or a path
  Vec3 scale = Vec3::Ones();      // mesh
  Pose X_LS;                      // in the link's frame L
  int line = 0;
};

struct UrdfLink {
  std::string name;
  int line = 0;
  std::optional<MassProperties> inertial;  // in L, axes of L; as in the file
  int inertial_line = 0;
  std::vector<UrdfCollision> collisions;
  std::string colour;  // "#rrggbb" of the first visual that has one, or empty
};

struct UrdfMimic {
  std::string joint;
  double multiplier = 1, offset = 0;
};

struct UrdfJoint {
  std::string name;
  int line = 0;
  JointKind kind = JointKind::fixed;
  std::string parent_name, child_name;
  std::uint32_t parent = kNone, child = kNone;  // into RobotDescription::links
  Pose X_PC;                                    // of the joint and the child's frame in the parent link's, at q = 0
  Vec3 axis = Vec3::UnitX();                    // unit, in the child's frame
  bool has_limit = false;                       // lower and upper are the file's
  double lower = 0, upper = 0;                  // [rad or m]
  double effort = std::numeric_limits<double>::infinity(), velocity = std::numeric_limits<double>::infinity();
  double damping = 0, friction = 0;
  std::optional<UrdfMimic> mimic;
};

struct RobotDescription {
  std::string file, name;
  std::vector<UrdfLink> links;    // in the order of the file
  std::vector<UrdfJoint> joints;  // depth first from the root, siblings in the order of the file
  std::uint32_t root = 0;         // into links
  std::vector<std::string> notes;
};

// Throws InputError with file, line, element, what was found and what is expected.
RobotDescription read_urdf(const std::string& path);
// From text; name stands for the file in messages.
RobotDescription parse_urdf(const std::string& text, const std::string& name);

// Refuses what is not a tree, or names that are missing or used twice; orders the joints and resolves their links.
// Part of parse_urdf.
void order_joints(RobotDescription& robot);

// "file:line: link "arm": " for messages about a link or joint.
std::string place_of(const RobotDescription& robot, const UrdfLink& link);
std::string place_of(const RobotDescription& robot, const UrdfJoint& joint);

}  // namespace tactus
