#include "server/record/replay_file.h"

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <limits>

#include "core/check.h"
#include "server/record/build_id.h"
#include "server/record/replay.h"

namespace tactus::record {
namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

void print(const std::string& path, const v1::RecordHeader& header, const ReplayReport& r, double cpu_s, bool pretty) {
  const char* gap = pretty ? ",\n  " : ", ";
  const auto number = [gap](const char* name, std::uint64_t x) { std::printf("%s\"%s\": %" PRIu64, gap, name, x); };
  std::printf("{%s\"replay\": %s", pretty ? "\n  " : "", quoted(path).c_str());
  std::printf("%s\"scene\": %s%s\"identical\": %s", gap, quoted(header.scene_name()).c_str(), gap,
              r.identical() ? "true" : "false");
  number("steps", r.steps);
  number("first_tick", r.first_tick);
  number("last_tick", r.last_tick);
  number("states", r.states);
  number("hashes", r.hashes);
  number("wrenches", r.wrenches);
  number("joint_inputs", r.inputs);
  number("joint_rows", r.joints);
  number("adoptions", r.adoptions);
  number("gaps", r.gaps);
  std::printf("%s\"cpu_us_per_step\": %.3f", gap, r.steps == 0 ? 0 : 1e6 * cpu_s / static_cast<double>(r.steps));
  std::printf("%s\"difference\": %s", gap, r.difference ? quoted(to_string(*r.difference)).c_str() : "null");
  std::printf("%s\"damage\": %s", gap, r.damage.empty() ? "null" : quoted(r.damage).c_str());
  std::printf("%s\"recorded_by\": %s%s\"build\": %s", gap, quoted(header.build()).c_str(), gap,
              quoted(build_id()).c_str());
  std::printf("%s\"state_hash\": \"%016" PRIx64 "\"%s}\n", gap, r.state_hash, pretty ? "\n" : "");
}

}  // namespace

int replay_file(const std::string& path, bool pretty) {
  std::ifstream in(path, std::ios::binary);
  TACTUS_REQUIRE(in.good(), path + ": cannot be read");
  Tape tape(in);
  TACTUS_REQUIRE(tape.is_recording(), path + ": " + tape.damage());
  const v1::RecordHeader& header = tape.header();
  // Program's name first, which may be another one.
  const std::string recorded = header.build().substr(std::min(header.build().size(), header.build().find(' ') + 1));
  const bool other = recorded != build_id();
  if (other)
    std::fprintf(stderr, "%s: recorded by another build (%s; this is %s): the bits need not be the same\n",
                 path.c_str(), recorded.c_str(), build_id());
  std::unique_ptr<World> world;
  try {
    world = replay_world(header);
  } catch (const InputError& e) {
    throw InputError(path + ": the scene that stands in it does not load any more: " + e.what());
  }
  const double before = cpu_seconds();
  Replay replay(tape, *world);
  replay.run(std::numeric_limits<std::uint64_t>::max());
  const ReplayReport& report = replay.report();
  print(path, header, report, cpu_seconds() - before, pretty);
  if (report.gaps > 0)
    std::fprintf(stderr, "%s: rows are missing at %" PRIu64 " places; the run went on from the next whole state\n",
                 path.c_str(), report.gaps);
  if (!report.damage.empty()) std::fprintf(stderr, "%s: damaged: %s\n", path.c_str(), report.damage.c_str());
  if (!report.problem.empty()) std::fprintf(stderr, "%s: %s\n", path.c_str(), report.problem.c_str());
  if (report.difference)
    std::fprintf(stderr, "%s: first difference at %s%s\n", path.c_str(), to_string(*report.difference).c_str(),
                 other ? " (recorded by another build)" : "");
  return report.identical() ? 0 : 1;
}

}  // namespace tactus::record
