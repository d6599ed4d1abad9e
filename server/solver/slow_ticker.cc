#include "server/solver/slow_ticker.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tactus {
namespace {

void add(SpatialForce& sum, const SpatialForce& F, double factor) noexcept {
  sum.force += factor * F.force;
  sum.torque += factor * F.torque;
}

// Bodies that were frozen between the solver's steps are told with them.
void tell_frozen(const StepReport& moved, StepReport& report) noexcept {
  if (moved.bodies_frozen == 0) return;
  report.bodies_frozen += moved.bodies_frozen;
  report.frozen_body = moved.frozen_body;
}

// A result that comes so late that time has moved on without it: it counts as of now. Kinematic bodies have gone on.
void renumber(const World& world, State& state) noexcept {
  const State& now = world.state();
  state.tick = now.tick;
  state.time = now.time;
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    if (world.model().bodies[b].mode == BodyMode::kinematic) state.set_pose(b, now.p_WBcm(b), now.q_WB(b));
  }
}

}  // namespace

SlowTicker::SlowTicker(std::uint32_t bodies, std::uint32_t contacts)
    : sum_(bodies), mean_(bodies), contacts_(contacts) {}

SlowSolver* SlowTicker::exchange(SlowSolver* next, World& world) noexcept {
  const std::uint32_t n = world.state().body_count();
  const std::uint32_t ticks = next != nullptr ? next->ticks() : solver_ != nullptr ? solver_->ticks() : 1;
  if (solver_ != nullptr && begun_) {  // given up: its impulse, and the motion since it began, are still to come
    ticks_lost_ += world.state().tick - (due_ - solver_->ticks()) - std::exchange(ticks_lost_now_, 0);
    for (BodyIndex b = 0; b < n; ++b) add(sum_[b], solver_->wrench()[b], solver_->ticks());
    solver_->discard();
  }
  for (BodyIndex b = 0; b < n && spend_ticks_ > 0; ++b) add(sum_[b], mean_[b], spend_ticks_);
  begun_ = late_ = false;
  contact_count_ = 0;
  spend_ticks_ = 0;
  if (next == nullptr) {
    spend_ticks_ = ticks;
    for (BodyIndex b = 0; b < n; ++b) {
      mean_[b] = SpatialForce{};
      add(mean_[b], std::exchange(sum_[b], SpatialForce{}), 1.0 / ticks);
    }
  }
  if (next != nullptr) next->commands().clear();
  return std::exchange(solver_, next);
}

void SlowTicker::clear() noexcept {
  if (solver_ != nullptr) {
    solver_->discard();
    solver_->commands().clear();
  }
  std::fill(sum_.begin(), sum_.end(), SpatialForce{});
  begun_ = extrapolated_ = late_ = became_late_ = adopted_ = false;
  spend_ticks_ = 0;
  contact_count_ = 0;
  report_ = StepReport{};
}

bool SlowTicker::may_exchange(const World& world) const noexcept {
  return !begun_ || world.state().tick >= due_ + solver_->ticks();
}

// The world's own model goes on with what a slow one had still to take.
void SlowTicker::spend(World& world) noexcept {
  if (spend_ticks_ == 0) return;
  --spend_ticks_;
  for (BodyIndex b = 0; b < world.state().body_count(); ++b) world.apply(b, mean_[b]);
}

StepReport SlowTicker::step(World& world, Meet begin_when, Meet adopt_when, bool begin_next) noexcept {
  adopted_ = became_late_ = extrapolated_ = begun_alone_ = false;
  if (solver_ == nullptr) {
    spend(world);
    return world.step();
  }
  const std::uint32_t n = world.state().body_count();
  TACTUS_ASSERT(n <= sum_.size());
  world.look_at_commands();
  solver_->commands().add(world.joint_commands());
  if (!begun_ && begin_when == Meet::wait) solver_->wait();  // for what was discarded
  if (!begun_ && begin_when != Meet::hold && solver_->idle()) {
    begin(world.state(), world, false);
    begun_alone_ = true;
  }
  for (BodyIndex b = 0; b < n; ++b) add(sum_[b], world.applied(b), 1);
  ticks_lost_ += begun_ ? 0 : 1;
  const StepReport moved = world.extrapolate(begun_ && world.state().tick < due_ + solver_->ticks());
  extrapolated_ = true;
  const bool due = !begun_ || world.state().tick >= due_;
  if (due && begun_ && adopt_when == Meet::wait) solver_->wait();
  const bool there = due && begun_ && adopt_when != Meet::hold && solver_->finished();
  became_late_ = due && !there && !late_;
  late_ = due && !there;
  report_.bodies_frozen = report_.impacts = report_.speeds_bounded = 0;  // those are told once
  if (there) adopt(world, begin_next);
  tell_frozen(moved, report_);
  if (late_ && begun_) count_lost(world);
  return report_;
}

