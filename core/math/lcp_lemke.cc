#include "core/math/lcp_lemke.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tactus {
namespace {

constexpr double kSmallestPivot = 1e-11;  // of a scaled row; below it is rounding
constexpr double kTie = 1e-11;

}  // namespace

LemkeSolver::LemkeSolver(std::uint32_t n_max, std::uint32_t rows_max)
    : rows_max_(std::max(n_max, rows_max)),
      reduction_(n_max),
      basis_(n_max),
      table_(rows_max_, rows_max_ + 1),
      source_(rows_max_),
      kind_(rows_max_),
      partner_(n_max),
      offset_(n_max),
      cover_(rows_max_),
      z_reduced_(n_max),
      basic_(rows_max_),
      nonbasic_(rows_max_ + 2),
      start_(rows_max_),
      place_(2 * std::size_t{rows_max_} + 1),

      states_(n_max) {}

void LemkeSolver::add(std::uint32_t source, Kind kind) noexcept {
  TACTUS_DCHECK(m_ < rows_max_);
  source_[m_] = source;
  kind_[m_++] = kind;
}

// Which standard rows the reduced problem becomes. False: too many, or a row that this method cannot take.
bool LemkeSolver::make_standard(const LcpProblem& reduced) noexcept {
  m_ = 0;
  for (std::uint32_t i = 0; i < reduced.n; ++i) {
    if (m_ + 3 > rows_max_ && (m_ >= rows_max_ || is_friction_row(reduced, i))) return false;
    partner_[i] = static_cast<std::int32_t>(m_);
    offset_[i] = 0;
    if (is_friction_row(reduced, i)) {
      const std::int32_t k = reduced.normal[i];
      if (k < 0 || is_friction_row(reduced, k) || reduced.lo[k] != 0 || std::isfinite(reduced.hi[k])) return false;
      add(i, Kind::forward);
      add(i, Kind::backward);
      add(i, Kind::slip);
      continue;
    }
    const bool below = std::isfinite(reduced.lo[i]), above = std::isfinite(reduced.hi[i]);
    if (!below && !above) return false;
    offset_[i] = below ? reduced.lo[i] : reduced.hi[i];
    add(i, below ? Kind::plain : Kind::mirrored);
    if (below && above) {
      if (m_ >= rows_max_) return false;
      add(i, Kind::width);
    }
  }
  return true;
}

double LemkeSolver::entry(const LcpProblem& reduced, std::uint32_t i, std::uint32_t j) const noexcept {
  static constexpr double kSign[] = {1, -1, 1, -1, 0, 0};  // by Kind
  const Kind row = kind_[i], column = kind_[j];
  const double sign = kSign[static_cast<int>(row)] * kSign[static_cast<int>(column)];
  if (sign != 0) return sign * reduced.A[std::size_t{source_[i]} * reduced.n + source_[j]];
  if (row == Kind::slip && column == Kind::plain && reduced.normal[source_[i]] == std::int32_t(source_[j])) {
    return reduced.hi[source_[i]];
  }
  if (source_[i] != source_[j] || i == j) return 0;
  return row == Kind::slip || row == Kind::width ? -1 : 1;
}

double LemkeSolver::constant(const LcpProblem& reduced, std::uint32_t i) const noexcept {
  const std::uint32_t source = source_[i];
  if (kind_[i] == Kind::slip) return 0;
  if (kind_[i] == Kind::width) return reduced.hi[source] - reduced.lo[source];
  double q = reduced.b[source];
  for (std::uint32_t j = 0; j < reduced.n; ++j) q += reduced.A[std::size_t{source} * reduced.n + j] * offset_[j];
  return kind_[i] == Kind::mirrored || kind_[i] == Kind::backward ? -q : q;
}

void LemkeSolver::load(const LcpProblem& reduced) noexcept {
  table_.resize(m_, m_ + 1);
  const bool as_it_is =
      m_ == reduced.n && std::all_of(kind_.begin(), kind_.begin() + m_, [](Kind k) { return k == Kind::plain; });
  for (std::uint32_t i = 0; i < m_; ++i) {
    double* const row = table_.row(i);
    row[0] = constant(reduced, i);
    if (as_it_is) {
      std::copy_n(reduced.A + std::size_t{i} * m_, m_, row + 1);
    } else {
      for (std::uint32_t j = 0; j < m_; ++j) row[1 + j] = entry(reduced, i, j);
    }
    row[m_ + 1] = cover_[i];
    basic_[i] = start_[i] = i;
    nonbasic_[1 + i] = m_ + i;
    place_[i] = static_cast<std::int32_t>(i);
    place_[m_ + i] = -1 - static_cast<std::int32_t>(1 + i);
  }
  nonbasic_[m_ + 1] = 2 * m_;
  place_[2 * m_] = -1 - static_cast<std::int32_t>(m_ + 1);
}

