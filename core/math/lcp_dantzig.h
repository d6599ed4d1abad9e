// Dantzig's principal pivoting as Baraff (1994) uses it for contact: rows are added one at a time, each driven until it
// is complementary while those before stay so. Friction is part of it: a bound mu z_k moves with z_k while z_k changes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/check.h"
#include "core/math/lcp_basis.h"
#include "core/math/lcp_dictionary.h"
#include "core/math/lcp_reduction.h"

namespace tactus {

// The asymmetric variant of Cottle, Pang & Stone (1992), 4.2: each step exchanges one basic and one nonbasic variable
// (a rank-one update), so redundant rows (positive semidefinite A) need no special case. A friction row is held at
// z = +-mu z_k (sliding) by having its slack as the nonbasic variable, and leaves it where w changes its sign. Order:
// every row followed by its friction rows. Without friction rows and with A symmetric positive semidefinite
// it solves, or its ray proves that there is no solution, if no ties cycle (of other A the first rows alone may have
// none). With friction it may end in a ray although there is a solution: the chain goes on to Lemke.
class DantzigSolver {
 public:
  explicit DantzigSolver(std::uint32_t n_max);

  // z: n, out; with warm, in as well: rows that the guess has active are pivoted in first.
  LcpResult solve(const LcpProblem& problem, double* z, const LcpOptions& options = {}) noexcept;

 private:
  // What the primary variable p of a row measures: z from lo, hi from z, or z itself (not yet added friction rows).
  enum class Form : std::uint8_t { lower, upper, middle };
  enum class Hit : std::uint8_t { none, leaves, other_bound, own_bound, still };
  struct Event {
    Hit hit = Hit::none;
    Form form = Form::lower;  // other_bound, own_bound: which bound it then lies at
    std::uint32_t row = 0;
    double step = 0;
  };

  void load() noexcept;
  void start_from(const double* guess) noexcept;
  [[nodiscard]] bool repair() noexcept;
  LcpStatus add_all(const LcpOptions& options) noexcept;
  LcpStatus add(std::uint32_t i, std::uint32_t pivots_max) noexcept;
  [[nodiscard]] bool is_complementary(std::uint32_t i) const noexcept;

  void face_slip(std::uint32_t k) noexcept;

  [[nodiscard]] Event first_event(std::uint32_t driver, double direction, std::uint32_t added) const noexcept;
  void consider(Event& best, const Event& candidate, double value, double rate, double size) const noexcept;
  void consider_primary(Event& best, std::uint32_t row, std::uint32_t i, std::uint32_t c,
                        double direction) const noexcept;
  void consider_driver(Event& best, std::uint32_t i, std::uint32_t c, double direction) const noexcept;
  [[nodiscard]] double width_value(std::uint32_t i) const noexcept;
  [[nodiscard]] double width_rate(std::uint32_t i, std::uint32_t c) const noexcept;
  void exchange(std::uint32_t r, std::uint32_t c) noexcept;
  void measure_row_from(std::uint32_t row, std::uint32_t i, Form form) noexcept;
  bool measure_column_from(std::uint32_t c, std::uint32_t i, Form form) noexcept;
  void add_width(double* line, std::uint32_t i, double factor) const noexcept;
  void read_out(double* z_reduced, LcpState* states) const noexcept;

  static std::uint32_t primary(std::uint32_t i) noexcept { return 2 * i; }
  static std::uint32_t dual(std::uint32_t i) noexcept { return 2 * i + 1; }
  [[nodiscard]] bool is_basic(std::uint32_t variable) const noexcept { return place_[variable] >= 0; }
  [[nodiscard]] std::uint32_t row_of(std::uint32_t variable) const noexcept {
    TACTUS_DCHECK(is_basic(variable));
    return std::uint32_t(place_[variable]);
  }
  [[nodiscard]] std::uint32_t column_of(std::uint32_t variable) const noexcept {
    TACTUS_DCHECK(!is_basic(variable));
    return std::uint32_t(-1 - place_[variable]);
  }
  [[nodiscard]] double value_of(std::uint32_t variable) const noexcept {
    return is_basic(variable) ? table_.row(row_of(variable))[0] : 0;
  }

  std::uint32_t m_ = 0, pivots_ = 0;
  LcpReduction reduction_;
  BasisSolver basis_;
  LcpDictionary table_;
  LcpProblem reduced_;
  std::vector<Form> form_;
  std::vector<std::uint8_t> added_;
  std::vector<std::uint32_t> basic_, nonbasic_;
  std::vector<std::int32_t> place_;
  std::vector<double> z_reduced_;
  std::vector<LcpState> states_;
};

}  // namespace tactus
