#include "core/contact/feature/feature_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr double kRoundedSquare = 1e-6;  // of the square of a velocity
// Of the work that is left, for one attempt: of the first kind, and others.
constexpr double kFirstShare = 0.6, kShare = 0.5;
constexpr std::uint32_t kTogether = 12;   // rounds in which all constraints change at once
constexpr std::size_t kLarge = 64;        // contacts of an island at which rounds are dear
constexpr double kOfRough = 3;            // of a convex problem's residual: what gaps are known to
constexpr std::uint32_t kUnsolved = 3;    // convex problems without a solution at which a descent is left
constexpr std::uint32_t kMixRounds = 60;  // to find a normal between two
constexpr std::uint32_t kMixes = 4;       // tried in an island

// The member with the largest rate; of those within tol of it the one that is chosen, else the first.
struct Largest {
  std::uint32_t contact = kNoContact;
  double rate = -std::numeric_limits<double>::infinity();
};
Largest largest(const GroupedContacts& all, std::span<const std::uint32_t> members, std::uint32_t chosen, double tol,
                const double* u) noexcept {
  TACTUS_DCHECK(!members.empty());
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
  TACTUS_DCHECK(group.iota > 0);
  const auto iota = all.of(group).first(group.iota);
  Largest best;
  for (const std::uint32_t i : iota) {
    const double rate = all.rate(i, u);
    if (all.touching[i] != 0 && rate > best.rate + tol) best = {i, rate};
  }
  return best.contact != kNoContact ? best.contact : largest(all, iota, kNoContact, tol, u).contact;
}

// A corner exactly on an edge touches all faces of its I-constraint, and falling through is as good an answer as
// resting: with all gaps at 0 the free motion meets the constraint, too. The paper does not say which is meant. Where
// nothing arrives, resting is taken.
bool touches_all(const GroupedContacts& all, const ContactGroup& group) noexcept {
  if (group.kind != FeatureGroup::Kind::inter || group.iota + group.kappa < 2) return false;
  const auto members = all.of(group);
  return std::all_of(members.begin(), members.end(), [&](auto i) { return all.resting[i] != 0; });
}

// Of those that may push the one that closes fastest.
Largest fastest(const GroupedContacts& all, const ContactGroup& group, const double* u) noexcept {
  Largest out{kNoContact, std::numeric_limits<double>::infinity()};
  for (const std::uint32_t i : all.of(group).first(group.iota)) {
    if (all.rate(i, u) < out.rate) out = {i, all.rate(i, u)};
  }
  return out;
}

}  // namespace

FeatureSolver::FeatureSolver(const Model& model, const Limits& limits, std::uint32_t groups_max)
    : islands_(problem_contacts_max(model, limits), problem_blocks_max(model)),
      chosen_problem_(model, limits),
      lcp_(problem_half_max(model), limits.pivot_rows),
      choice_(groups_max),
      start_(groups_max),
      island_of_(problem_contacts_max(model, limits)),
      sorted_(groups_max),
      kept_(groups_max),
      chosen_(problem_contacts_max(model, limits)),
      order_(model.bodies.size() + model.robots.size()),
      held_(groups_max),
      active_(problem_contacts_max(model, limits)),
      chosen_p_(problem_contacts_max(model, limits)),
      guess_(problem_contacts_max(model, limits)),
      best_(problem_contacts_max(model, limits)),
      u_(problem_half_max(model)) {
  mixed_Y_.resize(std::size_t{6} * problem_half_max(model));
}

