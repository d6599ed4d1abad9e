#include "core/contact/penalty_force.h"

#include <algorithm>
#include <cmath>

namespace tactus {

namespace {

// What one evaluation needs per point, from either kind of evaluation: position relative to p_ref, depth and approach.
struct Sums {
  double N = 0;            // sum of f
  Vec3 Np = Vec3::Zero();  // sum of f * d
  double Nd2 = 0;          // sum of f * |d|^2
  std::uint32_t active = 0;
};

// Friction at the pressure centre: spring-damper, clipped to the cone, the spring with it. Returns the force on A.
Vec3 tangential_force(PenaltyContact& c, Vec3& stretch, const Vec3& v_t, double N) noexcept {
  const Vec3 trial = -c.kp * stretch - c.kv * v_t;
  const double size2 = trial.squaredNorm();
  double mu = c.mu_dynamic;
  if (c.stribeck_velocity > 0) {
    mu += (c.mu_static - c.mu_dynamic) * std::exp(-v_t.squaredNorm() / (c.stribeck_velocity * c.stribeck_velocity));
  }
  const double stick = (c.was_slipping ? mu : c.mu_static) * N;
  c.slipped = size2 > stick * stick;
  if (!c.slipped) return trial - c.viscous * v_t;
  const Vec3 friction = trial * (mu * N / std::sqrt(size2));
  // The spring keeps what the cone carries, so that it pushes the same way when sliding ends (NOTES 9).
  stretch = c.kp > 0 ? Vec3(-friction / c.kp) : Vec3::Zero();
  return friction - c.viscous * v_t;
}

double torsional_moment(const PenaltyContact& c, double& twist, double w_n, double N, double radius2) noexcept {
  if (radius2 <= 0) {
    twist = 0;
    return 0;
  }
  const double stiffness = c.kp * radius2;
  const double trial = -stiffness * twist - c.kv * radius2 * w_n;
  const double limit = c.mu_dynamic * N * std::sqrt(radius2);
  if (std::abs(trial) <= limit) return trial;
  const double moment = std::copysign(limit, trial);
  twist = stiffness > 0 ? -moment / stiffness : 0.0;
  return moment;
}

// No force, no memory: the springs of a contact that carries nothing are relaxed.
void release(PenaltyContact& c) noexcept {
  c.normal_force = 0;
  c.slipped = false;
  c.stretch.setZero();
  c.twist = 0;
}

}  // namespace

void evaluate_at_start(PenaltyContact& c, const Kinematics& kinematics, const State& state, SpatialForce* F_Bcm_W,
                       SpatialForce* point_force) noexcept {
  const Vec3& x_a = kinematics.bodies[c.a].X_WBcm.p;
  const Vec3& x_b = kinematics.bodies[c.b].X_WBcm.p;
  const Vec3 dw = state.w_WB(c.a) - state.w_WB(c.b);
  const Vec3 v_ref = state.v_WBcm(c.a) + state.w_WB(c.a).cross(c.p_ref - x_a) - state.v_WBcm(c.b) -
                     state.w_WB(c.b).cross(c.p_ref - x_b);
  const Vec3& nhat = c.nhat_BA_W;
  const double v_ref_n = nhat.dot(v_ref);
  const Vec3 gradient = nhat.cross(dw);  // n . (dw x d) = d . (n x dw)
  Sums s;
  for (std::uint32_t i = 0; i < c.count; ++i) {
    const ContactPoint& point = c.points[c.chosen[i]];
    const Vec3 d = point.p_WC - c.p_ref;
    const double f = c.kp * (point.depth - c.offset) - c.kv * (v_ref_n + d.dot(gradient)) + c.integral_force;
    if (point_force) point_force[c.chosen[i]].force = std::max(f, 0.0) * nhat;
    if (f <= 0) continue;
    s.N += f;
    s.Np += f * d;
    s.Nd2 += f * d.squaredNorm();
    ++s.active;
  }
  c.active = s.active;
  if (s.active == 0) return release(c);
  const double share = c.divide_by_points ? 1.0 / s.active : 1.0;
  const double N = s.N * share;
  const Vec3 centre = s.Np / s.N;
  const double radius2 = std::max(0.0, s.Nd2 / s.N - centre.squaredNorm());
  c.normal_force = N;
  Vec3 force = N * nhat;
  double moment = 0;
  if (c.mu_static > 0 || c.viscous > 0) {
    const Vec3 v_c = v_ref + dw.cross(centre);
    const Vec3 v_t = v_c - nhat.dot(v_c) * nhat;
    const double w_n = nhat.dot(dw);
    c.stretch += c.h_moved * v_t;
    c.twist += c.h_moved * w_n;
    force += tangential_force(c, c.stretch, v_t, N);
    moment = torsional_moment(c, c.twist, w_n, N, radius2);
  }
  const Vec3 p_centre = c.p_ref + centre;
  F_Bcm_W[c.a].force += force;
  F_Bcm_W[c.a].torque += (p_centre - x_a).cross(force) + moment * nhat;
  F_Bcm_W[c.b].force -= force;
  F_Bcm_W[c.b].torque -= (p_centre - x_b).cross(force) + moment * nhat;
  if (point_force) {
    const Vec3 tangential = (force - N * nhat) / s.N;
    for (std::uint32_t i = 0; i < c.count; ++i) {
      Vec3& f = point_force[c.chosen[i]].force;
      f = share * f + nhat.dot(f) * tangential;
    }
  }
}

void evaluate_at_stage(StageKind kind, PenaltyContact& c, const StageBody& a, const StageBody& b, SpatialForce& F_A,
                       SpatialForce& F_B) noexcept {
  const Vec3& nhat = c.nhat_BA_W;
  Sums s;
  for (std::uint32_t i = 0; i < c.count; ++i) {
    const ContactPoint& point = c.points[c.chosen[i]];
    const Vec3 p_A = a.x + a.dR * (point.p_WC - a.x_start), p_B = b.x + b.dR * (point.p_WC - b.x_start);
    const Vec3 p = 0.5 * (p_A + p_B);
    const double depth = point.depth - nhat.dot(p_A - p_B);
    const Vec3 v_rel = a.v + a.w.cross(p - a.x) - b.v - b.w.cross(p - b.x);
    const double f = c.kp * (depth - c.offset) - c.kv * nhat.dot(v_rel) + c.integral_force;
    if (depth <= 0 || f <= 0) continue;
    const Vec3 d = p - c.p_ref;
    s.N += f;
    s.Np += f * d;
    s.Nd2 += f * d.squaredNorm();
    ++s.active;
  }
  c.active = s.active;
  if (s.active == 0) {
    if (kind == StageKind::substep) release(c);
    return;
  }
  const double N = c.divide_by_points ? s.N / s.active : s.N;
  const Vec3 centre = s.Np / s.N, p = c.p_ref + centre;
  Vec3 force = N * nhat;
  double moment = 0;
  if (c.mu_static > 0 || c.viscous > 0) {
    const double radius2 = std::max(0.0, s.Nd2 / s.N - centre.squaredNorm());
    const Vec3 v_c = a.v + a.w.cross(p - a.x) - b.v - b.w.cross(p - b.x);
    const Vec3 v_t = v_c - nhat.dot(v_c) * nhat;
    const double w_n = nhat.dot(a.w - b.w);
    if (kind == StageKind::substep) {
      c.normal_force = N;
      c.stretch += c.h_moved * v_t;
      c.twist += c.h_moved * w_n;
      force += tangential_force(c, c.stretch, v_t, N);
      moment = torsional_moment(c, c.twist, w_n, N, radius2);
    } else {
      // The spring has been drawn on by what the two material points at the centre have moved since the start of the
      // tick.
      const Vec3 moved = (a.x + a.dR * (p - a.x_start)) - (b.x + b.dR * (p - b.x_start));
      Vec3 stretch = c.stretch + moved - nhat.dot(moved) * nhat;
      double twist = c.twist;
      const bool slipped = c.slipped;
      force += tangential_force(c, stretch, v_t, N);
      moment = torsional_moment(c, twist, w_n, N, radius2);
      c.slipped = slipped;
    }
  }
  F_A.force += force;
  F_A.torque += (p - a.x).cross(force) + moment * nhat;
  F_B.force -= force;
  F_B.torque -= (p - b.x).cross(force) + moment * nhat;
}

namespace {

// Largest eigenvalue, from above, of P = inv(I) S with I, S symmetric and positive (semi)definite: all eigenvalues real
// and >= 0. They are mean + 2 p cos(angle): c = cos(angle) solves 4 c^3 - 3 c = r. Newton from c = 1 comes down to it
// monotonically, so three steps give an upper bound; in these variables equal eigenvalues (a cube on a floor) make no
// noise, where the characteristic polynomial itself made kp jump by 6e-5 from tick to tick.
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
  double c = 1;
  for (int i = 0; i < 3; ++i) c = (8 * c * c * c + r) / (12 * c * c - 3);
  return mean + 2 * p * c;
}

}  // namespace

