// Semismooth Newton on the Fischer-Burmeister equations (De Luca, Facchinei & Kanzow 1996), for problems that pivoting
// cannot take: singular free blocks, friction that ends in a ray. Finds a solution from most starts, not from all.
#pragma once

#include <cstdint>
#include <vector>

#include "core/math/lcp_basis.h"
#include "core/math/lcp_reduction.h"

namespace tactus {

// Rows become phi(z - lo, w) = 0, phi(a, b) = a + b - sqrt(a^2 + b^2); boxes phi(z - lo, -phi(hi - z, -w)) (Billups);
// free rows w = 0. Newton's step where it descends, else Levenberg's (J^T J + lambda I, always a descent); Armijo's
// search on |Phi|^2 / 2; when the equations are nearly solved, the linear system of the rows that they name. Starts:
// the guess with warm, 0, ones. About n^3 flops a factorisation, a Levenberg step 4 n^3.
class NewtonSolver {
 public:
  explicit NewtonSolver(std::uint32_t n_max);
  LcpResult solve(const LcpProblem& problem, double* z, const LcpOptions& options = {}) noexcept;

 private:
  // Slopes of one row's equation: in z_i, in w_i, and in its normal's z.
  struct Slopes {
    double z, w, normal;
  };
  double evaluate(const double* z, double* phi) noexcept;
  Slopes slopes(std::uint32_t i) const noexcept;
  void linearise() noexcept;
  bool newton_step() noexcept;
  void levenberg_step() noexcept;
  bool search() noexcept;
  bool try_basis(const LcpProblem& problem, double* z, LcpResult& result) noexcept;
  bool iterate(const LcpProblem& problem, double* z, std::uint32_t iterations, const LcpOptions& options,
               LcpResult& result) noexcept;

  LcpReduction reduction_;
  BasisSolver basis_;
  EchelonLu lu_;
  LcpProblem p_;
  double merit_ = 0;
  std::uint64_t flops_ = 0;
  std::vector<double> J_, z_, w_, phi_, step_, gradient_, trial_z_, trial_w_, trial_phi_;
  std::vector<LcpState> states_;
};

}  // namespace tactus
