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

#include "core/contact/solve/contact_interior.h"
#include "core/contact/solve/contact_matrix.h"
#include "core/contact/solve/solver_work.h"

namespace tactus {

struct NewtonOptions {
  double enough = 1e-12;  // the residual at which to stop at once
  bool softly = true;     // a guess that is far off comes near first, or begins with a large D
  bool may_lack = false;  // there may be no solution: what is hopeless (kHopeless) after the first attempt is left so
};
inline constexpr double kHopeless = 1e-4;  // a residual: solutions that there are come nearer than this soon
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
                           const ContactIsland& island) noexcept {
    return matrix_.shape(problem, islands, island);
  }
  // p: per contact of the problem, the guess and the result; u: half velocities, sum Y p of it on return. The best seen
  // is kept. After shape() of the same island. Ends when the work is spent: with none left p stays the guess.
  ContactSolution solve(const ContactProblem& problem, const ContactIsland& island, const FrictionDisc& disc, Vec3* p,
                        double* u, SolverWork& work, const NewtonOptions& options) noexcept;

 private:
  struct Local {  // the law's value at one contact
    double D, inv_D;
    Vec3 r, p, c, dc;
  };
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
                       ContactSlope* slopes) noexcept;
  double find_residual(const Context& s) noexcept;
  bool direction(const Context& s) noexcept;
  bool follow(const Context& s, std::uint32_t& iterations, double tol) noexcept;
  void move(const Context& s, double t) noexcept;
  void keep(const Context& s, double residual, const Vec3* p, ContactSolution& best) noexcept;
  void give_best(const Context& s, Vec3* p) const noexcept;
  void take_steps(const Context& s, const NewtonOptions& options, std::uint32_t most, std::uint32_t trial,
                  double residual, Vec3* p, ContactSolution& best) noexcept;
  static bool is_overloaded(const Context& s, const Vec3* p) noexcept;
  bool pays(const ContactIsland& island, const NewtonOptions& options) const noexcept;
  void come_near(const Context& s, Vec3* p, ContactSolution& best) noexcept;
  void go_on(const Context& s, double leap, Vec3* p) noexcept;

  ContactMatrix matrix_;
  ContactInterior interior_;
  std::vector<Local> local_;
  std::vector<ContactSlope> slopes_;
  std::vector<Vec3> best_, guess_;
  std::vector<double> step_, residual_;  // by row of the island
  double scale_ = 0;
};

}  // namespace tactus
