#include "core/contact/solve/contact_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/contact/body_response.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// A link's mobility along a normal, over its mean of each side alone, that is rounding: two links on one axis, an arm
// that is stretched out. Forces would be without bound there, and move nothing.
constexpr double kNoMobility = 1e-20;

// K = C C^T, C lower triangular; zero where K has no part (planar worlds).
Mat3 lower_root(const Mat3& K) noexcept {
  TACTUS_DCHECK(is_symmetric(K));  // its lower half is read
  Mat3 C = Mat3::Zero();
  for (int j = 0; j < 3; ++j) {
    double d = K(j, j);
    for (int k = 0; k < j; ++k) d -= C(j, k) * C(j, k);
    if (!(d > 0)) continue;
    C(j, j) = std::sqrt(d);
    for (int i = j + 1; i < 3; ++i) {
      double s = K(i, j);
      for (int k = 0; k < j; ++k) s -= C(i, k) * C(j, k);
      C(i, j) = s / C(j, j);
    }
  }
  return C;
}

std::size_t row_of(const ProblemBlock& block, const ProblemSide& side, std::uint32_t k) noexcept {
  return block.start + (side.dofs != nullptr ? side.dofs[k] : k);
}

double normal_mobility(const ProblemContact& contact) noexcept {
  double sum = 0;
  for (const ProblemSide& side : contact.side) {
    for (std::uint32_t k = 0; side.block != kNone && k < side.size; ++k)
      sum += side.Y[std::size_t{3} * k] * side.Y[std::size_t{3} * k];
  }
  return sum;
}

}  // namespace

ContactProblem::ContactProblem(const Model& model, const Limits& limits)
    : planar_(model.planar),
      contacts_(problem_contacts_max(model, limits)),
      blocks_(model.bodies.size() + model.robots.size()),
      block_of_body_(model.bodies.size()),
      block_of_robot_(model.robots.size()),
      free_(model.bodies.size()),
      Y_(std::size_t{36} * limits.problem_contacts) {}

Mat3 ContactProblem::frame(const Vec3& nhat_BA_W, bool planar) noexcept {
  TACTUS_DCHECK(is_unit(nhat_BA_W));
  Vec3 t1(-nhat_BA_W.y(), nhat_BA_W.x(), 0), t2 = Vec3::UnitZ();
  if (!planar || nhat_BA_W.z() != 0) tangent_basis(nhat_BA_W, t1, t2);
  Mat3 e;
  e << nhat_BA_W, t1, t2;
  return e;
}

std::uint32_t ContactProblem::body_block(const BodyKinematics& k, BodyIndex b) noexcept {
  if (block_of_body_[b] != kNone) return block_of_body_[b];
  TACTUS_DCHECK(block_count_ < blocks_.size() && k.inv_mass > 0 && k.robot == nullptr);
  ProblemBlock& block = blocks_[block_count_];
  block.start = half_size_, block.size = 6;
  block.body = b, block.robot = 0;
  block.root_inv_mass = std::sqrt(k.inv_mass);
  block.C = planar_ ? lower_root(Vec3(0, 0, k.inv_I_W(2, 2)).asDiagonal()) : lower_root(k.inv_I_W);
  half_size_ += 6;
  return block_of_body_[b] = block_count_++;
}

// The half response of a free body.
void ContactProblem::add_body_side(const BodyKinematics& k, BodyIndex b, double sign, const Vec3& p_WC, const Mat3& e,
                                   ProblemSide& side) noexcept {
  TACTUS_DCHECK((sign == 1 || sign == -1) && std::size_t{36} * (count_ + 1) <= Y_.size());
  side.block = body_block(k, b);
  side.size = 6;
  const ProblemBlock& block = blocks_[side.block];
  const Vec3 r = p_WC - k.X_WBcm.p;
  double* Y = Y_.data() + std::size_t{36} * count_ + (sign > 0 ? 0 : 18);
  for (int j = 0; j < 3; ++j) {
    const Vec3 axis = e.col(j), turn = block.C.transpose() * r.cross(axis);
    for (int i = 0; i < 3; ++i) {
      Y[3 * i + j] = planar_ && i == 2 ? 0.0 : sign * block.root_inv_mass * axis[i];
      Y[3 * (i + 3) + j] = sign * turn[i];
    }
  }
  side.Y = Y;
}

