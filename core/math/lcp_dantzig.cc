#include "core/math/lcp_dantzig.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tactus {
namespace {

constexpr double kSmallestOwn = 1e-11;
constexpr double kZero = 1e-12;  // of scaled values of about 1

}  // namespace

DantzigSolver::DantzigSolver(std::uint32_t n_max)
    : reduction_(n_max),
      basis_(n_max),
      table_(n_max, n_max),
      form_(n_max),
      added_(n_max),
      basic_(n_max),
      nonbasic_(n_max + 1),
      place_(2 * std::size_t{n_max}),
      z_reduced_(n_max),
      states_(n_max) {}

void DantzigSolver::load() noexcept {
  table_.resize(m_, m_);
  for (std::uint32_t i = 0; i < m_; ++i) {
    const bool below = std::isfinite(reduced_.lo[i]), above = std::isfinite(reduced_.hi[i]);
    form_[i] = is_friction_row(reduced_, i)                                                ? Form::middle
               : below && (!above || std::abs(reduced_.lo[i]) <= std::abs(reduced_.hi[i])) ? Form::lower
                                                                                           : Form::upper;
    z_reduced_[i] = form_[i] == Form::middle ? 0 : form_[i] == Form::lower ? reduced_.lo[i] : reduced_.hi[i];
  }
  for (std::uint32_t i = 0; i < m_; ++i) {
    double* const row = table_.row(i);
    const double* const source = reduced_.A + std::size_t{i} * m_;
    row[0] = reduced_.b[i];
    for (std::uint32_t j = 0; j < m_; ++j) {
      row[0] += source[j] * z_reduced_[j];
      row[1 + j] = form_[j] == Form::upper ? -source[j] : source[j];
    }
    basic_[i] = dual(i);
    nonbasic_[1 + i] = primary(i);
    place_[dual(i)] = static_cast<std::int32_t>(i);
    place_[primary(i)] = -1 - static_cast<std::int32_t>(1 + i);
    added_[i] = 0;
  }
}

void DantzigSolver::exchange(std::uint32_t r, std::uint32_t c) noexcept {
  TACTUS_DCHECK(r < m_ && c > 0 && c <= m_);  // column 0 is the constant
  table_.pivot(r, c);
  std::swap(basic_[r], nonbasic_[c]);
  place_[basic_[r]] = static_cast<std::int32_t>(r);
  place_[nonbasic_[c]] = -1 - static_cast<std::int32_t>(c);
  ++pivots_;
}

double DantzigSolver::width_value(std::uint32_t i) const noexcept {
  if (!is_friction_row(reduced_, i)) return reduced_.hi[i] - reduced_.lo[i];
  return 2 * reduced_.hi[i] * value_of(primary(std::uint32_t(reduced_.normal[i])));
}

// How hi - lo of row i changes with the variable of column c.
double DantzigSolver::width_rate(std::uint32_t i, std::uint32_t c) const noexcept {
  if (!is_friction_row(reduced_, i)) return 0;
  const std::uint32_t z_k = primary(std::uint32_t(reduced_.normal[i]));
  const double rate = is_basic(z_k) ? table_.row(row_of(z_k))[c] : column_of(z_k) == c ? 1 : 0;
  return 2 * reduced_.hi[i] * rate;
}

// line += factor * (hi - lo) / 2 for a friction row, factor * (hi - lo) for a box.
void DantzigSolver::add_width(double* line, std::uint32_t i, double factor) const noexcept {
  if (!is_friction_row(reduced_, i)) {
    line[0] += factor * (reduced_.hi[i] - reduced_.lo[i]);
    return;
  }
  const std::uint32_t z_k = primary(std::uint32_t(reduced_.normal[i]));
  factor *= reduced_.hi[i];
  if (!is_basic(z_k)) {
    line[column_of(z_k)] += factor;
    return;
  }
  const double* const row = table_.row(row_of(z_k));
  for (std::uint32_t j = 0; j < table_.width(); ++j) line[j] += factor * row[j];
}

// The basic primary variable of row i is measured from another bound.
void DantzigSolver::measure_row_from(std::uint32_t row, std::uint32_t i, Form form) noexcept {
  TACTUS_DCHECK(form != form_[i] && is_basic(primary(i)) && row_of(primary(i)) == row);
  double* const line = table_.row(row);
  const bool from_middle = form_[i] == Form::middle;
  if (!from_middle || form == Form::upper) {
    for (std::uint32_t j = 0; j < table_.width(); ++j) line[j] = -line[j];
  }
  add_width(line, i, from_middle || !is_friction_row(reduced_, i) ? 1 : 2);
  form_[i] = form;
}

