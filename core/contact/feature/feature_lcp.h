// PEG's constraints as one linear complementarity problem: eqs. (11) to (15) with slack variables, friction as Stewart
// and Trinkle's pyramid of four directions, velocities eliminated. For islands of at most Limits::pivot_rows rows.
#pragma once

#include <vector>

#include "core/contact/feature/feature_groups.h"
#include "core/contact/solve/solver_work.h"
#include "core/math/lcp.h"

namespace tactus {

// Rows of a group of m members, n of them iota: c_2..c_m (11, 12), e (13), and for an I-constraint d_1..d_n (14),
// p_1..p_n (15), each p with two rows of friction where mu > 0. Slack counts as impulse: it is scaled by the island's
// mobility, so that w z is work everywhere.
//
// What the paper prints wrong or leaves open, as it is read here: row e reads "- e", for with the sign as printed (13)
// holds of any gap. (13) is not redundant: without it (14) makes (15) hold at the largest negative gap. In (29)'s last
// block row every line has the first member's gap and Jacobian, as in (15); with each contact's own a force acts while
// outside. E_c is lower triangular with ones (an identity for two contacts only), E_ec and E_pc are rows of ones, E_d
// and E_pd identities; alpha scales e alone.
class FeatureLcp {
 public:
  FeatureLcp(std::uint32_t half_size, std::uint32_t rows_max);

  // choice: of each listed group the iota member that pushes, or kNoContact. False: too many rows, or not solved.
  bool solve(const GroupedContacts& all, const ContactIsland& island, std::span<const std::uint32_t> groups,
             std::uint32_t* choice, SolverWork& work) noexcept;
  [[nodiscard]] const LcpResult& result() const noexcept { return result_; }

 private:
  enum class Kind : std::uint8_t { normal, friction, bounded, c, d, e };
  struct Row {
    Kind kind;
    std::uint32_t contact;  // whose gap or slip it is; of c: the member
    std::uint32_t group;    // index in the list, kNoContact: a U-constraint
    std::uint32_t member;   // place in the group
    std::uint32_t direction;
  };
  bool add(Row row) noexcept;
  bool list_rows(const GroupedContacts& all, const ContactIsland& island,
                 std::span<const std::uint32_t> groups) noexcept;
  bool add_pushing(const GroupedContacts& all, std::uint32_t contact, std::uint32_t group,
                   std::uint32_t member) noexcept;
  void fill(const GroupedContacts& all, const ContactIsland& island, std::span<const std::uint32_t> groups) noexcept;
  void fill_impulse_column(const GroupedContacts& all, std::span<const std::uint32_t> groups,
                           std::uint32_t column) noexcept;
  [[nodiscard]] double slack_entry(const Row& row, const Row& column) const noexcept;

  LcpSolver lcp_;
  LcpResult result_;
  std::uint32_t n_ = 0;
  double scale_ = 1;
  std::vector<Row> rows_;
  std::vector<double> A_, b_, lo_, hi_, z_, cover_, half_;
  std::vector<std::int32_t> normal_;
};

}  // namespace tactus
