#include "core/math/skyline.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/lanes.h"

namespace tactus {

namespace {

// Calls action with a panel's width as a constant.
template <typename Action>
auto with_width(std::uint32_t width, const Action& action) noexcept {
  TACTUS_DCHECK(width >= 1 && width <= Skyline::kPanel);
  static_assert(Skyline::kPanel == 6);
  switch (width) {
    case 1:
      return action.template operator()<1>();
    case 2:
      return action.template operator()<2>();
    case 3:
      return action.template operator()<3>();
    case 4:
      return action.template operator()<4>();
    case 5:
      return action.template operator()<5>();
    default:
      return action.template operator()<6>();
  }
}

}  // namespace

Skyline::Skyline(std::uint32_t rows_max, std::size_t entries_max)
    : panels_(rows_max),
      rows_max_(rows_max),
      entries_max_(entries_max),
      panel_of_(rows_max),
      lower_(entries_max + std::size_t{kPanel} * rows_max),
      upper_(lower_.size()),
      lower_factor_(lower_.size()),
      upper_factor_(lower_.size()),
      inv_diagonal_(rows_max) {}

bool Skyline::shape(std::uint32_t n, const std::uint32_t* first, const std::uint32_t* part) noexcept {
  panel_count_ = 0;
  if (n > rows_max_) return false;
  std::size_t entries = 0, end = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    TACTUS_DCHECK(first[i] <= i);
    entries += i + 1 - first[i];
    if (entries > entries_max_) return false;
    Panel* const last = panel_count_ > 0 ? &panels_[panel_count_ - 1] : nullptr;
    if (last != nullptr && last->width < kPanel && first[i] == last->first && part[i] == part[i - 1]) {
      ++last->width;
    } else {
      panels_[panel_count_++] = {i, 1, first[i], 0};
    }
    panel_of_[i] = panel_count_ - 1;
  }
  for (std::uint32_t k = 0; k < panel_count_; ++k) {
    Panel& p = panels_[k];
    p.start = end;
    end += std::size_t{p.row + p.width - p.first} * p.width;
  }
  TACTUS_DCHECK(end <= lower_.size());
  std::fill_n(lower_.begin(), end, 0.0);
  std::fill_n(upper_.begin(), end, 0.0);
  return true;
}

double& Skyline::at(std::uint32_t i, std::uint32_t j) noexcept {
  TACTUS_DCHECK(panel_count_ > 0 && i < row_count() && j < row_count());
  const Panel &p = panels_[panel_of_[i]], &q = panels_[panel_of_[j]];
  TACTUS_DCHECK(q.row <= p.row ? in_envelope(p, j) : in_envelope(q, i));
  if (q.row <= p.row) return entry(lower_, p, j)[i - p.row];
  return entry(upper_, q, i)[j - q.row];
}

void Skyline::clear() noexcept {
  for (std::uint32_t k = 0; k < panel_count_; ++k) clear_panel(panels_[k].row);
}

void Skyline::clear_panel(std::uint32_t row) noexcept {
  TACTUS_DCHECK(begins_panel(row));
  const Panel& p = panels_[panel_of_[row]];
  const std::size_t n = std::size_t{p.row + p.width - p.first} * p.width;
  std::fill_n(lower_.begin() + static_cast<std::ptrdiff_t>(p.start), n, 0.0);
  std::fill_n(upper_.begin() + static_cast<std::ptrdiff_t>(p.start), n, 0.0);
}

// The panel's columns of q, after all columns before them; two at a time, for what they have in common.
template <std::uint32_t kWidth>
void Skyline::eliminate(const Panel& p, const Panel& q) noexcept {
  using Rows = Lanes<kWidth>;
  const double *const L = entry(lower_factor_, p, p.first), *const U = entry(upper_factor_, p, p.first);
  const double *const Lq = lower_factor_.data() + q.start, *const Uq = upper_factor_.data() + q.start;
  const double* const square = entry(lower_factor_, q, q.row);
  const std::uint32_t from = std::max(p.first, q.first), begin = std::max(p.first, q.row), width = q.width;
  const auto finish = [&](std::uint32_t column, Rows l, Rows u) {
    const std::uint32_t c = column - q.row;
    for (std::uint32_t k = begin; k < column; ++k) {
      const std::uint32_t r = k - q.row;
      l.take(Rows::load(L + std::size_t{k - p.first} * kWidth), square[c * width + r]);
      u.take(Rows::load(U + std::size_t{k - p.first} * kWidth), square[r * width + c]);
    }
    u.scale(inv_diagonal_[column]);
    l.store(entry(lower_factor_, p, column));
    u.store(entry(upper_factor_, p, column));
  };
  std::uint32_t column = begin;
  for (; column + 1 < q.row + width; column += 2) {
    Rows l0 = Rows::load(entry(lower_, p, column)), u0 = Rows::load(entry(upper_, p, column));
    Rows l1 = Rows::load(entry(lower_, p, column + 1)), u1 = Rows::load(entry(upper_, p, column + 1));
    const std::uint32_t c = column - q.row;
    for (std::uint32_t k = from; k < q.row; ++k) {
      const double *const lq = Lq + std::size_t{k - q.first} * width + c, *const uq = Uq + (lq - Lq);
      const Rows l = Rows::load(L + std::size_t{k - p.first} * kWidth);
      const Rows u = Rows::load(U + std::size_t{k - p.first} * kWidth);
      l0.take(l, uq[0]), l1.take(l, uq[1]);
      u0.take(u, lq[0]), u1.take(u, lq[1]);
    }
    finish(column, l0, u0);
    finish(column + 1, l1, u1);
  }
  if (column == q.row + width) return;
  Rows l0 = Rows::load(entry(lower_, p, column)), u0 = Rows::load(entry(upper_, p, column));
  for (std::uint32_t k = from; k < q.row; ++k) {
    const std::size_t at = std::size_t{k - q.first} * width + column - q.row;
    l0.take(Rows::load(L + std::size_t{k - p.first} * kWidth), Uq[at]);
    u0.take(Rows::load(U + std::size_t{k - p.first} * kWidth), Lq[at]);
  }
  finish(column, l0, u0);
}

