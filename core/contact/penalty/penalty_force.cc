#include "core/contact/penalty/penalty_force.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/contact/body_response.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// What one evaluation needs per point, from either kind of evaluation: position relative to p_ref, depth and approach.
struct Sums {
  double N = 0;            // sum of f
  Vec3 Np = Vec3::Zero();  // sum of f * d
  double Nd2 = 0;          // sum of f * |d|^2
  std::uint32_t active = 0;
};

struct PatchFriction {
  Vec3 force;     // on A, tangential [N]
  double moment;  // on A, about the normal [N m]
};

// Friction of the patch at its pressure centre: a tangential and a torsional spring-damper (as if springs stood at all
// points: the torsional stiffness is radius2 times the tangential one), together inside the limit surface |F|^2 + (M /
// R)^2 <= (mu N)^2. One surface for both, because friction has one budget: with two separate limits a spinning box was
// braked by a tenth too much, its centre driven around by a friction that the spin had used up. The springs are clipped
// with the force.
PatchFriction friction(PenaltyContact& c, Vec3& stretch, double& twist, const Vec3& v_t, double w_n, double N,
                       double radius2) noexcept {
  PatchFriction f{-c.kp * stretch - c.kv * v_t, -radius2 * (c.kp * twist + c.kv * w_n)};
  const double turning2 = radius2 > 0 ? f.moment * f.moment / radius2 : 0.0;
  const double size2 = f.force.squaredNorm() + turning2;
  const double mu = sliding_friction(c, v_t.squaredNorm() + radius2 * w_n * w_n);
  const double stick = (c.was_slipping ? mu : c.mu_static) * N;
  c.slipped = size2 > stick * stick;
  if (c.slipped) {
    const double scale = mu * N / std::sqrt(size2);
    f.force *= scale;
    f.moment *= scale;
    stretch = c.kp > 0 ? Vec3(-f.force / c.kp) : Vec3::Zero();
    twist = c.kp * radius2 > 0 ? -f.moment / (c.kp * radius2) : 0.0;
  }
  const auto square = [&](const PatchFriction& g) {
    return g.force.squaredNorm() + (radius2 > 0 ? g.moment * g.moment / radius2 : 0.0);
  };
  TACTUS_DCHECK(not_above(square(f), std::max(stick * stick, mu * N * mu * N) * (1 + kRoundingCheck) + 1e-300));
  if (radius2 <= 0) twist = 0;
  f.force -= c.viscous * v_t;
  return f;
}

// No force, no memory: the springs of a contact that carries nothing are relaxed.
void release(PenaltyContact& c) noexcept {
  c.normal_force = 0;
  c.slipped = false;
  c.stretch.setZero();
  c.twist = 0;
}

// Turns the normal forces left in point_force into each point's share of the whole force.
void share_force(const PenaltyContact& c, const Vec3& force, double sum, double N, SpatialForce* point_force) noexcept {
  TACTUS_DCHECK(!(sum <= 0));
  const Vec3 tangential = (force - N * c.nhat_BA_W) / sum;
  for (std::uint32_t i = 0; i < c.count; ++i) {
    Vec3& f = point_force[c.chosen[i]].force;
    f = (N / sum) * f + c.nhat_BA_W.dot(f) * tangential;
  }
}

}  // namespace

double sliding_friction(const PenaltyContact& c, double speed2) noexcept {
  if (c.stribeck_velocity <= 0) return c.mu_dynamic;
  return c.mu_dynamic + (c.mu_static - c.mu_dynamic) * std::exp(-speed2 / (c.stribeck_velocity * c.stribeck_velocity));
}

