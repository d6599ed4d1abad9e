// A second contact model that is given copies of the live state, and says how far the live one is from it: one step of
// several ticks from the state at their start, held against the live state at their end.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "server/solver/slow_solver.h"

namespace tactus {

class ShadowSolver final : public SolverThread {
 public:
  // world: of make_solver_world().
  ShadowSolver(std::unique_ptr<World> world, ContactModelKind kind);
  ~ShadowSolver() override { stop(); }

  [[nodiscard]] ContactModelKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint32_t ticks() const noexcept { return ticks_; }

  // --- The tick's side. start is taken (and holds something else afterwards); live stands at the end of the interval.
  // wrench, contact_force: means over it, one per body of the model; commands(): what joints were asked for in it.
  void begin(State& start, const World& live, std::span<const SpatialForce> wrench,
             std::span<const Vec3> contact_force) noexcept;
  [[nodiscard]] JointRecord& commands() noexcept { return commands_; }
  // A state that fits, for the one who copies: to be swapped with an older one, which goes when this does.
  [[nodiscard]] State& spare() noexcept { return spare_; }
  // Valid from finished() to release().
  [[nodiscard]] const ShadowSummary& summary() const noexcept { return summary_; }
  [[nodiscard]] std::span<const ShadowRow> rows() const noexcept { return rows_; }

 private:
  void solve() noexcept override;
  void compare() noexcept;

  const std::unique_ptr<World> world_;
  const ContactModelKind kind_;
  const std::uint32_t ticks_;
  SolverInputs job_;
  JointRecord commands_;  // the tick's
  State live_end_, spare_;
  std::vector<Vec3> live_force_, force_;
  std::vector<ShadowRow> rows_;
  ShadowSummary summary_;
};

// Adds the forces of the World's last step to each body's sum [N, W]. O(points).
void add_contact_forces(const World& world, std::span<Vec3> sum) noexcept;

}  // namespace tactus
