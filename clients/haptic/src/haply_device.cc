#include "tactus/haptic/haply_device.h"

#include <libwebsockets.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "clients/haptic/src/haply_protocol.h"

namespace tactus::haptic {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kFrameMax = 1u << 20;
constexpr int kUnansweredMax = 4;

}  // namespace

// The library calls back only from within lws_service(), so all of this is on the thread that calls the device.
struct HaplyDevice::Connection {
  explicit Connection(const HaplyOptions& o) : options(o), id(o.device_id) {}
  ~Connection() {
    if (context != nullptr) lws_context_destroy(context);
  }

  std::string connect();
  void service() {
    for (int i = 0; i < 3 && context != nullptr; ++i) lws_service(context, -1);  // does not wait
  }
  void send(const Vec3& force);
  void received(const char* data, std::size_t length);
  int written();
  static int on_event(lws* wsi, lws_callback_reasons reason, void* user, void* in, std::size_t length);

  const HaplyOptions options;
  lws_context* context = nullptr;
  lws* socket = nullptr;
  bool open = false, fresh = false, has_frame = false, said_hello = false, waiting = false;
  int unanswered = 0;
  std::uint64_t bad = 0;
  std::string id, partial, problem, next;
  std::vector<unsigned char> out;
  HaplyFrame frame;
  Clock::time_point heard = Clock::now();
};

std::string HaplyDevice::Connection::connect() {
  static const lws_protocols protocols[] = {{"haply", &Connection::on_event, 0, 16384, 0, nullptr, 0},
                                            {nullptr, nullptr, 0, 0, 0, nullptr, 0}};
  lws_set_log_level(0, nullptr);
  lws_context_creation_info info;
  std::memset(&info, 0, sizeof info);
  info.port = CONTEXT_PORT_NO_LISTEN;
  info.protocols = protocols;
  info.gid = info.uid = -1;
  info.user = this;
  context = lws_create_context(&info);
  if (context == nullptr) return "libwebsockets gives no context";
  lws_client_connect_info to;
  std::memset(&to, 0, sizeof to);
  to.context = context;
  to.address = to.host = to.origin = options.host.c_str();
  to.port = options.port;
  to.path = "/";
  to.local_protocol_name = "haply";
  to.pwsi = &socket;
  if (lws_client_connect_via_info(&to) == nullptr && problem.empty()) problem = "the connection was refused";
  const auto patience = Clock::now() + std::chrono::seconds(2);
  while (problem.empty() && !has_frame && Clock::now() < patience) {
    service();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (problem.empty() && !has_frame) problem = open ? "it sends no inventory" : "it does not answer";
  return problem;
}

// The newest force; what waits to be written gives way to it.
void HaplyDevice::Connection::send(const Vec3& force) {
  next = haply_command(id, force, !said_hello);
  waiting = true;
  lws_callback_on_writable(socket);
}

int HaplyDevice::Connection::written() {
  if (!waiting) return 0;
  waiting = false;
  out.resize(LWS_PRE + next.size());
  std::memcpy(out.data() + LWS_PRE, next.data(), next.size());
  if (lws_write(socket, out.data() + LWS_PRE, next.size(), LWS_WRITE_TEXT) < 0) return -1;
  said_hello = true;
  ++unanswered;
  return 0;
}

void HaplyDevice::Connection::received(const char* data, std::size_t length) {
  if (partial.size() + length > kFrameMax) {
    problem = "a frame is longer than 1 MiB";
    return;
  }
  partial.append(data, length);
  if (lws_is_final_fragment(socket) == 0 || lws_remaining_packet_payload(socket) != 0) return;
  if (unanswered > 0) --unanswered;
  HaplyFrame next_frame;
  const std::string fault = read_haply(partial, id, next_frame);
  partial.clear();
  if (!fault.empty()) {
    ++bad;
    if (!has_frame) problem = fault;
    return;
  }
  id = next_frame.device_id;
  if (next_frame.type.empty()) next_frame.type = frame.type;
  frame = next_frame;
  has_frame = fresh = true;
  heard = Clock::now();
}

int HaplyDevice::Connection::on_event(lws* wsi, lws_callback_reasons reason, void*, void* in, std::size_t length) {
  auto* self = static_cast<Connection*>(lws_context_user(lws_get_context(wsi)));
  switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
      self->open = true;
      return 0;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
      self->problem = in != nullptr ? std::string(static_cast<const char*>(in), length) : "the connection was refused";
      self->socket = nullptr;
      return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE:
      self->received(static_cast<const char*>(in), length);
      return self->problem.empty() ? 0 : -1;
    case LWS_CALLBACK_CLIENT_WRITEABLE:
      return self->written();
    case LWS_CALLBACK_CLIENT_CLOSED:
      if (self->problem.empty()) self->problem = "the service has closed the connection";
      self->open = false;
      self->socket = nullptr;
      return 0;
    default:
      return 0;
  }
}

