// Contact forces of the exact stepper as a function of positions and velocities: chi'' >= 0, f >= 0, f chi'' = 0 at
// every contact that touches (Baraff 1990, section 3), with chi'' linear in the forces, and Coulomb friction (Baraff
// 1993, 5).
#pragma once

#include <span>
#include <vector>

#include "core/collide/feature/contact_features.h"
#include "core/contact/solve/lcp_forces.h"
#include "core/dynamics/integrator.h"

namespace tactus {

// A contact that touches, followed by its features from its first moment in a piece of a step to the last.
struct FollowedContact {
  std::uint32_t shape_a = 0, shape_b = 0;
  BodyIndex body_a = 0, body_b = 0;
  std::uint32_t manifold = 0, point = 0;  // where it stands in the ContactSet
  ContactFeatures features;               // not of smooth shapes
  ExtremalSide side_a, side_b;            // smooth shapes
  bool smooth = false;
  bool one_of_several = false;  // places of the pair (collide_places.h)
  bool fits = false;            // smooth surfaces fit each other around it
  bool runs = false;            // its place has run over them since the piece began: they nearly fit
  double restitution = 0, mu_static = 0, mu_dynamic = 0;
  bool slides = false;
  Vec3 slip_W = Vec3::Zero();  // unit: the way A slides over B, last known
  // As evaluated last.
  ContactJet jet;
  Mat3 e = Mat3::Identity();  // columns n, t1, t2 in W
  Vec3 force = Vec3::Zero();  // on A along e [N]
  double opening = 0;         // chi'' [m/s^2]
  double mobility = 0;        // mean of the contact's own block of A [1/kg]
  Vec3 free = Vec3::Zero();   // relative acceleration along e without contact forces [m/s^2]

  [[nodiscard]] Vec3 p_W() const noexcept { return 0.5 * (jet.pa + jet.pb); }
};

class ExactForces final : public ForceLaw {
 public:
  ExactForces(const Model& model, const Limits& limits);

  // Of the step that begins; the tick must live through it.
  void start(const Tick& tick, const State& state) noexcept;
  void clear() noexcept { count_ = 0; }
  [[nodiscard]] std::size_t capacity() const noexcept { return contacts_.size(); }
  // Forgets the contacts that do not.
  template <typename Keep>
  void keep(Keep&& keep) noexcept {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (keep(contacts_[i])) contacts_[kept++] = contacts_[i];
    }
    count_ = kept;
  }
  // Null: no room.
  [[nodiscard]] FollowedContact* add() noexcept { return count_ < contacts_.size() ? &contacts_[count_++] : nullptr; }
  [[nodiscard]] std::span<FollowedContact> contacts() noexcept { return {contacts_.data(), count_}; }

  // Poses, motions without forces and jets of all contacts at (q, v), laid out as in State.
  void look(const double* q, const double* v) noexcept;
  // The jet of a contact at what look() or evaluate() saw last.
  void find_jet(FollowedContact& contact) const noexcept;
  // The same for other poses and motions.
  void find_jet(FollowedContact& contact, std::span<const Frame> X_WS,
                std::span<const RigidMotion> motions) const noexcept;
  // Trials of one piece: the same stages from the same start, dt long. The forces of the last trial's stages, drawn
  // towards the start as the length is, are where each stage begins; else where the stage before ended.
  void forget_trials() noexcept { trial_dt_ = 0; }
  void begin_trial(double dt) noexcept;
  void end_trial() noexcept { stage_ = kStages; }
  // look(), then the forces. F: with the applied ones.
  void evaluate(const double* q, const double* v, SpatialForce* F_Bcm_W) noexcept override;
  // Impulses after which no contact approaches, by the same laws as forces; changes velocities. False: none were
  // needed.
  bool stop_approach(State& state) noexcept;
  // Takes drift off contacts that push: their gaps and normal velocities, and slip of those that stick, by kProjections
  // sweeps over the contacts, each alone (redundant contacts may contradict each other: an exact solution would amplify
  // that). Overlap that was there before is worked off at overlap_relax_*. After evaluate() at this state.
  void project(double dt, State& state) noexcept;

