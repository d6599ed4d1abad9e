#include "server/record/record_codec.h"

#include <cstring>
#include <type_traits>

#include "core/check.h"

namespace tactus::record {
namespace {

static_assert(std::is_trivially_copyable_v<StateFrame> && std::is_trivially_copyable_v<RecordRow>);

constexpr std::size_t kPose = 7, kVelocity = 6;

Bytes bytes_of(const std::vector<double>& column, std::size_t count) {
  TACTUS_ASSERT(count <= column.size());
  return std::as_bytes(std::span<const double>(column.data(), count));
}

// The next so many doubles of `bytes` into a packed column.
void take_column(Bytes& bytes, std::size_t count, google::protobuf::RepeatedField<double>& out) {
  TACTUS_ASSERT(bytes.size() >= count * sizeof(double));
  out.Resize(static_cast<int>(count), 0.0);
  if (count > 0) std::memcpy(out.mutable_data(), bytes.data(), count * sizeof(double));
  bytes = bytes.subspan(count * sizeof(double));
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
}

v1::TickMark::Kind mark_of(const RecordRow& row) {
  if (row.kind == RecordRow::Kind::adopted) return v1::TickMark::ADOPTED;
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

void to_row(Bytes bytes, v1::Record& out) {
  RecordRow row;
  TACTUS_ASSERT(bytes.size() == sizeof row);
  std::memcpy(&row, bytes.data(), sizeof row);
  if (row.kind == RecordRow::Kind::wrench) {
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
    if (mark->kind() != v1::TickMark::OPERATION) return;
    mark->set_ticket(row.number);
    mark->set_ok(row.ok);
    mark->set_what(name_of(row.command));
  }
}

}  // namespace

std::size_t state_bytes(std::size_t bodies) {
  return sizeof(BlackBox::Entry) + sizeof(StateFrame) + (kPose + kVelocity) * sizeof(double) * bodies;
}

bool append_state(BlackBox& box, double time, const StateSlot& slot) {
  const std::size_t n = slot.frame.body_count;
  const Bytes frame = std::as_bytes(std::span<const StateFrame>(&slot.frame, 1));
  return box.append(static_cast<std::uint16_t>(Kind::state), time,
                    {frame, bytes_of(slot.pose, kPose * n), bytes_of(slot.velocity, kVelocity * n)});
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
    default:
      return "other";
  }
}

}  // namespace tactus::record
