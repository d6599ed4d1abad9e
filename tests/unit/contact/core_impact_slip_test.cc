// One frictional collision followed in the normal impulse: Routh's and Wang & Mason's planar classes in closed form,
// Keller's slip in three dimensions against small steps, and the case in which Newton's law makes energy.
#include "core/contact/impact/impact_slip.h"

#include <algorithm>

#include "core/contact/impact/impact.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
constexpr RestitutionLaw kLaws[] = {RestitutionLaw::newton, RestitutionLaw::poisson, RestitutionLaw::stronge};

// A body of mass m and radius of gyration k in a plane, hit at x along the surface and y above its centre.
struct Planar {
  double k_nn, k_nt, k_tt;
  Planar(double m, double k, double x, double y)
      : k_nn((1 + x * x / (k * k)) / m), k_nt(-x * y / (k * k) / m), k_tt((1 + y * y / (k * k)) / m) {}
};

enum class Class : int {
  sliding,
  sticks_in_compression,
  sticks_in_restitution,
  turns_in_compression,
  turns_in_restitution
};

// Wang & Mason 1992 (Routh's construction): the impulses of a planar collision, slip s0, approach -v0 < 0.
struct PlanarImpact {
  Class kind;
  double p, j_t;
};
PlanarImpact planar_impact(const Planar& K, double s0, double v0, double e, double mu, RestitutionLaw law) {
  const double side = s0 > 0 ? 1 : -1;
  const double a1 = K.k_nn - mu * side * K.k_nt, b1 = K.k_nt - mu * side * K.k_tt;
  const double p_stop = b1 * side < 0 ? -s0 / b1 : INFINITY;
  const bool sticks = std::abs(K.k_nt) <= mu * K.k_tt;
  const double d2 = sticks ? -K.k_nt / K.k_tt : mu * side, a2 = K.k_nn + d2 * K.k_nt;
  const auto ended = [&](Class kind, double p) {
    return PlanarImpact{kind, p, kind == Class::sliding ? -mu * side * p : -mu * side * p_stop + d2 * (p - p_stop)};
  };
  const double v_stop = v0 + a1 * p_stop;
  if (p_stop < INFINITY && v_stop < 0) {
    const double p_c = p_stop - v_stop / a2;
    const double W_c = v0 * p_stop + a1 * p_stop * p_stop / 2 - v_stop * v_stop / (2 * a2);
    const double more = law == RestitutionLaw::newton    ? -e * v0 / a2
                        : law == RestitutionLaw::poisson ? e * p_c
                                                         : e * std::sqrt(-2 * W_c / a2);
    return ended(sticks ? Class::sticks_in_compression : Class::turns_in_compression, p_c + more);
  }
  const double p_c = -v0 / a1;
  if (p_stop >= (1 + e) * p_c) return ended(Class::sliding, (1 + e) * p_c);  // the three laws agree
  const Class kind = sticks ? Class::sticks_in_restitution : Class::turns_in_restitution;
  if (law == RestitutionLaw::newton) return ended(kind, p_stop + (-e * v0 - v_stop) / a2);
  if (law == RestitutionLaw::poisson) return ended(kind, (1 + e) * p_c);
  const double missing = (e * e * v0 * v0 - v_stop * v_stop) / (2 * a1);  // work, over slope a1 until the stop
  return ended(kind, p_stop + (std::sqrt(v_stop * v_stop + 2 * a2 * missing) - v_stop) / a2);
}

// The planar K in space: u along the surface, w across the plane.
Mat3 in_space(const Planar& K, const Vec3& u, const Vec3& n, double k_ww) {
  const Vec3 w = n.cross(u);
  return K.k_tt * u * u.transpose() + K.k_nn * n * n.transpose() + K.k_nt * (u * n.transpose() + n * u.transpose()) +
         k_ww * w * w.transpose();
}

TEST_CASE("integrate_slip: rods and discs in a plane, all classes of Wang and Mason in closed form") {
  Random random(1);
  int seen[5] = {0, 0, 0, 0, 0};
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    const double m = random.log_uniform(0.1, 10), length = random.log_uniform(0.1, 2), angle = random.uniform(0, M_PI);
    const bool disc = random.chance(0.2);
    // A slender rod, struck at its end; a disc, struck at its rim.
    const Planar K = disc ? Planar(m, length / std::sqrt(2.0), 0, -length)
                          : Planar(m, length / std::sqrt(3.0), length * std::cos(angle), -length * std::sin(angle));
    const double s0 = random.uniform(-2, 2), v0 = -random.uniform(0.1, 2), e = random.uniform(0, 1);
    const double mu = random.uniform(0.01, 1.5);
    const Vec3 n = random.direction(), u = n.unitOrthogonal();
    for (const RestitutionLaw law : kLaws) {
      const PlanarImpact expected = planar_impact(K, s0, v0, e, mu, law);
      const SlipProcess found =
          integrate_slip(in_space(K, u, n, 1 / m), s0 * u + v0 * n, n, e, mu, law, kSlipReference);
      const Vec3 j = expected.p * n + expected.j_t * u;
      worst = std::max(worst, (found.j - j).norm() / j.norm());
      ++seen[static_cast<int>(expected.kind)];
      CHECK(found.reversed == (expected.kind >= Class::turns_in_compression));
      CHECK((found.stopped == SlipEnd::never) == (expected.kind == Class::sliding));
    }
  }
  for (const int count : seen) CHECK(count > 300);
  CHECK_WITHIN(worst, 1e-11);
}

