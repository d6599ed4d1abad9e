#include "core/world.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/collide/broad_phase.h"
#include "core/collide/mesh/collide_mesh.h"
#include "core/collide/places/collide_mesh_smooth.h"
#include "core/collide/places/collide_places.h"
#include "core/collide/time/collide_ahead.h"
#include "core/collide/time/passes_by.h"
#include "core/contact/body_response.h"
#include "core/contact/bottom_points.h"
#include "core/continuous_motion.h"
#include "core/dynamics/integrator.h"
#include "core/dynamics/robot_sweep.h"
#include "core/shape/mesh/triangle_mesh.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

namespace {

constexpr ContactModelKind kAllModels[] = {ContactModelKind::penalty, ContactModelKind::deepest, ContactModelKind::lcp,
                                           ContactModelKind::st,      ContactModelKind::ap,      ContactModelKind::lnc,
                                           ContactModelKind::peg};

std::vector<BroadShape> broad_shapes(const Model& model) {
  std::vector<BroadShape> out;
  for (const ShapeInstance& s : model.shapes) {
    const BodyMode mode = model.bodies[s.body].mode;
    out.push_back({s.body, s.group, s.mask, mode != BodyMode::fixed, mode == BodyMode::free || mode == BodyMode::link,
                   s.shape.kind == ShapeKind::half_space});
  }
  return out;
}

bool has_meshes(const Model& model) noexcept {
  return std::any_of(model.shapes.begin(), model.shapes.end(),
                     [](const ShapeInstance& s) { return s.shape.kind == ShapeKind::mesh; });
}

// A shape over the step, if its body goes on as it moves now. grown: what its box is wider by.
SweptShape as_it_moves(const Model& model, const Kinematics& kinematics, const State& state, std::uint32_t s,
                       double grown, double h) noexcept {
  const BodyIndex b = model.shapes[s].body;
  const Aabb& box = kinematics.boxes[s];
  const Vec3 centre_W = kinematics.bodies[b].X_WBcm.p;
  const bool bounded = model.shapes[s].shape.kind != ShapeKind::half_space;
  const double radius =
      bounded ? 0.5 * (box.hi - box.lo).norm() + (0.5 * (box.hi + box.lo) - centre_W).norm() - grown : 0.0;
  return {model.shapes[s].shape, kinematics.X_WS[s], centre_W, h * state.v_WBcm(b), h * state.w_WB(b), radius, 1};
}

// Overlap points of one pair that may have to be reduced at once.
std::uint32_t most_points(const Model& model, const Limits& limits) noexcept {
  return has_meshes(model) ? std::max(limits.raw_points_per_pair, limits.mesh_points_per_pair)
                           : limits.raw_points_per_pair;
}

// What one tick may take from the arena: per manifold and point for the contact models, per body for RK4, and the
// bottom points.
std::size_t arena_bytes(const Model& model, const Limits& limits) {
  const std::size_t manifolds = limits.pairs, points = manifolds * limits.points_per_pair, bodies = model.bodies.size();
  std::size_t robots = 0, reach = 0;
  for (const Robot& robot : model.robots) {
    robots += sweep_bytes(model, robot) + robot.v_count * 64 + robot.q_count * 64 + 256;
    for (const auto& dofs : robot.reach) reach = std::max(reach, dofs.size());
  }
  // A contact between two links: each one's half response, and that of both together.
  if (robots > 0) robots += limits.robot_contacts * (4 * reach * (6 * sizeof(double) + sizeof(DofIndex)) + 512);
  return manifolds * 3000 + points * 64 + bodies * 1200 + 4 * bottom_points_scratch(most_points(model, limits)) +
         robots + (1u << 16);
}

bool finite(const double* x, std::size_t n) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * 0.0;
  return sum == 0.0;
}

}  // namespace

