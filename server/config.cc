#include "server/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <asio/ip/address.hpp>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <type_traits>
#include <variant>

#include "core/check.h"
#include "proto/cpp/ranges.h"
#include "proto/cpp/token_file.h"
#include "server/limit_keys.h"
#include "server/net/control/access.h"

namespace tactus {
namespace {

namespace fs = std::filesystem;

// One key of the file: where it goes, and what it may be.
struct Key {
  std::string name;  // "table.key"
  std::variant<bool*, int*, std::uint16_t*, std::uint32_t*, std::uint64_t*, double*, std::string*> target;
  double low = 0, high = 0;
  double scale = 1;  // file value times this is stored
};

// Ranges of the wire that keys share. Constants: clang 14 passes what a consteval function gives as an argument
// wrongly.
constexpr wire::Range kToleranceRange = wire::range_of("JointOptions.tolerance_ticks"),
                      kFaultTicksRange = wire::range_of("JointOptions.fault_ticks"),
                      kRampRange = wire::range_of("JointOptions.ramp_s"),
                      kCutoffRange = wire::range_of("JointOptions.cutoff_hz"),
                      kShadowRateRange = wire::range_of("SetShadow.rate_hz"),
                      kWatchdogRange = wire::range_of("AttachTool.watchdog_s"),
                      kReachRange = wire::range_of("AttachTool.reach_m");

// A quantity that clients set, too: the range is the wire's.
Key of_wire(const char* name, decltype(Key::target) target, const wire::Range& range) {
  return {name, target, range.low, range.high};
}

void add_link_keys(std::vector<Key>& keys, const std::string& prefix, LinkFaultSettings& s) {
  const auto add = [&](std::size_t i, auto* target) {
    keys.push_back({prefix + kLinkFaultKeys[i].name, target, 0, kLinkFaultKeys[i].high});
  };
  add(0, &s.delay_us);
  add(1, &s.jitter_us);
  add(2, &s.loss);
  add(3, &s.loss_burst);
  add(4, &s.duplicate);
  add(5, &s.reorder);
  add(6, &s.reorder_us);
  add(7, &s.keep_order);
}

void add_access_keys(std::vector<Key>& keys, ServerConfig& c) {
  net::AccessOptions& o = c.net.access;
  keys.insert(keys.end(), {
                              {"network.token_file", &c.token_file},
                              {"access.open", &o.open},
                              {"access.users", &o.users},
                              {"access.groups", &o.groups},
                              {"access.others", &o.others},
                              {"access.observe_token_file", &o.observe_token_file},
                              {"web.allowed_hosts", &c.net.web.allowed_hosts},
                          });
}

void add_black_box_keys(std::vector<Key>& keys, record::RecordOptions& o) {
  keys.insert(keys.end(), {
                              {"black_box.seconds", &o.seconds, 0, 3600},
                              {"black_box.folder", &o.folder},
                              {"black_box.memory_bytes", &o.memory_bytes, 1 << 20, 17179869184.0},
                              {"black_box.files", &o.files, 0, 1e6},
                              {"black_box.hash_every_ticks", &o.hash_every_ticks, 0, 1e9},
                              {"record.folder", &o.record_folder},
                              {"record.state_hz", &o.record_state_hz, 0.001, 10000},
                              {"record.viewer_hz", &o.viewer_hz, 0, 1000},
                              {"record.ring_bytes", &o.stream_bytes, 1 << 20, 17179869184.0},
                          });
}

// Sizes of a world's memory.
void add_limit_keys(std::vector<Key>& keys, Limits& l) {
  for (const LimitKey& key : kLimitKeys) {
    if (key.small != nullptr) keys.push_back({key.name, &(l.*key.small), key.min, key.max});
    if (key.large != nullptr) keys.push_back({key.name, &(l.*key.large), key.min, key.max});
  }
}

void add_joint_keys(std::vector<Key>& keys, net::NetOptions& n) {
  ChannelOptions& o = n.joint_channel;
  keys.insert(keys.end(), {
                              {"joints.missed_command", &n.joint_missed},
                              of_wire("joints.tolerance_ticks", &o.tolerance_ticks, kToleranceRange),
                              of_wire("joints.fault_ticks", &o.fault_ticks, kFaultTicksRange),
                              of_wire("joints.ramp_s", &o.ramp, kRampRange),
                              of_wire("joints.cutoff_hz", &o.cutoff, kCutoffRange),
                          });
}

std::vector<Key> keys_of(ServerConfig& c) {
  net::NetOptions& n = c.net;
  RightsWanted& r = c.tick.rights;
  const auto rate = [&n](ContactModelKind kind) { return &n.rates.hz[static_cast<std::size_t>(kind)]; };
  std::vector<Key> keys{
      {"network.listen", &n.listen},
      {"network.control_port", &n.control_port, 0, 65535},
      {"network.realtime_port", &n.realtime_port, 0, 65535},
      {"scene.file", &c.scene},
      {"scene.directory", &n.scenes_dir},
      {"scene.rate_hz", &n.rate_hz, 0, 10000},
      {"realtime.enabled", &r.enabled},
      {"realtime.tick_priority", &r.priority, 0, 99},
      {"realtime.net_priority", &n.priority, 0, 98},
      {"realtime.cpu", &r.cpu, -2, 1023},
      {"realtime.lock_memory", &r.lock_memory},
      {"realtime.spin_us", &c.tick.spin_ns, 0, 500, 1000},
      {"limits.clients", &n.clients, 1, 255},
      {"limits.handshakes", &n.handshakes, 2, 1000},
      {"limits.subscriptions_per_client", &n.subscriptions_per_client, 1, 64},
      {"limits.snapshots", &n.snapshots, 0, 64},
      {"limits.commands_per_s", &n.commands_per_s, 0, 1e6},
      {"limits.command_burst", &n.command_burst, 1, 1e5},
      {"limits.requests_per_s", &n.requests_per_s, 1, 1e5},
      {"limits.send_queue_bytes", &n.send_queue_bytes, 5u << 20, 1u << 30},
      {"limits.socket_buffer_bytes", &n.socket_buffer_bytes, 65536, 64u << 20},
      {"limits.link_datagrams", &n.link_datagrams, 1, 65536},
      {"limits.command_rows", &c.command_rows, 64, 65536},
      {"limits.published_contacts", &c.published_contacts, 0, 65536},
      {"model.penalty.rate_hz", rate(ContactModelKind::penalty), 0, 10000},
      {"model.deepest.rate_hz", rate(ContactModelKind::deepest), 0, 10000},
      {"model.lcp.rate_hz", rate(ContactModelKind::lcp), 1, 10000},
      {"model.st.rate_hz", rate(ContactModelKind::st), 1, 10000},
      {"model.ap.rate_hz", rate(ContactModelKind::ap), 1, 10000},
      {"model.lnc.rate_hz", rate(ContactModelKind::lnc), 1, 10000},
      {"model.peg.rate_hz", rate(ContactModelKind::peg), 1, 10000},
      {"shadow.model", &n.shadow_model},
      of_wire("shadow.rate_hz", &n.shadow_rate_hz, kShadowRateRange),
      {"web.enabled", &n.web.enabled},
      {"web.port", &n.web.port, 0, 65535},
      {"web.directory", &n.web.directory},
      {"web.allowed_origins", &n.web.allowed_origins},
      {"web.foxglove", &n.web.foxglove},
      {"web.metrics", &n.web.metrics},
      {"web.connections", &n.web.connections, 1, 1000},
      {"web.silence_s", &n.web.silence_s, 2, 3600},
      {"web.stall_s", &n.web.stall_s, 1, 3600},
      {"link.seed", &n.link_seed, 0, 4294967295.0},
      {"haptic.stiffness_max_n_per_m", &n.haptic.stiffness_max, 1, 1e6},
      {"haptic.force_max_n", &n.haptic.force_max, 0.01, 1000},
      {"haptic.torque_max_n_m", &n.haptic.torque_max, 0.001, 1000},
      of_wire("haptic.watchdog_s", &n.haptic.watchdog_s, kWatchdogRange),
      {"haptic.ramp_s", &n.haptic.ramp_s, 0.005, 0.05},
      of_wire("haptic.reach_m", &n.haptic.reach_m, kReachRange),
      {"haptic.spin_us", &n.haptic.spin_us, -1, 500},
      {"log.level", &c.log_level},
      {"log.status_line", &c.status_line},
  };
  add_access_keys(keys, c);
  add_joint_keys(keys, n);
  add_black_box_keys(keys, c.black_box);
  add_limit_keys(keys, n.limits);
  add_link_keys(keys, "link.up.", n.link_up);
  add_link_keys(keys, "link.down.", n.link_down);
  return keys;
}

[[noreturn]] void fail(const std::string& path, const toml::node& node, const std::string& key,
                       const std::string& what) {
  throw InputError(path + ":" + std::to_string(node.source().begin.line) + ": key '" + key + "': " + what);
}

std::string type_of(const toml::node& node) {
  std::ostringstream text;
  text << node.type();
  return text.str();
}

void read_value(const std::string& path, const toml::node& node, const Key& key) {
  std::visit(
      [&](auto* target) {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, std::string>) {
          if (!node.is_string()) fail(path, node, key.name, "found " + type_of(node) + ", expected a string");
          *target = *node.value<std::string>();
        } else if constexpr (std::is_same_v<T, bool>) {
          if (!node.is_boolean()) fail(path, node, key.name, "found " + type_of(node) + ", expected true or false");
          *target = *node.value<bool>();
        } else {
          constexpr bool whole = std::is_integral_v<T>;
          std::ostringstream expected;
          expected << (whole ? "a whole number" : "a number") << " from " << key.low << " to " << key.high;
          if (!node.is_integer() && (whole || !node.is_floating_point())) {
            fail(path, node, key.name, "found " + type_of(node) + ", expected " + expected.str());
          }
          const double value = *node.value<double>();
          std::ostringstream found;
          found << value;
          if (!(value >= key.low && value <= key.high))
            fail(path, node, key.name, "found " + found.str() + ", expected " + expected.str());
          *target = static_cast<T>(value * key.scale);
        }
      },
      key.target);
}

std::string known_keys(const std::vector<Key>& keys, const std::string& table) {
  std::string out;
  for (const Key& key : keys) {
    if (key.name.starts_with(table + ".")) out += (out.empty() ? "" : ", ") + key.name.substr(table.size() + 1);
  }
  return out;
}

std::string known_tables(const std::vector<Key>& keys) {
  std::set<std::string> tables;
  for (const Key& key : keys) tables.insert(key.name.substr(0, key.name.find('.')));
  std::string out;
  for (const std::string& table : tables) out += (out.empty() ? "" : ", ") + table;
  return out;
}

// One table, and the tables in it.
void read_table(const std::string& path, const std::string& table_name, const toml::table& table,
                const std::vector<Key>& keys, net::ConfigPlaces& places) {
  for (const auto& [key, node] : table) {
    const std::string name = table_name + "." + std::string(key.str());
    if (const toml::table* inner = node.as_table(); inner != nullptr && !known_keys(keys, name).empty()) {
      read_table(path, name, *inner, keys, places);
      continue;
    }
    const auto known = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; });
    if (known == keys.end()) fail(path, node, name, "unknown; expected one of " + known_keys(keys, table_name));
    read_value(path, node, *known);
    places[name] = path + ":" + std::to_string(node.source().begin.line) + ": ";
  }
}

}  // namespace

