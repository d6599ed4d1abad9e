#include "server/record/play_tape.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "core/check.h"

namespace tactus::record {
namespace {

constexpr std::size_t kPose = 7, kVelocity = 6, kContact = 10, kJoint = 4;

double mix(double a, double b, double s) {
  return a + s * (b - a);
}

// Along the shorter arc; the angle between two states is small, and normalising the chord is then enough.
void mix_rotation(const double* a, const double* b, double s, double* out) {
  double dot = 0, norm = 0;
  for (int i = 0; i < 4; ++i) dot += a[i] * b[i];
  for (int i = 0; i < 4; ++i) out[i] = mix(a[i], dot < 0 ? -b[i] : b[i], s), norm += out[i] * out[i];
  const double scale = norm > 0 ? 1 / std::sqrt(norm) : 0;
  for (int i = 0; i < 4; ++i) out[i] = scale > 0 ? scale * out[i] : a[i];
}

void copy_slot(const StateSlot& from, StateSlot& to) {
  const std::size_t n = from.frame.body_count;
  to.frame = from.frame;
  std::copy_n(from.pose.begin(), kPose * n, to.pose.begin());
  std::copy_n(from.velocity.begin(), kVelocity * n, to.velocity.begin());
  std::copy_n(from.wrench.begin(), 6 * n, to.wrench.begin());
  std::copy_n(from.contacts.begin(), from.frame.contact_count, to.contacts.begin());
  std::copy_n(from.joints.begin(), from.frame.joint_count, to.joints.begin());
}

void mix_slots(const StateSlot& a, const StateSlot& b, double s, StateSlot& out) {
  const std::size_t n = a.frame.body_count;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = kPose * i; k < kPose * i + 3; ++k) out.pose[k] = mix(a.pose[k], b.pose[k], s);
    mix_rotation(&a.pose[kPose * i + 3], &b.pose[kPose * i + 3], s, &out.pose[kPose * i + 3]);
  }
  for (std::size_t k = 0; k < kVelocity * n; ++k) out.velocity[k] = mix(a.velocity[k], b.velocity[k], s);
  for (std::size_t k = 0; k < std::min(a.frame.joint_count, b.frame.joint_count); ++k) {
    out.joints[k].q = mix(a.joints[k].q, b.joints[k].q, s);
    out.joints[k].v = mix(a.joints[k].v, b.joints[k].v, s);
  }
  const auto ticks = static_cast<double>(b.frame.tick - a.frame.tick);
  out.frame.tick = a.frame.tick + static_cast<std::uint64_t>(s * ticks);
  out.frame.sim_time = mix(a.frame.sim_time, b.frame.sim_time, s);
}

ExactReport exact_of(const v1::StatePacket& state) {
  ExactReport out;
  out.pieces = state.exact_pieces();
  out.collisions = state.exact_collisions();
  out.evaluations = state.exact_evaluations();
  out.bisections = state.exact_bisections();
  out.breaks = state.exact_breaks();
  out.stops = state.exact_stops();
  out.unresolved = state.exact_unresolved();
  out.exhausted = state.exact_exhausted();
  out.event_time = state.exact_event_time_s();
  return out;
}

}  // namespace

PlayTape::PlayTape(const std::string& path) : PlayTape(std::make_unique<std::ifstream>(path, std::ios::binary), path) {}

PlayTape::PlayTape(std::unique_ptr<std::istream> in, const std::string& path)
    : path_(path), in_(std::move(in)), reader_(*in_) {
  TACTUS_REQUIRE(in_->good(), path + ": cannot be read");
  TACTUS_REQUIRE(reader_.next(record_), path + ": " + reader_.damage());
  header_ = std::move(*record_.mutable_header());
  if (std::isfinite(header_.step_s()) && header_.step_s() > 1e-9)
    step_ns_ = static_cast<std::uint64_t>(std::llround(1e9 * std::min(header_.step_s(), 1e3)));
  chunks_ = mcap::find_chunks(*in_);
  TACTUS_REQUIRE(!chunks_.empty(), path + ": there is no chunk in it: not one of Tactus");
  reader_.jump(chunks_.front().offset);
  find_range();
}

void PlayTape::size(std::uint32_t bodies, std::uint32_t contacts) {
  before_.resize(bodies, contacts);
  after_.resize(bodies, contacts);
  jump(0);
}