void LemkeSolver::swap(std::uint32_t r, std::uint32_t c) noexcept {
  TACTUS_DCHECK(r < m_ && c > 0 && c <= m_ + 1);
  table_.pivot(r, c);
  std::swap(basic_[r], nonbasic_[c]);
  place_[basic_[r]] = static_cast<std::int32_t>(r);
  place_[nonbasic_[c]] = -1 - static_cast<std::int32_t>(c);
  ++pivots_;
}

// The guess's active rows become basic, by pivots within that block. Leaves the table as it was where they depend.
void LemkeSolver::start_from(const LcpProblem& reduced, const double* guess) noexcept {
  guess_states(reduced, guess, states_.data());
  const auto wanted = [&](std::uint32_t e) {
    const std::uint32_t i = source_[e];
    switch (kind_[e]) {
      case Kind::plain:
        return states_[i] != LcpState::lower;
      case Kind::mirrored:
        return states_[i] != LcpState::upper;
      case Kind::forward:
        return guess[i] > 0;
      case Kind::backward:
        return guess[i] < 0;
      case Kind::slip:
        return states_[i] != LcpState::active && guess[i] != 0;
      case Kind::width:
        return states_[i] == LcpState::upper;
    }
    return false;
  };
  for (std::uint32_t e = 0; e < m_; ++e) {
    if (!wanted(e)) continue;
    const std::uint32_t c = 1 + e;
    std::uint32_t best = m_;
    double largest = 1e-8;
    for (std::uint32_t r = 0; r < m_; ++r) {
      const double size = std::abs(table_.row(r)[c]);
      if (basic_[r] < m_ && wanted(basic_[r]) && size > largest) largest = size, best = r;
    }
    if (best == m_) {
      load(reduced);
      return;
    }
    swap(best, c);
  }
  for (std::uint32_t i = 0; i < m_; ++i) {
    table_.row(i)[m_ + 1] = cover_[basic_[i] < m_ ? basic_[i] : basic_[i] - m_];
    start_[i] = basic_[i];
  }
}

// Where z_0 starts: the row most below zero for its cover, the last of those that tie. -1: none is below zero.
std::int32_t LemkeSolver::first_row() const noexcept {
  double lowest = -1e-14;
  for (std::uint32_t i = 0; i < m_; ++i) lowest = std::min(lowest, table_.row(i)[0] / table_.row(i)[m_ + 1]);
  if (lowest == -1e-14) return -1;
  for (std::uint32_t i = m_; i-- > 0;) {
    if (table_.row(i)[0] / table_.row(i)[m_ + 1] <= lowest * (1 - kTie)) return static_cast<std::int32_t>(i);
  }
  return -1;
}

// Rows a and b of [B^-1 (q, I)], each over its entry in column c; the q have tied.
bool LemkeSolver::lexicographically_less(std::uint32_t a, std::uint32_t b, std::uint32_t c) const noexcept {
  TACTUS_DCHECK(a != b && !(table_.row(a)[c] >= 0) && !(table_.row(b)[c] >= 0));
  const double per_a = -1 / table_.row(a)[c], per_b = -1 / table_.row(b)[c];
  for (std::uint32_t j = 0; j < m_; ++j) {
    const std::int32_t place = place_[start_[j]];
    double in_a = 0, in_b = 0;
    if (place < 0) {
      in_a = -table_.row(a)[-1 - place] * per_a;
      in_b = -table_.row(b)[-1 - place] * per_b;
    } else {
      if (place == static_cast<std::int32_t>(a)) in_a = per_a;
      if (place == static_cast<std::int32_t>(b)) in_b = per_b;
    }
    if (std::abs(in_a - in_b) > kTie * std::max({1.0, std::abs(in_a), std::abs(in_b)})) return in_a < in_b;
  }
  return false;
}

// The row that reaches zero first as column c grows; of those that tie z_0's, else the lexicographic minimum.
std::int32_t LemkeSolver::leaving_row(std::uint32_t c) noexcept {
  double largest = 1;
  for (std::uint32_t i = 0; i < m_; ++i) largest = std::max(largest, std::abs(table_.row(i)[c]));
  const double smallest = -kSmallestPivot * largest;
  double shortest = -1;
  for (std::uint32_t i = 0; i < m_; ++i) {
    const double rate = table_.row(i)[c];
    if (rate >= smallest) continue;
    const double step = std::max(table_.row(i)[0], 0.0) / -rate;
    if (shortest < 0 || step < shortest) shortest = step;
  }
  if (shortest < 0) return -1;
  std::int32_t best = -1;
  for (std::uint32_t i = 0; i < m_; ++i) {
    const double rate = table_.row(i)[c], value = std::max(table_.row(i)[0], 0.0);
    if (rate >= smallest || value + shortest * rate > kTie * std::max(1.0, value)) continue;
    if (basic_[i] == 2 * m_) return static_cast<std::int32_t>(i);
    if (best < 0 || lexicographically_less(i, std::uint32_t(best), c)) best = static_cast<std::int32_t>(i);
  }
  return best;
}

