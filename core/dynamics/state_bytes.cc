#include "core/dynamics/state_bytes.h"

#include <cmath>
#include <cstring>
#include <string_view>

namespace tactus {

namespace {

constexpr std::uint64_t kLayout = 0x54414354'53540006ULL;  // "TACTST", version 6

class Writer {
 public:
  template <typename T>
  void put(const T& value) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), p, p + sizeof(T));
  }
  std::vector<std::uint8_t> bytes;
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  template <typename T>
  T get() {
    T value{};
    if (at_ + sizeof(T) > bytes_.size()) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  double number() {
    const double x = get<double>();
    if (!std::isfinite(x)) ok_ = false;
    return x;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool done() const { return ok_ && at_ == bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

void put_record(const PairRecord& r, Writer& w) {
  w.put(r.key.shape_a), w.put(r.key.shape_b), w.put(r.key.patch);
  w.put(static_cast<std::uint32_t>(r.phase)), w.put(r.age);
  for (int i = 0; i < 3; ++i) w.put(r.witness.axis_A[i]);
  w.put(r.witness.feature_a), w.put(r.witness.feature_b);
  for (const Vec3* p : {&r.witness.point_a, &r.witness.point_b, &r.witness.step_a, &r.witness.step_b}) {
    for (int i = 0; i < 3; ++i) w.put((*p)[i]);
  }
  for (const double x : r.model) w.put(x);
}

bool get_record(Reader& in, PairRecord& r) {
  r.key.shape_a = in.get<std::uint32_t>(), r.key.shape_b = in.get<std::uint32_t>();
  r.key.patch = in.get<std::uint32_t>();
  const auto phase = in.get<std::uint32_t>();
  r.phase = static_cast<ContactPhase>(phase);
  r.age = in.get<std::uint32_t>();
  for (int i = 0; i < 3; ++i) r.witness.axis_A[i] = in.number();
  r.witness.feature_a = in.get<std::int32_t>(), r.witness.feature_b = in.get<std::int32_t>();
  for (Vec3* p : {&r.witness.point_a, &r.witness.point_b, &r.witness.step_a, &r.witness.step_b}) {
    for (int i = 0; i < 3; ++i) (*p)[i] = in.number();
  }
  for (double& x : r.model) x = in.number();
  return in.ok() && phase <= static_cast<std::uint32_t>(ContactPhase::resting) && r.key.shape_a < r.key.shape_b;
}

}  // namespace

std::vector<std::uint8_t> to_bytes(const State& state) {
  Writer w;
  w.put(kLayout);
  w.put(state.tick), w.put(state.time), w.put(state.random);
  w.put(static_cast<std::uint32_t>(state.contact_model));
  w.put(state.body_count()), w.put(state.pairs.size());
  for (const double x : state.q) w.put(x);
  for (const double x : state.v) w.put(x);
  for (const double x : state.joint_q) w.put(x);
  for (const double x : state.joint_v) w.put(x);
  for (const double x : state.actuators) w.put(x);
  for (const std::uint8_t x : state.frozen) w.put(x);
  const WitnessTotals& t = state.witnesses;
  for (const std::uint64_t n : {t.hits, t.misses, t.fallbacks, t.unknown}) w.put(n);
  for (const PairRecord& r : state.pairs.records()) put_record(r, w);
  return std::move(w.bytes);
}

bool from_bytes(std::span<const std::uint8_t> bytes, State& out) {
  Reader in(bytes);
  if (in.get<std::uint64_t>() != kLayout) return false;
  State state = out;
  state.tick = in.get<std::uint64_t>(), state.time = in.number(), state.random = in.get<std::uint64_t>();
  const auto kind = in.get<std::uint32_t>();
  const auto bodies = in.get<std::uint32_t>(), pairs = in.get<std::uint32_t>();
  if (!in.ok() || kind > static_cast<std::uint32_t>(ContactModelKind::peg) || bodies != out.body_count() ||
      pairs > out.pairs.capacity()) {
    return false;
  }
  state.contact_model = static_cast<ContactModelKind>(kind);
  for (double& x : state.q) x = in.number();
  for (double& x : state.v) x = in.number();
  for (double& x : state.joint_q) x = in.number();
  for (double& x : state.joint_v) x = in.number();
  for (double& x : state.actuators) x = in.number();
  for (std::uint8_t& x : state.frozen) x = in.get<std::uint8_t>();
  WitnessTotals& t = state.witnesses;
  for (std::uint64_t* n : {&t.hits, &t.misses, &t.fallbacks, &t.unknown}) *n = in.get<std::uint64_t>();
  state.pairs.set_size(pairs);
  for (std::uint32_t i = 0; i < pairs; ++i) {
    if (!get_record(in, state.pairs[i]) || (i > 0 && !(state.pairs[i - 1].key < state.pairs[i].key))) return false;
  }
  for (std::uint32_t b = 0; b < bodies; ++b) {
    if (std::abs(state.q_WB(b).squaredNorm() - 1) > 1e-6) return false;
  }
  if (!in.done()) return false;
  out = state;
  return true;
}

}  // namespace tactus
