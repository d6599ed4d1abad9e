// The one interface of all contact models: given state, contacts and applied forces, advance by h. Penalty models call
// the shared integrator with their force law; time steppers call the shared contact problem and a solver. One virtual
// call a tick.
#pragma once

#include <cstdint>
#include <memory>

#include "core/arena.h"
#include "core/collide/contact_set.h"
#include "core/collide/feature/feature_pairs.h"
#include "core/collide/narrow_phase.h"
#include "core/dynamics/joint_drive.h"
#include "core/dynamics/kinematics.h"
#include "core/dynamics/state.h"
#include "core/limits.h"

namespace tactus {

// What the exact stepper (exact_stepper.h) did in one tick.
struct ExactReport {
  std::uint32_t pieces = 0;       // of the step, each without a discontinuity inside
  std::uint32_t collisions = 0;   // found in time
  std::uint32_t evaluations = 0;  // for that, beyond the ends of each trial
  std::uint32_t bisections = 0;   // of them, by bisection of the check for overlap
  std::uint32_t breaks = 0;       // contacts whose force ended
  std::uint32_t stops = 0;        // contacts whose slip ended
  std::uint32_t unresolved = 0;   // overlap with no time before it to be found: worked off as drift
  std::uint32_t exhausted = 0;    // 1: too many pieces; the rest of the step was a fixed one
  double event_time = 0;          // of the last of them, from the start of the step [s]
  [[nodiscard]] std::uint32_t discontinuities() const noexcept { return collisions + breaks + stops; }
};

struct ExactTotals {  // over many steps
  std::uint64_t pieces = 0, collisions = 0, evaluations = 0, bisections = 0, breaks = 0, stops = 0;
  std::uint64_t unresolved = 0, exhausted = 0;

  ExactTotals& operator+=(const ExactReport& o) noexcept {
    pieces += o.pieces, collisions += o.collisions, evaluations += o.evaluations, bisections += o.bisections;
    breaks += o.breaks, stops += o.stops, unresolved += o.unresolved, exhausted += o.exhausted;
    return *this;
  }
};

// What happened in one tick. Full is a reported number, never an error.
struct StepReport {
  std::uint32_t contacts = 0;  // points in overlap that collision kept
  std::uint32_t manifolds = 0;
  std::uint32_t points_dropped = 0;     // over Limits::points_per_pair (or its raw stage)
  std::uint32_t pairs_dropped = 0;      // over Limits::pairs
  std::uint32_t impacts = 0;            // manifolds that got an impulse
  std::uint32_t sweeps_exhausted = 0;   // 1: impact sweeps stopped at the limit
  std::uint32_t solver_failures = 0;    // systems that could not be solved; robots among them stood still in this tick
  std::uint32_t solver_fallbacks = 0;   // time steppers: islands of contacts that the first method did not solve
  std::uint32_t solver_iterations = 0;  // time steppers: factorisations
  double solver_residual = 0;           // time steppers: worst complementarity residual, relative
  std::uint32_t inconsistent = 0;   // lcp: islands for which no forces exist (Painleve): impulses stopped their slip
  std::uint32_t indeterminate = 0;  // lcp: islands that were solved, but whose sliding contacts allow other motions too
  std::uint32_t robot_contacts_dropped = 0;  // over Limits::robot_contacts
  std::uint32_t bodies_frozen = 0;           // this tick
  BodyIndex frozen_body = kNoBody;           // one of them
  std::uint32_t speeds_bounded = 0;          // bodies, and robots, that were pushed beyond kMostSpeed, kMostTurn
  BodyIndex bounded_body = kNoBody;          // one of them; of a robot its first link
  double depth_max = 0;                      // [m]
  WitnessCounts witnesses;                   // of this step's narrow phase; their sums are State::witnesses
  std::uint32_t continuous_stops = 0;        // continuous bodies that were put back to a touch (continuous_motion.h)
  std::uint32_t continuous_unknown = 0;      // looks at their ways that told nothing
  ExactReport exact;
};

// Finds contacts again: for models that stop within a step.
class ContactFinder {
 public:
  // Sets Tick::contacts and Tick::kinematics to what they are at the state's poses now: what overlaps, touches, or is
  // nearer than Parameters::contact_margin.
  virtual void find() noexcept = 0;

