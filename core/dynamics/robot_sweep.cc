#include "core/dynamics/robot_sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/math/two.h"

namespace tactus {

namespace {

// A drive that would give more than this share of its limit is a row, whose impulse is cut exactly.
constexpr double kNearLimit = 0.8;
// Ends of joints closer than this, or than two ticks' travel, are rows [rad or m].
constexpr double kEndInSight = 0.02;

// One-dof joints and planar ones have a position for each velocity.
bool has_positions(JointKind kind) noexcept {
  return position_count(kind) == velocity_count(kind);
}

double row_velocity(const RobotSweep& s, const JointRow& row) noexcept {
  const auto dofs = s.tree->dof_reach(row.dof);
  double v = 0;
  for (std::size_t i = 0; i < dofs.size(); ++i) v += row.y[i] * s.u[dofs[i]];
  return v;
}

void push(const RobotSweep& s, const JointRow& row, double impulse) noexcept {
  const auto dofs = s.tree->dof_reach(row.dof);
  for (std::size_t i = 0; i < dofs.size(); ++i) s.u[dofs[i]] += row.y[i] * impulse;
}

// What a drive gives at the end of a substep that begins at q + moved and ends with rate v.
double drive_effort(const DofDrive& d, double q, double h, double v) noexcept {
  return d.effort + d.stiffness * (d.target - q - h * v) + d.damping * (d.target_rate - v);
}

// Right-hand side of a substep, over h: forces as they would be with the velocity unchanged.
void forces(const RobotSweep& s, double* out) noexcept {
  for (DofIndex d = 0; d < s.n; ++d) {
    out[d] = s.force[d] - s.damping[d] * s.v[d] + drive_effort(s.drives[d], s.q[d] + s.moved[d], s.h, s.v[d]);
  }
}

bool factor(const RobotSweep& s) noexcept {
  for (DofIndex d = 0; d < s.n; ++d) {
    const DofDrive& drive = s.drives[d];
    s.work[d] = s.h * (s.damping[d] + drive.damping + s.h * drive.stiffness);
  }
  return s.tree->factor(s.work);
}

// Drives that would exceed their limits without contact leave the linear system. dv: change of the velocities in a
// substep without contact.
bool split_drives(RobotSweep& s, double* dv) noexcept {
  forces(s, dv);
  for (DofIndex d = 0; d < s.n; ++d) dv[d] *= s.h;
  s.tree->solve(dv);
  bool any = false;
  for (DofIndex d = 0; d < s.n; ++d) {
    const DofDrive& drive = s.wanted[d];
    const double end = drive_effort(drive, s.q[d], s.h, s.v[d] + dv[d]);
    if (std::abs(end) <= kNearLimit * drive.limit) continue;
    if (drive.stiffness == 0 && drive.damping == 0) {
      s.drives[d].effort = std::clamp(drive.effort, -drive.limit, drive.limit);
      continue;
    }
    s.drives[d] = DofDrive{};
    JointRow& row = s.rows[s.row_count++];
    row = {JointRow::Kind::drive, d, 1, 0, s.h * drive.limit, 0, 0, nullptr};
    any = true;
  }
  return !any || factor(s);
}

// Forces that go with velocity, taken at the middle of the step: dv is what the velocities are expected to change in
// it. With those of the start the step is of first order, and a chain that swings gains or loses energy for ever.
void centre_forces(RobotSweep& s, const State& state, const Vec3& gravity_W, const SpatialForce* F_Bcm_W,
                   const double* dv) noexcept {
  for (DofIndex d = 0; d < s.n; ++d) s.work[d] = s.v[d] + 0.5 * dv[d];
  s.tree->velocities(state, s.work);
  s.tree->inverse_dynamics(gravity_W, nullptr, F_Bcm_W, s.force);
  for (DofIndex d = 0; d < s.n; ++d) s.force[d] = -s.force[d];
}

void add_end(RobotSweep& s, DofIndex d, double sign, double depth, double v) noexcept {
  if (-depth > kEndInSight + 8 * s.h * std::abs(v)) return;
  s.rows[s.row_count++] = {JointRow::Kind::end, d, sign, depth, 0, 0, 0, nullptr};
}

void find_rows(const Model& model, const State& state, RobotSweep& s) noexcept {
  const Robot& robot = s.tree->robot();
  const double* friction = s.tree->joint_friction();
  for (DofIndex d = 0; d < s.n; ++d) {
    if (friction[d] > 0) s.rows[s.row_count++] = {JointRow::Kind::friction, d, 1, 0, s.h * friction[d], 0, 0, nullptr};
  }
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = model.joints[robot.first_joint + i];
    if (joint.kind != JointKind::revolute && joint.kind != JointKind::prismatic) continue;
    const DofIndex d = joint.first_v - robot.first_v;
    const bool mimic = joint.mimic != kNone;
    const double ratio = mimic ? joint.multiplier : 1.0;
    if (ratio == 0) continue;
    const double master = state.joint_q[joint.first_q];
    const double q = mimic ? ratio * master + joint.offset : master, size = std::abs(ratio), up = ratio > 0 ? 1 : -1;
    if (std::isfinite(joint.lower)) add_end(s, d, up, (joint.lower - q) / size, s.v[d]);
    if (std::isfinite(joint.upper)) add_end(s, d, -up, (q - joint.upper) / size, s.v[d]);
  }
}

void respond(RobotSweep& s, Arena& arena) noexcept {
  for (std::uint32_t i = 0; i < s.row_count; ++i) {
    JointRow& row = s.rows[i];
    const std::size_t count = s.tree->dof_reach(row.dof).size();
    auto* y = arena.take<double>(count);
    s.tree->half_response_dof(row.dof, y);
    row.K = 0;
    for (std::size_t k = 0; k < count; ++k) row.K += y[k] * y[k];
    row.y = y;
  }
}

bool is_felt(const RobotSweep& s, DofIndex d) noexcept {
  const DofDrive& drive = s.wanted[d];
  return s.damping[d] != 0 || drive.stiffness != 0 || drive.damping != 0;
}

// Multiplications decide: a half response takes half of its length squared, and is used twice in a substep, two numbers
// at a time; L takes all of its numbers twice.
bool are_few(RobotSweep& s, std::uint32_t substeps) noexcept {
  std::size_t with = 0, without = 0;
  s.felt_count = 0;
  for (DofIndex d = 0; d < s.n; ++d) {
    const std::size_t length = s.tree->dof_reach(d).size();
    without += 2 * substeps * length;
    if (!is_felt(s, d)) continue;
    with += length * length / 2 + std::size_t{substeps} * s.n;
    s.felt[s.felt_count++].dof = d;
  }
  return substeps > 1 && with <= without;
}

void find_felt(RobotSweep& s, std::uint32_t substeps, Arena& arena) noexcept {
  s.few = are_few(s, substeps);
  if (!s.few) return;
  for (DofIndex d = 0; d < s.n; ++d) {
    s.u_sum[d] = 0;
    s.constant[d] = s.h * (s.force[d] + s.drives[d].effort);
  }
  for (std::uint32_t i = 0; i < s.felt_count; ++i) {
    FeltDof& felt = s.felt[i];
    const DofIndex d = felt.dof;
    const DofDrive& drive = s.drives[d];
    s.constant[d] += s.h * (drive.stiffness * (drive.target - s.q[d]) + drive.damping * drive.target_rate);
    felt.y = arena.take<double>(s.n);
    const auto dofs = s.tree->dof_reach(d);
    s.tree->half_response_dof(d, s.work);
    std::fill(felt.y, felt.y + s.n, 0.0);
    for (std::size_t k = 0; k < dofs.size(); ++k) felt.y[dofs[k]] = s.work[k];
  }
  s.tree->half(s.constant);
}

double end_impulse(const RobotSweep& s, const JointRow& row, double v_free) noexcept {
  const double unit = 1 / row.K, yield = (s.stop.alpha + s.stop.beta) * unit;
  const double reach = s.stop.speed * s.h * (1 + s.stop.beta / s.stop.alpha);
  const double spring =
      row.depth < 0 ? yield / s.h * row.depth : s.stop.alpha * unit / s.h * std::min(row.depth, reach);
  return std::max(0.0, (spring - yield * v_free) / (1 + yield * row.K));
}

double drive_impulse(const RobotSweep& s, const JointRow& row, double v_free) noexcept {
  const DofDrive& d = s.wanted[row.dof];
  const double gain = s.h * (s.h * d.stiffness + d.damping);
  const double free = s.h * drive_effort(d, s.q[row.dof] + s.moved[row.dof], s.h, v_free);
  return std::clamp(free / (1 + gain * row.K), -row.bound, row.bound);
}

}  // namespace