// The first state, and the last one of the last chunk that has any.
void PlayTape::find_range() {
  bool found = false;
  while (!found && reader_.next(record_)) found = record_.has_state();
  damage_ = reader_.damage();
  TACTUS_REQUIRE(found, path_ + ": there is no state in it" + (damage_.empty() ? "" : "; damaged " + damage_));
  begin_ns_ = end_ns_ = reader_.time_ns();
  found = false;
  for (std::size_t chunk = chunks_.size(); chunk-- > 0 && !found;) {
    reader_.jump(chunks_[chunk].offset);
    const std::uint64_t next = chunk + 1 < chunks_.size() ? chunks_[chunk + 1].offset : ~std::uint64_t{0};
    while (reader_.next(record_) && reader_.offset() <= next) {
      if (!record_.has_state()) continue;
      end_ns_ = std::max(begin_ns_, reader_.time_ns());
      found = true;
    }
    if (reader_.damaged()) damage_ = reader_.damage();
  }
}

std::size_t PlayTape::chunk_at(std::uint64_t time_ns) const {
  const auto later = std::upper_bound(chunks_.begin() + 1, chunks_.end(), time_ns,
                                      [](std::uint64_t t, const mcap::ChunkPlace& c) { return t < c.first_ns; });
  return static_cast<std::size_t>(later - chunks_.begin()) - 1;
}

// The chunk that was read last: the reader stands behind it.
std::size_t PlayTape::chunk_of_reader() const {
  const auto later = std::lower_bound(chunks_.begin(), chunks_.end(), reader_.offset(),
                                      [](const mcap::ChunkPlace& c, std::uint64_t at) { return c.offset < at; });
  return later == chunks_.begin() ? 0 : static_cast<std::size_t>(later - chunks_.begin()) - 1;
}

void PlayTape::jump(std::size_t chunk) {
  reader_.jump(chunks_[chunk].offset);
  has_before_ = has_after_ = false;
  wrenches_.clear();
}

bool PlayTape::read_state(StateSlot& out) {
  while (reader_.next(record_)) {
    if (record_.has_wrench() && record_.wrench().wrench_size() == 6 && wrenches_.size() < 65'536) {
      const v1::AppliedWrench& w = record_.wrench();
      wrenches_.push_back({w.tick(), w.body_id(), {}});
      std::copy_n(w.wrench().begin(), 6, wrenches_.back().value.begin());
    }
    if (record_.has_state() && take_state(record_.state(), out)) return true;
  }
  if (reader_.damaged()) damage_ = reader_.damage();
  return false;
}