double mode_bound(const BodyKinematics& body, const Vec3& r, const Mat3& D) noexcept {
  const double a = body.inv_mass;
  if (a == 0) return 0;
  // T = [r]^T [r]: the rotational part of a spring at lever r.
  const double r2 = r.squaredNorm();
  Mat3 T = -(r * r.transpose());
  T.diagonal().array() += r2;
  const double rotation = largest_eigenvalue(body.inv_I_W * (D + T));
  const double simple = a + rotation;
  if (rotation <= 1.0001 * a) return simple;
  // lambda = eig(D + T lambda / (lambda - a)), falling in lambda: any lower bound of lambda on the right gives an upper
  // bound.
  const double coupled = largest_eigenvalue(body.inv_I_W * (D + T * (rotation / (rotation - a))));
  return std::max(std::min(simple, coupled), rotation);
}

void automatic_gains(const Gains& gains, double h, const Kinematics& kinematics, const State& state, double n_a,
                     double n_b, PenaltyContact& c) noexcept {
  const BodyKinematics &ka = kinematics.bodies[c.a], &kb = kinematics.bodies[c.b];
  const Vec3 dw = state.w_WB(c.a) - state.w_WB(c.b);
  const Vec3 v_ref = state.v_WBcm(c.a) + state.w_WB(c.a).cross(c.p_ref - ka.X_WBcm.p) - state.v_WBcm(c.b) -
                     state.w_WB(c.b).cross(c.p_ref - kb.X_WBcm.p);
  const double v_ref_n = c.nhat_BA_W.dot(v_ref);
  const Vec3 gradient = c.nhat_BA_W.cross(dw);
  // A point pushes when alpha depth / h > beta v: known before the gains are.
  const double rate = gains.alpha / h;
  Vec3 sum = Vec3::Zero(), sum_all = Vec3::Zero();
  Mat3 square = Mat3::Zero(), square_all = Mat3::Zero();
  std::uint32_t r = 0;
  for (std::uint32_t i = 0; i < c.count; ++i) {
    const ContactPoint& point = c.points[c.chosen[i]];
    const Vec3 d = point.p_WC - c.p_ref;
    if (rate * (point.depth - c.offset) > gains.beta * (v_ref_n + d.dot(gradient))) {
      sum += d;
      square += d * d.transpose();
      ++r;
    } else {
      sum_all += d;
      square_all += d * d.transpose();
    }
  }
  if (r == 0) {  // nothing pushes now: the law over all points, for the next tick's comparison
    sum = sum_all;
    square = square_all;
    r = c.count;
  }
  const Vec3 centre = sum / r;
  const Mat3 spread = square / r - centre * centre.transpose();
  Mat3 D = -spread;  // (1/r) sum [d]^T [d] = tr(spread) - spread
  D.diagonal().array() += spread.trace();
  const Vec3 p = c.p_ref + centre;
  double L = 0;
  if (ka.inv_mass > 0) L += n_a * mode_bound(ka, p - ka.X_WBcm.p, D);
  if (kb.inv_mass > 0) L += n_b * mode_bound(kb, p - kb.X_WBcm.p, D);
  TACTUS_ASSERT(L > 0);
  c.kp = gains.alpha / (h * h * L);
  c.kv = gains.beta / (h * L);
}

}  // namespace tactus
