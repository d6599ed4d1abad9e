// Re-executes a recording, as tactus-sim --replay does, and prints what tests count. usage: tactus_replay_check FILE
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>

#include "server/record/replay.h"

using namespace tactus;

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: tactus_replay_check FILE\n");
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  record::Tape tape(in);
  if (!tape.is_recording()) {
    std::fprintf(stderr, "%s\n", tape.damage().c_str());
    return 2;
  }
  const auto world = record::replay_world(tape.header());
  record::Replay replay(tape, *world);
  replay.run(std::numeric_limits<std::uint64_t>::max());
  const record::ReplayReport& r = replay.report();
  const auto number = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
  std::printf("hashes=%llu states=%llu wrenches=%llu inputs=%llu joints=%llu adoptions=%llu gaps=%llu wrong=%d\n",
              number(r.hashes), number(r.states), number(r.wrenches), number(r.inputs), number(r.joints),
              number(r.adoptions), number(r.gaps), r.identical() ? 0 : 1);
  if (r.difference) std::fprintf(stderr, "%s\n", to_string(*r.difference).c_str());
  if (!r.identical()) std::fprintf(stderr, "%s %s\n", r.problem.c_str(), r.damage.c_str());
  return r.identical() ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
