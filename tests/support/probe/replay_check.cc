// Re-executes a recording: from its last jump of the state on, from the first whole state, with the wrenches that were
// applied, and holds each hash against its own. usage: tactus_replay_check FILE
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/scene/scene.h"
#include "core/world.h"
#include "proto/record_file.h"

using namespace tactus;

namespace {

// The tick's own order: wrenches, hashes, marks.
struct Tape {
  v1::RecordHeader header;
  std::vector<v1::Record> rows;
  std::map<std::uint64_t, v1::WorldOperation> operations;  // by ticket
  std::vector<v1::Keyframe> keyframes;
};

bool read(const char* path, Tape& tape) {
  std::ifstream in(path, std::ios::binary);
  wire::RecordReader reader(in);
  v1::Record r;
  while (reader.next(r)) {
    if (r.has_header()) tape.header = r.header();
    if (r.has_keyframe()) tape.keyframes.push_back(r.keyframe());
    if (r.has_operation()) tape.operations[r.operation().ticket()] = r.operation();
    const bool jump = r.has_mark() && r.mark().ok() && (r.mark().what() == "reset" || r.mark().what() == "restore");
    if (jump) tape.rows.clear(), tape.keyframes.clear();
    if (r.has_wrench() || r.has_hash() || (r.has_mark() && r.mark().kind() == v1::TickMark::OPERATION))
      tape.rows.push_back(r);
  }
  if (reader.damaged()) std::fprintf(stderr, "%s\n", reader.damage().c_str());
  return !reader.damaged();
}

SpatialForce force_of(const v1::AppliedWrench& w) {
  SpatialForce out;
  out.force = Vec3(w.wrench(0), w.wrench(1), w.wrench(2));
  out.torque = Vec3(w.wrench(3), w.wrench(4), w.wrench(5));
  return out;
}

void operate(World& world, const v1::WorldOperation& operation) {
  const std::string& text = operation.text();
  if (operation.what() == "set_parameter") {
    Parameters parameters = world.parameters();
    const std::size_t equals = text.find('=');
    World::parse_parameter(text.substr(0, equals), text.substr(equals + 1), parameters);
    world.set_parameters(parameters);
  }
  ContactModelKind kind{};
  if (operation.what() == "set_model" && parse_contact_model(text, kind)) {
    world.prepare_model(kind);
    world.set_model(kind);
  }
}

struct Result {
  std::uint64_t hashes = 0, wrenches = 0, wrong = 0;
};

void compare(const World& world, std::uint64_t hash, Result& result) {
  ++result.hashes;
  if (world.hash() == hash) return;
  if (result.wrong++ == 0)
    std::fprintf(stderr, "differs at tick %llu\n", static_cast<unsigned long long>(world.state().tick));
}

Result replay(const Tape& tape, World& world) {
  Result result;
  State state = world.initial();
  const v1::Keyframe& first = tape.keyframes.front();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(first.state().data());
  if (!world.deserialise({bytes, first.state().size()}, state) || !world.restore(state)) return {0, 0, 1};
  Parameters parameters = world.parameters();
  for (const v1::Parameter& p : first.settings()) World::parse_parameter(p.key(), p.value(), parameters);
  world.set_parameters(parameters);
  compare(world, first.state_hash(), result);
  std::size_t keyframe = 1;
  const auto run_to = [&](std::uint64_t tick) {
    while (world.state().tick < tick) {
      world.step();
      if (keyframe >= tape.keyframes.size() || tape.keyframes[keyframe].tick() != world.state().tick) continue;
      compare(world, tape.keyframes[keyframe++].state_hash(), result);
    }
  };
  for (const v1::Record& r : tape.rows) {
    if (r.has_wrench() && r.wrench().tick() > first.tick()) {
      run_to(r.wrench().tick() - 1);
      world.apply(r.wrench().body_id(), force_of(r.wrench()));
      ++result.wrenches;
    } else if (r.has_hash() && r.hash().tick() > first.tick()) {
      run_to(r.hash().tick());
      compare(world, r.hash().hash(), result);
    } else if (r.has_mark()) {
      const auto found = tape.operations.find(r.mark().ticket());
      if (found == tape.operations.end()) continue;
      if (r.mark().tick() >= first.tick()) run_to(r.mark().tick());
      operate(world, found->second);
    }
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) try {
  Tape tape;
  if (argc != 2 || !read(argv[1], tape) || tape.keyframes.empty()) {
    std::fprintf(stderr, "usage: tactus_replay_check FILE     (a recording that holds a whole state)\n");
    return 2;
  }
  SceneOptions options;
  options.seed = tape.header.seed();
  for (const v1::Parameter& p : tape.header.parameters()) options.set.emplace_back(p.key(), p.value());
  World world(parse_scene(tape.header.scene(), tape.header.scene_path(), options), options.limits);
  const Result result = replay(tape, world);
  std::printf("hashes=%llu wrenches=%llu wrong=%llu\n", static_cast<unsigned long long>(result.hashes),
              static_cast<unsigned long long>(result.wrenches), static_cast<unsigned long long>(result.wrong));
  return result.wrong == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