std::size_t sweep_bytes(const Model& model, const Robot& robot) noexcept {
  (void)model;
  const std::size_t n = robot.v_count, rows = 2 * n + 2 * robot.joint_count;
  return n * (12 * sizeof(double) + sizeof(DofDrive) + sizeof(FeltDof)) +
         rows * (sizeof(JointRow) + n * sizeof(double)) + n * n * sizeof(double) + 256;
}

bool start_sweep(const Model& model, const State& state, Tree& tree, const Vec3& gravity_W, const DofDrive* drives,
                 const SpatialForce* F_Bcm_W, double h, const StopLaw& stop, Arena& arena, RobotSweep& out,
                 std::uint32_t substeps) noexcept {
  const Robot& robot = tree.robot();
  const std::uint32_t n = robot.v_count;
  auto* numbers = arena.take<double>(12 * static_cast<std::size_t>(n));
  const auto next = [&numbers, n] { return std::exchange(numbers, numbers + n); };
  RobotSweep& s = out;
  s.model = &model, s.tree = &tree;
  s.n = n, s.first_q = robot.first_q, s.first_v = robot.first_v;
  s.h = h, s.stop = stop;
  s.u = next(), s.u_free = next();
  s.v = next(), s.moved = next(), s.v_start = next();
  s.force = next(), s.work = next(), s.effort = next();
  s.constant = next(), s.u_sum = next();
  s.stopped = next();
  s.damping = tree.joint_damping();
  s.drives = arena.take<DofDrive>(n), s.wanted = drives;
  s.rows = arena.take<JointRow>(2 * n + 2 * robot.joint_count), s.row_count = 0;
  s.felt = arena.take<FeltDof>(n);
  double* q = next();
  s.q = q;
  std::fill(q, q + n, 0.0);
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = model.joints[robot.first_joint + i];
    if (joint.mimic != kNone || !has_positions(joint.kind)) continue;
    for (std::uint32_t k = 0; k < velocity_count(joint.kind); ++k) {
      q[joint.first_v - robot.first_v + k] = state.joint_q[joint.first_q + k];
    }
  }
  for (DofIndex d = 0; d < n; ++d) {
    s.v[d] = s.v_start[d] = state.joint_v[robot.first_v + d];
    s.drives[d] = drives[d];
    s.moved[d] = s.effort[d] = s.stopped[d] = 0;
  }
  tree.inverse_dynamics(gravity_W, nullptr, F_Bcm_W, s.force);  // bias - J^T F
  for (DofIndex d = 0; d < n; ++d) s.force[d] = -s.force[d];
  double* dv = s.u;  // not needed yet
  if (!factor(s) || !split_drives(s, dv)) return false;
  for (DofIndex d = 0; d < n; ++d) dv[d] *= substeps;
  centre_forces(s, state, gravity_W, F_Bcm_W, dv);
  find_rows(model, state, s);
  respond(s, arena);
  find_felt(s, substeps, arena);
  std::copy(s.v, s.v + n, s.u);
  tree.to_half(s.u);
  std::copy(s.u, s.u + n, s.u_free);
  return true;
}

