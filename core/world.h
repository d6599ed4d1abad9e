// The front door of core: a scene that can be stepped, pushed, saved and restored. One World per thread; nothing here
// locks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/contact/contact_model.h"
#include "core/dynamics/model.h"
#include "core/dynamics/state.h"
#include "core/limits.h"

namespace tactus {

class BroadPhase;
class MeshScratch;

class World {
 public:
  // Takes the model and sizes all memory from the limits. The model must fit them (scene/ has checked); asserted.
  // Worlds of one scene may share the model. A step advances by ticks_per_step of the model's ticks at once.
  World(std::shared_ptr<const Model> model, const Limits& limits, std::uint32_t ticks_per_step = 1);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Adds a force at the mass centre of body b, F_Bcm_W [N m, N], to this tick's sum. Taken by the next step() and then
  // forgotten.
  void apply(BodyIndex b, const SpatialForce& F_Bcm_W) noexcept;
  // What acts along dof i of State::joint_v from the next step on, until it is set again. Actuation writes it.
  void set_drive(DofIndex i, const DofDrive& drive) noexcept { drives_[i] = drive; }
  [[nodiscard]] const DofDrive& drive(DofIndex i) const noexcept { return drives_[i]; }
  // What the drive of dof i gave in the last step, on average [N m or N].
  [[nodiscard]] double joint_effort(DofIndex i) const noexcept { return joint_efforts_[i]; }
  // What apply() has summed up for the next step.
  [[nodiscard]] const SpatialForce& applied(BodyIndex b) const noexcept { return applied_[b]; }
  // Advances by h = ticks_per_step * Model::step: kinematics, broad phase, narrow phase, model.advance, finish.
  // Allocates nothing.
  StepReport step() noexcept;
  // One tick of the model without forces: bodies and joints move on with their velocities (moving: false, they stand),
  // kinematic bodies with their motion; what was applied is forgotten. Between the steps of another World that solves
  // for this one.
  void extrapolate(bool moving = true) noexcept;
  // Takes over a state of another World of this model and these limits; what was applied stays. Whatever its contact
  // model is: set_model() before the next step(), unless it is this World's.
  void adopt(const State& state) noexcept;
  // Another World solves with `kind` from here on: as set_model() for the state, whether or not this World has it.
  void yield_to(ContactModelKind kind) noexcept;

  // Switches the contact model; pair memory keeps its common part, the models' blocks are cleared. False: not in this
  // build.
  bool set_model(ContactModelKind kind) noexcept;
  [[nodiscard]] static bool has_model(ContactModelKind kind) noexcept;
  // Keys: gains ("auto", "auto-explicit", "paper", or "kp,kv,ki"), alpha, beta, depth_scale_m, explicit_alpha,
  // explicit_beta, lambda, contact_margin_m, gravity_m_per_s2 ("x,y,z"),
  // impact_epsilon_m_per_s, overlap_relax_time_s, overlap_relax_speed_m_per_s. False: unknown key or a value out of
  // range; nothing changed. Not for the tick thread (parses text).
  static bool parse_parameter(std::string_view key, std::string_view value, Parameters& out);
  // All keys with their present values, as parse_parameter reads them.
  static std::vector<std::pair<std::string, std::string>> list_parameters(const Parameters& parameters);
  void set_parameters(const Parameters& parameters) noexcept { parameters_ = parameters; }
  [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }

  // Copies; out must come from the same model and limits (then nothing is allocated).
  void snapshot(State& out) const { out = state_; }
  // False when the state does not fit the model (bodies, pair capacity); then nothing changed.
  bool restore(const State& state) noexcept;
  [[nodiscard]] bool fits(const State& state) const noexcept;  // whatever its contact model is
  void reset() noexcept { restore(initial_); }
  [[nodiscard]] const State& initial() const noexcept { return initial_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return state_hash(state_); }

  [[nodiscard]] const Model& model() const noexcept { return *model_; }
  [[nodiscard]] const std::shared_ptr<const Model>& shared_model() const noexcept { return model_; }
  [[nodiscard]] double h() const noexcept { return ticks_per_step_ * model_->step; }
  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
  [[nodiscard]] const State& state() const noexcept { return state_; }
  // Contacts of the last step, found at its start, with the force on A at each point [N, W].
  [[nodiscard]] const ContactSet& contacts() const noexcept { return contacts_; }
  [[nodiscard]] const Vec3& contact_force(std::uint32_t point) const noexcept { return contact_forces_[point].force; }
  // Moves a body: for kinematic bodies and tests. V_WB is that of B's origin.
  void set_body(BodyIndex b, const Pose& X_WB, const SpatialVelocity& V_WB) noexcept {
    tactus::set_body(*model_, state_, b, X_WB, V_WB);
  }
  // Bytes that a snapshot needs when serialised, and the two directions. A serialised state belongs to one scene and
  // one build.
  [[nodiscard]] std::vector<std::uint8_t> serialise(const State& state) const;
  [[nodiscard]] bool deserialise(std::span<const std::uint8_t> bytes, State& out) const;

 private:
  void find_contacts(double margin, StepReport& report) noexcept;
  std::span<const PairKey> add_patches(std::span<const PairKey> keys, StepReport& report) noexcept;
  void add_manifold(std::uint32_t pair, const ContactBuffer& buffer, StepReport& report) noexcept;
  void take_points(const ContactBuffer& buffer, Manifold& m, StepReport& report) noexcept;
  void freeze_robots(StepReport& report) noexcept;
  void finish(StepReport& report) noexcept;
  void end_of_ticks(std::uint32_t ticks) noexcept;

  std::shared_ptr<const Model> model_;
  Limits limits_;
  std::uint32_t ticks_per_step_;
  Parameters parameters_;
  State state_, initial_;
  Kinematics kinematics_;
  std::unique_ptr<BroadPhase> broad_phase_;
  std::vector<std::unique_ptr<ContactModel>> contact_models_;
  ContactModel* contact_model_ = nullptr;
  std::vector<SpatialForce> applied_;
  std::vector<DofDrive> drives_;
  std::vector<double> joint_efforts_, last_joint_q_;
  std::vector<Manifold> manifolds_;
  std::vector<ContactPoint> points_;
  std::vector<ContactPoint> raw_points_;
  std::vector<std::uint32_t> chosen_;
  std::vector<SpatialForce> contact_forces_;
  std::vector<PairRecord> pair_scratch_;
  std::unique_ptr<MeshScratch> mesh_scratch_;  // null: no shape is a mesh
  std::vector<PairKey> patch_keys_;
  ContactSet contacts_;
  Arena arena_;
};

}  // namespace tactus
