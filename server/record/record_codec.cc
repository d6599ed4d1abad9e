#include "server/record/record_codec.h"

#include <array>
#include <cstring>
#include <span>
#include <type_traits>

#include "core/check.h"
#include "server/record/keyframe.h"

namespace tactus::record {
namespace {

static_assert(std::is_trivially_copyable_v<StateFrame> && std::is_trivially_copyable_v<RecordRow>);

constexpr std::size_t kPose = 7, kVelocity = 6;

// joint_command, joint_release, joint_acts: whatever else of a RecordRow they have.
struct JointRowBytes {
  std::uint64_t tick, ticks;
  std::array<double, 3> value;
  JointIndex joint;
  std::uint32_t bits;
  RecordRow::Kind kind;
  std::uint8_t mode;
  std::array<std::uint8_t, 6> unused;
};
static_assert(std::is_trivially_copyable_v<ContactRow>);
static_assert(std::is_trivially_copyable_v<JointSample> && sizeof(JointRowBytes) == 56);

bool is_short(RecordRow::Kind kind) {
  return kind == RecordRow::Kind::joint_command || kind == RecordRow::Kind::joint_release ||
         kind == RecordRow::Kind::joint_acts;
}

// The next so many doubles of `bytes` into a packed column.
void take_column(Bytes& bytes, std::size_t count, google::protobuf::RepeatedField<double>& out) {
  TACTUS_ASSERT(bytes.size() >= count * sizeof(double));
  out.Resize(static_cast<int>(count), 0.0);
  if (count > 0) std::memcpy(out.mutable_data(), bytes.data(), count * sizeof(double));
  bytes = bytes.subspan(count * sizeof(double));
}

void to_joints(Bytes bytes, std::uint32_t count, v1::StatePacket& out) {
  TACTUS_ASSERT(bytes.size() >= count * sizeof(JointSample));
  for (std::uint32_t i = 0; i < count; ++i) {
    JointSample joint;
    std::memcpy(&joint, bytes.data() + i * sizeof joint, sizeof joint);
    out.add_joint_id(i);
    for (const double x : {joint.q, joint.v, joint.effort, joint.external_effort}) out.add_joint(x);
    out.add_joint_bits(joint.bits);
    out.add_joint_missed(joint.missed);
  }
}

void to_contacts(Bytes bytes, std::uint32_t count, v1::StatePacket& out) {
  TACTUS_ASSERT(bytes.size() >= count * sizeof(ContactRow));
  for (std::uint32_t i = 0; i < count; ++i) {
    ContactRow row;
    std::memcpy(&row, bytes.data() + i * sizeof row, sizeof row);
    out.add_contact_body_a(row.body_a);
    out.add_contact_body_b(row.body_b);
    for (const float x : row.value) out.add_contact(x);
    out.mutable_contact_phase()->push_back(static_cast<char>(row.phase));
  }
}

void to_exact(const ExactReport& e, v1::StatePacket& out) {
  out.set_exact_pieces(e.pieces);
  out.set_exact_collisions(e.collisions);
  out.set_exact_evaluations(e.evaluations);
  out.set_exact_bisections(e.bisections);
  out.set_exact_breaks(e.breaks);
  out.set_exact_stops(e.stops);
  out.set_exact_unresolved(e.unresolved);
  out.set_exact_exhausted(e.exhausted);
  out.set_exact_event_time_s(e.event_time);
}

void to_state(Bytes bytes, v1::StatePacket& out) {
  StateFrame f;
  TACTUS_ASSERT(bytes.size() >= sizeof f);
  std::memcpy(&f, bytes.data(), sizeof f);
  bytes = bytes.subspan(sizeof f);
  out.set_scene_epoch(f.epoch);
  out.set_tick(f.tick);
  out.set_parts(1);
  out.set_sim_time_s(f.sim_time);
  out.set_tick_start_ns(f.tick_start_ns);
  out.set_status_bits(f.status_bits);
  out.set_real_time_factor(f.real_time_factor);
  out.set_ticks_missed(f.ticks_missed);
  for (std::uint32_t b = 0; b < f.body_count; ++b) out.add_body_id(b);
  take_column(bytes, kPose * f.body_count, *out.mutable_pose());
  take_column(bytes, kVelocity * f.body_count, *out.mutable_velocity());
  to_joints(bytes, f.joint_count, out);
  to_contacts(bytes.subspan(f.joint_count * sizeof(JointSample)), f.contact_count, out);
  out.set_contacts(f.report.contacts);
  out.set_contacts_dropped(f.report.points_dropped + f.report.pairs_dropped);
  out.set_penetration_max_m(static_cast<float>(f.report.depth_max));
  out.set_kinetic_energy_j(static_cast<float>(f.kinetic_energy));
  out.set_work_us(f.work_us);
  out.set_wake_late_us(f.wake_late_us);
  out.set_solver_failures(f.report.solver_failures);
  out.set_solver_fallbacks(f.report.solver_fallbacks);
  out.set_inconsistent(f.report.inconsistent);
  out.set_indeterminate(f.report.indeterminate);
  to_exact(f.report.exact, out);
}

v1::TickMark::Kind mark_of(const RecordRow& row) {
  if (row.kind == RecordRow::Kind::adopted) return v1::TickMark::ADOPTED;
  if (row.kind == RecordRow::Kind::begun) return v1::TickMark::BEGUN;
  if (row.kind == RecordRow::Kind::model) return v1::TickMark::MODEL;
  if (row.kind == RecordRow::Kind::lost) return v1::TickMark::LOST;
  switch (row.what) {
    case Notice::Kind::done:
      return v1::TickMark::OPERATION;
    case Notice::Kind::channel_expired:
      return v1::TickMark::CHANNEL_EXPIRED;
    case Notice::Kind::body_frozen:
      return v1::TickMark::BODY_FROZEN;
    case Notice::Kind::fault:
      return v1::TickMark::FAULT;
    default:
      return v1::TickMark::NONE;
  }
}

void to_applied(const JointRowBytes& row, v1::AppliedJoint& out) {
  out.set_tick(row.tick);
  out.set_joint_id(row.joint);
  out.set_mode(row.mode);
  out.set_value(row.value[0]);
  out.set_rate(row.value[1]);
  out.set_bits(row.bits);
  out.set_brake(row.value[2]);
}

void to_joint_row(Bytes bytes, v1::Record& out) {
  JointRowBytes row{};
  TACTUS_ASSERT(bytes.size() == sizeof row);
  std::memcpy(&row, bytes.data(), sizeof row);
  if (row.kind == RecordRow::Kind::joint_acts) return to_applied(row, *out.mutable_joint());
  const bool command = row.kind == RecordRow::Kind::joint_command;
  v1::JointInput* input = out.mutable_joint_input();
  input->set_kind(command ? v1::JointInput::COMMAND : v1::JointInput::RELEASE);
  input->set_tick(row.tick);
  input->set_joint_id(row.joint);
  if (!command) return;
  input->set_mode(row.mode);
  input->set_value(row.value[0]);
  input->set_rate(row.value[1]);
  input->set_ticks(row.ticks);
}

// The rare rows of joints.
void to_input(const RecordRow& row, v1::JointInput& out) {
  out.set_tick(row.tick);
  if (row.joint != kNone) out.set_joint_id(row.joint);
  if (row.kind == RecordRow::Kind::joint_time) {
    out.set_kind(v1::JointInput::TIME);
    out.set_ticks(row.number);
  } else if (row.kind == RecordRow::Kind::robot_recover) {
    out.set_kind(v1::JointInput::RECOVER);
  } else {
    out.set_kind(v1::JointInput::OPTIONS);
    ChannelOptions options;
    options.missed = static_cast<MissedPolicy>(row.mode);
    options.tolerance_ticks = static_cast<std::uint32_t>(row.number >> 32);
    options.fault_ticks = static_cast<std::uint32_t>(row.number);
    options.ramp = row.value[0], options.cutoff = row.value[1];
    options.effort_limit = row.value[2], options.effort_rate_limit = row.value[3];
    options.velocity_limit = row.value[4];
    write_options(options, *out.mutable_options());
  }
}

void to_row(Bytes bytes, v1::Record& out) {
  RecordRow row;
  TACTUS_ASSERT(bytes.size() == sizeof row);
  std::memcpy(&row, bytes.data(), sizeof row);
  if (row.kind >= RecordRow::Kind::joint_command) {
    to_input(row, *out.mutable_joint_input());
  } else if (row.kind == RecordRow::Kind::wrench) {
    v1::AppliedWrench* wrench = out.mutable_wrench();
    wrench->set_tick(row.tick);
    wrench->set_body_id(row.body);
    for (const double x : row.value) wrench->add_wrench(x);
  } else if (row.kind == RecordRow::Kind::hash) {
    out.mutable_hash()->set_tick(row.tick);
    out.mutable_hash()->set_hash(row.number);
  } else {
    v1::TickMark* mark = out.mutable_mark();
    mark->set_kind(mark_of(row));
    mark->set_tick(row.tick);
    if (row.body != kNoBody) mark->set_body_id(row.body);
    if (mark->kind() == v1::TickMark::ADOPTED) mark->set_ok(row.ok);
    if (mark->kind() != v1::TickMark::OPERATION && mark->kind() != v1::TickMark::MODEL) return;
    mark->set_model(to_string(static_cast<ContactModelKind>(row.mode)));
    mark->set_slow_ticks(row.bits);
    if (mark->kind() == v1::TickMark::MODEL) return;
    mark->set_ticket(row.number);
    mark->set_ok(row.ok);
    mark->set_what(name_of(row.command));
  }
}

}  // namespace

std::size_t state_bytes(std::size_t bodies, std::size_t joints) {
  return sizeof(BlackBox::Entry) + sizeof(StateFrame) + (kPose + kVelocity) * sizeof(double) * bodies +
         sizeof(JointSample) * joints;
}

std::size_t joint_row_bytes() {
  return 2 * (sizeof(BlackBox::Entry) + 64);  // as given and as applied; entries are padded to 16 bytes
}

bool append_row(BlackBox& box, double time, const RecordRow& row) {
  if (!is_short(row.kind))
    return box.append(static_cast<std::uint16_t>(Kind::row), time, {std::as_bytes(std::span(&row, 1))});
  const JointRowBytes bytes{
      row.tick, row.number, {row.value[0], row.value[1], row.value[2]}, row.joint, row.bits, row.kind, row.mode, {}};
  return box.append(static_cast<std::uint16_t>(Kind::joint_row), time, {std::as_bytes(std::span(&bytes, 1))});
}

bool append_state(BlackBox& box, double time, Bytes state) {
  return box.append(static_cast<std::uint16_t>(Kind::state), time, {state});
}

bool to_record(const BlackBox::Entry& entry, Bytes bytes, v1::Record& out) {
  out.Clear();
  switch (static_cast<Kind>(entry.kind)) {
    case Kind::state:
      to_state(bytes, *out.mutable_state());
      return true;
    case Kind::row:
      to_row(bytes, out);
      return true;
    case Kind::joint_row:
      to_joint_row(bytes, out);
      return true;
    case Kind::message:
      return out.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  }
  return false;
}

const char* name_of(Command::Kind kind) {
  using K = Command::Kind;
  switch (kind) {
    case K::pause:
      return "pause";
    case K::resume:
      return "resume";
    case K::step:
      return "step";
    case K::lockstep_on:
      return "lockstep_on";
    case K::swap_world:
      return "load_scene";
    case K::reset:
      return "reset";
    case K::snapshot:
      return "snapshot";
    case K::restore:
      return "restore";
    case K::set_model:
      return "set_model";
    case K::set_shadow:
      return "set_shadow";
    case K::set_parameters:
      return "set_parameter";
    case K::set_joint_options:
      return "set_joint_options";
    case K::recover_robot:
      return "recover_fault";
    default:
      return "other";
  }
}

}  // namespace tactus::record