Mat3 random_collision_matrix(Random& random) {
  Mat3 K = Mat3::Zero();
  for (int side = 0; side < 2; ++side) {
    if (side == 1 && random.chance(0.3)) break;  // against something fixed
    const double mass = random.log_uniform(0.1, 10), size = random.log_uniform(0.1, 1);
    const Mat3 rx = skew(random.in_cube(size));
    K += Mat3::Identity() / mass - rx * random.inertia(mass, size).inverse() * rx;
  }
  return 0.5 * (K + K.transpose());
}

// Friction of one small step dp: of all impulses in the disc of radius mu dp the one that takes most energy. Knows
// nothing of slipping and sticking.
Eigen::Vector2d most_dissipating(const Eigen::Matrix2d& K_t, const Eigen::Vector2d& s, double radius) {
  const Eigen::Vector2d stick = -K_t.inverse() * s;
  if (stick.norm() <= radius) return stick;
  double lo = 0, hi = s.norm() / radius;
  const auto at = [&](double x) { return Eigen::Vector2d(-(K_t + x * Eigen::Matrix2d::Identity()).inverse() * s); };
  for (int i = 0; i < 60; ++i) (at(0.5 * (lo + hi)).norm() > radius ? lo : hi) = 0.5 * (lo + hi);
  return at(hi);
}

Vec3 small_steps(const Mat3& K, const Vec3& v, const Vec3& n, double e, double mu, RestitutionLaw law, double dp) {
  Mat3 B;
  B.col(0) = n.unitOrthogonal(), B.col(1) = n.cross(B.col(0)), B.col(2) = n;
  const Mat3 K_B = B.transpose() * K * B;
  const Eigen::Matrix2d K_t = K_B.topLeftCorner<2, 2>();
  const double v0 = n.dot(v);
  Vec3 j = Vec3::Zero(), now = B.transpose() * v;
  double work = 0, p_c = -1, work_c = 0;
  for (;;) {
    const bool compressed = p_c >= 0;
    if (compressed && law == RestitutionLaw::newton && now.z() >= -e * v0) break;
    if (compressed && law == RestitutionLaw::poisson && j.z() >= (1 + e) * p_c) break;
    if (compressed && law == RestitutionLaw::stronge && work >= (1 - e * e) * work_c) break;
    const Eigen::Vector2d s = now.head<2>() + K_B.block<2, 1>(0, 2) * dp;
    const Eigen::Vector2d f = most_dissipating(K_t, s, mu * dp);
    const Vec3 step(f.x(), f.y(), dp);
    const Vec3 next = now + K_B * step;
    work += 0.5 * (now.z() + next.z()) * dp;
    j += step, now = next;
    if (!compressed && now.z() >= 0) p_c = j.z(), work_c = work;
  }
  return B * j;
}

TEST_CASE("integrate_slip: Keller's slip in three dimensions is what small steps of most dissipation converge to") {
  Random random(2);
  double coarse = 0, fine = 0, worst = 0;
  int stopped = 0, curved = 0;
  for (int i = 0; i < 60; ++i) {
    const Mat3 K = random_collision_matrix(random);
    const Vec3 n = random.direction();
    Vec3 v = random.in_cube(1) - n;
    v += std::max(0.0, n.dot(v) + 0.1) * -2 * n;
    const double e = random.uniform(0, 1), mu = random.uniform(0.1, 1.5);
    const RestitutionLaw law = kLaws[i % 3];
    const SlipProcess exact = integrate_slip(K, v, n, e, mu, law, kSlipReference);
    const double size = exact.j.norm();
    const double few = (small_steps(K, v, n, e, mu, law, n.dot(exact.j) / 1000) - exact.j).norm() / size;
    const double many = (small_steps(K, v, n, e, mu, law, n.dot(exact.j) / 8000) - exact.j).norm() / size;
    coarse += few, fine += many, worst = std::max(worst, many);
    stopped += exact.stopped != SlipEnd::never, curved += exact.steps > 0;
  }
  MESSAGE("mean difference with 1000 steps " << coarse / 60 << ", with 8000 " << fine / 60 << "; stopped " << stopped
                                             << ", curved " << curved);
  CHECK(stopped > 8);
  CHECK(curved > 30);
  CHECK_WITHIN(worst, 2e-3);
  CHECK(fine < 0.2 * coarse);  // first order: an eighth
}

