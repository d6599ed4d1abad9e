#include "server/solver/slow_solver.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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

std::uint32_t ticks_of(const World& world) noexcept {
  const auto ticks = static_cast<std::uint32_t>(std::lround(world.h() / world.model().step));
  TACTUS_ASSERT(ticks >= 1);
  return ticks;
}

void JointRecord::add(std::span<const JointChannels::Output> rows) noexcept {
  TACTUS_ASSERT(rows.size() == joints_);
  std::copy(rows.begin(), rows.end(), rows_.begin() + static_cast<std::ptrdiff_t>(next_ * joints_));
  next_ = (next_ + 1) % ticks_;
  count_ = std::min(count_ + 1, ticks_);
}

std::vector<JointChannels::Output> JointRecord::rows() const {
  std::vector<JointChannels::Output> out;
  for (std::uint32_t age = count_; age > 0; --age) {
    const std::uint32_t slot = (next_ + 2 * ticks_ - age) % ticks_;
    const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(slot * joints_);
    out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(joints_));
  }
  return out;
}

void JointRecord::copy_to(std::vector<JointChannels::Output>& out) const noexcept {
  TACTUS_ASSERT(out.size() == rows_.size() && count_ > 0);
  for (std::uint32_t k = 0; k < ticks_; ++k) {
    const std::uint32_t age = std::min(ticks_ - 1 - k, count_ - 1);  // 0: the newest
    const std::uint32_t slot = (next_ + 2 * ticks_ - 1 - age) % ticks_;
    std::copy_n(rows_.begin() + static_cast<std::ptrdiff_t>(slot * joints_), joints_,
                out.begin() + static_cast<std::ptrdiff_t>(k * joints_));
  }
}

void resize(const World& world, SolverInputs& out) {
  out.state = world.initial();
  out.parameters = world.parameters();
  out.wrench.resize(world.model().bodies.size());
  out.drives.resize(world.model().joint_v0.size());
  out.commands.resize(world.driven_joint_count() * ticks_of(world));
}

void copy_inputs(const World& live, SolverInputs& out) noexcept {
  out.parameters = live.parameters();
  for (DofIndex i = 0; i < out.drives.size(); ++i) out.drives[i] = live.set_drive_of(i);
}

StepReport solve_step(World& world, ContactModelKind kind, const SolverInputs& inputs) noexcept {
  world.adopt(inputs.state);
  const bool has = world.set_model(kind);
  TACTUS_ASSERT(has);
  world.set_parameters(inputs.parameters);
  for (DofIndex i = 0; i < inputs.drives.size(); ++i) world.set_drive(i, inputs.drives[i]);
  world.set_joint_commands(inputs.commands);
  for (BodyIndex b = 0; b < inputs.wrench.size(); ++b) world.apply(b, inputs.wrench[b]);
  return world.step();
}

SlowSolver::SlowSolver(std::unique_ptr<World> world, ContactModelKind kind, std::uint32_t contacts)
    : world_(std::move(world)),
      kind_(kind),
      ticks_(ticks_of(*world_)),
      channels_(world_->model()),
      commands_(world_->driven_joint_count(), ticks_) {
  resize(*world_, job_);
  world_->resize_readings(result_.readings);
  result_.state = world_->initial();
  result_.contacts.resize(contacts);
}

// A step that follows none takes what stands now for the ticks before it, and the next one takes this tick's command
// again. That is right of what is held: a load does not sag while commands are on their way. A torque that ends within
// the step would act many times: it comes with the next step, once.
void SlowSolver::leave_pulses() noexcept {
  const std::span<const DrivenJoint> joints = channels_.joints();
  const auto end = static_cast<double>(job_.state.tick + ticks_);
  for (std::size_t i = 0; i < joints.size(); ++i) {
    ChannelMemory memory;
    std::memcpy(&memory, job_.state.actuators.data() + joints[i].memory, sizeof memory);
    if (memory.expires >= end) continue;
    for (std::uint32_t k = 0; k < ticks_; ++k) {
      Setpoint& setpoint = job_.commands[k * joints.size() + i].setpoint;
      const bool filled = k + commands_.count() < ticks_ || k + 1 == ticks_;
      if (filled && setpoint.kind == static_cast<double>(DriveKind::torque)) setpoint.value = 0;
    }
  }
}

void SlowSolver::begin(const State& state, const World& live, std::span<const SpatialForce> wrench,
                       bool follows) noexcept {
  TACTUS_ASSERT(idle());
  TACTUS_ASSERT(wrench.size() == job_.wrench.size());
  job_.state = state;
  copy_inputs(live, job_);
  std::copy(wrench.begin(), wrench.end(), job_.wrench.begin());
  commands_.copy_to(job_.commands);
  if (!follows) leave_pulses();
  request();
}

void SlowSolver::begin_again(const SolverInputs& job) noexcept {
  TACTUS_ASSERT(idle());
  TACTUS_ASSERT(job.wrench.size() == job_.wrench.size() && job.commands.size() == job_.commands.size());
  job_ = job;
  request();
}

void SlowSolver::solve() noexcept {
  result_.report = solve_step(*world_, kind_, job_);
  result_.state = world_->state();
  world_->copy_readings(result_.readings);
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
