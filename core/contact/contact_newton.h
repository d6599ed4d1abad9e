// Newton's method on the contact problem in half velocities, for one island at a time: sparse by body, whatever the
// number of contacts.
//
// Proximal steps (the method of multipliers, Rockafellar 1976): with impulses r of the last step and D_i = kProximal
// times a contact's own mobility, p_i = law(r_i - c_i / D_i) is a closed form of the velocity c_i = Y_i^T u + b_i, so
//   u - sum Y_i p_i(u) = 0
// is all that is left: 6 unknowns a body, H = 1 + sum Y_i G_i Y_i^T with G_i = -dp_i/dc_i, an envelope. Redundant
// contacts need no choice: what no velocity feels stays as it was in r. Then r = p; each such step divides the error by
// about lambda_min(A) / D.
#pragma once

#include <cstdint>
#include <vector>

#include "core/contact/contact_island.h"
#include "core/contact/solver_work.h"
#include "core/math/skyline.h"

namespace tactus {

struct NewtonOptions {
  double enough = 1e-12;  // the residual at which to stop at once
  bool softly = true;     // a guess that is far off begins with a large D
};
struct ContactSolution {
  double residual = 0;           // island_residual
  std::uint32_t iterations = 0;  // factorisations
};

// Friction makes H unsymmetric: its bound follows p_n. Newton steps are halved until |R| falls; where none makes it
// fall D is raised (R is smoother then, and a step of it takes off less), and comes down again as proximal steps
// succeed, below where it failed by halves.
class ContactNewton {
 public:
  ContactNewton(std::uint32_t contacts_max, std::uint32_t half_max, std::uint32_t rows_max);

  // False: the island does not fit.
  [[nodiscard]] bool shape(const ContactProblem& problem, const ContactIslands& islands,
                           const ContactIsland& island) noexcept;
  // p: per contact of the problem, the guess and the result; u: half velocities, sum Y p of it on return. The best seen
  // is kept. After shape() of the same island. Ends when the work is spent: with none left p stays the guess.
  ContactSolution solve(const ContactProblem& problem, const ContactIsland& island, const FrictionDisc& disc, Vec3* p,
                        double* u, SolverWork& work, const NewtonOptions& options) noexcept;

 private:
  // The law's value and slope at one contact.
  struct Slopes {
    Mat3 G;       // -dp/dc
    bool pushes;  // G is not zero
  };
  struct Local {
    double D, inv_D;
    Vec3 r, p, c, dc;
    Slopes slopes;
    Slopes used;  // in the matrix
  };
  // Contacts of a pair of free bodies that follow each other, and their sums Y G Y^T in the matrix. The later body is
  // the one of the larger rows; kNone: none, it does not move.
  struct Group {
    std::uint32_t first, end;  // of local_
    std::uint32_t early, late;
    std::uint8_t early_side, late_side;
  };
  struct alignas(16) Sums {
    double late[36], early[36], below[36], above[36];  // as Skyline's panels hold them
  };
  struct Columns;
  struct Context {
    const ContactProblem& problem;
    const ContactIsland& island;
    const FrictionDisc& disc;
    double* u;
    SolverWork& work;
  };

  void start(const Context& s, const Vec3* p, double proximal) noexcept;
  void find_velocities(const Context& s) noexcept;
  static Vec3 evaluate(const Context& s, const Local& local, const Vec3& c, const ProblemContact& contact,
                       Slopes* slopes) noexcept;
  double find_residual(const Context& s) noexcept;
  bool direction(const Context& s) noexcept;
  void list_groups(const ContactProblem& problem, const ContactIsland& island) noexcept;
  bool sum_group(const Context& s, const Group& group, Sums& sums) noexcept;
  std::uint32_t assemble(const Context& s) noexcept;
  void assemble_all(const Context& s) noexcept;
  void add_block(const ProblemContact& contact, const ProblemSide& a, const ProblemSide& b, const Mat3& G) noexcept;
  bool follow(const Context& s, std::uint32_t& iterations, double tol) noexcept;
  void move(const Context& s, double t) noexcept;
  static void sum_up(const Context& s, const Vec3* p) noexcept;
  void go_on(const Context& s, double leap, Vec3* p) noexcept;

  Skyline H_;
  std::vector<Local> local_;
  std::vector<Vec3> best_;
  std::vector<double> step_, residual_;  // by row of the island
  std::vector<std::uint32_t> first_, part_, row_of_block_;
  std::vector<Group> groups_;
  std::vector<Sums> sums_;
  std::vector<std::uint8_t> changed_;  // of a row that begins a body: its entries are to be added up anew
  std::uint32_t group_count_ = 0;
  bool grouped_ = false;   // the island's contacts are all in groups
  bool factored_ = false;  // H_ holds the factor of what the contacts' `used` say
  std::uint32_t rows_ = 0;
  std::uint64_t look_work_ = 0, factor_work_ = 0;  // of a residual; of a matrix and its factor
  double scale_ = 0;
};

}  // namespace tactus