// The convex problem of the island's U-constraints and chosen contacts.
void FeatureSolver::solve_chosen(const GroupedContacts& all, const Island& island, bool rough) noexcept {
  TACTUS_DCHECK(solver_ != nullptr && p_ != nullptr);
  for (const std::uint32_t i : island.contacts.contacts) active_[i] = all.always[i];
  for (const std::uint32_t g : island.groups) {
    TACTUS_DCHECK(choice_[g] == kNoContact || choice_[g] < all.problem->count());
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
  for (std::uint32_t k = 0; k < n && all.gentle; ++k) chosen_problem_.contact(k).b[0] += all.left(chosen_[k]);
  std::uint32_t mixed = n;
  if (mix_.group != kNoContact) {
    mixed = static_cast<std::uint32_t>(std::find(chosen_.begin(), chosen_.begin() + n, mix_.a) - chosen_.begin());
    if (mixed < n && !mixed_contact(all, chosen_problem_.contact(mixed))) mixed = n;
  }
  step_ = solver_->solve(chosen_problem_, directions_, chosen_p_.data(), u_.data(), work_, rough);
  iterations_ += step_.iterations;
  convex_fallbacks_ += step_.fallbacks;
  // What rounding and the tolerance are relative to: the velocities that contacts work against, as in island_residual.
  scale_ = island.scale;
  for (std::uint32_t k = 0; k < n; ++k) {
    p_[chosen_[k]] = chosen_p_[k];
    scale_ = std::max(scale_, chosen_problem_.contact(k).mobility * chosen_p_[k].cwiseAbs().maxCoeff());
  }
  scale_ = std::min(scale_, kSqueezed * island.scale);
  if (mixed == n) return;
  const Vec3 p = chosen_p_[mixed];
  p_[mix_.a] = (1 - mix_.w) * p;
  p_[mix_.b] = mix_.w * Vec3(p[0], mix_.c * p[1] - mix_.s * p[2], mix_.s * p[1] + mix_.c * p[2]);
}

// Rows n, t1, t2 between those of contacts a and b, b's tangents turned to lie along a's. False: they do not act on the
// same velocities.
bool FeatureSolver::mixed_contact(const GroupedContacts& all, ProblemContact& out) noexcept {
  const ProblemContact &a = all.problem->contact(mix_.a), &b = all.problem->contact(mix_.b);
  double c = 0, s = 0;
  for (int side = 0; side < 2; ++side) {
    const ProblemSide &ya = a.side[side], &yb = b.side[side];
    if (ya.block != yb.block || ya.size != yb.size) return false;
    for (std::uint32_t k = 0; ya.block != kNone && k < ya.size; ++k) {
      if (ya.dofs != nullptr && ya.dofs[k] != yb.dofs[k]) return false;
      const double *const r = ya.Y + std::size_t{3} * k, *const q = yb.Y + std::size_t{3} * k;
      c += r[1] * q[1] + r[2] * q[2], s += r[1] * q[2] - r[2] * q[1];
    }
  }
  const double size = std::sqrt(c * c + s * s);
  if (!(size > 0)) return false;
  mix_.c = c /= size, mix_.s = s /= size;
  TACTUS_DCHECK(not_outside(mix_.w, -1e-9, 1 + 1e-9));  // false position, to rounding
  const auto between = [&](double x, double y) { return (1 - mix_.w) * x + mix_.w * y; };
  double* Y = mixed_Y_.data();
  for (int side = 0; side < 2; ++side) {
    if (a.side[side].block == kNone) continue;
    out.side[side].Y = Y;
    for (std::uint32_t k = 0; k < a.side[side].size; ++k, Y += 3) {
      const double *const r = a.side[side].Y + std::size_t{3} * k, *const q = b.side[side].Y + std::size_t{3} * k;
      Y[0] = between(r[0], q[0]);
      Y[1] = between(r[1], c * q[1] + s * q[2]), Y[2] = between(r[2], c * q[2] - s * q[1]);
    }
  }
  out.mobility = find_mobility(out);
  out.b = Vec3(between(a.b[0] + all.left(mix_.a), b.b[0] + all.left(mix_.b)), between(a.b[1], c * b.b[1] + s * b.b[2]),
               between(a.b[2], c * b.b[2] - s * b.b[1]));
  return true;
}

// The weight at which both gaps close, between a alone (b opens) and b alone (a opens): regula falsi, Illinois.
bool FeatureSolver::mix(const GroupedContacts& all, const Island& island, std::uint32_t group, std::uint32_t a,
                        std::uint32_t b) noexcept {
  TACTUS_DCHECK(a != b && a < all.problem->count() && b < all.problem->count());
  choice_[group] = a;
  mix_ = {group, a, b, 0, 1, 0};
  double lo = 0, hi = 1, f_lo = 0, f_hi = 0;
  const auto opening = [&](double w) {
    mix_.w = w;
    solve_chosen(all, island);
    return all.rate(b, u_.data()) - all.rate(a, u_.data());
  };
  f_lo = opening(0), f_hi = opening(1);
  for (std::uint32_t round = 0; round < kMixRounds && f_lo > 0 && f_hi < 0 && !work_.spent(); ++round) {
    const double w = (lo * f_hi - hi * f_lo) / (f_hi - f_lo), f = opening(w);
    if (std::abs(f) <= 0.1 * kContactTolerance * scale_) return solved(all, island);
    if (f > 0) {
      if (lo == w) break;
      lo = w, f_lo = f, f_hi *= 0.5;
    } else {
      if (hi == w) break;
      hi = w, f_hi = f, f_lo *= 0.5;
    }
  }
  mix_.group = kNoContact;
  return false;
}

std::uint64_t FeatureSolver::number_of_choice(const Island& island) const noexcept {
  std::uint64_t number = 14695981039346656037U;
  for (const std::uint32_t g : island.groups) number = (number ^ choice_[g]) * 1099511628211U;
  return number;
}

// One round of the descent; false: every constraint is content.
bool FeatureSolver::improve(const GroupedContacts& all, const Island& island, bool one_at_a_time, bool rough) noexcept {
  const double tol = (rough ? kOfRough * kRoughTolerance : kContactTolerance) * scale_;
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
      const Largest held = held_[g] != 0 ? fastest(all, group, u_.data()) : best;
      if (held.rate >= -tol) continue;
      gain = -held.rate;
      next = best.rate < -tol ? first_choice(all, group, tol, u_.data()) : held.contact;
    } else {
      const double own = all.rate(k, u_.data());
      if (best.contact == k || best.rate <= own + tol || !(p_[k][0] > 0)) continue;
      if (p_[k][0] * all.problem->contact(k).mobility <= tol) continue;
      gain = best.rate - own;
      // A member of kappa that is apart is enough, and nothing pushes.
      const auto iota = all.of(group).first(group.iota);
      next = std::find(iota.begin(), iota.end(), best.contact) != iota.end() ? best.contact : kNoContact;
      held_[g] = 0;
    }
    if (!one_at_a_time) {
      choice_[g] = next;
      changed = true;
    } else if (gain > most) {
      most = gain, worst = g, worst_choice = next;
    }
  }
  if (worst != kNoContact) {
    changed_group_ = worst, changed_from_ = choice_[worst];
    choice_[worst] = worst_choice, changed = true;
  }
  return changed;
}

