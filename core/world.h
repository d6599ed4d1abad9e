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

#include "core/actuation/robot_drives.h"
#include "core/actuation/robot_sensors.h"
#include "core/contact/contact_model.h"
#include "core/dynamics/model.h"
#include "core/dynamics/state.h"
#include "core/limits.h"

namespace tactus {

class BroadPhase;
class ContinuousMotion;
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
  // What acts along dof i of State::joint_v from the next step on, until it is set again: for tests, and for dofs that
  // no drive or command of a joint takes over (robot_drives.h).
  void set_drive(DofIndex i, const DofDrive& drive) noexcept { set_drives_[i] = drives_[i] = drive; }
  [[nodiscard]] const DofDrive& drive(DofIndex i) const noexcept { return drives_[i]; }
  [[nodiscard]] const DofDrive& set_drive_of(DofIndex i) const noexcept { return set_drives_[i]; }
  // What the drive of dof i gave in the last step, on average [N m or N].
  [[nodiscard]] double joint_effort(DofIndex i) const noexcept { return joint_efforts_[i]; }
  // What apply() has summed up for the next step.
  [[nodiscard]] const SpatialForce& applied(BodyIndex b) const noexcept { return applied_[b]; }
  // The same of contacts, impacts and applied forces: J^T F, mean over the last step [N m or N].
  [[nodiscard]] double external_effort(DofIndex i) const noexcept { return external_efforts_[i]; }
  // Of a joint of one coordinate (asserted); of a mimic its own q and v, and its master's efforts.
  struct JointReading {
    double q, v, effort, external_effort;
  };
  [[nodiscard]] JointReading joint_reading(JointIndex joint) const noexcept;

  // Commands to joints from the next step on, for so many ticks >= 1, then the channel's safe state (joint_channels.h).
  // When not accepted, nothing changes. release: the safe state at once, not announced.
  JointVerdict command_joint(const JointCommand& command, std::uint64_t ticks) noexcept {
    return robot_drives_.channels().command(command, ticks, state_);
  }
  JointVerdict command_robot(std::uint32_t robot, DriveKind kind, std::span<const double> values,
                             std::uint64_t ticks) noexcept {
    return robot_drives_.channels().command_robot(robot, kind, values, ticks, state_);
  }
  void release_joint(JointIndex joint) noexcept { robot_drives_.channels().release(joint, state_); }
  void release_robot(std::uint32_t robot) noexcept { robot_drives_.channels().release_robot(robot, state_); }
  // What a command would get, but for a latched fault: reads only what is constant.
  [[nodiscard]] JointVerdict check_joint(const JointCommand& command) const noexcept {
    return robot_drives_.channels().check(command);
  }
  void set_joint_options(JointIndex joint, const ChannelOptions& options) noexcept {
    robot_drives_.set_options(joint, options);
  }
  [[nodiscard]] const ChannelOptions& joint_options(JointIndex joint) const noexcept {  // of one that can be driven
    return robot_drives_.channels().options(robot_drives_.channels().find(joint));
  }
  // A latched fault: no command of the robot is taken until recover_robot().
  [[nodiscard]] bool robot_fault(std::uint32_t robot) const noexcept {
    return robot_drives_.channels().has_fault(robot, state_);
  }
  void recover_robot(std::uint32_t robot) noexcept { robot_drives_.channels().recover(robot, state_); }
  // Deadlines of joint commands come nearer by time that passed without steps.
  void pass_joint_time(std::uint64_t ticks) noexcept { robot_drives_.channels().pass_time(ticks, state_); }
  // What drives did in the last step: commands that expired or were missed, limits that acted (robot_drives.h).
  [[nodiscard]] const RobotDrives& robot_drives() const noexcept { return robot_drives_; }
  // All that touched a link in the last step but its joints: contacts, impacts and applied forces, their mean, at its
  // mass centre at the end, in W. Zero for other bodies.
  [[nodiscard]] const SpatialForce& external_wrench(BodyIndex b) const noexcept { return external_wrenches_[b]; }
  // Inverse inertia of b as felt at its point p_W: twist there (linear, then angular, in W axes) of a unit impulse
  // there. A link's is its robot's, drives and contacts left out, which only lessen it; zero for what does not move.
  // Between steps, with the scratch of the next one. False: the robot's mass matrix has no factor. O(n d^2).
  [[nodiscard]] bool mobility(BodyIndex b, const Vec3& p_W, Eigen::Matrix<double, 6, 6>& out) noexcept;
  // The joints that command_robot() takes values for, in their order.
  [[nodiscard]] std::span<const DrivenJoint> driven_joints(std::uint32_t robot) const noexcept {
    return robot_drives_.channels().joints(robot);
  }
  // Joints whose command expired in the last step.
  [[nodiscard]] std::span<const JointIndex> expired_joints() const noexcept { return robot_drives_.expired(); }
  // Readings of Model::sensors[i] after the last step (robot_sensors.h). After load, restore and reset: as if nothing
  // had touched or moved in the tick before.
  [[nodiscard]] std::span<const double> sensor_values(std::uint32_t i) const noexcept { return sensors_.values(i); }

