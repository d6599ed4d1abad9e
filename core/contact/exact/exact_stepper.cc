#include "core/contact/exact/exact_stepper.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/check.h"
#include "core/collide/feature/feature_jet.h"
#include "core/collide/places/collide_places.h"
#include "core/collide/places/extremal_places.h"
#include "core/collide/places/fitting_points.h"
#include "core/contact/body_response.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr std::uint32_t kMostPieces = 128;
// Points that share one load hand it and their slip on to each other for ever, at an edge that rolls once a
// microsecond. After so many such ends at a body in a step, ends of their forces are not looked for any more (forces go
// on through the stages of a piece), and what slips by less than kStickAtLast sticks.
constexpr std::uint32_t kManyShared = 3;
constexpr double kTouch = 1e-8;        // gaps up to this touch [m]
constexpr double kTouchAgain = 1e-11;  // what features of a pair that opened overlap by more has touched again [m]
// Of a smooth surface that fits another along a line or over an area: as it rolls, its lowest place runs away from the
// points that stand for it, by the square of the way that it turns in a step [m].
constexpr double kFit = 1e-6;
// Conditioning from which the rates of such a surface's own place are followed instead of points around it.
constexpr double kRolls = 1e-3;
constexpr double kFitsAlong = 1e-4;  // conditioning below which surfaces fit along a curve
constexpr double kStay = 1e-6;       // touching contacts that open slower stay, and may carry force [m/s]
constexpr double kStick = 1e-7;      // slip that is none [m/s]
// The same where slip has just turned round: its direction turns faster the slower it is, and no step is short enough
// to follow it to its end. What is left would go within some microseconds.
constexpr double kStickTurned = 1e-5;
constexpr double kStickAtLast = 1e-4;   // and in a step of many pieces, where slips of several contacts turn in turns
constexpr double kMostDrift = 1e-6;     // of contacts in a piece; with more it is made shorter [m] ...
constexpr double kMostRolledIn = 5e-8;  // the same of what an area of contact overlaps by [m]
constexpr double kMostCuts = 64;        // ... to this part of a step
constexpr std::uint64_t kFindWork = 10'000;  // a look for all contacts, and a tenth for each that is found
constexpr int kBisections = 40;
constexpr double kSamePlace = 1e-7;   // of sharp pieces [m]
constexpr double kSameNormal = 1e-2;  // [rad]
constexpr double kSameWay = 0.95;     // cosine, of one place's normals at two times

double rate_of(const FollowedContact& c, const ExactForces& forces) noexcept {
  return gap_rate(c.jet, forces.motion(c.body_a), forces.motion(c.body_b));
}

double roundness(const FollowedContact& c) noexcept {
  return c.features.a.radius + c.features.b.radius;
}

// Do two pieces of one body touch the same other body at one place? Where one of radius r touches, a corner on its
// surface does within sqrt(2 r kTouch).
bool same_place(const FollowedContact& c, const FollowedContact& other) noexcept {
  if (c.body_a != other.body_a || c.body_b != other.body_b || c.manifold == other.manifold) return false;
  if (c.smooth || other.smooth) return false;
  const double round = 2 * std::max(roundness(c), roundness(other)) * kTouch;
  const double near2 = std::max(kSamePlace * kSamePlace, round);
  return (c.p_W() - other.p_W()).squaredNorm() <= near2 &&
         (c.jet.nhat_BA - other.jet.nhat_BA).squaredNorm() <= kSameNormal * kSameNormal;
}

bool is_smooth(const Shape& a, const Shape& b) noexcept {
  return a.kind == ShapeKind::smooth || b.kind == ShapeKind::smooth;
}

// Points of an area over which convex surfaces touch, all as near as the place that they lie around.
bool is_area(const Model& model, const Manifold& m) noexcept {
  return m.count > 1 && touch_over_area(model.shapes[m.shape_a].shape, model.shapes[m.shape_b].shape);
}

// Where collision found the extremal points at this state.
void begin_at(const Witness& witness, FollowedContact& c) noexcept {
  c.side_a = c.side_b = ExtremalSide{};
  c.side_a.p_S = witness.point_a, c.side_a.feature = witness.feature_a;
  c.side_b.p_S = witness.point_b, c.side_b.feature = witness.feature_b;
}

ChiJet chi_of(const FollowedContact& c, const RigidMotion& A, const RigidMotion& B) noexcept {
  return {c.jet.d, gap_rate(c.jet, A, B), gap_acceleration(c.jet, A, B), c.jet.known};
}

