#include "server/net/server.h"

#include <spdlog/spdlog.h>

#include <asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "server/net/control/control_connection.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

using asio::ip::tcp;
using asio::ip::udp;

constexpr auto kLeasePeriod = std::chrono::milliseconds(10);
constexpr auto kMadeRoomPause = std::chrono::milliseconds(2), kAcceptPause = std::chrono::milliseconds(100);

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

NetServer::NetServer(asio::io_context& io, const NetOptions& options, TickLink& link, TickLoop& loop,
                     const std::string& scene_file, record::Recorder* recorder)
    : hub_(io, options, link, loop, scene_file),
      acceptor_(bind_control(io, options)),
      control_port_(acceptor_.local_endpoint().port()),
      realtime_(hub_, udp::endpoint(asio::ip::make_address(options.listen), options.realtime_port)),
      lockstep_(hub_),
      statistics_(hub_),
      record_(hub_, recorder),
      accept_timer_(io),
      lease_timer_(io),
      second_timer_(io),
      stop_timer_(io) {
  hub_.realtime = &realtime_;
  hub_.lockstep = &lockstep_;
  hub_.statistics = &statistics_;
  hub_.record = &record_;
  hub_.realtime_port = realtime_.port();
  if (options.web.enabled) web_ = std::make_unique<WebPort>(hub_);
  hub_.web = web_.get();
}

NetServer::~NetServer() {
  hub_.loader.join();
}

void NetServer::play(record::Player& player) {
  play_ = std::make_unique<PlayDesk>(hub_, player);
  hub_.play = play_.get();
}

void NetServer::begin(const World& world, const std::string& name, std::uint32_t epoch, State blank,
                      const SceneSource& source) {
  hub_.started_ns = now_ns();
  hub_.scene_changed(world, name, epoch, std::move(blank));
  record_.begin(source);
  record_.keep_first();
  hub_.scene_links_changed(source.links);
}

void NetServer::start(bool lockstep) {
  TickPort::Handlers handlers;
  handlers.verdict = [this](const Notice& notice) { realtime_.give_verdict(notice); };
  handlers.event = [this](const Notice& notice) { on_event(notice); };
  handlers.state = [this](const StateSlot& slot) {
    hub_.tell_expiries();  // of this tick's notices, all of which came before its state
    if (slot.frame.epoch == hub_.scene.epoch) hub_.newest = slot.frame;
    if (play_) play_->published(slot.frame);
    if (slot.frame.epoch == hub_.scene.epoch && slot.frame.has_shadow) hub_.shadow_seen.add(slot.frame.shadow);
    realtime_.publish(slot);
    record_.published(slot.frame);
  };
  handlers.tools = [this](const ToolFrame& frame) { realtime_.answer_tools(frame); };
  handlers.rehearse = [this] { realtime_.rehearse_tools(); };
  handlers.datagrams = [this] { realtime_.receive_batch(); };
  handlers.done = [this](const Notice& notice, const std::string& about) { record_.done(notice, about); };
  hub_.tick.start(std::move(handlers));
  if (lockstep) {
    hub_.tick.take_world();
    hub_.lockstep_mode.begin_for_good();
    hub_.lease_clock.stop(now_ns());
  }
  realtime_.start();
  if (web_) web_->start();
  record_.start();
  accept();
  watch_leases();
  statistics_.roll();  // what was counted before anybody could ask
  every_second();
}

void NetServer::accept() {
  acceptor_.async_accept([this](asio::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) take(std::move(socket));
    if (!acceptor_.is_open()) return;
    if (error && error != asio::error::connection_aborted) return accept_later(error);
    accept();
  });
}

// Mostly no file descriptor is left: asked again at once, the system would say so for ever. Those who have not shaken
// hands go first; where there are none, whoever comes is told why.
void NetServer::accept_later(asio::error_code error) {
  hub_.refuse("control_not_accepted");
  hub_.turned_away.add("connections not accepted", error.message() + " (ulimit -n, or LimitNOFILE of the service)");
  const bool has_room = hub_.lobby.send_one_away();
  if (!has_room) last_descriptor_.turn_away(acceptor_.native_handle(), no_descriptor_left());
  accept_timer_.expires_after(has_room ? kMadeRoomPause : kAcceptPause);
  accept_timer_.async_wait([this](asio::error_code cancelled) {
    if (!cancelled && acceptor_.is_open()) accept();
  });
}

void NetServer::take(tcp::socket socket) {
  std::erase_if(hub_.connections, [](const auto& weak) { return weak.expired(); });
  const auto connection = std::make_shared<ControlConnection>(hub_, std::move(socket));
  hub_.connections.push_back(connection);
  connection->start();
}

