// libtactus_tick_counts.so, for LD_PRELOAD under tactusd: counts what the tick thread asks of the heap and of locks.
// The thread is known by its name, tactus-tick. Counting begins with its 100th clock_nanosleep, when it beats. At the
// end of the process the counts are written as one JSON line to the file named by TACTUS_TICK_COUNTS, with the caller
// of the first call that should not have been.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

constexpr std::uint64_t kWarmUpBeats = 100;

// Written by the tick thread alone, read when the process ends, after it was joined.
struct Counts {
  std::uint64_t sleeps = 0, allocations = 0, aligned_allocations = 0, frees = 0, locks = 0, writes = 0;
  const void* first_caller = nullptr;
  const char* first_call = "";
};
Counts g_counts;
thread_local bool t_is_tick = false;

bool counting() {
  return t_is_tick && g_counts.sleeps >= kWarmUpBeats;
}

void note(std::uint64_t Counts::*counter, const char* call, const void* caller) {
  if (!counting()) return;
  ++(g_counts.*counter);
  if (g_counts.first_caller != nullptr) return;
  g_counts.first_caller = caller;
  g_counts.first_call = call;
}

// The function that this library stands before.
template <typename F>
F* real(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

struct Writer {
  ~Writer() {
    const char* path = std::getenv("TACTUS_TICK_COUNTS");
    std::FILE* out = path == nullptr ? nullptr : std::fopen(path, "w");
    if (out == nullptr) return;
    Dl_info where{};
    if (g_counts.first_caller != nullptr) dladdr(g_counts.first_caller, &where);
    const auto number = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
    const std::uint64_t beats = g_counts.sleeps > kWarmUpBeats ? g_counts.sleeps - kWarmUpBeats : 0;
    std::fprintf(
        out,
        "{\"beats\": %llu, \"allocations\": %llu, \"aligned_allocations\": %llu, \"frees\": %llu, \"locks\": %llu, "
        "\"writes\": %llu, \"first_call\": \"%s\", \"first_caller\": \"%s+%#tx\"}\n",
        number(beats), number(g_counts.allocations), number(g_counts.aligned_allocations), number(g_counts.frees),
        number(g_counts.locks), number(g_counts.writes), g_counts.first_call,
        where.dli_fname == nullptr ? "" : where.dli_fname,
        static_cast<const char*>(g_counts.first_caller) - static_cast<const char*>(where.dli_fbase));
    std::fclose(out);
  }
};
Writer g_writer;

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

// --- The heap
void* malloc(std::size_t size) {
  note(&Counts::allocations, "malloc", CALLER);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note(&Counts::allocations, "calloc", CALLER);
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  note(&Counts::allocations, "realloc", CALLER);
  return __libc_realloc(old, size);
}
void free(void* old) {
  if (old != nullptr) note(&Counts::frees, "free", CALLER);
  __libc_free(old);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note(&Counts::aligned_allocations, "memalign", CALLER);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note(&Counts::aligned_allocations, "aligned_alloc", CALLER);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  note(&Counts::aligned_allocations, "posix_memalign", CALLER);
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}

// --- Locks, also those that would be free
#define TACTUS_COUNT_LOCK(name, type)            \
  int name(type* object) noexcept {              \
    static auto* next = real<int(type*)>(#name); \
    note(&Counts::locks, #name, CALLER);         \
    return next(object);                         \
  }
TACTUS_COUNT_LOCK(pthread_mutex_lock, pthread_mutex_t)
TACTUS_COUNT_LOCK(pthread_mutex_trylock, pthread_mutex_t)
TACTUS_COUNT_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
TACTUS_COUNT_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
TACTUS_COUNT_LOCK(pthread_cond_signal, pthread_cond_t)
TACTUS_COUNT_LOCK(pthread_cond_broadcast, pthread_cond_t)
TACTUS_COUNT_LOCK(sem_post, sem_t)
#undef TACTUS_COUNT_LOCK

int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  static auto* next = real<int(pthread_spinlock_t*)>("pthread_spin_lock");
  note(&Counts::locks, "pthread_spin_lock", CALLER);
  return next(lock);
}
int sem_wait(sem_t* semaphore) {
  static auto* next = real<int(sem_t*)>("sem_wait");
  note(&Counts::locks, "sem_wait", CALLER);
  return next(semaphore);
}

// --- The beat
int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  static auto* next = real<int(pthread_t, const char*)>("pthread_setname_np");
  if (pthread_equal(thread, pthread_self()) != 0) t_is_tick = std::strcmp(name, "tactus-tick") == 0;
  return next(thread, name);
}
int clock_nanosleep(clockid_t clock, int flags, const timespec* until, timespec* left) {
  static auto* next = real<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  if (t_is_tick) ++g_counts.sleeps;
  return next(clock, flags, until, left);
}
ssize_t write(int file, const void* bytes, std::size_t count) {
  static auto* next = real<ssize_t(int, const void*, std::size_t)>("write");
  if (counting()) ++g_counts.writes;
  return next(file, bytes, count);
}

}  // extern "C"