// What is later than a whole step cannot be made up for: told while it is late, not only once it comes.
void SlowTicker::count_lost(const World& world) noexcept {
  const std::uint64_t late = world.state().tick - due_;
  if (late < solver_->ticks() || late <= ticks_lost_now_) return;
  ticks_lost_ += late - ticks_lost_now_;
  ticks_lost_now_ = late;
}

void SlowTicker::resize_memory(const World& world, std::uint32_t ticks, SlowMemory& out) {
  out.sum.resize(world.model().bodies.size());
  out.mean.resize(world.model().bodies.size());
  resize(world, out.job);
  out.job.commands.resize(world.driven_joint_count() * ticks);
  out.asked = JointRecord(world.driven_joint_count(), ticks);
}

bool SlowTicker::save(const World& world, SlowMemory& out) const noexcept {
  const std::size_t n = world.state().body_count(), rows = solver_ == nullptr ? 0 : solver_->job().commands.size();
  if (out.sum.size() != n || out.job.commands.capacity() < rows || out.asked.capacity() < rows) return false;
  out.ticks = 0;
  std::copy_n(sum_.begin(), n, out.sum.begin());
  std::copy_n(mean_.begin(), n, out.mean.begin());
  out.spend_ticks = spend_ticks_;
  out.begun = begun_;
  out.due = due_;
  if (solver_ == nullptr) return true;
  out.kind = solver_->kind();
  out.ticks = solver_->ticks();
  out.asked = solver_->commands();
  if (begun_) out.job = solver_->job();
  return true;
}

void SlowTicker::load(const SlowMemory& memory, const World& world) noexcept {
  const std::size_t n = world.state().body_count();
  TACTUS_ASSERT(memory.sum.size() == n && memory.mean.size() == n);
  TACTUS_ASSERT(memory.ticks == (solver_ == nullptr ? 0 : solver_->ticks()));
  std::copy_n(memory.sum.begin(), n, sum_.begin());
  std::copy_n(memory.mean.begin(), n, mean_.begin());
  spend_ticks_ = memory.spend_ticks;
  begun_ = memory.begun;
  due_ = memory.due;
  if (solver_ == nullptr) return;
  solver_->commands() = memory.asked;
  ticks_lost_now_ = 0;
  if (begun_) solver_->begin_again(memory.job);
}

void SlowTicker::begin(const State& state, const World& world, bool follows) noexcept {
  const std::uint32_t n = state.body_count(), ticks = solver_->ticks();
  for (BodyIndex b = 0; b < n; ++b) {
    mean_[b] = SpatialForce{};
    add(mean_[b], std::exchange(sum_[b], SpatialForce{}), 1.0 / ticks);
  }
  due_ = state.tick + ticks;
  ticks_lost_now_ = 0;
  solver_->begin(state, world, {mean_.data(), n}, follows);
  begun_ = true;
}

void SlowTicker::adopt(World& world, bool begin_next) noexcept {
  SlowSolver::Result& result = solver_->result();
  const std::uint64_t late_ticks = world.state().tick - due_;
  // Without a next step on the grid nothing makes up for the ticks that were only extrapolated.
  const bool lost = late_ticks >= solver_->ticks() || !begin_next;
  if (lost) {
    renumber(world, result.state);
    ticks_lost_ += late_ticks - std::min(late_ticks, ticks_lost_now_);
  }
  report_ = result.report;
  solve_ns_ = solver_->solve_ns();
  contact_count_ = std::min(result.contact_count, static_cast<std::uint32_t>(contacts_.size()));
  std::copy_n(result.contacts.begin(), contact_count_, contacts_.begin());
  world.copy_channels(result.state);
  world.adopt(result.state);
  world.adopt_readings(result.readings);
  solver_->release();
  begun_ = false;
  if (begin_next) begin(result.state, world, true);
  if (!lost) {
    for (std::uint64_t i = 0; i < late_ticks; ++i) tell_frozen(world.extrapolate(), report_);
  }
  extrapolated_ = !lost && late_ticks > 0;
  adopted_ = true;
}

}  // namespace tactus
