#include "clients/cpp/src/assembler.h"

#include <algorithm>

namespace tactus::client {
namespace {

constexpr int kJoint = 4, kSensor = 6, kEndEffector = 19, kJacobian = 6;
constexpr int kPose = 7, kVelocity = 6, kWrench = 6, kContact = 10;

// A column is absent or has one row per body.
bool column_fits(int size, int stride, int rows) {
  return size == 0 || size == stride * rows;
}

bool robots_fit(const v1::StatePacket& p) {
  const int n = p.joint_id_size(), s = p.sensor_id_size(), e = p.end_effector_id_size(), j = p.jacobian_dof_size();
  const bool joints = p.joint_size() == kJoint * n || (p.joint_size() == 0 && p.joint_f_size() == kJoint * n);
  const bool sensors = p.sensor_size() == kSensor * s || (p.sensor_size() == 0 && p.sensor_f_size() == kSensor * s);
  return joints && sensors && p.joint_bits_size() == n && p.joint_missed_size() == n &&
         p.end_effector_size() == kEndEffector * e && p.jacobian_end_effector_size() == j &&
         p.jacobian_size() == kJacobian * j;
}

bool columns_fit(const v1::StatePacket& p) {
  const int n = p.body_id_size(), c = p.contact_body_a_size();
  const bool poses = p.pose_size() == kPose * n || (p.pose_size() == 0 && p.pose_f_size() == kPose * n);
  return poses && robots_fit(p) && column_fits(p.velocity_size(), kVelocity, n) &&
         column_fits(p.velocity_f_size(), kVelocity, n) && column_fits(p.wrench_size(), kWrench, n) &&
         column_fits(p.wrench_f_size(), kWrench, n) && p.contact_body_b_size() == c && p.contact_size() == kContact * c;
}

template <class Column>
Vec3 three(const Column& column, int at) {
  return {column.Get(at), column.Get(at + 1), column.Get(at + 2)};
}

template <class Column>
void six(const Column& column, int row, Vec3& first, Vec3& second) {
  if (column.empty()) return;
  first = three(column, 6 * row);
  second = three(column, 6 * row + 3);
}

template <class Column>
void read_pose(const Column& column, int row, BodyState& body) {
  const int at = kPose * row;
  body.p_WB = three(column, at);
  body.q_WB = {column.Get(at + 3), column.Get(at + 4), column.Get(at + 5), column.Get(at + 6)};
}

void add_bodies(const v1::StatePacket& p, State& state) {
  for (int i = 0; i < p.body_id_size(); ++i) {
    BodyState body;
    body.id = p.body_id(i);
    if (p.pose_size() > 0)
      read_pose(p.pose(), i, body);
    else
      read_pose(p.pose_f(), i, body);
    six(p.velocity(), i, body.v_WB, body.w_WB);
    six(p.velocity_f(), i, body.v_WB, body.w_WB);
    six(p.wrench(), i, body.f_Bcm_W, body.t_B_W);
    six(p.wrench_f(), i, body.f_Bcm_W, body.t_B_W);
    state.bodies.push_back(body);
  }
}

template <class Column>
void add_joints(const v1::StatePacket& p, const Column& values, State& state) {
  for (int i = 0; i < p.joint_id_size(); ++i) {
    const int at = kJoint * i;
    state.joints.push_back({p.joint_id(i), values.Get(at), values.Get(at + 1), values.Get(at + 2), values.Get(at + 3),
                            p.joint_bits(i), p.joint_missed(i)});
  }
}

template <class Column>
void add_sensors(const v1::StatePacket& p, const Column& values, State& state) {
  for (int i = 0; i < p.sensor_id_size(); ++i) {
    SensorState sensor;
    sensor.id = p.sensor_id(i);
    for (int k = 0; k < kSensor; ++k) sensor.value[static_cast<std::size_t>(k)] = values.Get(kSensor * i + k);
    state.sensors.push_back(sensor);
  }
}

void add_robots(const v1::StatePacket& p, State& state) {
  if (p.joint_size() > 0)
    add_joints(p, p.joint(), state);
  else
    add_joints(p, p.joint_f(), state);
  if (p.sensor_size() > 0)
    add_sensors(p, p.sensor(), state);
  else
    add_sensors(p, p.sensor_f(), state);
  for (int i = 0; i < p.end_effector_id_size(); ++i) {
    const auto& x = p.end_effector();
    const int at = kEndEffector * i;
    state.end_effectors.push_back({p.end_effector_id(i),
                                   three(x, at),
                                   {x.Get(at + 3), x.Get(at + 4), x.Get(at + 5), x.Get(at + 6)},
                                   three(x, at + 7),
                                   three(x, at + 10),
                                   three(x, at + 13),
                                   three(x, at + 16)});
  }
  for (int i = 0; i < p.jacobian_dof_size(); ++i)
    state.jacobian.push_back({p.jacobian_end_effector(i), p.jacobian_dof(i), three(p.jacobian(), kJacobian * i),
                              three(p.jacobian(), kJacobian * i + 3)});
}

void add_contacts(const v1::StatePacket& p, State& state) {
  for (int i = 0; i < p.contact_body_a_size(); ++i) {
    const int at = kContact * i;
    Contact contact;
    contact.body_a = p.contact_body_a(i);
    contact.body_b = p.contact_body_b(i);
    contact.p_WC = three(p.contact(), at);
    contact.nhat_BA_W = three(p.contact(), at + 3);
    contact.f_AC_W = three(p.contact(), at + 6);
    contact.depth = p.contact(at + 9);
    state.contacts.push_back(contact);
  }
}

// What each part repeats; the newest part wins (its echo and send time are the freshest).
void read_head(const v1::StatePacket& p, State& state) {
  state.scene_epoch = p.scene_epoch();
  state.tick = p.tick();
  state.sim_time_s = p.sim_time_s();
  state.tick_start_ns = static_cast<std::int64_t>(p.tick_start_ns());
  state.send_ns = static_cast<std::int64_t>(p.send_ns());
  state.subscription = p.subscription();
  state.status_bits = p.status_bits();
  state.real_time_factor = p.real_time_factor();
  state.ticks_missed = p.ticks_missed();
  state.echo_client_send_ns = static_cast<std::int64_t>(p.echo_client_send_ns());
  state.echo_server_recv_ns = static_cast<std::int64_t>(p.echo_server_recv_ns());
  state.echo_sequence = p.echo_sequence();
  state.contact_count = p.contacts();
  state.contacts_dropped = p.contacts_dropped();
  state.solver_failures = p.solver_failures();
  state.solver_fallbacks = p.solver_fallbacks();
  state.inconsistent = p.inconsistent();
  state.indeterminate = p.indeterminate();
  state.exact = {p.exact_pieces(), p.exact_collisions(), p.exact_evaluations(), p.exact_bisections(),  p.exact_breaks(),
                 p.exact_stops(),  p.exact_unresolved(), p.exact_exhausted(),   p.exact_event_time_s()};
  state.penetration_max_m = p.penetration_max_m();
  state.kinetic_energy_j = p.kinetic_energy_j();
  state.work_us = p.work_us();
  state.wake_late_us = p.wake_late_us();
  state.up_lost = p.up_lost();
}

}  // namespace

bool Assembler::Slot::matches(const v1::StatePacket& p) const {
  return state && state->tick == p.tick() && state->scene_epoch == p.scene_epoch() &&
         state->subscription == p.subscription() && parts == p.parts() &&
         state->tick_start_ns == static_cast<std::int64_t>(p.tick_start_ns());
}

Assembler::Slot& Assembler::slot_for(const v1::StatePacket& p) {
  for (Slot& slot : slots_)
    if (slot.matches(p)) return slot;
  Slot& slot = *std::min_element(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) {
    return (a.state ? a.touched : 0) < (b.state ? b.touched : 0);
  });
  if (slot.state) ++incomplete_;
  slot.state = std::make_shared<State>();
  slot.parts = p.parts();
  slot.received = 0;
  slot.have.assign(p.parts(), false);
  return slot;
}

