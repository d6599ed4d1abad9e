#include "core/contact/impact/impact_simultaneous.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/contact/body_response.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr double kConverged = 0.01;  // of epsilon

struct Point {
  Vec3 p_WC, j;
  Vec3 plastic;   // j for e = 0, where the energy asks for it
  double before;  // normal velocity before all impacts
};
struct Members {
  Point* points;
  std::uint32_t count;
  bool joined;
};

struct Together {
  ImpactContact* contacts;
  Members* members;
  std::uint32_t count;
  double epsilon;
  const Kinematics& kinematics;
  const double* v_before;        // 6 a body
  const double* joint_v_before;  // of all robots
  std::uint8_t* body_hit;
  double restitution_scale;  // 1, or 0 for the plastic solution
  State& state;
};

Vec3 relative_velocity(const Together& t, const ImpactContact& c, const Vec3& p_WC) noexcept {
  return point_velocity(t.state, t.kinematics.bodies[c.a], c.a, p_WC) -
         point_velocity(t.state, t.kinematics.bodies[c.b], c.b, p_WC);
}

Mat3 relative_mobility(const Together& t, const ImpactContact& c, const Vec3& p_WC) noexcept {
  return tactus::relative_mobility(t.kinematics, c.a, c.b, p_WC);
}

void apply(const Together& t, const ImpactContact& c, const Vec3& p_WC, const Vec3& j) noexcept {
  apply_impulse(t.kinematics, c.a, p_WC, j, t.state);
  apply_impulse(t.kinematics, c.b, p_WC, -j, t.state);
}

// The least normal velocity that this point may leave with.
double wanted(const Together& t, const ImpactContact& c, const Point& point) noexcept {
  return c.pending && point.before < -t.epsilon ? -t.restitution_scale * c.restitution * point.before : 0.0;
}

// The impulse that this point needs while all others stay: none, sticking, or sliding. Its fixed points fulfil
// Coulomb's law exactly: slip along -j_t, |j_t| = mu j_n.
Vec3 local_impulse(const Mat3& K, const Vec3& v, const ImpactContact& c, double goal, const Vec3& j) noexcept {
  const Vec3& nhat = c.nhat_BA_W;
  TACTUS_DCHECK(is_symmetric(K) && not_below(goal, 0));
  const double K_nn = nhat.dot(K * nhat);
  if (K_nn <= 0) return Vec3::Zero();
  const Vec3 v_free = v - K * j;
  const double missing = goal - nhat.dot(v_free);
  if (c.mu == 0) return nhat * std::max(0.0, missing / K_nn);
  const Vec3 stick = j + K.inverse() * (goal * nhat - v);
  const double stick_n = nhat.dot(stick);
  if (stick_n > 0 && (stick - stick_n * nhat).norm() <= c.mu * stick_n) return stick;
  const Vec3 t = (j - nhat.dot(j) * nhat) - (v - nhat.dot(v) * nhat) / (K.trace() - K_nn);
  const double size = t.norm();
  const Vec3 direction = size > 0 ? Vec3(nhat + t * (c.mu / size)) : nhat;
  const double K_nd = nhat.dot(K * direction);
  if (K_nd > 0) return direction * std::max(0.0, missing / K_nd);
  // Friction alone stops the approach: a load from the normal alone, and all the friction it allows.
  return direction * std::max(0.0, missing / K_nn);
}

// All points that push, or have to, by one amount along the normal: what a flat landing needs.
void move_as_one(const Together& t, std::uint32_t i) noexcept {
  const ImpactContact& c = t.contacts[i];
  const Members& m = t.members[i];
  if (m.count < 2) return;
  double sum = 0, least = 0;
  std::uint32_t active = 0;
  Vec3 centre = Vec3::Zero();
  for (std::uint32_t k = 0; k < m.count; ++k) {
    const Point& point = m.points[k];
    const double load = c.nhat_BA_W.dot(point.j);
    const double missing = wanted(t, c, point) - c.nhat_BA_W.dot(relative_velocity(t, c, point.p_WC));
    if (load <= 0 && missing <= 0) continue;
    least = active == 0 ? load : std::min(least, load);
    sum += missing;
    centre += point.p_WC;
    ++active;
  }
  if (active < 2) return;
  const Vec3 p_WC = centre / active;
  const double K_nn = c.nhat_BA_W.dot(relative_mobility(t, c, p_WC) * c.nhat_BA_W);
  if (K_nn <= 0) return;
  const double each = std::max(sum / (active * K_nn), -least * active) / active;
  for (std::uint32_t k = 0; k < m.count; ++k) {
    Point& point = m.points[k];
    const bool pushes = c.nhat_BA_W.dot(point.j) > 0;
    if (!pushes && wanted(t, c, point) <= c.nhat_BA_W.dot(relative_velocity(t, c, point.p_WC))) continue;
    point.j += each * c.nhat_BA_W;
  }
  apply(t, c, p_WC, active * each * c.nhat_BA_W);
}

