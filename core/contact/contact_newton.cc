#include "core/contact/contact_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/math/lanes.h"

namespace tactus {

namespace {

constexpr double kProximal = 1e-5;  // D over a contact's own mobility
// A guess that is this far off changes sides in many contacts at once, where a small D gets nowhere and is raised in
// the end: D begins with the most and comes down.
constexpr double kFarOff = 1e-3;
// Least D, where steps divide the error by too little. Redundant contacts whose gaps contradict each other by 1e-9 of
// what they work against change sides only after their impulses have drifted by all of their size, c / D a step: a D
// below that tolerance gets there in a few. Rounding does not forbid it: c goes on by what is added to it.
constexpr double kProximalLeast = 1e-10;
constexpr double kSolved = 1e-9;
constexpr int kProximalSteps = 200;
constexpr std::uint32_t kFactorisations = 1500;  // at which no further proximal step is begun
constexpr double kProximalMost = 0.3;
constexpr double kLongerLeap = 4, kLongestLeap = 4096;
constexpr double kSofter = 20, kHarder = 0.3;
constexpr int kNewtonSteps = 30;
constexpr double kOfResidual = 0.1;  // least D over the residual: less asks of far guesses what they cannot give
constexpr double kLower = 0.5;       // a round that succeeds lets D come so much nearer to where it failed
// Impulses of contacts that work against each other without end: this much worse than the best, and wrong by all they
// are.
constexpr double kRunsOff = 100;
constexpr std::uint32_t kGroupsOfRow = 2;  // room for pairs of bodies; without it the matrix is added up anew each time
// |R| over the impulses' size at which u is found; or a share of the last residual, if that is more.
constexpr double kEquation = 1e-13, kInexact = 1e-2;

// The laws of project_contact() that are linear in parts: G = -dp/dc for c = -D x.
void slopes_of_law(const ProblemContact& contact, const Vec3& x, double inv_D, bool& pushes, Mat3& G) noexcept {
  G.setZero();
  const double push = x[0] > 0 ? 1 : 0, limit = contact.mu * std::max(0.0, x[0]);
  const Eigen::Vector2d& s = contact.slip;
  const Eigen::Vector2d across(-s[1], s[0]), t = x.tail<2>();
  const double along = s.dot(t);
  G(0, 0) = push;
  if (contact.law == ContactLaw::sliding) {
    G.bottomLeftCorner<2, 1>() = -push * contact.mu * s;
  } else if (contact.law == ContactLaw::stopping) {
    if (std::abs(along) < limit) {
      G.bottomRightCorner<2, 2>() = s * s.transpose();
    } else {
      G.bottomLeftCorner<2, 1>() = (along > 0 ? push : -push) * contact.mu * s;
    }
  } else {
    if (std::abs(along) < contact.bound) G.bottomRightCorner<2, 2>() += s * s.transpose();
    if (std::abs(across.dot(t)) < contact.bound) G.bottomRightCorner<2, 2>() += across * across.transpose();
  }
  pushes = !G.isZero(0);
  G *= inv_D;
}

bool is_of_free_bodies(const ProblemContact& contact) noexcept {
  const auto fits = [](const ProblemSide& side) { return side.block == kNone || is_whole(side); };
  return fits(contact.side[0]) && fits(contact.side[1]);
}

// R -= Y p for a free body; scale += |Y p|^2.
void take_off(const double* Y, const Vec3& p, double* R, double& scale) noexcept {
  for (std::size_t j = 0; j < 6; ++j) {
    const double* const row = Y + 3 * j;
    const double y = row[0] * p[0] + (row[1] * p[1] + row[2] * p[2]);
    R[j] -= y;
    scale += y * y;
  }
}

std::uint32_t local_row(const std::vector<std::uint32_t>& rows, const ProblemSide& side, std::uint32_t k) noexcept {
  return rows[side.block] + (side.dofs != nullptr ? side.dofs[k] : k);
}

}  // namespace

// A free body's Y column by column.
struct ContactNewton::Columns {
  using Six = Lanes<6>;
  explicit Columns(const double* Y) noexcept {
    for (int k = 0; k < 3; ++k) {
      double of[6];
      for (int i = 0; i < 6; ++i) of[i] = Y[3 * i + k];
      column[k] = Six::load(of);
    }
  }
  // Y G; no friction changes p_n.
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

ContactNewton::ContactNewton(std::uint32_t contacts_max, std::uint32_t half_max, std::uint32_t rows_max)
    : H_(half_max, std::size_t{rows_max} * (rows_max + 1) / 2),
      local_(contacts_max),
      best_(contacts_max),
      step_(half_max),
      residual_(half_max),
      first_(half_max),
      part_(half_max),
      row_of_block_(half_max + 1),
      groups_(kGroupsOfRow * rows_max),
      sums_(groups_.size()),
      changed_(half_max) {}

bool ContactNewton::shape(const ContactProblem& problem, const ContactIslands& islands,
                          const ContactIsland& island) noexcept {
  rows_ = 0;
  for (const std::uint32_t b : island.blocks) {
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

void ContactNewton::list_groups(const ContactProblem& problem, const ContactIsland& island) noexcept {
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

void ContactNewton::start(const Context& s, const Vec3* p, double proximal) noexcept {
  scale_ = 0;
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    const std::uint32_t i = s.island.contacts[k];
    const ProblemContact& contact = s.problem.contact(i);
    Local& local = local_[k];
    local.r = p[i];
    const double size = contact.mobility;
    local.D = proximal * size;
    local.inv_D = local.D > 0 ? 1 / local.D : 0;
  }
}

void ContactNewton::find_velocities(const Context& s) noexcept {
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    const ProblemContact& contact = s.problem.contact(s.island.contacts[k]);
    local_[k].c = velocity(s.problem, contact, s.u) + contact.b;
  }
}

// p = law(r - c / D), and G = -dp/dc. A row of compliance e: p = clamp((D r - c) / (D + e)).
Vec3 ContactNewton::evaluate(const Context& s, const Local& local, const Vec3& c, const ProblemContact& contact,
                             Slopes* slopes) noexcept {
  if (slopes != nullptr) slopes->pushes = false;
  if (local.D == 0) return Vec3::Zero();
  if (contact.rows == 1) {
    const double e = local.D + contact.compliance, x = (local.D * local.r[0] - c[0]) / e;
    if (slopes != nullptr) {
      slopes->pushes = x > contact.lo && x < contact.hi;
      slopes->G.setZero();
      slopes->G(0, 0) = 1 / e;
    }
    return {std::clamp(x, contact.lo, contact.hi), 0, 0};
  }
  const double inv_D = local.inv_D;
  // Most contacts are open, and have no friction either.
  if (!(local.r[0] - inv_D * c[0] > 0) && contact.law != ContactLaw::bounded) return Vec3::Zero();
  const Vec3 x = local.r - inv_D * c;
  if (contact.law != ContactLaw::cone) {
    if (slopes != nullptr) slopes_of_law(contact, x, inv_D, slopes->pushes, slopes->G);
    return project_contact(contact, s.disc, x);
  }
  const double limit = contact.mu * std::max(0.0, x[0]);
  Eigen::Vector2d to = Eigen::Vector2d::Zero(), by_limit = to;
  Eigen::Matrix2d slope = Eigen::Matrix2d::Zero();
  if (limit > 0) {
    const Eigen::Vector2d unit = x.tail<2>() / limit, q = s.disc.project(unit, slopes != nullptr ? &slope : nullptr);
    to = limit * q;
    by_limit = contact.mu * (q - slope * unit);
  }
  const Vec3 p(std::max(0.0, x[0]), to[0], to[1]);
  if (slopes == nullptr) return p;
  slopes->pushes = x[0] > 0;
  Mat3& G = slopes->G;
  G.setZero();
  if (x[0] > 0) {
    G(0, 0) = inv_D;
    G(1, 0) = inv_D * by_limit[0], G(2, 0) = inv_D * by_limit[1];
  }
  G.bottomRightCorner<2, 2>() = inv_D * slope;
  return p;
}

// R = u - sum Y p by row of the island; |R|^2.
double ContactNewton::find_residual(const Context& s) noexcept {
  for (const std::uint32_t b : s.island.blocks) {
    const ProblemBlock& block = s.problem.block(b);
    std::copy_n(s.u + block.start, block.size, residual_.begin() + row_of_block_[b]);
  }
  scale_ = 0;
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    const ProblemContact& contact = s.problem.contact(s.island.contacts[k]);
    Local& local = local_[k];
    local.p = evaluate(s, local, local.c, contact, &local.slopes);
    const std::uint32_t n = contact.rows;
    if (local.p[0] == 0 && local.p[1] == 0 && local.p[2] == 0) continue;
    for (const ProblemSide& side : contact.side) {
      if (side.block == kNone) continue;
      if (n == 3 && is_whole(side)) {
        take_off(side.Y, local.p, residual_.data() + row_of_block_[side.block], scale_);
        continue;
      }
      for (std::uint32_t j = 0; j < side.size; ++j) {
        const double* const row = side.Y + std::size_t{n} * j;
        double y = row[0] * local.p[0];
        if (n == 3) y += row[1] * local.p[1] + row[2] * local.p[2];
        residual_[local_row(row_of_block_, side, j)] -= y;
        scale_ += y * y;
      }
    }
  }
  double sum = 0;
  for (std::uint32_t i = 0; i < rows_; ++i) sum += residual_[i] * residual_[i];
  return sum;
}

// sum Y G Y^T of a pair's contacts. False: none of them has changed.
bool ContactNewton::sum_group(const Context& s, const Group& group, Sums& sums) noexcept {
  bool changed = !factored_;
  for (std::uint32_t k = group.first; k < group.end; ++k) {
    Local& local = local_[k];
    if (local.slopes.pushes == local.used.pushes && (!local.used.pushes || local.slopes.G == local.used.G)) continue;
    changed = true;
  }
  if (!changed) return false;
  sums = {};
  for (std::uint32_t k = group.first; k < group.end; ++k) {
    Local& local = local_[k];
    local.used = local.slopes;
    if (!local.used.pushes) continue;
    const ProblemContact& contact = s.problem.contact(s.island.contacts[k]);
    const double* const Y_late = contact.side[group.late_side].Y;
    const Columns late(Y_late), late_G(late, local.used.G);
    late_G.add_to(sums.late, Y_late);
    if (group.early == kNone) continue;
    const double* const Y_early = contact.side[group.early_side].Y;
    const Columns early(Y_early), early_G(early, local.used.G);
    early_G.add_to(sums.early, Y_early);
    late_G.add_to(sums.below, Y_early);
    double rows[18];
    early_G.store_rows(rows);
    late.add_to(sums.above, rows);
  }
  return true;
}

// H = 1 + sum Y G Y^T: the rows of bodies at whose contacts G is another one. Gives the first of them.
std::uint32_t ContactNewton::assemble(const Context& s) noexcept {
  std::fill_n(changed_.begin(), rows_, factored_ ? std::uint8_t{0} : std::uint8_t{1});
  for (std::uint32_t g = 0; g < group_count_; ++g) {
    if (!sum_group(s, groups_[g], sums_[g])) continue;
    changed_[groups_[g].late] = 1;
    if (groups_[g].early != kNone) changed_[groups_[g].early] = 1;
  }
  std::uint32_t least = rows_;
  for (const std::uint32_t b : s.island.blocks) {
    const std::uint32_t row = row_of_block_[b];
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
void ContactNewton::add_block(const ProblemContact& contact, const ProblemSide& a, const ProblemSide& b,
                              const Mat3& G) noexcept {
  const std::uint32_t n = contact.rows;
  for (std::uint32_t i = 0; i < a.size; ++i) {
    const double* const y = a.Y + std::size_t{n} * i;
    double g0 = y[0] * G(0, 0), g1 = 0, g2 = 0;
    if (n == 3) {
      g0 += y[1] * G(1, 0) + y[2] * G(2, 0);
      g1 = y[1] * G(1, 1) + y[2] * G(2, 1);
      g2 = y[1] * G(1, 2) + y[2] * G(2, 2);
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

void ContactNewton::assemble_all(const Context& s) noexcept {
  H_.clear();
  for (std::uint32_t i = 0; i < rows_; ++i) H_.at(i, i) = 1;
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    if (!local_[k].slopes.pushes) continue;
    const ProblemContact& contact = s.problem.contact(s.island.contacts[k]);
    for (const ProblemSide& a : contact.side) {
      for (const ProblemSide& b : contact.side) {
        if (a.block != kNone && b.block != kNone) add_block(contact, a, b, local_[k].slopes.G);
      }
    }
  }
}

// step_ = -H^-1 R, and what it does to each contact's velocity.
bool ContactNewton::direction(const Context& s) noexcept {
  s.work.spend(factor_work_);
  std::uint32_t least = 0;
  if (grouped_) {
    least = assemble(s);
  } else {
    assemble_all(s);
  }
  factored_ = false;
  if (least < rows_ && !H_.factor(least)) return false;
  factored_ = grouped_;
  for (std::uint32_t i = 0; i < rows_; ++i) step_[i] = -residual_[i];
  H_.solve(step_.data());
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    const ProblemContact& contact = s.problem.contact(s.island.contacts[k]);
    double dc[3] = {0, 0, 0};
    for (const ProblemSide& side : contact.side) {
      if (side.block == kNone) continue;
      if (contact.rows == 3 && is_whole(side)) {
        add_velocity(side.Y, step_.data() + row_of_block_[side.block], dc);
        continue;
      }
      for (std::uint32_t j = 0; j < side.size; ++j) {
        const double* const row = side.Y + std::size_t{contact.rows} * j;
        const double d = step_[local_row(row_of_block_, side, j)];
        for (std::uint32_t l = 0; l < contact.rows; ++l) dc[l] += row[l] * d;
      }
    }
    local_[k].dc = Vec3(dc[0], dc[1], dc[2]);
  }
  return true;
}

void ContactNewton::move(const Context& s, double t) noexcept {
  for (const std::uint32_t b : s.island.blocks) {
    const ProblemBlock& block = s.problem.block(b);
    for (std::uint32_t k = 0; k < block.size; ++k) s.u[block.start + k] += t * step_[row_of_block_[b] + k];
  }
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) local_[k].c += t * local_[k].dc;
}

// Newton. False: no step makes |R| smaller.
bool ContactNewton::follow(const Context& s, std::uint32_t& iterations, double tol) noexcept {
  double norm = find_residual(s);
  for (int k = 0; k < kNewtonSteps; ++k) {
    if (!(norm > tol * tol * scale_)) return norm == norm;
    if (s.work.spent()) return false;
    ++iterations;
    if (!direction(s)) return false;
    double t = 1, next = 0;
    move(s, 1);
    for (int halving = 0;; ++halving) {
      next = find_residual(s);
      s.work.spend(look_work_);
      if (next < (1 - 1e-3 * t) * norm) break;
      if (halving == 6) {
        move(s, -t);
        return norm < std::max(1e-20, tol * tol) * scale_;
      }
      move(s, -0.5 * t);
      t *= 0.5;
    }
    norm = next;
  }
  return false;
}

void ContactNewton::sum_up(const Context& s, const Vec3* p) noexcept {
  for (const std::uint32_t b : s.island.blocks) {
    std::fill_n(s.u + s.problem.block(b).start, s.problem.block(b).size, 0.0);
  }
  for (const std::uint32_t i : s.island.contacts) push(s.problem, s.problem.contact(i), p[i], s.u);
}

// Where impulses that no velocity feels drift at an even pace to where they belong: as many proximal steps at once.
void ContactNewton::go_on(const Context& s, double leap, Vec3* p) noexcept {
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    const std::uint32_t i = s.island.contacts[k];
    p[i] = project_contact(s.problem.contact(i), s.disc, p[i] + (leap - 1) * (p[i] - local_[k].r));
  }
  sum_up(s, p);
}

ContactSolution ContactNewton::solve(const ContactProblem& problem, const ContactIsland& island,
                                     const FrictionDisc& disc, Vec3* p, double* u, SolverWork& work,
                                     const NewtonOptions& options) noexcept {
  const Context s{problem, island, disc, u, work};
  ContactSolution best;
  sum_up(s, p);
  best.residual = island_residual(problem, island, disc, p, u);
  for (std::size_t k = 0; k < island.contacts.size(); ++k) best_[k] = p[island.contacts[k]];
  const auto keep = [&](double residual) {
    if (!(residual < best.residual)) return;
    best.residual = residual;
    for (std::size_t k = 0; k < island.contacts.size(); ++k) best_[k] = p[island.contacts[k]];
  };
  double proximal = options.softly && best.residual > kFarOff ? kProximalMost : kProximal, last = best.residual,
         leap = 1;
  double lowest = kProximalLeast;  // of D: below it follow() failed
  for (int step = 0; step < kProximalSteps && best.iterations < kFactorisations && !(last <= options.enough); ++step) {
    if (work.spent()) break;
    start(s, p, proximal);
    find_velocities(s);
    const bool found = follow(s, best.iterations, std::max(kEquation, kInexact * std::min(last, 1.0)));
    if (found) {
      for (std::size_t k = 0; k < island.contacts.size(); ++k) {
        const ProblemContact& contact = problem.contact(island.contacts[k]);
        p[island.contacts[k]] = project_contact(contact, disc, local_[k].p);
      }
    } else {
      lowest = std::max(lowest, 2 * proximal);
    }
    sum_up(s, p);
    const double residual = island_residual(problem, island, disc, p, u);
    if (!(residual < 1) && !(residual < kRunsOff * best.residual)) break;
    keep(residual);
    if (!found) {
      proximal = std::min(kSofter * proximal, kProximalMost);
    } else if (residual > 0.1 * last) {
      if (best.residual <= kSolved && residual > 0.5 * last) break;
      if (proximal > lowest) {
        proximal = std::max(kHarder * proximal, lowest);
      } else {
        leap = residual > 0.5 * last && residual < 2 * last ? std::min(kLongerLeap * leap, kLongestLeap) : 1;
        go_on(s, leap, p);
      }
    } else if (proximal > kProximal) {
      proximal = std::max({0.1 * proximal, kProximal, lowest});
    }
    if (found) lowest = std::max(kLower * lowest, kProximalLeast);
    if (found) proximal = std::max(proximal, kOfResidual * std::min(residual, 1.0));
    last = residual;
  }
  for (std::size_t k = 0; k < island.contacts.size(); ++k) p[island.contacts[k]] = best_[k];
  sum_up(s, p);
  return best;
}

}  // namespace tactus