// The half response of one side, and what the point's velocity is without impulses (added to free). False: the contact
// is one too many with a link.
bool ContactProblem::add_side(const Tick& tick, const RobotSweep* sweeps, BodyIndex b, double sign, const Vec3& p_WC,
                              const Mat3& e, ProblemSide& side, Vec3& free) noexcept {
  const BodyKinematics& k = tick.kinematics.bodies[b];
  side = {};
  const Vec3 r = p_WC - k.X_WBcm.p;
  if (k.robot == nullptr) {
    free += sign * (e.transpose() * (free_[b].v + free_[b].w.cross(r)));
    if (k.inv_mass > 0) add_body_side(k, b, sign, p_WC, e, side);
    return true;
  }
  const std::uint32_t robot = tick.model.joints[tick.model.bodies[b].joint].robot;
  TACTUS_DCHECK(robot < block_of_robot_.size());
  if (sweeps[robot].tree == nullptr) return true;  // stands still in this tick
  if (link_contacts_ >= tick.limits.robot_contacts) return false;
  const auto dofs = k.robot->reach(k.link);
  auto* Y = tick.arena.take<double>(3 * dofs.size());
  k.robot->half_response_force(k.link, p_WC, e, Y);
  free += sign * (e.transpose() * k.robot->carrier_velocity(k.link, p_WC).v);
  for (std::size_t i = 0; i < dofs.size(); ++i) {
    for (int j = 0; j < 3; ++j) {
      Y[3 * i + static_cast<std::size_t>(j)] *= sign;
      free[j] += Y[3 * i + static_cast<std::size_t>(j)] * sweeps[robot].u_free[dofs[i]];
    }
  }
  side = {block_of_robot_[robot], static_cast<std::uint32_t>(dofs.size()), dofs.data(), Y};
  return true;
}

// Two links of one robot are one side: rows are the union of both, descending.
void ContactProblem::merge_links(const Tick& tick, ProblemContact& contact) noexcept {
  const ProblemSide a = contact.side[0], b = contact.side[1];
  TACTUS_DCHECK(a.block == b.block);
  TACTUS_DCHECK(is_descending<DofIndex>({a.dofs, a.size}) && is_descending<DofIndex>({b.dofs, b.size}));
  auto* dofs = tick.arena.take<DofIndex>(a.size + b.size);
  auto* Y = tick.arena.take<double>(std::size_t{3} * (a.size + b.size));
  std::uint32_t rows = 0, i = 0, j = 0;
  for (; i < a.size || j < b.size; ++rows) {
    const bool from_a = i < a.size && (j == b.size || a.dofs[i] >= b.dofs[j]);
    const bool from_b = j < b.size && (i == a.size || b.dofs[j] >= a.dofs[i]);
    dofs[rows] = from_a ? a.dofs[i] : b.dofs[j];
    for (std::size_t k = 0; k < 3; ++k) {
      Y[3 * rows + k] = (from_a ? a.Y[std::size_t{3} * i + k] : 0.0) + (from_b ? b.Y[std::size_t{3} * j + k] : 0.0);
    }
    i += from_a ? 1 : 0;
    j += from_b ? 1 : 0;
  }
  contact.side[0] = {a.block, rows, dofs, Y};
  contact.side[1] = {};
}

