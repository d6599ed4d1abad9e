#include "server/net/server.h"

#include <spdlog/spdlog.h>

#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "server/net/control/control_connection.h"
#include "server/net/control/last_descriptor.h"
#include "server/net/desk/requests.h"
#include "server/net/web/web_port.h"
#include "server/realtime/clock.h"
#include "server/session/expiry_news.h"

namespace tactus::net {
namespace {

using asio::ip::tcp;
using asio::ip::udp;

constexpr auto kLeasePeriod = std::chrono::milliseconds(10);
constexpr auto kMadeRoomPause = std::chrono::milliseconds(2), kFullPause = std::chrono::milliseconds(100);

// A frame of the control channel, for whoever cannot be served.
std::vector<std::uint8_t> no_descriptor_left() {
  v1::Reply reply;
  reply.mutable_error()->set_code(v1::ERROR_FULL);
  reply.mutable_error()->set_text(
      "this server has no file descriptor left for a new connection: come again, or raise "
      "its limit (ulimit -n, or LimitNOFILE of the service)");
  const auto length = static_cast<std::uint32_t>(reply.ByteSizeLong());
  std::vector<std::uint8_t> frame(sizeof length + length);
  std::memcpy(frame.data(), &length, sizeof length);
  reply.SerializeWithCachedSizesToArray(frame.data() + sizeof length);
  return frame;
}

tcp::acceptor bind_control(asio::io_context& io, const NetOptions& options) {
  const tcp::endpoint endpoint(asio::ip::make_address(options.listen), options.control_port);
  try {
    return tcp::acceptor(io, endpoint);  // sets SO_REUSEADDR: a restart need not wait
  } catch (const asio::system_error& e) {
    throw asio::system_error(e.code(),
                             fmt::format("control port (TCP) {} on {}", options.control_port, options.listen));
  }
}

}  // namespace

// What several parts share: plain data, each a thing of its own.
struct NetData {
  explicit NetData(const NetOptions& net_options) : options(net_options) {}

  const NetOptions options;
  asio::thread_pool loader{1};  // reads scenes, builds and destroys worlds
  SolverState solvers{solver_options(options), {}};
  SessionTable sessions{options.clients};
  Door door{options};
  Refusals refusals;
  Leases leases;
  OwnedModes modes;
  WorldStatus status;
  SceneView scene;
  ToolTable tools;
};

// The ways in and out: the tick, what clients hear and what is recorded of it, the ports of TCP and UDP.
struct NetWays {
  NetWays(asio::io_context& io_context, NetData& shared, TickLink& link, TickLoop& loop, record::Recorder* recorder)
      : io(io_context), data(shared), tick(io_context, link, loop), journal(recorder, shared.status) {}

  asio::io_context& io;
  NetData& data;
  TickPort tick;
  ClientLines lines;
  Journal journal;
  Events events{lines, data.scene, data.status, journal};
  tcp::acceptor acceptor{bind_control(io, data.options)};
  const std::uint16_t control_port = acceptor.local_endpoint().port();
  RealtimePort realtime{{.io = io,
                         .options = data.options,
                         .sessions = data.sessions,
                         .lines = lines,
                         .scene = data.scene,
                         .status = data.status,
                         .leases = data.leases,
                         .tools = data.tools,
                         .tick = tick,
                         .journal = journal,
                         .refusals = data.refusals},
                        udp::endpoint(asio::ip::make_address(data.options.listen), data.options.realtime_port)};
};

// What requests do. In the order of their making: each is handed what stands above it.
struct NetDesks {
  NetDesks(NetData& shared, NetWays& to_and_fro, record::Recorder* to, const std::string& file)
      : data(shared), ways(to_and_fro), recorder(to), scene_file(file) {}

