#include "core/scene/urdf.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/check.h"
#include "core/scene/urdf_xml.h"

namespace tactus {
namespace {

constexpr std::uintmax_t kFileBytesMax = 16u << 20;
constexpr std::size_t kLinksMax = 10000;

// Roll about x, then pitch about y, then yaw about z, all fixed axes.
Quat rotation(const Vec3& rpy) {
  const Vec3 a = 0.5 * rpy;
  const Quat roll(std::cos(a.x()), std::sin(a.x()), 0, 0), pitch(std::cos(a.y()), 0, std::sin(a.y()), 0),
      yaw(std::cos(a.z()), 0, 0, std::sin(a.z()));
  return yaw * pitch * roll;
}

Pose read_origin(const XmlElement& owner) {
  Pose pose;
  const auto origin = owner.child("origin");
  if (!origin) return pose;
  if (origin->has("quat_xyzw")) origin->fail("quat_xyzw", "found a quaternion, expected rpy (in radians)");
  origin->known_attributes({"xyz", "rpy"});
  pose.p = origin->vec3("xyz", Vec3(Vec3::Zero()));
  pose.q = rotation(origin->vec3("rpy", Vec3(Vec3::Zero())));
  return pose;
}

MassProperties read_inertial(const XmlElement& inertial) {
  inertial.known_children({"origin", "mass", "inertia"});
  const Pose X_LI = read_origin(inertial);
  MassProperties m;
  m.mass = inertial.required_child("mass", "the mass in kg").number("value", kNotNegative);
  m.p_SScm = X_LI.p;
  if (const auto inertia = inertial.child("inertia")) {
    inertia->known_attributes({"ixx", "ixy", "ixz", "iyy", "iyz", "izz"});
    Mat3 I;
    const double xy = inertia->number("ixy", kAny, 0.0), xz = inertia->number("ixz", kAny, 0.0),
                 yz = inertia->number("iyz", kAny, 0.0);
    const double xx = inertia->number("ixx", kAny), yy = inertia->number("iyy", kAny),
                 zz = inertia->number("izz", kAny);
    I << xx, xy, xz, xy, yy, yz, xz, yz, zz;
    const Mat3 R = X_LI.q.toRotationMatrix();
    const Mat3 turned = R * I * R.transpose();
    m.I_SScm = 0.5 * (turned + turned.transpose());
    if (!m.I_SScm.allFinite()) inertia->fail("", "found numbers too large to compute with, expected kg m^2");
  }
  return m;
}

void read_mesh(const XmlElement& mesh, UrdfCollision& out) {
  mesh.known_attributes({"filename", "scale"});
  out.kind = UrdfCollision::Kind::mesh;
  out.mesh = mesh.text("filename");
  if (out.mesh.empty()) mesh.fail("filename", "found \"\", expected a mesh (.stl or .obj)");
  out.scale = mesh.vec3("scale", Vec3(Vec3::Ones()));
  if ((out.scale.array() == 0).any()) mesh.fail("scale", "found 0, expected factors other than 0");
}

// The one geometry of a <collision>.
void read_geometry(const XmlElement& collision, UrdfCollision& out) {
  static const std::string kExpected = "<box>, <cylinder>, <sphere>, <capsule> or <mesh>";
  const XmlElement geometry = collision.required_child("geometry", kExpected);
  geometry.known_children({"box", "cylinder", "sphere", "capsule", "mesh"});
  int count = 0;
  for (const char* tag : {"box", "cylinder", "sphere", "capsule", "mesh"}) {
    const auto e = geometry.child(tag);
    if (!e) continue;
    if (++count > 1) e->fail("", "found beside another shape, expected one in each <geometry>");
    const std::string kind = tag;
    if (kind == "mesh") {
      read_mesh(*e, out);
      continue;
    }
    if (kind == "box") {
      out.kind = UrdfCollision::Kind::box;
      out.size = e->vec3("size", {}, kPositive);
      continue;
    }
    out.kind = kind == "sphere"    ? UrdfCollision::Kind::sphere
               : kind == "capsule" ? UrdfCollision::Kind::capsule
                                   : UrdfCollision::Kind::cylinder;
    out.radius = e->number("radius", kind == "sphere" ? kNotNegative : kPositive);
    if (kind != "sphere") out.length = e->number("length", kPositive);
  }
  if (count == 0) geometry.fail("", "found no shape, expected " + kExpected);
}

UrdfCollision read_collision(const XmlElement& e) {
  e.known_attributes({"name", "group"});
  e.known_children({"origin", "geometry", "verbose", "material"});
  UrdfCollision out;
  out.line = e.line();
  out.X_LS = read_origin(e);
  read_geometry(e, out);
  return out;
}

// "0.8 0.1 0 1" as "#cc1a00"; empty when it is not four numbers from 0 to 1: colours are no reason to refuse a robot.
std::string read_colour(const XmlElement& material) {
  const auto colour = material.child("color");
  if (!colour || !colour->has("rgba")) return "";
  std::istringstream words(colour->text("rgba"));
  words.imbue(std::locale::classic());
  std::array<double, 3> rgb{};
  for (double& x : rgb)
    if (!(words >> x) || !(x >= 0 && x <= 1)) return "";
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", static_cast<unsigned>(std::lround(255 * rgb[0])),
                static_cast<unsigned>(std::lround(255 * rgb[1])), static_cast<unsigned>(std::lround(255 * rgb[2])));
  return text.data();
}

std::string link_colour(const XmlElement& link, const std::map<std::string, std::string>& colours) {
  for (const XmlElement& visual : link.children("visual")) {
    for (const XmlElement& material : visual.children("material")) {
      const std::string own = read_colour(material);
      if (!own.empty()) return own;
      const auto shared = colours.find(material.text("name", ""));
      if (shared != colours.end()) return shared->second;
    }
  }
  return "";
}

UrdfLink read_link(const XmlElement& plain, const std::map<std::string, std::string>& colours) {
  UrdfLink link;
  link.name = plain.name("name");
  link.line = plain.line();
  const XmlElement e = plain.with_owner("link \"" + link.name + "\"");
  e.known_attributes({"name", "type"});
  e.known_children({"inertial", "visual", "collision"});
  if (const auto inertial = e.child("inertial")) {
    link.inertial = read_inertial(*inertial);
    link.inertial_line = inertial->line();
  }
  for (const XmlElement& collision : e.children("collision")) {
    link.collisions.push_back(read_collision(collision));
    const UrdfCollision& c = link.collisions.back();
    if (c.kind != UrdfCollision::Kind::sphere || c.radius > 0) continue;
    link.collisions.pop_back();  // contact points of another simulator
    collision.skip("collision <sphere> of radius 0");
  }
  link.colour = link_colour(e, colours);
  return link;
}

JointKind read_kind(const XmlElement& e) {
  static constexpr std::array<JointKind, 6> kKinds{JointKind::revolute, JointKind::continuous, JointKind::prismatic,
                                                   JointKind::fixed,    JointKind::floating,   JointKind::planar};
  const std::string type = e.text("type");
  for (const JointKind kind : kKinds)
    if (type == to_string(kind)) return kind;
  e.fail("type", "found \"" + type + "\", expected revolute, continuous, prismatic, fixed, floating or planar");
}

// Lower and upper count for revolute and prismatic joints only; effort and velocity for all that move.
void read_limit(const XmlElement& e, UrdfJoint& joint, std::vector<std::string>& notes) {
  const auto limit = e.child("limit");
  if (!limit || joint.kind == JointKind::fixed) return;
  limit->known_attributes({"lower", "upper", "effort", "velocity"});
  joint.effort = limit->number("effort", kNotNegative, joint.effort);
  joint.velocity = limit->number("velocity", kNotNegative, joint.velocity);
  if (joint.effort == 0) notes.push_back(e.owner() + " has an effort limit of 0: no drive can move it");
  if (joint.velocity == 0) {
    notes.push_back(e.owner() + " has a velocity limit of 0, taken as none");
    joint.velocity = kInfinity;
  }
  if (joint.kind != JointKind::revolute && joint.kind != JointKind::prismatic) return;
  joint.has_limit = limit->has("lower") || limit->has("upper");
  joint.lower = limit->number("lower", kAny, 0.0);
  joint.upper = limit->number("upper", kAny, 0.0);
  if (joint.lower > joint.upper)
    limit->fail("lower", "found " + number_text(joint.lower) + " above upper, " + number_text(joint.upper) +
                             ", expected lower <= upper");
}

void read_axis(const XmlElement& e, UrdfJoint& joint) {
  if (joint.kind == JointKind::fixed || joint.kind == JointKind::floating) return;
  const auto axis = e.child("axis");
  if (!axis) return;
  const Vec3 a = axis->vec3("xyz", Vec3(Vec3::UnitX()));
  const double norm = a.stableNorm();
  if (!(norm > 1e-9) || !std::isfinite(norm))
    axis->fail("xyz", "found \"" + axis->text("xyz") + "\", expected a direction: not zero, and finite in length");
  joint.axis = a / norm;
}

void read_mimic(const XmlElement& e, UrdfJoint& joint) {
  const auto mimic = e.child("mimic");
  if (!mimic) return;
  mimic->known_attributes({"joint", "multiplier", "offset"});
  joint.mimic =
      UrdfMimic{mimic->name("joint"), mimic->number("multiplier", kAny, 1.0), mimic->number("offset", kAny, 0.0)};
  if (position_count(joint.kind) != 1)
    mimic->fail("", "found in a " + std::string(to_string(joint.kind)) + " joint, expected one with one coordinate");
}

UrdfJoint read_joint(const XmlElement& plain, std::vector<std::string>& notes) {
  UrdfJoint joint;
  joint.name = plain.name("name");
  joint.line = plain.line();
  const XmlElement e = plain.with_owner("joint \"" + joint.name + "\"");
  e.known_attributes({"name", "type"});
  e.known_children({"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"});
  joint.kind = read_kind(e);
  joint.parent_name = e.required_child("parent", "<parent link=\"...\"/>").name("link");
  joint.child_name = e.required_child("child", "<child link=\"...\"/>").name("link");
  joint.X_PC = read_origin(e);
  read_axis(e, joint);
  read_limit(e, joint, notes);
  if (const auto dynamics = e.child("dynamics")) {
    dynamics->known_attributes({"damping", "friction"});
    joint.damping = dynamics->number("damping", kNotNegative, 0.0);
    joint.friction = dynamics->number("friction", kNotNegative, 0.0);
  }
  read_mimic(e, joint);
  return joint;
}

std::string read_text(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw InputError(path + ": no such file, expected a robot (.urdf)");
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > kFileBytesMax)
    throw InputError(path + ": found " + std::to_string(size) + " bytes, expected at most " +
                     std::to_string(kFileBytesMax));
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) throw InputError(path + ": cannot be read");
  return text.str();
}

}  // namespace

