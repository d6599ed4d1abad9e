// Re-executes a recording: from its last jump of the state on, from the first whole state, with the wrenches that were
// applied and what joints' channels were given. Holds each hash against its own, and what acts on joints against what
// acted. usage: tactus_replay_check FILE
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/scene/scene.h"
#include "core/world.h"
#include "proto/record_file.h"

using namespace tactus;

namespace {

// The tick's own order: wrenches, inputs of joints, hashes, marks; and whole states in their places.
struct Tape {
  v1::RecordHeader header;
  std::vector<v1::Record> rows;
  std::map<std::uint64_t, v1::WorldOperation> operations;  // by ticket
  std::map<std::uint64_t, v1::Keyframe> keyframes;         // by ticket, of those that have one
};

bool is_row(const v1::Record& r) {
  return r.has_wrench() || r.has_hash() || r.has_joint_input() || r.has_joint() ||
         (r.has_mark() && r.mark().kind() == v1::TickMark::OPERATION) ||
         (r.has_keyframe() && r.keyframe().ticket() == 0);
}

bool read(const char* path, Tape& tape) {
  std::ifstream in(path, std::ios::binary);
  wire::RecordReader reader(in);
  v1::Record r;
  while (reader.next(r)) {
    if (r.has_header()) tape.header = r.header();
    if (r.has_keyframe() && r.keyframe().ticket() != 0) tape.keyframes[r.keyframe().ticket()] = r.keyframe();
    if (r.has_operation()) tape.operations[r.operation().ticket()] = r.operation();
    const bool jump = r.has_mark() && r.mark().ok() && (r.mark().what() == "reset" || r.mark().what() == "restore");
    if (jump) tape.rows.clear();
    if (is_row(r)) tape.rows.push_back(r);
  }
  if (reader.damaged()) std::fprintf(stderr, "%s\n", reader.damage().c_str());
  return !reader.damaged();
}

// The whole state that stands at this row; null: none.
const v1::Keyframe* keyframe_at(const Tape& tape, const v1::Record& r) {
  if (r.has_keyframe()) return &r.keyframe();
  if (!r.has_mark()) return nullptr;
  const auto found = tape.keyframes.find(r.mark().ticket());
  return found == tape.keyframes.end() ? nullptr : &found->second;
}

ChannelOptions options_of(const v1::JointOptions& in) {
  const auto or_none = [](double x) { return x == 0 ? std::numeric_limits<double>::infinity() : x; };
  ChannelOptions out;
  for (const MissedPolicy p : {MissedPolicy::hold, MissedPolicy::extrapolate, MissedPolicy::ramp, MissedPolicy::brake})
    if (in.missed() == to_string(p)) out.missed = p;
  out.tolerance_ticks = in.tolerance_ticks();
  out.fault_ticks = in.fault_ticks();
  out.ramp = in.ramp_s();
  out.cutoff = in.cutoff_hz();
  out.effort_limit = or_none(in.effort_limit());
  out.effort_rate_limit = or_none(in.effort_rate_limit());
  out.velocity_limit = or_none(in.velocity_limit());
  return out;
}

class Replay {
 public:
  explicit Replay(World& world) : world_(world) {}
  std::uint64_t hashes = 0, wrenches = 0, inputs = 0, joints = 0, wrong = 0;

  bool begin(const v1::Keyframe& first) {
    State state = world_.initial();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(first.state().data());
    if (!world_.deserialise({bytes, first.state().size()}, state) || !world_.restore(state)) return false;
    Parameters parameters = world_.parameters();
    for (const v1::Parameter& p : first.settings()) World::parse_parameter(p.key(), p.value(), parameters);
    world_.set_parameters(parameters);
    const auto driven = world_.robot_drives().channels().joints();
    for (std::size_t i = 0; i < std::min<std::size_t>(driven.size(), first.joint_options().size()); ++i)
      world_.set_joint_options(driven[i].drive.joint, options_of(first.joint_options(static_cast<int>(i))));
    compare(first.state_hash());
    return true;
  }

  void take(const v1::Record& r, const Tape& tape) {
    if (const v1::Keyframe* keyframe = keyframe_at(tape, r)) {
      run_to(keyframe->tick());
      return compare(keyframe->state_hash());
    }
    if (r.has_wrench()) return take(r.wrench());
    if (r.has_joint_input()) return take(r.joint_input());
    if (r.has_joint()) return take(r.joint());
    if (r.has_hash()) {
      run_to(r.hash().tick());
      return compare(r.hash().hash());
    }
    const auto found = tape.operations.find(r.mark().ticket());
    if (found == tape.operations.end()) return;
    run_to(r.mark().tick());
    operate(found->second);
  }

