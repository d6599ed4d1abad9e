#include "server/solver/shadow_solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace tactus {
namespace {

void note(ShadowMaximum& maximum, float value, BodyIndex b) noexcept {
  if (maximum.body != kNoBody && value <= maximum.value) return;
  maximum = {value, b};
}

// Angle of the rotation between two orientations [rad], accurate when small.
double angle_between(const Quat& a, const Quat& b) noexcept {
  const Quat d = a.conjugate() * b;
  return 2 * std::atan2(d.vec().norm(), std::abs(d.w()));
}

}  // namespace

ShadowSolver::ShadowSolver(std::unique_ptr<World> world, ContactModelKind kind)
    : world_(std::move(world)),
      kind_(kind),
      ticks_(ticks_of(*world_)),
      commands_(world_->driven_joint_count(), ticks_) {
  resize(*world_, job_);
  live_end_ = spare_ = world_->initial();
  const std::size_t n = world_->model().bodies.size();
  live_force_.resize(n, Vec3::Zero());
  force_.resize(n, Vec3::Zero());
  rows_.resize(n);
}

void ShadowSolver::begin(State& start, const World& live, std::span<const SpatialForce> wrench,
                         std::span<const Vec3> contact_force) noexcept {
  TACTUS_ASSERT(idle());
  TACTUS_ASSERT(wrench.size() == rows_.size() && contact_force.size() == rows_.size());
  std::swap(job_.state, start);
  live_end_ = live.state();
  copy_inputs(live, job_);
  std::copy(wrench.begin(), wrench.end(), job_.wrench.begin());
  std::copy(contact_force.begin(), contact_force.end(), live_force_.begin());
  commands_.copy_to(job_.commands);
  request();
}

void ShadowSolver::solve() noexcept {
  solve_step(*world_, kind_, job_);
  compare();
}

void ShadowSolver::compare() noexcept {
  const State &shadow = world_->state(), &live = live_end_;
  std::fill(force_.begin(), force_.end(), Vec3::Zero());
  add_contact_forces(*world_, force_);
  summary_ = ShadowSummary{};
  summary_.tick = live.tick;
  summary_.ticks = ticks_;
  for (BodyIndex b = 0; b < rows_.size(); ++b) {
    rows_[b] = ShadowRow{};
    if (!takes_wrenches(world_->model().bodies[b].mode)) continue;
    ShadowRow& row = rows_[b];
    row.position = static_cast<float>((shadow.p_WBcm(b) - live.p_WBcm(b)).norm());
    row.angle = static_cast<float>(angle_between(shadow.q_WB(b), live.q_WB(b)));
    row.velocity = static_cast<float>((shadow.v_WBcm(b) - live.v_WBcm(b)).norm());
    row.force = static_cast<float>((force_[b] - live_force_[b]).norm());
    note(summary_.position, row.position, b);
    note(summary_.angle, row.angle, b);
    note(summary_.velocity, row.velocity, b);
    note(summary_.force, row.force, b);
  }
}

void add_contact_forces(const World& world, std::span<Vec3> sum) noexcept {
  const ContactSet& contacts = world.contacts();
  for (std::uint32_t m = 0; m < contacts.manifold_count; ++m) {
    const Manifold& manifold = contacts.manifolds[m];
    for (std::uint32_t p = manifold.first; p < manifold.first + manifold.count; ++p) {
      sum[manifold.body_a] += world.contact_force(p);
      sum[manifold.body_b] -= world.contact_force(p);
    }
  }
}

}  // namespace tactus
