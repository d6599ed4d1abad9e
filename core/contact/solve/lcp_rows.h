// The dense complementarity problem of one island: a = A f + b (Baraff 1993, eq. 6), with friction rows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/contact/solve/contact_island.h"
#include "core/math/lcp.h"

namespace tactus {

// Rows of a contact, by its law: sliding (or without friction): the normal alone, its column that of n - mu slip
// (Baraff 1993, eq. 17); stopping: the normal, and slip; cone: the normal, slip and the direction across it, each
// component at most mu p_n (Baraff 1994: a pyramid; exact where friction points along `slip`, so that is chosen first);
// bounded: the same with fixed bounds. Forming A costs (rows) x (contacts that share a block) x (depth): O(mn) for a
// robot of m dofs and n contacts.
class LcpRows {
 public:
  LcpRows(std::uint32_t rows_max, std::uint32_t half_max);

  [[nodiscard]] static std::uint32_t count(const ContactProblem& problem, const ContactIsland& island) noexcept;
  // False: too many rows.
  [[nodiscard]] bool load(const ContactProblem& problem, const ContactIsland& island) noexcept;
  [[nodiscard]] LcpProblem view() const noexcept;
  // Impulses of contacts as variables of the rows, and back.
  void to_rows(const ContactProblem& problem, const ContactIsland& island, const Vec3* p, double* z) const noexcept;
  void from_rows(const ContactProblem& problem, const ContactIsland& island, const double* z, Vec3* p) const noexcept;

 private:
  void add_row(const ContactProblem& problem, const ContactIsland& island, std::uint32_t i, std::uint32_t k) noexcept;

  std::uint32_t rows_max_, n_ = 0, row_ = 0;
  std::vector<double> A_, b_, lo_, hi_, column_;
  std::vector<std::int32_t> normal_;
};

}  // namespace tactus