  // Advances by h = ticks_per_step * Model::step: kinematics, broad phase, narrow phase, model.advance, finish;
  // drives before advance, sensors after it. Allocates nothing.
  StepReport step() noexcept;
  // One tick of the model without forces: bodies and joints move on with their velocities (moving: false, they stand),
  // kinematic bodies with their motion; what was applied is forgotten. Between the steps of another World that solves
  // for this one. The report tells what was frozen.
  StepReport extrapolate(bool moving = true) noexcept;
  // Takes over a state of another World of this model and these limits; what was applied stays. Whatever its contact
  // model is: set_model() before the next step(), unless it is this World's.
  void adopt(const State& state) noexcept;
  // Another World solves with `kind` from here on: as set_model() for the state, whether or not this World has it.
  void yield_to(ContactModelKind kind) noexcept;

  // --- Robots of a World that another one solves for. What commands ask of each driven joint: of the last step's
  // ticks, one tick after the other; look_at_commands(): of the tick that comes, where this World does not step.
  void look_at_commands() noexcept { robot_drives_.sample(state_); }
  [[nodiscard]] std::span<const JointChannels::Output> joint_commands() const noexcept {
    return robot_drives_.commands();
  }
  [[nodiscard]] std::size_t driven_joint_count() const noexcept { return robot_drives_.channels().joints().size(); }
  // The solving side: taken by the next step() in place of what its own channels hold; ticks_per_step times joints.
  void set_joint_commands(std::span<const JointChannels::Output> commands) noexcept {
    robot_drives_.set_commands(commands);
  }
  // What this World's channels hold, into a state that is about to be adopted: commands that came since it was begun.
  void copy_channels(State& to) const noexcept { robot_drives_.channels().copy_channels(state_, to); }
  // Readings of sensors and efforts of the last step; sized by resize_readings().
  struct Readings {
    std::vector<double> sensors, efforts, external_efforts;
    std::vector<SpatialForce> external_wrenches;
  };
  void resize_readings(Readings& out) const;
  void copy_readings(Readings& out) const noexcept;
  void adopt_readings(const Readings& readings) noexcept;
  // A jump to a state that a model of another World is to go on from: restore() without that model. False: does not
  // fit.
  bool jump(const State& state) noexcept;

  // Switches the contact model; pair memory keeps its common part, the models' blocks are cleared. False: not in this
  // build, or without memory yet (prepare_model).
  bool set_model(ContactModelKind kind) noexcept;
  // Takes the memory of a model, so that set_model() and restore() may choose it; not on the tick thread. The scene's
  // own model and the penalty models have theirs from the start. False: not in this build.
  bool prepare_model(ContactModelKind kind);
  [[nodiscard]] static bool has_model(ContactModelKind kind) noexcept;
  // Keys: gains ("auto", "auto-explicit", "paper", or "kp,kv,ki"), alpha, beta, depth_scale_m, explicit_alpha,
  // explicit_beta, lambda, contact_margin_m, gravity_m_per_s2 ("x,y,z"),
  // impact_epsilon_m_per_s, overlap_relax_time_s, overlap_relax_speed_m_per_s, friction_directions,
  // detection_distance_m, coherence, lcp_friction, lcp_method, lcp_drift, ap_drift, lcp_stepper, peg.form,
  // peg.edge_test, peg.angle_rad. False: unknown key or a value out of range; nothing changed. Not for the tick thread
  // (parses text).
  static bool parse_parameter(std::string_view key, std::string_view value, Parameters& out);
  // What parse_parameter takes for a key; empty: there is no such key.
  static std::string expected_parameter(std::string_view key);
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
  // Contacts of the last step, found at its start, with the force on A at each point [N, W]; with lcp_stepper = exact,
  // those of its end.
  [[nodiscard]] const ContactSet& contacts() const noexcept { return contacts_; }
  [[nodiscard]] const Vec3& contact_force(std::uint32_t point) const noexcept { return contact_forces_[point].force; }
  // Moves a body: for kinematic bodies and tests. V_WB is that of B's origin.
  void set_body(BodyIndex b, const Pose& X_WB, const SpatialVelocity& V_WB) noexcept {
    tactus::set_body(*model_, state_, b, X_WB, V_WB);
  }
  // Bytes that a snapshot needs when serialised, and the two directions. A serialised state belongs to one scene and
  // one build.
  [[nodiscard]] std::vector<std::uint8_t> serialise(const State& state) const;
  // False: cut, of another scene or build, or a state that no step could go on from; out may then hold anything that
  // fits. why: what is wrong, as an end of a sentence.
  [[nodiscard]] bool deserialise(std::span<const std::uint8_t> bytes, State& out, const char** why = nullptr) const;