World::World(std::shared_ptr<const Model> model, const Limits& limits, std::uint32_t ticks_per_step)
    : model_(std::move(model)),
      limits_(limits),
      ticks_per_step_(ticks_per_step),
      parameters_(model_->parameters),
      robot_drives_(*model_, ticks_per_step),
      sensors_(*model_, ticks_per_step * model_->step),
      arena_(arena_bytes(*model_, limits)) {
  TACTUS_ASSERT(ticks_per_step >= 1);
  TACTUS_ASSERT(model_->bodies.size() <= limits.bodies && model_->shapes.size() <= limits.shapes);
  TACTUS_ASSERT(limits.points_per_pair >= 4 && limits.points_per_pair <= 64);
  TACTUS_ASSERT(has_model(model_->contact_model));
  state_ = initial_state(*model_, limits.pairs);
  initial_ = state_;
  resize(*model_, kinematics_);
  broad_phase_ = std::make_unique<BroadPhase>(broad_shapes(*model_), model_->no_collision, limits.pairs);
  contact_models_.resize(std::size(kAllModels));
  for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::deepest, state_.contact_model}) {
    prepare_model(kind);
  }
  contact_model_ = contact_models_[static_cast<std::size_t>(state_.contact_model)].get();
  const std::size_t n = model_->bodies.size(), points = static_cast<std::size_t>(limits.pairs) * limits.points_per_pair;
  applied_.resize(n);
  drives_.resize(model_->joint_v0.size());
  set_drives_.resize(model_->joint_v0.size());
  joint_efforts_.resize(model_->joint_v0.size());
  joint_stops_.resize(model_->joint_v0.size());
  external_efforts_.resize(model_->joint_v0.size());
  if (!model_->robots.empty()) contact_wrenches_.resize(n);
  external_wrenches_.resize(n);
  last_q_.resize(7 * n), last_joint_q_.resize(model_->joint_q0.size());
  froze_.resize(n);
  for (const Robot& robot : model_->robots) TACTUS_ASSERT(robot.v_count <= std::min(limits.robot_dofs, kMostDofs));
  for (const Robot& robot : model_->robots)
    half_response_.resize(std::max<std::size_t>(half_response_.size(), 6 * robot.v_count));
  manifolds_.resize(limits.pairs);
  points_.resize(points);
  contact_forces_.resize(points);
  raw_points_.resize(limits.raw_points_per_pair);
  chosen_.resize(most_points(*model_, limits));
  pair_scratch_.resize(limits.pairs);
  reach_.resize(model_->shapes.size()), travel_.resize(model_->shapes.size());
  has_patches_ = std::any_of(model_->shapes.begin(), model_->shapes.end(), [](const ShapeInstance& s) {
    return s.shape.kind == ShapeKind::mesh || (s.shape.kind == ShapeKind::smooth && !s.shape.smooth->convex());
  });
  if (has_patches_) {
    TACTUS_ASSERT(limits.patches_per_pair >= 1 && limits.patches_per_pair <= kMaxMeshPatches);
    TACTUS_ASSERT(limits.raw_points_per_pair >= limits.patches_per_pair);
    patch_keys_.resize(limits.pairs);
  }
  if (has_meshes(*model_)) {
    TACTUS_ASSERT(limits.mesh_points_per_pair >= 64);
    for (const ShapeInstance& s : model_->shapes) {
      TACTUS_ASSERT(s.shape.kind != ShapeKind::mesh || (s.shape.mesh->tree && s.shape.mesh->field));
    }
    mesh_scratch_ = std::make_unique<MeshScratch>(limits.mesh_points_per_pair);
  }
  if (ContinuousMotion::is_needed(*model_)) continuous_ = std::make_unique<ContinuousMotion>(*model_);
  contacts_.manifolds = manifolds_.data();
  contacts_.points = points_.data();
  if (FeaturePairs* features = contact_model_->features()) make_room(features->capacity());
  measure_at_rest();
}

World::~World() = default;

