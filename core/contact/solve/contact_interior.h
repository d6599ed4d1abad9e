// A primal-dual interior-point method on one island's contacts, for guesses that are far off: where many contacts
// change sides at once it needs some ten factorisations, whatever they do. It ends near the solution; ContactNewton
// goes on.
//
// In half velocities, u = sum Y p and c = Y^T u + b. Scaled, a contact's law is  x in K, z in K, x . z = 0  with
//   x = (mu p_n, p_t),  z = (c_n / mu + |c_t|, c_t)        (De Saxce and Feng 1998)
// K: core/math/lorentz_cone.h. `stopping`: the same along its slip; `sliding` and without friction: x_0 = p_n, z_0 =
// c_n, p = x_0 (1, -mu slip). Newton on x o z = sigma mean(x . z) e after scaling, Mehrotra's (1992) two steps from one
// factor. An impulse gives way by G dc, so the matrix is ContactMatrix's. |c_t| is told as |z_t|, to first order from
// where it is; what that is short of after a step is added to z_0, so that z stays within K.
#pragma once

#include <cstdint>
#include <vector>

#include "core/contact/solve/contact_matrix.h"
#include "core/contact/solve/solver_work.h"
#include "core/math/lorentz_cone.h"

namespace tactus {

class ContactInterior {
 public:
  ContactInterior(std::uint32_t contacts_max, std::uint32_t half_max);

  // Are all its laws of this kind? Not: rows with bounds, friction with bounds of its own, polyhedral cones.
  [[nodiscard]] static bool takes(const ContactProblem& problem, const ContactIsland& island,
                                  const FrictionDisc& disc) noexcept;
  // From the guess p, put within the cones by `inside` (<= 1) of the largest free velocity. On return p obeys what the
  // laws say of impulses and u = sum Y p; it may be worse than the guess, or not finite. Gives the factorisations. The
  // matrix is shaped for the island.
  std::uint32_t approach(const ContactProblem& problem, const ContactIsland& island, const FrictionDisc& disc,
                         double inside, ContactMatrix& matrix, Vec3* p, double* u, SolverWork& work) noexcept;

 private:
  struct Pair {
    bool acts;   // no: nothing can move there
    Mat3 L, D;   // p = L x; z = D c + |z_t| e_0. Zero in what the law does not have
    Mat3 D_now;  // dz / dc where it is: D, and in its first row tau^T of the others, tau = z_t / |z_t|
    Vec3 x, z, c;
    ConeScaling W;
    Vec3 lambda;
    Vec3 lack;  // z - D_now c
    Vec3 pull;  // dx = pull - W^2 D_now dc
    Vec3 dx, dz, dc;
  };
  struct Context {
    const ContactProblem& problem;
    const ContactIsland& island;
    ContactMatrix& matrix;
  };

  void begin(const Context& s, double inside, Vec3* p, double* u) noexcept;
  void scale(const Context& s) noexcept;
  void find_step(const Context& s) noexcept;
  void correct(double sigma_mean) noexcept;
  void go(const Context& s, double t) noexcept;
  void put_out(const Context& s, const FrictionDisc& disc, Vec3* p, double* u) const noexcept;
  [[nodiscard]] double longest() const noexcept;
  [[nodiscard]] double mean_at(double t) const noexcept;
  [[nodiscard]] double mean_now() const noexcept { return mean_at(0); }

  std::vector<Pair> pairs_;
  std::vector<ContactSlope> slopes_;
  std::vector<double> u_, step_;  // by row of the island
  std::size_t count_ = 0, acting_ = 0;
};

}  // namespace tactus
