#include "core/contact/solve/lcp_rows.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

bool slides(const ProblemContact& contact) noexcept {
  return contact.law == ContactLaw::sliding || (contact.law != ContactLaw::bounded && contact.mu == 0);
}
bool is_free(const ProblemContact& contact) noexcept {  // of bounds on friction: none at all
  return contact.law == ContactLaw::bounded && contact.bound == 0;
}

std::uint32_t rows_of(const ProblemContact& contact) noexcept {
  if (contact.rows == 1 || slides(contact) || is_free(contact)) return 1;
  return contact.law == ContactLaw::stopping ? 2 : 3;
}

// Direction of row k in the contact's frame.
Vec3 axis(const ProblemContact& contact, std::uint32_t k) noexcept {
  TACTUS_DCHECK(k < rows_of(contact) && is_unit(contact.slip));
  const Eigen::Vector2d& s = contact.slip;
  return k == 0 ? Vec3(1, 0, 0) : k == 1 ? Vec3(0, s[0], s[1]) : Vec3(0, -s[1], s[0]);
}

// What a unit of the row's variable is as an impulse.
Vec3 impulse(const ProblemContact& contact, std::uint32_t k) noexcept {
  if (k > 0 || contact.law != ContactLaw::sliding) return axis(contact, k);
  return {1, -contact.mu * contact.slip[0], -contact.mu * contact.slip[1]};
}

bool share_block(const ProblemContact& a, const ProblemContact& b) noexcept {
  for (const ProblemSide& x : a.side) {
    for (const ProblemSide& y : b.side) {
      if (x.block != kNone && x.block == y.block) return true;
    }
  }
  return false;
}

}  // namespace

LcpRows::LcpRows(std::uint32_t rows_max, std::uint32_t half_max)
    : rows_max_(rows_max),
      A_(std::size_t{rows_max} * rows_max),
      b_(rows_max),
      lo_(rows_max),
      hi_(rows_max),
      column_(half_max),
      normal_(rows_max) {}

std::uint32_t LcpRows::count(const ContactProblem& problem, const ContactIsland& island) noexcept {
  std::uint32_t n = 0;
  for (const std::uint32_t i : island.contacts) n += rows_of(problem.contact(i));
  return n;
}

// Row k of contact i, and its column of A.
void LcpRows::add_row(const ContactProblem& problem, const ContactIsland& island, std::uint32_t i,
                      std::uint32_t k) noexcept {
  const ProblemContact& contact = problem.contact(i);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TACTUS_DCHECK(row_ < n_ && n_ <= rows_max_);
  b_[row_] = axis(contact, k).dot(contact.b);
  normal_[row_] = -1;
  if (contact.rows == 1) {
    lo_[row_] = contact.lo, hi_[row_] = contact.hi;
  } else if (k == 0) {
    lo_[row_] = 0, hi_[row_] = kInfinity;
  } else if (contact.law == ContactLaw::bounded) {
    lo_[row_] = -contact.bound, hi_[row_] = contact.bound;
  } else {
    TACTUS_DCHECK(contact.mu >= 0 && row_ >= k);
    lo_[row_] = 0, hi_[row_] = contact.mu;
    normal_[row_] = static_cast<std::int32_t>(row_ - k);
  }
  push(problem, contact, impulse(contact, k), column_.data());
  std::uint32_t other = 0;
  for (const std::uint32_t j : island.contacts) {
    const ProblemContact& to = problem.contact(j);
    const std::uint32_t rows = rows_of(to);
    const bool touches = share_block(contact, to);
    const Vec3 c = touches ? velocity(problem, to, column_.data()) : Vec3::Zero();
    for (std::uint32_t l = 0; l < rows; ++l, ++other) A_[std::size_t{other} * n_ + row_] = axis(to, l).dot(c);
  }
  A_[std::size_t{row_} * n_ + row_] += contact.compliance;
  for (const ProblemSide& side : contact.side) {
    if (side.block == kNone) continue;
    const ProblemBlock& block = problem.block(side.block);
    std::fill_n(column_.begin() + block.start, block.size, 0.0);
  }
  ++row_;
}

bool LcpRows::load(const ContactProblem& problem, const ContactIsland& island) noexcept {
  n_ = count(problem, island);
  if (n_ > rows_max_) return false;
  row_ = 0;
  std::fill(column_.begin(), column_.end(), 0.0);
  for (const std::uint32_t i : island.contacts) {
    const std::uint32_t rows = rows_of(problem.contact(i));
    for (std::uint32_t k = 0; k < rows; ++k) add_row(problem, island, i, k);
  }
  TACTUS_DCHECK(row_ == n_);
  TACTUS_DCHECK(std::all_of(column_.begin(), column_.end(), [](double y) { return y == 0; }));  // left as it was found
  return true;
}

LcpProblem LcpRows::view() const noexcept {
  return {n_, 0, A_.data(), b_.data(), lo_.data(), hi_.data(), normal_.data()};
}

void LcpRows::to_rows(const ContactProblem& problem, const ContactIsland& island, const Vec3* p,
                      double* z) const noexcept {
  std::uint32_t row = 0;
  for (const std::uint32_t i : island.contacts) {
    const ProblemContact& contact = problem.contact(i);
    const std::uint32_t rows = rows_of(contact);
    for (std::uint32_t k = 0; k < rows; ++k) z[row++] = axis(contact, k).dot(p[i]);
  }
}

void LcpRows::from_rows(const ContactProblem& problem, const ContactIsland& island, const double* z,
                        Vec3* p) const noexcept {
  std::uint32_t row = 0;
  for (const std::uint32_t i : island.contacts) {
    const ProblemContact& contact = problem.contact(i);
    const std::uint32_t rows = rows_of(contact);
    p[i].setZero();
    for (std::uint32_t k = 0; k < rows; ++k) p[i] += z[row++] * impulse(contact, k);
  }
  TACTUS_DCHECK(row == n_);  // laws are those of load()
}

}  // namespace tactus