void ContactProblem::add_contact(const Tick& tick, const State& state, const RobotSweep* sweeps,
                                 const ContactRule& rule, std::uint32_t manifold, std::uint32_t point) noexcept {
  const Manifold& m = tick.contacts.manifolds[manifold];
  const ContactPoint& at = tick.contacts.points[point];
  const BodyKinematics &ka = tick.kinematics.bodies[m.body_a], &kb = tick.kinematics.bodies[m.body_b];
  if (count_ * std::size_t{36} >= Y_.size()) {
    ++dropped_;
    return;
  }
  ProblemContact& contact = contacts_[count_];
  const Mat3 e = frame(m.nhat_BA_W, planar_);
  Vec3 free = Vec3::Zero();
  if (!add_side(tick, sweeps, m.body_a, 1, at.p_WC, e, contact.side[0], free) ||
      !add_side(tick, sweeps, m.body_b, -1, at.p_WC, e, contact.side[1], free)) {
    ++robot_dropped_;
    return;
  }
  if (contact.side[0].block == kNone && contact.side[1].block == kNone) return;  // nothing there can move
  const Vec3 before =
      e.transpose() * (point_velocity(state, ka, m.body_a, at.p_WC) - point_velocity(state, kb, m.body_b, at.p_WC));
  const SurfacePair& surface =
      tick.model.surface(tick.model.shapes[m.shape_a].material, tick.model.shapes[m.shape_b].material);
  double bias = 0;
  if (!rule.bias({-at.depth, before[0], free[0], surface.restitution, tick.h, tick.parameters, manifold}, bias)) return;
  const bool linked = ka.robot != nullptr || kb.robot != nullptr;
  if (linked) ++link_contacts_;
  contact.rows = 3;
  const double apart = linked ? find_mobility(contact) : 0;
  if (ka.robot != nullptr && contact.side[0].block != kNone && contact.side[0].block == contact.side[1].block) {
    merge_links(tick, contact);
  }
  contact.mobility = find_mobility(contact);
  if (linked && normal_mobility(contact) <= kNoMobility * apart) return;  // joints do not change this distance
  TACTUS_DCHECK(not_below(contact.mobility, 0) && surface.friction.mu_dynamic >= 0);
  contact.b = free;
  contact.b[0] += bias;
  contact.bias = bias;
  const bool slides = before.tail<2>().norm() > tick.parameters.impact_epsilon;
  contact.mu = slides ? surface.friction.mu_dynamic : std::max(surface.friction.mu_static, surface.friction.mu_dynamic);
  contact.lo = contact.hi = contact.compliance = contact.bound = 0;
  contact.law = ContactLaw::cone;
  contact.stops = true;
  contact.slip = Eigen::Vector2d::UnitX();
  contact.manifold = manifold, contact.point = point;
  ++count_;
}

// Ends of joints as a contact with the end; Coulomb friction and drives at their limit as bounded rows. A drive gives
// h (E - gain v'), which is a row of compliance 1 / gain.
void ContactProblem::add_joint_rows(const Tick& tick, const RobotSweep& sweep, std::uint32_t robot) noexcept {
  const Parameters& parameters = tick.parameters;
  for (std::uint32_t i = 0; i < sweep.row_count; ++i) {
    const JointRow& row = sweep.rows[i];
    const auto dofs = sweep.tree->dof_reach(row.dof);
    TACTUS_DCHECK(count_ < contacts_.size() && not_below(row.bound, 0));
    ProblemContact& contact = contacts_[count_];
    contact = {};
    contact.rows = 1;
    contact.robot = robot, contact.joint_row = i;
    auto* y = tick.arena.take<double>(dofs.size());
    double v = 0;
    for (std::size_t k = 0; k < dofs.size(); ++k) {
      y[k] = row.sign * row.y[k];
      v += y[k] * sweep.u_free[dofs[k]];
    }
    contact.side[0] = {block_of_robot_[robot], static_cast<std::uint32_t>(dofs.size()), dofs.data(), y};
    contact.mobility = find_mobility(contact);
    contact.lo = -row.bound, contact.hi = row.bound;
    contact.b[0] = v;
    if (row.kind == JointRow::Kind::end) {
      contact.lo = 0, contact.hi = std::numeric_limits<double>::infinity();
      const double pace = 1 / std::max(tick.h, parameters.overlap_relax_time);
      contact.b[0] += row.depth < 0 ? -row.depth / tick.h : -std::min(row.depth * pace, parameters.overlap_relax_speed);
    } else if (row.kind == JointRow::Kind::drive) {
      const DofDrive& d = sweep.wanted[row.dof];
      const double gain = tick.h * (tick.h * d.stiffness + d.damping);
      const double at_rest =
          tick.h * (d.effort + d.stiffness * (d.target - sweep.q[row.dof]) + d.damping * d.target_rate);
      TACTUS_DCHECK(!(gain <= 0));  // a drive without gains is an effort, no row
      contact.compliance = 1 / gain;
      contact.b[0] -= at_rest / gain;
    }
    ++count_;
  }
}

