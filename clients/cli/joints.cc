// `tactus joints`: joints of the scene's robots, once: where they are, what acts on them, what was missed.
#include <cstdio>
#include <string>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"
#include "realtime.pb.h"

namespace tactus::cli {
namespace {

std::string bit_words(std::uint32_t bits) {
  static constexpr std::pair<std::uint32_t, const char*> kWords[] = {{v1::JOINT_FAULT, "FAULT"},
                                                                     {v1::JOINT_COMMANDED, "commanded"},
                                                                     {v1::JOINT_HELD, "held"},
                                                                     {v1::JOINT_EXTRAPOLATED, "extrapolated"},
                                                                     {v1::JOINT_SAFE, "safe"},
                                                                     {v1::JOINT_EFFORT_LIMITED, "effort limited"},
                                                                     {v1::JOINT_RATE_LIMITED, "rate limited"},
                                                                     {v1::JOINT_VELOCITY_LIMITED, "velocity limited"},
                                                                     {v1::JOINT_FILTERED, "filtered"}};
  std::string out;
  for (const auto& [bit, word] : kWords)
    if (bits & bit) out.append(out.empty() ? "" : ", ").append(word);
  return out;
}

const v1::JointDescription* find_joint(const v1::SceneDescription& scene, std::uint32_t id) {
  for (const auto& robot : scene.robots())
    for (const auto& joint : robot.joints())
      if (joint.id() == id) return &joint;
  return nullptr;
}

}  // namespace

int run_joints(const Common& common, const JointsOptions& options) {
  client::Client client(client_options(common, "joints"));
  if (!options.recover.empty()) {
    client.claim({"joint/" + options.recover + "/*"}, options.take_over);
    client.recover(options.recover);
    client.release();
  }
  client::Subscription wanted;
  wanted.joints = options.names.empty() ? std::vector<std::string>{"*"} : options.names;
  client.subscribe(wanted);
  const client::StatePtr state = client.next(std::chrono::milliseconds(2000));
  if (!state) {
    std::fprintf(stderr, "no state came within 2 s%s\n",
                 client.why_silent(": in lockstep the server publishes granted ticks only").c_str());
    return 1;
  }
  const auto scene = client.scene();
  Json json;
  json.open('{').field("tick", state->tick).open('[', "joints");
  if (!common.json)
    std::printf("%-28s %10s %10s %10s %10s %8s  what acts\n", "joint", "q", "dq", "effort", "external", "missed");
  for (const client::JointState& j : state->joints) {
    const v1::JointDescription* joint = find_joint(*scene, j.id);
    const std::string name = joint != nullptr ? joint->name() : std::to_string(j.id);
    json.open('{').field("name", name).field("q", j.q).field("dq", j.dq).field("effort", j.effort);
    json.field("external_effort", j.external_effort)
        .field("missed", j.missed)
        .field("acts", bit_words(j.bits))
        .close('}');
    if (!common.json)
      std::printf("%-28s %10.4f %10.4f %10.3f %10.3f %8u  %s\n", name.c_str(), j.q, j.dq, j.effort, j.external_effort,
                  j.missed, bit_words(j.bits).c_str());
  }
  if (common.json) std::printf("%s\n", json.close(']').close('}').text().c_str());
  if (state->joints.empty() && !common.json) std::printf("the scene '%s' has no robots\n", scene->name().c_str());
  return 0;
}

}  // namespace tactus::cli
