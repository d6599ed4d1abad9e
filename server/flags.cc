#include "server/flags.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>

#include "core/check.h"
#include "server/net/options.h"
#include "server/record/player.h"

#ifndef TACTUS_VERSION
#define TACTUS_VERSION "0"
#endif

namespace tactus {
namespace {

struct Raw {
  std::string config_file;
  std::vector<std::string> set;
  bool no_realtime = false, open = false;
  double interleave_bare_s = 0;
  double rate_hz = 0;
  std::string listen, scene, token_file;
  int control_port = -1, realtime_port = -1, web_port = -1;
};

// CLI::Range lets what is not a number pass.
CLI::Validator number_in(double least, double most) {
  const CLI::Range range(least, most);
  const auto check = [range](std::string& text) {
    return std::isnan(std::strtod(text.c_str(), nullptr)) ? "found " + text + ", expected a number" : range(text);
  };
  return {check, range.get_description()};
}

// An unset variable of a shell gives an empty word: "--token-file \"$TOKEN\"" must not serve without a token.
CLI::Validator not_empty() {
  return {[](std::string& text) {
            return text.empty() ? std::string("found an empty text, expected a name") : std::string();
          },
          "NAME"};
}

void add_options(CLI::App& app, Raw& raw, ServerConfig& c) {
  app.add_option("--config", raw.config_file, "Config file (default: the shipped config/server.toml)")
      ->check(not_empty());
  app.add_option("--scene", raw.scene, "Scene file, or a name in the scenes directory (default: default)")
      ->check(not_empty());
  app.add_option("--model", c.model, "Contact model, over the scene's: penalty, deepest, lcp, st, ap, lnc or peg");
  app.add_option("--rate-hz", raw.rate_hz, "Ticks a second; replaces the scene's step (default: 1 / step)")
      ->check(number_in(1.0, 10000.0));
  app.add_option("--listen", raw.listen, "Address to bind (default 127.0.0.1; any other needs --token-file)");
  app.add_option("--control-port", raw.control_port, "TCP port (default 17800; 0 = any free one)")
      ->check(CLI::Range(0, 65535));
  app.add_option("--realtime-port", raw.realtime_port, "UDP port (default 17801; 0 = any free one)")
      ->check(CLI::Range(0, 65535));
  app.add_option("--web-port", raw.web_port, "Viewer and WebSocket (default 8765; 0 = any free one)")
      ->check(CLI::Range(0, 65535));
  app.add_option("--duration-s", c.duration_s, "Stop after this time (default: run until stopped)")
      ->check(number_in(0.0, 1e9));
  app.add_flag("--lockstep", c.tick.lockstep, "Advance only when a client grants it");
  app.add_option("--record", c.record, "Record to this file (MCAP), from the start on")->check(not_empty());
  CLI::Option* replay =
      app.add_option("--replay", c.replay, "Re-execute this recording, say whether it comes out the same, and end");
  CLI::Option* play =
      app.add_option("--play", c.play, "Show this recording to clients and viewers instead of a live world")
          ->excludes(replay);
  app.add_option("--speed", c.play_speed, "Of --play: recorded over real time (default: 1)")
      ->check(number_in(record::Player::kSpeedLeast, record::Player::kSpeedMost))
      ->needs(play);
  app.add_option("--token-file", raw.token_file, "File whose contents clients must prove to know")->check(not_empty());
  app.add_flag("--open", raw.open, "Let every user of this machine drive, where no token is set");
  app.add_option("--set", raw.set, "key=value: overrides a parameter of the scene; may be repeated")->take_all();
  app.add_flag("--no-realtime", raw.no_realtime, "Ask for no real-time rights");
  app.add_option("--interleave-bare-s", raw.interleave_bare_s,
                 "Measurement: alternate blocks of this length with a bare loop")
      ->check(number_in(0.1, 3600.0))
      ->group("");
  app.add_flag("--interleave-steps", c.tick.interleave_steps, "Measurement: the bare loop steps the world, too")
      ->group("");
}

void apply(const Raw& raw, ServerConfig& c) {
  for (const std::string& entry : raw.set) {
    const std::size_t equals = entry.find('=');
    TACTUS_REQUIRE(equals != std::string::npos && equals > 0, "--set " + entry + ": expected key=value");
    c.set.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  if (!raw.scene.empty()) c.scene = raw.scene;
  if (!raw.listen.empty()) c.net.listen = raw.listen == "localhost" ? "127.0.0.1" : raw.listen;
  if (!raw.token_file.empty()) {
    c.token_file = raw.token_file;
    c.net.places.erase("network.token_file");
  }
  if (raw.control_port >= 0) c.net.control_port = static_cast<std::uint16_t>(raw.control_port);
  if (raw.realtime_port >= 0) c.net.realtime_port = static_cast<std::uint16_t>(raw.realtime_port);
  if (raw.web_port >= 0) c.net.web.port = static_cast<std::uint16_t>(raw.web_port);
  if (raw.rate_hz > 0) c.net.rate_hz = raw.rate_hz;
  if (raw.open) c.net.access.open = true;
  if (raw.no_realtime) c.tick.rights.enabled = false;
  c.tick.interleave_bare_ns = static_cast<std::uint64_t>(1e9 * raw.interleave_bare_s);
  c.net.build = std::string("tactusd ") + TACTUS_VERSION;
}

}  // namespace

bool parse_flags(int argc, char** argv, ServerConfig& config, int& status) {
  CLI::App app{"tactusd: a 1 kHz rigid-contact simulation server. See server/README.md."};
  app.set_version_flag("--version", std::string("tactusd ") + TACTUS_VERSION);
  Raw raw;
  add_options(app, raw, config);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    status = app.exit(e) == 0 ? 0 : 2;
    return false;
  }
  const std::string file = raw.config_file.empty() ? find_shipped("config/server.toml") : raw.config_file;
  if (!file.empty()) read_config(file, config);
  apply(raw, config);
  if (config.net.scenes_dir.empty()) config.net.scenes_dir = find_shipped("config/scenes");
  if (config.net.web.directory.empty()) config.net.web.directory = shipped_viewer();
  return true;
}

}  // namespace tactus