void evaluate(StageKind kind, PenaltyContact& c, const StageBody& a, const StageBody& b, SpatialForce& F_A,
              SpatialForce& F_B, SpatialForce* point_force) noexcept {
  TACTUS_DCHECK(is_unit(c.nhat_BA_W) && c.count > 0);
  const Vec3& nhat = c.nhat_BA_W;
  const Vec3 r_a = c.p_ref - a.x, r_b = c.p_ref - b.x, dw = a.w - b.w;
  const Vec3 v_ref = a.v + a.w.cross(r_a) - b.v - b.w.cross(r_b);
  const Vec3 v_slope = nhat.cross(dw);  // n . (dw x d) = d . (n x dw)
  const double v_n = nhat.dot(v_ref);
  Vec3 moved = Vec3::Zero(),
       d_slope = Vec3::Zero();  // of the points on A against those on B, at p_ref and its slope along n
  if (kind != StageKind::start) {
    moved = a.moved + a.turned * (r_a + a.moved) - b.moved - b.turned * (r_b + b.moved);
    d_slope = (a.turned - b.turned).transpose() * nhat;
  }
  const double parted = nhat.dot(moved);
  Sums s;
  for (std::uint32_t i = 0; i < c.count; ++i) {
    const ContactPoint& point = c.points[c.chosen[i]];
    const Vec3 d = point.p_WC - c.p_ref;
    const double depth = std::min(point.depth - parted - d.dot(d_slope), c.reach);
    const double f = c.kp * depth - c.kv * (v_n + d.dot(v_slope)) + c.integral_force;
    if (point_force) point_force[c.chosen[i]].force = std::max(f, 0.0) * nhat;
    if (f <= 0) continue;
    s.N += f;
    s.Np += f * d;
    s.Nd2 += f * d.squaredNorm();
    ++s.active;
  }
  c.active = s.active;
  if (s.active == 0) {
    if (kind != StageKind::trial) release(c);
    return;
  }
  const double N = c.divide_by_points ? s.N / s.active : s.N;
  const Vec3 centre = s.Np / s.N;
  Vec3 force = N * nhat;
  double moment = 0;
  const double radius2 = std::max(0.0, s.Nd2 / s.N - centre.squaredNorm());
  c.centre = centre, c.radius2 = radius2;
  if (c.linear_friction) {
    c.normal_force = N;
    const Vec3 v_c = v_ref + dw.cross(centre);
    force -= c.viscous * (v_c - nhat.dot(v_c) * nhat);
  } else if (c.mu_static > 0 || c.viscous > 0) {
    const Vec3 v_c = v_ref + dw.cross(centre);
    const Vec3 v_t = v_c - nhat.dot(v_c) * nhat;
    const double w_n = nhat.dot(dw);
    PatchFriction f;
    if (kind == StageKind::trial) {
      Vec3 stretch = c.stretch + moved - nhat.dot(moved) * nhat;
      double twist = c.twist;
      const bool slipped = c.slipped;
      f = friction(c, stretch, twist, v_t, w_n, N, radius2);
      c.slipped = slipped;
    } else {
      c.normal_force = N;
      c.stretch += c.h_moved * v_t;
      c.twist += c.h_moved * w_n;
      f = friction(c, c.stretch, c.twist, v_t, w_n, N, radius2);
    }
    force += f.force;
    moment = f.moment;
  }
  const Vec3 turn = moment * nhat;
  F_A.force += force;
  F_A.torque += (r_a + centre).cross(force) + turn;
  F_B.force -= force;
  F_B.torque -= (r_b + centre).cross(force) + turn;
  if (point_force) share_force(c, force, s.N, N, point_force);
}

namespace {

// Largest eigenvalue, from above, of P = inv(I) S with I, S symmetric and positive (semi)definite: all eigenvalues real
// and >= 0. They are mean + 2 p cos(angle), cos(3 angle) = r. With u = sqrt((1 + r) / 2) the largest cosine is cos(2
// acos(u) / 3); the cubic with its values and slopes at u = 0 and 1 lies above it by at most 6e-4. In these variables
// equal eigenvalues (a cube on a floor) make no noise, where the characteristic polynomial itself made kp jump by 6e-5
// from tick to tick; 1e-9 keeps the root off its singular end.
double largest_eigenvalue(const Mat3& P) noexcept {
  const double mean = P.trace() / 3;
  if (!(mean > 0)) return 0;
  const double a = P(0, 0) - mean, b = P(1, 1) - mean, d = P(2, 2) - mean;
  const double xy = P(0, 1) * P(1, 0), xz = P(0, 2) * P(2, 0), yz = P(1, 2) * P(2, 1);
  const double p2 = (a * a + b * b + d * d + 2 * (xy + xz + yz)) / 6;
  if (!(p2 > 1e-24 * mean * mean)) return mean;
  const double p = std::sqrt(p2);
  const double det =
      a * (b * d - yz) - P(0, 1) * (P(1, 0) * d - P(1, 2) * P(2, 0)) + P(0, 2) * (P(1, 0) * P(2, 1) - b * P(2, 0));
  const double r = std::clamp(det / (2 * p2 * p), -1.0, 1.0);
  const double u = std::sqrt(0.5 * (1 + r) + 1e-9);
  TACTUS_DCHECK(not_outside(u, 0, 1.001));  // where the cubic lies above the cosine
  return mean + 2 * p * (0.5 + u * (0.57735027 + u * (0.02178932 * u - 0.09913959)));
}

}  // namespace