HaplyDevice::HaplyDevice(const HaplyOptions& options) : options_(options) {}
HaplyDevice::~HaplyDevice() {
  close();
}

std::string HaplyDevice::open() {
  close();
  problem_.clear();
  connection_ = std::make_unique<Connection>(options_);
  const std::string problem = connection_->connect();
  if (problem.empty() && !connection_->frame.calibrated) problem_ = "it is not calibrated: put the handle on its rest";
  if (!problem.empty())
    problem_ = "Haply's Inverse Service at " + options_.host + ":" + std::to_string(options_.port) + ": " + problem +
               "; is the service running, and the device plugged in?";
  if (problem_.empty()) return {};
  connection_.reset();
  return problem_;
}

Capabilities HaplyDevice::capabilities() const {
  Capabilities c;
  c.name = "haply";
  if (connection_) c.name += "-" + connection_->id;
  c.axes_sensed = connection_ && connection_->frame.has_grip ? 6 : 3;
  c.axes_actuated = 3;
  c.force_max = options_.force_max;
  c.damping = options_.damping;
  c.stiffness_max = options_.stiffness_max;
  c.workspace_radius = connection_ && connection_->frame.type == "minverse" ? 0.04 : 0.10;
  c.rate_hz = options_.rate_hz;
  c.delay_s = 1 / options_.rate_hz;
  return c;
}

Status HaplyDevice::read(Reading& out) {
  if (!connection_) return Status::lost;
  Connection& c = *connection_;
  c.service();
  if (!c.problem.empty()) {
    problem_ = c.problem;
    return Status::lost;
  }
  if (!c.fresh) {
    const std::chrono::duration<double> silent = Clock::now() - c.heard;
    if (silent.count() < options_.patience_s) return Status::not_ready;
    problem_ = "no state from the service";
    return Status::lost;
  }
  c.fresh = false;
  out = {};
  out.X_DH.p = c.frame.position;
  out.X_DH.q = c.frame.orientation;
  out.V_DH.v = c.frame.velocity;
  out.has_velocity = c.frame.has_velocity && !c.frame.has_grip;  // a grip's turning is not told
  out.buttons = c.frame.buttons;
  return Status::ok;
}

Status HaplyDevice::write(const Wrench& F) {
  if (!connection_ || !connection_->open) return Status::lost;
  if (!is_finite(F.force)) return Status::not_ready;
  if (connection_->unanswered >= kUnansweredMax) return Status::not_ready;
  const double length = F.force.norm();
  connection_->send(length > options_.force_max ? Vec3(F.force * (options_.force_max / length)) : F.force);
  connection_->service();
  return connection_->open ? Status::ok : Status::lost;
}

// The service holds the last force that it was told, so zero goes out first, whatever is unanswered.
void HaplyDevice::close() {
  if (!connection_) return;
  if (connection_->open) {
    connection_->send(Vec3::Zero());
    const auto patience = Clock::now() + std::chrono::milliseconds(100);
    while (connection_->open && connection_->waiting && Clock::now() < patience) connection_->service();
  }
  connection_.reset();
}

const std::string& HaplyDevice::problem() const {
  return problem_;
}
std::uint64_t HaplyDevice::bad_frames() const {
  return connection_ ? connection_->bad : 0;
}

}  // namespace tactus::haptic
