#include "server/solver/shadow_ticker.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tactus {

ShadowTicker::ShadowTicker(std::uint32_t bodies) : wrench_(bodies), force_(bodies, Vec3::Zero()), rows_(bodies) {}

ShadowSolver* ShadowTicker::exchange(ShadowSolver* next) noexcept {
  clear();
  // A state that fits was made with the shadow: no copy of the live one allocates.
  if (next != nullptr) std::swap(start_, next->spare());
  return std::exchange(solver_, next);
}

void ShadowTicker::clear() noexcept {
  if (solver_ != nullptr) solver_->discard();
  begun_ = fresh_ = false;
}

void ShadowTicker::start_interval(const World& world) noexcept {
  const std::uint32_t n = world.state().body_count();
  TACTUS_ASSERT(n <= wrench_.size());
  start_ = world.state();
  std::fill_n(wrench_.begin(), n, SpatialForce{});
  std::fill_n(force_.begin(), n, Vec3::Zero());
  begun_ = true;
}

void ShadowTicker::before_step(const World& world) noexcept {
  fresh_ = false;
  if (solver_ == nullptr) return;
  if (!begun_) start_interval(world);
  for (BodyIndex b = 0; b < world.state().body_count(); ++b) {
    wrench_[b].force += world.applied(b).force;
    wrench_[b].torque += world.applied(b).torque;
  }
}

void ShadowTicker::after_step(const World& world, bool may_wait) noexcept {
  if (solver_ == nullptr) return;
  TACTUS_ASSERT(begun_);
  add_contact_forces(world, force_);
  solver_->commands().add(world.joint_commands());
  if (world.state().tick == start_.tick + solver_->ticks()) return end_interval(world, may_wait);
  if (!may_wait && solver_->finished()) take();
}

void ShadowTicker::end_interval(const World& world, bool may_wait) noexcept {
  const std::uint32_t n = world.state().body_count();
  if (may_wait) solver_->wait();
  if (solver_->finished()) take();
  if (solver_->idle()) {
    const double share = 1.0 / solver_->ticks();
    for (BodyIndex b = 0; b < n; ++b) {
      wrench_[b].force *= share;
      wrench_[b].torque *= share;
      force_[b] *= share;
    }
    solver_->begin(start_, world, {wrench_.data(), n}, {force_.data(), n});
  } else {
    ++skipped_;
  }
  start_interval(world);
}

void ShadowTicker::take() noexcept {
  summary_ = solver_->summary();
  row_count_ = static_cast<std::uint32_t>(solver_->rows().size());
  std::copy(solver_->rows().begin(), solver_->rows().end(), rows_.begin());
  solve_ns_ = solver_->solve_ns();
  solver_->release();
  fresh_ = true;
}

}  // namespace tactus
