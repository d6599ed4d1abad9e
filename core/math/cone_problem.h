// Many points with a normal and a friction cone, and bodies between them: the problem of the time steppers, of 3 rows
// (n, t1, t2) a contact, sparse by body.
//   u = A r + b,  A = sum over bodies of Y^T Y,   0 <= u_n _|_ r_n >= 0,
//   r_t = the point of mu r_n D nearest to r_t - rho u_t, for any rho > 0 (Coulomb with most dissipation)
// r impulses [N s], u relative velocities after them [m/s]; D the unit disc, or the polygon of `directions` corners at
// angles 2 pi k / directions (Stewart and Trinkle's pyramid). Half coordinates: with M = L L^T and Y_i = L^-1 J_i^T
// the velocity is L^-T (y + sum Y_i r_i), so that A = J M^-1 J^T is never formed where it is sparse.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/math/lcp_problem.h"
#include "core/math/spatial.h"

namespace tactus {

// What a contact does to one body (or one tree): rows start .. start + size - 1 of the half coordinates.
struct ConeSide {
  std::uint32_t start = 0, size = 0;  // size 0: nothing (the world)
  const double* Y = nullptr;          // size x 3, row-major
};

// Sides of all contacts that overlap have equal start and size; the two of one contact do not overlap.
struct ConeContact {
  ConeSide side[2];
  Vec3 b = Vec3::Zero();  // velocity without any r, whatever the law adds to it (restitution, gap / h) included
  double mu = 0;
};

struct ConeProblem {
  std::uint32_t count = 0;
  const ConeContact* contacts = nullptr;
  std::uint32_t half_size = 0;   // of y
  std::uint32_t directions = 0;  // 0: the round cone; else even, 4 to kConeDirectionsMax
};
inline constexpr std::uint32_t kConeDirectionsMax = 32;

// Block of A between two contacts; zero where they share no body.
Mat3 cone_block(const ConeContact& a, const ConeContact& b) noexcept;
// y += Y r; the velocity part Y^T y of a contact.
void cone_push(const ConeContact& contact, const Vec3& r, double* y) noexcept;
Vec3 cone_velocity(const ConeContact& contact, const double* y) noexcept;

// The corners of D, once; half of the cost of a projection would be their trigonometry.
class FrictionDisc {
 public:
  explicit FrictionDisc(std::uint32_t directions) noexcept;  // 0: round
  // The point of D nearest to x, and the slope of that map (an element of it at a corner or on the rim).
  Eigen::Vector2d project(const Eigen::Vector2d& x, Eigen::Matrix2d* slope) const noexcept {
    return directions_ == 0 ? project_round(x, slope) : project_corners(x, slope);
  }
  [[nodiscard]] std::uint32_t directions() const noexcept { return directions_; }
  [[nodiscard]] const Eigen::Vector2d& corner(std::uint32_t k) const noexcept { return corner_[k]; }

 private:
  static Eigen::Vector2d project_round(const Eigen::Vector2d& x, Eigen::Matrix2d* slope) noexcept {
    const double length = std::sqrt(x.x() * x.x() + x.y() * x.y());
    if (length <= 1) {
      if (slope != nullptr) *slope = Eigen::Matrix2d::Identity();
      return x;
    }
    const Eigen::Vector2d p = x / length;
    if (slope != nullptr) {
      const Eigen::Vector2d across(-p.y(), p.x());
      *slope = across * across.transpose() / length;
    }
    return p;
  }
  [[nodiscard]] Eigen::Vector2d project_corners(const Eigen::Vector2d& x, Eigen::Matrix2d* slope) const noexcept;

  std::uint32_t directions_;
  Eigen::Vector2d corner_[kConeDirectionsMax + 1];
};

// Largest violation, relative: u_n < 0 to |b| + sum |A r| of the contact (plus 1e-4 |A| max |r|), r outside its cone to
// the largest |r|, and the rest, what the natural map with rho = 1 / A_nn, 1 / |A_tt| moves, to the larger of both.
// y: scratch of half_size.
double cone_residual(const ConeProblem& problem, const FrictionDisc& disc, const Vec3* r, double* y) noexcept;

}  // namespace tactus