double mode_bound(const BodyKinematics& body, const Mat3& lever, const Mat3& spread) noexcept {
  TACTUS_DCHECK(is_symmetric(lever) && is_symmetric(spread));
  const double a = body.inv_mass;
  if (a == 0) return 0;
  const Mat3 P_lever = body.inv_I_W * lever, P_spread = body.inv_I_W * spread;
  const double rotation = largest_eigenvalue(P_spread + P_lever);
  const double simple = a + rotation;
  if (rotation <= 1.01 * a) return simple;
  // lambda = eig(spread + lever lambda / (lambda - a)), falling in lambda: a lower bound on the right gives an upper
  // bound.
  const double coupled = largest_eigenvalue(P_spread + P_lever * (rotation / (rotation - a)));
  return std::min(simple, coupled);
}

namespace {

// The points that push and the geometry of their springs.
struct Patch {
  Vec3 mean, pressure;  // from p_ref
  Mat3 spread;          // see mode_bound
};

Patch find_patch(const Gains& gains, double h, double v_ref_n, const Vec3& gradient, const PenaltyContact& c) noexcept {
  // f of eq. 1 but for a factor that the gains have in common: known before they are.
  const double rate = gains.explicit_alpha / h;
  const Vec3& nhat = c.nhat_BA_W;
  Vec3 sum = Vec3::Zero(), weighted = Vec3::Zero(), turn = Vec3::Zero();
  Mat3 square = Mat3::Zero();
  double weight = 0, weighted2 = 0;
  std::uint32_t r = 0;
  const auto add = [&](const Vec3& d, double f) {
    const Vec3 e = d.cross(nhat);
    sum += d;
    turn += e;
    square += e * e.transpose();
    weighted += f * d;
    weighted2 += f * d.squaredNorm();
    weight += f;
    ++r;
  };
  for (std::uint32_t i = 0; i < c.count; ++i) {
    const ContactPoint& point = c.points[c.chosen[i]];
    const Vec3 d = point.p_WC - c.p_ref;
    const double f = rate * std::min(point.depth, c.reach) - gains.explicit_beta * (v_ref_n + d.dot(gradient));
    if (f > 0) add(d, f);
  }
  if (r == 0) {  // nothing pushes at the start; later in the tick any of them may
    for (std::uint32_t i = 0; i < c.count; ++i) add(c.points[c.chosen[i]].p_WC - c.p_ref, 1.0);
  }
  TACTUS_DCHECK(r > 0 && !(weight <= 0));
  Patch patch;
  patch.mean = sum / r;
  patch.pressure = weighted / weight;
  const Vec3 turn_mean = turn / r;
  const double radius2 = std::max(0.0, weighted2 / weight - patch.pressure.squaredNorm());
  patch.spread = square / r - turn_mean * turn_mean.transpose() + radius2 * nhat * nhat.transpose();
  return patch;
}

Mat3 lever_of(const Vec3& r_normal, const Vec3& r_tangential, const Vec3& nhat) noexcept {
  const Vec3 e_n = r_normal.cross(nhat), e_t = r_tangential.cross(nhat);
  Mat3 lever = e_n * e_n.transpose() - e_t * e_t.transpose() - r_tangential * r_tangential.transpose();
  lever.diagonal().array() += r_tangential.squaredNorm();
  return lever;
}

}  // namespace

void automatic_gains(const Gains& gains, double h, const Kinematics& kinematics, const State& state, double n_a,
                     double n_b, PenaltyContact& c) noexcept {
  const BodyKinematics &ka = kinematics.bodies[c.a], &kb = kinematics.bodies[c.b];
  const Vec3 r_a = c.p_ref - ka.X_WBcm.p, r_b = c.p_ref - kb.X_WBcm.p;
  const Vec3 dw = state.w_WB(c.a) - state.w_WB(c.b);
  const Vec3 v_ref = state.v_WBcm(c.a) + state.w_WB(c.a).cross(r_a) - state.v_WBcm(c.b) - state.w_WB(c.b).cross(r_b);
  const Patch patch = find_patch(gains, h, c.nhat_BA_W.dot(v_ref), c.nhat_BA_W.cross(dw), c);
  const auto bound = [&](const BodyKinematics& k, const Vec3& r) {
    if (k.robot != nullptr) return link_mode_bound(k, c.p_ref + patch.mean, c.p_ref + patch.pressure, patch.spread);
    return mode_bound(k, lever_of(r + patch.mean, r + patch.pressure, c.nhat_BA_W), patch.spread);
  };
  double L = 0;
  if (moves(ka)) L += n_a * bound(ka, r_a);
  if (moves(kb)) L += n_b * bound(kb, r_b);
  // Neither can move (a frozen body on the floor): no force is needed.
  TACTUS_DCHECK(h > 0 && not_below(L, 0));
  c.kp = L > 0 ? gains.explicit_alpha / (h * h * L) : 0;
  c.kv = L > 0 ? gains.explicit_beta / (h * L) : 0;
}

}  // namespace tactus
