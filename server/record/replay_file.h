// `--replay F` of tactusd and tactus-sim: re-executes the file and says what came of it.
#pragma once

#include <string>

namespace tactus::record {

// Prints one JSON object; problems and the first difference also in words on stderr. 0: identical to the end; 1: not,
// or the file was cut off or damaged, and all before that is identical. Throws InputError: no recording, or its scene
// does not load.
int replay_file(const std::string& path, bool pretty);

}  // namespace tactus::record