namespace {

// u is written one by one and read so, because a pair would have to wait for both.
inline Two pair_of(const double* u) noexcept {
  return Two{u[0], u[1]};
}

void predict_few(RobotSweep& s) noexcept {
  double *const u = s.u, *const u_free = s.u_free;
  const double* const constant = s.constant;
  const FeltDof* const felt = s.felt;
  const std::uint32_t n = s.n, count = s.felt_count;
  for (std::uint32_t i = 0; i < count; ++i) {
    FeltDof& f = s.felt[i];
    const DofDrive& drive = s.drives[f.dof];
    const double gain = s.damping[f.dof] + drive.damping + s.h * drive.stiffness;
    f.push = -s.h * (gain * s.v[f.dof] + drive.stiffness * s.moved[f.dof]);
  }
  DofIndex d = 0;
  for (; d + 1 < n; d += 2) {
    const Two now = pair_of(u + d);
    Two free = now + load_two(constant + d);
    for (std::uint32_t i = 0; i < count; ++i) free += felt[i].push * load_two(felt[i].y + d);
    store_two(free + (now - load_two(u_free + d)), u + d);
    store_two(free, u_free + d);
  }
  if (d == n) return;
  double free = u[d] + constant[d];
  for (std::uint32_t i = 0; i < count; ++i) free += felt[i].push * felt[i].y[d];
  u[d] = free + (u[d] - u_free[d]);
  u_free[d] = free;
}

double felt_velocity(const double* u, const double* y, std::uint32_t n) noexcept {
  Two sum{};
  DofIndex d = 0;
  for (; d + 1 < n; d += 2) sum += load_two(y + d) * pair_of(u + d);
  const double rest = d < n ? y[d] * u[d] : 0.0;
  return sum[0] + sum[1] + rest;
}

void end_few(RobotSweep& s) noexcept {
  const double* const u = s.u;
  double* const sum = s.u_sum;
  const std::uint32_t n = s.n;
  DofIndex d = 0;
  for (; d + 1 < n; d += 2) store_two(load_two(sum + d) + pair_of(u + d), sum + d);
  if (d < n) sum[d] += u[d];
  for (std::uint32_t i = 0; i < s.felt_count; ++i) {
    const DofIndex k = s.felt[i].dof;
    const double v = felt_velocity(u, s.felt[i].y, n);
    s.effort[k] += drive_effort(s.drives[k], s.q[k] + s.moved[k], s.h, v);
    s.moved[k] += s.h * v;
    s.v[k] = v;
  }
}

// What was not followed in the substeps.
void complete_few(RobotSweep& s, std::uint32_t substeps) noexcept {
  std::copy(s.u, s.u + s.n, s.v);
  s.tree->from_half(s.v);
  std::copy(s.u_sum, s.u_sum + s.n, s.moved);
  s.tree->from_half(s.moved);
  for (DofIndex d = 0; d < s.n; ++d) {
    s.moved[d] *= s.h;
    s.work[d] = substeps * s.drives[d].effort;
  }
  for (std::uint32_t i = 0; i < s.felt_count; ++i) s.work[s.felt[i].dof] = s.effort[s.felt[i].dof];
  std::copy(s.work, s.work + s.n, s.effort);
}

}  // namespace

