// config/server.toml is what it says: each key's default is the program's, both ends of its range are taken and what
// lies beyond is refused, and a refusal names file, line, key, what was found and what is expected.
#include "server/config.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "core/check.h"

using namespace tactus;

namespace {

// A file that lives as long as this.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& text) {
    static int made = 0;
    const std::string name = "tactus_config_" + std::to_string(getpid()) + "_" + std::to_string(++made) + ".toml";
    path = (std::filesystem::temp_directory_path() / name).string();
    std::ofstream(path) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

// What read_config says to this file: its complaint, or nothing.
std::string complaint(const std::string& text) {
  const TemporaryFile file(text);
  ServerConfig config;
  try {
    read_config(file.path, config);
  } catch (const InputError& error) {
    std::string said = error.what();
    REQUIRE(said.starts_with(file.path));
    return said.substr(file.path.size());
  }
  return {};
}

// One line of config/server.toml: table, key, value, and the range that its comment states.
struct Line {
  std::string table, key, value;
  bool has_range = false;
  double low = 0, high = 0;
};

double with_unit(const std::string& number, const std::string& unit) {
  const double scale = unit == "KiB" ? 1024.0 : unit == "MiB" ? 1048576.0 : unit == "GiB" ? 1073741824.0 : 1.0;
  return std::stod(number) * scale;
}

std::vector<Line> shipped_lines() {
  std::ifstream file(std::string(TACTUS_SOURCE_DIR) + "/config/server.toml");
  const std::regex table(R"(\[([\w.]+)\].*)"), key(R"((\w+) = (\S+)\s+#(.*))");
  const std::regex range(R"((-?[0-9.e]+?)(?: (KiB|MiB))?\.\.([0-9.e]+)(?: (MiB|GiB))?[.,])");
  std::vector<Line> lines;
  std::string text, room;
  std::smatch m;
  while (std::getline(file, text)) {
    if (std::regex_match(text, m, table)) room = m[1];
    if (!std::regex_match(text, m, key)) continue;
    Line line{room, m[1], m[2]};
    const std::string comment = m[3];
    if (std::smatch r; std::regex_search(comment, r, range)) {
      line.has_range = true;
      line.low = with_unit(r[1], r[2]);
      line.high = with_unit(r[3], r[4]);
    }
    lines.push_back(line);
  }
  return lines;
}

bool is_number(const Line& line) {
  return line.value.find_first_not_of("-0123456789.") == std::string::npos;
}

std::string setting(const Line& line, const std::string& value) {
  return "[" + line.table + "]\n" + line.key + " = " + value + "\n";
}

std::string number_text(double value) {
  std::ostringstream out;
  out << std::setprecision(12) << value;  // 1000000, not 1e+06: whole numbers stay integers in TOML
  return out.str();
}

// Everything that the file can set, as text.
std::string everything(const ServerConfig& c) {
  std::ostringstream out;
  const net::NetOptions& n = c.net;
  const Limits& l = n.limits;
  const RightsWanted& r = c.tick.rights;
  out << n.listen << ' ' << n.control_port << ' ' << n.realtime_port << ' ' << c.token_file << ' ' << c.scene << ' '
      << n.scenes_dir << ' ' << n.rate_hz << ' ' << r.enabled << ' ' << r.priority << ' ' << n.priority << ' ' << r.cpu
      << ' ' << r.lock_memory << ' ' << c.tick.spin_ns << ' ' << n.clients << ' ' << n.subscriptions_per_client << ' '
      << n.snapshots << ' ' << n.commands_per_s << ' ' << n.command_burst << ' ' << n.requests_per_s << ' '
      << n.send_queue_bytes << ' ' << n.socket_buffer_bytes << ' ' << c.command_rows << ' ' << c.published_contacts
      << ' ' << l.bodies << ' ' << l.shapes << ' ' << l.pairs << ' ' << l.points_per_pair << ' '
      << l.raw_points_per_pair << ' ' << l.patches_per_pair << ' ' << l.mesh_points_per_pair << ' ' << l.mesh_file_bytes
      << ' ' << l.mesh_triangles << ' ' << l.field_bytes << ' ' << l.hull_vertices << ' ' << l.impact_sweeps << ' '
      << l.problem_contacts << ' ' << l.problem_rows << ' ' << l.pivot_rows << ' ' << c.log_level << ' '
      << c.status_line << ' ' << n.shadow_model << ' ' << n.shadow_rate_hz << ' ' << n.link_seed << ' '
      << n.link_datagrams;
  for (const LinkFaultSettings* s : {&n.link_up, &n.link_down})
    out << ' ' << s->delay_us << ' ' << s->jitter_us << ' ' << s->loss << ' ' << s->loss_burst << ' ' << s->duplicate
        << ' ' << s->reorder << ' ' << s->reorder_us << ' ' << s->keep_order;
  out << n.web.enabled << ' ' << n.web.port << ' ' << n.web.directory << ' ' << n.web.allowed_origins << ' '
      << n.web.foxglove << ' ' << n.web.metrics << ' ' << n.web.connections << ' ' << n.web.silence_s << ' '
      << n.web.stall_s;
  for (const double hz : n.rates.hz) out << ' ' << hz;
  out << describe_config(c);
  return out.str();
}

}  // namespace

