// The tick's side of the shadow model: sums what acts over M ticks, copies the live state at both ends, hands all that
// to the solver, and takes what it found. Allocates nothing after construction.
//
// At tick (k+1)M the shadow starts from the live state of tick kM, with the mean wrench of the ticks between; what it
// found is told when it is ready (in lockstep: at tick (k+2)M). Is it not ready by then, the next interval is left out
// and counted. The shadow rests while a slow model is in charge: the live states between its steps are extrapolations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/solver/shadow_solver.h"

namespace tactus {

class ShadowTicker {
 public:
  explicit ShadowTicker(std::uint32_t bodies);

  [[nodiscard]] bool active() const noexcept { return solver_ != nullptr; }
  // Puts another shadow in charge, or none, and gives back the one before.
  ShadowSolver* exchange(ShadowSolver* next) noexcept;
  // A jump of the state: the interval under way is void.
  void clear() noexcept;

  // Around each step of the world. may_wait: lockstep.
  void before_step(const World& world) noexcept;
  void after_step(const World& world, bool may_wait) noexcept;
  // Instead of both while a slow model is in charge.
  void rest() noexcept { clear(); }

  // Since the last after_step(): a comparison came in; the rows hold until the next one.
  [[nodiscard]] bool fresh() const noexcept { return fresh_; }
  [[nodiscard]] const ShadowSummary& summary() const noexcept { return summary_; }
  [[nodiscard]] std::span<const ShadowRow> rows() const noexcept { return {rows_.data(), row_count_}; }
  [[nodiscard]] std::uint64_t solve_ns() const noexcept { return solve_ns_; }
  [[nodiscard]] std::uint64_t intervals_skipped() const noexcept { return skipped_; }

 private:
  void take() noexcept;
  void end_interval(const World& world, bool may_wait) noexcept;
  void start_interval(const World& world) noexcept;

  ShadowSolver* solver_ = nullptr;  // owned by the tick loop
  State start_;                     // live state at the start of the interval
  std::vector<SpatialForce> wrench_;
  std::vector<Vec3> force_;
  bool begun_ = false, fresh_ = false;
  std::uint64_t solve_ns_ = 0, skipped_ = 0;
  ShadowSummary summary_;
  std::vector<ShadowRow> rows_;
  std::uint32_t row_count_ = 0;
};

}  // namespace tactus