void predict(RobotSweep& s) noexcept {
  if (s.few) return predict_few(s);
  forces(s, s.work);
  s.tree->half(s.work);
  for (DofIndex d = 0; d < s.n; ++d) {
    const double impulses = s.u[d] - s.u_free[d];
    s.u_free[d] = s.u[d] + s.h * s.work[d];
    s.u[d] = s.u_free[d] + impulses;
  }
}

void visit_rows(RobotSweep& s) noexcept {
  for (std::uint32_t i = 0; i < s.row_count; ++i) {
    JointRow& row = s.rows[i];
    const double v = row.sign * row_velocity(s, row), v_free = v - row.K * row.impulse;
    double impulse = 0;
    switch (row.kind) {
      case JointRow::Kind::friction:
        impulse = std::clamp(-v_free / row.K, -row.bound, row.bound);
        break;
      case JointRow::Kind::drive:
        impulse = drive_impulse(s, row, v_free);
        break;
      case JointRow::Kind::end:
        impulse = end_impulse(s, row, v_free);
        break;
    }
    push(s, row, row.sign * (impulse - row.impulse));
    row.impulse = impulse;
  }
}

void end_substep(RobotSweep& s) noexcept {
  if (s.few) {
    end_few(s);
  } else {
    std::copy(s.u, s.u + s.n, s.v);
    s.tree->from_half(s.v);
    for (DofIndex d = 0; d < s.n; ++d) {
      s.effort[d] += drive_effort(s.drives[d], s.q[d] + s.moved[d], s.h, s.v[d]);
      s.moved[d] += s.h * s.v[d];
    }
  }
  for (std::uint32_t i = 0; i < s.row_count; ++i) {
    JointRow& row = s.rows[i];
    if (row.kind == JointRow::Kind::drive) s.effort[row.dof] += row.impulse / s.h;
    if (row.kind == JointRow::Kind::end) {
      s.stopped[row.dof] += row.sign * row.impulse / s.h;
      row.depth -= s.h * row.sign * (s.few ? row_velocity(s, row) : s.v[row.dof]);
    }
  }
}

void end_sweep(RobotSweep& s, std::uint32_t substeps, State& state, double* effort, double* stop) noexcept {
  // Forces are those of one step: positions go on with the velocity of its end, as if the tick had no substeps. With
  // the mean over the substeps a pendulum of 0.1 m gains three quarters of its energy in 10 s. Only the place of a
  // floating base, on which no force depends, moves like a free body: with the mean, nearer to a parabola.
  if (s.few) complete_few(s, substeps);
  const double tick = s.h * substeps, rest = 0.5 * (substeps - 1) / substeps;
  for (DofIndex d = 0; d < s.n; ++d) {
    s.work[d] = s.moved[d] / tick + rest * (s.v[d] - s.v_start[d]);
    state.joint_v[s.first_v + d] = s.v[d];
    const double given = s.effort[d] / substeps, limit = s.wanted[d].limit;
    effort[d] = std::clamp(given, -limit, limit);
    if (stop != nullptr) stop[d] = s.stopped[d] / substeps + (given - effort[d]);
  }
  const Robot& robot = s.tree->robot();
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    const Joint& joint = s.model->joints[robot.first_joint + i];
    if (joint.kind != JointKind::floating) continue;
    const DofIndex first = joint.first_v - robot.first_v;
    for (DofIndex d = first; d < first + 3; ++d) s.work[d] = s.moved[d] / tick;
  }
  integrate_joints(*s.model, robot, tick, s.work, state.joint_q.data() + s.first_q);
}

}  // namespace tactus
