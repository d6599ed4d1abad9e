// DEVICE and TOOL as plain values.
#include "tactus/haptic/link.h"

namespace tactus::haptic {
namespace {

template <class Column>
void add(Column* out, const Vec3& x) {
  for (int i = 0; i < 3; ++i) out->Add(static_cast<typename Column::value_type>(x[i]));
}
template <class Column>
Vec3 vec(const Column& column, int first) {
  return {static_cast<double>(column.Get(first)), static_cast<double>(column.Get(first + 1)),
          static_cast<double>(column.Get(first + 2))};
}

std::string wire_name(std::string name) {
  for (char& x : name) {
    const bool plain = (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || (x >= '0' && x <= '9');
    if (!plain && x != '_' && x != '.' && x != '-') x = '-';
  }
  return name.empty() ? "device" : name.substr(0, 64);
}

}  // namespace

void fill(const DeviceMessage& m, std::uint32_t epoch, std::uint32_t tool, v1::DevicePacket& out) {
  out.Clear();
  out.set_scene_epoch(epoch);
  out.set_client_send_ns(static_cast<std::uint64_t>(client::now_ns()));
  out.set_tool(tool);
  out.set_grip(m.grip);
  out.set_sample(m.sample);
  out.set_tick_echo(m.tick_echo);
  out.set_bits(m.bits);
  out.set_buttons(m.buttons);
  out.set_stiffness_share(m.stiffness_share);
  out.set_given_j(m.given);
  out.set_port_in_j(m.port_in);
  out.set_taken_j(m.taken);
  out.set_round_trip_s(m.round_trip_s);
  add(out.mutable_pose(), m.X_WR.p);
  for (const double x : {m.X_WR.q.w(), m.X_WR.q.x(), m.X_WR.q.y(), m.X_WR.q.z()}) out.add_pose(x);
  add(out.mutable_velocity(), m.V_WR.v);
  add(out.mutable_velocity(), m.V_WR.w);
  for (const double x : m.wave) out.add_wave(x);
  add(out.mutable_wrench(), m.F_H.force);
  add(out.mutable_wrench(), m.F_H.torque);
}

bool read(const v1::ToolPacket& p, ToolMessage& m) {
  const int planes = p.plane_key_size();
  if (p.pose_size() != 7 || p.velocity_size() != 6 || p.wrench_size() != 6 || p.plane_size() != 11 * planes ||
      static_cast<int>(p.plane_moving().size()) != planes || (p.wave_size() != 0 && p.wave_size() != 6))
    return false;
  m.tick = p.tick();
  m.sample_echo = p.sample_echo();
  m.age = p.age_ticks();
  m.grip = p.grip();
  m.bits = p.bits();
  m.X_WT.p = vec(p.pose(), 0);
  m.X_WT.q = Quat(p.pose(3), p.pose(4), p.pose(5), p.pose(6));
  m.V_WT = {vec(p.velocity(), 0), vec(p.velocity(), 3)};
  m.F_T = {vec(p.wrench(), 0), vec(p.wrench(), 3)};
  m.wave.fill(0);
  for (int i = 0; i < p.wave_size(); ++i) m.wave[static_cast<std::size_t>(i)] = p.wave(i);
  m.gains.stiffness = p.stiffness_n_per_m();
  m.declared = p.declared_j();
  m.port_in = p.port_in_j();
  m.planes.clear();
  for (int i = 0; i < planes; ++i) {
    Plane plane;
    plane.key = p.plane_key(i);
    plane.n_W = vec(p.plane(), 11 * i);
    plane.p_W = vec(p.plane(), 11 * i + 3);
    plane.c_T = vec(p.plane(), 11 * i + 6);
    plane.v_n = p.plane(11 * i + 9);
    plane.mu = p.plane(11 * i + 10);
    const char flags = p.plane_moving()[static_cast<std::size_t>(i)];
    plane.moving = (flags & 1) != 0;
    plane.on_tool = (flags & 2) != 0;
    m.planes.push_back(plane);
  }
  return true;
}

void fill(const Capabilities& c, v1::DeviceCapabilities& out) {
  out.set_name(wire_name(c.name));
  out.set_axes_sensed(static_cast<std::uint32_t>(c.axes_sensed));
  out.set_axes_actuated(static_cast<std::uint32_t>(c.axes_actuated));
  out.set_admittance(c.admittance);
  out.set_force_max_n(c.force_max);
  out.set_torque_max_n_m(c.torque_max);
  out.set_mass_kg(c.mass);
  out.set_damping_n_s_per_m(c.damping);
  out.set_stiffness_max_n_per_m(c.stiffness_max);
  out.set_damping_max_n_s_per_m(c.damping_max);
  out.set_inertia_kg_m2(c.inertia);
  out.set_turn_damping_n_m_s_per_rad(c.turn_damping);
  out.set_turn_stiffness_max_n_m_per_rad(c.turn_stiffness_max);
  out.set_workspace_radius_m(c.workspace_radius);
  out.set_rate_hz(c.rate_hz);
  out.set_delay_s(c.delay_s);
}

LoopOptions loop_options(const Capabilities& c, const v1::ToolAttached& a, const LinkOptions& wishes) {
  LoopOptions o;
  o.mode = static_cast<Mode>(a.mode());
  o.period = 1 / c.rate_hz;
  o.gains = {a.stiffness_n_per_m(), a.damping_n_s_per_m(), a.turn_stiffness_n_m_per_rad(),
             a.turn_damping_n_m_s_per_rad()};
  o.position_scale = wishes.position_scale;
  o.q_WD = wishes.q_WD;
  o.force_limit = c.axes_actuated > 0 ? a.force_limit_n() : 0;
  o.torque_limit = c.axes_actuated == 6 ? a.torque_limit_n_m() : 0;
  o.ramp_out_s = a.ramp_s();
  o.watchdog_s = a.watchdog_s();
  o.mass = c.mass;
  o.inertia = c.inertia;
  o.damping = c.damping;
  o.deadband = a.deadband();
  o.passivity = a.passivity();
  o.passivity_round_trip = a.passivity_round_trip_s();
  o.wave_impedance = a.wave_impedance_n_s_per_m();
  o.turn_impedance = a.turn_impedance_n_m_s_per_rad();
  return o;
}

}  // namespace tactus::haptic
