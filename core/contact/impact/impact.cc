#include "core/contact/impact/impact.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/contact/body_response.h"
#include "core/contact/impact/impact_slip.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// Energy gained by an impulse = j.v + j.K.j / 2; positive where Newton's restitution contradicts friction (Stronge).
// The frictionless impulse never gains any: go from it towards j, as far as the gain stays zero. Both give the same
// normal velocity and lie in the friction cone, and so does what is between.
Vec3 within_energy(const Mat3& K, const Vec3& v_rel, const Vec3& frictionless, const Vec3& j) noexcept {
  if (j.dot(v_rel) + 0.5 * j.dot(K * j) <= 0) return j;
  const Vec3 d = j - frictionless;
  const double a = 0.5 * d.dot(K * d), b = d.dot(v_rel + K * frictionless);
  const double c = std::min(0.0, frictionless.dot(v_rel) + 0.5 * frictionless.dot(K * frictionless));
  if (a <= 0) return frictionless;
  // The larger root of a s^2 + b s + c, c <= 0.
  const double root = std::sqrt(b * b - 4 * a * c);
  const double s = b > 0 ? -2 * c / (b + root) : (root - b) / (2 * a);
  TACTUS_DCHECK(not_below(s, 0));
  return frictionless + std::min(s, 1.0) * d;
}

// Poisson's and Stronge's laws never gain energy; what an integration of a tick's accuracy may add is taken away.
Vec3 slip_impulse(const Mat3& K, const Vec3& v_rel, const Vec3& nhat, double restitution, double mu,
                  RestitutionLaw law) noexcept {
  const Vec3 j = integrate_slip(K, v_rel, nhat, restitution, mu, law, kSlipTick).j;
  const double gain = j.dot(v_rel) + 0.5 * j.dot(K * j);
  return gain > 0 ? Vec3(j * (-2 * j.dot(v_rel) / j.dot(K * j))) : j;
}

}  // namespace

Vec3 collision_impulse(const Mat3& K, const Vec3& v_rel, const Vec3& nhat, double restitution, double mu,
                       RestitutionLaw law) noexcept {
  TACTUS_DCHECK(is_symmetric(K) && is_unit(nhat));
  TACTUS_DCHECK(restitution >= 0 && restitution <= 1 && mu >= 0);
  if (law != RestitutionLaw::newton) return slip_impulse(K, v_rel, nhat, restitution, mu, law);
  const double v_n = nhat.dot(v_rel);
  if (v_n >= 0) return Vec3::Zero();
  const double bounce = -(1 + restitution) * v_n;  // wanted change of the normal velocity
  const double K_nn = nhat.dot(K * nhat);
  if (K_nn <= 0) return Vec3::Zero();
  const Vec3 frictionless = nhat * (bounce / K_nn);
  Vec3 j = frictionless;
  if (mu > 0) {
    const Vec3 v_t = v_rel - v_n * nhat;
    const Vec3 stick = K.inverse() * (bounce * nhat - v_t);
    const double stick_n = nhat.dot(stick);
    if (stick_n > 0 && (stick - stick_n * nhat).norm() <= mu * stick_n) {
      j = stick;
    } else if (const double speed = v_t.norm(); speed > 0) {
      const Vec3 direction = nhat - (mu / speed) * v_t;
      const double K_nd = nhat.dot(K * direction);
      if (K_nd > 0) j = direction * (bounce / K_nd);
    }
  }
  return within_energy(K, v_rel, frictionless, j);
}

namespace {

bool approaches(const ImpactContact& c, double epsilon, const Kinematics& kinematics, const State& state) noexcept {
  const Vec3 v_rel = point_velocity(state, kinematics.bodies[c.a], c.a, c.p_WC) -
                     point_velocity(state, kinematics.bodies[c.b], c.b, c.p_WC);
  return c.nhat_BA_W.dot(v_rel) < -epsilon;
}

// News of a hit, to all links of a robot. A body that cannot move, like the floor, carries none.
void tell(const BodyKinematics& k, BodyIndex b, std::uint32_t* body_stamp) noexcept {
  if (k.robot == nullptr) {
    body_stamp[b] += moves(k) ? 1 : 0;
    return;
  }
  for (std::uint32_t link = 0; link < k.robot->link_count(); ++link) ++body_stamp[k.robot->body(link)];
}

// To be treated: new, or one of its bodies was hit through another manifold.
bool wanted(const ImpactContact& c, const std::uint32_t* body_stamp) noexcept {
  return c.pending || body_stamp[c.a] != c.stamp_a || body_stamp[c.b] != c.stamp_b;
}

}  // namespace

ImpactResult resolve_impacts(ImpactContact* contacts, std::uint32_t count, double epsilon, std::uint32_t max_sweeps,
                             const Kinematics& kinematics, std::uint32_t* body_stamp, State& state,
                             RestitutionLaw law) noexcept {
  TACTUS_DCHECK(epsilon >= 0 && body_stamp != nullptr);
  ImpactResult result;
  std::fill(body_stamp, body_stamp + state.body_count(), 0u);
  bool any = true;
  for (std::uint32_t sweep = 0; any; ++sweep) {
    if (sweep == max_sweeps) {
      result.exhausted = std::any_of(contacts, contacts + count, [&](const ImpactContact& c) {
        return wanted(c, body_stamp) && approaches(c, epsilon, kinematics, state);
      });
      break;
    }
    any = false;
    for (std::uint32_t i = 0; i < count; ++i) {
      ImpactContact& c = contacts[i];
      if (!wanted(c, body_stamp)) continue;
      c.pending = false;
      c.stamp_a = body_stamp[c.a], c.stamp_b = body_stamp[c.b];
      const BodyKinematics &ka = kinematics.bodies[c.a], &kb = kinematics.bodies[c.b];
      if (!approaches(c, epsilon, kinematics, state)) continue;
      const Vec3 v_rel = point_velocity(state, ka, c.a, c.p_WC) - point_velocity(state, kb, c.b, c.p_WC);
      const Mat3 K = relative_mobility(kinematics, c.a, c.b, c.p_WC);
      const Vec3 j = collision_impulse(K, v_rel, c.nhat_BA_W, c.restitution, c.mu, law);
      TACTUS_DCHECK(pushes_in_cone(j, c.nhat_BA_W, c.mu));
      apply_impulse(kinematics, c.a, c.p_WC, j, state);
      apply_impulse(kinematics, c.b, c.p_WC, -j, state);
      tell(ka, c.a, body_stamp);
      tell(kb, c.b, body_stamp);
      c.stamp_a = body_stamp[c.a], c.stamp_b = body_stamp[c.b];
      c.hit = any = true;
      ++result.impulses;
    }
  }
  return result;
}

}  // namespace tactus
