// The subcommands of `tactus`: their options, and one function each that returns the exit code. main.cc fills the
// options.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tactus/client.h"

namespace tactus::cli {

struct Common {
  std::string host = "127.0.0.1";  // HOST, HOST:PORT or [V6]:PORT
  std::string token_file;
  bool json = false;
};

struct WatchOptions {
  double seconds = 0;  // 0: until Ctrl-C
  std::string shadow;  // a model to compare with; "off": end the shadow; empty: leave it as it is
  double shadow_hz = 0;
};
struct PushOptions {
  std::string body;
  client::Vec3 force{}, torque{};
  std::optional<client::Vec3> at;
  std::string frame = "world";
  double for_s = 0.5, rate_hz = 1000;
  bool take_over = false;
};
struct ClaimOptions {
  std::vector<std::string> channels;
  bool take_over = false;
  double seconds = 0;
};
struct WorldOptions {
  std::string name, file;
  std::uint32_t ticks = 1;
  bool take_over = false, keep = true, force = false, on = true;
};
struct ModelOptions {
  std::string name;              // empty: as it is
  std::vector<std::string> set;  // key=value
  bool take_over = false;
};
struct ScenesOptions {
  std::string load;
  std::vector<std::string> set;  // key=value
  std::uint64_t seed = 0;
  bool take_over = false;
};
struct BlackBoxOptions {
  std::string reason, file, csv;
  bool black_box = false;
};
struct RecordOptions {
  std::string name;
  double state_hz = 0;
};
struct PlayOptions {
  std::string seek;  // seconds, or +seconds, -seconds from where it is; empty: stay
  double speed = 0;  // 0: as it is
  bool pause = false, resume = false, take_over = false;
};
struct ExportOptions {
  std::string file, csv, npz;
};

struct JointsOptions {
  std::vector<std::string> names;  // robots, robot/joint; empty: all
  std::string recover;
  bool take_over = false;
};
struct LatencyOptions {
  double seconds = 5, rate_hz = 1000;
  std::string body, robot, device;
  bool lockstep = false, take_over = false;
};
struct DoctorOptions {
  std::string scene;
  std::string program;  // argv[0], to find tactusd beside it
};

int run_status(const Common& common);
int run_scenes(const Common& common, const ScenesOptions& options);
int run_watch(const Common& common, const WatchOptions& options);
int run_joints(const Common& common, const JointsOptions& options);
int run_push(const Common& common, const PushOptions& options);
int run_claim(const Common& common, const ClaimOptions& options);
int run_step(const Common& common, const WorldOptions& options);
int run_pause(const Common& common, const WorldOptions& options);
int run_resume(const Common& common, const WorldOptions& options);
int run_lockstep(const Common& common, const WorldOptions& options);
int run_stop(const Common& common, const WorldOptions& options);
int run_reset(const Common& common, const WorldOptions& options);
int run_snapshot(const Common& common, const WorldOptions& options);
int run_restore(const Common& common, const WorldOptions& options);
int run_model(const Common& common, const ModelOptions& options);
int run_blackbox_save(const Common& common, const BlackBoxOptions& options);
int run_blackbox_show(const Common& common, const BlackBoxOptions& options);
int run_record_start(const Common& common, const RecordOptions& options);
int run_record_stop(const Common& common, const RecordOptions& options);
int run_play(const Common& common, const PlayOptions& options);
int run_export(const Common& common, const ExportOptions& options);
int run_latency(const Common& common, const LatencyOptions& options);
int run_doctor(const Common& common, const DoctorOptions& options);

// --- Shared by them (shared.cc)

// A flag whose value cannot be used: exit code 2.
struct FlagError : client::Error {
  explicit FlagError(const std::string& text) : client::Error(Kind::usage, text) {}
};

// Options for a Client from the command line; throws FlagError when the token file is no token's or the port is none.
client::Options client_options(const Common& common, const std::string& name, bool reconnect = false);

// True once Ctrl-C (or SIGTERM) came; the first call of watch_signals() starts it.
void watch_signals();
bool interrupted();
// Sleeps until the client clock reads this, or a signal came.
void sleep_until_ns(std::int64_t when);

// p50, p99, p99.9, max of a set of values.
struct Spread {
  double p50 = 0, p99 = 0, p999 = 0, max = 0;
  std::size_t count = 0;
};
Spread spread_of(std::vector<double> values);

// Lines joined by "; ".
std::string one_line(const std::string& text);
// What the exact stepper did since start, in one line.
std::string exact_words(const v1::ExactStatistics& exact);

// Takes the lease "world" for the life of a command; the error says who holds it.
void claim_world(client::Client& client, bool take_over);

}  // namespace tactus::cli
