// tactusd: the 1 kHz rigid-contact server. Reads flags and config, builds the scene, starts the tick thread, and is the
// net thread.
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <asio/signal_set.hpp>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/check.h"
#include "server/config.h"
#include "server/flags.h"
#include "server/net/control/access.h"
#include "server/net/control/ids.h"
#include "server/net/scene/scene_library.h"
#include "server/net/server.h"
#include "server/realtime/clock.h"
#include "server/record/player.h"
#include "server/record/record_files.h"
#include "server/record/replay.h"
#include "server/record/replay_file.h"
#include "server/service.h"

namespace {

using namespace tactus;

constexpr std::uint32_t kRecordRows = 1 << 17;  // of the tick, while the recorder is away: 1 s of 100 bodies pushed

// Asynchronous, dropping the oldest when the terminal is slow: a log line never delays the net thread.
std::shared_ptr<spdlog::logger> start_log(const ServerConfig& config) {
  spdlog::init_thread_pool(1024, 1);
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::async_logger>("tactusd", sink, spdlog::thread_pool(),
                                                       spdlog::async_overflow_policy::overrun_oldest);
  logger->set_pattern("%H:%M:%S.%e %l %v");
  logger->set_level(spdlog::level::from_str(config.log_level));
  spdlog::set_default_logger(logger);
  return logger;
}

std::string scene_path(const ServerConfig& config) {
  if (std::filesystem::is_regular_file(config.scene)) return config.scene;
  const std::string named = config.net.scenes_dir + "/" + config.scene + ".toml";
  if (std::filesystem::is_regular_file(named)) return named;
  throw InputError("scene '" + config.scene + "': neither a file nor a name in " + config.net.scenes_dir);
}

net::LoadedScene load_first_scene(const ServerConfig& config, const std::string& path) {
  net::LoadRequest request{std::filesystem::path(path).stem().string(),
                           path,
                           config.set,
                           0,
                           config.net.limits,
                           config.net.rate_hz,
                           net::solver_options(config.net)};
  request.joint_channel = config.net.joint_channel;
  if (!config.model.empty()) request.set.emplace_back("model", config.model);
  return net::load(request);
}

// Before each beat, while devices hold tools. With one processor net would keep the tick from its beat, and the tick
// net from its work.
std::uint64_t tool_spin_ns(const ServerConfig& config) {
  const int wanted = config.net.haptic.spin_us;
  const bool apart = std::thread::hardware_concurrency() > 1 && config.tick.rights.cpu != -2;
  const int us = wanted >= 0 ? wanted : apart ? net::HapticOptions::kSpinUs : 0;
  return 1000 * static_cast<std::uint64_t>(us);
}

// True: the net thread, which calls this, has another processor than the tick.
bool say_rights(const TickLoop& loop, int net_priority) {
  const std::uint64_t give_up = now_ns() + 5'000'000'000u;
  while (loop.rights() == nullptr && now_ns() < give_up) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const Rights* rights = loop.rights();
  if (rights == nullptr) return false;
  const Rights helper = ask_for_helper_rights(net_priority, rights->cpu);
  for (const Rights* r : {rights, &helper}) {
    for (std::size_t i = 0; i < r->count; ++i) {
      spdlog::log(r->list[i].granted ? spdlog::level::info : spdlog::level::warn, "{}", r->list[i].text.data());
    }
  }
  if (!rights->all_granted)
    spdlog::warn("running without all real-time rights: ticks may be late; each late tick is counted");
  return helper.apart;
}

void say_rates(const ServerConfig& config, const World& world) {
  const double step = world.model().step;
  const auto say = [](const std::string& note) {
    if (!note.empty()) spdlog::warn("{}", note);
  };
  for (std::size_t i = 0; i < kContactModels; ++i) {
    const auto kind = static_cast<ContactModelKind>(i);
    say(rounding_note(std::string("model.") + to_string(kind) + ".rate_hz", config.net.rates.of(kind), step));
  }
  say(rounding_note("shadow.rate_hz", config.net.shadow_rate_hz, step));
}

// Who may come in.
void say_access(const ServerConfig& config) {
  for (const std::string& warning : config.warnings) spdlog::warn("{}", warning);
  const net::AccessOptions& access = config.net.access;
  if (config.net.token.empty()) {
    spdlog::log(access.open ? spdlog::level::warn : spdlog::level::info, "{}", net::Access(access).summary());
  } else if (access.open || !access.named.empty() || access.others != "refuse") {
    spdlog::warn(
        "--open and [access] open, users, groups and others count where no token is set; here all show the one of {}",
        config.token_file);
  }
}

// An IPv6 address beside a port stands in brackets.
std::string before_port(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

// What a browser on this machine must be told.
std::string url_host(const std::string& listen) {
  return listen == "0.0.0.0" || listen == "::" ? "127.0.0.1" : before_port(listen);
}

void print_interleaved(const TickOptions& options, const TickMetrics& m) {
  if (options.interleave_bare_ns == 0) return;
  std::printf(
      "{\"interleave_bare_s\": %g, \"simulation\": {\"beats\": %llu, \"misses\": %llu}, \"bare\": {\"beats\": %llu, "
      "\"misses\": %llu}}\n",
      1e-9 * static_cast<double>(options.interleave_bare_ns), static_cast<unsigned long long>(m.block_beats.read()),
      static_cast<unsigned long long>(m.block_late.read()), static_cast<unsigned long long>(m.bare_beats.read()),
      static_cast<unsigned long long>(m.bare_late.read()));
}

void say_goodbye(const TickMetrics& m) {
  HistogramData work, wake, step;
  m.work_ns.copy(work);
  m.wake_late_ns.copy(wake);
  m.step_ns.copy(step);
  const auto us = [](const HistogramData& h, double p) { return 1e-3 * static_cast<double>(h.percentile(p)); };
  spdlog::info(
      "{} ticks, {} grid points missed | wake p50 {:.1f} p99 {:.1f} | work p50 {:.1f} p99 {:.1f} | step p50 {:.1f} p99 "
      "{:.1f} us | states dropped {}",
      m.ticks.read(), m.points_skipped.read(), us(wake, 0.5), us(wake, 0.99), us(work, 0.5), us(work, 0.99),
      us(step, 0.5), us(step, 0.99), m.states_dropped.read());
}

// The scene that stands in a recording.
net::LoadedScene scene_of(const record::PlayTape& tape) {
  net::LoadedScene out;
  out.name = tape.header().scene_name();
  try {
    out.world = record::replay_world(tape.header());
  } catch (const InputError& e) {
    throw InputError(tape.path() + ": the scene that stands in it does not load any more: " + e.what());
  }
  out.blank = out.world->state();
  return out;
}

void start_player(const ServerConfig& config, record::Player& player, TickLink& link, const World& world, int cpu) {
  const auto step_ns = static_cast<std::uint64_t>(std::llround(1e9 * world.model().step));
  if (!player.start(*link.play, config.tick.bodies, config.published_contacts, step_ns, cpu))
    throw InputError("the player's thread could not be created: see ulimit -u and -v");
  const record::PlayTape& tape = player.tape();
  spdlog::info("playing {}: {:.3f} s of scene '{}', recorded by {}", tape.path(),
               1e-9 * static_cast<double>(tape.end_ns() - tape.begin_ns()), tape.header().scene_name(),
               tape.header().build());
  if (!tape.damage().empty()) spdlog::warn("{}: {}; what is whole before is played", tape.path(), tape.damage());
}

// SIGHUP ends the server as SIGTERM does, unless whoever started it had it ignored (nohup).
bool hang_up_is_meant() {
  struct sigaction now {};
  return sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN;
}

const char* ended_by(int signal) {
  if (signal == SIGINT) return "interrupted (SIGINT)";
  return signal == SIGHUP ? "its terminal was closed (SIGHUP)" : "terminated (SIGTERM)";
}

// Signals and --duration-s.
class Stops {
 public:
  Stops(asio::io_context& io, net::NetServer& server, double duration_s)
      : signals_(io, SIGINT, SIGTERM), duration_(io) {
    if (hang_up_is_meant()) signals_.add(SIGHUP);
    signals_.async_wait([&server](asio::error_code error, int signal) {
      if (!error) server.stop(ended_by(signal));
    });
    if (duration_s <= 0) return;
    duration_.expires_after(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(duration_s)));
    duration_.async_wait([&server](asio::error_code error) {
      if (!error) server.stop("the duration asked for is over");
    });
  }

 private:
  asio::signal_set signals_;
  asio::steady_timer duration_;
};

// Threads are stuck in the system, writing these files, and what they use must outlive them: nothing is destroyed.
[[noreturn]] void leave(const std::vector<std::string>& stuck) {
  for (const std::string& path : stuck)
    spdlog::error("{}: the disk has taken nothing for {:g} s; what it has not taken yet is lost", path,
                  record::Recorder::kPatience_s);
  std::fflush(stdout);
  spdlog::shutdown();
  std::_Exit(1);
}

// Said at start: when a body freezes or a robot faults it is too late.
void say_unwritable(const record::RecordOptions& options) {
  const std::string box = options.folder.empty() ? record::default_folder() : options.folder;
  const std::string problem = options.seconds > 0 ? record::folder_problem(box) : "";
  if (!problem.empty())
    spdlog::warn("black boxes cannot be written: {}; set [black_box] folder to one that this user may write", problem);
  const std::string& folder = options.record_folder;
  const std::string other = folder.empty() ? "" : record::folder_problem(folder);
  if (!other.empty())
    spdlog::warn(
        "recordings that clients ask for cannot be written: {}; set [record] folder to one that this user may write",
        other);
}

std::unique_ptr<record::Recorder> make_recorder(const ServerConfig& config, TickLink& link) {
  const bool records =
      config.black_box.seconds > 0 || !config.record.empty() || !config.black_box.record_folder.empty();
  if (!records || !config.play.empty()) return nullptr;
  link.record = std::make_unique<RecordFeed>(config.tick.bodies, kRecordRows, config.black_box.hash_every_ticks,
                                             config.black_box.viewer_hz > 0 ? config.published_contacts : 0,
                                             config.black_box.stream_bytes / 2);
  auto recorder = std::make_unique<record::Recorder>(config.black_box, *link.record);
  if (config.record.empty()) return recorder;
  const std::string problem = recorder->start_recording(config.record, "--record", 0);
  if (!problem.empty()) throw InputError("--record: " + problem);
  return recorder;
}

int serve(ServerConfig config) {
  std::unique_ptr<record::Player> player;
  if (!config.play.empty()) player = std::make_unique<record::Player>(config.play, config.play_speed);
  const std::string path = player ? std::string() : scene_path(config);
  net::LoadedScene scene = player ? scene_of(player->tape()) : load_first_scene(config, path);
  config.tick.bodies = std::max(config.tick.bodies, static_cast<std::uint32_t>(scene.world->model().bodies.size()));
  const World& world = *scene.world;
  say_rates(config, world);
  say_access(config);
  if (!player) say_unwritable(config.black_box);
  for (const std::string& note : world.model().notes) spdlog::warn("{}", note);
  const std::uint32_t epoch = net::random_u32();
  TickLink link(config.tick.bodies, config.published_contacts, config.command_rows);
  if (player) link.play = std::make_unique<PlayFeed>(config.tick.bodies, config.published_contacts);
  const std::unique_ptr<record::Recorder> recorder = make_recorder(config, link);
  config.tick.tool_spin_ns = tool_spin_ns(config);
  TickLoop loop(config.tick, link, std::move(scene.world), epoch);
  SolverThread* const solvers[] = {scene.solver.get(), scene.shadow.get()};
  loop.set_solvers(std::move(scene.solver), std::move(scene.shadow));

  asio::io_context io(1);
  net::NetServer server(io, config.net, link, loop, path, recorder.get());
  if (player) server.play(*player);
  const Stops stops(io, server, config.duration_s);
  if (config.status_line) server.on_second = [](const std::string& line) { spdlog::info("{}", line); };
  if (recorder && !recorder->start(-1))  // before the first tick
    throw InputError("the recorder's threads could not be created: see ulimit -u and -v");
  server.begin(world, scene.name, epoch, std::move(scene.blank), scene.source);
  if (!loop.start()) throw InputError("the tick thread could not be created: see ulimit -u and -v");
  if (say_rights(loop, config.tick.lockstep ? 0 : config.net.priority)) server.set_spin(config.tick.tool_spin_ns);
  const int cpu = loop.rights() == nullptr ? -1 : loop.rights()->cpu;
  for (SolverThread* solver : solvers) {
    if (solver != nullptr && !solver->start(cpu))
      throw InputError("a solver's thread could not be created: see ulimit -u and -v");
  }
  if (recorder) recorder->avoid_cpu(cpu);
  if (player) start_player(config, *player, link, world, cpu);
  server.start(config.tick.lockstep);
  std::printf("tactusd: listening control=%s:%u realtime=%u web=%u\n", before_port(config.net.listen).c_str(),
              server.control_port(), server.realtime_port(), server.web_port());
  if (config.net.web.enabled)
    std::printf("tactusd: the viewer is at http://%s:%u/\n", url_host(config.net.listen).c_str(), server.web_port());
  std::fflush(stdout);
  const Service service;
  ServiceWatchdog watchdog(io, service, [&loop, &server, seen = std::uint64_t{0}]() mutable {
    const std::uint64_t beats = loop.metrics().beats.read();
    return std::exchange(seen, beats) != beats || server.lockstep();
  });
  service.tell("READY=1");
  watchdog.start();
  io.run();
  service.tell("STOPPING=1");
  loop.request_stop();
  loop.join();
  if (player) player->stop();
  const std::vector<std::string> stuck = recorder ? recorder->stop() : std::vector<std::string>();
  say_goodbye(loop.metrics());
  print_interleaved(config.tick, loop.metrics());
  if (!stuck.empty()) leave(stuck);
  return !config.record.empty() && recorder->any_failed() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of that file
  std::signal(SIGPIPE, SIG_IGN);  // as is a pipe that nobody reads any more
  ServerConfig config;
  std::shared_ptr<spdlog::logger> log;  // kept until the log's thread has been joined
  int status = 0;
  try {
    if (!parse_flags(argc, argv, config, status)) return status;
    if (!config.replay.empty()) return record::replay_file(config.replay, true);
    finish_config(config);
    config.net.config_text = describe_config(config);
    log = start_log(config);
    status = serve(config);
  } catch (const asio::system_error& e) {
    std::fprintf(stderr, "tactusd: %s\n", e.what());
    if (e.code() == asio::error::address_in_use) {
      std::fprintf(stderr,
                   "tactusd: another program (another tactusd?) has that port: stop it (ss -ltnup shows it), or choose "
                   "others with --control-port, --realtime-port and --web-port (0 = any free one)\n");
    }
    status = 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tactusd: %s\n", e.what());
    status = 1;
  }
  std::fflush(stdout);
  spdlog::shutdown();
  return status;
}
