#include "core/contact/feature/feature_lcp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// Rows e and p tie structurally, of which the paper says nothing: a larger cover of e keeps Lemke's walk from ending in
// a ray (80 to 87 % of random planar cases are solved so).
constexpr double kCoverOfE = 100;

// Impulse and velocity of row (contact, direction): n, or the diagonals of t1 and t2, along which the pyramid with
// corners on +-t1, +-t2 is a box (contact_solver.cc).
Vec3 axis_of(std::uint32_t direction) noexcept {
  const double half = std::sqrt(0.5);
  if (direction == 0) return Vec3::UnitX();
  return direction == 1 ? Vec3(0, half, half) : Vec3(0, -half, half);
}

}  // namespace

FeatureLcp::FeatureLcp(std::uint32_t half_size, std::uint32_t rows_max)
    : lcp_(rows_max, friction_rows(rows_max)),
      rows_(rows_max),
      A_(std::size_t{rows_max} * rows_max),
      b_(rows_max),
      lo_(rows_max),
      hi_(rows_max),
      z_(rows_max),
      cover_(rows_max),
      half_(half_size),
      normal_(rows_max) {}

bool FeatureLcp::add(Row row) noexcept {
  if (n_ == rows_.size()) return false;
  rows_[n_++] = row;
  return true;
}

bool FeatureLcp::add_pushing(const GroupedContacts& all, std::uint32_t contact, std::uint32_t group,
                             std::uint32_t member) noexcept {
  const ProblemContact& c = all.problem->contact(contact);
  if (c.rows == 1) return add({Kind::bounded, contact, group, member, 0});
  bool fits = add({Kind::normal, contact, group, member, 0});
  for (std::uint32_t k = 1; k <= 2 && c.mu > 0; ++k) fits = fits && add({Kind::friction, contact, group, member, k});
  return fits;
}

bool FeatureLcp::list_rows(const GroupedContacts& all, const ContactIsland& island,
                           std::span<const std::uint32_t> groups) noexcept {
  n_ = 0;
  bool fits = true;
  for (const std::uint32_t i : island.contacts) {
    if (all.always[i] != 0) fits = fits && add_pushing(all, i, kNoContact, 0);
  }
  for (std::uint32_t g = 0; g < groups.size() && fits; ++g) {
    const ContactGroup& group = all.groups[groups[g]];
    const auto members = all.of(group);
    for (std::uint32_t k = 1; k < members.size(); ++k) fits = fits && add({Kind::c, members[k], g, k, 0});
    fits = fits && add({Kind::e, members[0], g, 0, 0});
    for (std::uint32_t k = 0; k < group.iota; ++k) {
      fits = fits && add({Kind::d, members[k], g, k, 0}) && add_pushing(all, members[k], g, k);
    }
  }
  std::uint32_t friction = 0;
  for (std::uint32_t r = 0; r < n_; ++r) friction += rows_[r].kind == Kind::friction ? 1 : 0;
  return fits && friction <= friction_rows(static_cast<std::uint32_t>(rows_.size()));
}

// What a slack variable adds to a row of its own group.
double FeatureLcp::slack_entry(const Row& row, const Row& column) const noexcept {
  if (row.group != column.group || row.group == kNoContact) return 0;
  switch (column.kind) {
    case Kind::c:  // c_2 .. c_k stand in rows c_k and later, and in all of e and p
      return (row.kind == Kind::c && column.member <= row.member) || row.kind == Kind::e || row.kind == Kind::normal
                 ? scale_
                 : 0;
    case Kind::d:
      return (row.kind == Kind::d || row.kind == Kind::normal) && row.member == column.member ? scale_ : 0;
    case Kind::e:
      return row.kind == Kind::e ? -scale_ : 0;
    case Kind::normal:
    case Kind::friction:
    case Kind::bounded:
      break;
  }
  return 0;
}

// What an impulse does to the gaps and slips of all rows. Rows e and p of a group hold the gap of its first member
// (15).
void FeatureLcp::fill_impulse_column(const GroupedContacts& all, std::span<const std::uint32_t> groups,
                                     std::uint32_t column) noexcept {
  const ContactProblem& problem = *all.problem;
  TACTUS_DCHECK(problem.half_size() <= half_.size());
  std::fill(half_.begin(), half_.begin() + problem.half_size(), 0.0);
  push(problem, problem.contact(rows_[column].contact), axis_of(rows_[column].direction), half_.data());
  std::uint32_t known = kNoContact, known_first = kNoContact;
  Vec3 own = Vec3::Zero();
  double first = 0;
  for (std::uint32_t r = 0; r < n_; ++r) {
    const Row& row = rows_[r];
    if (row.contact != known) own = velocity(problem, problem.contact(row.contact), half_.data());
    known = row.contact;
    if (row.group != kNoContact && row.group != known_first) {
      const std::uint32_t iota_1 = all.of(all.groups[groups[row.group]])[0];
      first = velocity(problem, problem.contact(iota_1), half_.data())[0];
      known_first = row.group;
    }
    double& entry = A_[std::size_t{r} * n_ + column];
    if (row.kind == Kind::friction || row.group == kNoContact || row.kind == Kind::d) {
      entry = axis_of(row.direction).dot(own);
    } else {
      entry = row.kind == Kind::c ? first - own[0] : first;
    }
  }
}