// The same for a nonbasic one. False: the bound moves with it, so that it never gets there.
bool DantzigSolver::measure_column_from(std::uint32_t c, std::uint32_t i, Form form) noexcept {
  TACTUS_DCHECK(!is_basic(primary(i)) && column_of(primary(i)) == c);
  if (form_[i] == form) return true;
  const bool from_middle = form_[i] == Form::middle;
  const double sign = from_middle && form == Form::lower ? 1 : -1;  // of the new variable in the old
  double* const line = table_.line();
  std::fill_n(line, table_.width(), 0.0);
  add_width(line, i, from_middle ? -sign : is_friction_row(reduced_, i) ? 2 : 1);
  const double own = 1 - line[c];
  if (std::abs(own) < kSmallestOwn) return false;
  line[c] = sign;
  for (std::uint32_t j = 0; j < table_.width(); ++j) line[j] /= own;
  table_.substitute(c);
  form_[i] = form;
  return true;
}

void DantzigSolver::consider(Event& best, const Event& candidate, double value, double rate,
                             double size) const noexcept {
  if (!(rate < -kSmallestOwn * size)) return;
  Event event = candidate;
  event.step = std::max(value, 0.0) / -rate;
  const double margin = kZero * (1 + event.step);
  const bool ties = best.hit != Hit::none && std::abs(event.step - best.step) <= margin;
  if (best.hit == Hit::none || event.step < best.step - margin) {
    best = event;
    return;
  }
  // Of those that tie a friction row goes first: a normal that leaves takes its friction's bounds with it.
  if (!ties) return;
  const auto rank = [&](const Event& e) {
    if (e.hit == Hit::own_bound) return 3;
    if (e.hit == Hit::still) return 2;
    return is_friction_row(reduced_, basic_[e.row] / 2) ? 1 : 0;
  };
  if (rank(event) > rank(best)) best = event;
}

void DantzigSolver::consider_primary(Event& best, std::uint32_t row, std::uint32_t i, std::uint32_t c,
                                     double direction) const noexcept {
  const double value = table_.row(row)[0], rate = direction * table_.row(row)[c];
  const double width = width_value(i), wider = direction * width_rate(i, c);
  if (form_[i] == Form::middle) {
    consider(best, {Hit::other_bound, Form::upper, row, 0}, width / 2 - value, wider / 2 - rate, 1);
    consider(best, {Hit::other_bound, Form::lower, row, 0}, width / 2 + value, wider / 2 + rate, 1);
    return;
  }
  consider(best, {Hit::leaves, form_[i], row, 0}, value, rate, 1);
  if (!std::isfinite(width)) return;
  const Form other = form_[i] == Form::lower ? Form::upper : Form::lower;
  consider(best, {Hit::other_bound, other, row, 0}, width - value, wider - rate, 1);
}

void DantzigSolver::consider_driver(Event& best, std::uint32_t i, std::uint32_t c, double direction) const noexcept {
  const double width = width_value(i), wider = direction * width_rate(i, c);
  if (form_[i] == Form::middle) {
    consider(best, {Hit::own_bound, Form::upper, 0, 0}, width / 2, wider / 2 - direction, 1);
    consider(best, {Hit::own_bound, Form::lower, 0, 0}, width / 2, wider / 2 + direction, 1);
  } else if (std::isfinite(width)) {
    const Form other = form_[i] == Form::lower ? Form::upper : Form::lower;
    consider(best, {Hit::own_bound, other, 0, 0}, width, wider - direction, 1);
  }
}

// What happens first as the driver moves while row `added` is being added.
DantzigSolver::Event DantzigSolver::first_event(std::uint32_t driver, double direction,
                                                std::uint32_t added) const noexcept {
  const std::uint32_t c = column_of(driver);
  double size = 1;
  for (std::uint32_t r = 0; r < m_; ++r) size = std::max(size, std::abs(table_.row(r)[c]));
  Event best;
  for (std::uint32_t r = 0; r < m_; ++r) {
    const std::uint32_t j = basic_[r] / 2;
    if (basic_[r] == primary(j)) {
      consider_primary(best, r, j, c, direction);
      continue;
    }
    const double w = table_.row(r)[0], rate = direction * table_.row(r)[c];
    if (j == added) {
      const double side = w > 0 ? 1 : -1;
      consider(best, {Hit::still, form_[j], r, 0}, side * w, side * rate, size);
      continue;
    }
    if (added_[j] == 0 || form_[j] == Form::middle) continue;
    if (is_friction_row(reduced_, j)) {
      const std::uint32_t z_k = primary(std::uint32_t(reduced_.normal[j]));
      if (!is_basic(z_k) && z_k != driver) continue;  // its box is [0, 0]
    }
    const double side = form_[j] == Form::lower ? 1 : -1;
    consider(best, {Hit::leaves, form_[j], r, 0}, side * w, side * rate, size);
  }
  if (driver % 2 == 0) consider_driver(best, driver / 2, c, direction);
  return best;
}

