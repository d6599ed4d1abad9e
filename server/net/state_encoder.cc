#include "server/net/state_encoder.h"

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
constexpr std::size_t kVerdictBytes = 8 + 4 + 8 + 4 + 4, kContactBytes = 4 + 4 + 40;

std::size_t body_bytes(const SubscriptionSpec& spec) {
  const std::size_t number = spec.single_precision ? 4 : 8;
  return 4 + number * (7 + (spec.velocity ? 6 : 0) + (spec.wrench ? 6 : 0));
}
std::size_t room_for_rows(std::size_t verdicts) {
  return kStatePayloadMax - kScalarsMax - verdicts * kVerdictBytes - (5 + 4 + 3) * kColumnHead;
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
}

void verdicts(FieldWriter& w, std::span<const VerdictRecord> v) {
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
}

}  // namespace

void plan_packets(const PacketSource& source, std::vector<PacketRange>& out) {
  out.clear();
  const std::size_t per_body = body_bytes(source.spec), room = room_for_rows(source.verdicts.size());
  const auto body_count = static_cast<std::uint32_t>(source.spec.bodies.size());
  const auto contact_count = static_cast<std::uint32_t>(source.contact_rows.size());
  PacketRange next;
  do {
    next.body_end = static_cast<std::uint32_t>(std::min<std::size_t>(body_count, next.body_begin + room / per_body));
    const std::size_t left = room - per_body * (next.body_end - next.body_begin);
    const std::size_t contact_room = next.body_end == body_count ? left / kContactBytes : 0;
    next.contact_end =
        static_cast<std::uint32_t>(std::min<std::size_t>(contact_count, next.contact_begin + contact_room));
    out.push_back(next);
    next.body_begin = next.body_end;
    next.contact_begin = next.contact_end;
  } while (next.body_begin < body_count || next.contact_begin < contact_count);
}

std::uint32_t packets_per_tick(const SubscriptionSpec& spec) {
  const std::size_t rows = room_for_rows(wire::kVerdictsRepeated) / body_bytes(spec);
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, (spec.bodies.size() + rows - 1) / rows));
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
  verdicts(w, source.verdicts);
  w.fixed32(50, f.report.contacts);
  w.fixed32(51, f.report.points_dropped + f.report.pairs_dropped);
  w.real(52, static_cast<float>(f.report.depth_max));
  w.real(53, static_cast<float>(f.kinetic_energy));
  w.real(54, f.work_us);
  w.real(55, f.wake_late_us);
  w.fixed32(70, source.up_lost);
  TACTUS_ASSERT(w.size() <= kStatePayloadMax);
  return w.size();
}

}  // namespace tactus::net
