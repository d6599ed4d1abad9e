#include "core/contact/solve/contact_island.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

ContactIslands::ContactIslands(std::uint32_t contacts_max, std::uint32_t blocks_max)
    : first_contact_(blocks_max + 1),
      list_(2 * std::size_t{contacts_max}),
      seen_(blocks_max),
      place_(blocks_max),
      blocks_(blocks_max),
      contacts_(contacts_max),
      block_start_(blocks_max + 1),
      contact_start_(blocks_max + 1),
      taken_(contacts_max) {}

ContactIsland ContactIslands::island(std::uint32_t i) const noexcept {
  TACTUS_DCHECK(i < count_);
  return {{contacts_.data() + contact_start_[i], contact_start_[i + 1] - contact_start_[i]},
          {blocks_.data() + block_start_[i], block_start_[i + 1] - block_start_[i]}};
}

void ContactIslands::link(const ContactProblem& problem) noexcept {
  TACTUS_ASSERT(problem.block_count() <= blocks_.size() && problem.count() <= contacts_.size());
  std::fill_n(first_contact_.begin(), problem.block_count() + 1, 0U);
  for (std::uint32_t i = 0; i < problem.count(); ++i) {
    for (const ProblemSide& side : problem.contact(i).side) {
      if (side.block != kNone) ++first_contact_[side.block + 1];
    }
  }
  for (std::uint32_t b = 0; b < problem.block_count(); ++b) {
    first_contact_[b + 1] += first_contact_[b];
    seen_[b] = first_contact_[b];  // where the next contact goes
  }
  for (std::uint32_t i = 0; i < problem.count(); ++i) {
    for (const ProblemSide& side : problem.contact(i).side) {
      if (side.block != kNone) list_[seen_[side.block]++] = i;
    }
  }
}

// Blocks reached from one, breadth first, written to blocks_ from `first` on. Gives their number; the last of them is
// an end of the island.
std::uint32_t ContactIslands::walk(const ContactProblem& problem, std::uint32_t from, std::uint32_t first) noexcept {
  std::uint32_t count = 1;
  blocks_[first] = from;
  place_[from] = 0;
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t b = blocks_[first + k];
    for (std::uint32_t j = first_contact_[b]; j < first_contact_[b + 1]; ++j) {
      const ProblemContact& contact = problem.contact(list_[j]);
      const std::uint32_t other = contact.side[contact.side[0].block == b ? 1 : 0].block;
      if (other == kNone || place_[other] != kNone) continue;
      TACTUS_DCHECK(first + count < blocks_.size());
      place_[other] = count;
      blocks_[first + count++] = other;
    }
  }
  return count;
}

void ContactIslands::split(const ContactProblem& problem) noexcept {
  link(problem);
  count_ = 0;
  block_start_[0] = contact_start_[0] = 0;
  std::fill_n(place_.begin(), problem.block_count(), kNone);
  std::fill_n(taken_.begin(), problem.count(), std::uint8_t{0});
  for (std::uint32_t b = 0; b < problem.block_count(); ++b) {
    if (place_[b] != kNone || first_contact_[b] == first_contact_[b + 1]) continue;
    const std::uint32_t first = block_start_[count_];
    std::uint32_t found = walk(problem, b, first);
    const std::uint32_t end = blocks_[first + found - 1];
    for (std::uint32_t k = 0; k < found; ++k) place_[blocks_[first + k]] = kNone;
    found = walk(problem, end, first);
    TACTUS_DCHECK(place_[b] != kNone);  // the second walk comes back
    std::uint32_t contacts = contact_start_[count_];
    for (std::uint32_t k = 0; k < found; ++k) {
      const std::uint32_t block = blocks_[first + k];
      for (std::uint32_t j = first_contact_[block]; j < first_contact_[block + 1]; ++j) {
        if (taken_[list_[j]] != 0) continue;
        taken_[list_[j]] = 1;
        contacts_[contacts++] = list_[j];
      }
    }
    std::sort(contacts_.begin() + contact_start_[count_], contacts_.begin() + contacts);
    block_start_[++count_] = first + found;
    contact_start_[count_] = contacts;
  }
}

namespace {

constexpr double kGiven = 1e-3;  // energy that impulses may give, of what they take

// Friction along a direction that is known, or between bounds that are (ContactLaw).
Vec3 project_law(const ProblemContact& contact, const Vec3& x) noexcept {
  TACTUS_DCHECK(is_unit(contact.slip) && contact.mu >= 0 && not_below(contact.bound, 0));
  const double normal = std::max(0.0, x[0]);
  const Eigen::Vector2d& s = contact.slip;
  const Eigen::Vector2d across(-s[1], s[0]), t = x.tail<2>();
  Eigen::Vector2d f = Eigen::Vector2d::Zero();
  if (contact.law == ContactLaw::sliding) {
    f = -contact.mu * normal * s;
  } else if (contact.law == ContactLaw::stopping) {
    f = std::clamp(s.dot(t), -contact.mu * normal, contact.mu * normal) * s;
  } else {
    f = std::clamp(s.dot(t), -contact.bound, contact.bound) * s +
        std::clamp(across.dot(t), -contact.bound, contact.bound) * across;
  }
  return {normal, f[0], f[1]};
}

}  // namespace

