// The command line of tactusd.
#pragma once

#include "server/config.h"

namespace tactus {

// Reads --config (or the shipped config/server.toml) and then the flags over it. False: the program ends now with
// `status` (--help, usage). Throws InputError for a bad config file.
bool parse_flags(int argc, char** argv, ServerConfig& config, int& status);

}  // namespace tactus
