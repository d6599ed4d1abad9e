#include "core/contact/solve/contact_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr double kProximal = 1e-5;  // D over a contact's own mobility
// A guess that is this far off changes sides in many contacts at once, where a small D gets nowhere and is raised in
// the end: D begins with the most and comes down.
constexpr double kFarOff = 1e-3;
// Least D, where steps divide the error by too little. Redundant contacts whose gaps contradict each other by 1e-9 of
// what they work against change sides only after their impulses have drifted by all of their size, c / D a step: a D
// below that tolerance gets there in a few. Rounding does not forbid it: c goes on by what is added to it.
constexpr double kProximalLeast = 1e-10;
constexpr double kSolved = 1e-9;
// Guesses that are further off than kOff are first brought near from within the cones (contact_interior.h), and once
// more from further inside where that ended further off than kBrought. What is not solved from there after so many
// factorisations begins anew at the guess, without.
constexpr std::uint32_t kFactorisationsNear = 200, kTrialNear = 100;
// What may have no solution and stays this far off within the cones is left: of 83 such islands of piles 5 had one, and
// needed 100 factorisations for it.
constexpr double kLacking = 1e-3;
// Impulses of a guess that work against so many times the largest free velocity are none.
constexpr double kOverload = 3e3;
constexpr std::uint32_t kContactsOfRow = 4, kManyRows = 24;
constexpr double kOff = 1e-4, kBrought = 1e-6, kFurtherInside = 100;
constexpr int kApproaches = 2;
constexpr int kProximalSteps = 200;
// Factorisations at which no further proximal step is begun: of piles' islands none was solved by more. Where they have
// not come below kHopeless after kTrial of them they end, too (core/DECISIONS.md).
constexpr std::uint32_t kFactorisations = 700, kTrial = 200;
constexpr double kProximalMost = 0.3;
constexpr double kLongerLeap = 4, kLongestLeap = 4096;
constexpr double kSofter = 20, kHarder = 0.3;
constexpr int kNewtonSteps = 30;
constexpr double kOfResidual = 0.1;  // least D over the residual: less asks of far guesses what they cannot give
constexpr double kLower = 0.5;       // a round that succeeds lets D come so much nearer to where it failed
// Impulses of contacts that work against each other without end: this much worse than the best, and wrong by all they
// are.
constexpr double kRunsOff = 100;
// |R| over the impulses' size at which u is found; or a share of the last residual, if that is more.
constexpr double kEquation = 1e-13, kInexact = 1e-2;

// The laws of project_contact() that are linear in parts: G = -dp/dc for c = -D x.
void slopes_of_law(const ProblemContact& contact, const Vec3& x, double inv_D, bool& pushes, Mat3& G) noexcept {
  TACTUS_DCHECK(contact.law != ContactLaw::cone && is_unit(contact.slip) && not_below(inv_D, 0));
  G.setZero();
  const double push = x[0] > 0 ? 1 : 0, limit = contact.mu * std::max(0.0, x[0]);
  const Eigen::Vector2d& s = contact.slip;
  const Eigen::Vector2d across(-s[1], s[0]), t = x.tail<2>();
  const double along = s.dot(t);
  G(0, 0) = push;
  if (contact.law == ContactLaw::sliding) {
    G.bottomLeftCorner<2, 1>() = -push * contact.mu * s;
  } else if (contact.law == ContactLaw::stopping) {
    if (std::abs(along) < limit) {
      G.bottomRightCorner<2, 2>() = s * s.transpose();
    } else {
      G.bottomLeftCorner<2, 1>() = (along > 0 ? push : -push) * contact.mu * s;
    }
  } else {
    if (std::abs(along) < contact.bound) G.bottomRightCorner<2, 2>() += s * s.transpose();
    if (std::abs(across.dot(t)) < contact.bound) G.bottomRightCorner<2, 2>() += across * across.transpose();
  }
  pushes = !G.isZero(0);
  G *= inv_D;
}

}  // namespace

ContactNewton::ContactNewton(std::uint32_t contacts_max, std::uint32_t half_max, std::uint32_t rows_max)
    : matrix_(contacts_max, half_max, rows_max),
      interior_(contacts_max, half_max),
      local_(contacts_max),
      slopes_(contacts_max),
      best_(contacts_max),
      guess_(contacts_max),
      step_(half_max),
      residual_(half_max) {}

