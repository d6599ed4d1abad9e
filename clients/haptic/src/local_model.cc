#include "tactus/haptic/local_model.h"

#include <algorithm>

namespace tactus::haptic {
namespace {

constexpr int kSweepsMax = 200;
constexpr double kTauMin = 0.020;         // of planes that move, in contact [s]
constexpr double kYieldMax = 0.5;         // planes move no faster than this in contact [m/s]
constexpr double kCreepTau = 0.030;       // friction's place goes to the server's [s]
constexpr std::uint32_t kSlowBit = 1024;  // proto TOOL_SLOW
constexpr double kCorner = 1e-3;          // corners nearer than this are one that moved [m]
constexpr double kInside = 1e-2;          // a tool comes no deeper between two steps of a slow model [m]

void tangents(const Vec3& n, Vec3& t1, Vec3& t2) {
  const double sign = std::copysign(1.0, n.z()), a = -1.0 / (sign + n.z()), b = n.x() * n.y() * a;
  t1 = Vec3(1.0 + sign * n.x() * n.x() * a, sign * b, -sign * n.x());
  t2 = Vec3(b, sign + n.y() * n.y() * a, -n.y());
}

}  // namespace

void LocalModel::place(const Pose& X_WT) {
  X_WP_ = X_WT;
  placed_ = true;
  contact_ = false;
  count_ = 0;
}

// The plane of before that this one is: of the same pair, the nearest along the face it lies on. The tool's point marks
// it where the face is the obstacle's, and the obstacle's where the face is the tool's.
const LocalModel::Held* LocalModel::same_as(const Held& fresh) const {
  const Held* best = nullptr;
  double least = 1e300;
  for (int i = 0; i < count_; ++i) {
    const Held& old = held_[i];
    if (old.plane.key / 8 != fresh.plane.key / 8 || old.plane.on_tool != fresh.plane.on_tool) continue;
    if (old.plane.n_W.dot(fresh.plane.n_W) < 0.999) continue;
    const double distance = fresh.plane.on_tool ? (old.plane.p_W - fresh.plane.p_W).squaredNorm()
                                                : (old.plane.c_T - fresh.plane.c_T).squaredNorm();
    if (distance >= least) continue;
    best = &old;
    least = distance;
  }
  return best;
}

// A plane that was known goes to where it is now; in contact those that move go there slowly (tau = max(8 age, 20 ms):
// what held in seeded runs of hands and links with delay), and all go there over the time that passed between the
// messages. Beside a slow model all are as if they moved: until its next step the tool may be inside a wall, and the
// plane through it would throw a mass out.
void LocalModel::receive(const ToolMessage& tool, double age, double interval) {
  if (!placed_) place(tool.X_WT);
  const bool slow = (tool.bits & kSlowBit) != 0;
  std::array<Held, kPlanes> next;
  int count = 0;
  for (const Plane& plane : tool.planes) {
    if (count == kPlanes) break;
    Held h;
    h.plane = plane;
    h.n_T = tool.X_WT.q.conjugate() * plane.n_W;
    h.tau = plane.moving || slow ? std::max(8 * age, kTauMin) : 0;
    h.creep_tau = std::max(8 * age, kCreepTau);
    if (const Held* old = same_as(h); old != nullptr) {
      std::copy(old->impulse, old->impulse + 3, h.impulse);
      const Vec3 moved = old->plane.p_W - plane.p_W;
      // Another corner under the tool's face is not the same one moved.
      const bool same = !plane.on_tool || moved.norm() < kCorner;
      if (contact_) h.behind = old->behind + (same ? old->plane.n_W.dot(moved) : 0.0);
      // Where the tool is inside, both points are: what the tool's has moved is the plane's, too.
      const Vec3 went = X_WP_.q * (plane.c_T - old->plane.c_T);
      if (contact_ && slow && same && went.norm() < kInside) h.behind += old->plane.n_W.dot(went);
    }
    h.rate = std::abs(h.behind) / std::max(interval, 1e-3);
    next[count++] = h;
  }
  held_ = next;
  count_ = count;
}

void LocalModel::move_planes(double period) {
  for (int i = 0; i < count_; ++i) {
    Held& h = held_[i];
    double step = -h.behind;
    h.creep = period / (h.creep_tau + period);
    if (contact_) {
      if (h.tau > 0) step *= period / (h.tau + period);
      const double most = std::min(std::max(h.rate, h.tau > 0 ? kYieldMax : 0.0), kYieldMax) * period;
      step = std::clamp(step, -most, most);
    }
    h.behind += step;
  }
}

void LocalModel::set_row(Row& row, const Vec3& direction, const Vec3& arm, double gap, const Gains& gains) const {
  row.lin = direction;
  row.ang = arm.cross(direction);
  row.gap = gap;
  const double kt = std::max(gains.turn_stiffness, 1e-9);
  row.response = 1 / gains.stiffness + row.ang.squaredNorm() / kt;
}

// Gauss-Seidel on the forces: motion = wish + M^-1 J^T f, gaps >= 0, |tangential| <= mu times the normal.
void LocalModel::solve(const Motion& wish, const Gains& gains) {
  const double kt = std::max(gains.turn_stiffness, 1e-9);
  std::array<std::array<Row, 3>, kPlanes> rows;
  Motion d = wish;
  for (int i = 0; i < count_; ++i) {
    const Held& h = held_[i];
    const Vec3 n = h.plane.on_tool ? Vec3(X_WP_.q * h.n_T) : h.plane.n_W;
    const Vec3 c = X_WP_.q * h.plane.c_T;
    const double gap = n.dot(X_WP_.p + c - h.plane.p_W) - h.behind;
    const Vec3 arm = h.plane.on_tool ? Vec3(h.plane.p_W + h.behind * n - X_WP_.p) : c;
    Vec3 t1, t2;
    tangents(n, t1, t2);
    set_row(rows[i][0], n, arm, gap, gains);
    // Stuck, but not where the server's tool is stuck: it creeps there, or both would rest on friction of their own.
    const Vec3 slip = h.creep * (X_WP_.p + c - h.plane.p_W);
    set_row(rows[i][1], t1, arm, t1.dot(slip), gains);
    set_row(rows[i][2], t2, arm, t2.dot(slip), gains);
    for (int k = 0; k < 3; ++k) {
      rows[i][k].force = h.plane.mu > 0 || k == 0 ? h.impulse[k] : 0;
      d.p += rows[i][k].force / gains.stiffness * rows[i][k].lin;
      d.phi += rows[i][k].force / kt * rows[i][k].ang;
    }
  }
  for (int sweep = 0; sweep < kSweepsMax; ++sweep) {
    double change = 0, largest = 1e-9;
    for (int i = 0; i < count_; ++i) {
      for (int k = 0; k < 3; ++k) {
        Row& row = rows[i][k];
        const double mu = held_[i].plane.mu;
        if (k > 0 && mu <= 0) continue;
        const double old = row.force;
        const double limit = mu * rows[i][0].force;
        double next = old - (row.gap + row.lin.dot(d.p) + row.ang.dot(d.phi)) / row.response;
        next = k == 0 ? std::max(0.0, next) : std::clamp(next, -limit, limit);
        const double step = next - old;
        row.force = next;
        d.p += step / gains.stiffness * row.lin;
        d.phi += step / kt * row.ang;
        change = std::max(change, std::abs(step));
        largest = std::max(largest, std::abs(next));
      }
    }
    if (change <= 1e-9 * largest) break;
  }
  contact_ = false;
  for (int i = 0; i < count_; ++i) {
    for (int k = 0; k < 3; ++k) held_[i].impulse[k] = rows[i][k].force;
    contact_ = contact_ || rows[i][0].force > 0;
  }
  moved_ = d;
}

Wrench LocalModel::step(const Pose& X_WR, const Twist& V_WR, const Gains& gains, double period) {
  if (!placed_ || !(gains.stiffness > 0)) return {};
  move_planes(period);
  const Pose before = X_WP_;
  const Motion wish = motion(X_WP_, X_WR);
  solve(wish, gains);
  X_WP_.p += moved_.p;
  X_WP_.q = rotated(moved_.phi, X_WP_.q);
  if (!contact_) {
    X_WP_ = X_WR;
    away_ = {};
    return {};
  }
  const Motion went = motion(before, X_WP_);
  const double share = damping_share(period);
  away_.v += share * (went.p / period - V_WR.v - away_.v);
  away_.w += share * (went.phi / period - V_WR.w - away_.w);
  Wrench F;
  F.force = gains.stiffness * (X_WP_.p - X_WR.p) + gains.damping * away_.v;
  F.torque = gains.turn_stiffness * turn(X_WR.q, X_WP_.q) + gains.turn_damping * away_.w;
  return F;
}

double LocalModel::stored(const Pose& X_WR, const Gains& gains) const {
  return 0.5 * gains.stiffness * (X_WP_.p - X_WR.p).squaredNorm() + gains.turn_stiffness * turn_energy(X_WR.q, X_WP_.q);
}

}  // namespace tactus::haptic