void World::apply(BodyIndex b, const SpatialForce& F_Bcm_W) noexcept {
  TACTUS_ASSERT(b < applied_.size());
  if (!finite(F_Bcm_W.force.data(), 3) || !finite(F_Bcm_W.torque.data(), 3)) return;
  applied_[b].force += F_Bcm_W.force;
  applied_[b].torque += F_Bcm_W.torque;
}

// Contacts again, within a step.
class World::Finder final : public ContactFinder {
 public:
  Finder(World& world, StepReport& found) noexcept : world_(world), found_(found) {}
  void find() noexcept override {
    const std::size_t mark = world_.arena_.used();
    const WitnessCounts before = found_.witnesses;
    found_ = {};
    found_.witnesses = before;  // every look asks them
    world_.guard(world_.guarded_);
    world_.look(found_);
    world_.arena_.rewind(mark);
  }

 private:
  World& world_;
  StepReport& found_;
};

// Kinematics and contacts of the state as it is.
void World::look(StepReport& found) noexcept {
  compute_kinematics(*model_, state_, kinematics_);
  const double margin = contact_model_->margin(*model_, parameters_);
  if (contact_model_->looks_ahead()) find_reach(contact_model_->finds_again(*model_, parameters_) ? 0 : h());
  if (margin > 0) {
    for (Aabb& box : kinematics_.boxes) box.lo.array() -= margin, box.hi.array() += margin;
  }
  find_contacts(margin, found);
}

StepReport World::step() noexcept {
  arena_.reset();
  StepReport found;
  begin_guard();
  bound_applied(guarded_);
  look(found);
  if (continuous_) continuous_->begin(kinematics_);
  // Models set the forces of the points that they use; the others carry nothing, whatever was there last tick.
  std::fill_n(contact_forces_.begin(), contacts_.point_count, SpatialForce{});
  std::fill(contact_wrenches_.begin(), contact_wrenches_.end(), SpatialForce{});
  std::fill(joint_efforts_.begin(), joint_efforts_.end(), 0.0);
  std::fill(joint_stops_.begin(), joint_stops_.end(), 0.0);
  drive_robots();
  Finder finder(*this, found);
  const Tick tick{*model_,        parameters_,           limits_,         h(),
                  contacts_,      kinematics_,           applied_.data(), contact_forces_.data(),
                  drives_.data(), joint_efforts_.data(), arena_,          contact_wrenches_.data(),
                  &finder,        joint_stops_.data()};
  StepReport report = contact_model_->advance(tick, state_);
  report.contacts = found.contacts;
  report.manifolds = contacts_.manifold_count;
  report.points_dropped += found.points_dropped;
  report.pairs_dropped = found.pairs_dropped;
  report.depth_max = found.depth_max;
  report.witnesses = found.witnesses;
  if (continuous_) {
    guard(guarded_);
    const ContinuousStops stops = continuous_->stop(*model_, parameters_, h(), state_);
    report.continuous_stops = stops.bodies;
    report.continuous_unknown = stops.unknown;
  }
  if (contact_model_->features() != nullptr) publish_features();
  finish(guarded_);
  report.bodies_frozen = guarded_.bodies_frozen, report.frozen_body = guarded_.frozen_body;
  report.speeds_bounded = guarded_.speeds_bounded, report.bounded_body = guarded_.bounded_body;
  if (report.bodies_frozen > 0 || !forces_bearable()) forget_what_froze();
  measure(contacts_);
  std::fill(applied_.begin(), applied_.end(), SpatialForce{});
  return report;
}

