#include "server/net/udp/device_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "proto/cpp/ranges.h"

namespace tactus::net {
namespace {

// What the table says of DEVICE, found when it is compiled.
constexpr auto kPoseRange = wire::range_of("DevicePacket.pose"),
               kVelocityRange = wire::range_of("DevicePacket.velocity"),
               kWaveRange = wire::range_of("DevicePacket.wave"), kWrenchRange = wire::range_of("DevicePacket.wrench"),
               kSampleRange = wire::range_of("DevicePacket.sample"),
               kCountRange = wire::range_of("DevicePacket.band_seen"),
               kShareRange = wire::range_of("DevicePacket.stiffness_share"),
               kLedgerRange = wire::range_of("DevicePacket.given_j");
static_assert(wire::range_of("DevicePacket.band_sent").high == kCountRange.high);

template <class Column>
bool bounded(const Column& column, const wire::Range& range) {
  return std::all_of(column.begin(), column.end(), [&range](double x) { return range.holds(x); });
}
template <class Column>
bool finite(const Column& column) {
  return std::all_of(column.begin(), column.end(), [](double x) { return std::isfinite(x); });
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

static_assert(kToolEngaged == std::uint32_t{v1::TOOL_ENGAGED} && kToolRampIn == std::uint32_t{v1::TOOL_RAMP_IN} &&
              kToolRampOut == std::uint32_t{v1::TOOL_RAMP_OUT} && kToolLost == std::uint32_t{v1::TOOL_LOST} &&
              kToolForceLimited == std::uint32_t{v1::TOOL_FORCE_LIMITED} &&
              kToolSpeedLimited == std::uint32_t{v1::TOOL_SPEED_LIMITED} &&
              kToolSwept == std::uint32_t{v1::TOOL_SWEPT} &&
              kToolGainsLimited == std::uint32_t{v1::TOOL_GAINS_LIMITED} &&
              kToolGateActed == std::uint32_t{v1::TOOL_GATE_ACTED} && kToolSlow == std::uint32_t{v1::TOOL_SLOW} &&
              kToolDoubted == std::uint32_t{v1::TOOL_DOUBTED} && kDeviceAnchored == std::uint32_t{v1::DEVICE_ANCHORED});
static_assert(static_cast<int>(ToolMode::local) == v1::TOOL_LOCAL &&
              static_cast<int>(ToolMode::direct) == v1::TOOL_DIRECT &&
              static_cast<int>(ToolMode::wave) == v1::TOOL_WAVE);

}  // namespace

v1::VerdictCode check(const v1::DevicePacket& p) {
  const bool counts = p.pose_size() == 7 && p.velocity_size() == 6 && (p.wave_size() == 0 || p.wave_size() == 6) &&
                      (p.wrench_size() == 0 || p.wrench_size() == 6);
  if (!counts) return v1::VERDICT_REFUSED_WRONG_COUNT;
  const std::array ledgers{p.given_j(), p.taken_j(), p.round_trip_s(), p.band_error(), p.port_in_j()};
  if (!finite(ledgers) || !std::isfinite(p.stiffness_share()) || !finite(p.pose()) || !finite(p.velocity()) ||
      !finite(p.wave()) || !finite(p.wrench()))
    return v1::VERDICT_REFUSED_NOT_FINITE;
  double norm2 = 0;
  for (int i = 3; i < 7; ++i) norm2 += p.pose(i) * p.pose(i);
  const auto count = [](std::uint64_t x) { return static_cast<double>(x); };
  const bool in_range = norm2 > 0.81 && norm2 < 1.21 && bounded(p.pose(), kPoseRange) &&
                        bounded(p.velocity(), kVelocityRange) && bounded(p.wave(), kWaveRange) &&
                        bounded(p.wrench(), kWrenchRange) && bounded(ledgers, kLedgerRange) &&
                        kSampleRange.holds(count(p.sample())) && kCountRange.holds(count(p.band_seen())) &&
                        kCountRange.holds(count(p.band_sent())) && kShareRange.holds(p.stiffness_share());
  return in_range ? v1::VERDICT_NONE : v1::VERDICT_REFUSED_OUT_OF_RANGE;
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
  row.port_in = p.port_in_j();
  row.given = p.given_j();
  row.taken = p.taken_j();
  row.round_trip = p.round_trip_s();
  row.bits = p.bits();
  row.buttons = p.buttons();
  row.band_seen = p.band_seen();
  row.band_sent = p.band_sent();
  row.band_error = p.band_error();
  return row;
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
  out.set_port_in_j(r.port_in);
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
  out.set_wait_us(row.device.wait_us);
  out.set_device_band_seen(row.device.band_seen);
  out.set_device_band_sent(row.device.band_sent);
  out.set_device_band_error(row.device.band_error);
  fill_planes(row, out);
}

// In local mode the client uses the planes, in direct mode the wrench; bits that flicker with the force ask for
// nothing.
bool is_due(wire::ToolBand& band, const ToolRow& row) {
  constexpr std::uint32_t kFlickering = kToolForceLimited | kToolSpeedLimited | kToolSwept;
  const ToolReport& r = row.report;
  const wire::PoseRow X_WT{r.X_WT.p.x(), r.X_WT.p.y(), r.X_WT.p.z(), r.X_WT.q.w(),
                           r.X_WT.q.x(), r.X_WT.q.y(), r.X_WT.q.z()};
  wire::SixRow wrench{};
  std::array<wire::PlaneRow, wire::ToolBand::kPlanes> planes;
  std::size_t count = 0;
  for (int i = 0; i < 3 && row.mode == ToolMode::direct; ++i) {
    wrench[static_cast<std::size_t>(i)] = r.F_T_W.force[i];
    wrench[static_cast<std::size_t>(3 + i)] = r.F_T_W.torque[i];
  }
  std::uint64_t discrete = std::uint64_t{row.grip} << 32 | (r.bits & ~kFlickering);
  for (; count < row.plane_count && count < planes.size() && row.mode == ToolMode::local; ++count) {
    const ToolPlane& plane = row.planes[count];
    planes[count].key = plane.key;
    discrete ^= std::uint64_t{plane.on_tool} << (9 + count) ^ std::uint64_t{plane.moving} << (21 + count);
    for (int i = 0; i < 3; ++i) {
      planes[count].n[static_cast<std::size_t>(i)] = plane.nhat_W[i];
      planes[count].p[static_cast<std::size_t>(i)] = plane.p_W[i];
      planes[count].c[static_cast<std::size_t>(i)] = plane.c_T[i];
    }
  }
  return band.take(X_WT, wrench, planes.data(), count, discrete);
}

}  // namespace tactus::net
