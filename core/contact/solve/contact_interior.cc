#include "core/contact/solve/contact_interior.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr double kNear = 1e-7;  // the residual at which proximal steps take over
constexpr std::uint32_t kSteps = 40;
constexpr double kShare = 0.9;        // of the way to the boundary, or all but what complementarity has fallen to
constexpr double kLeastSigma = 1e-8;  // some of the mean is always asked for
constexpr double kStuck = 1e-4, kShort = 0.1;  // a step that ends it; as short as this for more than kShortSteps
constexpr int kShortSteps = 4;
constexpr double kLong = 0.5;  // after a step shorter than this it is not near yet
// Contacts without impulse that open at so many times what the others close or slide at take no part.
constexpr double kAway = 1;
// An impulse that is worth less than this of its contact's velocity is none.
constexpr double kOpen = 1e-3;
// An impulse that gives way by less than this, times its contact's mobility, is not in the matrix.
constexpr double kStiff = 1e-12;

}  // namespace

ContactInterior::ContactInterior(std::uint32_t contacts_max, std::uint32_t half_max)
    : pairs_(contacts_max), slopes_(contacts_max), u_(half_max), step_(half_max) {}

bool ContactInterior::takes(const ContactProblem& problem, const ContactIsland& island,
                            const FrictionDisc& disc) noexcept {
  if (disc.directions() != 0) return false;
  for (const std::uint32_t i : island.contacts) {
    const ProblemContact& contact = problem.contact(i);
    if (contact.rows != 3 || (contact.law == ContactLaw::bounded && contact.bound > 0)) return false;
  }
  return true;
}

void ContactInterior::begin(const Context& s, double inside, Vec3* p, double* u) noexcept {
  TACTUS_DCHECK(inside >= 0 && inside <= 1 && s.island.contacts.size() <= pairs_.size());
  count_ = s.island.contacts.size();
  acting_ = 0;
  // What closes or slides; what is far away opens faster than anything.
  double fastest = 0;
  for (const std::uint32_t i : s.island.contacts) {
    const Vec3& b = s.problem.contact(i).b;
    fastest = std::max({fastest, -b[0], std::abs(b[1]), std::abs(b[2])});
  }
  for (std::size_t k = 0; k < count_; ++k) {
    const std::uint32_t i = s.island.contacts[k];
    const ProblemContact& contact = s.problem.contact(i);
    Pair& pair = pairs_[k];
    pair.c = velocity(s.problem, contact, u) + contact.b;
    const bool away = p[i][0] == 0 && std::min(pair.c[0], contact.b[0]) > kAway * fastest;
    pair.acts = contact.mobility > 0 && !away;
    if (!pair.acts) continue;
    ++acting_;
    pair.L.setZero();
    pair.D.setZero();
    const bool cone = contact.mu > 0 && (contact.law == ContactLaw::cone || contact.law == ContactLaw::stopping);
    const double mu = cone ? contact.mu : 1;
    pair.L(0, 0) = pair.D(0, 0) = 1 / mu;
    if (cone && contact.law == ContactLaw::cone) {
      pair.L(1, 1) = pair.D(1, 1) = pair.L(2, 2) = pair.D(2, 2) = 1;
    } else if (cone) {
      pair.L.col(1).tail<2>() = contact.slip;
      pair.D.row(1).tail<2>() = contact.slip.transpose();
    } else if (contact.law == ContactLaw::sliding) {
      pair.L.col(0).tail<2>() = -contact.mu * contact.slip;
    }
    pair.z = pair.D * pair.c;
    for (Eigen::Index l = 1; l < 3; ++l) pair.x[l] = pair.D.row(l) * p[i];
    pair.x[0] = mu * (std::max(0.0, p[i][0]) + inside * fastest / contact.mobility);
    pair.z[0] = (std::max(0.0, pair.c[0]) + inside * fastest) / mu + pair.z.tail<2>().norm();
    TACTUS_DCHECK(in_cone(pair.x, 1) && in_cone(pair.z, 1));  // the method's steps stay within
  }
  // u and c of impulses that are moved inside.
  for (std::size_t k = 0; k < count_; ++k) {
    p[s.island.contacts[k]] = pairs_[k].acts ? Vec3(pairs_[k].L * pairs_[k].x) : Vec3(Vec3::Zero());
  }
  sum_impulses(s.problem, s.island, p, u);
  s.matrix.gather(s.problem, s.island, u, u_.data());
  for (std::size_t k = 0; k < count_; ++k) {
    const ProblemContact& contact = s.problem.contact(s.island.contacts[k]);
    pairs_[k].c = velocity(s.problem, contact, u) + contact.b;
  }
}

// The matrix's slopes, and the step towards x o z = 0.
void ContactInterior::scale(const Context& s) noexcept {
  for (std::size_t k = 0; k < count_; ++k) {
    Pair& pair = pairs_[k];
    ContactSlope& slope = slopes_[k];
    slope.pushes = pair.acts;
    if (!pair.acts) continue;
    pair.D_now = pair.D;
    const double length = pair.z.tail<2>().norm();
    if (length > 0) pair.D_now.row(0) += pair.z.tail<2>().transpose() / length * pair.D.bottomRows<2>();
    pair.lack = pair.z - pair.D_now * pair.c;
    pair.W = ConeScaling(pair.x, pair.z);
    pair.lambda = pair.W.apply(pair.z);
    pair.pull = pair.W.apply_twice(pair.lack) - pair.x;
    slope.G = pair.L * (pair.W.square() * pair.D_now);
    const double size = s.problem.contact(s.island.contacts[k]).mobility;
    slope.pushes = !(slope.G.cwiseAbs().maxCoeff() * size < kStiff);
  }
}