// What each shape may travel in a time h, by its velocity, gravity and the applied force, and boxes that much larger:
// whatever two shapes could close within the step is then seen.
void World::find_reach(double h) noexcept {
  for (std::size_t s = 0; s < model_->shapes.size(); ++s) {
    const BodyIndex b = model_->shapes[s].body;
    const Body& body = model_->bodies[b];
    const BodyKinematics& k = kinematics_.bodies[b];
    Aabb& box = kinematics_.boxes[s];
    const Vec3 extent = 0.5 * (box.hi - box.lo), centre = 0.5 * (box.hi + box.lo) - k.X_WBcm.p;
    const bool bounded = model_->shapes[s].shape.kind != ShapeKind::half_space;
    const double arm = bounded ? extent.norm() + centre.norm() : 0.0;
    const double rate = 2 * M_PI * body.motion.frequency;
    double speed = state_.v_WBcm(b).norm() + rate * body.motion.amplitude_W.norm();
    if (moves(k)) speed += h * parameters_.gravity_W.norm() * std::abs(body.gravity_scale);
    speed += h * k.inv_mass * applied_[b].force.norm();
    const double turn = state_.w_WB(b).norm() + rate * body.motion.angle_amplitude_W.norm();
    travel_[s] = parameters_.contact_margin + h * (speed + arm * turn);
    const double asked = 0.5 * parameters_.detection_distance;
    reach_[s] = asked == 0 ? travel_[s] : asked;
    box.lo.array() -= reach_[s], box.hi.array() += reach_[s];
  }
}

// For comparison: all is searched for as at a first meeting. What touches keeps its axis, by which contacts are seen
// across a margin.
void World::forget_witnesses() noexcept {
  broad_phase_->forget_order();
  state_.pairs.resize_left(0);
  for (std::uint32_t i = 0; i < state_.pairs.size(); ++i) {
    PairRecord& record = state_.pairs[i];
    const Vec3 axis_A = record.witness.axis_A;
    record.witness = {};
    record.met = 0;
    if (record.phase == ContactPhase::resting) record.witness.axis_A = axis_A;
  }
}

// Broad phase, pair memory, narrow phase. Fills contacts_.
void World::find_contacts(double margin, StepReport& report) noexcept {
  WitnessCounts asked;
  if (!parameters_.coherence) forget_witnesses();
  std::span<const PairKey> keys = broad_phase_->find_pairs(kinematics_.boxes, kinematics_.X_WS, state_.pairs);
  report.pairs_dropped = broad_phase_->dropped();
  if (has_patches_) keys = add_patches(keys, report);
  // A stepper that looks several times a step sees pairs go and come again.
  const bool again = contact_model_->finds_again(*model_, parameters_), keep_left = parameters_.coherence && again;
  state_.pairs.match(keys, pair_scratch_.data(), keep_left);
  contacts_.manifold_count = contacts_.point_count = 0;
  const bool ahead = contact_model_->looks_ahead();
  FeaturePairs* const features = contact_model_->features();
  if (features != nullptr) features->start(contact_model_->feature_rules(parameters_));
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    const std::uint32_t a = keys[i].shape_a, b = keys[i].shape_b;
    const Shape &shape_a = model_->shapes[a].shape, &shape_b = model_->shapes[b].shape;
    const Frame &X_WA = kinematics_.X_WS[a], &X_WB = kinematics_.X_WS[b];
    if (has_patches_ && touches_in_patches(keys[i])) {
      has_places(shape_a, shape_b) ? collide_smooth_pair(i, margin, report) : collide_mesh_pair(i, margin, report);
      i += limits_.patches_per_pair - 1;
      continue;
    }
    if (features != nullptr && features->knows(a) && features->knows(b)) {
      add_features(i, *features, report);
      continue;
    }
    ContactBuffer buffer{raw_points_.data(), limits_.raw_points_per_pair};
    PairMotion motion;
    if (shape_a.kind == ShapeKind::smooth || shape_b.kind == ShapeKind::smooth) buffer.motion = lead(a, b, motion);
    PairRecord& record = state_.pairs[i];
    const double reach = record.phase == ContactPhase::resting ? margin : 0.0;
    if (ahead) {
      buffer.travel = again ? 0 : travel_[a] + travel_[b];
      buffer.kept = limits_.points_per_pair;
      collide_ahead(shape_a, X_WA, shape_b, X_WB, reach_[a] + reach_[b], record.witness, buffer);
    } else {
      collide(shape_a, X_WA, shape_b, X_WB, reach, record.witness, buffer);
    }
    if (!buffer.witnesses.searched()) buffer.witnesses.add_closed(record.met != 0);
    record.met = 1;
    asked += buffer.witnesses;
    add_manifold(i, buffer, report);
  }
  report.witnesses += asked;
  state_.witnesses += asked;
}