  NetData& data;
  NetWays& ways;
  record::Recorder* recorder;
  const std::string scene_file;
  LockstepDesk lockstep{{.io = ways.io,
                         .options = data.options,
                         .tick = ways.tick,
                         .status = data.status,
                         .modes = data.modes,
                         .leases = data.leases,
                         .events = ways.events,
                         .links = ways.realtime.links(),
                         .answers = ways.realtime.answers()}};
  JointDesk joints{{.scene = data.scene,
                    .sessions = data.sessions,
                    .leases = data.leases,
                    .tick = ways.tick,
                    .events = ways.events}};
  LeaseDesk leases{{.scene = data.scene,
                    .status = data.status,
                    .leases = data.leases,
                    .tools = data.tools,
                    .tick = ways.tick,
                    .events = ways.events,
                    .joints = joints}};
  LinkDesk links{{.options = data.options,
                  .sessions = data.sessions,
                  .leases = data.leases,
                  .events = ways.events,
                  .journal = ways.journal,
                  .links = ways.realtime.links()}};
  FallBack fall_back{{.io = ways.io,
                      .sessions = data.sessions,
                      .status = data.status,
                      .modes = data.modes,
                      .tick = ways.tick,
                      .events = ways.events,
                      .lockstep = lockstep,
                      .joints = joints,
                      .links = links}};
  ModeDesk modes{{.options = data.options,
                  .scene = data.scene,
                  .status = data.status,
                  .modes = data.modes,
                  .leases = data.leases,
                  .tick = ways.tick,
                  .events = ways.events,
                  .lockstep = lockstep,
                  .fall_back = fall_back}};
  RecordDesk record{{.io = ways.io,
                     .options = data.options,
                     .scene = data.scene,
                     .status = data.status,
                     .solvers = data.solvers,
                     .sessions = data.sessions,
                     .tick = ways.tick,
                     .events = ways.events},
                    recorder};
  SceneChange change{{.scene = data.scene,
                      .sessions = data.sessions,
                      .leases = data.leases,
                      .tools = data.tools,
                      .events = ways.events,
                      .joints = joints}};
  SceneDesk scenes{{.io = ways.io,
                    .loader = data.loader,
                    .options = data.options,
                    .scene = data.scene,
                    .status = data.status,
                    .solvers = data.solvers,
                    .leases = data.leases,
                    .tick = ways.tick,
                    .events = ways.events,
                    .links = ways.realtime.links(),
                    .lockstep = lockstep,
                    .link_desk = links,
                    .record = record,
                    .change = change},
                   scene_file};
  ModelDesk models{{.io = ways.io,
                    .loader = data.loader,
                    .options = data.options,
                    .scene = data.scene,
                    .solvers = data.solvers,
                    .leases = data.leases,
                    .tick = ways.tick,
                    .events = ways.events}};
  WorldDesk worlds{{.options = data.options,
                    .scene = data.scene,
                    .leases = data.leases,
                    .tick = ways.tick,
                    .events = ways.events,
                    .links = ways.realtime.links(),
                    .lockstep = lockstep,
                    .models = models}};
  ViewDesk views{{.options = data.options, .scene = data.scene}};
  DeviceDesk devices{{.options = data.options,
                      .scene = data.scene,
                      .solvers = data.solvers,
                      .leases = data.leases,
                      .tools = data.tools,
                      .tick = ways.tick}};
};

struct NetServer::Parts final : House {
  Parts(asio::io_context& io, const NetOptions& options, TickLink& link, TickLoop& loop, const std::string& scene_file,
        record::Recorder* recorder)
      : data(options), ways(io, data, link, loop, recorder), desks(data, ways, recorder, scene_file) {}

  void take(tcp::socket socket);
  // Of conversations.
  void welcome(Session& session) override { desks.links.welcome(session); }
  void serve(const std::shared_ptr<ClientLine>& line, const v1::Request& request) override {
    requests.serve(line, request);
  }
  void leave(ClientSlot client) override;

