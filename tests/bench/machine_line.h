// The first line of what a benchmark records.
#pragma once

#include <string>

namespace tactus::bench {

// What was measured where: compiler, flags, processor, kernel, commit.
std::string machine_line();

}  // namespace tactus::bench
