// tactus_tick_syscalls PID SECONDS: watches the thread tactus-tick of a running tactusd with ptrace and prints one JSON
// line: how often it made each system call, by number, and how many of its writes went to an eventfd with 8 bytes. Exit
// 77: the system forbids ptrace.
#include <dirent.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <string>

namespace {

constexpr int kSkipped = 77;

double seconds_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The thread's id, or 0.
pid_t find_thread(const std::string& pid, const std::string& name) {
  const std::string folder = "/proc/" + pid + "/task";
  DIR* tasks = opendir(folder.c_str());
  pid_t found = 0;
  while (tasks != nullptr && found == 0) {
    const dirent* entry = readdir(tasks);
    if (entry == nullptr) break;
    std::ifstream comm(folder + "/" + entry->d_name + "/comm");
    std::string text;
    if (std::getline(comm, text) && text == name) found = static_cast<pid_t>(std::atol(entry->d_name));
  }
  if (tasks != nullptr) closedir(tasks);
  return found;
}

bool is_eventfd(const std::string& pid, std::uint64_t file) {
  char target[64] = {};
  const ssize_t length = readlink(("/proc/" + pid + "/fd/" + std::to_string(file)).c_str(), target, sizeof target - 1);
  return length > 0 && std::strcmp(target, "anon_inode:[eventfd]") == 0;
}

struct Seen {
  std::map<std::uint64_t, std::uint64_t> calls;  // by number
  std::uint64_t eventfd_writes = 0;
  std::map<std::uint64_t, bool> eventfds;  // by file, so that each is looked up once
};

// One system-call stop. The first call seen to the end is a sleep: what seizing interrupted is not counted.
void count(pid_t thread, const std::string& pid, bool& begun, Seen& seen) {
  __ptrace_syscall_info info{};
  const long length = ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), thread, sizeof info, &info);
  if (length <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY) return;
  const std::uint64_t number = info.entry.nr;
  if (!begun) {
    begun = number == SYS_write;  // the beat's last call
    return;
  }
  ++seen.calls[number];
  if (number != SYS_write) return;
  const std::uint64_t file = info.entry.args[0];
  const auto known = seen.eventfds.find(file);
  const bool eventfd = known != seen.eventfds.end() ? known->second : (seen.eventfds[file] = is_eventfd(pid, file));
  if (eventfd && info.entry.args[2] == 8) ++seen.eventfd_writes;
}

// False: the thread ended.
bool watch(pid_t thread, const std::string& pid, double seconds, Seen& seen) {
  const double end = seconds_now() + seconds;
  bool begun = false;
  while (true) {
    int status = 0;
    if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status)) return false;
    const bool is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    if (is_call) count(thread, pid, begun, seen);
    if (seconds_now() > end) return ptrace(PTRACE_DETACH, thread, nullptr, nullptr) == 0;
    const bool is_event = status >> 16 != 0;  // our own interruption, or a group stop
    const long signal = is_call || is_event ? 0 : WSTOPSIG(status);
    if (ptrace(PTRACE_SYSCALL, thread, nullptr, signal) != 0) return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: tactus_tick_syscalls PID SECONDS\n");
    return 2;
  }
  const pid_t thread = find_thread(argv[1], "tactus-tick");
  if (thread == 0) {
    std::fprintf(stderr, "tactus_tick_syscalls: process %s has no thread tactus-tick\n", argv[1]);
    return 1;
  }
  if (ptrace(PTRACE_SEIZE, thread, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
    std::fprintf(stderr, "tactus_tick_syscalls: this system forbids ptrace: %s\n", std::strerror(errno));
    return kSkipped;
  }
  Seen seen;
  if (ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0 || !watch(thread, argv[1], std::atof(argv[2]), seen)) {
    std::fprintf(stderr, "tactus_tick_syscalls: the thread ended, or could not be followed: %s\n",
                 std::strerror(errno));
    return 1;
  }
  std::printf("{\"eventfd_writes\": %llu, \"sleep\": %d, \"write\": %d, \"calls\": {",
              static_cast<unsigned long long>(seen.eventfd_writes), SYS_clock_nanosleep, SYS_write);
  const char* separator = "";
  for (const auto& [number, times] : seen.calls) {
    std::printf("%s\"%llu\": %llu", separator, static_cast<unsigned long long>(number),
                static_cast<unsigned long long>(times));
    separator = ", ";
  }
  std::printf("}}\n");
  return 0;
}