TEST_CASE("server_config: the shipped file states the defaults") {
  ServerConfig config;
  const std::string before = everything(config);
  read_config(std::string(TACTUS_SOURCE_DIR) + "/config/server.toml", config);
  CHECK(everything(config) == before);
  CHECK(shipped_lines().size() >= 64);
  for (const bool chosen : config.net.rates.chosen) CHECK_FALSE(chosen);
}

TEST_CASE("server_config: each key takes another value, and it arrives") {
  const std::string before = everything(ServerConfig{});
  for (const Line& line : shipped_lines()) {
    CAPTURE(line.key);
    std::string value = line.value == "true" ? "false" : line.value == "false" ? "true" : "\"10.0.0.1\"";
    if (is_number(line)) value = number_text(std::stod(line.value) == line.low ? line.high : line.low);
    const TemporaryFile file(setting(line, value));
    ServerConfig config;
    read_config(file.path, config);
    CHECK(everything(config) != before);
  }
}

TEST_CASE("server_config: the ranges of the shipped file are those of the program") {
  for (const Line& line : shipped_lines()) {
    if (!is_number(line)) continue;
    CAPTURE(line.key);
    REQUIRE(line.has_range);
    CHECK(complaint(setting(line, number_text(line.low))).empty());
    CHECK(complaint(setting(line, number_text(line.high))).empty());
    for (const double beyond : {line.low - 1, line.high + 1}) {
      const std::string said = complaint(setting(line, number_text(beyond)));
      CHECK(said.starts_with(":2: key '" + line.table + "." + line.key + "': found "));
      CHECK(said.find(", expected a") != std::string::npos);
    }
    CHECK(complaint(setting(line, "nan")).find(":2: key '" + line.table + "." + line.key + "': found ") == 0);
  }
}

TEST_CASE("server_config: the description of a configuration, read again, is that configuration") {
  ServerConfig config;
  config.net.rates.hz[0] = 123.25;
  config.net.limits.mesh_file_bytes = (1ull << 31) + 1;
  config.tick.spin_ns = 250'000;
  config.black_box.folder = "a \"quoted\" \\ folder";
  config.status_line = false;
  const std::string text = describe_config(config);
  ServerConfig again;
  const TemporaryFile file(text);
  read_config(file.path, again);
  CHECK(describe_config(again) == text);
  CHECK(again.black_box.folder == config.black_box.folder);
  CHECK(again.tick.spin_ns == config.tick.spin_ns);
  CHECK(again.net.limits.mesh_file_bytes == config.net.limits.mesh_file_bytes);
}

