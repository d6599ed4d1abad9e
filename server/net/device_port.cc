// DEVICE datagrams in, TOOL datagrams out.
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "server/net/conversation.h"
#include "server/net/realtime_port.h"
#include "server/realtime/clock.h"

namespace tactus::net {
namespace {

constexpr double kPlaceMax = 1e4;     // [m]
constexpr double kVelocityMax = 1e4;  // [m/s], [rad/s]
constexpr double kWaveMax = 1e6;

template <class Column>
bool bounded(const Column& column, double limit) {
  return std::all_of(column.begin(), column.end(), [limit](double x) { return std::abs(x) <= limit; });
}
template <class Column>
bool finite(const Column& column) {
  return std::all_of(column.begin(), column.end(), [](double x) { return std::isfinite(x); });
}

DeviceRow to_row(const v1::DevicePacket& p) {
  DeviceRow row;
  row.tool = p.tool();
  row.grip = p.grip();
  row.sample = p.sample();
  row.tick_echo = p.tick_echo();
  std::copy(p.pose().begin(), p.pose().end(), row.pose.begin());
  const double norm = std::sqrt(row.pose[3] * row.pose[3] + row.pose[4] * row.pose[4] + row.pose[5] * row.pose[5] +
                                row.pose[6] * row.pose[6]);
  for (std::size_t i = 3; i < 7; ++i) row.pose[i] /= norm;
  std::copy(p.velocity().begin(), p.velocity().end(), row.velocity.begin());
  std::copy(p.wave().begin(), p.wave().end(), row.wave.begin());
  std::copy(p.wrench().begin(), p.wrench().end(), row.force.begin());
  row.stiffness_share = p.stiffness_share();
  row.given = p.given_j();
  row.taken = p.taken_j();
  row.round_trip = p.round_trip_s();
  row.bits = p.bits();
  row.buttons = p.buttons();
  return row;
}

template <class Column>
void add(Column* out, const Vec3& x) {
  for (int i = 0; i < 3; ++i) out->Add(x[i]);
}
template <class Column>
void add(Column* out, const Pose& X) {
  add(out, X.p);
  for (const double x : {X.q.w(), X.q.x(), X.q.y(), X.q.z()}) out->Add(x);
}

void fill_planes(const ToolRow& row, v1::ToolPacket& out) {
  std::string* moving = out.mutable_plane_moving();
  for (std::uint32_t i = 0; i < row.plane_count; ++i) {
    const ToolPlane& plane = row.planes[i];
    out.add_plane_key(plane.key);
    add(out.mutable_plane(), plane.nhat_W);
    add(out.mutable_plane(), plane.p_W);
    add(out.mutable_plane(), plane.c_T);
    out.add_plane(plane.nhat_W.dot(plane.v_W));
    out.add_plane(plane.mu);
    moving->push_back(static_cast<char>((plane.moving ? 1 : 0) | (plane.on_tool ? 2 : 0)));
  }
}

void fill(const ToolRow& row, v1::ToolPacket& out) {
  const ToolReport& r = row.report;
  out.set_tool(row.tool);
  out.set_body_id(row.body);
  out.set_mode(static_cast<std::uint32_t>(row.mode));
  out.set_grip(row.grip);
  out.set_sample_echo(row.device.sample);
  out.set_bits(r.bits);
  out.set_age_ticks(static_cast<std::uint32_t>(std::min<std::uint64_t>(r.input_age_ticks, 0xffffffffu)));
  add(out.mutable_pose(), r.X_WT);
  add(out.mutable_velocity(), r.V_WT.v);
  add(out.mutable_velocity(), r.V_WT.w);
  add(out.mutable_wrench(), r.F_T_W.force);
  add(out.mutable_wrench(), r.F_T_W.torque);
  if (row.mode == ToolMode::wave) out.mutable_wave()->Add(row.wave.begin(), row.wave.end());
  out.set_scale(r.scale);
  out.set_stored_j(r.stored);
  out.set_reference_j(r.reference_work);
  out.set_tool_j(r.tool_work);
  out.set_declared_j(r.declared);
  out.set_samples(row.samples);
  out.set_samples_lost(row.samples_lost);
  add(out.mutable_device_pose(), r.X_WR);
  out.mutable_device_wrench()->Add(row.device.force.begin(), row.device.force.end());
  out.set_device_bits(row.device.bits);
  out.set_buttons(row.device.buttons);
  out.set_given_j(row.device.given);
  out.set_taken_j(row.device.taken);
  out.set_round_trip_s(row.device.round_trip);
  out.set_stiffness_n_per_m(row.gains.stiffness);
  fill_planes(row, out);
}

static_assert(kToolEngaged == std::uint32_t{v1::TOOL_ENGAGED} && kToolRampIn == std::uint32_t{v1::TOOL_RAMP_IN} &&
              kToolRampOut == std::uint32_t{v1::TOOL_RAMP_OUT} && kToolLost == std::uint32_t{v1::TOOL_LOST} &&
              kToolForceLimited == std::uint32_t{v1::TOOL_FORCE_LIMITED} &&
              kToolSpeedLimited == std::uint32_t{v1::TOOL_SPEED_LIMITED} &&
              kToolSwept == std::uint32_t{v1::TOOL_SWEPT} &&
              kToolGainsLimited == std::uint32_t{v1::TOOL_GAINS_LIMITED} &&
              kToolGateActed == std::uint32_t{v1::TOOL_GATE_ACTED} &&
              kDeviceAnchored == std::uint32_t{v1::DEVICE_ANCHORED});
static_assert(static_cast<int>(ToolMode::local) == v1::TOOL_LOCAL &&
              static_cast<int>(ToolMode::direct) == v1::TOOL_DIRECT &&
              static_cast<int>(ToolMode::wave) == v1::TOOL_WAVE);

}  // namespace

// What needs no lease first: a datagram that is malformed says so whoever sent it.
v1::VerdictCode RealtimePort::check_device(const Session& session, std::uint64_t now) {
  const v1::DevicePacket& p = device_;
  const bool counts = p.pose_size() == 7 && p.velocity_size() == 6 && (p.wave_size() == 0 || p.wave_size() == 6) &&
                      (p.wrench_size() == 0 || p.wrench_size() == 6);
  if (!counts) return v1::VERDICT_REFUSED_WRONG_COUNT;
  for (const double x : {p.stiffness_share(), p.given_j(), p.taken_j(), p.round_trip_s()}) {
    if (!std::isfinite(x)) return v1::VERDICT_REFUSED_NOT_FINITE;
  }
  if (!finite(p.pose()) || !finite(p.velocity()) || !finite(p.wave()) || !finite(p.wrench()))
    return v1::VERDICT_REFUSED_NOT_FINITE;
  double norm2 = 0;
  for (int i = 3; i < 7; ++i) norm2 += p.pose(i) * p.pose(i);
  if (!(norm2 > 0.81 && norm2 < 1.21) || !bounded(p.pose(), kPlaceMax) || !bounded(p.velocity(), kVelocityMax) ||
      !bounded(p.wave(), kWaveMax) || p.sample() == 0 || !(p.stiffness_share() >= 0 && p.stiffness_share() <= 1))
    return v1::VERDICT_REFUSED_OUT_OF_RANGE;
  if (p.scene_epoch() != hub_.scene.epoch) return v1::VERDICT_REFUSED_STALE_EPOCH;
  if (!hub_.tools.holds(p.tool(), session.slot())) return v1::VERDICT_REFUSED_NOT_LEASED;
  const Channel channel = hub_.scene.tool_channel(hub_.tools[p.tool()].body);
  return hub_.authority.holds(session.slot(), channel, now) ? v1::VERDICT_NONE : v1::VERDICT_REFUSED_NOT_LEASED;
}

void RealtimePort::handle_device(Session& session, std::uint64_t sequence, std::span<const std::uint8_t> payload,
                                 std::uint64_t now) {
  if (!device_.ParseFromArray(payload.data(), static_cast<int>(payload.size())))
    return refuse_command(session, sequence, {v1::VERDICT_REFUSED_MALFORMED, 0});
  session.saw_datagram(sequence, device_.client_send_ns(), now);
  if (const v1::VerdictCode code = check_device(session, now); code != v1::VERDICT_NONE)
    return refuse_command(session, sequence, {code, 0});
  Command command;
  command.kind = Command::Kind::device;
  command.client = session.slot();
  command.epoch = device_.scene_epoch();
  command.ticket = sequence;
  command.received_ns = now;
  command.device = to_row(device_);
  if (!hub_.tick.push_wrench({&command, 1})) refuse_command(session, sequence, {v1::VERDICT_REFUSED_QUEUE_FULL, 0});
}

void RealtimePort::publish_own_tools(Session& session, const StateSlot& slot) {
  if (!slot.frame.advanced) return;
  for (std::uint32_t i = 0; i < slot.tool_count; ++i) {
    if (hub_.tools.holds(slot.tools[i].tool, session.slot())) send_tool(session, 0, slot, slot.tools[i]);
  }
}

void RealtimePort::publish_tools(Session& session, std::uint32_t subscription, const StateSlot& slot) {
  for (std::uint32_t i = 0; i < slot.tool_count; ++i) send_tool(session, subscription, slot, slot.tools[i]);
}

void RealtimePort::send_tool(Session& session, std::uint32_t subscription, const StateSlot& slot, const ToolRow& row) {
  tool_.Clear();
  tool_.set_scene_epoch(slot.frame.epoch);
  tool_.set_tick(slot.frame.tick);
  tool_.set_send_ns(now_ns());
  tool_.set_subscription(subscription);
  fill(row, tool_);
  const std::size_t length = tool_.ByteSizeLong();
  if (length > kStatePayloadMax && !session.framed) {  // the farthest planes are left out
    while (tool_.ByteSizeLong() > kStatePayloadMax && tool_.plane_key_size() > 0) {
      tool_.mutable_plane_key()->RemoveLast();
      tool_.mutable_plane()->Truncate(tool_.plane_size() - 11);
      tool_.mutable_plane_moving()->pop_back();
    }
  }
  const std::size_t size = tool_.ByteSizeLong();
  TACTUS_ASSERT(size <= kStatePayloadMax || session.framed);
  if (session.framed) {
    const auto to = hub_.connection(session.slot());
    framed_.resize(size);
    tool_.SerializeWithCachedSizesToArray(framed_.data());
    const std::uint64_t key = std::uint64_t{subscription} << 32 | row.tool;
    if (to) to->send_realtime(wire::DatagramType::tool, key, {framed_.data(), size});
    return;
  }
  tool_.SerializeWithCachedSizesToArray(out_.data() + wire::kHeaderBytes);
  send(session, wire::DatagramType::tool, size);
}

}  // namespace tactus::net
