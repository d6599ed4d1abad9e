// How deep an engine's bodies overlap, by our own geometry and not by what its solver believes.
#pragma once

#include <memory>
#include <vector>

#include "core/collide/broad_phase.h"
#include "core/collide/mesh/collide_mesh.h"
#include "core/dynamics/kinematics.h"
#include "tests/bench/engine.h"

namespace tactus::bench {

class DepthMeter {
 public:
  explicit DepthMeter(const Model& model);

  // The deepest overlap of all pairs [m], 0 when there is none. Fresh witnesses: nothing is carried from step to step.
  double deepest(const Engine& engine);
  // Kinetic energy of the free bodies at the poses last read [J].
  [[nodiscard]] double energy() const { return kinetic_energy(*model_, state_); }
  // Lowest ratio of a free body's height to its height at the start.
  [[nodiscard]] double lowest_height_ratio() const;

 private:
  const Model* model_;
  State state_;
  Kinematics kinematics_;
  PairMemory no_memory_;
  std::unique_ptr<BroadPhase> broad_phase_;
  std::vector<ContactPoint> points_;
  MeshScratch mesh_scratch_;
};

}  // namespace tactus::bench