void FeatureLcp::fill(const GroupedContacts& all, const ContactIsland& island,
                      std::span<const std::uint32_t> groups) noexcept {
  scale_ = 0;
  for (const std::uint32_t i : island.contacts) scale_ = std::max(scale_, all.problem->contact(i).mobility);
  TACTUS_DCHECK(not_below(scale_, 0));  // slack counts as impulse by it
  std::int32_t normal = -1;
  for (std::uint32_t r = 0; r < n_; ++r) {
    const Row& row = rows_[r];
    const ProblemContact& contact = all.problem->contact(row.contact);
    const double first =
        row.group == kNoContact ? 0 : all.problem->contact(all.of(all.groups[groups[row.group]])[0]).b[0];
    lo_[r] = 0, hi_[r] = std::numeric_limits<double>::infinity(), normal_[r] = -1, cover_[r] = 1;
    b_[r] = contact.b[0];
    switch (row.kind) {
      case Kind::normal:
        normal = static_cast<std::int32_t>(r);
        if (row.group != kNoContact) b_[r] = first;
        break;
      case Kind::friction:
        TACTUS_DCHECK(normal >= 0 && rows_[std::uint32_t(normal)].contact == row.contact);
        b_[r] = axis_of(row.direction).dot(contact.b);
        hi_[r] = contact.mu * std::sqrt(0.5), normal_[r] = normal;
        break;
      case Kind::bounded:
        lo_[r] = contact.lo, hi_[r] = contact.hi;
        break;
      case Kind::c:
        b_[r] = first - contact.b[0];
        break;
      case Kind::e:
        cover_[r] = kCoverOfE;
        break;
      case Kind::d:
        break;
    }
  }
  for (std::uint32_t s = 0; s < n_; ++s) {
    const Row& column = rows_[s];
    if (column.kind == Kind::normal || column.kind == Kind::friction || column.kind == Kind::bounded) {
      fill_impulse_column(all, groups, s);
      A_[std::size_t{s} * n_ + s] += all.problem->contact(column.contact).compliance;
      continue;
    }
    for (std::uint32_t r = 0; r < n_; ++r) A_[std::size_t{r} * n_ + s] = slack_entry(rows_[r], column);
  }
}

bool FeatureLcp::solve(const GroupedContacts& all, const ContactIsland& island, std::span<const std::uint32_t> groups,
                       std::uint32_t* choice, SolverWork& work) noexcept {
  result_ = {};
  if (work.spent()) return false;
  if (!list_rows(all, island, groups)) return false;
  fill(all, island, groups);
  const LcpProblem lcp{n_, 0, A_.data(), b_.data(), lo_.data(), hi_.data(), normal_.data()};
  LcpSolverOptions options;
  options.common.flops_max = std::min(kPivotWork, work.left);
  options.common.cover = cover_.data();
  std::fill_n(z_.begin(), n_, 0.0);
  result_ = lcp_.solve(lcp, z_.data(), options);
  work.spend(result_.flops);
  if (result_.status != LcpStatus::solved) return false;
  double largest = 0;
  for (std::uint32_t r = 0; r < n_; ++r) {
    if (rows_[r].kind == Kind::normal) largest = std::max(largest, z_[r]);
  }
  for (std::uint32_t g = 0; g < groups.size(); ++g) choice[groups[g]] = kNoContact;
  // At most one pushes; what is left of the others is rounding.
  std::uint32_t last = kNoContact;
  double most = 0;
  for (std::uint32_t r = 0; r < n_; ++r) {
    if (rows_[r].kind != Kind::normal || rows_[r].group == kNoContact) continue;
    if (rows_[r].group != last) last = rows_[r].group, most = 1e-12 * largest;
    TACTUS_DCHECK(rows_[r].member < all.groups[groups[last]].iota);  // kappa never pushes
    if (z_[r] > most) most = z_[r], choice[groups[last]] = rows_[r].contact;
  }
  return true;
}

}  // namespace tactus