void NetServer::watch_leases() {
  lease_timer_.expires_after(kLeasePeriod);
  lease_timer_.async_wait([this](asio::error_code error) {
    if (error) return;
    hub_.channels_lost(hub_.authority.expire(hub_.lease_now()), true);
    hub_.tell_expiries();
    watch_leases();
  });
}

void NetServer::every_second() {
  second_timer_.expires_after(std::chrono::seconds(1));
  second_timer_.async_wait([this](asio::error_code error) {
    if (error) return;
    end_silent();
    for (const std::string& line : statistics_.roll()) spdlog::warn("{}", line);
    for (const std::string& line : hub_.turned_away.take_lines()) spdlog::warn("{}", line);
    if (on_second) on_second(statistics_.status_line());
    every_second();
  });
}

// Whoever sent nothing at all for so long has vanished, though its end of the connection may seem alive. In lockstep a
// client may sit at a breakpoint for as long as it likes.
void NetServer::end_silent() {
  const std::uint64_t now = now_ns();
  if (!silence_.look(now, hub_.tick.lockstep())) return;
  for (const auto& weak : hub_.connections) {
    const auto c = weak.lock();
    const Session* session = c ? c->session() : nullptr;
    if (session != nullptr && !c->is_framed() && silence_.vanished(session->heard_ns(), now)) c->end_silent();
  }
}

void NetServer::joint_expired(JointIndex joint) {
  const Model& model = hub_.scene.model();
  if (joint >= model.joints.size()) return;
  const std::uint32_t robot = model.joints[joint].robot;
  hub_.expiries.joint(model.robots[robot].name, hub_.scene.channel_name(hub_.scene.joint_channel(joint)),
                      hub_.scene.world->driven_joints(robot).size());
}

void NetServer::on_event(const Notice& notice) {
  const std::vector<Body>& bodies = hub_.scene.model().bodies;
  const std::string body = notice.body < bodies.size() ? bodies[notice.body].name : std::string("?");
  switch (notice.kind) {
    case Notice::Kind::channel_expired:
      return hub_.expiries.body("body/" + body + "/wrench");
    case Notice::Kind::joint_expired:
      return joint_expired(notice.joint);
    case Notice::Kind::robot_fault: {
      const std::vector<Robot>& robots = hub_.scene.model().robots;
      const std::string robot = notice.robot < robots.size() ? robots[notice.robot].name : std::string("?");
      spdlog::warn("robot '{}' has latched a fault at tick {}: too many commands were missed", robot, notice.tick);
      hub_.broadcast(v1::Event::ROBOT_FAULT, robot);
      return record_.latched("robot-" + robot);
    }
    case Notice::Kind::tool_let_go:
      return hub_.broadcast(v1::Event::TOOL_LET_GO, "tool/" + body);
    case Notice::Kind::body_frozen:
      spdlog::warn("body '{}' became non-finite at tick {} and stands at its last good pose", body, notice.tick);
      hub_.broadcast(v1::Event::BODY_FROZEN, body);
      return record_.latched("frozen-" + body);
    case Notice::Kind::fault:
      spdlog::critical("fault at tick {}: the server is stopping itself", notice.tick);
      return hub_.broadcast(v1::Event::SERVER_STOPPING, "fault: an internal check failed; forces are zero");
    case Notice::Kind::retired:  // its destructor waits for a solve that is still under way
      asio::post(hub_.loader, [solver = notice.solver, shadow = notice.shadow] {
        delete solver;
        delete shadow;
      });
      return;
    default:
      return;
  }
}

void NetServer::stop(const std::string& why) {
  if (std::exchange(hub_.stopping, true)) return;
  asio::error_code ignored;
  acceptor_.close(ignored);
  accept_timer_.cancel();
  lease_timer_.cancel();
  second_timer_.cancel();
  record_.stop();
  hub_.broadcast(v1::Event::SERVER_STOPPING, why);
  for (const auto& weak : hub_.connections) {
    if (const auto c = weak.lock()) c->close_after_flush("");
  }
  stop_timer_.expires_after(std::chrono::milliseconds(100));
  stop_timer_.async_wait([this](asio::error_code) {
    asio::error_code also_ignored;
    for (const auto& weak : hub_.connections) {
      if (const auto c = weak.lock()) c->close("");
    }
    hub_.tick.stop();
    realtime_.stop();
    if (web_) web_->stop();
    acceptor_.close(also_ignored);
    hub_.io.stop();
  });
}

}  // namespace tactus::net