template <std::uint32_t kWidth>
bool Skyline::factor_square(const Panel& p) noexcept {
  using Rows = Lanes<kWidth>;
  const double *const L = entry(lower_factor_, p, p.first), *const U = entry(upper_factor_, p, p.first);
  const double* const entries = entry(lower_, p, p.row);
  double* const square = entry(lower_factor_, p, p.row);
  const std::uint32_t before = p.row - p.first;
  std::uint32_t c = 0;
  for (; c + 1 < kWidth; c += 2) {
    Rows s0 = Rows::load(entries + c * kWidth), s1 = Rows::load(entries + (c + 1) * kWidth);
    for (std::uint32_t k = 0; k < before; ++k) {
      const Rows l = Rows::load(L + std::size_t{k} * kWidth);
      const double* const u = U + std::size_t{k} * kWidth + c;
      s0.take(l, u[0]), s1.take(l, u[1]);
    }
    s0.store(square + c * kWidth), s1.store(square + (c + 1) * kWidth);
  }
  if constexpr (kWidth % 2 == 1) {
    Rows s = Rows::load(entries + c * kWidth);
    for (std::uint32_t k = 0; k < before; ++k) s.take(Rows::load(L + std::size_t{k} * kWidth), U[k * kWidth + c]);
    s.store(square + c * kWidth);
  }
  for (c = 0; c < kWidth; ++c) {
    double below[kWidth];  // L's column without its diagonal
    for (std::uint32_t i = 0; i < kWidth; ++i) below[i] = i > c ? square[c * kWidth + i] : 0;
    const double pivot = square[c * kWidth + c];
    if (!(std::abs(pivot) > kSkylinePivot * std::abs(entries[c * kWidth + c]))) return false;
    const double inv = inv_diagonal_[p.row + c] = 1 / pivot;
    const Rows column = Rows::load(below);
    for (std::uint32_t j = c + 1; j < kWidth; ++j) {
      double* const s = square + j * kWidth;
      const double u = s[c] * inv;
      Rows rows = Rows::load(s);
      rows.take(column, u);
      rows.store(s);
      s[c] = u;
    }
  }
  return true;
}

template <std::uint32_t kWidth>
bool Skyline::factor_panel(const Panel& p) noexcept {
  for (std::uint32_t k = panel_of_[p.first]; panels_[k].row < p.row; ++k) eliminate<kWidth>(p, panels_[k]);
  return factor_square<kWidth>(p);
}

bool Skyline::factor(std::uint32_t row) noexcept {
  if (panel_count_ == 0) return true;
  TACTUS_DCHECK(begins_panel(row));
  for (std::uint32_t k = panel_of_[row]; k < panel_count_; ++k) {
    const Panel& p = panels_[k];
    const bool done = with_width(p.width, [&]<std::uint32_t kWidth>() { return factor_panel<kWidth>(p); });
    if (!done) return false;
  }
  return true;
}

void Skyline::solve(double* x) const noexcept {
  const auto forward = [&]<std::uint32_t kWidth>(const Panel& p) {
    using Rows = Lanes<kWidth>;
    const double* L = entry(lower_factor_, p, p.first);
    Rows rows = Rows::load(x + p.row);
    for (std::uint32_t k = p.first; k < p.row; ++k, L += kWidth) rows.take(Rows::load(L), x[k]);
    double s[kWidth];
    rows.store(s);
    for (std::uint32_t k = 0; k < kWidth; ++k, L += kWidth) {
      s[k] *= inv_diagonal_[p.row + k];
      for (std::uint32_t i = k + 1; i < kWidth; ++i) s[i] -= L[i] * s[k];
    }
    std::copy_n(s, kWidth, x + p.row);
  };
  const auto backward = [&]<std::uint32_t kWidth>(const Panel& p) {
    double s[kWidth];
    std::copy_n(x + p.row, kWidth, s);
    const double* const square = entry(lower_factor_, p, p.row);
    for (std::uint32_t i = kWidth; i-- > 0;) {
      for (std::uint32_t k = 0; k < i; ++k) s[k] -= square[i * kWidth + k] * s[i];
    }
    std::copy_n(s, kWidth, x + p.row);
    const double* U = entry(upper_factor_, p, p.first);
    for (std::uint32_t k = p.first; k < p.row; ++k, U += kWidth) {
      double even = 0, odd = 0;
      for (std::uint32_t i = 0; i + 1 < kWidth; i += 2) even += U[i] * s[i], odd += U[i + 1] * s[i + 1];
      if constexpr (kWidth % 2 == 1) even += U[kWidth - 1] * s[kWidth - 1];
      x[k] -= even + odd;
    }
  };
  const auto each = [&](const Panel& p, const auto& pass) {
    with_width(p.width, [&]<std::uint32_t kWidth>() { pass.template operator()<kWidth>(p); });
  };
  for (std::uint32_t k = 0; k < panel_count_; ++k) each(panels_[k], forward);
  for (std::uint32_t k = panel_count_; k-- > 0;) each(panels_[k], backward);
}

}  // namespace tactus