// What the moment of a touch is looked for with: chi, or of two edges their volume, which does not bend where they are
// near parallel.
ChiJet touch_chi(const FollowedContact& c, std::span<const Frame> X_WS, std::span<const RigidMotion> motions) noexcept {
  const RigidMotion &A = motions[c.body_a], &B = motions[c.body_b];
  const FeatureSide &a = c.features.a, &b = c.features.b;
  const bool edges = !c.smooth && a.core == FeatureCore::line && b.core == FeatureCore::line && roundness(c) == 0;
  if (!edges) return chi_of(c, A, B);
  const Frame &X_WA = X_WS[c.shape_a], &X_WB = X_WS[c.shape_b];
  const Vec3 u = X_WA.R * a.u_S, v = X_WB.R * b.u_S;
  return edge_edge_volume_jet(A, X_WA * a.p_S, u, B, X_WB * b.p_S, v, c.features.side * u.cross(v));
}

}  // namespace

ExactStepper::ExactStepper(const Model& model, const Limits& limits)
    : forces_(model, limits),
      q0_(7 * model.bodies.size()),
      v0_(6 * model.bodies.size()),
      motions0_(model.bodies.size()),
      shapes0_(model.shapes.size()),
      start_(forces_.capacity()),
      hidden_(forces_.capacity()),
      is_hidden_(forces_.capacity()),
      force_(model.bodies.size()),
      shared_ends_(model.bodies.size()) {}

void ExactStepper::follow(const Tick& tick, std::uint32_t manifold, std::uint32_t point, const PairRecord& record,
                          FollowedContact& out) const noexcept {
  TACTUS_DCHECK(manifold < tick.contacts.manifold_count && point < tick.contacts.point_count);
  const Manifold& m = tick.contacts.manifolds[manifold];
  const ShapeInstance &a = tick.model.shapes[m.shape_a], &b = tick.model.shapes[m.shape_b];
  const SurfacePair& surface = tick.model.surface(a.material, b.material);
  out = {};
  out.shape_a = m.shape_a, out.shape_b = m.shape_b;
  out.body_a = m.body_a, out.body_b = m.body_b;
  out.manifold = manifold, out.point = point;
  out.fits = m.count > 1 && is_smooth(a.shape, b.shape);
  // Several points of a smooth pair: its surfaces fit each other there, and extremal points would be one and the same.
  out.smooth = m.count == 1 && is_smooth(a.shape, b.shape);
  if (out.smooth) {
    begin_at(record.witness, out);
    out.one_of_several =
        has_places(a.shape, b.shape) && several_places(&record - record.key.patch, tick.limits.patches_per_pair);
  } else {
    out.features = find_features(a.shape, tick.kinematics.X_WS[m.shape_a], b.shape, tick.kinematics.X_WS[m.shape_b],
                                 m.nhat_BA_W, tick.contacts.points[point]);
  }
  out.restitution = surface.restitution;
  const bool rough = tick.parameters.lcp_friction != LcpFriction::none;
  out.mu_dynamic = rough ? surface.friction.mu_dynamic : 0;
  out.mu_static = rough ? std::max(surface.friction.mu_static, surface.friction.mu_dynamic) : 0;
}

// Where a surface nearly fits a face, collision gives the points around the place, too. The place by itself is exact
// while its rates are known well enough: what rolls over a flat pole. Of an area it is one of the points.
bool ExactStepper::rolls(const Tick& tick, std::uint32_t manifold, const PairRecord& record,
                         FollowedContact& out) const noexcept {
  const Manifold& m = tick.contacts.manifolds[manifold];
  const std::span<const ShapeInstance> shapes = tick.model.shapes;
  const bool area = is_area(tick.model, m), smooth_a = shapes[m.shape_a].shape.kind == ShapeKind::smooth;
  if (m.count == 1) return false;
  if (!area && smooth_a == (shapes[m.shape_b].shape.kind == ShapeKind::smooth)) return false;
  follow(tick, manifold, m.first, record, out);
  begin_at(record.witness, out);
  out.smooth = true;
  FollowedContact there = out;
  forces_.find_jet(there, tick.kinematics.X_WS, forces_.motions());
  const ContactJet& jet = there.jet;
  return jet.known && !jet.on_edge && jet.conditioning >= kRolls && jet.d <= (area ? kFit : kTouch);
}

