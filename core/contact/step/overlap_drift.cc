#include "core/contact/step/overlap_drift.h"

#include <algorithm>

#include "core/check.h"

namespace tactus {

namespace {

constexpr double kAsDeep = 1e-3;  // depths this close, of the deepest, are equal

// The contacts of one manifold: first .. last - 1 of the problem.
struct Group {
  std::uint32_t first, last;
};

Group next_group(const ContactProblem& problem, std::uint32_t first) noexcept {
  TACTUS_DCHECK(first < problem.count());
  std::uint32_t last = first;
  const std::uint32_t manifold = problem.contact(first).manifold;
  while (last < problem.count() && problem.contact(last).manifold == manifold) ++last;
  return {first, last};
}

void clear(const ContactProblem& problem, const ProblemContact& contact, double* y) noexcept {
  for (const ProblemSide& side : contact.side) {
    if (side.block == kNone) continue;
    std::fill_n(y + problem.block(side.block).start, problem.block(side.block).size, 0.0);
  }
}

double depth_of(const Tick& tick, const ContactProblem& problem, const Group& g) noexcept {
  double depth = 0;
  for (std::uint32_t i = g.first; i < g.last; ++i) {
    depth = std::max(depth, tick.contacts.points[problem.contact(i).point].depth);
  }
  return depth;
}

// How many manifolds with springs each block has.
const std::uint32_t* count_springs(const Tick& tick, const ContactProblem& problem) noexcept {
  auto* const count = tick.arena.take<std::uint32_t>(problem.block_count());
  std::fill_n(count, problem.block_count(), 0U);
  for (std::uint32_t i = 0; i < problem.count();) {
    const Group g = next_group(problem, i);
    i = g.last;
    const ProblemContact& contact = problem.contact(g.first);
    if (contact.manifold == kNone || depth_of(tick, problem, g) <= 0) continue;
    for (const ProblemSide& side : contact.side) {
      if (side.block != kNone) ++count[side.block];
    }
  }
  return count;
}

// The springs of one manifold; y: what a unit of their impulse does, left cleared.
void add_springs(const Tick& tick, const ContactProblem& problem, const Group& g, const std::uint32_t* count,
                 const double* u, double* y, double* u_drift) noexcept {
  const double depth = depth_of(tick, problem, g);
  if (depth <= 0) return;
  const auto is_deepest = [&](std::uint32_t i) {
    return tick.contacts.points[problem.contact(i).point].depth >= (1 - kAsDeep) * depth;
  };
  std::uint32_t points = 0;
  for (std::uint32_t i = g.first; i < g.last; ++i) points += is_deepest(i) ? 1 : 0;
  TACTUS_DCHECK(points > 0);
  const double share = 1.0 / points;
  clear(problem, problem.contact(g.first), y);
  for (std::uint32_t i = g.first; i < g.last; ++i) {
    if (is_deepest(i)) push(problem, problem.contact(i), Vec3(share, 0, 0), y);
  }
  double opening = 0;  // of the mean of the deepest points
  for (std::uint32_t i = g.first; i < g.last; ++i) {
    if (!is_deepest(i)) continue;
    const ProblemContact& contact = problem.contact(i);
    opening += share * (velocity(problem, contact, u)[0] + contact.b[0] - contact.bias);
  }
  double mobility = 0, shared = 0;  // the same, alone and with bodies split among their springs
  for (const ProblemSide& side : problem.contact(g.first).side) {
    if (side.block == kNone) continue;
    const ProblemBlock& block = problem.block(side.block);
    double sum = 0;
    for (std::uint32_t k = 0; k < block.size; ++k) sum += y[block.start + k] * y[block.start + k];
    TACTUS_DCHECK(count[side.block] > 0);  // this spring was counted
    mobility += sum, shared += count[side.block] * sum;
  }
  const Parameters& p = tick.parameters;
  // Springs of one body know nothing of each other. A body split among them (Cimmino's projections) brings no body
  // farther from where nothing overlaps; without that their sum may overshoot, and overlaps grow.
  const double pace = std::min(mobility / (shared * tick.h), 1 / p.overlap_relax_time);
  const double wanted = std::min(depth * pace, p.overlap_relax_speed);
  const double missing = wanted - std::max(opening, 0.0);
  if (mobility > 0 && missing > 0) {
    const Vec3 impulse(share * missing / mobility, 0, 0);
    for (std::uint32_t i = g.first; i < g.last; ++i) {
      if (is_deepest(i)) push(problem, problem.contact(i), impulse, u_drift);
    }
  }
  clear(problem, problem.contact(g.first), y);
}

}  // namespace

void find_drift(const Tick& tick, const ContactProblem& problem, const double* u, double* y, double* u_drift) noexcept {
  std::fill_n(u_drift, problem.half_size(), 0.0);
  const std::uint32_t* const count = count_springs(tick, problem);
  for (std::uint32_t i = 0; i < problem.count();) {
    const Group g = next_group(problem, i);
    if (problem.contact(i).manifold != kNone) add_springs(tick, problem, g, count, u, y, u_drift);
    i = g.last;
  }
}

void move_by_drift(const Tick& tick, const ContactProblem& problem, double* u_drift, State& state) noexcept {
  for (std::uint32_t i = 0; i < problem.block_count(); ++i) {
    const ProblemBlock& block = problem.block(i);
    double* const x = u_drift + block.start;
    if (std::all_of(x, x + block.size, [](double y) { return y == 0; })) continue;
    if (block.body != kNoBody) {
      const Eigen::Map<const Vec3> v(x), w(x + 3);
      state.set_pose(block.body, state.p_WBcm(block.body) + tick.h * block.root_inv_mass * v,
                     rotate_by(tick.h * (block.C * w), state.q_WB(block.body)));
      continue;
    }
    const Tree& tree = *tick.kinematics.robots[block.robot];
    tree.from_half(x);
    integrate_joints(tick.model, tree.robot(), tick.h, x, state.joint_q.data() + tree.robot().first_q);
  }
}

}  // namespace tactus