void ContactNewton::start(const Context& s, const Vec3* p, double proximal) noexcept {
  scale_ = 0;
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    const std::uint32_t i = s.island.contacts[k];
    const ProblemContact& contact = s.problem.contact(i);
    Local& local = local_[k];
    local.r = p[i];
    const double size = contact.mobility;
    TACTUS_DCHECK(proximal > 0 && not_below(size, 0));
    local.D = proximal * size;
    local.inv_D = local.D > 0 ? 1 / local.D : 0;
  }
}

void ContactNewton::find_velocities(const Context& s) noexcept {
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    const ProblemContact& contact = s.problem.contact(s.island.contacts[k]);
    local_[k].c = velocity(s.problem, contact, s.u) + contact.b;
  }
}

// p = law(r - c / D), and G = -dp/dc. A row of compliance e: p = clamp((D r - c) / (D + e)).
Vec3 ContactNewton::evaluate(const Context& s, const Local& local, const Vec3& c, const ProblemContact& contact,
                             ContactSlope* slopes) noexcept {
  if (slopes != nullptr) slopes->pushes = false;
  if (local.D == 0) return Vec3::Zero();
  if (contact.rows == 1) {
    const double e = local.D + contact.compliance, x = (local.D * local.r[0] - c[0]) / e;
    if (slopes != nullptr) {
      slopes->pushes = x > contact.lo && x < contact.hi;
      slopes->G.setZero();
      slopes->G(0, 0) = 1 / e;
    }
    return {std::clamp(x, contact.lo, contact.hi), 0, 0};
  }
  const double inv_D = local.inv_D;
  // Most contacts are open, and have no friction either.
  if (!(local.r[0] - inv_D * c[0] > 0) && contact.law != ContactLaw::bounded) return Vec3::Zero();
  const Vec3 x = local.r - inv_D * c;
  if (contact.law != ContactLaw::cone) {
    if (slopes != nullptr) slopes_of_law(contact, x, inv_D, slopes->pushes, slopes->G);
    return project_contact(contact, s.disc, x);
  }
  const double limit = contact.mu * std::max(0.0, x[0]);
  Eigen::Vector2d to = Eigen::Vector2d::Zero(), by_limit = to;
  Eigen::Matrix2d slope = Eigen::Matrix2d::Zero();
  if (limit > 0) {
    const Eigen::Vector2d unit = x.tail<2>() / limit, q = s.disc.project(unit, slopes != nullptr ? &slope : nullptr);
    to = limit * q;
    by_limit = contact.mu * (q - slope * unit);
  }
  const Vec3 p(std::max(0.0, x[0]), to[0], to[1]);
  if (slopes == nullptr) return p;
  slopes->pushes = x[0] > 0;
  Mat3& G = slopes->G;
  G.setZero();
  if (x[0] > 0) {
    G(0, 0) = inv_D;
    G(1, 0) = inv_D * by_limit[0], G(2, 0) = inv_D * by_limit[1];
  }
  G.bottomRightCorner<2, 2>() = inv_D * slope;
  return p;
}

// R = u - sum Y p by row of the island; |R|^2.
double ContactNewton::find_residual(const Context& s) noexcept {
  matrix_.gather(s.problem, s.island, s.u, residual_.data());
  scale_ = 0;
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    const ProblemContact& contact = s.problem.contact(s.island.contacts[k]);
    Local& local = local_[k];
    local.p = evaluate(s, local, local.c, contact, &slopes_[k]);
    if (local.p[0] == 0 && local.p[1] == 0 && local.p[2] == 0) continue;
    scale_ += matrix_.take_off(contact, local.p, residual_.data());
  }
  double sum = 0;
  for (std::uint32_t i = 0; i < matrix_.rows(); ++i) sum += residual_[i] * residual_[i];
  return sum;
}

