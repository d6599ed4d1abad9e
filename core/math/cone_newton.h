// Semismooth Newton on Alart and Curnier's equations (1991), with block Gauss-Seidel where Newton stalls.
#pragma once

#include <cstdint>
#include <vector>

#include "core/math/cone_problem.h"
#include "core/math/echelon_lu.h"

namespace tactus {

struct ConeOptions {
  bool warm = false;              // r comes in as a guess (the last step's impulses)
  std::uint32_t newton_max = 60;  // factorisations
  std::uint32_t sweeps_max = 2000;
  std::uint64_t flops_max = 0;  // 0: none but those
};

// r_n = max(0, r_n - rho u_n), r_t = the point of mu max(0, r_n - rho u_n) D nearest to r_t - rho u_t. Each round:
// sweeps of block Gauss-Seidel (each contact for itself, O(count)); then Newton steps over the contacts that push, a
// dense system of 3 rows each with a proximal term of kConeProximal of its diagonal, so that redundant contacts need no
// choice; the step is halved until the equations' norm falls, else the next round sweeps more. Stops at 1e-11 or where
// rounding stops it; solved at kLcpTolerance. Cost: 27 k^3 flops a factorisation for k contacts that push.
inline constexpr double kConeProximal = 1e-9;

class ConeNewton {
 public:
  ConeNewton(std::uint32_t contacts_max, std::uint32_t half_size_max, std::uint32_t directions);

  // problem.directions is that of the constructor. r: count, out (warm: in as well). The best r seen is kept.
  ConeResult solve(const ConeProblem& problem, Vec3* r, const ConeOptions& options = {}) noexcept;
  // sum Y r of the last solve, half_size numbers.
  [[nodiscard]] const double* half_change() const noexcept { return y_.data(); }

 private:
  struct Local {  // of a contact: diagonal block of A, step lengths, its equation's slopes
    Mat3 A;
    double rho_n, rho_t;
    bool pushes;
    Mat3 by_r, by_u;
  };

  void prepare(const ConeProblem& problem) noexcept;
  void sweep(const ConeProblem& problem, std::vector<Vec3>& r) noexcept;
  double evaluate(const ConeProblem& problem, const std::vector<Vec3>& r, bool slopes) noexcept;
  Vec3 equation(const ConeContact& contact, Local& local, const Vec3& r, const Vec3& u, bool slopes) const noexcept;
  void newton_direction(const ConeProblem& problem) noexcept;
  bool newton_step(const ConeProblem& problem) noexcept;
  void keep_best(const ConeProblem& problem, ConeResult& result, Vec3* best) noexcept;

  FrictionDisc disc_;
  EchelonLu lu_;
  std::uint64_t flops_ = 0;
  double merit_ = 0;
  std::vector<Local> local_;
  std::vector<Vec3> r_, trial_, step_, f_;
  std::vector<double> y_, residual_y_, right_, solution_;
  std::vector<std::uint32_t> pushing_;
};

}  // namespace tactus