// False: it is not of this scene.
bool PlayTape::take_state(const v1::StatePacket& state, StateSlot& out) {
  const auto n = static_cast<std::size_t>(state.body_id_size());
  const auto joints = static_cast<std::size_t>(state.joint_id_size());
  const auto contacts = static_cast<std::size_t>(state.contact_body_a_size());
  if (kPose * n != static_cast<std::size_t>(state.pose_size()) || kPose * n > out.pose.size()) return false;
  if (kVelocity * n != static_cast<std::size_t>(state.velocity_size())) return false;
  if (kJoint * joints != static_cast<std::size_t>(state.joint_size()) || joints > out.joints.size()) return false;
  StateFrame& f = out.frame = {};
  f.tick = state.tick();
  f.sim_time = state.sim_time_s();
  f.status_bits = state.status_bits();
  f.ticks_missed = state.ticks_missed();
  f.body_count = static_cast<std::uint32_t>(n);
  f.joint_count = static_cast<std::uint32_t>(joints);
  f.report.contacts = state.contacts();
  f.report.points_dropped = state.contacts_dropped();
  f.report.depth_max = static_cast<double>(state.penetration_max_m());
  f.report.solver_failures = state.solver_failures();
  f.report.solver_fallbacks = state.solver_fallbacks();
  f.report.inconsistent = state.inconsistent();
  f.report.indeterminate = state.indeterminate();
  f.report.exact = exact_of(state);
  f.kinetic_energy = static_cast<double>(state.kinetic_energy_j());
  f.work_us = state.work_us();
  f.wake_late_us = state.wake_late_us();
  f.play_time_ns = std::max<std::uint64_t>(1, reader_.time_ns());
  std::copy(state.pose().begin(), state.pose().end(), out.pose.begin());
  std::copy(state.velocity().begin(), state.velocity().end(), out.velocity.begin());
  for (std::size_t i = 0; i < joints; ++i) {
    const auto at = [&](std::size_t k) { return state.joint(static_cast<int>(kJoint * i + k)); };
    const auto row = static_cast<int>(i);
    out.joints[i] = {at(0),
                     at(1),
                     at(2),
                     at(3),
                     row < state.joint_bits_size() ? state.joint_bits(row) : 0,
                     row < state.joint_missed_size() ? state.joint_missed(row) : 0};
  }
  std::fill_n(out.wrench.begin(), 6 * n, 0.0);
  for (const Wrench& w : wrenches_) {
    if (w.tick != f.tick || w.body >= n) continue;
    for (std::size_t k = 0; k < 6; ++k) out.wrench[6 * w.body + k] += w.value[k];
  }
  std::erase_if(wrenches_, [&](const Wrench& w) { return w.tick <= f.tick; });
  const bool has_contacts = static_cast<std::size_t>(state.contact_body_b_size()) == contacts &&
                            static_cast<std::size_t>(state.contact_size()) == kContact * contacts;
  for (std::size_t i = 0; has_contacts && i < std::min(contacts, out.contacts.size()); ++i) {
    ContactRow& row = out.contacts[f.contact_count];
    row.body_a = state.contact_body_a(static_cast<int>(i));
    row.body_b = state.contact_body_b(static_cast<int>(i));
    if (row.body_a >= n || row.body_b >= n) continue;
    std::copy_n(state.contact().begin() + static_cast<int>(kContact * i), kContact, row.value.begin());
    row.phase = i < state.contact_phase().size() ? static_cast<std::uint8_t>(state.contact_phase()[i]) : 0;
    ++f.contact_count;
  }
  return true;
}

// before_: the last state at or before the time; after_: the one behind it.
void PlayTape::move_to(std::uint64_t time_ns) {
  const bool is_back = !has_before_ || time_ns < before_.frame.play_time_ns;
  std::size_t chunk = chunk_at(time_ns);
  const bool is_far = has_after_ && after_.frame.play_time_ns < time_ns && chunk > chunk_of_reader() + 1;
  if (is_back || is_far) {
    // The chunk may begin with rows, and its first state come later than the time: then the one before has it.
    for (;; --chunk) {
      jump(chunk);
      has_before_ = read_state(before_);
      if (chunk == 0 || (has_before_ && before_.frame.play_time_ns <= time_ns)) break;
    }
    has_after_ = has_before_ && read_state(after_);
  }
  while (has_after_ && after_.frame.play_time_ns <= time_ns) {
    std::swap(before_, after_);
    has_after_ = read_state(after_);
  }
}

// Not a reset, a restore or a gap: ticks and time have moved on alike, and no state is missing.
bool PlayTape::goes_on() const {
  const StateFrame &a = before_.frame, &b = after_.frame;
  if (b.tick <= a.tick || b.body_count != a.body_count) return false;
  const std::uint64_t every = std::max(1u, header_.state_every());
  const auto recorded = static_cast<double>(b.play_time_ns - a.play_time_ns);
  return b.tick - a.tick <= every && std::abs(recorded - 1e9 * (b.sim_time - a.sim_time)) < 0.01 * recorded + 10;
}

void PlayTape::at(std::uint64_t time_ns, StateSlot& out) {
  const std::uint64_t near = step_ns_ / 1000, t = std::clamp(time_ns, begin_ns_, end_ns_);
  move_to(t + near);
  if (!has_before_) {  // damaged at its very beginning
    out.frame = {};
    out.frame.play_time_ns = std::max<std::uint64_t>(1, t);
    return;
  }
  copy_slot(before_, out);
  const std::uint64_t from = before_.frame.play_time_ns;
  if (t <= from + near) return;
  out.frame.play_time_ns = t;
  if (!has_after_ || !goes_on()) return;
  mix_slots(before_, after_, static_cast<double>(t - from) / static_cast<double>(after_.frame.play_time_ns - from),
            out);
}

}  // namespace tactus::record
