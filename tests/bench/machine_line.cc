#include "tests/bench/machine_line.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>

namespace tactus::bench {
namespace {

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

}  // namespace

std::string machine_line() {
  utsname u{};
  uname(&u);
  const char* commit = std::getenv("TACTUS_COMMIT");
  const char* date = std::getenv("TACTUS_DATE");
  std::string peers;
#ifdef TACTUS_HAS_BULLET
  peers += "; Bullet " TACTUS_BULLET_VERSION " double";
#endif
#ifdef TACTUS_HAS_ODE
  peers += "; ODE " TACTUS_ODE_VERSION " double";
#endif
  return std::string("compiler ") + TACTUS_COMPILER + "; flags " + TACTUS_FLAGS + "; processor " + processor() +
         "; kernel " + u.release + "; commit " + (commit ? commit : "unknown") +
         (date ? std::string("; date ") + date : "") + peers;
}

}  // namespace tactus::bench
