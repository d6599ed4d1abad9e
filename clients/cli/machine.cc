#include "clients/cli/machine.h"

#include <cstring>
#include <thread>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#endif

namespace tactus::cli {
namespace {

using Verdict = Finding::Verdict;

Finding processors(unsigned n) {
  Finding f{"processors", std::to_string(n), n >= 4 ? Verdict::good : Verdict::lacking, ""};
  if (n < 4) f.advice = "tick, net and recorder threads and your own loop each want one: four or more keep them apart";
  return f;
}

}  // namespace

#ifdef __linux__
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Puts the calling thread under SCHED_FIFO; the error number, or 0.
int become_fifo(int priority) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
}

Finding fifo_permission() {
  int error = 0;
  std::thread([&] { error = become_fifo(50); }).join();
  if (error == 0) return {"SCHED_FIFO", "allowed at priority 50", Verdict::good, ""};
  rlimit limit{};
  getrlimit(RLIMIT_RTPRIO, &limit);
  return {"SCHED_FIFO",
          std::string("refused: ") + std::strerror(error) + ", RTPRIO limit " + std::to_string(limit.rlim_cur),
          Verdict::lacking,
          "a line `YOU - rtprio 80` in /etc/security/limits.d/tactus.conf and a new login; for a service "
          "LimitRTPRIO=80; in a "
          "container --ulimit rtprio=80 --cap-add SYS_NICE; or setcap cap_sys_nice+ep tactusd"};
}

Finding locked_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  const bool enough = unlimited || limit.rlim_cur >= (256u << 20) || geteuid() == 0;
  const std::string value =
      unlimited ? "unlimited" : std::to_string(limit.rlim_cur >> 10) + " KiB" + (geteuid() == 0 ? ", but root" : "");
  return {"locked memory", value, enough ? Verdict::good : Verdict::lacking,
          enough ? ""
                 : "a line `YOU - memlock unlimited` in /etc/security/limits.d/tactus.conf; for a service "
                   "LimitMEMLOCK=infinity: "
                   "else a page fault may stall a tick"};
}

Finding timer_slack() {
  const int slack = prctl(PR_GET_TIMERSLACK);
  return {"timer slack", std::to_string(slack) + " ns", slack <= 1000 ? Verdict::good : Verdict::unknown,
          slack <= 1000
              ? ""
              : "does not matter under SCHED_FIFO; without it, your own loop should call prctl(PR_SET_TIMERSLACK, 1)"};
}

Finding governor() {
  const std::string value = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (value.empty())
    return {"CPU governor", "not visible (virtual machine?)", Verdict::unknown,
            "if you own the host: set it to performance there"};
  return {"CPU governor", value, value == "performance" ? Verdict::good : Verdict::lacking,
          value == "performance" ? "" : "cpupower frequency-set -g performance"};
}

Finding isolated_cores() {
  const std::string value = first_line("/sys/devices/system/cpu/isolated");
  return {
      "isolated cores", value.empty() ? "none" : value, value.empty() ? Verdict::unknown : Verdict::good,
      value.empty()
          ? "for the last microseconds: isolcpus=N nohz_full=N on the kernel's command line, and the tick thread on N"
          : ""};
}

Finding preemption() {
  utsname name{};
  uname(&name);
  const std::string version = name.version;
  const bool realtime = first_line("/sys/kernel/realtime") == "1" || version.find("PREEMPT_RT") != std::string::npos;
  const bool full = version.find("PREEMPT") != std::string::npos;
  const std::string value = realtime                                               ? "PREEMPT_RT"
                            : version.find("PREEMPT_DYNAMIC") != std::string::npos ? "PREEMPT_DYNAMIC"
                            : full                                                 ? "PREEMPT"
                                                                                   : "not stated";
  return {"kernel preemption", value + " (" + name.release + ")", realtime ? Verdict::good : Verdict::unknown,
          realtime
              ? ""
              : "good enough for most; for bounded worst cases a PREEMPT_RT kernel (Debian: linux-image-rt-amd64)"};
}

Finding fifo_throttle() {
  const std::string value = first_line("/proc/sys/kernel/sched_rt_runtime_us");
  if (value.empty()) return {"sched_rt_runtime_us", "not visible", Verdict::unknown, ""};
  return {"sched_rt_runtime_us", value, Verdict::good,
          value == "-1" ? "" : "fine while the tick sleeps; a loop that spins is stalled 50 ms each second"};
}

Finding socket_buffers() {
  const std::string receive = first_line("/proc/sys/net/core/rmem_max"),
                    send = first_line("/proc/sys/net/core/wmem_max");
  const bool enough = !receive.empty() && std::atol(receive.c_str()) >= 1 << 20;
  return {"socket buffers", receive.empty() ? "not visible" : receive + " in, " + send + " out, bytes at most",
          receive.empty() ? Verdict::unknown
          : enough        ? Verdict::good
                          : Verdict::lacking,
          enough ? ""
                 : "sysctl -w net.core.rmem_max=4194304 net.core.wmem_max=4194304: room for large scenes at 1 kHz "
                   "while a reader is late"};
}

unsigned usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::thread::hardware_concurrency();
  return static_cast<unsigned>(CPU_COUNT(&set));
}

}  // namespace

std::vector<Finding> inspect_machine() {
  return {fifo_permission(), locked_memory(), timer_slack(),   governor(),      processors(usable_processors()),
          isolated_cores(),  preemption(),    fifo_throttle(), socket_buffers()};
}

#else

std::vector<Finding> inspect_machine() {
  return {processors(std::thread::hardware_concurrency()),
          {"real-time rights", "not inspected on this system", Verdict::unknown,
           "run the server on Linux for real-time rights"}};
}

#endif

BareLoop run_bare_loop(double seconds, bool fifo) {
  BareLoop out;
  std::thread([&] {
    if (fifo) {
#ifdef __linux__
      if (const int error = become_fifo(50); error != 0) {
        out.note = std::string("SCHED_FIFO refused: ") + std::strerror(error);
        return;
      }
#else
      out.note = "SCHED_FIFO is tried on Linux only";
      return;
#endif
    }
    constexpr std::int64_t kPeriod = 1'000'000;
    std::vector<double> late;
    late.reserve(static_cast<std::size_t>(seconds * 1000) + 1);
    const std::int64_t start = client::now_ns() + kPeriod, end = start + static_cast<std::int64_t>(1e9 * seconds);
    for (std::int64_t due = start; due < end; due += kPeriod) {
      std::this_thread::sleep_until(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(due)));
      const std::int64_t behind = client::now_ns() - due;
      late.push_back(1e-3 * static_cast<double>(behind));
      // As the server: no catching up; the next time is the first one ahead.
      const std::int64_t skipped = behind / kPeriod;
      out.missed += static_cast<std::uint64_t>(skipped);
      due += skipped * kPeriod;
    }
    out.ran = true;
    out.wake_late_us = spread_of(std::move(late));
  }).join();
  return out;
}

}  // namespace tactus::cli