bool FeatureSolver::descend(const GroupedContacts& all, const Island& island) noexcept {
  mix_.group = changed_group_ = changed_from_ = kNoContact;
  const bool large = island.contacts.contacts.size() > kLarge;
  bool one_at_a_time = false, rough = large;  // until every constraint is content
  std::uint32_t unsolved = 0;
  std::uint64_t seen[kDescentRounds];  // choices: one that comes again would lead round once more
  for (std::uint32_t round = 0; round < kDescentRounds && !work_.spent(); ++round) {
    seen[round] = number_of_choice(island);
    if (std::find(seen, seen + round, seen[round]) != seen + round && changed_ && large) {
      if (one_at_a_time) return false;
      one_at_a_time = true;
    }
    one_at_a_time = one_at_a_time || round >= kTogether;
    solve_chosen(all, island, rough);
    look(all, island);
    if (step_.failures > 0 && ++unsolved == kUnsolved && large) return false;
    const std::uint32_t g = changed_group_, before = changed_from_;
    changed_ = improve(all, island, one_at_a_time, rough);
    if (!changed_ && !rough) return solved(all, island);
    if (!changed_) {
      rough = false;
      continue;
    }
    const bool to_and_fro = g != kNoContact && g == changed_group_ && before != kNoContact && choice_[g] == before;
    if (to_and_fro && mixes_ < kMixes) {
      ++mixes_;
      const std::uint32_t a = changed_from_;
      if (a != kNoContact && mix(all, island, g, before, a)) return true;
      choice_[g] = before;
    }
  }
  return false;
}