Vec3 project_contact(const ProblemContact& contact, const FrictionDisc& disc, const Vec3& x) noexcept {
  TACTUS_DCHECK(contact.rows == 1 ? not_above(contact.lo, contact.hi) : contact.rows == 3 && contact.mu >= 0);
  if (contact.rows == 1) return {std::clamp(x[0], contact.lo, contact.hi), 0, 0};
  if (contact.law != ContactLaw::cone) return project_law(contact, x);
  if (!(x[0] > 0)) return Vec3::Zero();
  const double limit = contact.mu * x[0];
  if (!(limit > 0)) return {x[0], 0, 0};
  const Eigen::Vector2d t = limit * disc.project(x.tail<2>() / limit, nullptr);
  TACTUS_DCHECK(in_cone({x[0], t[0], t[1]}, contact.mu));
  return {x[0], t[0], t[1]};
}

void sum_impulses(const ContactProblem& problem, const ContactIsland& island, const Vec3* p, double* u) noexcept {
  for (const std::uint32_t b : island.blocks) {
    std::fill_n(u + problem.block(b).start, problem.block(b).size, 0.0);
  }
  for (const std::uint32_t i : island.contacts) push(problem, problem.contact(i), p[i], u);
}

bool gives_energy(const ContactProblem& problem, const ContactIsland& island, const Vec3* p, const double* u) noexcept {
  double given = 0, size = 0;
  for (const std::uint32_t i : island.contacts) {
    const ProblemContact& contact = problem.contact(i);
    Vec3 c = velocity(problem, contact, u) + contact.b;
    c[0] += contact.compliance * p[i][0];
    // Slip that turned round is LcpForces' affair.
    given += contact.law == ContactLaw::sliding ? p[i][0] * c[0] : p[i].dot(c);
    size += p[i].cwiseAbs().dot(contact.b.cwiseAbs());
  }
  return !(given <= kGiven * size);
}

double island_residual(const ContactProblem& problem, const ContactIsland& island, const FrictionDisc& disc,
                       const Vec3* p, const double* u) noexcept {
  double worst = 0, scale = 0, free_scale = 0;
  for (const std::uint32_t i : island.contacts) {
    const ProblemContact& contact = problem.contact(i);
    const double size = contact.mobility + contact.compliance;
    TACTUS_DCHECK(not_below(contact.mobility, 0) && not_below(contact.compliance, 0));
    Vec3 c = velocity(problem, contact, u) + contact.b;
    c[0] += contact.compliance * p[i][0];
    if (!c.allFinite() || !p[i].allFinite()) return std::numeric_limits<double>::infinity();
    const double b = contact.b.cwiseAbs().maxCoeff();
    free_scale = std::max(free_scale, b);
    if (p[i][0] != 0) scale = std::max({scale, b, size * p[i].cwiseAbs().maxCoeff()});
    if (size == 0) continue;
    const Vec3 moved = project_contact(contact, disc, p[i] - c / size) - p[i];
    worst = std::max(worst, size * moved.cwiseAbs().maxCoeff());
    if (contact.rows == 3) worst = std::max(worst, -c[0]);
  }
  if (scale == 0) scale = free_scale;
  if (free_scale > 0) scale = std::min(scale, kSqueezed * free_scale);
  if (!std::isfinite(scale) || !std::isfinite(worst)) return std::numeric_limits<double>::infinity();
  return worst > 0 ? worst / scale : 0;
}

double sweep_island(const ContactProblem& problem, const ContactIsland& island, const FrictionDisc& disc,
                    std::uint32_t sweeps, Vec3* p, double* u) noexcept {
  for (std::uint32_t k = 0; k < sweeps; ++k) {
    for (const std::uint32_t i : island.contacts) {
      const ProblemContact& contact = problem.contact(i);
      const double size = contact.mobility + contact.compliance;
      if (size == 0) continue;
      for (int round = 0; round < 2; ++round) {
        Vec3 c = velocity(problem, contact, u) + contact.b;
        c[0] += contact.compliance * p[i][0];
        const Vec3 next = project_contact(contact, disc, p[i] - c / size);
        if (next == p[i]) break;  // nor would it move in the second round
        push(problem, contact, next - p[i], u);
        p[i] = next;
      }
    }
  }
  return island_residual(problem, island, disc, p, u);
}

}  // namespace tactus
