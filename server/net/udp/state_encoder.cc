#include "server/net/udp/state_encoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/check.h"

namespace tactus::net {
namespace {

enum WireType : std::uint32_t { kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Appends fields in the order of their numbers. Scalars equal to zero (all bits) are left out, as proto3 does.
class FieldWriter {
 public:
  explicit FieldWriter(std::uint8_t* out) : begin_(out), at_(out) {}
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

  void fixed32(std::uint32_t field, std::uint32_t value) {
    if (value == 0) return;
    varint(field << 3 | kFixed32);
    put(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    if (value == 0) return;
    varint(field << 3 | kFixed64);
    put(value);
  }
  void real(std::uint32_t field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  void real(std::uint32_t field, float value) { fixed32(field, std::bit_cast<std::uint32_t>(value)); }
  // A packed column's tag and length; its elements follow by put(). Nothing may be left out, so an empty column must
  // not begin.
  void column(std::uint32_t field, std::size_t bytes) {
    varint(field << 3 | kBytes);
    varint(static_cast<std::uint32_t>(bytes));
  }
  template <typename T>
  void put(T value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void put(const void* data, std::size_t bytes) {
    std::memcpy(at_, data, bytes);
    at_ += bytes;
  }

 private:
  void varint(std::uint32_t value) {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<std::uint8_t>(value | 0x80);
    *at_++ = static_cast<std::uint8_t>(value);
  }
  std::uint8_t *begin_, *at_;
};

// Upper bounds of the parts of a packet [bytes]: scalars 1-14, 50-55 and 70; a column's tag and length.
constexpr std::size_t kScalarsMax = 102 + 36 + 6, kColumnHead = 4;
// Of the scalars that are mostly zero, and so left out: 56-59, 71-79 and 90.
std::size_t rare_scalars(const StateFrame& f) {
  const ExactReport& e = f.report.exact;
  std::size_t bytes = (f.play_time_ns != 0 ? 10 : 0) + (std::bit_cast<std::uint64_t>(e.event_time) != 0 ? 10 : 0);
  for (const std::uint32_t x :
       {f.report.solver_failures, f.report.solver_fallbacks, f.report.inconsistent, f.report.indeterminate, e.pieces,
        e.collisions, e.evaluations, e.bisections, e.breaks, e.stops, e.unresolved, e.exhausted})
    bytes += x != 0 ? 6 : 0;
  return bytes;
}
constexpr std::size_t kVerdictBytes = 8 + 4 + 8 + 4 + 4, kVerdictNumberBytes = 10, kContactBytes = 4 + 4 + 40 + 1;

std::size_t body_bytes(const SubscriptionSpec& spec) {
  const std::size_t number = spec.single_precision ? 4 : 8;
  return 4 + number * (7 + (spec.velocity ? 6 : 0) + (spec.wrench ? 6 : 0));
}
constexpr std::size_t kEndEffectorBytes = 4 + 8 * 19, kJacobianBytes = 4 + 4 + 8 * 6;
std::size_t joint_bytes(const SubscriptionSpec& spec) {
  return 4 + 4 * (spec.single_precision ? 4 : 8) + 4 + 4;
}
constexpr std::size_t kSensorWidth = 6;
std::size_t sensor_bytes(const SubscriptionSpec& spec) {
  return 4 + kSensorWidth * (spec.single_precision ? 4 : 8);
}
std::size_t room_for_rows(const SubscriptionSpec& spec, std::size_t verdicts, std::size_t payload_max) {
  const std::size_t head = kColumnHead + (payload_max < (1u << 14) ? 0 : 1);  // lengths of three bytes
  const std::size_t columns = 5 + 2 + (spec.velocity ? 1 : 0) + (spec.wrench ? 1 : 0) + (spec.contacts ? 4 : 0) +
                              (spec.joints.empty() ? 0 : 4) + (spec.sensors.empty() ? 0 : 2) +
                              (spec.end_effectors.empty() ? 0 : 5);
  return payload_max - kScalarsMax - verdicts * kVerdictBytes - (verdicts == 0 ? 0 : kVerdictNumberBytes) -
         columns * head;
}

// Fills packets with rows, kind after kind.
class Planner {
 public:
  Planner(std::size_t room, std::vector<PacketRange>& out) : room_(room), out_(out) { open(); }

  // begin, end: the members of PacketRange that this kind has.
  template <typename Bytes>
  void add(std::size_t count, std::uint32_t PacketRange::*begin, std::uint32_t PacketRange::*end, Bytes bytes) {
    out_.back().*begin = out_.back().*end = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = bytes(i);
      TACTUS_ASSERT(size <= room_);
      if (size > left_) {
        open();
        out_.back().*begin = out_.back().*end = static_cast<std::uint32_t>(i);
      }
      left_ -= size;
      ++(out_.back().*end);
    }
  }

 private:
  void open() {
    // Rows of earlier kinds are all sent: empty ranges at their ends.
    PacketRange next = out_.empty() ? PacketRange{} : out_.back();
    next.body_begin = next.body_end, next.joint_begin = next.joint_end, next.sensor_begin = next.sensor_end;
    next.end_effector_begin = next.end_effector_end, next.jacobian_begin = next.jacobian_end;
    next.contact_begin = next.contact_end;
    out_.push_back(next);
    left_ = room_;
  }
  std::size_t room_, left_ = 0;
  std::vector<PacketRange>& out_;
};

void plan(const SubscriptionSpec& spec, std::size_t verdicts, std::size_t contacts, std::size_t jacobian,
          std::size_t payload_max, std::size_t rare, std::vector<PacketRange>& out) {
  out.clear();
  Planner planner(room_for_rows(spec, verdicts, payload_max) - rare, out);
  using R = PacketRange;
  planner.add(spec.bodies.size(), &R::body_begin, &R::body_end, [&](std::size_t) { return body_bytes(spec); });
  planner.add(spec.joints.size(), &R::joint_begin, &R::joint_end, [&](std::size_t) { return joint_bytes(spec); });
  planner.add(spec.sensors.size(), &R::sensor_begin, &R::sensor_end, [&](std::size_t) { return sensor_bytes(spec); });
  planner.add(spec.end_effectors.size(), &R::end_effector_begin, &R::end_effector_end,
              [](std::size_t) { return kEndEffectorBytes; });
  planner.add(jacobian, &R::jacobian_begin, &R::jacobian_end, [](std::size_t) { return kJacobianBytes; });
  planner.add(contacts, &R::contact_begin, &R::contact_end, [](std::size_t) { return kContactBytes; });
}

// Columns of `width` doubles a body, as doubles or floats.
void body_column(FieldWriter& w, std::uint32_t field_double, std::uint32_t field_float, const PacketSource& s,
                 const PacketRange& range, const std::vector<double>& column, std::size_t width) {
  const std::size_t rows = range.body_end - range.body_begin;
  const bool single = s.spec.single_precision;
  w.column(single ? field_float : field_double, rows * width * (single ? 4 : 8));
  for (std::uint32_t i = range.body_begin; i < range.body_end; ++i) {
    const double* row = &column[width * s.spec.bodies[i]];
    if (!single) {
      w.put(row, width * 8);
      continue;
    }
    for (std::size_t k = 0; k < width; ++k) w.put(static_cast<float>(row[k]));
  }
}

void bodies(FieldWriter& w, const PacketSource& s, const PacketRange& range) {
  if (range.body_begin == range.body_end) return;
  w.column(20, 4 * std::size_t{range.body_end - range.body_begin});
  w.put(&s.spec.bodies[range.body_begin], 4 * std::size_t{range.body_end - range.body_begin});
  // Field numbers ascend: 21 pose, 22 velocity, 23 pose_f, 24 velocity_f, 25 wrench, 26 wrench_f.
  body_column(w, 21, 23, s, range, s.slot.pose, 7);
  if (s.spec.velocity) body_column(w, 22, 24, s, range, s.slot.velocity, 6);
  if (s.spec.wrench) body_column(w, 25, 26, s, range, s.slot.wrench, 6);
}

void contacts(FieldWriter& w, const PacketSource& s, const PacketRange& range) {
  const std::size_t rows = range.contact_end - range.contact_begin;
  if (rows == 0) return;
  const auto row = [&](std::size_t i) -> const ContactRow& {
    return s.slot.contacts[s.contact_rows[range.contact_begin + i]];
  };
  w.column(30, 4 * rows);
  for (std::size_t i = 0; i < rows; ++i) w.put(row(i).body_a);
  w.column(31, 4 * rows);
  for (std::size_t i = 0; i < rows; ++i) w.put(row(i).body_b);
  w.column(32, 40 * rows);
  for (std::size_t i = 0; i < rows; ++i) w.put(row(i).value);
  w.column(33, rows);
  for (std::size_t i = 0; i < rows; ++i) w.put(row(i).phase);
}

// One value of each row as doubles or floats.
void put_real(FieldWriter& w, bool single, double x) {
  if (single) {
    w.put(static_cast<float>(x));
  } else {
    w.put(x);
  }
}

void joints(FieldWriter& w, const PacketSource& s, const PacketRange& range) {
  const std::size_t rows = range.joint_end - range.joint_begin;
  if (rows == 0) return;
  const bool single = s.spec.single_precision;
  const auto sample = [&](std::size_t i) -> const JointSample& {
    return s.slot.joints[s.spec.joints[range.joint_begin + i]];
  };
  w.column(60, 4 * rows);
  w.put(&s.spec.joints[range.joint_begin], 4 * rows);
  w.column(single ? 62 : 61, rows * 4 * (single ? 4 : 8));
  for (std::size_t i = 0; i < rows; ++i) {
    const JointSample& x = sample(i);
    for (const double value : {x.q, x.v, x.effort, x.external_effort}) put_real(w, single, value);
  }
  w.column(63, 4 * rows);
  for (std::size_t i = 0; i < rows; ++i) w.put(sample(i).bits);
  w.column(64, 4 * rows);
  for (std::size_t i = 0; i < rows; ++i) w.put(sample(i).missed);
}

void sensors(FieldWriter& w, const PacketSource& s, const PacketRange& range) {
  if (range.sensor_begin == range.sensor_end) return;
  const bool single = s.spec.single_precision;
  const std::size_t rows = range.sensor_end - range.sensor_begin;
  w.column(65, 4 * rows);
  for (std::uint32_t i = range.sensor_begin; i < range.sensor_end; ++i) w.put(s.spec.sensors[i].id);
  w.column(single ? 67 : 66, rows * kSensorWidth * (single ? 4 : 8));
  for (std::uint32_t i = range.sensor_begin; i < range.sensor_end; ++i) {
    const SubscriptionSpec::Sensor& sensor = s.spec.sensors[i];
    for (std::uint32_t k = 0; k < kSensorWidth; ++k)
      put_real(w, single, k < sensor.count ? s.slot.sensors[sensor.first + k] : 0.0);
  }
}

void end_effectors(FieldWriter& w, const PacketSource& s, const PacketRange& range) {
  const std::size_t rows = range.end_effector_end - range.end_effector_begin;
  if (rows > 0) {
    w.column(68, 4 * rows);
    w.put(&s.spec.end_effectors[range.end_effector_begin], 4 * rows);
    w.column(69, 8 * 19 * rows);
    for (std::size_t i = 0; i < rows; ++i) w.put(s.end_effectors[range.end_effector_begin + i]);
  }
}

void jacobian_columns(FieldWriter& w, const PacketSource& s, const PacketRange& range) {
  const std::size_t columns = range.jacobian_end - range.jacobian_begin;
  if (columns == 0) return;
  const std::span<const JacobianRow> jacobian = s.jacobian.subspan(range.jacobian_begin, columns);
  w.column(80, 4 * columns);
  for (const JacobianRow& row : jacobian) w.put(row.end_effector);
  w.column(81, 4 * columns);
  for (const JacobianRow& row : jacobian) w.put(row.dof);
  w.column(82, 8 * 6 * columns);
  for (const JacobianRow& row : jacobian) w.put(row.value);
}

void exact(FieldWriter& w, const ExactReport& e) {
  w.fixed32(71, e.pieces);
  w.fixed32(72, e.collisions);
  w.fixed32(73, e.evaluations);
  w.fixed32(74, e.bisections);
  w.fixed32(75, e.breaks);
  w.fixed32(76, e.stops);
  w.fixed32(77, e.unresolved);
  w.fixed32(78, e.exhausted);
  w.real(79, e.event_time);
}

void verdicts(FieldWriter& w, std::span<const VerdictRecord> v, std::uint64_t number) {
  if (v.empty()) return;
  w.column(40, 8 * v.size());
  for (const VerdictRecord& x : v) w.put(x.sequence);
  w.column(41, 4 * v.size());
  for (const VerdictRecord& x : v) w.put(x.code);
  w.column(42, 8 * v.size());
  for (const VerdictRecord& x : v) w.put(x.tick);
  w.column(43, 4 * v.size());
  for (const VerdictRecord& x : v) w.put(x.age_us);
  w.column(44, 4 * v.size());
  for (const VerdictRecord& x : v) w.put(x.item);
  w.fixed64(45, number);
}

}  // namespace

void plan_packets(const PacketSource& source, std::vector<PacketRange>& out) {
  plan(source.spec, source.verdicts.size(), source.contact_rows.size(), source.jacobian.size(), source.payload_max,
       rare_scalars(source.slot.frame), out);
}

std::uint32_t packets_per_tick(const SubscriptionSpec& spec, std::uint32_t jacobian_columns) {
  std::vector<PacketRange> packets;
  plan(spec, wire::kVerdictsRepeated, 0, jacobian_columns, kStatePayloadMax, 0, packets);
  return static_cast<std::uint32_t>(packets.size());
}

std::size_t encode_packet(const PacketSource& source, const PacketRange& range, std::uint32_t part, std::uint32_t parts,
                          std::uint64_t send_ns, std::uint8_t* out) {
  const StateFrame& f = source.slot.frame;
  FieldWriter w(out);
  w.fixed32(1, f.epoch);
  w.fixed64(2, f.tick);
  w.fixed32(3, part);
  w.fixed32(4, parts);
  w.real(5, f.sim_time);
  w.fixed64(6, f.tick_start_ns);
  w.fixed64(7, send_ns);
  w.fixed32(8, source.spec.id);
  w.fixed32(9, f.status_bits);
  w.real(10, f.real_time_factor);
  w.fixed64(11, f.ticks_missed);
  w.fixed64(12, source.echo.client_send_ns);
  w.fixed64(13, source.echo.server_recv_ns);
  w.fixed64(14, source.echo.sequence);
  bodies(w, source, range);
  contacts(w, source, range);
  verdicts(w, source.verdicts, source.verdict_number);
  w.fixed32(50, f.report.contacts);
  w.fixed32(51, f.report.points_dropped + f.report.pairs_dropped);
  w.real(52, static_cast<float>(f.report.depth_max));
  w.real(53, static_cast<float>(f.kinetic_energy));
  w.real(54, f.work_us);
  w.real(55, f.wake_late_us);
  w.fixed32(56, f.report.solver_failures);
  w.fixed32(57, f.report.solver_fallbacks);
  w.fixed32(58, f.report.inconsistent);
  w.fixed32(59, f.report.indeterminate);
  joints(w, source, range);
  sensors(w, source, range);
  end_effectors(w, source, range);
  w.fixed32(70, source.up_lost);
  exact(w, f.report.exact);
  jacobian_columns(w, source, range);
  w.fixed64(90, f.play_time_ns);
  TACTUS_ASSERT(w.size() <= source.payload_max);
  return w.size();
}

}  // namespace tactus::net
