#include "core/math/cone_newton.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tactus {
namespace {

constexpr double kEnough = 1e-11;
constexpr int kHalvings = 8;
constexpr int kLocalRounds = 4;

}  // namespace

ConeNewton::ConeNewton(std::uint32_t contacts_max, std::uint32_t half_size_max, std::uint32_t directions)
    : disc_(directions),
      lu_(3 * contacts_max, 3 * contacts_max),
      local_(contacts_max),
      r_(contacts_max),
      trial_(contacts_max),
      step_(contacts_max),
      f_(contacts_max),
      y_(half_size_max),
      residual_y_(half_size_max),
      right_(3 * std::size_t{contacts_max}),
      solution_(3 * std::size_t{contacts_max}),
      pushing_(contacts_max) {}

void ConeNewton::prepare(const ConeProblem& problem) noexcept {
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    Local& local = local_[i];
    local.A = cone_block(problem.contacts[i], problem.contacts[i]);
    const double half = (local.A(1, 1) + local.A(2, 2)) / 2, skew = (local.A(1, 1) - local.A(2, 2)) / 2;
    const double largest = half + std::sqrt(skew * skew + local.A(1, 2) * local.A(1, 2));
    local.rho_n = local.A(0, 0) > 0 ? 1 / local.A(0, 0) : 0;
    local.rho_t = largest > 0 ? 1 / largest : 0;
  }
}

// Block Gauss-Seidel: each contact is put near its own solution, the others staying.
void ConeNewton::sweep(const ConeProblem& problem, std::vector<Vec3>& r) noexcept {
  std::fill_n(y_.begin(), problem.half_size, 0.0);
  for (std::uint32_t i = 0; i < problem.count; ++i) cone_push(problem.contacts[i], r[i], y_.data());
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    const ConeContact& contact = problem.contacts[i];
    const Local& local = local_[i];
    const Vec3 before = r[i], outside = cone_velocity(contact, y_.data()) + contact.b - local.A * before;
    Vec3 now = before;
    for (int round = 0; round < kLocalRounds; ++round) {
      now[0] = std::max(0.0, now[0] - local.rho_n * (outside[0] + local.A.row(0).dot(now)));
      const double limit = contact.mu * now[0];
      const Vec3 u = outside + local.A * now;
      const Eigen::Vector2d x = now.tail<2>() - local.rho_t * u.tail<2>();
      now.tail<2>() = limit > 0 ? Eigen::Vector2d(limit * disc_.project(x / limit, nullptr))
                                : Eigen::Vector2d(Eigen::Vector2d::Zero());
    }
    r[i] = now;
    cone_push(contact, now - before, y_.data());
  }
  flops_ += 300 * std::uint64_t{problem.count};
}

// What the contact's equation leaves, and its slopes in r (by_r) and in u (by_u).
Vec3 ConeNewton::equation(const ConeContact& contact, Local& local, const Vec3& r, const Vec3& u,
                          bool slopes) const noexcept {
  const double pull = r[0] - local.rho_n * u[0], limit = contact.mu * pull;
  local.pushes = pull > 0;
  if (slopes) {
    local.by_r = Mat3::Identity();
    local.by_u = Mat3::Zero();
  }
  if (!local.pushes) return r;
  Eigen::Vector2d to = Eigen::Vector2d::Zero(), by_limit = to;
  Eigen::Matrix2d slope = Eigen::Matrix2d::Zero();
  if (limit > 0) {
    const Eigen::Vector2d x = (r.tail<2>() - local.rho_t * u.tail<2>()) / limit;
    const Eigen::Vector2d p = disc_.project(x, &slope);
    to = limit * p;
    by_limit = p - slope * x;
  }
  if (slopes) {
    local.by_r(0, 0) = 0;
    local.by_u(0, 0) = local.rho_n;
    local.by_r.bottomRightCorner<2, 2>() = Eigen::Matrix2d::Identity() - slope;
    local.by_u.bottomRightCorner<2, 2>() = local.rho_t * slope;
    local.by_r.bottomLeftCorner<2, 1>() = -contact.mu * by_limit;
    local.by_u.bottomLeftCorner<2, 1>() = contact.mu * local.rho_n * by_limit;
  }
  return {local.rho_n * u[0], r[1] - to[0], r[2] - to[1]};
}

double ConeNewton::evaluate(const ConeProblem& problem, const std::vector<Vec3>& r, bool slopes) noexcept {
  std::fill_n(y_.begin(), problem.half_size, 0.0);
  for (std::uint32_t i = 0; i < problem.count; ++i) cone_push(problem.contacts[i], r[i], y_.data());
  double merit = 0;
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    const Vec3 u = cone_velocity(problem.contacts[i], y_.data()) + problem.contacts[i].b;
    f_[i] = equation(problem.contacts[i], local_[i], r[i], u, slopes);
    merit += f_[i].squaredNorm();
  }
  flops_ += 150 * std::uint64_t{problem.count};
  return merit;
}