void tell(const Together& t, BodyIndex b) noexcept {
  t.body_hit[b] = 1;
  const Tree* robot = t.kinematics.bodies[b].robot;
  for (std::uint32_t link = 0; robot != nullptr && link < robot->link_count(); ++link)
    t.body_hit[robot->body(link)] = 1;
}

// Greatest change of a point's velocity.
double sweep_points(const Together& t, std::uint32_t i) noexcept {
  const ImpactContact& c = t.contacts[i];
  const Members& m = t.members[i];
  double change = 0;
  for (std::uint32_t k = 0; k < m.count; ++k) {
    Point& point = m.points[k];
    const Mat3 K = relative_mobility(t, c, point.p_WC);
    const Vec3 v = relative_velocity(t, c, point.p_WC);
    const Vec3 j = local_impulse(K, v, c, wanted(t, c, point), point.j), more = j - point.j;
    TACTUS_DCHECK(pushes_in_cone(j, c.nhat_BA_W, c.mu));
    if (more == Vec3::Zero()) continue;
    apply(t, c, point.p_WC, more);
    point.j = j;
    change = std::max(change, (K * more).norm());
  }
  if (change > 0) {
    tell(t, c.a);
    tell(t, c.b);
  }
  return change;
}

// A resting manifold joins when a body of it that can move was hit and it approaches now.
bool joins(const Together& t, std::uint32_t i) noexcept {
  const ImpactContact& c = t.contacts[i];
  const auto moved = [&](BodyIndex b) { return t.body_hit[b] && moves(t.kinematics.bodies[b]); };
  if (!moved(c.a) && !moved(c.b)) return false;
  const Members& m = t.members[i];
  return std::any_of(m.points, m.points + m.count, [&](const Point& point) {
    return c.nhat_BA_W.dot(relative_velocity(t, c, point.p_WC)) < -t.epsilon;
  });
}

// Change of the velocities in the last sweep.
double solve(const Together& t, std::uint32_t max_sweeps) noexcept {
  double change = 0;
  for (std::uint32_t sweep = 0; sweep < max_sweeps; ++sweep) {
    change = 0;
    for (std::uint32_t i = 0; i < t.count; ++i) {
      Members& m = t.members[i];
      if (!m.joined) m.joined = joins(t, i);
      if (!m.joined) continue;
      move_as_one(t, i);
      change = std::max(change, sweep_points(t, i));
    }
    if (change <= kConverged * t.epsilon) break;
  }
  return change;
}

void take_back(const Together& t) noexcept {
  std::copy(t.v_before, t.v_before + t.state.v.size(), t.state.v.begin());
  std::copy(t.joint_v_before, t.joint_v_before + t.state.joint_v.size(), t.state.joint_v.begin());
  SpatialForce* impulses = t.kinematics.link_impulses.get();
  if (impulses != nullptr) std::fill_n(impulses, t.state.body_count(), SpatialForce{});
}

// Velocities from before the impacts, and then the impulses plastic_scale * plastic + j_scale * j.
void set_velocities(const Together& t, double plastic_scale, double j_scale) noexcept {
  take_back(t);
  for (std::uint32_t i = 0; i < t.count; ++i) {
    const Members& m = t.members[i];
    for (std::uint32_t k = 0; k < m.count && m.joined; ++k) {
      const Point& point = m.points[k];
      apply(t, t.contacts[i], point.p_WC, plastic_scale * point.plastic + j_scale * point.j);
    }
  }
}

// Energy gained with these impulses: sum over points of the impulse times the mean of the velocities.
double energy_gained(const Together& t, double plastic_scale, double j_scale) noexcept {
  set_velocities(t, plastic_scale, j_scale);
  const auto before = [&](BodyIndex b, const Vec3& p_WC) {
    const double* v = t.v_before + 6 * static_cast<std::size_t>(b);
    return Vec3(Vec3(v[0], v[1], v[2]) + Vec3(v[3], v[4], v[5]).cross(p_WC - t.kinematics.bodies[b].X_WBcm.p));
  };
  double gain = 0;
  for (std::uint32_t i = 0; i < t.count; ++i) {
    const ImpactContact& c = t.contacts[i];
    const Members& m = t.members[i];
    for (std::uint32_t k = 0; k < m.count && m.joined; ++k) {
      const Point& point = m.points[k];
      const Vec3 sum = relative_velocity(t, c, point.p_WC) + before(c.a, point.p_WC) - before(c.b, point.p_WC);
      gain += 0.5 * (plastic_scale * point.plastic + j_scale * point.j).dot(sum);
    }
  }
  return gain;
}