// All contacts that touch, at the state that the finder saw.
void ExactStepper::gather(const Tick& tick, const State& state) noexcept {
  TACTUS_DCHECK(is_well_formed(tick.contacts, state.body_count(), state.pairs.size()));
  forces_.clear();
  for (std::uint32_t i = 0; i < tick.contacts.manifold_count; ++i) {
    const Manifold& m = tick.contacts.manifolds[i];
    if (!moves(tick.kinematics.bodies[m.body_a]) && !moves(tick.kinematics.bodies[m.body_b])) continue;
    FollowedContact place;
    const bool area = is_area(tick.model, m), rolling = rolls(tick, i, state.pairs[m.pair], place);
    const double touch = area ? kFit : kTouch;
    for (std::uint32_t k = m.first; k < m.first + (rolling && !area ? 1 : m.count); ++k) {
      const bool at_place = rolling && k == m.first;
      if (!at_place && tick.contacts.points[k].depth < -touch) continue;
      FollowedContact* c = forces_.add();
      if (c == nullptr) return;
      if (at_place) {
        *c = place;
      } else {
        follow(tick, i, k, state.pairs[m.pair], *c);
      }
    }
  }
  forces_.look(state.q.data(), state.v.data());
  merge_pieces();
}

// Pieces of one body that overlap (the boxes, capsules and balls of a rounded die) touch together at one place: one
// contact, of the roundest, which the others lie within. More would be redundant, and break and come back by rounding.
void ExactStepper::merge_pieces() noexcept {
  const std::span<FollowedContact> contacts = forces_.contacts();
  hidden_count_ = 0;
  for (std::uint32_t i = 0; i < contacts.size(); ++i) {
    const FollowedContact& c = contacts[i];
    is_hidden_[i] = 0;
    for (std::uint32_t k = 0; k < contacts.size() && is_hidden_[i] == 0; ++k) {
      const double rounder = roundness(contacts[k]) - roundness(c);
      if ((rounder > 0 || (rounder == 0 && k < i)) && same_place(c, contacts[k])) is_hidden_[i] = 1;
    }
    if (is_hidden_[i] != 0) hidden_[hidden_count_++] = hidden(c);
  }
  if (hidden_count_ == 0) return;
  std::uint32_t i = 0;
  forces_.keep([&](const FollowedContact&) { return is_hidden_[i++] == 0; });
}

bool ExactStepper::shares_on(const FollowedContact& c) const noexcept {
  const auto many = [this](BodyIndex b) { return forces_.free(b) && shared_ends_[b] >= kManyShared; };
  return c.fits && (many(c.body_a) || many(c.body_b));
}

// Which contacts carry force in this piece, and which of them slide.
void ExactStepper::classify() noexcept {
  forces_.keep([&](const FollowedContact& c) {
    if (rate_of(c, forces_) <= kStay) return true;
    // It opens, but what it overlaps by now is no collision.
    TACTUS_DCHECK(hidden_count_ < hidden_.size());
    hidden_[hidden_count_] = hidden(c);
    hidden_[hidden_count_++].opens = true;
    return false;
  });
  for (FollowedContact& c : forces_.contacts()) {
    const Vec3 slip = slip_of(c, forces_);
    const double speed = slip.norm();
    const bool turned = c.shape_a == turned_a_ && c.shape_b == turned_b_;
    const bool at_last = many_ || shares_on(c);
    c.slides = speed > (at_last ? kStickAtLast : turned ? kStickTurned : kStick);
    if (c.slides) c.slip_W = slip / speed;
    TACTUS_DCHECK(!c.slides || is_unit(c.slip_W));
  }
}

ExactStepper::Hidden ExactStepper::hidden(const FollowedContact& c) noexcept {
  return {c.shape_a, c.shape_b, std::max(0.0, -c.jet.d), c.jet.nhat_BA, false};
}

// Is it of the manifold's pair, and of its place where there may be several?
bool ExactStepper::of_place(const Model& model, const Manifold& m, const Hidden& c) noexcept {
  if (c.shape_a != m.shape_a || c.shape_b != m.shape_b) return false;
  return c.nhat_BA_W.dot(m.nhat_BA_W) > kSameWay ||
         !has_places(model.shapes[m.shape_a].shape, model.shapes[m.shape_b].shape);
}

void ExactStepper::save(const State& state) noexcept {
  std::copy(state.q.begin(), state.q.end(), q0_.begin());
  std::copy(state.v.begin(), state.v.end(), v0_.begin());
  time0_ = state.time;
}

void ExactStepper::restore(State& state) const noexcept {
  std::copy(q0_.begin(), q0_.end(), state.q.begin());
  std::copy(v0_.begin(), v0_.end(), state.v.begin());
  state.time = time0_;
}