// From the factor: u, c, x and z change together.
void ContactInterior::find_step(const Context& s) noexcept {
  std::copy_n(u_.begin(), s.matrix.rows(), step_.begin());
  for (std::size_t k = 0; k < count_; ++k) {
    const Pair& pair = pairs_[k];
    if (pair.acts) {
      s.matrix.take_off(s.problem.contact(s.island.contacts[k]), pair.L * (pair.x + pair.pull), step_.data());
    }
  }
  for (std::uint32_t i = 0; i < s.matrix.rows(); ++i) step_[i] = -step_[i];
  s.matrix.solve(step_.data());
  for (std::size_t k = 0; k < count_; ++k) {
    Pair& pair = pairs_[k];
    if (!pair.acts) continue;
    pair.dc = s.matrix.change(s.problem.contact(s.island.contacts[k]), step_.data());
    const Vec3 dz = pair.D_now * pair.dc;
    pair.dz = dz - pair.lack;
    pair.dx = pair.pull - pair.W.apply_twice(dz);
  }
}

// Mehrotra's second step: towards x o z = sigma mean e, with what the first one leaves out.
void ContactInterior::correct(double sigma_mean) noexcept {
  for (std::size_t k = 0; k < count_; ++k) {
    Pair& pair = pairs_[k];
    if (!pair.acts) continue;
    const Vec3 rest = sigma_mean * Vec3::UnitX() - cone_product(pair.lambda, pair.lambda) -
                      cone_product(pair.W.apply_inverse(pair.dx), pair.W.apply(pair.dz));
    pair.pull = pair.W.apply(cone_quotient(rest, pair.lambda)) + pair.W.apply_twice(pair.lack);
  }
}

double ContactInterior::longest() const noexcept {
  double t = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < count_; ++k) {
    const Pair& pair = pairs_[k];
    if (pair.acts) t = std::min({t, longest_in_cone(pair.x, pair.dx), longest_in_cone(pair.z, pair.dz)});
  }
  return t;
}

// mean(x . z) after t of the step.
double ContactInterior::mean_at(double t) const noexcept {
  TACTUS_DCHECK(acting_ > 0);
  double sum = 0;
  for (std::size_t k = 0; k < count_; ++k) {
    const Pair& pair = pairs_[k];
    if (pair.acts) sum += (pair.x + t * pair.dx).dot(pair.z + t * pair.dz);
  }
  return sum / static_cast<double>(acting_);
}

void ContactInterior::go(const Context& s, double t) noexcept {
  for (std::uint32_t i = 0; i < s.matrix.rows(); ++i) u_[i] += t * step_[i];
  for (std::size_t k = 0; k < count_; ++k) {
    Pair& pair = pairs_[k];
    if (!pair.acts) continue;
    const double before = pair.z.tail<2>().norm();
    const double told = before > 0 ? pair.z.tail<2>().dot(pair.dz.tail<2>()) / before : 0;
    pair.c += t * pair.dc;
    pair.x += t * pair.dx;
    pair.z += t * pair.dz;
    if (before > 0) pair.z[0] += std::max(0.0, pair.z.tail<2>().norm() - before - t * told);
  }
}

void ContactInterior::put_out(const Context& s, const FrictionDisc& disc, Vec3* p, double* u) const noexcept {
  for (std::size_t k = 0; k < count_; ++k) {
    const std::uint32_t i = s.island.contacts[k];
    const ProblemContact& contact = s.problem.contact(i);
    const Pair& pair = pairs_[k];
    const double p_n = pair.L(0, 0) * pair.x[0], c_n = pair.z[0] / pair.L(0, 0);
    const bool open = !pair.acts || p_n * contact.mobility < kOpen * c_n;
    p[i] = open ? Vec3(Vec3::Zero()) : project_contact(contact, disc, pair.L * pair.x);
  }
  sum_impulses(s.problem, s.island, p, u);
}

std::uint32_t ContactInterior::approach(const ContactProblem& problem, const ContactIsland& island,
                                        const FrictionDisc& disc, double inside, ContactMatrix& matrix, Vec3* p,
                                        double* u, SolverWork& work) noexcept {
  const Context s{problem, island, matrix};
  begin(s, inside, p, u);
  if (acting_ == 0) return 0;
  std::uint32_t factorisations = 0;
  int short_steps = 0;
  const double first = mean_now();
  for (std::uint32_t k = 0; k < kSteps && !work.spent(); ++k) {
    scale(s);
    work.spend(matrix.factor_work());
    ++factorisations;
    if (!matrix.factor(problem, island, slopes_.data())) break;
    find_step(s);
    const double mean = mean_now(), share = std::clamp(mean_at(std::min(1.0, longest())) / mean, 0.0, 1.0);
    correct(std::max(kLeastSigma, share * share * share) * mean);
    find_step(s);
    work.spend(matrix.look_work());
    const double t = std::min(1.0, std::max(kShare, 1 - mean / first) * longest());
    if (!(t > kStuck)) break;
    go(s, t);
    short_steps = t < kShort ? short_steps + 1 : 0;
    if (short_steps > kShortSteps) break;
    if (t < kLong) continue;
    put_out(s, disc, p, u);
    if (!(island_residual(problem, island, disc, p, u) >= kNear)) return factorisations;
  }
  put_out(s, disc, p, u);
  return factorisations;
}

}  // namespace tactus
