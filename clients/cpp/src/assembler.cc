#include "clients/cpp/src/assembler.h"

#include <algorithm>

namespace tactus::client {
namespace {

constexpr int kPose = 7, kVelocity = 6, kWrench = 6, kContact = 10;

// A column is absent or has one row per body.
bool column_fits(int size, int stride, int rows) {
  return size == 0 || size == stride * rows;
}

bool columns_fit(const v1::StatePacket& p) {
  const int n = p.body_id_size(), c = p.contact_body_a_size();
  const bool poses = p.pose_size() == kPose * n || (p.pose_size() == 0 && p.pose_f_size() == kPose * n);
  return poses && column_fits(p.velocity_size(), kVelocity, n) && column_fits(p.velocity_f_size(), kVelocity, n) &&
         column_fits(p.wrench_size(), kWrench, n) && column_fits(p.wrench_f_size(), kWrench, n) &&
         p.contact_body_b_size() == c && p.contact_size() == kContact * c;
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
  return done;
}

}  // namespace tactus::client
