// libtactus_stuck_disk.so, for LD_PRELOAD under tactusd: a disk that takes nothing. Who writes to a file below the
// folder named by TACTUS_STUCK_FOLDER stays in that call for as long as the process lives.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_stuck(int descriptor) {
  const char* folder = std::getenv("TACTUS_STUCK_FOLDER");
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (folder == nullptr || *folder == 0 || n < 0) return false;
  path[n] = 0;
  return std::strncmp(path, folder, std::strlen(folder)) == 0;
}

}  // namespace

extern "C" ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto real = reinterpret_cast<ssize_t (*)(int, const void*, size_t)>(dlsym(RTLD_NEXT, "write"));
  while (is_stuck(descriptor)) pause();
  return real(descriptor, bytes, size);
}