bool DantzigSolver::is_complementary(std::uint32_t i) const noexcept {
  if (is_basic(primary(i))) return true;
  if (is_friction_row(reduced_, i)) {
    if (value_of(primary(std::uint32_t(reduced_.normal[i]))) <= 0) return true;
    if (form_[i] == Form::middle) return false;
  }
  const double w = value_of(dual(i));
  return form_[i] == Form::lower ? w >= -kZero : w <= kZero;
}

// Normal k is about to push again: its sliding friction rows face the way they now slip.
void DantzigSolver::face_slip(std::uint32_t k) noexcept {
  for (std::uint32_t t = 0; t < m_; ++t) {
    if (reduced_.normal[t] != static_cast<std::int32_t>(k) || added_[t] == 0 || is_basic(primary(t))) continue;
    if (!is_basic(dual(t))) continue;
    const double w = value_of(dual(t));
    const Form form = w < 0 || (w == 0 && form_[t] == Form::middle) ? Form::upper : w > 0 ? Form::lower : form_[t];
    measure_column_from(column_of(primary(t)), t, form);
  }
}

LcpStatus DantzigSolver::add(std::uint32_t i, std::uint32_t pivots_max) noexcept {
  if (is_complementary(i)) return LcpStatus::solved;
  if (pivots_ >= pivots_max) return LcpStatus::work_limit;
  std::uint32_t driver = primary(i);
  double direction = 1;
  const double w_start = value_of(dual(i));
  if (form_[i] == Form::middle) {
    direction = w_start <= 0 ? 1 : -1;
    const std::uint32_t r = row_of(dual(i)), c = column_of(driver);
    if (std::abs(w_start) <= kZero && std::abs(table_.row(r)[c]) > kSmallestOwn) {
      exchange(r, c);  // it sticks already
      return LcpStatus::solved;
    }
  }
  for (;;) {
    if (pivots_ >= pivots_max) return LcpStatus::work_limit;
    TACTUS_DCHECK(!is_basic(driver));
    if (driver % 2 == 0) face_slip(driver / 2);
    const Event event = first_event(driver, direction, i);
    if (event.hit == Hit::none) return LcpStatus::ray;
    const std::uint32_t c = column_of(driver);
    std::uint32_t leaving = driver;
    if (event.hit == Hit::own_bound) {
      if (!measure_column_from(c, driver / 2, event.form)) return LcpStatus::ray;
      ++pivots_;
    } else {
      leaving = basic_[event.row];
      if (event.hit == Hit::other_bound) measure_row_from(event.row, leaving / 2, event.form);
      exchange(event.row, c);
    }
    if (leaving == dual(i)) return LcpStatus::solved;
    if (leaving == primary(i)) return is_complementary(i) ? LcpStatus::solved : LcpStatus::ray;
    driver = leaving ^ 1U;
    if (is_basic(driver)) return LcpStatus::ray;
    direction = driver % 2 == 1 && form_[driver / 2] == Form::upper ? -1 : 1;
  }
}

LcpStatus DantzigSolver::add_all(const LcpOptions& options) noexcept {
  const std::uint64_t per_pivot = 2 * std::uint64_t{m_} * (m_ + 1);
  std::uint32_t pivots_max = options.pivots_max > 0 ? options.pivots_max : 20 * m_ + 100;
  if (options.flops_max > 0) {
    pivots_max = static_cast<std::uint32_t>(std::min<std::uint64_t>(pivots_max, options.flops_max / (per_pivot + 1)));
  }
  for (std::uint32_t i = 0; i < m_; ++i) {
    if (reduced_.normal[i] >= 0) continue;
    LcpStatus status = added_[i] != 0 ? LcpStatus::solved : add(i, pivots_max);
    added_[i] = 1;
    for (std::uint32_t t = 0; t < m_ && status == LcpStatus::solved; ++t) {
      if (reduced_.normal[t] != static_cast<std::int32_t>(i)) continue;
      if (added_[t] == 0) status = add(t, pivots_max);
      added_[t] = 1;
    }
    if (status != LcpStatus::solved) return status;
  }
  return LcpStatus::solved;
}