void World::collide_mesh_pair(std::uint32_t pair, double margin, StepReport& report) noexcept {
  const std::uint32_t a = state_.pairs[pair].key.shape_a, b = state_.pairs[pair].key.shape_b;
  MeshContacts found;
  collide_mesh(model_->shapes[a].shape, kinematics_.X_WS[a], model_->shapes[b].shape, kinematics_.X_WS[b],
               contact_model_->looks_ahead() ? reach_[a] + reach_[b] : margin, &state_.pairs[pair],
               limits_.patches_per_pair, *mesh_scratch_, found);
  report.points_dropped += found.dropped;
  for (std::uint32_t k = 0; k < limits_.patches_per_pair; ++k) add_manifold(pair + k, found.patch[k], report);
}

// How two shapes' bodies move, if their contacts are to be those of a little later; null: those of now.
const PairMotion* World::lead(std::uint32_t a, std::uint32_t b, PairMotion& out) const noexcept {
  out.lead = contact_model_->lead(*model_, parameters_, h());
  if (out.lead == 0) return nullptr;
  const auto motion = [this](std::uint32_t s) {
    const BodyIndex body = model_->shapes[s].body;
    return RigidMotion{.c_W = kinematics_.bodies[body].X_WBcm.p, .v_W = state_.v_WBcm(body), .w_W = state_.w_WB(body)};
  };
  out.A = motion(a), out.B = motion(b);
  return &out;
}

// Of a surface that is not convex, or a mesh and a smooth surface: each place by itself.
void World::collide_smooth_pair(std::uint32_t pair, double margin, StepReport& report) noexcept {
  const std::uint32_t a = state_.pairs[pair].key.shape_a, b = state_.pairs[pair].key.shape_b;
  const std::uint32_t places = limits_.patches_per_pair, points = limits_.raw_points_per_pair / places;
  const bool ahead = contact_model_->looks_ahead(), again = contact_model_->finds_again(*model_, parameters_);
  const double reach = ahead ? reach_[a] + reach_[b] : 0.0;
  PlaceContacts found;
  PairMotion motion;
  const PairMotion* const moving = lead(a, b, motion);
  for (std::uint32_t k = 0; k < places; ++k) {
    found.place[k] = {raw_points_.data() + std::size_t{k} * points, points};
    found.place[k].motion = moving;
    found.place[k].travel = ahead && !again ? travel_[a] + travel_[b] : 0;
    found.place[k].kept = limits_.points_per_pair;
  }
  const Shape &shape_a = model_->shapes[a].shape, &shape_b = model_->shapes[b].shape;
  const auto find = is_mesh_smooth_pair(shape_a, shape_b) ? collide_mesh_smooth : collide_places;
  find(shape_a, kinematics_.X_WS[a], shape_b, kinematics_.X_WS[b], reach, margin, &state_.pairs[pair], places, found);
  report.points_dropped += found.dropped;
  const auto swept = [&](std::uint32_t s) { return as_it_moves(*model_, kinematics_, state_, s, reach_[s], h()); };
  for (std::uint32_t k = 0; k < places; ++k) {
    ContactBuffer& place = found.place[k];
    if (ahead && passes_by(swept(a), swept(b), place.points, place.count)) place.count = 0;
    state_.pairs[pair + k].met = 1;
    report.witnesses += place.witnesses;
    state_.witnesses += place.witnesses;
    add_manifold(pair + k, place, report);
  }
}

