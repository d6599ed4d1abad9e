#include "core/contact/feature_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tactus {

namespace {

constexpr std::uint32_t kTogether = 12;  // rounds in which all constraints change at once

std::uint32_t contacts_max(const Model& model, const Limits& limits) noexcept {
  std::uint32_t n = limits.problem_contacts;
  for (const Robot& robot : model.robots) n += 2 * robot.v_count + 2 * robot.joint_count;
  return n;
}
std::uint32_t half_max(const Model& model) noexcept {
  return static_cast<std::uint32_t>(6 * model.bodies.size() + model.joint_v0.size());
}

// The member with the largest rate; of those within tol of it the one that is chosen, else the first.
struct Largest {
  std::uint32_t contact = kNoContact;
  double rate = -std::numeric_limits<double>::infinity();
};
Largest largest(const GroupedContacts& all, std::span<const std::uint32_t> members, std::uint32_t chosen, double tol,
                const double* u) noexcept {
  Largest best;
  for (const std::uint32_t i : members) best.rate = std::max(best.rate, all.rate(i, u));
  for (const std::uint32_t i : members) {
    if (all.rate(i, u) < best.rate - tol) continue;
    if (best.contact == kNoContact || i == chosen) best.contact = i;
  }
  return best;
}

// Which contact a closed constraint starts with: one that already touched, else the one that is the least behind. At a
// seam the face on which a corner slides is preferred to the one that it has not reached.
std::uint32_t first_choice(const GroupedContacts& all, const ContactGroup& group, double tol,
                           const double* u) noexcept {
  const auto iota = all.of(group).first(group.iota);
  Largest best;
  for (const std::uint32_t i : iota) {
    const double rate = all.rate(i, u);
    if (all.touching[i] != 0 && rate > best.rate + tol) best = {i, rate};
  }
  return best.contact != kNoContact ? best.contact : largest(all, iota, kNoContact, tol, u).contact;
}

}  // namespace

FeatureSolver::FeatureSolver(const Model& model, const Limits& limits, std::uint32_t groups_max)
    : islands_(contacts_max(model, limits), static_cast<std::uint32_t>(model.bodies.size() + model.robots.size())),
      chosen_problem_(model, limits),
      lcp_(half_max(model)),
      choice_(groups_max),
      start_(groups_max),
      island_of_(contacts_max(model, limits)),
      sorted_(groups_max),
      kept_(groups_max),
      chosen_(contacts_max(model, limits)),
      active_(contacts_max(model, limits)),
      chosen_p_(contacts_max(model, limits)),
      guess_(contacts_max(model, limits)),
      u_(half_max(model)) {}

// The convex problem of the island's U-constraints and chosen contacts.
void FeatureSolver::solve_chosen(const GroupedContacts& all, const Island& island) noexcept {
  for (const std::uint32_t i : island.contacts.contacts) active_[i] = all.always[i];
  for (const std::uint32_t g : island.groups) {
    if (choice_[g] != kNoContact) active_[choice_[g]] = 1;
  }
  std::uint32_t n = 0;
  for (const std::uint32_t i : island.contacts.contacts) {
    if (active_[i] == 0) {
      p_[i].setZero();
      continue;
    }
    chosen_p_[n] = p_[i];
    chosen_[n++] = i;
  }
  chosen_problem_.take(*all.problem, {chosen_.data(), n});
  step_ = solver_->solve(chosen_problem_, directions_, chosen_p_.data(), u_.data());
  iterations_ += step_.iterations;
  // What rounding and the tolerance are relative to: the velocities that contacts work against, as in island_residual.
  scale_ = island.scale;
  for (std::uint32_t k = 0; k < n; ++k) {
    p_[chosen_[k]] = chosen_p_[k];
    scale_ = std::max(scale_, own_mobility(chosen_problem_.contact(k)) * chosen_p_[k].cwiseAbs().maxCoeff());
  }
}