void ContactProblem::build(const Tick& tick, const State& state, const RobotSweep* sweeps,
                           const ContactRule& rule) noexcept {
  TACTUS_ASSERT(tick.h > 0 && state.body_count() == block_of_body_.size());
  count_ = block_count_ = half_size_ = dropped_ = link_contacts_ = robot_dropped_ = 0;
  std::fill(block_of_body_.begin(), block_of_body_.end(), kNone);
  for (std::uint32_t i = 0; i < block_of_robot_.size(); ++i) {
    block_of_robot_[i] = kNone;
    if (sweeps[i].tree == nullptr) continue;
    blocks_[block_count_] = {half_size_, sweeps[i].n, kNoBody, i, 0, Mat3::Zero()};
    half_size_ += sweeps[i].n;
    block_of_robot_[i] = block_count_++;
  }
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const BodyKinematics& k = tick.kinematics.bodies[b];
    if (state.frozen[b] || k.robot != nullptr) {
      free_[b] = {};
      continue;
    }
    free_[b] = {state.w_WB(b), state.v_WBcm(b)};
    if (k.inv_mass == 0) continue;
    const SpatialForce& F = tick.applied[b];
    free_[b].v += tick.h * (tick.model.bodies[b].gravity_scale * tick.parameters.gravity_W + k.inv_mass * F.force);
    free_[b].w += tick.h * (k.inv_I_W * F.torque);
    if (planar_) free_[b].v.z() = free_[b].w.x() = free_[b].w.y() = 0;
  }
  for (std::uint32_t i = 0; i < tick.contacts.manifold_count; ++i) {
    const Manifold& m = tick.contacts.manifolds[i];
    for (std::uint32_t k = 0; k < m.count; ++k) add_contact(tick, state, sweeps, rule, i, m.first + k);
  }
  for (std::uint32_t i = 0; i < block_of_robot_.size(); ++i) {
    if (block_of_robot_[i] != kNone) add_joint_rows(tick, sweeps[i], i);
  }
}

void ContactProblem::clear() noexcept {
  count_ = block_count_ = half_size_ = dropped_ = link_contacts_ = robot_dropped_ = 0;
  std::fill(block_of_body_.begin(), block_of_body_.end(), kNone);
}

ProblemContact* ContactProblem::add(const BodyKinematics* bodies, BodyIndex body_a, BodyIndex body_b, const Vec3& p_WC,
                                    const Mat3& e, const Vec3& b) noexcept {
  if (bodies[body_a].inv_mass == 0 && bodies[body_b].inv_mass == 0) return nullptr;
  if (count_ * std::size_t{36} >= Y_.size()) {
    ++dropped_;
    return nullptr;
  }
  ProblemContact& contact = contacts_[count_];
  contact = {};
  if (bodies[body_a].inv_mass > 0) add_body_side(bodies[body_a], body_a, 1, p_WC, e, contact.side[0]);
  if (bodies[body_b].inv_mass > 0) add_body_side(bodies[body_b], body_b, -1, p_WC, e, contact.side[1]);
  contact.mobility = find_mobility(contact);
  contact.b = b;
  ++count_;
  return &contact;
}