TEST_CASE("server_config: a wrong type is refused with line, key, found and expected") {
  for (const Line& line : shipped_lines()) {
    CAPTURE(line.key);
    const bool text = line.value.starts_with('"'), flag = line.value == "true" || line.value == "false";
    const std::string said = complaint("\n\n" + setting(line, text ? "7" : "\"seven\""));
    const std::string expected = text ? "a string" : flag ? "true or false" : "number from";
    CHECK(said.starts_with(":4: key '" + line.table + "." + line.key + "': found "));
    CHECK(said.find(text ? "integer" : "string") != std::string::npos);
    CHECK(said.find(expected) != std::string::npos);
    CHECK_FALSE(complaint(setting(line, "[1, 2]")).empty());
    CHECK_FALSE(complaint(setting(line, "{ a = 1 }")).empty());
  }
}

TEST_CASE("server_config: what is unknown or not TOML is refused with its line") {
  CHECK(complaint("[network]\nlisten = \"127.0.0.1\"\nport = 5\n")
            .starts_with(":3: key 'network.port': unknown; expected one of listen, control_port"));
  const std::string tables = complaint("\n[nets]\na = 1\n");
  CHECK(tables.starts_with(":2: key 'nets': unknown; expected the tables "));
  for (const char* table : {"black_box", "haptic", "joints", "limits", "link", "log", "model", "network", "web"}) {
    CHECK_MESSAGE(tables.find(table) != std::string::npos, table);
  }
  CHECK(complaint("control_port = 5\n").starts_with(":1: key 'control_port': unknown; expected the tables"));
  CHECK(complaint("[network]\nlisten = \n").starts_with(":2: "));
  CHECK(complaint("[network]\nlisten = \"a\"\nlisten = \"b\"\n").starts_with(":3: "));
  ServerConfig config;
  std::string missing;
  try {
    read_config("/no/such/file.toml", config);
  } catch (const InputError& e) {
    missing = e.what();
  }
  CHECK(missing == "/no/such/file.toml: no such file, expected a configuration (.toml)");
}

TEST_CASE("server_config: what holds between keys") {
  const auto finished = [](const auto& change) -> std::string {
    ServerConfig config;
    change(config);
    try {
      finish_config(config);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  CHECK(finished([](ServerConfig&) {}).empty());
  CHECK(finished([](ServerConfig& c) { c.net.listen = "0.0.0.0"; }).find("no token is set") != std::string::npos);
  CHECK(finished([](ServerConfig& c) { c.net.listen = "here"; }).find("expected a numerical address") !=
        std::string::npos);
  CHECK(finished([](ServerConfig& c) { c.log_level = "loud"; }).find("found 'loud', expected trace") !=
        std::string::npos);
  CHECK(finished([](ServerConfig& c) { c.net.web.metrics = "some"; }).find("found 'some', expected off, loopback") !=
        std::string::npos);
  CHECK(finished([](ServerConfig& c) { c.token_file = "/no/such/token"; }).find("No such file") != std::string::npos);
  const TemporaryFile too_short("fifteen bytes__\n"), enough("sixteen bytes___ \n");
  CHECK(finished([&](ServerConfig& c) {
          c.token_file = too_short.path;
        }).find("found a token of 15 bytes, expected at") != std::string::npos);
  CHECK(finished([&](ServerConfig& c) {
          c.token_file = enough.path;
          c.net.listen = "0.0.0.0";
        }).empty());
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(has(finished([](ServerConfig& c) { c.net.access.others = "all"; }), "found 'all', expected refuse or observe"));
  CHECK(has(finished([](ServerConfig& c) { c.net.access.users = "root no-such-one"; }), "no user 'no-such-one'"));
  CHECK(has(finished([](ServerConfig& c) { c.net.access.groups = "no-such-one"; }), "no group 'no-such-one'"));
  CHECK(has(finished([&](ServerConfig& c) { c.net.access.observe_token_file = enough.path; }), "network.token_file"));
  CHECK(has(finished([&](ServerConfig& c) { c.net.access.observe_token_file = c.token_file = enough.path; }),
            "expected another one"));
}

TEST_CASE("server_config: an unknown user is named with file, line and key") {
  const TemporaryFile file("[access]\n\nusers = \"no-such-one\"\n");
  ServerConfig config;
  read_config(file.path, config);
  std::string said;
  try {
    finish_config(config);
  } catch (const InputError& error) {
    said = error.what();
  }
  CHECK(said.starts_with(file.path + ":3: access.users: this machine knows no user 'no-such-one'"));
}