void read_config(const std::string& path, ServerConfig& config) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  const bool folder = type == fs::file_type::directory;
  if (folder || type == fs::file_type::not_found) {
    throw InputError(path + (folder ? ": found a folder" : ": no such file") + ", expected a configuration (.toml)");
  }
  toml::table file;
  try {
    file = toml::parse_file(path);
  } catch (const toml::parse_error& e) {
    throw InputError(path + ":" + std::to_string(e.source().begin.line) + ": " + std::string(e.description()));
  }
  const std::vector<Key> keys = keys_of(config);
  for (const auto& [table_key, table_node] : file) {
    const std::string table_name(table_key.str());
    const toml::table* table = table_node.as_table();
    if (table == nullptr || known_keys(keys, table_name).empty()) {
      fail(path, table_node, table_name, "unknown; expected the tables " + known_tables(keys));
    }
    read_table(path, table_name, *table, keys, config.net.places);
  }
  for (const auto& [name, settings] :
       {std::pair{"up", &config.net.link_up}, std::pair{"down", &config.net.link_down}}) {
    const std::string problem = problem_of(*settings);
    const toml::node_view<toml::node> table = file["link"][name];
    if (!problem.empty() && table) fail(path, *table.node(), std::string("link.") + name, problem);
  }
  // A rate that the user chose must fit the scene; a default gives way to it.
  const net::NetOptions defaults;
  for (std::size_t i = 0; i < kContactModels; ++i)
    config.net.rates.chosen[i] = config.net.rates.hz[i] != defaults.rates.hz[i];
  config.net.shadow_rate_chosen = config.net.shadow_rate_hz != defaults.shadow_rate_hz;
}
std::string describe_config(ServerConfig config) {
  std::ostringstream out;
  out.precision(17);
  for (const Key& key : keys_of(config)) {
    out << key.name << " = ";
    std::visit(
        [&](const auto* value) {
          using T = std::remove_const_t<std::remove_pointer_t<decltype(value)>>;
          if constexpr (std::is_same_v<T, std::string>)
            out << toml::value<std::string>(*value);
          else if constexpr (std::is_same_v<T, bool>)
            out << (*value ? "true" : "false");
          else
            out << static_cast<double>(*value) / key.scale;
        },
        key.target);
    out << '\n';
  }
  return out.str();
}