// step_: contacts that do not push go to r = 0; the others by (by_r + by_u A) step = -f, both together.
void ConeNewton::newton_direction(const ConeProblem& problem) noexcept {
  pushing_.clear();
  std::fill_n(y_.begin(), problem.half_size, 0.0);
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    step_[i] = -f_[i];
    if (local_[i].pushes) {
      pushing_.push_back(i);
    } else {
      cone_push(problem.contacts[i], step_[i], y_.data());
    }
  }
  const auto n = static_cast<std::uint32_t>(3 * pushing_.size());
  lu_.resize(n, n);
  for (std::uint32_t a = 0; a < pushing_.size(); ++a) {
    const std::uint32_t i = pushing_[a];
    const Local& local = local_[i];
    const Vec3 right = -f_[i] - local.by_u * cone_velocity(problem.contacts[i], y_.data());
    for (int k = 0; k < 3; ++k) right_[3 * std::size_t{a} + std::size_t(k)] = right[k];
    for (std::uint32_t c = 0; c < pushing_.size(); ++c) {
      const std::uint32_t j = pushing_[c];
      Mat3 A = i == j ? local.A : cone_block(problem.contacts[i], problem.contacts[j]);
      if (i == j) A.diagonal() *= 1 + kConeProximal;
      Mat3 block = local.by_u * A;
      if (i == j) block += local.by_r;
      for (int k = 0; k < 3; ++k) {
        for (int l = 0; l < 3; ++l) lu_.row(3 * a + std::uint32_t(k))[3 * c + std::uint32_t(l)] = block(k, l);
      }
    }
  }
  lu_.factor(1e-13);
  flops_ += lu_.flops() + 100 * pushing_.size() * pushing_.size();
  lu_.solve(right_.data(), solution_.data());
  for (std::uint32_t a = 0; a < pushing_.size(); ++a) {
    for (int k = 0; k < 3; ++k) step_[pushing_[a]][k] = solution_[3 * std::size_t{a} + std::size_t(k)];
  }
}

// False: no length of the step makes the equations' norm smaller; r_ stays.
bool ConeNewton::newton_step(const ConeProblem& problem) noexcept {
  merit_ = evaluate(problem, r_, true);
  newton_direction(problem);
  double length = 1;
  for (int halving = 0; halving < kHalvings; ++halving, length /= 2) {
    for (std::uint32_t i = 0; i < problem.count; ++i) trial_[i] = r_[i] + length * step_[i];
    if (!(evaluate(problem, trial_, false) < (1 - 1e-4 * length) * merit_)) continue;
    std::swap(r_, trial_);
    return true;
  }
  return false;
}

void ConeNewton::keep_best(const ConeProblem& problem, ConeResult& result, Vec3* best) noexcept {
  // A last projection: impulses lie in their cones exactly.
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    Vec3 r = r_[i];
    r[0] = std::max(r[0], 0.0);
    const double limit = problem.contacts[i].mu * r[0];
    r.tail<2>() = limit > 0 ? Eigen::Vector2d(limit * disc_.project(r.tail<2>() / limit, nullptr))
                            : Eigen::Vector2d(Eigen::Vector2d::Zero());
    trial_[i] = r;
  }
  const double residual = cone_residual(problem, disc_, trial_.data(), residual_y_.data());
  flops_ += 200 * std::uint64_t{problem.count};
  if (!(residual < result.residual)) return;
  result.residual = residual;
  std::copy_n(trial_.begin(), problem.count, best);
}

ConeResult ConeNewton::solve(const ConeProblem& problem, Vec3* r, const ConeOptions& options) noexcept {
  TACTUS_ASSERT(problem.count <= local_.size() && problem.half_size <= y_.size());
  TACTUS_ASSERT(problem.directions == disc_.directions());
  ConeResult result;
  flops_ = 0;
  bool guess = options.warm;
  for (std::uint32_t i = 0; i < problem.count; ++i) guess = guess && r[i].allFinite();
  for (std::uint32_t i = 0; i < problem.count; ++i) {
    r_[i] = guess ? r[i] : Vec3::Zero();
    r[i] = Vec3::Zero();
  }
  if (!cone_finite(problem)) {
    result.status = LcpStatus::not_finite;
    return result;
  }
  prepare(problem);
  result.residual = cone_residual(problem, disc_, r, residual_y_.data());
  keep_best(problem, result, r);
  std::uint32_t sweeps = guess ? 0 : 10;  // the next round's
  while (result.residual > kEnough && result.factorisations < options.newton_max) {
    if (options.flops_max > 0 && flops_ > options.flops_max) break;
    if (result.sweeps + sweeps > options.sweeps_max) break;
    for (std::uint32_t k = 0; k < sweeps; ++k) sweep(problem, r_);
    result.sweeps += sweeps;
    keep_best(problem, result, r);
    for (bool moves = true; moves && result.residual > kEnough && result.factorisations < options.newton_max;) {
      ++result.factorisations;
      moves = newton_step(problem);
      if (moves) keep_best(problem, result, r);
      if (options.flops_max > 0 && flops_ > options.flops_max) break;
    }
    if (result.residual <= kLcpTolerance) break;
    sweeps = std::max(10U, 2 * sweeps);
  }
  if (result.residual <= kLcpTolerance) result.status = LcpStatus::solved;
  std::fill_n(y_.begin(), problem.half_size, 0.0);
  for (std::uint32_t i = 0; i < problem.count; ++i) cone_push(problem.contacts[i], r[i], y_.data());
  result.flops = flops_;
  return result;
}

}  // namespace tactus