// From the start of the piece to dt after it, with forces, drift and motions of that time.
void ExactStepper::integrate(const Tick& tick, double dt, State& state) noexcept {
  TACTUS_DCHECK(not_below(dt, 0) && forces_.contacts().size() <= start_.size());
  restore(state);
  const std::span<FollowedContact> contacts = forces_.contacts();
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    contacts[i].slip_W = start_[i].slip_W;
    contacts[i].force = start_[i].force;
    // Not from where a longer trial led: Newton's method may have gone over to another place.
    contacts[i].side_a = start_[i].side_a, contacts[i].side_b = start_[i].side_b;
  }
  forces_.begin_trial(dt);
  const std::size_t mark = tick.arena.used();
  rk4(tick.model, tick.parameters, dt, forces_, tick.arena, state);
  tick.arena.rewind(mark);
  state.time = time0_ + dt;
  forces_.evaluate(state.q.data(), state.v.data(), force_.data());
  forces_.end_trial();
  drift_ = drift(dt);
  forces_.project(dt, state);
  forces_.hold_energy(q0_.data(), v0_.data(), state);
}

// By how much contacts that push have left their surfaces at the end of a trial, or would in another one.
double ExactStepper::drift(double dt) noexcept {
  double worst = 0;
  const std::span<FollowedContact> contacts = forces_.contacts();
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const FollowedContact& c = contacts[i];
    if (c.force[0] <= 0 || !c.jet.known) continue;
    worst = std::max({worst, std::abs(std::max(0.0, -c.jet.d) - start_[i].depth), std::abs(rate_of(c, forces_)) * dt});
  }
  return worst;
}

// By how much areas of contact overlap more than when the piece began: bodies roll from the points that stand for them
// onto what lies between.
double ExactStepper::rolled_in(const Tick& tick) noexcept {
  double worst = 0;
  for (std::uint32_t i = 0; i < tick.contacts.manifold_count; ++i) {
    const Manifold& m = tick.contacts.manifolds[i];
    if (m.depth_max <= worst || !is_area(tick.model, m) || !fits(tick.model, m)) continue;
    worst = std::max(worst, m.depth_max - known_depth(tick.model, m).depth);
  }
  return worst;
}

// The part of `left` that a trial can follow its contacts through: where a body rolls over a place that is nearly flat,
// the point of contact runs over it within a small part of a step, with a force to match.
double ExactStepper::followed(const Tick& tick, double left, State& state) noexcept {
  const double least = std::min(left, tick.h / kMostCuts);
  double dt = left;
  const auto drifted = [&] {
    check(tick, dt, state);
    return std::max(drift_, kMostDrift / kMostRolledIn * rolled_in(tick));
  };
  for (double drift = drifted(); drift > kMostDrift && dt > least; drift = drifted()) {
    dt = std::max(least, dt * std::clamp(0.8 * std::sqrt(std::sqrt(kMostDrift / drift)), 0.1, 0.7));
  }
  return dt;
}

// The same, and all pairs are looked at there.
void ExactStepper::check(const Tick& tick, double dt, State& state) noexcept {
  integrate(tick, dt, state);
  tick.finder->find();
  forces_.spend(kFindWork + kFindWork / 10 * tick.contacts.manifold_count);
}

// How deep a pair's contacts were when the piece began: of one that has several places, there.
ExactStepper::Known ExactStepper::known_depth(const Model& model, const Manifold& m) noexcept {
  Known known;
  const std::span<FollowedContact> contacts = forces_.contacts();
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    if (of_place(model, m, hidden(contacts[i]))) known.depth = std::max(known.depth, start_[i].depth);
  }
  for (std::uint32_t i = 0; i < hidden_count_; ++i) {
    if (!of_place(model, m, hidden_[i])) continue;
    known.depth = std::max(known.depth, hidden_[i].depth);
    known.opened = known.opened || hidden_[i].opens;
  }
  return known;
}

// What opened when the piece began is back where it then was, or deeper. Told by its features, which see less than
// kTouch: what bounces so low would else be as much deeper at the end of each step.
bool ExactStepper::touches_again(const FollowedContact& contact) noexcept {
  FollowedContact c = contact;
  forces_.find_jet(c, shapes0_, motions0_);
  const double before = c.jet.d, rate = gap_rate(c.jet, motions0_[c.body_a], motions0_[c.body_b]);
  if (!c.jet.known || (before <= 0 && rate <= 0)) return false;
  forces_.find_jet(c);
  return c.jet.known && c.jet.d < std::min(0.0, before) - kTouchAgain && rate_of(c, forces_) < 0;
}

