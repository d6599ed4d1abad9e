// A part of the contact problem that the rest does not touch: contacts connected by blocks that move, and what the
// solvers need of each contact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/contact/solve/contact_problem.h"
#include "core/math/cone_problem.h"

namespace tactus {

struct ContactIsland {
  std::span<const std::uint32_t> contacts;  // of the problem, ascending
  std::span<const std::uint32_t> blocks;    // in an order that keeps neighbours near (breadth first from an end)
};

// Splits the problem into islands. Memory is fixed.
class ContactIslands {
 public:
  ContactIslands(std::uint32_t contacts_max, std::uint32_t blocks_max);
  // Ascending by their first block; blocks without contacts are in none. O(contacts lg contacts).
  void split(const ContactProblem& problem) noexcept;
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] ContactIsland island(std::uint32_t i) const noexcept;
  // Place of a block among its island's.
  [[nodiscard]] std::uint32_t place(std::uint32_t block) const noexcept { return place_[block]; }

 private:
  void link(const ContactProblem& problem) noexcept;
  std::uint32_t walk(const ContactProblem& problem, std::uint32_t from, std::uint32_t first) noexcept;

  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> first_contact_, list_;  // contacts of each block
  std::vector<std::uint32_t> seen_, place_, blocks_, contacts_;
  std::vector<std::uint32_t> block_start_, contact_start_;
  std::vector<std::uint8_t> taken_;
};

// Impulses that work against more than this multiple of the free velocities fight each other (a light body between
// heavy ones asks for the ratio of the masses): nothing that is relative to them would be a violation.
inline constexpr double kSqueezed = 1e6;

// What the law makes of an impulse that would be x without it.
Vec3 project_contact(const ProblemContact& contact, const FrictionDisc& disc, const Vec3& x) noexcept;

// Largest violation of the laws in an island, as a velocity: how far the impulses move under p -> law(p - c / A_ii),
// times A_ii, over the largest velocity that the pushing contacts work against, kSqueezed of the free motion's at most.
// u: sum Y p.
double island_residual(const ContactProblem& problem, const ContactIsland& island, const FrictionDisc& disc,
                       const Vec3* p, const double* u) noexcept;

// u = sum Y p: of the island's blocks, from zero.
void sum_impulses(const ContactProblem& problem, const ContactIsland& island, const Vec3* p, double* u) noexcept;

// Do the impulses give energy? With every p.c <= 0 (complementarity, dissipation) their effect is at most that of the
// free motion, |u|^2 <= -sum p.b. u: sum Y p. Residuals are relative to the impulses, so enormous ones may seem to fit.
bool gives_energy(const ContactProblem& problem, const ContactIsland& island, const Vec3* p, const double* u) noexcept;

// Projected Gauss-Seidel: each contact for itself, the others staying; from u = sum Y p, which stays so. Gives the
// residual.
double sweep_island(const ContactProblem& problem, const ContactIsland& island, const FrictionDisc& disc,
                    std::uint32_t sweeps, Vec3* p, double* u) noexcept;

}  // namespace tactus