// Whether the impulses give an island of free bodies kinetic energy, seen from what they touch, beyond 1/2 m v^2 with v
// the fastest that a contact that pushes may ask for: an overlap that is worked off, a bounce. Right impulses of
// contacts that ask for nothing give none. Robots' drives do give energy: not looked at.
bool FeatureSolver::throws(const GroupedContacts& all, const Island& island) const noexcept {
  const ContactProblem& problem = *all.problem;
  double gain = 0, fastest = 0, mass = 0;
  for (const std::uint32_t b : island.contacts.blocks) {
    const ProblemBlock& block = problem.block(b);
    if (block.body == kNoBody) return false;
    for (std::uint32_t k = 0; k < block.size; ++k) gain += 0.5 * u_[block.start + k] * u_[block.start + k];
    mass += 1 / (block.root_inv_mass * block.root_inv_mass);
  }
  for (const std::uint32_t i : island.contacts.contacts) {
    const ProblemContact& contact = problem.contact(i);
    if (!(p_[i][0] > 0)) continue;
    gain += p_[i].dot(contact.b) - p_[i][0] * contact.bias;
    const double asked = std::min(all.asked(i), all.push_out);
    fastest = std::max(fastest, all.asked(i) > 0 ? asked - all.bounce[i] : -contact.bias);
  }
  return !(gain <= 0.5 * mass * (fastest * fastest + kRoundedSquare * island.scale * island.scale));
}

double FeatureSolver::violation(const GroupedContacts& all, const Island& island) const noexcept {
  double worst = 0;
  for (const std::uint32_t g : island.groups) {
    const ContactGroup& group = all.groups[g];
    const Largest best = largest(all, all.of(group), kNoContact, 0, u_.data());
    worst = std::max(worst, -best.rate);
    for (const std::uint32_t k : {choice_[g], mix_.group == g ? mix_.b : kNoContact}) {
      if (k == kNoContact || !(p_[k][0] > 0)) continue;
      const double own = all.rate(k, u_.data()), pushes = p_[k][0] * all.problem->contact(k).mobility;
      worst = std::max(worst, std::min(best.rate - own, pushes));
    }
  }
  return worst / scale_;
}

// How good the outcome is; the best is kept.
void FeatureSolver::look(const GroupedContacts& all, const Island& island) noexcept {
  residual_ = std::max(step_.residual, violation(all, island));
  if (!(residual_ < best_residual_)) return;
  if (gives_energy(*all.problem, island.contacts, p_, u_.data())) return;
  if (throws(all, island)) return;
  best_residual_ = residual_;
  for (const std::uint32_t i : island.contacts.contacts) best_[i] = p_[i];
}

bool FeatureSolver::solved(const GroupedContacts& all, const Island& island) noexcept {
  look(all, island);
  return step_.failures == 0 && residual_ <= kContactTolerance && !throws(all, island);
}

bool FeatureSolver::by_lcp(const GroupedContacts& all, const Island& island) noexcept {
  mix_.group = kNoContact;
  if (!lcp_.solve(all, island.contacts, island.groups, choice_.data(), work_)) return false;
  solve_chosen(all, island);
  return solved(all, island);
}

// Other starts: each constraint from its contact nearest to closing or farthest from it, then single ones forced.
bool FeatureSolver::search(const GroupedContacts& all, const Island& island) noexcept {
  std::uint32_t starts = 0;
  for (const std::uint32_t g : island.groups) {
    const std::uint32_t iota = all.groups[g].iota;
    for (std::uint32_t k = 0; k < iota; ++k) {
      if (++starts > kSearchStarts || work_.spent()) return false;
      for (const std::uint32_t other : island.groups) choice_[other] = start_[other];
      choice_[g] = all.of(all.groups[g])[k];
      if (descend(all, island)) return true;
    }
  }
  return false;
}