void ContactProblem::take(const ContactProblem& from, std::span<const std::uint32_t> chosen) noexcept {
  TACTUS_ASSERT(chosen.size() <= contacts_.size() && from.block_count_ <= blocks_.size());
  TACTUS_DCHECK(std::all_of(chosen.begin(), chosen.end(), [&](std::uint32_t i) { return i < from.count_; }));
  count_ = 0;
  for (const std::uint32_t i : chosen) contacts_[count_++] = from.contacts_[i];
  block_count_ = from.block_count_, half_size_ = from.half_size_;
  std::copy_n(from.blocks_.begin(), block_count_, blocks_.begin());
}

// A free body's six rows stand side by side, which is nearly all that these see: loops of known length.
double find_mobility(const ProblemContact& contact) noexcept {
  double sum = 0;
  for (const ProblemSide& side : contact.side) {
    if (side.block == kNone) continue;
    const std::size_t n = std::size_t{contact.rows} * side.size;
    for (std::size_t k = 0; k < n; ++k) sum += side.Y[k] * side.Y[k];
  }
  return sum / contact.rows;
}

void push(const ContactProblem& problem, const ProblemContact& contact, const Vec3& p, double* y) noexcept {
  for (const ProblemSide& side : contact.side) {
    if (side.block == kNone) continue;
    const ProblemBlock& block = problem.block(side.block);
    if (contact.rows == 1) {
      for (std::uint32_t k = 0; k < side.size; ++k) y[row_of(block, side, k)] += side.Y[k] * p[0];
    } else if (is_whole(side)) {
      double* const u = y + block.start;
      for (std::size_t k = 0; k < 6; ++k) u[k] += half_row(side.Y + 3 * k, p);
    } else {
      for (std::uint32_t k = 0; k < side.size; ++k)
        y[row_of(block, side, k)] += half_row(side.Y + 3 * std::size_t{k}, p);
    }
  }
}

Vec3 velocity(const ContactProblem& problem, const ProblemContact& contact, const double* y) noexcept {
  double c[3] = {0, 0, 0};
  for (const ProblemSide& side : contact.side) {
    if (side.block == kNone) continue;
    const ProblemBlock& block = problem.block(side.block);
    if (contact.rows == 1) {
      for (std::uint32_t k = 0; k < side.size; ++k) c[0] += side.Y[k] * y[row_of(block, side, k)];
    } else if (is_whole(side)) {
      add_velocity(side.Y, y + block.start, c);
    } else {
      for (std::uint32_t k = 0; k < side.size; ++k) {
        const double u = y[row_of(block, side, k)];
        for (std::size_t j = 0; j < 3; ++j) c[j] += side.Y[3 * std::size_t{k} + j] * u;
      }
    }
  }
  return {c[0], c[1], c[2]};
}

std::uint32_t problem_contacts_max(const Model& model, const Limits& limits) noexcept {
  return limits.problem_contacts + problem_joint_rows_max(model);
}

std::uint32_t problem_joint_rows_max(const Model& model) noexcept {
  std::uint32_t n = 0;
  for (const Robot& robot : model.robots) n += 2 * robot.v_count + 2 * robot.joint_count;
  return n;
}

std::uint32_t problem_half_max(const Model& model) noexcept {
  auto n = static_cast<std::uint32_t>(6 * model.bodies.size());
  for (const Robot& robot : model.robots) n += robot.v_count;
  return n;
}

std::uint32_t problem_blocks_max(const Model& model) noexcept {
  return static_cast<std::uint32_t>(model.bodies.size() + model.robots.size());
}

}  // namespace tactus