TEST_CASE("integrate_slip: slip along an invariant direction keeps it, and needs no integration") {
  Random random(3);
  int integrated = 0;  // rounding may turn a slip that hardly changes its speed
  for (int i = 0; i < 2000; ++i) {
    // K_t with axes t1, t2 and K_nt along t1: t1 is invariant both ways.
    const Vec3 n = random.direction(), t1 = n.unitOrthogonal(), t2 = n.cross(t1);
    const double k1 = random.uniform(1, 3), k2 = random.uniform(1, 3), k_nn = random.uniform(1, 3);
    const double k_nt = random.uniform(-0.99, 0.99) * std::sqrt(k1 * k_nn);
    const Mat3 K = k1 * t1 * t1.transpose() + k2 * t2 * t2.transpose() + k_nn * n * n.transpose() +
                   k_nt * (t1 * n.transpose() + n * t1.transpose());
    const double mu = random.uniform(0, 1), e = random.uniform(0, 1);
    const double along = random.uniform(-1, 1), down = random.uniform(0.1, 1);
    const SlipProcess r = integrate_slip(K, along * t1 - down * n, n, e, mu, RestitutionLaw::stronge, kSlipReference);
    integrated += r.steps > 0;
    CHECK_WITHIN(t2.dot(r.j) / r.j.norm(), 1e-12);
  }
  CHECK(integrated < 10);
}

TEST_CASE("integrate_slip: slip that friction cannot hold leaves in the direction that it keeps") {
  Random random(4);
  int left = 0;
  for (int i = 0; i < 3000; ++i) {
    const Mat3 K = random_collision_matrix(random);
    const Vec3 n = random.direction(), v = -random.uniform(0.1, 1) * n;  // no slip at first
    const double mu = random.uniform(0, 0.3);
    const SlipProcess r = integrate_slip(K, v, n, 0.5, mu, RestitutionLaw::poisson, kSlipReference);
    const Vec3 after = v + K * r.j, s = after - n.dot(after) * n, j_t = r.j - n.dot(r.j) * n;
    CHECK(r.steps == 0);
    if (r.reversed) {
      ++left;
      CHECK_WITHIN((j_t + mu * n.dot(r.j) * s.normalized()).norm() / r.j.norm(), 1e-11);
    } else if (mu > 0) {
      CHECK_WITHIN(s.norm() / v.norm(), 1e-11);
      CHECK(j_t.norm() <= mu * n.dot(r.j) * (1 + 1e-12));
    }
  }
  CHECK(left > 300);
}

TEST_CASE("Newton's law gains energy where friction holds or turns the slip; ours, Poisson's and Stronge's do not") {
  // A slender rod at 45 degrees on a rough floor; its end slips slowly in the direction into which the rod leans.
  const Planar plane(1, 1 / std::sqrt(3.0), std::sqrt(0.5), -std::sqrt(0.5));
  const Vec3 n = Vec3::UnitZ(), u = Vec3::UnitX();
  const Mat3 K = in_space(plane, u, n, 1);
  const double mu = 1, e = 1;
  double most = 0;
  for (const double s0 : {-0.6, -0.3, 0.3, 0.6}) {
    const Vec3 v = s0 * u - n;
    const double before = 0.5 * v.dot(K.inverse() * v);
    const auto gain = [&](const Vec3& j) { return (j.dot(v) + 0.5 * j.dot(K * j)) / before; };
    most = std::max(most, gain(integrate_slip(K, v, n, e, mu, RestitutionLaw::newton, kSlipReference).j));
    for (const RestitutionLaw law : kLaws) CHECK(gain(collision_impulse(K, v, n, e, mu, law)) <= 1e-14);
    for (const RestitutionLaw law : {RestitutionLaw::poisson, RestitutionLaw::stronge})
      CHECK(gain(integrate_slip(K, v, n, e, mu, law, kSlipReference).j) <= 1e-14);
  }
  MESSAGE("Newton's law alone gains up to " << 100 * most << " % of the energy that the contact can exchange");
  CHECK(most > 0.1);
}

TEST_CASE("integrate_slip: a tick's accuracy is near the reference's") {
  Random random(5);
  int far = 0, compared = 0;
  double mean = 0;
  for (int i = 0; i < 3000; ++i) {
    const Mat3 K = random_collision_matrix(random);
    const Vec3 n = random.direction(), v = random.in_cube(1);
    if (n.dot(v) >= 0) continue;
    const double e = random.uniform(0, 1), mu = random.uniform(0, 1.5);
    const SlipProcess exact = integrate_slip(K, v, n, e, mu, RestitutionLaw::stronge, kSlipReference);
    const SlipProcess quick = integrate_slip(K, v, n, e, mu, RestitutionLaw::stronge, kSlipTick);
    const double off = (quick.j - exact.j).norm() / exact.j.norm();
    mean += off;
    far += off > 1e-3;
    ++compared;
  }
  MESSAGE("mean relative difference " << mean / compared << ", over 1e-3: " << far << " of " << compared);
  CHECK_WITHIN(mean / compared, 1e-4);
  CHECK(far < compared / 200);
}

}  // namespace
}  // namespace tactus