std::shared_ptr<State> Assembler::add(const v1::StatePacket& p, std::uint64_t sequence, std::int64_t receive_ns) {
  if (p.parts() == 0 || p.parts() > kPartsMax || p.part() >= p.parts() || !columns_fit(p)) {
    ++malformed_;
    return nullptr;
  }
  Slot& slot = slot_for(p);
  if (slot.have[p.part()]) return nullptr;
  slot.have[p.part()] = true;
  slot.touched = ++clock_;
  State& state = *slot.state;
  if (sequence > state.sequence) {
    read_head(p, state);
    state.sequence = sequence;
  }
  state.receive_ns = receive_ns;
  add_bodies(p, state);
  add_contacts(p, state);
  add_robots(p, state);
  if (++slot.received < slot.parts) return nullptr;

  std::shared_ptr<State> done = std::move(slot.state);
  slot.state = nullptr;
  if (done->sequence < last_sequence_) {
    ++late_;
    return nullptr;
  }
  last_sequence_ = done->sequence;
  // A part that is missing from an older tick will not make that tick newer: give it up.
  for (Slot& other : slots_) {
    if (!other.state || other.state->sequence > done->sequence) continue;
    other.state = nullptr;
    ++incomplete_;
  }
  const auto by_id = [](const BodyState& a, const BodyState& b) { return a.id < b.id; };
  if (!std::is_sorted(done->bodies.begin(), done->bodies.end(), by_id))
    std::sort(done->bodies.begin(), done->bodies.end(), by_id);
  const auto by_joint = [](const JointState& a, const JointState& b) { return a.id < b.id; };
  std::sort(done->joints.begin(), done->joints.end(), by_joint);
  return done;
}

}  // namespace tactus::client
