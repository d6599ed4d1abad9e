#include "server/solver/slow_solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace tactus {

std::unique_ptr<World> make_solver_world(std::shared_ptr<const Model> model, const Limits& limits,
                                         ContactModelKind kind, std::uint32_t ticks) {
  if (!World::has_model(kind)) return nullptr;
  auto world = std::make_unique<World>(std::move(model), limits, ticks);
  if (!world->prepare_model(kind) || !world->set_model(kind)) return nullptr;
  return world;
}

void resize(const World& world, SolverInputs& out) {
  out.state = world.initial();
  out.parameters = world.parameters();
  out.wrench.resize(world.model().bodies.size());
  out.drives.resize(world.model().joint_v0.size());
}

void copy_inputs(const World& live, SolverInputs& out) noexcept {
  out.parameters = live.parameters();
  for (DofIndex i = 0; i < out.drives.size(); ++i) out.drives[i] = live.drive(i);
}

StepReport solve_step(World& world, ContactModelKind kind, const SolverInputs& inputs) noexcept {
  world.adopt(inputs.state);
  const bool has = world.set_model(kind);
  TACTUS_ASSERT(has);
  world.set_parameters(inputs.parameters);
  for (DofIndex i = 0; i < inputs.drives.size(); ++i) world.set_drive(i, inputs.drives[i]);
  for (BodyIndex b = 0; b < inputs.wrench.size(); ++b) world.apply(b, inputs.wrench[b]);
  return world.step();
}

SlowSolver::SlowSolver(std::unique_ptr<World> world, ContactModelKind kind, std::uint32_t contacts)
    : world_(std::move(world)),
      kind_(kind),
      ticks_(static_cast<std::uint32_t>(std::lround(world_->h() / world_->model().step))) {
  TACTUS_ASSERT(ticks_ >= 1);
  resize(*world_, job_);
  result_.state = world_->initial();
  result_.contacts.resize(contacts);
}

void SlowSolver::begin(const State& state, const World& live, std::span<const SpatialForce> wrench) noexcept {
  TACTUS_ASSERT(idle());
  TACTUS_ASSERT(wrench.size() == job_.wrench.size());
  job_.state = state;
  copy_inputs(live, job_);
  std::copy(wrench.begin(), wrench.end(), job_.wrench.begin());
  request();
}

void SlowSolver::solve() noexcept {
  result_.report = solve_step(*world_, kind_, job_);
  result_.state = world_->state();
  result_.contact_count = contact_rows(*world_, result_.contacts);
}

std::uint32_t contact_rows(const World& world, std::span<ContactRow> out) noexcept {
  const ContactSet& contacts = world.contacts();
  const PairMemory& pairs = world.state().pairs;
  std::uint32_t rows = 0;
  for (std::uint32_t m = 0; m < contacts.manifold_count; ++m) {
    const Manifold& manifold = contacts.manifolds[m];
    for (std::uint32_t p = manifold.first; p < manifold.first + manifold.count && rows < out.size(); ++p) {
      const ContactPoint& point = contacts.points[p];
      const Vec3 &c = point.p_WC, &nhat = manifold.nhat_BA_W, &force = world.contact_force(p);
      if (point.depth <= 0 && force.isZero(0)) continue;  // seen across a gap only
      ContactRow& row = out[rows++];
      row.body_a = manifold.body_a;
      row.body_b = manifold.body_b;
      row.phase = manifold.pair < pairs.size() ? static_cast<std::uint8_t>(pairs[manifold.pair].phase) : 0;
      row.value = {static_cast<float>(c.x()),      static_cast<float>(c.y()),     static_cast<float>(c.z()),
                   static_cast<float>(nhat.x()),   static_cast<float>(nhat.y()),  static_cast<float>(nhat.z()),
                   static_cast<float>(force.x()),  static_cast<float>(force.y()), static_cast<float>(force.z()),
                   static_cast<float>(point.depth)};
    }
  }
  return rows;
}

}  // namespace tactus