// From what remember_start() found.
void FeatureSolver::restart(const GroupedContacts& all, const Island& island) noexcept {
  for (const std::uint32_t g : island.groups) {
    choice_[g] = start_[g];
    held_[g] = touches_all(all, all.groups[g]) ? 1 : 0;
  }
  for (const std::uint32_t i : island.contacts.contacts) p_[i] = guess_[i];
}

// With a share of the work that is left.
template <typename Attempt>
bool FeatureSolver::within(double share, Attempt attempt) noexcept {
  TACTUS_DCHECK(share >= 0 && share <= 1);
  const std::uint64_t left = work_.left, part = static_cast<std::uint64_t>(share * static_cast<double>(left));
  work_.left = part;
  const bool done = attempt();
  work_.left += left - part;
  return done;
}

bool FeatureSolver::first_attempt(const GroupedContacts& all, const Island& island, bool lcp_first) noexcept {
  restart(all, island);
  return lcp_first ? by_lcp(all, island) : descend(all, island);
}

// Overlaps may stay for this step: what they ask for at once may be impossible (bodies that are in each other on
// several sides), or take impulses that throw.
bool FeatureSolver::gentle_attempt(const GroupedContacts& all, const Island& island) noexcept {
  bool overlaps = false;
  for (const std::uint32_t i : island.contacts.contacts) overlaps = overlaps || all.problem->contact(i).bias < 0;
  if (!overlaps) return false;
  GroupedContacts gentle = all;
  gentle.gentle = true;
  restart(gentle, island);
  return descend(gentle, island);
}

bool FeatureSolver::solve_island(const GroupedContacts& all, const Island& island, bool lcp_first,
                                 SolverReport& report) noexcept {
  mixes_ = convex_fallbacks_ = 0;
  best_residual_ = std::numeric_limits<double>::infinity();
  if (within(kFirstShare, [&] { return first_attempt(all, island, lcp_first); })) {
    report.fallbacks += convex_fallbacks_ > 0 ? 1 : 0;
    return true;
  }
  ++report.fallbacks;
  mixes_ = 0;
  if (!lcp_first && within(kFirstShare, [&] { return gentle_attempt(all, island); })) return true;
  if (within(kShare, [&] { return first_attempt(all, island, !lcp_first); })) return true;
  restart(all, island);
  return within(kShare, [&] { return search(all, island); });
}

// The best that was seen; or, from nothing, what sweeps make of the contacts that they had, overlaps left alone: each
// takes energy.
void FeatureSolver::give_up(const GroupedContacts& all, const Island& island) noexcept {
  if (best_residual_ < std::numeric_limits<double>::infinity()) {
    residual_ = best_residual_;
    for (const std::uint32_t i : island.contacts.contacts) p_[i] = best_[i];
    return;
  }
  GroupedContacts gentle = all;
  gentle.gentle = true;
  restart(gentle, island);
  mix_.group = kNoContact;
  for (const std::uint32_t i : island.contacts.contacts) p_[i].setZero();
  const SolverWork others = std::exchange(work_, SolverWork{0});  // what is left is for other islands
  solve_chosen(gentle, island);
  work_ = others;
  residual_ = std::max(step_.residual, violation(all, island));
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

// Islands of contacts, by size; groups sorted by theirs.
void FeatureSolver::split(const GroupedContacts& all) noexcept {
  TACTUS_DCHECK(all.groups.size() <= sorted_.size());
  islands_.split(*all.problem);
  for (std::uint32_t k = 0; k < islands_.count(); ++k) {
    for (const std::uint32_t i : islands_.island(k).contacts) island_of_[i] = k;
  }
  for (std::uint32_t k = 0; k < islands_.count(); ++k) order_[k] = k;
  std::sort(order_.begin(), order_.begin() + islands_.count(), [&](std::uint32_t a, std::uint32_t b) {
    const std::size_t i = islands_.island(a).contacts.size(), j = islands_.island(b).contacts.size();
    return i < j || (i == j && a < b);
  });
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
    const double tol = kContactTolerance * island.scale,
                 own = all.problem->contact(start_[g]).b[0] + all.left(start_[g]);
    for (const std::uint32_t i : all.of(all.groups[g])) {
      if (all.problem->contact(i).b[0] + all.left(i) > own + tol) start_[g] = kNoContact;
      if (start_[g] == kNoContact) break;
    }
  }
}

