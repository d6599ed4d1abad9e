// From the links and joints of a description to bodies: links over fixed joints are merged, with their exact inertia.
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/scene/robot_spec.h"

namespace tactus {
namespace {

// Where each link has gone.
struct Place {
  std::uint32_t body = 0;
  Pose X_BL;
};

// Links over fixed joints join the body above; any other joint begins a body. Joints come parents first.
std::vector<RobotBody> merge_links(const RobotDescription& robot, const RobotSpec& spec) {
  std::vector<Place> places(robot.links.size());
  std::vector<RobotBody> bodies(1);
  bodies[0].links.push_back({robot.root, {}, {}});
  for (std::uint32_t j = 0; j < robot.joints.size(); ++j) {
    const UrdfJoint& joint = robot.joints[j];
    const Place above = places[joint.parent];
    Place here{above.body, above.X_BL * joint.X_PC};
    here.X_BL.q.normalize();
    if (joint.kind != JointKind::fixed || spec.kept_joints.contains(joint.name)) {
      RobotBody body;
      body.joint = j;
      body.parent = above.body;
      body.X_PF = here.X_BL;
      here = {static_cast<std::uint32_t>(bodies.size()), {}};
      bodies.push_back(std::move(body));
    }
    if (!here.X_BL.p.allFinite())
      throw InputError(place_of(robot, joint) + "<origin>: found a place that is not finite, expected one that is");
    bodies[here.body].links.push_back({joint.child, here.X_BL, {}});
    places[joint.child] = here;
  }
  return bodies;
}

void read_shapes(const RobotDescription& robot, const RobotSpec& spec, SceneBuilder& builder, RobotAssembly& out) {
  RobotShapes reader(robot, spec, builder);
  for (RobotBody& body : out.bodies) {
    for (RobotLink& link : body.links) {
      link.shapes = reader.read(robot.links[link.link]);
      for (ShapeSpec& s : link.shapes) {
        s.X_BS = link.X_BL * s.X_BS;
        s.X_BS.q.normalize();
        if (!s.X_BS.p.allFinite())
          throw InputError(place_of(robot, robot.links[link.link]) +
                           "<collision>: found a place that is not finite, expected one that is");
      }
    }
  }
  out.notes.insert(out.notes.end(), reader.notes().begin(), reader.notes().end());
}

void check_limits(const RobotDescription& robot, const RobotSpec& spec, std::vector<std::string>& notes) {
  for (const UrdfJoint& joint : robot.joints) {
    if ((joint.kind != JointKind::revolute && joint.kind != JointKind::prismatic) || joint.has_limit) continue;
    if (!spec.repairs.missing_limits)
      throw InputError(place_of(robot, joint) + "found no <limit> with lower and upper, expected them in a " +
                       to_string(joint.kind) + " joint; repairs = [\"missing_limits\"] in the scene (--set " +
                       "repairs=missing_limits) lets it move freely");
    notes.push_back("joint \"" + joint.name + "\" has no limits: moves freely");
  }
}

// What a scene says; 0, or the limit nearest to it.
double initial_position(const UrdfJoint& joint, const RobotSpec& spec, std::vector<std::string>& notes) {
  if (const auto given = spec.joint_positions.find(joint.name); given != spec.joint_positions.end())
    return given->second;
  if (!joint.has_limit || joint.mimic) return 0;
  const double q = std::clamp(0.0, joint.lower, joint.upper);
  if (q != 0) notes.push_back("joint \"" + joint.name + "\" cannot be at 0: starts at its limit, " + number_text(q));
  return q;
}

// Chains of mimics have been checked: they end at a joint of one coordinate.
double mimic_position(const RobotDescription& robot, const UrdfJoint& joint,
                      const std::map<std::string, std::uint32_t>& index, const std::vector<double>& q) {
  if (!joint.mimic) return q[index.at(joint.name)];
  const UrdfJoint& master = robot.joints[index.at(joint.mimic->joint)];
  return joint.mimic->multiplier * mimic_position(robot, master, index, q) + joint.mimic->offset;
}

Pose joint_pose(const UrdfJoint& joint, double q) {
  Pose X_FB;
  if (joint.kind == JointKind::prismatic) X_FB.p = q * joint.axis;
  if (joint.kind == JointKind::revolute || joint.kind == JointKind::continuous) {
    const Vec3 v = std::sin(0.5 * q) * joint.axis;
    X_FB.q = Quat(std::cos(0.5 * q), v.x(), v.y(), v.z());
  }
  return X_FB;
}

void place_bodies(const RobotDescription& robot, const RobotSpec& spec, RobotAssembly& out) {
  std::map<std::string, std::uint32_t> index;
  std::vector<double> q;
  for (const UrdfJoint& joint : robot.joints) {
    index.emplace(joint.name, static_cast<std::uint32_t>(q.size()));
    q.push_back(initial_position(joint, spec, out.notes));
  }
  for (RobotBody& body : out.bodies) {
    if (body.joint == kNone) continue;
    const UrdfJoint& joint = robot.joints[body.joint];
    body.q0 = mimic_position(robot, joint, index, q);
    body.X_RB0 = out.bodies[body.parent].X_RB0 * body.X_PF * joint_pose(joint, body.q0);
    body.X_RB0.q.normalize();
    if (!body.X_RB0.p.allFinite() || !std::isfinite(body.q0))
      throw InputError(place_of(robot, joint) + "found an initial position that is not finite, expected one that is");
  }
}

}  // namespace

RobotAssembly assemble_robot(const RobotDescription& robot, const RobotSpec& spec, SceneBuilder& builder) {
  RobotAssembly out;
  out.notes = robot.notes;
  out.fixed_base =
      spec.base == RobotBase::fixed || (spec.base == RobotBase::automatic && robot.links[robot.root].name == "world");
  check_limits(robot, spec, out.notes);
  out.bodies = merge_links(robot, spec);
  if (builder.model->bodies.size() + out.bodies.size() > builder.limits().bodies)
    throw InputError(robot.file + ": found " + std::to_string(out.bodies.size()) +
                     " bodies after merging, expected at most " + std::to_string(builder.limits().bodies) +
                     " in the scene");
  read_shapes(robot, spec, builder, out);
  for (std::size_t b = 0; b < out.bodies.size(); ++b)
    finish_inertia(robot, out.bodies[b], b > 0 || !out.fixed_base, spec, out.notes);
  place_bodies(robot, spec, out);
  return out;
}

}  // namespace tactus