// step_ = -H^-1 R, and what it does to each contact's velocity.
bool ContactNewton::direction(const Context& s) noexcept {
  s.work.spend(matrix_.factor_work());
  if (!matrix_.factor(s.problem, s.island, slopes_.data())) return false;
  for (std::uint32_t i = 0; i < matrix_.rows(); ++i) step_[i] = -residual_[i];
  matrix_.solve(step_.data());
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    local_[k].dc = matrix_.change(s.problem.contact(s.island.contacts[k]), step_.data());
  }
  return true;
}

void ContactNewton::move(const Context& s, double t) noexcept {
  matrix_.move(s.problem, s.island, t, step_.data(), s.u);
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) local_[k].c += t * local_[k].dc;
}

// Newton. False: no step makes |R| smaller.
bool ContactNewton::follow(const Context& s, std::uint32_t& iterations, double tol) noexcept {
  TACTUS_DCHECK(tol > 0);
  double norm = find_residual(s);
  for (int k = 0; k < kNewtonSteps; ++k) {
    if (!(norm > tol * tol * scale_)) return norm == norm;
    if (s.work.spent()) return false;
    ++iterations;
    if (!direction(s)) return false;
    double t = 1, next = 0;
    move(s, 1);
    for (int halving = 0;; ++halving) {
      next = find_residual(s);
      s.work.spend(matrix_.look_work());
      if (next < (1 - 1e-3 * t) * norm) break;
      if (halving == 6) {
        move(s, -t);
        return norm < std::max(1e-20, tol * tol) * scale_;
      }
      move(s, -0.5 * t);
      t *= 0.5;
    }
    norm = next;
  }
  return false;
}

// Where impulses that no velocity feels drift at an even pace to where they belong: as many proximal steps at once.
void ContactNewton::go_on(const Context& s, double leap, Vec3* p) noexcept {
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
    const std::uint32_t i = s.island.contacts[k];
    p[i] = project_contact(s.problem.contact(i), s.disc, p[i] + (leap - 1) * (p[i] - local_[k].r));
  }
  sum_impulses(s.problem, s.island, p, s.u);
}

void ContactNewton::keep(const Context& s, double residual, const Vec3* p, ContactSolution& best) noexcept {
  if (!(residual < best.residual)) return;
  best.residual = residual;
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) best_[k] = p[s.island.contacts[k]];
}

void ContactNewton::give_best(const Context& s, Vec3* p) const noexcept {
  for (std::size_t k = 0; k < s.island.contacts.size(); ++k) p[s.island.contacts[k]] = best_[k];
  sum_impulses(s.problem, s.island, p, s.u);
}

// From p, of this residual: proximal steps, `most` factorisations or a little more; `trial` of them where that is still
// hopeless.
void ContactNewton::take_steps(const Context& s, const NewtonOptions& options, std::uint32_t most, std::uint32_t trial,
                               double residual, Vec3* p, ContactSolution& best) noexcept {
  const std::uint32_t begin = best.iterations, end = begin + most;
  double proximal = options.softly && residual > kFarOff ? kProximalMost : kProximal, last = residual, least = residual,
         leap = 1;
  double lowest = kProximalLeast;  // of D: below it follow() failed
  for (int step = 0; step < kProximalSteps && best.iterations < end && !(last <= options.enough); ++step) {
    if (s.work.spent() || (least > kHopeless && best.iterations > begin + trial)) break;
    start(s, p, proximal);
    find_velocities(s);
    const bool found = follow(s, best.iterations, std::max(kEquation, kInexact * std::min(last, 1.0)));
    if (found) {
      for (std::size_t k = 0; k < s.island.contacts.size(); ++k) {
        const ProblemContact& contact = s.problem.contact(s.island.contacts[k]);
        p[s.island.contacts[k]] = project_contact(contact, s.disc, local_[k].p);
      }
    } else {
      lowest = std::max(lowest, 2 * proximal);
    }
    sum_impulses(s.problem, s.island, p, s.u);
    residual = island_residual(s.problem, s.island, s.disc, p, s.u);
    if (!(residual < 1) && !(residual < kRunsOff * least)) break;
    keep(s, residual, p, best);
    least = std::min(least, residual);
    if (!found) {
      proximal = std::min(kSofter * proximal, kProximalMost);
    } else if (residual > 0.1 * last) {
      if (best.residual <= kSolved && residual > 0.5 * last) break;
      if (proximal > lowest) {
        proximal = std::max(kHarder * proximal, lowest);
      } else {
        leap = residual > 0.5 * last && residual < 2 * last ? std::min(kLongerLeap * leap, kLongestLeap) : 1;
        go_on(s, leap, p);
      }
    } else if (proximal > kProximal) {
      proximal = std::max({0.1 * proximal, kProximal, lowest});
    }
    if (found) lowest = std::max(kLower * lowest, kProximalLeast);
    if (found) proximal = std::max(proximal, kOfResidual * std::min(residual, 1.0));
    last = residual;
  }
  give_best(s, p);
}