// One round of the descent; false: every constraint is content.
bool FeatureSolver::improve(const GroupedContacts& all, const Island& island, bool one_at_a_time) noexcept {
  const double tol = kContactTolerance * scale_;
  bool changed = false;
  std::uint32_t worst = kNoContact, worst_choice = kNoContact;
  double most = 0;
  for (const std::uint32_t g : island.groups) {
    const ContactGroup& group = all.groups[g];
    if (group.iota == 0) continue;
    const std::uint32_t k = choice_[g];
    Largest best = largest(all, all.of(group), k, tol, u_.data());
    double gain = 0;
    std::uint32_t next = k;
    if (k == kNoContact) {
      if (best.rate >= -tol) continue;
      gain = -best.rate;
      next = first_choice(all, group, tol, u_.data());
    } else {
      const double own = all.rate(k, u_.data());
      if (best.contact == k || best.rate <= own + tol || !(p_[k][0] > 0)) continue;
      if (p_[k][0] * own_mobility(all.problem->contact(k)) <= tol) continue;
      gain = best.rate - own;
      // A member of kappa that is apart is enough, and nothing pushes.
      const auto iota = all.of(group).first(group.iota);
      next = std::find(iota.begin(), iota.end(), best.contact) != iota.end() ? best.contact : kNoContact;
    }
    if (!one_at_a_time) {
      choice_[g] = next;
      changed = true;
    } else if (gain > most) {
      most = gain, worst = g, worst_choice = next;
    }
  }
  if (worst != kNoContact) choice_[worst] = worst_choice, changed = true;
  return changed;
}

bool FeatureSolver::descend(const GroupedContacts& all, const Island& island) noexcept {
  for (std::uint32_t round = 0; round < kDescentRounds; ++round) {
    solve_chosen(all, island);
    if (!improve(all, island, round >= kTogether)) return solved(all, island);
  }
  return false;
}

double FeatureSolver::violation(const GroupedContacts& all, const Island& island) const noexcept {
  double worst = 0;
  for (const std::uint32_t g : island.groups) {
    const ContactGroup& group = all.groups[g];
    const Largest best = largest(all, all.of(group), kNoContact, 0, u_.data());
    worst = std::max(worst, -best.rate);
    const std::uint32_t k = choice_[g];
    if (k == kNoContact || !(p_[k][0] > 0)) continue;
    const double own = all.rate(k, u_.data()), pushes = p_[k][0] * own_mobility(all.problem->contact(k));
    worst = std::max(worst, std::min(best.rate - own, pushes));
  }
  return worst / scale_;
}

bool FeatureSolver::solved(const GroupedContacts& all, const Island& island) noexcept {
  residual_ = std::max(step_.residual, violation(all, island));
  return step_.failures == 0 && residual_ <= kContactTolerance;
}

bool FeatureSolver::by_lcp(const GroupedContacts& all, const Island& island) noexcept {
  if (!lcp_.solve(all, island.contacts, island.groups, choice_.data())) return false;
  solve_chosen(all, island);
  return solved(all, island);
}

// Other starts: each constraint from its contact nearest to closing or farthest from it, then single ones forced.
bool FeatureSolver::search(const GroupedContacts& all, const Island& island) noexcept {
  std::uint32_t starts = 0;
  for (const std::uint32_t g : island.groups) {
    const std::uint32_t iota = all.groups[g].iota;
    for (std::uint32_t k = 0; k < iota; ++k) {
      if (++starts > kSearchStarts) return false;
      for (const std::uint32_t other : island.groups) choice_[other] = start_[other];
      choice_[g] = all.of(all.groups[g])[k];
      if (descend(all, island)) return true;
    }
  }
  return false;
}

bool FeatureSolver::solve_island(const GroupedContacts& all, const Island& island, bool lcp_first,
                                 SolverReport& report) noexcept {
  const auto restart = [&] {
    for (const std::uint32_t g : island.groups) choice_[g] = start_[g];
    for (const std::uint32_t i : island.contacts.contacts) p_[i] = guess_[i];
  };
  restart();
  if (lcp_first ? by_lcp(all, island) : descend(all, island)) return true;
  ++report.fallbacks;
  restart();
  if (lcp_first ? descend(all, island) : by_lcp(all, island)) return true;
  restart();
  return search(all, island);
}

// Groups of the island that count now: all but the repaired, or those only.
void FeatureSolver::keep_kinds(const GroupedContacts& all, std::span<const std::uint32_t> groups,
                               bool repaired) noexcept {
  std::uint32_t n = 0;
  for (const std::uint32_t g : groups) {
    if ((all.groups[g].kind == FeatureGroup::Kind::repaired) == repaired) kept_[n++] = g;
  }
  for (std::uint32_t k = n; k < groups.size(); ++k) kept_[k] = kNoContact;
}