// The energy is a convex parabola on the way from nothing gained (at 0) to too much (at 1): the last place that gains
// nothing.
double last_without_gain(double at_0, double at_half, double at_1) noexcept {
  const double a = 2 * (at_1 + at_0 - 2 * at_half), b = at_1 - at_0 - a, c = std::min(0.0, at_0);
  if (a <= 0) return b > 0 ? std::min(1.0, -c / b) : 0.0;
  const double root = std::sqrt(std::max(0.0, b * b - 4 * a * c));
  return std::clamp(b > 0 ? -2 * c / (b + root) : (root - b) / (2 * a), 0.0, 1.0);
}

// The cone and the half-space of separation are convex: what is between two impulses that respect them does too.
void keep_energy(Together& t, std::uint32_t max_sweeps) noexcept {
  TACTUS_DCHECK(t.restitution_scale == 1);
  const double gain = energy_gained(t, 0, 1);
  if (gain <= 0) return;
  for (std::uint32_t i = 0; i < t.count; ++i) {
    Members& m = t.members[i];
    for (std::uint32_t k = 0; k < m.count; ++k) m.points[k].plastic = m.points[k].j, m.points[k].j.setZero();
  }
  take_back(t);
  t.restitution_scale = 0;
  solve(t, max_sweeps);
  for (std::uint32_t i = 0; i < t.count; ++i) {
    for (std::uint32_t k = 0; k < t.members[i].count; ++k) {
      Point& point = t.members[i].points[k];
      std::swap(point.plastic, point.j);
    }
  }
  const double plastic = energy_gained(t, 1, 0);
  if (plastic > 0) {
    // Only when the sweeps ended too early.
    set_velocities(t, last_without_gain(0, energy_gained(t, 0.5, 0), plastic), 0);
    return;
  }
  const double s = last_without_gain(plastic, energy_gained(t, 0.5, 0.5), energy_gained(t, 0, 1));
  TACTUS_DCHECK(not_outside(s, 0, 1));  // between both: what both cones hold
  set_velocities(t, 1 - s, s);
}

void gather(const Together& t, const ImpactPatch* patches, Arena& arena) noexcept {
  for (std::uint32_t i = 0; i < t.count; ++i) {
    const ImpactContact& c = t.contacts[i];
    const ImpactPatch& patch = patches[i];
    TACTUS_DCHECK(is_unit(c.nhat_BA_W) && c.a != c.b && patch.count > 0);
    t.members[i] = {arena.take<Point>(patch.count), patch.count, c.pending};
    for (std::uint32_t k = 0; k < patch.count; ++k) {
      const Vec3& p_WC = patch.points[patch.chosen[k]].p_WC;
      const double v_n = c.nhat_BA_W.dot(relative_velocity(t, c, p_WC));
      t.members[i].points[k] = {p_WC, Vec3::Zero(), Vec3::Zero(), v_n};
    }
  }
}

}  // namespace

ImpactResult resolve_impacts_together(ImpactContact* contacts, const ImpactPatch* patches, std::uint32_t count,
                                      double epsilon, std::uint32_t max_sweeps, const Kinematics& kinematics,
                                      Arena& arena, State& state) noexcept {
  const std::size_t mark = arena.used();
  const std::uint32_t bodies = state.body_count(), sweeps = kSweepsOfPoints * max_sweeps;
  auto* members = arena.take<Members>(count);
  auto* v_before = arena.take<double>(state.v.size());
  auto* joint_v_before = arena.take<double>(state.joint_v.size());
  auto* body_hit = arena.take<std::uint8_t>(bodies);
  std::copy(state.v.begin(), state.v.end(), v_before);
  std::copy(state.joint_v.begin(), state.joint_v.end(), joint_v_before);
  std::fill(body_hit, body_hit + bodies, std::uint8_t{0});
  Together t{contacts, members, count, epsilon, kinematics, v_before, joint_v_before, body_hit, 1, state};
  gather(t, patches, arena);
  ImpactResult result;
  result.exhausted = solve(t, sweeps) > epsilon;
  keep_energy(t, sweeps);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Members& m = members[i];
    contacts[i].hit = std::any_of(m.points, m.points + m.count, [](const Point& point) { return !point.j.isZero(0); });
    contacts[i].pending = false;
    result.impulses += contacts[i].hit ? 1 : 0;
  }
  arena.rewind(mark);
  return result;
}

}  // namespace tactus