  NetData data;
  NetWays ways;
  NetDesks desks;
  Reception reception{.io = ways.io,
                      .options = data.options,
                      .tick = ways.tick,
                      .scene = data.scene,
                      .sessions = data.sessions,
                      .door = data.door,
                      .refusals = data.refusals,
                      .house = *this,
                      .realtime_port = ways.realtime.port()};
  Scrape scrape{ways.tick.metrics(), data.options.web.metrics};
  // Null: switched off.
  std::unique_ptr<WebPort> web =
      data.options.web.enabled ? std::make_unique<WebPort>(reception, ways.lines, scrape) : nullptr;
  NetStatistics statistics{{.options = data.options,
                            .scene = data.scene,
                            .status = data.status,
                            .solvers = data.solvers,
                            .sessions = data.sessions,
                            .tick = ways.tick,
                            .lines = ways.lines,
                            .refusals = data.refusals,
                            .ways = ways.realtime.ways(),
                            .record = desks.record,
                            .scrape = scrape,
                            .web = web.get()}};
  RequestDesk requests{{.options = data.options,
                        .scene = data.scene,
                        .status = data.status,
                        .sessions = data.sessions,
                        .realtime = ways.realtime},
                       {.scenes = desks.scenes,
                        .views = desks.views,
                        .leases = desks.leases,
                        .modes = desks.modes,
                        .worlds = desks.worlds,
                        .models = desks.models,
                        .joints = desks.joints,
                        .devices = desks.devices,
                        .links = desks.links,
                        .records = desks.record,
                        .statistics = statistics}};
  std::unique_ptr<PlayDesk> play;  // null: the world is live
  ExpiryNews expiries;
  SilenceWatch silence;
  LastDescriptor last_descriptor;
  asio::steady_timer accept_timer{ways.io}, lease_timer{ways.io}, second_timer{ways.io}, stop_timer{ways.io};
  bool is_stopping = false;
};

void NetServer::Parts::take(tcp::socket socket) {
  const auto connection = std::make_shared<ControlConnection>(reception, std::move(socket));
  ways.lines.add(connection);
  connection->start();
}

void NetServer::Parts::leave(ClientSlot client) {
  ways.realtime.forget(client);
  if (Session* session = data.sessions.find(client)) ways.realtime.links().set(*session, nullptr);
  desks.leases.lost(data.leases.authority.drop_client(client), false);
  desks.fall_back.left(client);
  data.sessions.remove(client);
}

NetServer::NetServer(asio::io_context& io, const NetOptions& options, TickLink& link, TickLoop& loop,
                     const std::string& scene_file, record::Recorder* recorder)
    : parts_(std::make_unique<Parts>(io, options, link, loop, scene_file, recorder)) {}

NetServer::~NetServer() {
  parts_->data.loader.join();
}

void NetServer::set_spin(std::uint64_t spin_ns) {
  parts_->ways.tick.set_spin(spin_ns);
}

bool NetServer::lockstep() const {
  return parts_->ways.tick.lockstep();
}

std::uint16_t NetServer::control_port() const {
  return parts_->ways.control_port;
}

std::uint16_t NetServer::realtime_port() const {
  return parts_->ways.realtime.port();
}

std::uint16_t NetServer::web_port() const {
  return parts_->web ? parts_->web->port() : std::uint16_t{0};
}

void NetServer::play(record::Player& player) {
  Parts& p = *parts_;
  p.play = std::make_unique<PlayDesk>(
      PlayDesk::Uses{.status = p.data.status, .leases = p.data.leases, .events = p.ways.events}, player);
  p.data.status.playing = p.play->why();
  p.statistics.play(*p.play);
  p.requests.play(*p.play);
}

void NetServer::begin(const World& world, const std::string& name, std::uint32_t epoch, State blank,
                      const SceneSource& source) {
  Parts& p = *parts_;
  p.statistics.start();
  p.desks.change.show(world, name, epoch, std::move(blank));
  p.desks.record.begin(source);
  p.desks.record.keep_first();
  p.desks.links.scene_changed(source.links);
}

void NetServer::begin(const World& world, const std::string& name, std::uint32_t epoch, State blank) {
  begin(world, name, epoch, std::move(blank), SceneSource{});
}

void NetServer::start(bool lockstep) {
  Parts& p = *parts_;
  TickPort::Handlers handlers;
  handlers.verdict = [&p](const Notice& notice) { p.ways.realtime.verdicts().give(notice); };
  handlers.event = [this](const Notice& notice) { on_event(notice); };
  handlers.state = [this, &p](const StateSlot& slot) {
    tell_expiries();  // of this tick's notices, all of which came before its state
    if (slot.frame.epoch == p.data.scene.epoch) p.data.status.newest = slot.frame;
    if (p.play) p.play->published(slot.frame);
    if (slot.frame.epoch == p.data.scene.epoch && slot.frame.has_shadow)
      p.data.solvers.shadow_seen.add(slot.frame.shadow);
    p.ways.realtime.states().publish(slot);
    p.desks.record.published(slot.frame);
  };
  handlers.tools = [&p](const ToolFrame& frame) { p.ways.realtime.devices().answer(frame); };
  handlers.rehearse = [&p] { p.ways.realtime.devices().rehearse(); };
  handlers.datagrams = [&p] { p.ways.realtime.receive_batch(); };
  handlers.done = [&p](const Notice& notice, const std::string& about) { p.desks.record.done(notice, about); };
  p.ways.tick.start(std::move(handlers));
  if (lockstep) {
    p.ways.tick.take_world();
    p.data.modes.lockstep.begin_for_good();
    p.data.leases.clock.stop(now_ns());
  }
  p.ways.realtime.start(p.desks.lockstep);
  if (p.web) p.web->start();
  p.desks.record.start();
  accept();
  watch_leases();
  p.statistics.roll();  // what was counted before anybody could ask
  every_second();
}

void NetServer::accept() {
  parts_->ways.acceptor.async_accept([this](asio::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) parts_->take(std::move(socket));
    if (!parts_->ways.acceptor.is_open()) return;
    if (error && error != asio::error::connection_aborted) return accept_later(error);
    accept();
  });
}

