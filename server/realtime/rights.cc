#include "server/realtime/rights.h"

#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/check.h"

namespace tactus {
namespace {

__attribute__((format(printf, 3, 4))) void note(Rights& rights, bool granted, const char* format, ...) noexcept {
  if (rights.count == rights.list.size()) return;
  Right& right = rights.list[rights.count++];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(right.text.data(), right.text.size(), format, arguments);
  va_end(arguments);
  right.granted = granted;
  rights.all_granted = rights.all_granted && granted;
}

bool may_lock_any_amount() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) return true;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  return (data[0].effective & (1u << CAP_IPC_LOCK)) != 0;
}

// With a limit on locked memory, locking future pages too would make a later allocation fail; then only the present
// ones are locked.
void ask_memory_lock(Rights& rights) noexcept {
  const bool future = may_lock_any_amount();
  if (mlockall(MCL_CURRENT | (future ? MCL_FUTURE : 0)) == 0) {
    note(rights, future, "memory lock: asked all, got %s%s", future ? "all" : "present pages only",
         future ? "" : "; to grant it: ulimit -l unlimited, or CAP_IPC_LOCK");
  } else {
    note(rights, false,
         "memory lock: asked all, got none (%s); to grant it: ulimit -l unlimited, LimitMEMLOCK=infinity, or "
         "CAP_IPC_LOCK",
         std::strerror(errno));
  }
}

void ask_fifo(Rights& rights, int priority) noexcept {
  sched_param parameter{};
  parameter.sched_priority = priority;
  const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
  if (error == 0) {
    note(rights, true, "scheduling: asked SCHED_FIFO %d, got it", priority);
  } else {
    note(rights, false,
         "scheduling: asked SCHED_FIFO %d, got SCHED_OTHER (%s); to grant it: rtprio 99 in limits.conf, "
         "LimitRTPRIO=99, or CAP_SYS_NICE",
         priority, std::strerror(error));
  }
}

void ask_cpu(Rights& rights, int wanted) noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return note(rights, false, "processor: asked which are allowed, got no answer");
  int cpu = wanted;
  if (wanted < 0) {
    if (CPU_COUNT(&allowed) < 2) return note(rights, true, "processor: one only, not pinned");
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &allowed)) cpu = i;
    }
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  if (cpu < CPU_SETSIZE) CPU_SET(cpu, &one);
  const int error = pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  if (error == 0) rights.cpu = cpu;
  note(rights, error == 0, "processor: asked %d, got %s%s", cpu, error == 0 ? "it" : "none (",
       error == 0 ? "" : "not allowed here; see taskset -p and cpusets)");
}

// The deepest stack that a tick may use, touched once so that no page fault comes later.
__attribute__((noinline)) void touch_stack() noexcept {
  constexpr std::size_t kBytes = 6u << 20;
  volatile char block[kBytes];
  for (std::size_t i = 0; i < kBytes; i += 4096) block[i] = 1;
  TACTUS_ASSERT(block[0] == 1);
}

}  // namespace

Rights ask_for_rights(const RightsWanted& wanted) noexcept {
  Rights rights;
  const bool slack = prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0;
  note(rights, slack, "timer slack: asked 1 ns, got %s", slack ? "it" : "the default of 50 us");
  touch_stack();
  if (!wanted.enabled) {
    note(rights, true, "real-time rights: not asked for");
    return rights;
  }
  if (wanted.lock_memory) ask_memory_lock(rights);
  if (wanted.cpu != -2) ask_cpu(rights, wanted.cpu);
  if (wanted.priority > 0) ask_fifo(rights, wanted.priority);
  return rights;
}

Rights ask_for_helper_rights(int priority, int avoid_cpu) noexcept {
  Rights rights;
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (avoid_cpu >= 0 && sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1) {
    CPU_CLR(avoid_cpu, &allowed);
    rights.apart = pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed) == 0;
    if (rights.apart) note(rights, true, "net thread: kept off processor %d", avoid_cpu);
  }
  if (priority > 0) ask_fifo(rights, priority);
  return rights;
}

void ask_for_a_larger_share() noexcept {
  // Of this thread alone, as Linux has it. Refused, it stays what it was.
  [[maybe_unused]] const int refused = setpriority(PRIO_PROCESS, 0, -10);
}

bool set_helper_priority(int priority) noexcept {
  sched_param parameter{};
  parameter.sched_priority = priority;
  return pthread_setschedparam(pthread_self(), priority > 0 ? SCHED_FIFO : SCHED_OTHER, &parameter) == 0;
}

}  // namespace tactus
