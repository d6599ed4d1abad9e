#include "core/math/cone_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

FrictionDisc::FrictionDisc(std::uint32_t directions) noexcept : directions_(directions) {
  TACTUS_ASSERT(directions == 0 || (directions >= 4 && directions % 2 == 0 && directions <= kConeDirectionsMax));
  const std::uint32_t half = directions / 2;
  for (std::uint32_t k = 0; k < half; ++k) {
    const double angle = 2 * M_PI * k / directions;
    corner_[k] = {std::cos(angle), std::sin(angle)};
    if (4 * k == directions) corner_[k] = {0, 1};
    corner_[k + half] = -corner_[k];  // pairs are exactly opposite
  }
  corner_[directions] = corner_[0];
}

Eigen::Vector2d FrictionDisc::project_corners(const Eigen::Vector2d& x, Eigen::Matrix2d* slope) const noexcept {
  TACTUS_DCHECK(directions_ >= 4 && directions_ <= kConeDirectionsMax);
  double nearest = std::numeric_limits<double>::infinity();
  Eigen::Vector2d best = x;
  Eigen::Matrix2d best_slope = Eigen::Matrix2d::Identity();
  for (std::uint32_t k = 0; k < directions_; ++k) {
    const Eigen::Vector2d edge = corner_[k + 1] - corner_[k], from = x - corner_[k];
    if (edge.x() * from.y() - edge.y() * from.x() >= 0) continue;  // on the inner side of this one
    const double along = from.dot(edge) / edge.squaredNorm();
    const Eigen::Vector2d p = corner_[k] + std::min(std::max(along, 0.0), 1.0) * edge;
    const double distance = (x - p).squaredNorm();
    if (distance >= nearest) continue;
    nearest = distance;
    best = p;
    best_slope = along > 0 && along < 1 ? Eigen::Matrix2d(edge * edge.transpose() / edge.squaredNorm())
                                        : Eigen::Matrix2d(Eigen::Matrix2d::Zero());
  }
  // Of what is that far off the squares overflow, and no edge is the nearest: the same from nearer.
  if (best.squaredNorm() > 1e300 && x.allFinite()) return project_corners(x * (1e100 / x.cwiseAbs().maxCoeff()), slope);
  TACTUS_DCHECK(not_above(best.squaredNorm(), 1 + kRoundingCheck));
  if (slope != nullptr) *slope = best_slope;
  return best;
}

namespace {

// Do the two sides of a contact act on different rows? (A body does not touch itself.)
bool are_apart(const ConeContact& contact) noexcept {
  const ConeSide &a = contact.side[0], &b = contact.side[1];
  return a.size == 0 || b.size == 0 || a.start + a.size <= b.start || b.start + b.size <= a.start;
}

bool ends_within(const ConeContact& contact, std::uint32_t half_size) noexcept {
  for (const ConeSide& side : contact.side) {
    if (side.size > 0 && (side.Y == nullptr || side.start + side.size > half_size)) return false;
  }
  return true;
}

}  // namespace

Mat3 cone_block(const ConeContact& a, const ConeContact& b) noexcept {
  Mat3 block = Mat3::Zero();
  for (const ConeSide& p : a.side) {
    for (const ConeSide& q : b.side) {
      if (p.size == 0 || q.size == 0 || p.start != q.start) continue;
      TACTUS_DCHECK(p.size == q.size);  // what two contacts do to one body stands in the same rows
      for (std::uint32_t k = 0; k < p.size; ++k) {
        const double* const y = p.Y + 3 * std::size_t{k};
        const double* const z = q.Y + 3 * std::size_t{k};
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 3; ++j) block(i, j) += y[i] * z[j];
        }
      }
    }
  }
  return block;
}

void cone_push(const ConeContact& contact, const Vec3& r, double* y) noexcept {
  TACTUS_DCHECK(are_apart(contact));
  for (const ConeSide& side : contact.side) {
    for (std::uint32_t k = 0; k < side.size; ++k) {
      const double* const row = side.Y + 3 * std::size_t{k};
      y[side.start + k] += row[0] * r[0] + row[1] * r[1] + row[2] * r[2];
    }
  }
}

Vec3 cone_velocity(const ConeContact& contact, const double* y) noexcept {
  Vec3 u = Vec3::Zero();
  for (const ConeSide& side : contact.side) {
    for (std::uint32_t k = 0; k < side.size; ++k) {
      const double* const row = side.Y + 3 * std::size_t{k};
      for (int i = 0; i < 3; ++i) u[i] += row[i] * y[side.start + k];
    }
  }
  return u;
}

namespace {

// |x| of each half coordinate's share, summed: what rounding in u is relative to.
Vec3 velocity_scale(const ConeContact& contact, const double* y) noexcept {
  Vec3 scale = contact.b.cwiseAbs();
  for (const ConeSide& side : contact.side) {
    for (std::uint32_t k = 0; k < side.size; ++k) {
      const double* const row = side.Y + 3 * std::size_t{k};
      for (int i = 0; i < 3; ++i) scale[i] += std::abs(row[i] * y[side.start + k]);
    }
  }
  return scale;
}

}  // namespace

double cone_residual(const ConeProblem& problem, const FrictionDisc& disc, const Vec3* r, double* y) noexcept {
  TACTUS_ASSERT(problem.directions == disc.directions());
  std::fill_n(y, problem.half_size, 0.0);
  double r_scale = 0, worst = 0;
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    if (!r[i].allFinite()) return std::numeric_limits<double>::infinity();
    cone_push(problem.contacts[i], r[i], y);
    r_scale = std::max(r_scale, r[i].cwiseAbs().maxCoeff());
  }
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    const ConeContact& contact = problem.contacts[i];
    TACTUS_DCHECK(ends_within(contact, problem.half_size) && not_below(contact.mu, 0));
    const Mat3 A = cone_block(contact, contact);
    TACTUS_DCHECK(is_symmetric(A));
    const Vec3 u = cone_velocity(contact, y) + contact.b;
    if (!u.allFinite()) return std::numeric_limits<double>::infinity();
    const double size = A.cwiseAbs().maxCoeff(), rho_n = A(0, 0) > 0 ? 1 / A(0, 0) : 0;
    const double tangential = A(1, 1) + A(2, 2), rho_t = tangential > 0 ? 1 / tangential : 0;
    const double u_scale = velocity_scale(contact, y).maxCoeff() + 1e-4 * size * r_scale;
    if (u_scale == 0) continue;
    const double limit = contact.mu * std::max(r[i][0], 0.0);
    const Eigen::Vector2d r_t = r[i].tail<2>(), x = r_t - rho_t * u.tail<2>();
    Eigen::Vector2d to = Eigen::Vector2d::Zero(), inside = to;
    if (limit > 0) {
      to = limit * disc.project(x / limit, nullptr);
      inside = limit * disc.project(r_t / limit, nullptr);
    }
    const double normal = std::abs(r[i][0] - std::max(0.0, r[i][0] - rho_n * u[0]));
    const double relative_r = 1 / (r_scale > 0 ? r_scale : 1);
    const double per_n = std::min(relative_r, rho_n > 0 ? 1 / (rho_n * u_scale) : relative_r);
    const double per_t = std::min(relative_r, rho_t > 0 ? 1 / (rho_t * u_scale) : relative_r);
    worst = std::max({worst, -u[0] / u_scale, -r[i][0] * relative_r, (r_t - inside).norm() * relative_r, normal * per_n,
                      (r_t - to).norm() * per_t});
  }
  return worst;
}

}  // namespace tactus