// May the pair touch in several places, each with a record of its own?
bool World::touches_in_patches(const PairKey& key) const noexcept {
  const Shape &a = model_->shapes[key.shape_a].shape, &b = model_->shapes[key.shape_b].shape;
  return is_mesh_pair(a, b) || has_places(a, b);
}

// A pair that may touch in several places gets one key for each of them; what does not fit is counted.
std::span<const PairKey> World::add_patches(std::span<const PairKey> keys, StepReport& report) noexcept {
  std::uint32_t count = 0;
  for (const PairKey& key : keys) {
    const std::uint32_t patches = touches_in_patches(key) ? limits_.patches_per_pair : 1;
    if (count + patches > patch_keys_.size()) {
      ++report.pairs_dropped;
      continue;
    }
    for (std::uint32_t k = 0; k < patches; ++k) patch_keys_[count++] = {key.shape_a, key.shape_b, k};
  }
  return {patch_keys_.data(), count};
}

// What one record's pair has found: the contacts, or that it is apart.
void World::add_manifold(std::uint32_t pair, const ContactBuffer& buffer, StepReport& report) noexcept {
  PairRecord& record = state_.pairs[pair];
  if (buffer.count == 0) {
    if (record.age == 0 && record.phase == ContactPhase::apart) return;  // as before: nothing to write
    record.phase = ContactPhase::apart;
    record.age = 0;
    record.model.fill(0.0);
    return;
  }
  ++record.age;
  const std::uint32_t a = record.key.shape_a, b = record.key.shape_b;
  Manifold& m = contacts_.manifolds[contacts_.manifold_count++];
  m.nhat_BA_W = buffer.nhat_BA_W;
  m.pair = pair;
  m.shape_a = a, m.shape_b = b;
  m.body_a = model_->shapes[a].body, m.body_b = model_->shapes[b].body;
  m.first = contacts_.point_count;
  m.depth_max = -std::numeric_limits<double>::infinity();
  m.all_on_bottom = buffer.all_on_bottom;
  m.gap_curve = buffer.gap_curve;
  take_points(buffer, m, report);
  report.depth_max = std::max(report.depth_max, m.depth_max);
}

// Copies the points of one pair into the contact set, at most points_per_pair: the bottom first, then the widest
// polygon. A mesh's flat contact is cut to the corners of its outline.
void World::take_points(const ContactBuffer& buffer, Manifold& m, StepReport& report) noexcept {
  std::uint32_t count = buffer.count;
  for (std::uint32_t k = 0; k < count; ++k) m.depth_max = std::max(m.depth_max, buffer.points[k].depth);
  ContactPoint* out = contacts_.points + contacts_.point_count;
  const Shape &shape_a = model_->shapes[m.shape_a].shape, &shape_b = model_->shapes[m.shape_b].shape;
  const bool mesh = is_mesh_pair(shape_a, shape_b) && !has_places(shape_a, shape_b);
  const double level = 1e-3 * std::abs(m.depth_max);  // depths of a flat face differ by noise
  const bool flat = mesh && count > 3 && flat_overlap(m.nhat_BA_W, buffer.points, count, level);
  if (count <= limits_.points_per_pair && !flat) {
    std::copy(buffer.points, buffer.points + count, out);
  } else {
    const double cut = flat ? std::numeric_limits<double>::infinity() : level;
    count = bottom_points(m.nhat_BA_W, buffer.points, count, cut, chosen_.data(), arena_);
    const auto keep = flat ? keep_outermost : keep_widest;
    const std::uint32_t kept = keep(m.nhat_BA_W, buffer.points, chosen_.data(), count, limits_.points_per_pair, arena_);
    report.points_dropped += count - kept;
    for (std::uint32_t k = 0; k < kept; ++k) out[k] = buffer.points[chosen_[k]];
    count = kept;
    m.all_on_bottom = true;
  }
  if (buffer.truncated) ++report.points_dropped;
  m.count = count;
  contacts_.point_count += count;
  for (std::uint32_t k = 0; k < count; ++k) report.contacts += out[k].depth > 0 ? 1 : 0;
}