SolverReport FeatureSolver::solve(const GroupedContacts& all, bool printed, std::uint32_t friction_directions,
                                  SolverWork work, ContactSolver& solver, Vec3* p, double* u) noexcept {
  TACTUS_ASSERT(all.problem != nullptr && all.groups.size() <= choice_.size());
  TACTUS_ASSERT(all.always.size() == all.problem->count() && all.bounce.size() == all.problem->count());
  SolverReport report;
  solver_ = &solver, directions_ = friction_directions, p_ = p, iterations_ = 0;
  work_ = work;
  const ContactProblem& problem = *all.problem;
  for (std::uint32_t i = 0; i < problem.count(); ++i) {
    if (!p[i].allFinite()) p[i].setZero();
  }
  std::fill(choice_.begin(), choice_.begin() + static_cast<std::ptrdiff_t>(all.groups.size()), kNoContact);
  split(all);
  std::size_t contacts_left = problem.count();
  for (std::uint32_t n = 0; n < islands_.count(); ++n) {
    const std::uint32_t k = order_[n];
    const auto first = std::partition_point(sorted_.begin(), sorted_.begin() + all.groups.size(),
                                            [&](std::uint32_t g) { return island_of_[all.of(all.groups[g])[0]] < k; });
    auto last = first;
    while (last != sorted_.begin() + all.groups.size() && island_of_[all.of(all.groups[*last])[0]] == k) ++last;
    const std::span<const std::uint32_t> groups(first, last);
    Island island{islands_.island(k), groups, 0};
    // The smallest first; each has its share of the work, and what those before it left of theirs.
    const std::size_t contacts = island.contacts.contacts.size();
    const double share = static_cast<double>(contacts) / static_cast<double>(std::max(contacts, contacts_left));
    contacts_left -= std::min(contacts, contacts_left);
    within(share, [&] { return solve_groups(all, island, groups, printed, report); });
    report.residual = std::max(report.residual, residual_);
  }
  report.iterations = iterations_;
  std::fill_n(u, problem.half_size(), 0.0);
  for (std::uint32_t i = 0; i < problem.count(); ++i) push(problem, problem.contact(i), p[i], u);
  return report;
}

// printed: the paper's constraints, then the repaired ones.
bool FeatureSolver::solve_groups(const GroupedContacts& all, Island island, std::span<const std::uint32_t> groups,
                                 bool printed, SolverReport& report) noexcept {
  for (const std::uint32_t i : island.contacts.contacts) {
    island.scale = std::max(island.scale, all.problem->contact(i).b.cwiseAbs().maxCoeff());
  }
  TACTUS_DCHECK(groups.size() <= kept_.size());
  if (!(island.scale > 0)) island.scale = 1;
  const auto kept = [&] {
    std::size_t n = 0;
    while (n < groups.size() && kept_[n] != kNoContact) ++n;
    return std::span<const std::uint32_t>(kept_.data(), n);
  };
  keep_kinds(all, groups, !printed);
  island.groups = printed ? kept() : groups;
  const bool by_paper = printed && !island.groups.empty();
  remember_start(all, island);
  bool done = by_paper ? within(kShare, [&] { return solve_island(all, island, true, report); })
                       : solve_island(all, island, false, report);
  if (!done && by_paper) {
    for (const std::uint32_t g : island.groups) choice_[g] = kNoContact;
    keep_kinds(all, groups, true);
    island.groups = kept();
    remember_start(all, island);
    SolverReport again;
    done = solve_island(all, island, false, again);
  }
  if (done) return true;
  give_up(all, island);
  ++report.failures;
  return false;
}

}  // namespace tactus