// Mostly no file descriptor is left: asked again at once, the system would say so for ever. Those who have not shaken
// hands go first; where there are none, whoever comes is told why.
void NetServer::accept_later(asio::error_code error) {
  parts_->data.refusals.add("control_not_accepted");
  parts_->data.door.turned_away.add("connections not accepted",
                                    error.message() + " (ulimit -n, or LimitNOFILE of the service)");
  const bool has_room = parts_->data.door.lobby.send_one_away();
  if (!has_room) parts_->last_descriptor.turn_away(parts_->ways.acceptor.native_handle(), no_descriptor_left());
  parts_->accept_timer.expires_after(has_room ? kMadeRoomPause : kFullPause);
  parts_->accept_timer.async_wait([this](asio::error_code cancelled) {
    if (!cancelled && parts_->ways.acceptor.is_open()) accept();
  });
}

void NetServer::watch_leases() {
  parts_->lease_timer.expires_after(kLeasePeriod);
  parts_->lease_timer.async_wait([this](asio::error_code error) {
    if (error) return;
    parts_->desks.leases.expire();
    tell_expiries();
    watch_leases();
  });
}

void NetServer::every_second() {
  parts_->second_timer.expires_after(std::chrono::seconds(1));
  parts_->second_timer.async_wait([this](asio::error_code error) {
    if (error) return;
    end_silent();
    for (const std::string& line : parts_->statistics.roll()) spdlog::warn("{}", line);
    for (const std::string& line : parts_->data.door.turned_away.take_lines()) spdlog::warn("{}", line);
    if (on_second) on_second(parts_->statistics.status_line());
    every_second();
  });
}