 private:
  class Finder;
  void look(StepReport& found) noexcept;
  void find_reach(double h) noexcept;
  void forget_witnesses() noexcept;
  void find_contacts(double margin, StepReport& report) noexcept;
  std::span<const PairKey> add_patches(std::span<const PairKey> keys, StepReport& report) noexcept;
  [[nodiscard]] bool touches_in_patches(const PairKey& key) const noexcept;
  void collide_mesh_pair(std::uint32_t pair, double margin, StepReport& report) noexcept;
  void collide_smooth_pair(std::uint32_t pair, double margin, StepReport& report) noexcept;
  const PairMotion* lead(std::uint32_t a, std::uint32_t b, PairMotion& out) const noexcept;
  void add_manifold(std::uint32_t pair, const ContactBuffer& buffer, StepReport& report) noexcept;
  void make_room(std::uint32_t features);
  void add_features(std::uint32_t pair, FeaturePairs& features, StepReport& report) noexcept;
  void publish_features() noexcept;
  void take_points(const ContactBuffer& buffer, Manifold& m, StepReport& report) noexcept;
  void begin_guard() noexcept;
  void freeze(BodyIndex b, StepReport& report) noexcept;
  void freeze_robot(const Robot& robot, StepReport& report) noexcept;
  void guard_robots(StepReport& report) noexcept;
  void guard(StepReport& report) noexcept;
  void bound_applied(StepReport& report) noexcept;
  [[nodiscard]] bool forces_bearable() const noexcept;
  void forget_what_froze() noexcept;
  void finish(StepReport& report) noexcept;
  void drive_robots() noexcept;
  void measure(const ContactSet& contacts) noexcept;
  void measure_at_rest() noexcept;
  void find_external_efforts(const TickForces& forces) noexcept;
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
  RobotDrives robot_drives_;
  RobotSensors sensors_;
  std::vector<DofDrive> drives_, set_drives_;
  std::vector<double> joint_efforts_, joint_stops_, external_efforts_;
  std::vector<double> last_q_, last_joint_q_;   // at the start of the step, all good
  StepReport guarded_;                          // frozen and bounded in this step, so far
  std::vector<std::uint8_t> froze_;             // of each body: in this step
  std::vector<SpatialForce> contact_wrenches_;  // of links; empty without robots
  std::vector<SpatialForce> external_wrenches_;
  std::vector<double> half_response_;  // of mobility()
  std::vector<Manifold> manifolds_;
  std::vector<ContactPoint> points_;
  std::vector<ContactPoint> raw_points_;
  std::vector<std::uint32_t> chosen_;
  std::vector<SpatialForce> contact_forces_;
  std::vector<PairRecord> pair_scratch_;
  // Per shape, for models that look ahead: what it may travel in this step, and how far off others are seen.
  std::vector<double> travel_, reach_;
  std::unique_ptr<ContinuousMotion> continuous_;  // null: no body has that option
  std::unique_ptr<MeshScratch> mesh_scratch_;     // null: no shape is a mesh
  bool has_patches_ = false;                      // a pair may touch in several places
  std::vector<PairKey> patch_keys_;
  ContactSet contacts_;
  Arena arena_;
};

}  // namespace tactus
