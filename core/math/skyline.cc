#include "core/math/skyline.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace tactus {

namespace {

// Pairs of sums side by side: one order for all compilers, whatever the processor can do at once.
using Two = Eigen::Array2d;
using Load = Eigen::Map<const Two>;

double sum(const Two& a, const Two& b) noexcept {
  return (a[0] + a[1]) + (b[0] + b[1]);
}

double dot(const double* a, const double* b, std::size_t n) noexcept {
  Two s0 = Two::Zero(), s1 = Two::Zero();
  double rest = 0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += Load(a + i) * Load(b + i);
    s1 += Load(a + i + 2) * Load(b + i + 2);
  }
  for (; i < n; ++i) rest += a[i] * b[i];
  return sum(s0, s1) + rest;
}

// a.b and c.d of one length, which is short: what a loop costs is shared.
std::pair<double, double> two_dots(const double* a, const double* b, const double* c, const double* d,
                                   std::size_t n) noexcept {
  Two s0 = Two::Zero(), s1 = Two::Zero(), t0 = Two::Zero(), t1 = Two::Zero();
  double s = 0, t = 0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += Load(a + i) * Load(b + i);
    s1 += Load(a + i + 2) * Load(b + i + 2);
    t0 += Load(c + i) * Load(d + i);
    t1 += Load(c + i + 2) * Load(d + i + 2);
  }
  for (; i < n; ++i) {
    s += a[i] * b[i];
    t += c[i] * d[i];
  }
  return {sum(s0, s1) + s, sum(t0, t1) + t};
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
      const auto [below, above] = two_dots(row + m, upper(j) + m, lower(j) + m, column + m, j - m);
      row[j] -= below;
      column[j] = (column[j] - above) * inv_diagonal_[j];
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