  // Where surfaces fit each other the place of contact runs away faster than any step follows: bodies sink, are lifted
  // by project(), and had the way for nothing. After project(): bodies that touch each other, some of them so, and
  // nothing that is moved, keep at most the energy that they had at (q0, v0), and what the applied forces gave since.
  void hold_energy(const double* q0, const double* v0, State& state) noexcept;

  // As seen last; accelerations with forces after evaluate().
  [[nodiscard]] const RigidMotion& motion(BodyIndex b) const noexcept { return motions_[b]; }
  [[nodiscard]] std::span<const RigidMotion> motions() const noexcept { return motions_; }
  [[nodiscard]] std::span<const Frame> shapes() const noexcept { return X_WS_; }
  [[nodiscard]] const LcpReport& report() const noexcept { return report_; }
  // What a step may cost, looks for contacts included (solver_work.h), is spent.
  void spend(std::uint64_t work) noexcept { solver_.spend(work); }
  [[nodiscard]] bool spent() const noexcept { return solver_.spent(); }

  // Do forces move it?
  [[nodiscard]] bool free(BodyIndex b) const noexcept { return bodies_[b].inv_mass > 0; }

 private:
  static constexpr std::uint32_t kStages = 5;  // of RK4, and the end

  void place(const double* q, const double* v) noexcept;
  [[nodiscard]] Vec3 guess(std::uint32_t contact) const noexcept;
  void load(FollowedContact& contact) noexcept;
  void give(const FollowedContact& contact, SpatialForce* F) const noexcept;
  [[nodiscard]] double normal_mobility(const FollowedContact& contact) const noexcept;
  [[nodiscard]] double kinetic_energy(BodyIndex b, const double* q, const double* v) const noexcept;
  [[nodiscard]] double gained(BodyIndex b, const double* q0, const double* v0, const State& state) const noexcept;
  [[nodiscard]] BodyIndex group_of(BodyIndex b) const noexcept;
  void find_groups() noexcept;
  void shift(const FollowedContact& contact, const Vec3& impulse, std::vector<SpatialVelocity>& by) const noexcept;

  const Model& model_;
  const Tick* tick_ = nullptr;
  const State* state_ = nullptr;
  ContactProblem problem_;
  LcpForces solver_;
  LcpReport report_;
  std::uint32_t count_ = 0;
  std::vector<FollowedContact> contacts_;
  std::vector<BodyKinematics> bodies_;
  std::vector<RigidMotion> motions_;
  std::vector<Frame> X_WS_;
  std::vector<Vec3> p_;
  std::vector<double> u_;
  std::vector<std::uint32_t> row_of_;  // of each contact in the problem; kNone
  std::vector<SpatialVelocity> moved_, changed_;
  struct Group {  // of bodies that touch each other; of each body, of which the first stands for all
    BodyIndex towards = 0;
    bool rolls = false;                                // of the body itself: over a place that runs away
    bool runs = false, moved = false, sticks = false;  // touches what moves by itself; sticks to what stands
    double gained = 0, mass = 0, square = 0, along = 0, share = 1, all = 1;
    Vec3 u = Vec3::Zero();  // how those that roll slide as one
    [[nodiscard]] bool held() const noexcept { return runs && !moved; }
  };
  std::vector<Group> group_;
  std::uint32_t stage_ = kStages;                // of the trial under way; kStages: none
  double trial_dt_ = 0, trial_share_ = 0;        // 0: no trial yet; of the last one's length
  std::vector<Vec3> start_force_, stage_force_;  // kStages a contact
};

// How A slides over B at a contact, by the velocities that the forces saw last [m/s].
Vec3 slip_of(const FollowedContact& c, const ExactForces& forces) noexcept;

}  // namespace tactus