// Islands of contacts; groups sorted by theirs.
void FeatureSolver::split(const GroupedContacts& all) noexcept {
  islands_.split(*all.problem);
  for (std::uint32_t k = 0; k < islands_.count(); ++k) {
    for (const std::uint32_t i : islands_.island(k).contacts) island_of_[i] = k;
  }
  for (std::uint32_t g = 0; g < all.groups.size(); ++g) sorted_[g] = g;
  std::sort(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(all.groups.size()),
            [&](std::uint32_t a, std::uint32_t b) {
              const std::uint32_t i = island_of_[all.of(all.groups[a])[0]], j = island_of_[all.of(all.groups[b])[0]];
              return i < j || (i == j && a < b);
            });
}

// A constraint starts from the member that pushed most in the last step, if without impulses that would still be the
// largest: a choice that only holds because it was made before may be a trap.
void FeatureSolver::remember_start(const GroupedContacts& all, const Island& island) noexcept {
  for (const std::uint32_t i : island.contacts.contacts) guess_[i] = p_[i];
  for (const std::uint32_t g : island.groups) {
    start_[g] = kNoContact;
    double most = 0;
    for (const std::uint32_t i : all.of(all.groups[g]).first(all.groups[g].iota)) {
      if (p_[i][0] > most) most = p_[i][0], start_[g] = i;
    }
    if (start_[g] == kNoContact) continue;
    const double tol = kContactTolerance * island.scale, own = all.problem->contact(start_[g]).b[0];
    for (const std::uint32_t i : all.of(all.groups[g])) {
      if (all.problem->contact(i).b[0] > own + tol) start_[g] = kNoContact;
      if (start_[g] == kNoContact) break;
    }
  }
}

SolverReport FeatureSolver::solve(const GroupedContacts& all, bool printed, std::uint32_t friction_directions,
                                  ContactSolver& solver, Vec3* p, double* u) noexcept {
  SolverReport report;
  solver_ = &solver, directions_ = friction_directions, p_ = p, iterations_ = 0;
  const ContactProblem& problem = *all.problem;
  for (std::uint32_t i = 0; i < problem.count(); ++i) {
    if (!p[i].allFinite()) p[i].setZero();
  }
  std::fill(choice_.begin(), choice_.begin() + static_cast<std::ptrdiff_t>(all.groups.size()), kNoContact);
  split(all);
  std::size_t at = 0;
  for (std::uint32_t k = 0; k < islands_.count(); ++k) {
    const std::size_t first = at;
    while (at < all.groups.size() && island_of_[all.of(all.groups[sorted_[at]])[0]] == k) ++at;
    const std::span<const std::uint32_t> groups(sorted_.data() + first, at - first);
    Island island{islands_.island(k), groups, 0};
    for (const std::uint32_t i : island.contacts.contacts) {
      island.scale = std::max(island.scale, problem.contact(i).b.cwiseAbs().maxCoeff());
    }
    if (!(island.scale > 0)) island.scale = 1;
    keep_kinds(all, groups, !printed);
    std::size_t n = 0;
    while (n < groups.size() && kept_[n] != kNoContact) ++n;
    island.groups = printed ? std::span<const std::uint32_t>(kept_.data(), n) : groups;
    remember_start(all, island);
    bool done = solve_island(all, island, printed && n > 0, report);
    if (!done && printed && n > 0) {
      for (const std::uint32_t g : island.groups) choice_[g] = kNoContact;
      keep_kinds(all, groups, true);
      for (n = 0; n < groups.size() && kept_[n] != kNoContact;) ++n;
      island.groups = {kept_.data(), n};
      remember_start(all, island);
      SolverReport again;
      done = solve_island(all, island, false, again);
    }
    if (!done) ++report.failures;
    report.residual = std::max(report.residual, residual_);
  }
  report.iterations = iterations_;
  std::fill_n(u, problem.half_size(), 0.0);
  for (std::uint32_t i = 0; i < problem.count(); ++i) push(problem, problem.contact(i), p[i], u);
  return report;
}

}  // namespace tactus
