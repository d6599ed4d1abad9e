#include "server/record/replay.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "server/record/keyframe.h"

namespace tactus::record {
namespace {

constexpr std::uint32_t kContacts = 64;  // rows that a solver's result may hold; nobody looks at them

}  // namespace

std::string to_string(const Difference& d) {
  std::string out = "tick " + std::to_string(d.tick) + ": " + d.of + ", " + d.quantity;
  if (!d.is_number) return out;
  char text[100];
  std::snprintf(text, sizeof text, ": recorded %.17g, now %.17g", d.recorded, d.replayed);
  return out + text;
}

Replay::Replay(Tape& tape, World& world, std::uint64_t ahead)
    : tape_(tape),
      world_(world),
      ahead_(ahead),
      slow_(static_cast<std::uint32_t>(world.model().bodies.size()), kContacts) {
  for (Seen& seen : seen_) seen.columns.resize(13 * world.model().bodies.size());
}

Replay::~Replay() {
  slow_.exchange(nullptr, world_);
}

bool Replay::run(std::uint64_t until) {
  while (!done_ && (!begun_ || world_.state().tick < until)) {
    if (!tape_.next(record_)) {
      done_ = true;
      report_.damage = tape_.damage();
      if (report_.steps == 0 && report_.problem.empty() && !begun_) cannot("there is no whole state to begin from");
      break;
    }
    take(record_);
  }
  report_.last_tick = world_.state().tick;
  if (done_) report_.state_hash = world_.hash();
  return !done_;
}

void Replay::cannot(const std::string& why) {
  if (report_.problem.empty()) report_.problem = why;
  done_ = true;
}

void Replay::differs(const std::string& of, const std::string& quantity) {
  if (!report_.difference) report_.difference = Difference{world_.state().tick, of, quantity, 0, 0, false};
  done_ = true;
}

void Replay::take(const v1::Record& r) {
  if (!begun_) {  // the first whole state, at its place among the tick's rows
    if (r.has_keyframe() && r.keyframe().ticket() == 0) begin(r.keyframe());
    if (r.has_mark()) take_snapshot(r.mark());
    return;
  }
  if (r.has_state()) return take(r.state());
  if (r.has_wrench()) return take(r.wrench());
  if (r.has_mark()) return take(r.mark());
  if (r.has_joint_input()) return take(r.joint_input());
  if (r.has_joint()) return take(r.joint());
  if (r.has_keyframe()) return take(r.keyframe());
  if (!r.has_hash()) return;
  run_to(r.hash().tick());
  compare_hash(r.hash().hash());
}

bool Replay::take_snapshot(const v1::TickMark& mark) {
  if (mark.kind() != v1::TickMark::OPERATION || mark.what() != "snapshot" || !mark.ok()) return false;
  const v1::Keyframe* keyframe = tape_.keyframe(mark.ticket());
  return keyframe != nullptr && begin(*keyframe);
}

bool Replay::begin(const v1::Keyframe& first) {
  State state = world_.initial();
  if (!read_state(first, world_, state)) {
    cannot("the whole state of tick " + std::to_string(first.tick()) + " does not fit the scene, or this build");
    return false;
  }
  const bool slow = first.solver().slow_ticks() > 0;
  if (!slow) world_.prepare_model(state.contact_model);
  if (!(slow ? world_.jump(state) : world_.restore(state))) {
    cannot("this build does not have the recorded contact model");
    return false;
  }
  world_.set_parameters(read_parameters(first.settings(), world_.parameters()));
  const auto driven = world_.robot_drives().channels().joints();
  for (std::size_t i = 0; i < std::min<std::size_t>(driven.size(), first.joint_options().size()); ++i)
    world_.set_joint_options(driven[i].drive.joint, read_options(first.joint_options(static_cast<int>(i))));
  slow_.clear();
  put_in_charge(nullptr);
  slow_.clear();
  if (first.has_solver()) {
    ContactModelKind kind{};
    parse_contact_model(first.solver().model(), kind);
    if (slow) put_in_charge(make_solver(kind, first.solver().slow_ticks()));
    if (done_) return false;
    SlowMemory memory;
    SlowTicker::resize_memory(world_, std::max(1u, first.solver().slow_ticks()), memory);
    if (!read_memory(first.solver(), world_, memory)) {
      cannot("what the model beside the tick was given at tick " + std::to_string(first.tick()) + " does not fit");
      return false;
    }
    slow_.load(memory, world_);
  }
  begun_ = true;
  begin_here_ = adopt_here_ = false;
  begin_next_ = true;
  if (report_.steps == 0) report_.first_tick = state.tick;
  for (Seen& seen : seen_) seen.tick = ~std::uint64_t{0};
  remember();
  compare_hash(first.state_hash());
  return true;
}

// --- Running

void Replay::run_to(std::uint64_t tick) {
  if (tick > world_.state().tick && tick - world_.state().tick > ahead_)
    return cannot("a record of tick " + std::to_string(tick) + " follows tick " + std::to_string(world_.state().tick));
  while (!done_ && world_.state().tick < tick) step();
}

void Replay::step() {
  const Meet begin = std::exchange(begin_here_, false) ? Meet::wait : Meet::hold;
  const bool adopt = std::exchange(adopt_here_, false);
  slow_.step(world_, begin, adopt ? Meet::wait : Meet::hold, begin_next_);
  begin_next_ = true;
  ++report_.steps;
  if (adopt && !slow_.adopted()) differs("the state", "a step of the model beside the tick was adopted here");
  remember();
}

void Replay::remember() {
  const State& state = world_.state();
  Seen& seen = seen_[state.tick % kSeen];
  seen.tick = state.tick;
  double* out = seen.columns.data();
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Pose X = body_pose(world_.model(), state, b);
    const SpatialVelocity V = body_velocity(world_.model(), state, b);
    for (const double x : {X.p.x(), X.p.y(), X.p.z(), X.q.w(), X.q.x(), X.q.y(), X.q.z()}) *out++ = x;
    for (const Vec3& part : {V.v, V.w})
      for (const double x : {part.x(), part.y(), part.z()}) *out++ = x;
  }
}

}  // namespace tactus::record