 private:
  void run_to(std::uint64_t tick) {
    while (world_.state().tick < tick) world_.step();
  }
  void compare(std::uint64_t hash) {
    ++hashes;
    if (world_.hash() != hash) differs("the state");
  }
  void differs(const char* what) {
    if (wrong++ == 0)
      std::fprintf(stderr, "%s differs at tick %llu\n", what, static_cast<unsigned long long>(world_.state().tick));
  }
  void take(const v1::AppliedWrench& w) {
    run_to(w.tick() - 1);
    SpatialForce F;
    F.force = Vec3(w.wrench(0), w.wrench(1), w.wrench(2));
    F.torque = Vec3(w.wrench(3), w.wrench(4), w.wrench(5));
    world_.apply(w.body_id(), F);
    ++wrenches;
  }
  void take(const v1::JointInput& in) {
    run_to(in.tick() - 1);
    ++inputs;
    switch (in.kind()) {
      case v1::JointInput::COMMAND: {
        const JointCommand command{in.joint_id(), static_cast<DriveKind>(in.mode()), in.value(), in.rate()};
        if (!accepted(world_.command_joint(command, in.ticks()))) differs("a command's verdict");
        return;
      }
      case v1::JointInput::RELEASE:
        return world_.release_joint(in.joint_id());
      case v1::JointInput::OPTIONS:
        return world_.set_joint_options(in.joint_id(), options_of(in.options()));
      case v1::JointInput::RECOVER:
        return world_.recover_robot(in.joint_id());
      case v1::JointInput::TIME:
        return world_.pass_joint_time(in.ticks());
      default:
        return differs("an input");
    }
  }
  void take(const v1::AppliedJoint& row) {
    run_to(row.tick());
    ++joints;
    const RobotDrives& drives = world_.robot_drives();
    const std::size_t i = drives.channels().find(row.joint_id());
    if (i >= drives.commands().size()) return differs("a joint");
    const JointChannels::Output& out = drives.commands()[i];
    const Setpoint& s = out.setpoint;
    const bool same = out.active && s.kind == static_cast<double>(row.mode()) && s.value == row.value() &&
                      s.rate == row.rate() && s.brake == row.brake() && drives.bits(i) == row.bits();
    if (!same) differs("what acts on a joint");
  }
  void operate(const v1::WorldOperation& operation) {
    const std::string& text = operation.text();
    if (operation.what() == "set_parameter") {
      Parameters parameters = world_.parameters();
      const std::size_t equals = text.find('=');
      World::parse_parameter(text.substr(0, equals), text.substr(equals + 1), parameters);
      world_.set_parameters(parameters);
    }
    ContactModelKind kind{};
    if (operation.what() == "set_model" && parse_contact_model(text, kind)) {
      world_.prepare_model(kind);
      world_.set_model(kind);
    }
  }

  World& world_;
};

}  // namespace

int main(int argc, char** argv) try {
  Tape tape;
  const bool whole = argc == 2 && read(argv[1], tape);
  const auto first = std::find_if(tape.rows.begin(), tape.rows.end(),
                                  [&](const v1::Record& r) { return keyframe_at(tape, r) != nullptr; });
  if (!whole || first == tape.rows.end()) {
    std::fprintf(stderr, "usage: tactus_replay_check FILE     (a recording that holds a whole state)\n");
    return 2;
  }
  SceneOptions options;
  options.seed = tape.header.seed();
  for (const v1::Parameter& p : tape.header.parameters()) options.set.emplace_back(p.key(), p.value());
  World world(parse_scene(tape.header.scene(), tape.header.scene_path(), options), options.limits);
  Replay replay(world);
  if (!replay.begin(*keyframe_at(tape, *first))) {
    std::fprintf(stderr, "the first whole state does not fit the scene\n");
    return 1;
  }
  for (auto r = std::next(first); r != tape.rows.end(); ++r) replay.take(*r, tape);
  const auto number = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
  std::printf("hashes=%llu wrenches=%llu inputs=%llu joints=%llu wrong=%llu\n", number(replay.hashes),
              number(replay.wrenches), number(replay.inputs), number(replay.joints), number(replay.wrong));
  return replay.wrong == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
