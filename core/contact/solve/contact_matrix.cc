#include "core/contact/solve/contact_matrix.h"

#include <algorithm>

#include "core/check.h"
#include "core/contact/solve/solver_work.h"
#include "core/math/lanes.h"

namespace tactus {

namespace {

constexpr std::uint32_t kGroupsOfRow = 2;  // room for pairs of bodies; without it the matrix is added up anew each time

bool is_of_free_bodies(const ProblemContact& contact) noexcept {
  const auto fits = [](const ProblemSide& side) { return side.block == kNone || is_whole(side); };
  return fits(contact.side[0]) && fits(contact.side[1]);
}

// R -= Y p for a free body; scale += |Y p|^2.
void take_off_free(const double* Y, const Vec3& p, double* R, double& scale) noexcept {
  for (std::size_t j = 0; j < 6; ++j) {
    const double* const row = Y + 3 * j;
    const double y = row[0] * p[0] + (row[1] * p[1] + row[2] * p[2]);
    R[j] -= y;
    scale += y * y;
  }
}

std::uint32_t local_row(const std::vector<std::uint32_t>& rows, const ProblemSide& side, std::uint32_t k) noexcept {
  TACTUS_DCHECK(side.block < rows.size() && k < side.size);
  return rows[side.block] + (side.dofs != nullptr ? side.dofs[k] : k);
}

}  // namespace

// A free body's Y column by column.
struct ContactMatrix::Columns {
  using Six = Lanes<6>;
  explicit Columns(const double* Y) noexcept {
    for (int k = 0; k < 3; ++k) {
      double of[6];
      for (int i = 0; i < 6; ++i) of[i] = Y[3 * i + k];
      column[k] = Six::load(of);
    }
  }
  // Y G
  Columns(const Columns& Y, const Mat3& G) noexcept {
    const auto combine = [&](const Six& a, double x, const Six& b, double y) {
      Six out = a;
      out.scale(x);
      out.add(b, y);
      return out;
    };
    column[0] = combine(Y.column[0], G(0, 0), Y.column[1], G(1, 0));
    column[0].add(Y.column[2], G(2, 0));
    column[1] = combine(Y.column[1], G(1, 1), Y.column[2], G(2, 1));
    column[2] = combine(Y.column[1], G(1, 2), Y.column[2], G(2, 2));
    if (G(0, 1) == 0 && G(0, 2) == 0) return;  // the laws themselves: no friction changes p_n
    column[1].add(Y.column[0], G(0, 1));
    column[2].add(Y.column[0], G(0, 2));
  }
  // out, six columns of six: += (this)(Z)^T, Z row by row.
  void add_to(double* out, const double* Z) const noexcept {
    for (int j = 0; j < 6; ++j) {
      Six sum = Six::load(out + 6 * j);
      for (int k = 0; k < 3; ++k) sum.add(column[k], Z[3 * j + k]);
      sum.store(out + 6 * j);
    }
  }
  void store_rows(double* rows) const noexcept {
    for (int k = 0; k < 3; ++k) {
      double of[6];
      column[k].store(of);
      for (int i = 0; i < 6; ++i) rows[3 * i + k] = of[i];
    }
  }
  Six column[3];
};

ContactMatrix::ContactMatrix(std::uint32_t contacts_max, std::uint32_t half_max, std::uint32_t rows_max)
    : H_(half_max, std::size_t{rows_max} * (rows_max + 1) / 2),
      first_(half_max),
      part_(half_max),
      row_of_block_(half_max + 1),
      used_(contacts_max),
      groups_(kGroupsOfRow * rows_max),
      sums_(groups_.size()),
      changed_(half_max) {}

bool ContactMatrix::shape(const ContactProblem& problem, const ContactIslands& islands,
                          const ContactIsland& island) noexcept {
  rows_ = 0;
  for (const std::uint32_t b : island.blocks) {
    TACTUS_DCHECK(rows_ + problem.block(b).size <= first_.size());
    row_of_block_[b] = rows_;
    std::fill_n(first_.begin() + rows_, problem.block(b).size, rows_);
    std::fill_n(part_.begin() + rows_, problem.block(b).size, rows_);
    rows_ += problem.block(b).size;
  }
  for (const std::uint32_t i : island.contacts) {
    std::uint32_t a = problem.contact(i).side[0].block, b = problem.contact(i).side[1].block;
    if (a == kNone || b == kNone || a == b) continue;
    if (islands.place(a) > islands.place(b)) std::swap(a, b);
    for (std::uint32_t k = 0; k < problem.block(b).size; ++k) {
      std::uint32_t& first = first_[row_of_block_[b] + k];
      first = std::min(first, row_of_block_[a]);
    }
  }
  look_work_ = kLookWork * island.contacts.size();
  factor_work_ = kBlockWork * island.contacts.size();
  for (std::uint32_t i = 0; i < rows_; ++i) factor_work_ += std::uint64_t{i - first_[i]} * (i - first_[i]);
  list_groups(problem, island);
  factored_ = false;
  return H_.shape(rows_, first_.data(), part_.data());
}

void ContactMatrix::list_groups(const ContactProblem& problem, const ContactIsland& island) noexcept {
  group_count_ = 0;
  grouped_ = false;
  for (std::uint32_t k = 0; k < island.contacts.size(); ++k) {
    const ProblemContact& contact = problem.contact(island.contacts[k]);
    if (contact.rows != 3 || !is_of_free_bodies(contact)) return;
    Group next{k, k + 1, kNone, kNone, 0, 1};
    std::uint32_t row[2];
    for (int a = 0; a < 2; ++a) row[a] = contact.side[a].block == kNone ? kNone : row_of_block_[contact.side[a].block];
    // Of one alone: the later.
    if (row[0] != kNone && (row[1] == kNone || row[0] > row[1])) next.early_side = 1, next.late_side = 0;
    next.early = row[next.early_side], next.late = row[next.late_side];
    Group* const last = group_count_ > 0 ? &groups_[group_count_ - 1] : nullptr;
    if (last != nullptr && last->early == next.early && last->late == next.late && last->late_side == next.late_side) {
      ++last->end;
    } else {
      if (group_count_ == groups_.size()) return;
      groups_[group_count_++] = next;
    }
  }
  grouped_ = true;
}

// sum Y G Y^T of a pair's contacts. False: none of them has changed.
bool ContactMatrix::sum_group(const ContactProblem& problem, const ContactIsland& island, const ContactSlope* slopes,
                              const Group& group, Sums& sums) noexcept {
  TACTUS_DCHECK(group.first < group.end && group.end <= island.contacts.size());
  bool changed = !factored_;
  for (std::uint32_t k = group.first; k < group.end; ++k) {
    if (slopes[k].pushes == used_[k].pushes && (!used_[k].pushes || slopes[k].G == used_[k].G)) continue;
    changed = true;
  }
  if (!changed) return false;
  sums = {};
  for (std::uint32_t k = group.first; k < group.end; ++k) {
    used_[k] = slopes[k];
    if (!used_[k].pushes) continue;
    const Mat3& G = used_[k].G;
    const ProblemContact& contact = problem.contact(island.contacts[k]);
    const double* const Y_late = contact.side[group.late_side].Y;
    const Columns late(Y_late), late_G(late, G);
    late_G.add_to(sums.late, Y_late);
    if (group.early == kNone) continue;
    const double* const Y_early = contact.side[group.early_side].Y;
    const Columns early(Y_early), early_G(early, G);
    early_G.add_to(sums.early, Y_early);
    late_G.add_to(sums.below, Y_early);
    double rows[18];
    early_G.store_rows(rows);
    late.add_to(sums.above, rows);
  }
  return true;
}

// H = 1 + sum Y G Y^T: the rows of bodies at whose contacts G is another one. Gives the first of them.
std::uint32_t ContactMatrix::assemble(const ContactProblem& problem, const ContactIsland& island,
                                      const ContactSlope* slopes) noexcept {
  std::fill_n(changed_.begin(), rows_, factored_ ? std::uint8_t{0} : std::uint8_t{1});
  for (std::uint32_t g = 0; g < group_count_; ++g) {
    if (!sum_group(problem, island, slopes, groups_[g], sums_[g])) continue;
    changed_[groups_[g].late] = 1;
    if (groups_[g].early != kNone) changed_[groups_[g].early] = 1;
  }
  std::uint32_t least = rows_;
  for (const std::uint32_t b : island.blocks) {
    const std::uint32_t row = row_of_block_[b];
    TACTUS_DCHECK(row < rows_ && problem.block(b).size == 6);  // or groups are none
    if (changed_[row] == 0) continue;
    least = std::min(least, row);
    H_.clear_panel(row);
    for (std::uint32_t i = 0; i < 6; ++i) H_.lower(row, row)[7 * i] = 1;
  }
  const auto add = [](const double* from, double* to) {
    for (int i = 0; i < 36; ++i) to[i] += from[i];
  };
  for (std::uint32_t g = 0; g < group_count_; ++g) {
    const Group& group = groups_[g];
    if (group.early != kNone && changed_[group.early] != 0) add(sums_[g].early, H_.lower(group.early, group.early));
    if (changed_[group.late] == 0) continue;
    add(sums_[g].late, H_.lower(group.late, group.late));
    if (group.early == kNone) continue;
    add(sums_[g].below, H_.lower(group.late, group.early));
    add(sums_[g].above, H_.upper(group.late, group.early));
  }
  return least;
}

// H += Y_a G Y_b^T of any two sides of a contact.
void ContactMatrix::add_block(const ProblemContact& contact, const ProblemSide& a, const ProblemSide& b,
                              const Mat3& G) noexcept {
  const std::uint32_t n = contact.rows;
  TACTUS_DCHECK(n == 1 || n == 3);
  for (std::uint32_t i = 0; i < a.size; ++i) {
    const double* const y = a.Y + std::size_t{n} * i;
    double g0 = y[0] * G(0, 0), g1 = 0, g2 = 0;
    if (n == 3) {
      g0 += y[1] * G(1, 0) + y[2] * G(2, 0);
      g1 = y[0] * G(0, 1) + y[1] * G(1, 1) + y[2] * G(2, 1);
      g2 = y[0] * G(0, 2) + y[1] * G(1, 2) + y[2] * G(2, 2);
    }
    const std::uint32_t row = local_row(row_of_block_, a, i);
    for (std::uint32_t j = 0; j < b.size; ++j) {
      const std::uint32_t column = local_row(row_of_block_, b, j);
      const double* const z = b.Y + std::size_t{n} * j;
      const double h = n == 3 ? g0 * z[0] + g1 * z[1] + g2 * z[2] : g0 * z[0];
      H_.at(row, column) += h;
    }
  }
}

void ContactMatrix::assemble_all(const ContactProblem& problem, const ContactIsland& island,
                                 const ContactSlope* slopes) noexcept {
  H_.clear();
  for (std::uint32_t i = 0; i < rows_; ++i) H_.at(i, i) = 1;
  for (std::size_t k = 0; k < island.contacts.size(); ++k) {
    if (!slopes[k].pushes) continue;
    const ProblemContact& contact = problem.contact(island.contacts[k]);
    for (const ProblemSide& a : contact.side) {
      for (const ProblemSide& b : contact.side) {
        if (a.block != kNone && b.block != kNone) add_block(contact, a, b, slopes[k].G);
      }
    }
  }
}

bool ContactMatrix::factor(const ContactProblem& problem, const ContactIsland& island,
                           const ContactSlope* slopes) noexcept {
  TACTUS_DCHECK(rows_ > 0 && island.contacts.size() <= used_.size());  // shape() fitted
  std::uint32_t least = 0;
  if (grouped_) {
    least = assemble(problem, island, slopes);
  } else {
    assemble_all(problem, island, slopes);
  }
  factored_ = false;
  if (least < rows_ && !H_.factor(least)) return false;
  factored_ = grouped_;
  return true;
}

void ContactMatrix::gather(const ContactProblem& problem, const ContactIsland& island, const double* u,
                           double* x) const noexcept {
  for (const std::uint32_t b : island.blocks) {
    const ProblemBlock& block = problem.block(b);
    std::copy_n(u + block.start, block.size, x + row_of_block_[b]);
  }
}

void ContactMatrix::move(const ContactProblem& problem, const ContactIsland& island, double t, const double* x,
                         double* u) const noexcept {
  for (const std::uint32_t b : island.blocks) {
    const ProblemBlock& block = problem.block(b);
    for (std::uint32_t k = 0; k < block.size; ++k) u[block.start + k] += t * x[row_of_block_[b] + k];
  }
}

double ContactMatrix::take_off(const ProblemContact& contact, const Vec3& p, double* x) const noexcept {
  double size = 0;
  const std::uint32_t n = contact.rows;
  for (const ProblemSide& side : contact.side) {
    if (side.block == kNone) continue;
    if (n == 3 && is_whole(side)) {
      take_off_free(side.Y, p, x + row_of_block_[side.block], size);
      continue;
    }
    for (std::uint32_t j = 0; j < side.size; ++j) {
      const double* const row = side.Y + std::size_t{n} * j;
      double y = row[0] * p[0];
      if (n == 3) y += row[1] * p[1] + row[2] * p[2];
      x[local_row(row_of_block_, side, j)] -= y;
      size += y * y;
    }
  }
  return size;
}

Vec3 ContactMatrix::change(const ProblemContact& contact, const double* x) const noexcept {
  double dc[3] = {0, 0, 0};
  for (const ProblemSide& side : contact.side) {
    if (side.block == kNone) continue;
    if (contact.rows == 3 && is_whole(side)) {
      add_velocity(side.Y, x + row_of_block_[side.block], dc);
      continue;
    }
    for (std::uint32_t j = 0; j < side.size; ++j) {
      const double* const row = side.Y + std::size_t{contact.rows} * j;
      const double d = x[local_row(row_of_block_, side, j)];
      for (std::uint32_t l = 0; l < contact.rows; ++l) dc[l] += row[l] * d;
    }
  }
  return {dc[0], dc[1], dc[2]};
}

}  // namespace tactus
