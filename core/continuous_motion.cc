#include "core/continuous_motion.h"

#include <algorithm>
#include <cmath>

#include "core/collide/places/mesh_places.h"
#include "core/collide/time/thickness.h"

namespace tactus {

namespace {

constexpr double kSlack = 1e-3;    // of the smaller shape: overlap at a touch
constexpr double kDeepest = 0.25;  // of the smaller shape's half thickness: overlap of what touches already

// The rotation vector from R0 to q1, of the turn nearest to `about` [rad]: beyond half a turn only the rate can tell.
Vec3 turn_between(const Mat3& R0, const Quat& q1, const Vec3& about) noexcept {
  Quat q = q1 * Quat(R0).conjugate();
  if (q.w() < 0) q.coeffs() *= -1;
  const double sine = q.vec().norm();
  if (sine < 1e-12) return about.norm() > M_PI ? about : Vec3(2 * q.vec());
  Vec3 axis = q.vec() / sine;
  double angle = 2 * std::atan2(sine, q.w());
  const double wanted = about.dot(axis);
  angle += 2 * M_PI * std::nearbyint((wanted - angle) / (2 * M_PI));
  return angle * axis;
}

// The rates of a body that is turned back from q1 to q on its way: its angular momentum stays in the world, except that
// the part along the top axis is what it was in the body and the length too, so that a top keeps its energy exactly.
// (Of a rod of 1 m by 5 mm a thousandth of L along its axis is more energy than all the rest.)
Vec3 rates_at(const Body& body, const Quat& q1, const Vec3& w1_W, const Quat& q) noexcept {
  if (body.spherical_inertia) return w1_W;
  const Vec3 L_B = body.I_BBcm * (q1.conjugate() * w1_W);
  const Vec3 turned_B = q.conjugate() * (q1 * L_B);
  const Vec3 top = body.axes.q_BP * Vec3::UnitZ();
  const double along = top.dot(L_B), across2 = L_B.squaredNorm() - along * along;
  const Vec3 across = turned_B - top.dot(turned_B) * top;
  const double found2 = across.squaredNorm();
  if (!(found2 > 0)) return q * (body.inv_I_BBcm * L_B);
  return q * (body.inv_I_BBcm * (along * top + std::sqrt(std::max(0.0, across2) / found2) * across));
}

}  // namespace

bool ContinuousMotion::is_needed(const Model& model) noexcept {
  return std::any_of(model.bodies.begin(), model.bodies.end(), [](const Body& b) { return b.continuous; });
}

ContinuousMotion::ContinuousMotion(const Model& model) : motions_(model.bodies.size()) {
  for (BodyIndex b = 0; b < model.bodies.size(); ++b) {
    if (model.bodies[b].continuous && model.bodies[b].mode == BodyMode::free) bodies_.push_back(b);
  }
  meetings_.resize(bodies_.size());
  start_.bodies.resize(model.bodies.size());
  start_.X_WS.resize(model.shapes.size()), start_.boxes.resize(model.shapes.size());
  for (const ShapeInstance& s : model.shapes) {
    radii_.push_back(radius_about(s.shape, s.X_BcmS.inverse().p));
    thickness_.push_back(half_thickness(s.shape));
  }
}

void ContinuousMotion::begin(const Kinematics& start) noexcept {
  start_.bodies = start.bodies, start_.X_WS = start.X_WS, start_.boxes = start.boxes;
}

void ContinuousMotion::find_motions(const Model& model, double h, const State& state) noexcept {
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    Motion& m = motions_[b];
    const Frame& X0 = start_.bodies[b].X_WBcm;
    m = {state.p_WBcm(b) - X0.p, Vec3::Zero(), 1, 0};
    m.turn_W = turn_between(X0.R, state.q_WB(b), h * state.w_WB(b));
    // What is not finite, finish() freezes.
    if (state.frozen[b] || !std::isfinite(m.travel_W.sum() + m.turn_W.sum())) m.travel_W = m.turn_W = Vec3::Zero();
    const Body& body = model.bodies[b];
    for (std::uint32_t s = body.first_shape; s < body.first_shape + body.shape_count; ++s) {
      m.radius = std::max(m.radius, radii_[s]);
    }
  }
}

SweptShape ContinuousMotion::swept(const Model& model, std::uint32_t shape) const noexcept {
  const ShapeInstance& s = model.shapes[shape];
  const Motion& m = motions_[s.body];
  return {s.shape, start_.X_WS[shape], start_.bodies[s.body].X_WBcm.p, m.travel_W, m.turn_W, radii_[shape], m.stopped};
}

