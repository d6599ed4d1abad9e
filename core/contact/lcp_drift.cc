#include "core/contact/lcp_drift.h"

#include <algorithm>

namespace tactus {

namespace {

constexpr double kLevel = 1e-3;  // depths this close, of the deepest, are equal

// The contacts of one manifold: first .. last - 1 of the problem.
struct Group {
  std::uint32_t first, last;
};

Group next_group(const ContactProblem& problem, std::uint32_t first) noexcept {
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

// The springs of one manifold; y: what a unit of their impulse does, left cleared.
void add_springs(const Tick& tick, const ContactProblem& problem, const Group& g, const double* u, double* y,
                 double* u_drift) noexcept {
  double depth = 0;
  for (std::uint32_t i = g.first; i < g.last; ++i) {
    depth = std::max(depth, tick.contacts.points[problem.contact(i).point].depth);
  }
  if (depth <= 0) return;
  const auto is_deepest = [&](std::uint32_t i) {
    return tick.contacts.points[problem.contact(i).point].depth >= (1 - kLevel) * depth;
  };
  std::uint32_t count = 0;
  for (std::uint32_t i = g.first; i < g.last; ++i) count += is_deepest(i) ? 1 : 0;
  const double share = 1.0 / count;
  clear(problem, problem.contact(g.first), y);
  for (std::uint32_t i = g.first; i < g.last; ++i) {
    if (is_deepest(i)) push(problem, problem.contact(i), Vec3(share, 0, 0), y);
  }
  double mobility = 0, opening = 0;  // of the mean of the deepest points
  for (std::uint32_t i = g.first; i < g.last; ++i) {
    if (!is_deepest(i)) continue;
    const ProblemContact& contact = problem.contact(i);
    mobility += share * velocity(problem, contact, y)[0];
    opening += share * (velocity(problem, contact, u)[0] + contact.b[0]);
  }
  const Parameters& p = tick.parameters;
  const double wanted = std::min(depth / std::max(tick.h, p.overlap_relax_time), p.overlap_relax_speed);
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
  if (tick.parameters.lcp_drift == LcpDrift::off) return;
  for (std::uint32_t i = 0; i < problem.count();) {
    const Group g = next_group(problem, i);
    if (problem.contact(i).manifold != kNone) add_springs(tick, problem, g, u, y, u_drift);
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