// Basic variables of a guess that lie outside their bounds leave, each by its own pair's pivot.
bool DantzigSolver::repair() noexcept {
  for (std::uint32_t round = 0; round < 2 * m_; ++round) {
    bool clean = true;
    for (std::uint32_t r = 0; r < m_ && clean; ++r) {
      const std::uint32_t j = basic_[r] / 2;
      if (basic_[r] != primary(j)) continue;
      const double value = table_.row(r)[0], width = width_value(j);
      const bool middle = form_[j] == Form::middle;
      const bool below = (middle ? width / 2 + value : value) < -kZero;
      const bool above = (middle ? width / 2 - value : width - value) < -kZero;
      if (!below && !above) continue;
      if (is_basic(dual(j))) return false;
      clean = false;
      const std::uint32_t c = column_of(dual(j));
      if (middle || above)
        measure_row_from(r, j,
                         middle                    ? (above ? Form::upper : Form::lower)
                         : form_[j] == Form::lower ? Form::upper
                                                   : Form::lower);
      if (std::abs(table_.row(r)[c]) < 1e-9) return false;
      exchange(r, c);
    }
    if (clean) return true;
  }
  return false;
}

void DantzigSolver::start_from(const double* guess) noexcept {
  guess_states(reduced_, guess, states_.data());
  for (std::uint32_t i = 0; i < m_; ++i) {
    if (states_[i] == LcpState::active || reduced_.normal[i] < 0) continue;
    measure_column_from(column_of(primary(i)), i, states_[i] == LcpState::upper ? Form::upper : Form::lower);
  }
  for (std::uint32_t i = 0; i < m_; ++i) {
    if (reduced_.normal[i] < 0 && states_[i] == LcpState::upper) {
      measure_column_from(column_of(primary(i)), i, Form::upper);
    }
  }
  bool good = true;
  for (std::uint32_t i = 0; i < m_ && good; ++i) {
    if (states_[i] != LcpState::active) continue;
    std::uint32_t best = m_;
    double largest = 1e-8;
    for (std::uint32_t r = 0; r < m_; ++r) {
      const double size = std::abs(table_.row(r)[column_of(primary(i))]);
      const bool inside = basic_[r] % 2 == 1 && states_[basic_[r] / 2] == LcpState::active;
      if (inside && size > largest) largest = size, best = r;
    }
    good = best < m_;
    if (good) exchange(best, column_of(primary(i)));
  }
  if (!good || !repair()) {
    load();
    return;
  }
  for (std::uint32_t i = 0; i < m_; ++i) added_[i] = is_complementary(i) ? 1 : 0;
}

void DantzigSolver::read_out(double* z_reduced, LcpState* states) const noexcept {
  for (const bool friction : {false, true}) {
    for (std::uint32_t i = 0; i < m_; ++i) {
      if (is_friction_row(reduced_, i) != friction) continue;
      const double p = value_of(primary(i));
      const LcpBounds bounds = lcp_bounds(reduced_, i, z_reduced);
      z_reduced[i] = form_[i] == Form::lower ? bounds.lo + p : form_[i] == Form::upper ? bounds.hi - p : p;
      states[i] = is_basic(primary(i)) ? LcpState::active : form_[i] == Form::upper ? LcpState::upper : LcpState::lower;
    }
  }
}

LcpResult DantzigSolver::solve(const LcpProblem& problem, double* z, const LcpOptions& options) noexcept {
  LcpResult result{LcpStatus::solved, LcpMethod::dantzig, 0, 0, 0};
  if (!lcp_finite(problem)) {
    result.status = LcpStatus::not_finite;
  } else if (!reduction_.build(problem, false, result.flops)) {
    result.status = LcpStatus::singular;
  }
  reduced_ = reduction_.problem();
  m_ = result.status == LcpStatus::solved ? reduced_.n : 0;
  for (std::uint32_t i = 0; i < m_; ++i) {
    const std::int32_t k = reduced_.normal[i];
    const bool bounded = std::isfinite(reduced_.lo[i]) || std::isfinite(reduced_.hi[i]);
    if (!bounded || (k >= 0 && (reduced_.lo[k] != 0 || std::isfinite(reduced_.hi[k])))) {
      result.status = LcpStatus::unsupported;
    }
  }
  if (result.status != LcpStatus::solved) {
    std::fill_n(z, problem.n, 0.0);
    if (result.status != LcpStatus::not_finite) result.residual = lcp_residual(problem, z);
    return result;
  }
  pivots_ = 0;
  load();
  if (options.warm) {
    reduction_.restrict(z, z_reduced_.data());
    start_from(z_reduced_.data());
  }
  result.status = add_all(options);
  result.pivots = pivots_;
  result.flops += 2 * std::uint64_t{pivots_} * m_ * (m_ + 1);
  read_out(z_reduced_.data(), states_.data() + problem.n_free);
  reduction_.expand(problem, z_reduced_.data(), z);
  result.residual = basis_.polish(problem, states_.data(), z, result.flops);
  if (result.residual <= kLcpTolerance) {
    result.status = LcpStatus::solved;
  } else if (result.status == LcpStatus::solved) {
    result.status = LcpStatus::inaccurate;
  }
  return result;
}

}  // namespace tactus