 protected:
  ~ContactFinder() = default;
};

// Everything a model needs for one tick besides State. Valid during advance() only.
struct Tick {
  const Model& model;
  const Parameters& parameters;
  const Limits& limits;
  double h;  // [s]
  const ContactSet& contacts;
  const Kinematics& kinematics;  // frames and inverse inertias at the start of the tick
  const SpatialForce* applied;   // per body, F_Bcm_W, commands only (gravity comes on top)
  SpatialForce* contact_force;   // per contact point: force on A at the point, for publishing (torque unused)
  const DofDrive* drives;        // per entry of State::joint_v
  double* joint_effort;          // the same: mean of what drives gave, for publishing [N m or N]
  Arena& arena;
  // Per body at its mass centre of the tick's start, zeroed before: mean contact force over the tick, without impacts.
  // null: nobody asks.
  SpatialForce* contact_wrench = nullptr;
  ContactFinder* finder = nullptr;  // null: contacts are those of the start, and stay
  double* joint_stop = nullptr;     // per entry of State::joint_v, zeroed before: mean of what ends of joints gave

  [[nodiscard]] double* stops_of(DofIndex first) const noexcept {
    return joint_stop == nullptr ? nullptr : joint_stop + first;
  }
};

class ContactModel {
 public:
  virtual ~ContactModel() = default;
  ContactModel() = default;
  ContactModel(const ContactModel&) = delete;
  ContactModel& operator=(const ContactModel&) = delete;

  // Advances q and v by h, updates phases and the model's blocks in state.pairs. Allocates nothing.
  virtual StepReport advance(const Tick& tick, State& state) noexcept = 0;
  // Pairs that touched are shown to advance() across a gap up to this [m], with points of negative depth; 0: never.
  [[nodiscard]] virtual double margin(const Model& model, const Parameters& parameters) const noexcept {
    (void)model, (void)parameters;
    return 0;
  }
  // How long after the step's begin the contacts of smooth shapes are meant to be, whose normals turn as they roll or
  // slide: forces that keep to one normal for the whole step push along what it is in its middle [s].
  [[nodiscard]] virtual double lead(const Model& model, const Parameters& parameters, double h) const noexcept {
    (void)model, (void)parameters, (void)h;
    return 0;
  }
  // True: all pairs are shown to advance() across the gap that they could close within the step, with points of
  // negative depth (collide_ahead.h).
  [[nodiscard]] virtual bool looks_ahead() const noexcept { return false; }
  // True: advance() uses Tick::finder. Contacts on entry are then what it would find, however far bodies may travel.
  [[nodiscard]] virtual bool finds_again(const Model& model, const Parameters& parameters) const noexcept {
    (void)model, (void)parameters;
    return false;
  }
  // Not null: pairs of polyhedra are shown as all their features that could touch (collide/feature/feature_pairs.h),
  // one manifold of one point for each, found by these rules.
  [[nodiscard]] virtual FeaturePairs* features() noexcept { return nullptr; }
  [[nodiscard]] virtual FeatureRules feature_rules(const Parameters& parameters) const noexcept {
    (void)parameters;
    return {};
  }
  [[nodiscard]] virtual ContactModelKind kind() const noexcept = 0;
};

// nullptr for a model that this build does not have. The time steppers take all their memory here, from the limits.
std::unique_ptr<ContactModel> make_contact_model(ContactModelKind kind, const Model& model, const Limits& limits);
// Whether a block that comes from outside is one that a model of this kind can start from: each of its numbers is
// within kMostMemory.
bool bearable_memory(ContactModelKind kind, const PairRecord& record) noexcept;

}  // namespace tactus
