#include "core/dynamics/state_bytes.h"

#include <cmath>
#include <cstring>
#include <string_view>

namespace tactus {

namespace {

constexpr std::uint64_t kLayout = 0x54414354'53540009ULL;  // "TACTST", version 9

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

void put_key(const PairKey& key, Writer& w) {
  w.put(key.shape_a), w.put(key.shape_b), w.put(key.patch);
}

bool get_key(Reader& in, PairKey& key) {
  key.shape_a = in.get<std::uint32_t>(), key.shape_b = in.get<std::uint32_t>(), key.patch = in.get<std::uint32_t>();
  return in.ok() && key.shape_a < key.shape_b;
}

void put_witness(const Witness& witness, Writer& w) {
  for (int i = 0; i < 3; ++i) w.put(witness.axis_A[i]);
  w.put(witness.feature_a), w.put(witness.feature_b);
  for (const Vec3* p : {&witness.point_a, &witness.point_b, &witness.step_a, &witness.step_b, &witness.last_step_a,
                        &witness.last_step_b}) {
    for (int i = 0; i < 3; ++i) w.put((*p)[i]);
  }
}

void get_witness(Reader& in, Witness& witness) {
  for (int i = 0; i < 3; ++i) witness.axis_A[i] = in.number();
  witness.feature_a = in.get<std::int32_t>(), witness.feature_b = in.get<std::int32_t>();
  for (Vec3* p : {&witness.point_a, &witness.point_b, &witness.step_a, &witness.step_b, &witness.last_step_a,
                  &witness.last_step_b}) {
    for (int i = 0; i < 3; ++i) (*p)[i] = in.number();
  }
}

void put_record(const PairRecord& r, Writer& w) {
  put_key(r.key, w);
  w.put(static_cast<std::uint32_t>(r.phase)), w.put(r.age), w.put(r.met);
  put_witness(r.witness, w);
  for (const double x : r.model) w.put(x);
}

bool get_record(Reader& in, PairRecord& r) {
  if (!get_key(in, r.key)) return false;
  const auto phase = in.get<std::uint32_t>();
  r.phase = static_cast<ContactPhase>(phase);
  r.age = in.get<std::uint32_t>(), r.met = in.get<std::uint8_t>();
  get_witness(in, r.witness);
  for (double& x : r.model) x = in.number();
  return in.ok() && phase <= static_cast<std::uint32_t>(ContactPhase::resting) && r.met <= 1;
}

// Sorted, and none that is a pair now.
bool get_left(Reader& in, PairMemory& pairs) {
  const auto count = in.get<std::uint32_t>();
  if (!in.ok() || count > pairs.capacity()) return false;
  const std::span<LeftPair> left = pairs.resize_left(count);
  const auto now = pairs.records();
  for (std::size_t i = 0, k = 0; i < left.size(); ++i) {
    if (!get_key(in, left[i].key) || (i > 0 && !(left[i - 1].key < left[i].key))) return false;
    while (k < now.size() && now[k].key < left[i].key) ++k;
    if (k < now.size() && now[k].key == left[i].key) return false;
    get_witness(in, left[i].witness);
  }
  return in.ok();
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
  for (const std::uint64_t n : {t.hits, t.misses, t.closed_hits, t.closed_misses, t.fallbacks, t.unknown}) w.put(n);
  for (const PairRecord& r : state.pairs.records()) put_record(r, w);
  w.put(static_cast<std::uint32_t>(state.pairs.left().size()));
  for (const LeftPair& pair : state.pairs.left()) put_key(pair.key, w), put_witness(pair.witness, w);
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
  for (std::uint64_t* n : {&t.hits, &t.misses, &t.closed_hits, &t.closed_misses, &t.fallbacks, &t.unknown}) {
    *n = in.get<std::uint64_t>();
  }
  state.pairs.set_size(pairs);
  for (std::uint32_t i = 0; i < pairs; ++i) {
    if (!get_record(in, state.pairs[i]) || (i > 0 && !(state.pairs[i - 1].key < state.pairs[i].key))) return false;
  }
  if (!get_left(in, state.pairs)) return false;
  for (std::uint32_t b = 0; b < bodies; ++b) {
    if (std::abs(state.q_WB(b).squaredNorm() - 1) > 1e-6) return false;
  }
  if (!in.done()) return false;
  out = state;
  return true;
}

}  // namespace tactus
