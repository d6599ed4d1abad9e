// The tick's side of a slow model: takes the place of World::step. Sums what is applied, extrapolates between the
// solver's steps, begins the next one and adopts its result on a grid of M ticks, never earlier. Allocates nothing
// after construction.
//
// At tick b a step is begun from S(b) with the mean wrench of what was applied since the step before was begun; its
// result S(b+M) is adopted at tick b+M, and the next step begins from it at once. Late by L ticks: bodies move on with
// their velocities (for at most M more ticks, then they stand), S(b+M) is adopted when it comes, moved on by L ticks,
// and the next step still ends at b+2M. Only when L reaches M does simulated time fall behind: L ticks are lost and
// counted. No applied impulse is ever lost.
//
// What joints are commanded to is looked at in every tick of the live world, whose channels count their deadlines; a
// step takes what was asked for in the M ticks before it, through the drives' delays and lags tick by tick. The first
// one takes what stands at its start, but no torque that ends within it: that acts in the next one, and only there.
// Sensors and efforts of the stream are those of the step adopted last, encoders of now.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/solver/slow_solver.h"

namespace tactus {

// Whether a step waits for its solver: when it begins one, when it adopts one. hold: not in this tick, whatever is
// ready.
enum class Meet : std::uint8_t { ready, wait, hold };

// All of a SlowTicker and its solver that the next ticks depend on, beside the World's state: for recordings. Sized by
// resize_memory(); copying it allocates nothing.
struct SlowMemory {
  ContactModelKind kind{};
  std::uint32_t ticks = 0;  // of a step; 0: no solver is in charge, and only what is spent stands here
  bool begun = false;
  std::uint64_t due = 0;
  std::uint32_t spend_ticks = 0;
  std::vector<SpatialForce> sum, mean;
  SolverInputs job;  // when begun
  JointRecord asked{0, 1};
};

class SlowTicker {
 public:
  // The largest scene, and the contacts that a result may hold.
  SlowTicker(std::uint32_t bodies, std::uint32_t contacts);

  [[nodiscard]] bool active() const noexcept { return solver_ != nullptr; }
  [[nodiscard]] const SlowSolver* solver() const noexcept { return solver_; }

  // Puts another solver in charge, or none (the world's own model, which the caller has set); gives back the one
  // before. What was applied and not yet solved for acts on: spread over the next steps.
  SlowSolver* exchange(SlowSolver* next, World& world) noexcept;
  // A jump of the state: nothing of before acts in it. The solver stays in charge.
  void clear() noexcept;

  // One tick of the world. Lockstep waits for what is due; a replay waits or holds as it was recorded. begin_next:
  // false before exchange(), so that a step ends and no other begins.
  StepReport step(World& world, Meet begin, Meet adopt, bool begin_next) noexcept;

  // Room for any solver of this World whose step takes at most so many ticks.
  static void resize_memory(const World& world, std::uint32_t ticks, SlowMemory& out);
  // Copies; false when `out` was made for less: nothing is copied then.
  bool save(const World& world, SlowMemory& out) const noexcept;
  // Goes on from there: with a solver of that kind and so many ticks, or none. Begins its step anew.
  void load(const SlowMemory& memory, const World& world) noexcept;

  // Of the last tick.
  [[nodiscard]] bool extrapolated() const noexcept { return extrapolated_; }
  [[nodiscard]] bool late() const noexcept { return late_; }  // a result is due and not there
  [[nodiscard]] bool became_late() const noexcept { return became_late_; }
  [[nodiscard]] bool adopted() const noexcept { return adopted_; }
  [[nodiscard]] bool begun_alone() const noexcept { return begun_alone_; }  // a step was begun, not by an adoption
  [[nodiscard]] bool under_way() const noexcept { return begun_; }
  [[nodiscard]] std::uint64_t solve_ns() const noexcept { return solve_ns_; }      // of what was adopted
  [[nodiscard]] std::uint64_t ticks_lost() const noexcept { return ticks_lost_; }  // in total
  // exchange() loses no motion now: no step is under way, or it is overdue by a whole step.
  [[nodiscard]] bool may_exchange(const World& world) const noexcept;
  // Contacts of the step that was adopted last.
  [[nodiscard]] std::span<const ContactRow> contacts() const noexcept { return {contacts_.data(), contact_count_}; }

 private:
  void begin(const State& state, const World& world, bool follows) noexcept;
  void adopt(World& world, bool begin_next) noexcept;
  void count_lost(const World& world) noexcept;
  void spend(World& world) noexcept;

  SlowSolver* solver_ = nullptr;    // owned by the tick loop
  std::vector<SpatialForce> sum_;   // applied since begin(): wrench times ticks
  std::vector<SpatialForce> mean_;  // sum_ per tick of the next step
  std::uint32_t spend_ticks_ = 0;   // the world's own model still takes mean_ for so many ticks
  bool begun_ = false;              // a step is under way
  std::uint64_t due_ = 0;           // tick of its result
  bool extrapolated_ = false, late_ = false, became_late_ = false, adopted_ = false, begun_alone_ = false;
  std::uint64_t solve_ns_ = 0, ticks_lost_ = 0, ticks_lost_now_ = 0;  // of them in the present solve
  StepReport report_;
  std::vector<ContactRow> contacts_;
  std::uint32_t contact_count_ = 0;
};

}  // namespace tactus
