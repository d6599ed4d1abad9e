// tests/soak/abuse: seeded runs of every shipped scene under every model, abused. A child process makes the runs of a
// scene, so that one that crashes is named and the others go on.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/scene/scene.h"
#include "tests/soak/abuse_runs/abuse.h"

namespace tactus::test {
namespace {

struct Totals {
  std::uint64_t runs = 0, crashes = 0, faults = 0, frozen = 0, bounded = 0, restored = 0, refused = 0;
  long growth_kb = 0;  // largest, of a child after its first third
};

// One message of a child: a run begins (fault empty, done 0) or has ended.
struct Message {
  std::uint32_t index = 0, done = 0;
  std::uint32_t frozen = 0, bounded = 0, restored = 0, refused = 0;
  long resident_kb = 0;
  char fault[96] = {};
};

long resident_kb() {
  std::ifstream file("/proc/self/statm");
  long size = 0, resident = 0;
  file >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

void put(int pipe_fd, const Message& message) {
  if (write(pipe_fd, &message, sizeof message) != static_cast<ssize_t>(sizeof message)) _exit(3);
}

std::string name_of(const std::string& scene, std::uint64_t run, std::uint64_t seed) {
  const std::vector<std::string>& variants = abuse_variants();
  return "scene " + scene + ", model " + variants[run % variants.size()] + ", seed " + std::to_string(seed + run);
}

[[noreturn]] void child(const std::shared_ptr<const Model>& model, const std::vector<std::uint64_t>& runs,
                        std::size_t first, std::uint64_t seed, std::uint32_t ticks, int pipe_fd) {
  const std::vector<std::string>& variants = abuse_variants();
  for (std::size_t i = first; i < runs.size(); ++i) {
    Message message;
    message.index = static_cast<std::uint32_t>(i);
    put(pipe_fd, message);
    alarm(120);  // what takes so long hangs
    const AbuseResult result = abuse(model, {variants[runs[i] % variants.size()], seed + runs[i], ticks});
    message.done = 1;
    message.frozen = result.frozen, message.bounded = result.bounded;
    message.restored = result.restored, message.refused = result.refused;
    message.resident_kb = resident_kb();
    std::snprintf(message.fault, sizeof message.fault, "%s", result.fault.c_str());
    put(pipe_fd, message);
  }
  _exit(0);
}

// Runs from `first` on, until the child ends. Gives the run to go on with.
std::size_t follow(const std::string& scene, const std::shared_ptr<const Model>& model,
                   const std::vector<std::uint64_t>& runs, std::size_t first, std::uint64_t seed, std::uint32_t ticks,
                   Totals& totals) {
  int fds[2];
  if (pipe(fds) != 0) std::exit(3);
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    close(fds[0]);
    child(model, runs, first, seed, ticks, fds[1]);
  }
  close(fds[1]);
  Message message;
  std::size_t next = first;
  bool under_way = false;
  long settled_kb = 0;
  while (read(fds[0], &message, sizeof message) == static_cast<ssize_t>(sizeof message)) {
    under_way = message.done == 0;
    if (under_way) continue;
    next = message.index + 1;
    ++totals.runs;
    totals.frozen += message.frozen, totals.bounded += message.bounded;
    totals.restored += message.restored, totals.refused += message.refused;
    if (3 * (next - first) <= runs.size() - first) settled_kb = std::max(settled_kb, message.resident_kb);
    if (settled_kb > 0) totals.growth_kb = std::max(totals.growth_kb, message.resident_kb - settled_kb);
    if (message.fault[0] == 0) continue;
    ++totals.faults;
    std::printf("FAULT  %s: %s\n", name_of(scene, runs[message.index], seed).c_str(), message.fault);
  }
  close(fds[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!under_way) return runs.size();
  ++totals.runs, ++totals.crashes;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  std::printf("CRASH  %s: %s\n", name_of(scene, runs[message.index], seed).c_str(),
              signal == SIGALRM ? "hangs for 120 s"
              : signal != 0     ? strsignal(signal)
                                : "ended");
  return message.index + 1;
}

int run(const std::string& folder, std::uint64_t count, std::uint64_t seed, std::uint32_t ticks,
        const std::string& only) {
  std::vector<std::filesystem::path> scenes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool wanted = only.empty() || entry.path().stem() == only;
    if (entry.path().extension() == ".toml" && wanted) scenes.push_back(entry.path());
  }
  std::sort(scenes.begin(), scenes.end());
  Totals totals;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t s = 0; s < scenes.size(); ++s) {
    std::vector<std::uint64_t> runs;  // a scene's runs take the variants in turn
    for (std::uint64_t i = s, k = 0; i < count; i += scenes.size(), ++k) runs.push_back(k + s * 1'000'003);
    SceneOptions options;
    options.limits = abuse_limits();
    const std::shared_ptr<const Model> model = load_scene(scenes[s].string(), options);
    const std::string scene = scenes[s].stem().string();
    for (std::size_t next = 0; next < runs.size();) next = follow(scene, model, runs, next, seed, ticks, totals);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    std::printf("%-18s %5llu runs so far, %llu crashes, %llu faults, %.0f s\n", scene.c_str(),
                static_cast<unsigned long long>(totals.runs), static_cast<unsigned long long>(totals.crashes),
                static_cast<unsigned long long>(totals.faults), passed.count());
    std::fflush(stdout);
  }
  std::printf(
      "%llu runs: %llu crashes, %llu faults; %llu bodies frozen, %llu speeds bounded, %llu states restored, "
      "%llu refused; memory grew by at most %ld kB\n",
      static_cast<unsigned long long>(totals.runs), static_cast<unsigned long long>(totals.crashes),
      static_cast<unsigned long long>(totals.faults), static_cast<unsigned long long>(totals.frozen),
      static_cast<unsigned long long>(totals.bounded), static_cast<unsigned long long>(totals.restored),
      static_cast<unsigned long long>(totals.refused), totals.growth_kb);
  return totals.crashes + totals.faults > 0 || totals.runs < count ? 1 : 0;
}

}  // namespace
}  // namespace tactus::test

// tactus_abuse SCENES [RUNS] [SEED] [TICKS] [SCENE]
int main(int argc, char** argv) {
  const auto number = [&](int i, unsigned long long otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  if (argc < 2) {
    std::fprintf(stderr, "usage: tactus_abuse SCENES [RUNS] [SEED] [TICKS] [SCENE]\n");
    return 2;
  }
  return tactus::test::run(argv[1], number(2, 2000), number(3, 1), static_cast<std::uint32_t>(number(4, 60)),
                           argc > 5 ? argv[5] : "");
}