namespace {

void finish_tokens(ServerConfig& c) {
  net::AccessOptions& access = c.net.access;
  const auto take = [&c](const std::string& key, const std::string& path) {
    try {
      wire::Token token = wire::read_token_file(net::named(c.net.places, key), path, wire::Reader::server);
      for (std::string& warning : token.warnings) c.warnings.push_back(std::move(warning));
      return std::move(token.text);
    } catch (const wire::TokenFileError& error) {
      throw InputError(error.what());
    }
  };
  if (!c.token_file.empty()) c.net.token = take("network.token_file", c.token_file);
  if (access.observe_token_file.empty()) return;
  const std::string key = "access.observe_token_file";
  TACTUS_REQUIRE(!c.net.token.empty(), net::named(c.net.places, key) +
                                           ": it gives the right to look on beside a token that gives the right to "
                                           "drive; set network.token_file as well");
  access.observe_token = take(key, access.observe_token_file);
  TACTUS_REQUIRE(access.observe_token != c.net.token,
                 net::named(c.net.places, key) + ": found the token of network.token_file, expected another one");
}

void finish_access(ServerConfig& c) {
  net::AccessOptions& access = c.net.access;
  const auto named = [&c](const std::string& key) { return net::named(c.net.places, key); };
  TACTUS_REQUIRE(access.others == "refuse" || access.others == "observe",
                 named("access.others") + ": found '" + access.others + "', expected refuse or observe");
  access.named.clear();
  const std::string user = net::add_users(access.users, access.named);
  TACTUS_REQUIRE(user.empty(), named("access.users") + ": this machine knows no user '" + user +
                                   "'; expected names or numbers, separated by blanks (getent passwd lists them)");
  const std::string group = net::add_groups(access.groups, access.named);
  TACTUS_REQUIRE(group.empty(), named("access.groups") + ": this machine knows no group '" + group +
                                    "'; expected names or numbers, separated by blanks (getent group lists them)");
}

}  // namespace

