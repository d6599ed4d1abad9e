// Re-executing any records, in a recording that is sound as a file: whole states (keyframe), what acted, marks of
// what was done. The run ends with a difference, with a word on why it cannot go on, or at the end; nothing else.
//
// Input: records one after the other, two bytes of length before each. The first byte says what stands before them:
// bit 0: a whole state of the scene, as a server writes it; bit 1: of one whose model solves beside the tick.
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "core/world.h"
#include "proto/cpp/mcap_format.h"
#include "server/record/keyframe.h"
#include "server/record/record_writer.h"
#include "server/record/replay.h"

namespace {

using namespace tactus;

constexpr std::uint64_t kAhead = 40;  // ticks; the run of one record is short
constexpr std::size_t kRecords = 60;

constexpr const char* kScene = R"(title = "Fuzz: a block, a ball, an arm of two joints"
step_s = 0.001
[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"
[[body]]
name = "block"
position_m = [0, 0, 0.1]
mass_kg = 1
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]
[[body]]
name = "ball"
position_m = [0.05, 0, 0.3]
mass_kg = 1
[[body.shape]]
kind = "sphere"
radius_m = 0.1
[[robot]]
name = "arm"
urdf = "../robots/planar_arm.urdf"
drive = [{joint = "shoulder", kind = "position", target_rad = 0, bandwidth_rad_per_s = 30}, {joint = "elbow", kind = "torque"}]
)";

v1::RecordHeader make_header() {
  v1::RecordHeader header;
  header.set_scene(kScene);
  header.set_scene_path("config/scenes/fuzz.toml");  // tests/fuzz/run stands in the repository
  header.set_scene_epoch(7);
  header.set_step_s(1e-3);
  header.set_config(
      "limits.bodies = 16\nlimits.shapes = 32\nlimits.pairs = 64\nlimits.problem_contacts = 64\nlimits.problem_rows = "
      "256\n");
  return header;
}

// A recording up to its first records: schemas and channels, one a kind, in the order of Record's fields.
std::string make_head(const v1::RecordHeader& header) {
  record::RecordWriter writer(header);
  writer.flush();
  return writer.take();
}

void put_message(const v1::Record& record, std::string& out) {
  const google::protobuf::OneofDescriptor* kinds = v1::Record::descriptor()->oneof_decl(0);
  const google::protobuf::FieldDescriptor* field =
      v1::Record::descriptor()->FindFieldByNumber(static_cast<int>(record.body_case()));
  std::uint16_t channel = 0;
  while (kinds->field(channel) != field) ++channel;
  const std::string body = record.GetReflection()->GetMessage(record, field).SerializeAsString();
  mcap::put(out, static_cast<std::uint8_t>(mcap::Op::message));
  mcap::put(out, static_cast<std::uint64_t>(22 + body.size()));
  mcap::put(out, channel);
  mcap::put(out, std::uint32_t{0});
  for (int i = 0; i < 2; ++i) mcap::put(out, std::uint64_t{1});
  out += body;
}

// Not packed, without a sum.
std::string chunk_of(const std::string& records) {
  std::string out, content;
  for (int i = 0; i < 2; ++i) mcap::put(content, std::uint64_t{1});
  mcap::put(content, static_cast<std::uint64_t>(records.size()));
  mcap::put(content, std::uint32_t{0});
  mcap::put_text(content, "");
  mcap::put(content, static_cast<std::uint64_t>(records.size()));
  content += records;
  mcap::put(out, static_cast<std::uint8_t>(mcap::Op::chunk));
  mcap::put(out, static_cast<std::uint64_t>(content.size()));
  return out + content;
}

v1::Record first_state(const World& world, bool slow) {
  v1::Record out;
  SlowMemory memory;
  SlowTicker::resize_memory(world, 10, memory);
  memory.kind = ContactModelKind::st;
  memory.ticks = slow ? 10 : 0;
  record::write_keyframe(world, world.state(), world.parameters(), &memory, *out.mutable_keyframe());
  out.mutable_keyframe()->set_state_hash(world.hash());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const v1::RecordHeader header = make_header();
  static const v1::Record first = first_state(*record::replay_world(header), false),
                          slow = first_state(*record::replay_world(header), true);
  static const std::string head = make_head(header);
  static const std::unique_ptr<World> original = record::replay_world(header);
  std::string messages;
  if ((data[0] & 1) != 0) put_message((data[0] & 2) != 0 ? slow : first, messages);
  std::size_t at = 1;
  for (std::size_t n = 0; at + 2 <= size && n < kRecords; ++n) {
    const std::size_t length = std::min<std::size_t>(data[at] | data[at + 1] << 8, size - at - 2);
    v1::Record record;
    const bool good = record.ParseFromArray(data + at + 2, static_cast<int>(length));
    at += 2 + length;
    if (good && record.body_case() != v1::Record::BODY_NOT_SET && !record.has_header() && !record.has_end())
      put_message(record, messages);
  }
  std::istringstream file(head + chunk_of(messages));
  record::Tape tape(file);
  if (!tape.is_recording()) std::abort();
  World world(original->shared_model(), original->limits());
  record::Replay replay(tape, world, kAhead);
  if (replay.run(~std::uint64_t{0})) std::abort();
  const record::ReplayReport& report = replay.report();
  if (report.steps > kAhead * (kRecords + 2)) std::abort();
  return 0;
}