// By what they are, by balls about both ways, and only where the step moves them by enough to matter.
bool ContinuousMotion::may_meet(const Model& model, std::uint32_t a, std::uint32_t b) const noexcept {
  const ShapeInstance &x = model.shapes[a], &y = model.shapes[b];
  if (x.body == y.body || (x.group & y.mask) == 0 || (y.group & x.mask) == 0) return false;
  if (!is_swept_pair(x.shape, y.shape)) return false;
  const std::pair<BodyIndex, BodyIndex> bodies = std::minmax(x.body, y.body);
  if (std::binary_search(model.no_collision.begin(), model.no_collision.end(), bodies)) return false;
  const Motion &ma = motions_[x.body], &mb = motions_[y.body];
  const Vec3 travel = ma.travel_W - mb.travel_W;
  const double way = travel.norm() + ma.turn_W.norm() * radii_[a] + mb.turn_W.norm() * radii_[b];
  if (way <= kDeepest * std::min(thickness_[a], thickness_[b])) return false;
  if (y.shape.kind == ShapeKind::half_space) return true;
  // In a frame that travels with b: the segment of a's centre against b's box.
  const Vec3 from = start_.bodies[x.body].X_WBcm.p, to = from + travel;
  Aabb box = start_.boxes[b];
  if (!mb.turn_W.isZero(0)) {
    const Vec3 c = start_.bodies[y.body].X_WBcm.p;
    box = {c.array() - radii_[b], c.array() + radii_[b]};
  }
  const double r = radii_[a];
  return ((from.cwiseMin(to).array() - r) <= box.hi.array()).all() &&
         ((from.cwiseMax(to).array() + r) >= box.lo.array()).all();
}

// Of two shapes, one of which belongs to a continuous body.
SweptTouch ContinuousMotion::touch(const SweptShape& a, const SweptShape& b, double size, double until) noexcept {
  const double slack = kSlack * size, deepest = kDeepest * size;
  const bool mesh_a = a.shape.kind == ShapeKind::mesh, mesh_b = b.shape.kind == ShapeKind::mesh;
  if (is_mesh_smooth_pair(a.shape, b.shape)) return first_touch(a, b, slack, deepest, until);
  if (mesh_b) return mesh_sweep_.first_touch(a, b, slack, deepest, until);
  if (mesh_a && b.shape.kind != ShapeKind::half_space) return mesh_sweep_.first_touch(b, a, slack, deepest, until);
  return first_touch(a, b, slack, deepest, until);
}

ContinuousMotion::Meeting ContinuousMotion::first_meeting(const Model& model, BodyIndex body,
                                                          std::uint32_t& unknown) noexcept {
  Meeting first;
  const Body& moving = model.bodies[body];
  for (std::uint32_t a = moving.first_shape; a < moving.first_shape + moving.shape_count; ++a) {
    const SweptShape swept_a = swept(model, a);
    for (std::uint32_t b = 0; b < model.shapes.size(); ++b) {
      if (!may_meet(model, a, b)) continue;
      const double size = std::min(thickness_[a], thickness_[b]);
      const SweptTouch found = touch(swept_a, swept(model, b), size, first.t);
      unknown += found.unknown;
      if (found.found && found.t < first.t) first = {found.t, model.shapes[b].body};
    }
  }
  return first;
}

// Where it stood at meeting.t, or as far from whom it met as then; and the energy that goes with that height.
void ContinuousMotion::put_back(const Model& model, const Parameters& parameters, double h, BodyIndex body,
                                const Meeting& meeting, State& state) const noexcept {
  const Motion& m = motions_[body];
  const Vec3 p_end = state.p_WBcm(body);
  Vec3 p = start_.bodies[body].X_WBcm.p + meeting.t * m.travel_W;
  Quat q = rotate_by(meeting.t * m.turn_W, Quat(start_.bodies[body].X_WBcm.R));
  const Motion& other = motions_[meeting.other];
  if (other.stopped > meeting.t && !model.bodies[meeting.other].continuous) {
    const double rest = other.stopped - meeting.t;
    const Vec3 c = start_.bodies[meeting.other].X_WBcm.p + meeting.t * other.travel_W;
    const Vec3 turn = rest * other.turn_W;
    p = c + rest * other.travel_W + rotate_by(turn, Quat::Identity()) * (p - c);
    q = rotate_by(turn, q);
  }
  const Vec3 w_W = rates_at(model.bodies[body], state.q_WB(body), state.w_WB(body), q);
  state.set_pose(body, p, q);
  state.set_velocity(body, state.v_WBcm(body), w_W);
  const Vec3 g_W = model.bodies[body].gravity_scale * parameters.gravity_W;
  const double g = g_W.norm();
  if (!(g > 0)) return;
  const Vec3 down = g_W / g, v = state.v_WBcm(body);
  const double fall = v.dot(down), height = down.dot(p_end - p);  // above the end of its way
  const double then = fall - (1 - meeting.t) * h * g;
  const double speed = std::sqrt(std::max(0.0, fall * fall - 2 * g * height));
  state.set_velocity(body, v + ((then < 0 ? -speed : speed) - fall) * down, state.w_WB(body));
}

ContinuousStops ContinuousMotion::stop(const Model& model, const Parameters& parameters, double h,
                                       State& state) noexcept {
  find_motions(model, h, state);
  ContinuousStops out;
  for (; out.bodies < bodies_.size(); ++out.bodies) {
    std::size_t first = bodies_.size();
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      Meeting& next = meetings_[i];
      next = motions_[bodies_[i]].stopped < 1 ? Meeting{} : first_meeting(model, bodies_[i], out.unknown);
      if (next.other != kNoBody && (first == bodies_.size() || next.t < meetings_[first].t)) first = i;
    }
    if (first == bodies_.size()) break;
    // The other, if it is continuous too, finds the same meeting in the next pass, with the one that stands by then.
    put_back(model, parameters, h, bodies_[first], meetings_[first], state);
    motions_[bodies_[first]].stopped = meetings_[first].t;
  }
  return out;
}

}  // namespace tactus
