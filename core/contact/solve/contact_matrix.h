// The matrix of Newton's methods on an island, H = 1 + sum Y_i G_i Y_i^T over its contacts, in half velocities: 6 rows
// a body, an envelope, whatever the number of contacts. G_i = -dp_i/dc_i, 3 x 3, unsymmetric where friction's bound
// follows p_n. Entries and factors of bodies at whose contacts G is what it was are kept.
#pragma once

#include <cstdint>
#include <vector>

#include "core/contact/solve/contact_island.h"
#include "core/math/skyline.h"

namespace tactus {

// What an impulse gives way by as the velocity at its contact grows.
struct ContactSlope {
  Mat3 G = Mat3::Zero();  // -dp/dc
  bool pushes = false;    // G is not zero
};

// Order of calls: shape(), factor(), solve(). Vectors are by row of the island, rows() of them; slopes by place in it.
class ContactMatrix {
 public:
  ContactMatrix(std::uint32_t contacts_max, std::uint32_t half_max, std::uint32_t rows_max);

  // False: the island does not fit.
  [[nodiscard]] bool shape(const ContactProblem& problem, const ContactIslands& islands,
                           const ContactIsland& island) noexcept;
  [[nodiscard]] std::uint32_t rows() const noexcept { return rows_; }
  // Nothing of the last factor is to be kept.
  void forget() noexcept { factored_ = false; }
  [[nodiscard]] bool factor(const ContactProblem& problem, const ContactIsland& island,
                            const ContactSlope* slopes) noexcept;
  void solve(double* x) const noexcept { H_.solve(x); }

  // x = u of the island's blocks; u += t x.
  void gather(const ContactProblem& problem, const ContactIsland& island, const double* u, double* x) const noexcept;
  void move(const ContactProblem& problem, const ContactIsland& island, double t, const double* x,
            double* u) const noexcept;
  // x -= Y p; |Y p|^2.
  double take_off(const ProblemContact& contact, const Vec3& p, double* x) const noexcept;
  // Y^T x
  [[nodiscard]] Vec3 change(const ProblemContact& contact, const double* x) const noexcept;

  // SolverWork of looking at each contact once; of a matrix and its factor.
  [[nodiscard]] std::uint64_t look_work() const noexcept { return look_work_; }
  [[nodiscard]] std::uint64_t factor_work() const noexcept { return factor_work_; }

 private:
  // Contacts of a pair of free bodies that follow each other, and their sums Y G Y^T in the matrix. The later body is
  // the one of the larger rows; kNone: none, it does not move.
  struct Group {
    std::uint32_t first, end;  // places of contacts
    std::uint32_t early, late;
    std::uint8_t early_side, late_side;
  };
  struct alignas(16) Sums {
    double late[36], early[36], below[36], above[36];  // as Skyline's panels hold them
  };
  struct Columns;

  void list_groups(const ContactProblem& problem, const ContactIsland& island) noexcept;
  bool sum_group(const ContactProblem& problem, const ContactIsland& island, const ContactSlope* slopes,
                 const Group& group, Sums& sums) noexcept;
  std::uint32_t assemble(const ContactProblem& problem, const ContactIsland& island,
                         const ContactSlope* slopes) noexcept;
  void assemble_all(const ContactProblem& problem, const ContactIsland& island, const ContactSlope* slopes) noexcept;
  void add_block(const ProblemContact& contact, const ProblemSide& a, const ProblemSide& b, const Mat3& G) noexcept;

  Skyline H_;
  std::vector<std::uint32_t> first_, part_, row_of_block_;
  std::vector<ContactSlope> used_;  // in the matrix
  std::vector<Group> groups_;
  std::vector<Sums> sums_;
  std::vector<std::uint8_t> changed_;  // of a row that begins a body: its entries are to be added up anew
  std::uint32_t group_count_ = 0;
  bool grouped_ = false;   // the island's contacts are all in groups
  bool factored_ = false;  // H_ holds the factor of what used_ says
  std::uint32_t rows_ = 0;
  std::uint64_t look_work_ = 0, factor_work_ = 0;
};

}  // namespace tactus