void finish_config(ServerConfig& c) {
  const auto named = [&c](const std::string& key) { return net::named(c.net.places, key); };
  finish_tokens(c);
  finish_access(c);
  asio::error_code error;
  const auto address = asio::ip::make_address(c.net.listen, error);
  TACTUS_REQUIRE(!error,
                 "--listen " + c.net.listen + ": expected a numerical address, for example 127.0.0.1 or 0.0.0.0");
  const bool loopback = address.is_loopback();
  TACTUS_REQUIRE(
      loopback || !c.net.token.empty(),
      "--listen " + c.net.listen +
          " can be reached from other machines, and no token is set: anyone there could drive this simulation. "
          "Set --token-file F (or network.token_file), or listen on 127.0.0.1");
  constexpr std::array<const char*, 6> kLevels{"trace", "debug", "info", "warn", "error", "off"};
  bool known = false;
  for (const char* level : kLevels) known = known || c.log_level == level;
  TACTUS_REQUIRE(known,
                 named("log.level") + ": found '" + c.log_level + "', expected trace, debug, info, warn, error or off");
  known = false;
  for (const MissedPolicy p :
       {MissedPolicy::hold, MissedPolicy::extrapolate, MissedPolicy::ramp, MissedPolicy::brake}) {
    if (c.net.joint_missed != to_string(p)) continue;
    c.net.joint_channel.missed = p;
    known = true;
  }
  TACTUS_REQUIRE(known, named("joints.missed_command") + ": found '" + c.net.joint_missed +
                            "', expected hold, extrapolate, ramp or brake");
  const std::string& metrics = c.net.web.metrics;
  TACTUS_REQUIRE(metrics == "off" || metrics == "loopback" || metrics == "all",
                 named("web.metrics") + ": found '" + metrics + "', expected off, loopback or all");
  const std::string& foxglove = c.net.web.foxglove;
  TACTUS_REQUIRE(foxglove == "off" || foxglove == "auto" || foxglove == "open",
                 named("web.foxglove") + ": found '" + foxglove + "', expected off, auto or open");
  TACTUS_REQUIRE(c.play.empty() || !c.tick.lockstep, "--play: a recording has no lockstep; leave --lockstep out");
  TACTUS_REQUIRE(c.play.empty() || c.record.empty(),
                 "--play: what is played is a recording already; leave --record out");
  c.tick.bodies = c.net.limits.bodies;
  c.tick.contacts = c.net.contacts = c.published_contacts;
  if (!c.tick.rights.enabled) c.net.priority = 0;
}

std::string find_shipped(const std::string& relative) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::array<fs::path, 5> places{program / "../../..", fs::path(TACTUS_SOURCE_DIR), program / "../share/tactus",
                                       fs::path("/usr/local/share/tactus"), fs::path("/usr/share/tactus")};
  for (const fs::path& place : places) {
    const fs::path candidate = place / relative;
    if (fs::exists(candidate, error)) return fs::weakly_canonical(candidate, error).string();
  }
  return {};
}

std::string shipped_viewer() {
  for (const char* place : {"build/viewer", "viewer"}) {
    if (const std::string found = find_shipped(place); !found.empty()) return found;
  }
  return std::string(TACTUS_SOURCE_DIR) + "/build/viewer";
}

}  // namespace tactus