LcpStatus LemkeSolver::walk(const LcpOptions& options) noexcept {
  const std::int32_t first = first_row();
  if (first < 0) return LcpStatus::solved;
  const std::uint32_t z_0 = 2 * m_, pivots_max = options.pivots_max > 0 ? options.pivots_max : 20 * m_ + 100;
  const std::uint64_t flops_per_pivot = 2 * std::uint64_t{m_} * (m_ + 2);

  std::uint32_t driving = basic_[first] < m_ ? basic_[first] + m_ : basic_[first] - m_;
  swap(std::uint32_t(first), m_ + 1);
  for (;;) {
    if (pivots_ >= pivots_max) return LcpStatus::work_limit;
    if (options.flops_max > 0 && pivots_ * flops_per_pivot > options.flops_max) return LcpStatus::work_limit;
    TACTUS_ASSERT(place_[driving] < 0);
    const std::uint32_t c = std::uint32_t(-1 - place_[driving]);
    const std::int32_t r = leaving_row(c);
    if (r < 0) return LcpStatus::ray;
    const std::uint32_t leaving = basic_[r];
    swap(std::uint32_t(r), c);
    if (leaving == z_0) return LcpStatus::solved;
    driving = leaving < m_ ? leaving + m_ : leaving - m_;
  }
}

void LemkeSolver::read_out(const LcpProblem& reduced, double* z_reduced, LcpState* states) const noexcept {
  const auto value = [&](std::uint32_t e) {
    const std::int32_t place = place_[m_ + e];
    return place >= 0 ? std::max(table_.row(std::uint32_t(place))[0], 0.0) : 0.0;
  };
  const auto is_basic = [&](std::uint32_t e) { return place_[m_ + e] >= 0; };
  for (std::uint32_t i = 0; i < reduced.n; ++i) {
    const auto e = std::uint32_t(partner_[i]);
    if (kind_[e] == Kind::forward) {
      const double forward = value(e), backward = value(e + 1);
      z_reduced[i] = forward - backward;
      states[i] = !is_basic(e + 2)                                        ? LcpState::active
                  : is_basic(e) && !(is_basic(e + 1) && z_reduced[i] < 0) ? LcpState::upper
                                                                          : LcpState::lower;
      continue;
    }
    const bool mirrored = kind_[e] == Kind::mirrored;
    z_reduced[i] = mirrored ? offset_[i] - value(e) : offset_[i] + value(e);
    states[i] = is_basic(e) ? LcpState::active : mirrored ? LcpState::upper : LcpState::lower;
    if (e + 1 < m_ && kind_[e + 1] == Kind::width && is_basic(e + 1)) states[i] = LcpState::upper;
  }
}

LcpResult LemkeSolver::solve(const LcpProblem& problem, double* z, const LcpOptions& options) noexcept {
  LcpResult result{LcpStatus::unsupported, LcpMethod::lemke, 0, 0, 0};
  if (!lcp_finite(problem)) result.status = LcpStatus::not_finite;
  if (result.status == LcpStatus::unsupported && !reduction_.build(problem, false, result.flops)) {
    result.status = LcpStatus::singular;
  }
  const LcpProblem& reduced = reduction_.problem();
  const bool can = result.status == LcpStatus::unsupported && make_standard(reduced);
  if (!can) {
    std::fill_n(z, problem.n, 0.0);
    if (result.status != LcpStatus::not_finite) result.residual = lcp_residual(problem, z);
    return result;
  }
  for (std::uint32_t e = 0; e < m_; ++e) {
    cover_[e] = options.cover != nullptr ? options.cover[problem.n_free + source_[e]] : 1;
  }
  TACTUS_DCHECK(std::all_of(cover_.begin(), cover_.begin() + m_, [](double d) { return d > 0; }));
  pivots_ = 0;
  load(reduced);
  if (options.warm) {
    reduction_.restrict(z, z_reduced_.data());
    start_from(reduced, z_reduced_.data());
  }
  result.status = walk(options);
  if (options.warm && result.status == LcpStatus::ray) {
    load(reduced);
    result.status = walk(options);
  }
  result.pivots = pivots_;
  result.flops += 2 * std::uint64_t{pivots_} * m_ * (m_ + 2);
  read_out(reduced, z_reduced_.data(), states_.data() + problem.n_free);
  reduction_.expand(problem, z_reduced_.data(), z);
  result.residual = basis_.polish(problem, states_.data(), z, result.flops);
  if (result.residual <= kLcpTolerance) {
    result.status = LcpStatus::solved;  // also where a ray starts at z_0 = 0 but for rounding
  } else if (result.status == LcpStatus::solved) {
    result.status = LcpStatus::inaccurate;
  }
  return result;
}

}  // namespace tactus
