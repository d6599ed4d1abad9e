// A contact model that is too slow for the tick: one step of several ticks at once, on a thread of its own, from a copy
// of the live state.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/world.h"
#include "server/realtime/messages.h"
#include "server/solver/solver_thread.h"

namespace tactus {

// What a solver is given: all vectors sized for the model.
struct SolverInputs {
  State state;
  Parameters parameters;
  std::vector<SpatialForce> wrench;  // per body, F_Bcm_W, constant over the step [N m, N]
  std::vector<DofDrive> drives;
  std::vector<JointChannels::Output> commands;  // of each tick of the step, each driven joint
};

// What joints were asked for in the last ticks of the live world, as many as a step takes: a ring, written once a tick.
class JointRecord {
 public:
  JointRecord(std::size_t joints, std::uint32_t ticks) : joints_(joints), ticks_(ticks), rows_(joints * ticks) {}
  void clear() noexcept { count_ = next_ = 0; }
  // One tick's rows, one per driven joint.
  void add(std::span<const JointChannels::Output> rows) noexcept;
  // Those that there are, oldest first; the inverse of add().
  [[nodiscard]] std::vector<JointChannels::Output> rows() const;
  [[nodiscard]] std::size_t joints() const noexcept { return joints_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return rows_.capacity(); }
  // The last ticks in order. Fewer than a step's: the oldest stands for those before it. After an add().
  void copy_to(std::vector<JointChannels::Output>& out) const noexcept;

 private:
  std::size_t joints_;
  std::uint32_t ticks_, count_ = 0, next_ = 0;
  std::vector<JointChannels::Output> rows_;
};

// A World for a solver of `kind`: the live one's model and limits, steps of `ticks`. Null: this build does not have the
// model. Allocates; not for the tick thread.
std::unique_ptr<World> make_solver_world(std::shared_ptr<const Model> model, const Limits& limits,
                                         ContactModelKind kind, std::uint32_t ticks);

class SlowSolver final : public SolverThread {
 public:
  // contacts: rows that a result may hold.
  SlowSolver(std::unique_ptr<World> world, ContactModelKind kind, std::uint32_t contacts);
  ~SlowSolver() override { stop(); }

  [[nodiscard]] ContactModelKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint32_t ticks() const noexcept { return ticks_; }

  // --- The tick's side. Copies, allocates nothing. wrench: mean over the step to come, one per body of the model;
  // commands(): what joints are asked for in its ticks. follows: another step, whose ticks' commands these are.
  void begin(const State& state, const World& live, std::span<const SpatialForce> wrench, bool follows) noexcept;
  [[nodiscard]] JointRecord& commands() noexcept { return commands_; }
  [[nodiscard]] const JointRecord& commands() const noexcept { return commands_; }
  // The same from what a job was given once before.
  void begin_again(const SolverInputs& job) noexcept;

  // Valid from finished() to the next begin(); the receiver may change the state.
  struct Result {
    State state;
    StepReport report;
    World::Readings readings;
    std::vector<ContactRow> contacts;
    std::uint32_t contact_count = 0;
  };
  [[nodiscard]] Result& result() noexcept { return result_; }
  // What the job under way was given.
  [[nodiscard]] std::span<const SpatialForce> wrench() const noexcept { return job_.wrench; }
  [[nodiscard]] const SolverInputs& job() const noexcept { return job_; }

 private:
  void solve() noexcept override;
  void leave_pulses() noexcept;

  const std::unique_ptr<World> world_;
  const ContactModelKind kind_;
  const std::uint32_t ticks_;
  const JointChannels channels_;  // where each joint's lies in State
  SolverInputs job_;
  Result result_;
  JointRecord commands_;  // the tick's
};

// Rows for publishing of the World's last step, as many as fit; gives their number. O(points).
std::uint32_t contact_rows(const World& world, std::span<ContactRow> out) noexcept;

// Copies what a solver needs besides the state.
void copy_inputs(const World& live, SolverInputs& out) noexcept;
// One step of the solver's World from these inputs.
StepReport solve_step(World& world, ContactModelKind kind, const SolverInputs& inputs) noexcept;
// Ticks that a step of it takes.
[[nodiscard]] std::uint32_t ticks_of(const World& world) noexcept;
// Sizes for the model.
void resize(const World& world, SolverInputs& out);

}  // namespace tactus