std::string place_of(const RobotDescription& robot, const UrdfLink& link) {
  return robot.file + ":" + std::to_string(link.line) + ": link \"" + link.name + "\": ";
}
std::string place_of(const RobotDescription& robot, const UrdfJoint& joint) {
  return robot.file + ":" + std::to_string(joint.line) + ": joint \"" + joint.name + "\": ";
}

RobotDescription parse_urdf(const std::string& text, const std::string& name) {
  XmlFile file{name, {}};
  tinyxml2::XMLDocument document;
  const XmlElement root = parse_xml(text, file, document);
  if (root.tag() != "robot") root.fail("", "found this element, expected <robot>: is this a URDF file?");
  RobotDescription robot;
  robot.file = name;
  robot.name = root.text("name", "robot");
  root.known_attributes({"name", "version"});
  root.known_children({"link", "joint", "material"});
  std::map<std::string, std::string> colours;
  for (const XmlElement& e : root.children("material")) colours[e.text("name", "")] = read_colour(e);
  for (const XmlElement& e : root.children("link")) {
    robot.links.push_back(read_link(e, colours));
    if (robot.links.size() > kLinksMax)
      e.fail("", "found more than " + std::to_string(kLinksMax) + " links, expected fewer");
  }
  for (const XmlElement& e : root.children("joint")) robot.joints.push_back(read_joint(e, robot.notes));
  for (const auto& [what, count] : file.skipped)
    robot.notes.push_back("skipped " + what + (count > 1 ? ", " + std::to_string(count) + " times" : ""));
  order_joints(robot);
  return robot;
}

RobotDescription read_urdf(const std::string& path) {
  return parse_urdf(read_text(path), path);
}

}  // namespace tactus