// Whoever sent nothing at all for so long has vanished, though its end of the connection may seem alive. In lockstep a
// client may sit at a breakpoint for as long as it likes.
void NetServer::end_silent() {
  const std::uint64_t now = now_ns();
  if (!parts_->silence.look(now, parts_->ways.tick.lockstep())) return;
  parts_->ways.lines.for_each([this, now](ClientLine& line) {
    const Session* session = line.session();
    if (session != nullptr && !line.is_framed() && parts_->silence.vanished(session->heard_ns(), now))
      line.end_silent();
  });
}

void NetServer::tell_expiries() {
  for (const ExpiryNews::News& news : parts_->expiries.take(now_ns()))
    parts_->ways.events.broadcast(v1::Event::COMMANDS_EXPIRED, news.text, news.count);
}

void NetServer::joint_expired(JointIndex joint) {
  const Model& model = parts_->data.scene.model();
  if (joint >= model.joints.size()) return;
  const std::uint32_t robot = model.joints[joint].robot;
  parts_->expiries.joint(model.robots[robot].name,
                         parts_->data.scene.channel_name(parts_->data.scene.joint_channel(joint)),
                         parts_->data.scene.world->driven_joints(robot).size());
}

void NetServer::on_event(const Notice& notice) {
  const std::vector<Body>& bodies = parts_->data.scene.model().bodies;
  const std::string body = notice.body < bodies.size() ? bodies[notice.body].name : std::string("?");
  switch (notice.kind) {
    case Notice::Kind::channel_expired:
      return parts_->expiries.body("body/" + body + "/wrench");
    case Notice::Kind::joint_expired:
      return joint_expired(notice.joint);
    case Notice::Kind::robot_fault: {
      const std::vector<Robot>& robots = parts_->data.scene.model().robots;
      const std::string robot = notice.robot < robots.size() ? robots[notice.robot].name : std::string("?");
      spdlog::warn("robot '{}' has latched a fault at tick {}: too many commands were missed", robot, notice.tick);
      parts_->ways.events.broadcast(v1::Event::ROBOT_FAULT, robot);
      return parts_->desks.record.latched("robot-" + robot);
    }
    case Notice::Kind::tool_let_go:
      return parts_->ways.events.broadcast(v1::Event::TOOL_LET_GO, "tool/" + body);
    case Notice::Kind::body_frozen:
      spdlog::warn("body '{}' became non-finite at tick {} and stands at its last good pose", body, notice.tick);
      parts_->ways.events.broadcast(v1::Event::BODY_FROZEN, body);
      return parts_->desks.record.latched("frozen-" + body);
    case Notice::Kind::fault:
      spdlog::critical("fault at tick {}: the server is stopping itself", notice.tick);
      return parts_->ways.events.broadcast(v1::Event::SERVER_STOPPING,
                                           "fault: an internal check failed; forces are zero");
    case Notice::Kind::retired:  // its destructor waits for a solve that is still under way
      asio::post(parts_->data.loader, [solver = notice.solver, shadow = notice.shadow] {
        delete solver;
        delete shadow;
      });
      return;
    default:
      return;
  }
}

void NetServer::stop(const std::string& why) {
  if (std::exchange(parts_->is_stopping, true)) return;
  parts_->desks.fall_back.stop();
  asio::error_code ignored;
  parts_->ways.acceptor.close(ignored);
  parts_->accept_timer.cancel();
  parts_->lease_timer.cancel();
  parts_->second_timer.cancel();
  parts_->desks.record.stop();
  parts_->ways.events.broadcast(v1::Event::SERVER_STOPPING, why);
  parts_->ways.lines.for_each([](ClientLine& line) { line.close_after_flush(""); });
  parts_->stop_timer.expires_after(std::chrono::milliseconds(100));
  parts_->stop_timer.async_wait([this](asio::error_code) {
    asio::error_code also_ignored;
    parts_->ways.lines.for_each([](ClientLine& line) { line.close(""); });
    parts_->ways.tick.stop();
    parts_->ways.realtime.stop();
    if (parts_->web) parts_->web->stop();
    parts_->ways.acceptor.close(also_ignored);
    parts_->ways.io.stop();
  });
}

}  // namespace tactus::net