// Contacts that were without an answer and pressed against each other leave impulses behind that nothing needs, and
// that no solution is near to.
bool ContactNewton::is_overloaded(const Context& s, const Vec3* p) noexcept {
  double fastest = 0, largest = 0;
  for (const std::uint32_t i : s.island.contacts) {
    const ProblemContact& contact = s.problem.contact(i);
    fastest = std::max(fastest, contact.b.cwiseAbs().maxCoeff());
    largest = std::max(largest, contact.mobility * p[i].cwiseAbs().maxCoeff());
  }
  return largest > kOverload * fastest;
}

// Is coming near from within the cones worth trying first? All contacts cost something there in each step, and few
// bodies are solved by proximal steps soon enough. It is, too, where it tells that there is no solution.
bool ContactNewton::pays(const ContactIsland& island, const NewtonOptions& options) const noexcept {
  if (island.contacts.size() > kContactsOfRow * matrix_.rows()) return false;
  return options.may_lack || matrix_.rows() >= kManyRows;
}

// From within the cones; what gets stuck there tries once more from further inside.
void ContactNewton::come_near(const Context& s, Vec3* p, ContactSolution& best) noexcept {
  double inside = std::min(1.0, best.residual);
  for (int k = 0; k < kApproaches && best.residual > kBrought; ++k) {
    best.iterations += interior_.approach(s.problem, s.island, s.disc, inside, matrix_, p, s.u, s.work);
    matrix_.forget();
    keep(s, island_residual(s.problem, s.island, s.disc, p, s.u), p, best);
    give_best(s, p);
    inside = std::min(1.0, kFurtherInside * inside);
  }
}

ContactSolution ContactNewton::solve(const ContactProblem& problem, const ContactIsland& island,
                                     const FrictionDisc& disc, Vec3* p, double* u, SolverWork& work,
                                     const NewtonOptions& options) noexcept {
  TACTUS_DCHECK(island.contacts.size() <= local_.size() && options.enough > 0);
  const Context s{problem, island, disc, u, work};
  ContactSolution best;
  if (is_overloaded(s, p)) {
    for (const std::uint32_t i : island.contacts) p[i].setZero();
  }
  sum_impulses(s.problem, s.island, p, s.u);
  const double residual = island_residual(problem, island, disc, p, u);
  best.residual = residual;
  for (std::size_t k = 0; k < island.contacts.size(); ++k) guess_[k] = best_[k] = p[island.contacts[k]];
  const double enough = std::max(kSolved, options.enough);
  const bool far = options.softly && residual > kOff && ContactInterior::takes(problem, island, disc);
  const auto solved = [&] { return best.residual <= enough || work.spent(); };
  const auto begin_anew = [&] {
    for (std::size_t k = 0; k < island.contacts.size(); ++k) p[island.contacts[k]] = guess_[k];
    sum_impulses(s.problem, s.island, p, s.u);
  };
  if (!far || !pays(island, options)) {
    take_steps(s, options, kFactorisations, kTrial, residual, p, best);
    if (!far || solved()) return best;
    begin_anew();
    come_near(s, p, best);
    take_steps(s, options, kFactorisationsNear, kTrialNear, best.residual, p, best);
    return best;
  }
  come_near(s, p, best);
  if (options.may_lack && best.residual > kLacking) return best;
  take_steps(s, options, kFactorisationsNear, kTrialNear, best.residual, p, best);
  if (solved() || (options.may_lack && best.residual > kHopeless)) return best;
  begin_anew();
  take_steps(s, options, kFactorisations, kTrial, residual, p, best);
  return best;
}

}  // namespace tactus
