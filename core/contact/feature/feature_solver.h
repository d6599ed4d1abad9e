// Solves a step of lnc or peg: which contact of each I-constraint pushes, and with what impulse.
#pragma once

#include <vector>

#include "core/contact/feature/feature_lcp.h"
#include "core/contact/solve/contact_solver.h"

namespace tactus {

// A choice of one contact per I-constraint leaves Stewart and Trinkle's convex problem, which ContactSolver solves; the
// outcome is judged by what the constraints mean (GroupedContacts), not by the equations it came from.
//   descent: start from the contacts that pushed last step; solve; a constraint with all gaps closed beyond zero gets
//            its largest as contact; one whose contact pushes while another member is apart goes over to that one;
//            again. Without friction each change of contact lowers the energy of the change of velocity, so it ends; at
//            kDescentRounds it is given up.
//            With friction one contact may call for the other and back: the body is on the edge between both faces, and
//            is pushed along a normal between theirs (mix), at which both gaps are zero, as (15) allows.
//   lcp:     eqs. (11) to (15) through math/lcp (feature_lcp.h) give the choice.
//   search:  other starts of the descent, and single constraints tried with each of their contacts.
//   gentle:  the descent with overlaps left alone for this step.
// Order: peg printed: lcp, descent, search, then the repaired constraints. Others: descent, gentle, lcp, search. Where
// nothing holds, or the work of a step is spent, the outcome that violates least, of those that throw nothing, is kept
// (a body may stand in a trap for that step). In large islands a descent ends where a choice comes again, and its
// convex problems are solved roughly until every constraint is content.
inline constexpr std::uint32_t kDescentRounds = 60, kSearchStarts = 48;

class FeatureSolver {
 public:
  FeatureSolver(const Model& model, const Limits& limits, std::uint32_t groups_max);

  // p: guess in, impulses out, also of contacts that are not chosen (zero). u: half velocities of all, out. printed:
  // the X-constraints count, and groups of Kind::repaired are the fallback; else all groups given are satisfied.
  // fallbacks: islands that the first method did not solve, or one of whose convex problems, whether it decided or
  // not, took a fallback of its own;
  // failures: those that none did. work: of the step; the smallest islands first, each with its share.
  SolverReport solve(const GroupedContacts& all, bool printed, std::uint32_t friction_directions, SolverWork work,
                     ContactSolver& solver, Vec3* p, double* u) noexcept;
  // Contacts that push, of the last solve, one for each group (kNoContact: none).
  [[nodiscard]] std::uint32_t choice(std::uint32_t group) const noexcept { return choice_[group]; }

 private:
  struct Island {
    ContactIsland contacts;
    std::span<const std::uint32_t> groups;
    double scale;  // of rates without impulses [m/s]
  };
  // Impulse (1 - w) p at contact a and w p, turned, at b; group kNoContact: none.
  struct Mix {
    std::uint32_t group = kNoContact, a = 0, b = 0;
    double w = 0;
    double c = 1, s = 0;  // b's tangents are a's turned by this angle
  };
  bool mix(const GroupedContacts& all, const Island& island, std::uint32_t group, std::uint32_t a,
           std::uint32_t b) noexcept;
  bool mixed_contact(const GroupedContacts& all, ProblemContact& out) noexcept;
  void split(const GroupedContacts& all) noexcept;
  void keep_kinds(const GroupedContacts& all, std::span<const std::uint32_t> groups, bool repaired) noexcept;
  void solve_chosen(const GroupedContacts& all, const Island& island, bool rough = false) noexcept;
  [[nodiscard]] bool throws(const GroupedContacts& all, const Island& island) const noexcept;
  bool improve(const GroupedContacts& all, const Island& island, bool one_at_a_time, bool rough) noexcept;
  [[nodiscard]] std::uint64_t number_of_choice(const Island& island) const noexcept;
  bool descend(const GroupedContacts& all, const Island& island) noexcept;
  // Largest violation of what the constraints mean, relative.
  [[nodiscard]] double violation(const GroupedContacts& all, const Island& island) const noexcept;
  bool by_lcp(const GroupedContacts& all, const Island& island) noexcept;
  bool search(const GroupedContacts& all, const Island& island) noexcept;
  void remember_start(const GroupedContacts& all, const Island& island) noexcept;
  bool solve_groups(const GroupedContacts& all, Island island, std::span<const std::uint32_t> groups, bool printed,
                    SolverReport& report) noexcept;
  bool solve_island(const GroupedContacts& all, const Island& island, bool lcp_first, SolverReport& report) noexcept;
  void restart(const GroupedContacts& all, const Island& island) noexcept;
  bool first_attempt(const GroupedContacts& all, const Island& island, bool lcp_first) noexcept;
  bool gentle_attempt(const GroupedContacts& all, const Island& island) noexcept;
  void give_up(const GroupedContacts& all, const Island& island) noexcept;
  template <typename Attempt>
  bool within(double share, Attempt attempt) noexcept;
  void look(const GroupedContacts& all, const Island& island) noexcept;
  [[nodiscard]] bool solved(const GroupedContacts& all, const Island& island) noexcept;

  ContactIslands islands_;
  ContactProblem chosen_problem_;
  FeatureLcp lcp_;
  // Of the present call.
  ContactSolver* solver_ = nullptr;
  std::uint32_t directions_ = 0;
  Vec3* p_ = nullptr;
  SolverReport step_;    // of the last convex problem
  double scale_ = 1;     // of its rates [m/s]
  double residual_ = 0;  // of the last verdict
  std::uint32_t iterations_ = 0;
  SolverWork work_;                     // of the present call
  bool changed_ = false;                // by the last round of a descent
  double best_residual_ = 0;            // of best_, the present island's
  std::uint32_t convex_fallbacks_ = 0;  // of the present island's convex problems, whichever they were
  Mix mix_;
  std::uint32_t mixes_ = 0;                                               // tried for the present island
  std::uint32_t changed_group_ = kNoContact, changed_from_ = kNoContact;  // of the last single change of a descent
  std::vector<double> mixed_Y_;
  std::vector<std::uint32_t> choice_, start_, island_of_, sorted_, kept_, chosen_, order_;
  std::vector<std::uint8_t> held_;  // of a group: resting is taken rather than falling through
  std::vector<std::uint8_t> active_;
  std::vector<Vec3> chosen_p_, guess_, best_;
  std::vector<double> u_;
};

}  // namespace tactus
