// What joins the links of a robot description: one root, no loop, every name known and used once.
#include <map>

#include "core/check.h"
#include "core/scene/urdf.h"

namespace tactus {
namespace {

using Index = std::uint32_t;
constexpr std::size_t kMimicsMax = 16;  // that follow one another

template <class Element>
std::map<std::string, Index> index_names(const RobotDescription& robot, const std::vector<Element>& elements) {
  std::map<std::string, Index> out;
  for (Index i = 0; i < elements.size(); ++i) {
    const auto [entry, fresh] = out.emplace(elements[i].name, i);
    if (!fresh)
      throw InputError(place_of(robot, elements[i]) + "found this name again, first in line " +
                       std::to_string(elements[entry->second].line) + ", expected a unique name");
  }
  return out;
}

Index find_link(const RobotDescription& robot, const UrdfJoint& joint, const std::map<std::string, Index>& links,
                const char* role, const std::string& name) {
  const auto found = links.find(name);
  if (found != links.end()) return found->second;
  throw InputError(place_of(robot, joint) + "<" + role + ">: found link \"" + name +
                   "\", expected the name of a link of this file");
}

// The link that nothing is joined to. incoming: per link the joint above it, or kNone.
Index find_root(const RobotDescription& robot, const std::vector<Index>& incoming) {
  Index root = kNone;
  for (Index i = 0; i < robot.links.size(); ++i) {
    if (incoming[i] != kNone) continue;
    if (root != kNone)
      throw InputError(place_of(robot, robot.links[i]) + "found a second root (link \"" + robot.links[root].name +
                       "\" is one too), expected one link that is no joint's child: every other link hangs on a joint");
    root = i;
  }
  if (root == kNone)
    throw InputError(place_of(robot, robot.joints.front()) +
                     "found a cycle of joints and no root, expected a tree: one link that is no joint's child");
  return root;
}

void check_mimics(const RobotDescription& robot) {
  const auto joints = index_names(robot, robot.joints);
  for (const UrdfJoint& joint : robot.joints) {
    const UrdfJoint* at = &joint;
    for (std::size_t steps = 0; at->mimic; ++steps) {
      const std::string place = place_of(robot, *at) + "<mimic>: found joint \"" + at->mimic->joint + "\", expected ";
      const auto found = joints.find(at->mimic->joint);
      if (found == joints.end()) throw InputError(place + "the name of a joint of this file");
      if (steps >= kMimicsMax)
        throw InputError(place + "one that does not follow this joint in turn, through at most " +
                         std::to_string(kMimicsMax) + " others");
      at = &robot.joints[found->second];
      if (position_count(at->kind) != 1) throw InputError(place + "a joint with one coordinate");
    }
  }
}

}  // namespace

void order_joints(RobotDescription& robot) {
  if (robot.links.empty()) throw InputError(robot.file + ":1: <robot>: found no link, expected at least one");
  const auto links = index_names(robot, robot.links);
  check_mimics(robot);
  std::vector<Index> incoming(robot.links.size(), kNone);
  std::vector<std::vector<Index>> outgoing(robot.links.size());
  for (Index j = 0; j < robot.joints.size(); ++j) {
    UrdfJoint& joint = robot.joints[j];
    joint.parent = find_link(robot, joint, links, "parent", joint.parent_name);
    joint.child = find_link(robot, joint, links, "child", joint.child_name);
    if (incoming[joint.child] != kNone)
      throw InputError(place_of(robot, joint) + "<child>: found link \"" + joint.child_name +
                       "\", which is the child of joint \"" + robot.joints[incoming[joint.child]].name +
                       "\" already, expected one joint above each link");
    incoming[joint.child] = j;
    outgoing[joint.parent].push_back(j);
  }
  robot.root = find_root(robot, incoming);
  std::vector<UrdfJoint> ordered;
  std::vector<bool> reached(robot.joints.size(), false);
  std::vector<Index> stack(outgoing[robot.root].rbegin(), outgoing[robot.root].rend());
  while (!stack.empty()) {
    const Index j = stack.back();
    stack.pop_back();
    reached[j] = true;
    ordered.push_back(robot.joints[j]);
    const auto& next = outgoing[robot.joints[j].child];
    stack.insert(stack.end(), next.rbegin(), next.rend());
  }
  for (Index j = 0; j < robot.joints.size(); ++j)
    if (!reached[j])
      throw InputError(place_of(robot, robot.joints[j]) + "found in a cycle of joints that link \"" +
                       robot.links[robot.root].name + "\" does not lead to, expected a tree");
  robot.joints = std::move(ordered);
}

}  // namespace tactus
