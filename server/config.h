// Everything that tactusd can be told: config/server.toml, then the command line over it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/net/options.h"
#include "server/realtime/tick_loop.h"
#include "server/record/recorder.h"

namespace tactus {

struct ServerConfig {
  net::NetOptions net;
  TickOptions tick;
  record::RecordOptions black_box;
  std::string scene = "default";  // a file, or a name of scenes_dir
  std::string model;              // empty: the scene's
  std::string token_file;
  std::vector<std::string> warnings;  // for the log, once there is one
  std::vector<std::pair<std::string, std::string>> set;
  std::uint32_t published_contacts = 2048, command_rows = 4096;
  std::string record, replay, play;
  double play_speed = 1;  // of play: recorded over real time
  std::string log_level = "info";
  bool status_line = true;
  double duration_s = 0;  // 0: until stopped
};

// Reads a config file over the values in config. Throws InputError: file, line, key, what was found, what is expected.
void read_config(const std::string& path, ServerConfig& config);

// What holds between keys: a token where one is needed, ranges of flags. Reads the token file. Throws InputError.
void finish_config(ServerConfig& config);

// Every key and its value in force, as TOML.
std::string describe_config(ServerConfig config);

// A file that comes with Tactus, for example "config/server.toml". Looked for in this order: beside the program's tree
// (../../.. of the program, which is build/PRESET/bin), the source tree it was built from, ../share/tactus of the
// program, /usr/local/share/tactus, /usr/share/tactus. Empty: nowhere.
std::string find_shipped(const std::string& relative);
// Where the built viewer is, or would be: build/viewer of the tree, or viewer of the installed share.
std::string shipped_viewer();

}  // namespace tactus