// Do the pair's surfaces fit each other, now or when the piece began, where they touched?
bool ExactStepper::fits(const Model& model, const Manifold& m) noexcept {
  if (!is_smooth(model.shapes[m.shape_a].shape, model.shapes[m.shape_b].shape)) return false;
  bool touched = false, several = m.count > 1;
  for (const FollowedContact& c : forces_.contacts()) {
    if (!of_place(model, m, hidden(c))) continue;
    touched = true;
    several = several || !c.smooth;
  }
  return touched && several;
}

// How deep the point's features were when the piece began: where surfaces fit, not every point is found every time.
double ExactStepper::depth_before(const Tick& tick, const State& state, std::uint32_t manifold,
                                  std::uint32_t point) const noexcept {
  FollowedContact c;
  follow(tick, manifold, point, state.pairs[tick.contacts.manifolds[manifold].pair], c);
  forces_.find_jet(c, shapes0_, motions0_);
  return c.jet.known ? -c.jet.d : 0;
}

// Do the surfaces fit each other along a curve (a ball that closes a ring's hole)? Then its place is anywhere on that.
bool ExactStepper::along_a_curve(const FollowedContact& contact) const noexcept {
  if (!contact.smooth) return false;
  FollowedContact c = contact;
  forces_.find_jet(c);
  return c.jet.known && c.jet.conditioning < kFitsAlong;
}

// The deepest overlap that is new in this piece.
bool ExactStepper::find_overlap(const Tick& tick, const State& state, Overlap& out) noexcept {
  out.depth = 0;
  bool found = false;
  for (std::uint32_t i = 0; i < tick.contacts.manifold_count; ++i) {
    const Manifold& m = tick.contacts.manifolds[i];
    if (!moves(tick.kinematics.bodies[m.body_a]) && !moves(tick.kinematics.bodies[m.body_b])) continue;
    if (m.depth_max <= out.depth) continue;
    const bool fit = fits(tick.model, m);
    const Known known = known_depth(tick.model, m);
    const double tolerated = known.depth + (fit ? kFit : 0.0);
    for (std::uint32_t k = m.first; k < m.first + m.count; ++k) {
      double depth = tick.contacts.points[k].depth - tolerated;
      if (fit && depth > kTouch) {
        depth = std::min(depth, tick.contacts.points[k].depth - kFit - depth_before(tick, state, i, k));
      }
      if (depth <= out.depth || (depth <= kTouch && !known.opened)) continue;
      FollowedContact c;
      follow(tick, i, k, state.pairs[m.pair], c);
      FollowedContact place;  // of an area, what touches first
      if (!fit && is_area(tick.model, m) && rolls(tick, i, state.pairs[m.pair], place)) c = place;
      if (depth <= kTouch ? !touches_again(c) : depth <= kFit && along_a_curve(c)) continue;
      out = {c, depth, known.depth};
      found = true;
    }
  }
  return found;
}

// When the features that overlap at dt touched; negative: they cannot tell.
double ExactStepper::touch_time(const Tick& tick, const Overlap& overlap, double dt, State& state,
                                ExactReport& report) noexcept {
  FollowedContact c = overlap.contact;
  forces_.find_jet(c, shapes0_, motions0_);
  if (c.jet.d < -overlap.known - kTouch) return -1;
  // What parts from where it overlaps touches again there: a bounce too low to end that would sink by kTouch else.
  ChiJet at_start = touch_chi(c, shapes0_, motions0_);
  const double overlapped = std::min(0.0, at_start.chi);
  at_start.chi -= overlapped;
  const auto now = [&] {
    forces_.find_jet(c);
    ChiJet jet = touch_chi(c, forces_.shapes(), forces_.motions());
    jet.chi -= overlapped;
    return jet;
  };
  CollisionOptions options;
  options.distance_tolerance = 1e-12;
  CollisionSearch search(0, at_start, dt, now(), options);
  while (!search.done() && !forces_.spent()) {
    integrate(tick, search.next(), state);
    search.take(now());
  }
  TACTUS_DCHECK(!search.result().found || not_outside(search.result().t, 0, dt));
  report.evaluations += search.result().evaluations;
  return search.result().found ? search.result().t : -1;
}

