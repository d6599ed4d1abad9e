#include "core/math/skyline.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tactus {

namespace {

// Four sums side by side: one order for all compilers, and room for the processor.
double dot(const double* a, const double* b, std::size_t n) noexcept {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < n; ++i) s0 += a[i] * b[i];
  return (s0 + s1) + (s2 + s3);
}

}  // namespace

// Rows stand behind a margin of rows_max numbers, so that start_ (column 0 of a row) never lies before the memory.
Skyline::Skyline(std::uint32_t rows_max, std::size_t entries_max)
    : first_(rows_max),
      start_(rows_max),
      lower_(entries_max + rows_max),
      upper_(entries_max + rows_max),
      inv_diagonal_(rows_max) {}

bool Skyline::shape(std::uint32_t n, const std::uint32_t* first) noexcept {
  if (n > first_.size()) return false;
  std::size_t end = first_.size();
  n_ = n;
  for (std::uint32_t i = 0; i < n; ++i) {
    TACTUS_DCHECK(first[i] <= i);
    first_[i] = first[i];
    start_[i] = end - first[i];
    end += i + 1 - first[i];
  }
  if (end > lower_.size()) return false;
  const auto begin = static_cast<std::ptrdiff_t>(first_.size()), stop = static_cast<std::ptrdiff_t>(end);
  std::fill(lower_.begin() + begin, lower_.begin() + stop, 0.0);
  std::fill(upper_.begin() + begin, upper_.begin() + stop, 0.0);
  return true;
}

// L has the diagonal, U ones there.
bool Skyline::factor() noexcept {
  for (std::uint32_t i = 0; i < n_; ++i) {
    double *const row = lower(i), *const column = upper(i);
    for (std::uint32_t j = first_[i]; j < i; ++j) {
      const std::uint32_t m = std::max(first_[i], first_[j]);
      row[j] -= dot(row + m, upper(j) + m, j - m);
      column[j] = (column[j] - dot(lower(j) + m, column + m, j - m)) * inv_diagonal_[j];
    }
    const double entry = row[i], pivot = entry - dot(row + first_[i], column + first_[i], i - first_[i]);
    if (!(std::abs(pivot) > kSkylinePivot * std::abs(entry))) return false;
    row[i] = pivot;
    inv_diagonal_[i] = 1 / pivot;
  }
  return true;
}

void Skyline::solve(double* x) const noexcept {
  for (std::uint32_t i = 0; i < n_; ++i) {
    const double* const row = lower_.data() + start_[i];
    x[i] = (x[i] - dot(row + first_[i], x + first_[i], i - first_[i])) * inv_diagonal_[i];
  }
  for (std::uint32_t i = n_; i-- > 0;) {
    const double* const column = upper_.data() + start_[i];
    for (std::uint32_t j = first_[i]; j < i; ++j) x[j] -= column[j] * x[i];
  }
}

}  // namespace tactus
