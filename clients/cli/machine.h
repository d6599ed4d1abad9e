// What a machine offers a 1 kHz loop, and what it lacks.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/commands.h"

namespace tactus::cli {

struct Finding {
  enum class Verdict { good, lacking, unknown };
  std::string name, value;
  Verdict verdict = Verdict::unknown;
  std::string advice;  // how to grant it; empty when good
};

// Reads limits and kernel settings; changes nothing. Off Linux: the number of processors only.
std::vector<Finding> inspect_machine();

// A bare loop that does nothing but sleep to absolute times, 1,000 a second.
struct BareLoop {
  bool ran = false;
  std::string note;  // why it did not run as asked
  Spread wake_late_us;
  std::uint64_t missed = 0;  // woke after the next time had passed
};
BareLoop run_bare_loop(double seconds, bool fifo);

}  // namespace tactus::cli