// The last time, to dt / 2^kBisections, at which the check finds nothing.
double ExactStepper::bisect(const Tick& tick, double dt, State& state) noexcept {
  double low = 0, high = dt;
  Overlap overlap;
  for (int i = 0; i < kBisections && high - low > kTimeTolerance && !forces_.spent(); ++i) {
    const double middle = 0.5 * (low + high);
    TACTUS_DCHECK(low <= middle && middle <= high);
    check(tick, middle, state);
    (find_overlap(tick, state, overlap) ? high : low) = middle;
  }
  return low;
}

// The first collision within dt: state and contacts of that time. Gives the time, or dt.
double ExactStepper::back_up(const Tick& tick, double dt, State& state, ExactReport& report) noexcept {
  Overlap overlap;
  double at = dt;
  bool told = true;
  for (int i = 0; i < kMostBackUps && told && !forces_.spent(); ++i) {
    if (!find_overlap(tick, state, overlap)) {
      if (i > 0) ++report.collisions;
      return at;
    }
    const double t = touch_time(tick, overlap, at, state, report);
    told = t > kTimeTolerance && t < at;
    if (told) at = t;
    check(tick, at, state);
  }
  ++report.bisections;
  const double t = bisect(tick, at, state);
  if (t > kTimeTolerance) {
    check(tick, t, state);
    ++report.collisions;
    return t;
  }
  check(tick, dt, state);
  // What a body has rolled onto within the shortest piece is less than what counts as touching over an area.
  const bool rolled = find_overlap(tick, state, overlap) && overlap.depth <= kFit && overlap.contact.fits &&
                      touch_over_area(tick.model.shapes[overlap.contact.shape_a].shape,
                                      tick.model.shapes[overlap.contact.shape_b].shape);
  if (!rolled) ++report.unresolved;
  return dt;
}

// From the present state to the next discontinuity, at most `left`. Gives the time that passed.
double ExactStepper::piece(const Tick& tick, double left, State& state, StepReport& report) noexcept {
  many_ = report.exact.pieces >= kManyPieces;
  prescribe_velocities(tick.model, state.time, left, state);
  gather(tick, state);
  strike(tick, state, report);
  forces_.look(state.q.data(), state.v.data());
  classify();
  turned_a_ = turned_b_ = kNone;
  save(state);
  forces_.forget_trials();
  forces_.evaluate(state.q.data(), state.v.data(), force_.data());
  std::copy(forces_.motions().begin(), forces_.motions().end(), motions0_.begin());
  std::copy(forces_.shapes().begin(), forces_.shapes().end(), shapes0_.begin());
  const std::span<FollowedContact> contacts = forces_.contacts();
  for (std::uint32_t i = 0; i < contacts.size(); ++i) {
    const FollowedContact& c = contacts[i];
    start_[i] = {event_value({i, false}),
                 slip_of(c, forces_).norm(),
                 std::max(0.0, -c.jet.d),
                 c.slip_W,
                 c.force,
                 c.side_a,
                 c.side_b};
  }
  left = followed(tick, left, state);
  const double dt = back_up(tick, left, state, report.exact);
  return end_at_event(tick, dt, state, report.exact);
}

double ExactStepper::advance(const Tick& tick, State& state, StepReport& report) noexcept {
  TACTUS_ASSERT(tick.finder != nullptr && tick.model.robots.empty());
  forces_.start(tick, state);
  turned_a_ = turned_b_ = kNone;
  std::fill(shared_ends_.begin(), shared_ends_.end(), 0U);
  double left = tick.h;
  ExactReport& exact = report.exact;
  while (left > kTimeTolerance && exact.pieces < kMostPieces) {
    const std::uint32_t before = exact.discontinuities();
    const double dt = piece(tick, left, state, report);
    TACTUS_DCHECK(not_outside(dt, 0, left));
    ++exact.pieces;
    if (forces_.spent()) {  // what this piece found is worth nothing: the rest of the step begins where it did
      restore(state);
      break;
    }
    left -= dt;
    if (exact.discontinuities() > before) exact.event_time = tick.h - left;
  }
  if (left <= kTimeTolerance) left = 0;
  publish(tick, state);
  const LcpReport& solved = forces_.report();
  report.solver_failures += solved.failures, report.solver_fallbacks += solved.fallbacks;
  report.solver_iterations += solved.iterations, report.inconsistent += solved.inconsistent;
  report.indeterminate += solved.indeterminate;
  report.solver_residual = std::max(report.solver_residual, solved.residual);
  exact.exhausted = left > 0 ? 1 : 0;
  return left;
}

}  // namespace tactus