void World::finish(StepReport& report) noexcept {
  guard(report);
  end_of_ticks(ticks_per_step_);
}

void World::end_of_ticks(std::uint32_t ticks) noexcept {
  state_.tick += ticks;
  state_.time = static_cast<double>(state_.tick) * model_->step;
}

StepReport World::extrapolate(bool moving) noexcept {
  const double h = model_->step;
  begin_guard();
  prescribe_velocities(*model_, state_.time, h, state_);
  for (BodyIndex b = 0; b < state_.body_count(); ++b) {
    const BodyMode mode = model_->bodies[b].mode;
    const bool moves_on = mode == BodyMode::kinematic || (mode == BodyMode::free && moving);
    if (!moves_on || state_.frozen[b]) continue;
    state_.set_pose(b, state_.p_WBcm(b) + h * state_.v_WBcm(b), rotate_by(h * state_.w_WB(b), state_.q_WB(b)));
  }
  for (const Robot& robot : model_->robots) {
    if (!moving || robot_frozen(*model_, state_, robot)) continue;
    integrate_joints(*model_, robot, h, state_.joint_v.data() + robot.first_v, state_.joint_q.data() + robot.first_q);
  }
  if (!model_->robots.empty()) update_links(*model_, kinematics_, state_);
  std::fill(applied_.begin(), applied_.end(), SpatialForce{});
  guard(guarded_);
  if (guarded_.bodies_frozen > 0) forget_what_froze();
  end_of_ticks(1);
  sensors_.measure_encoders(*model_, state_);
  return guarded_;
}

void World::adopt(const State& state) noexcept {
  TACTUS_ASSERT(fits(state));
  state_ = state;
}

void World::yield_to(ContactModelKind kind) noexcept {
  if (state_.contact_model == kind) return;
  state_.contact_model = kind;
  state_.pairs.clear_model_blocks();
}

bool World::has_model(ContactModelKind kind) noexcept {
  return kind <= ContactModelKind::peg;
}

bool World::prepare_model(ContactModelKind kind) {
  std::unique_ptr<ContactModel>& slot = contact_models_[static_cast<std::size_t>(kind)];
  if (!slot) {
    slot = make_contact_model(kind, *model_, limits_);
    if (slot && slot->features() != nullptr) make_room(slot->features()->capacity());
  }
  return slot != nullptr;
}

bool World::set_model(ContactModelKind kind) noexcept {
  ContactModel* next = contact_models_[static_cast<std::size_t>(kind)].get();
  if (next == nullptr) return false;
  contact_model_ = next;
  yield_to(kind);
  return true;
}

bool World::fits(const State& state) const noexcept {
  return state.q.size() == state_.q.size() && state.v.size() == state_.v.size() &&
         state.joint_q.size() == state_.joint_q.size() && state.joint_v.size() == state_.joint_v.size() &&
         state.frozen.size() == state_.frozen.size() && state.pairs.capacity() == state_.pairs.capacity() &&
         static_cast<std::size_t>(state.contact_model) < contact_models_.size() &&
         finite(state.q.data(), state.q.size()) && finite(state.v.data(), state.v.size()) &&
         finite(state.joint_q.data(), state.joint_q.size()) && finite(state.joint_v.data(), state.joint_v.size()) &&
         valid_actuators(robot_drives_.channels().joints(), state.actuators);
}

bool World::restore(const State& state) noexcept {
  const std::size_t kind = static_cast<std::size_t>(state.contact_model);
  if (!fits(state) || !contact_models_[kind] || !jump(state)) return false;
  contact_model_ = contact_models_[kind].get();
  return true;
}

}  // namespace tactus
