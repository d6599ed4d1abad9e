// Continuous detection over a step, for bodies with the option `continuous`, whatever the contact model: what a fast or
// thin body would pass through stops it at the touch.
#pragma once

#include <cstdint>
#include <vector>

#include "core/collide/time/swept_mesh.h"
#include "core/dynamics/kinematics.h"

namespace tactus {

// After a model has advanced State by a step, each continuous body's way from the start's pose to the end's is followed
// against all shapes that it may collide with. Where it would touch one that it was apart from, it is put back to the
// pose at that time, with an overlap of 1/1000 of the smaller of both shapes; from there the model's next step sees a
// contact and answers it. What touches already may overlap by a quarter of the smaller shape's half thickness.
//
// Velocity is kept, so momentum is; but what gravity gave on the way that is taken back is taken back from the velocity
// along gravity, so that kinetic plus potential energy is what it was. The rest of the step is lost to the body: one
// step at most for a collision. Two continuous bodies that meet are both put back to the time when they met; of others,
// which went on, it keeps its pose relative to the one that it touched. Links of robots and other bodies may be met.
// Pairs that the narrow phase does not know are not looked at either (swept_pair.h: is_swept_pair).
struct ContinuousStops {
  std::uint32_t bodies = 0;   // that were put back
  std::uint32_t unknown = 0;  // looks that told nothing, see SweptTouch; pairs are looked at anew after each stop
};

class ContinuousMotion {
 public:
  explicit ContinuousMotion(const Model& model);
  [[nodiscard]] static bool is_needed(const Model& model) noexcept;
  // Of the step's begin, once positions, boxes and poses are known: the model may look again within the step.
  void begin(const Kinematics& start) noexcept;
  // state: of the step's end. O(continuous shapes * shapes) for the boxes, more for what is near.
  // Allocates nothing.
  ContinuousStops stop(const Model& model, const Parameters& parameters, double h, State& state) noexcept;

 private:
  struct Motion {  // of a body over the step
    Vec3 travel_W, turn_W;
    double stopped = 1;
    double radius = 0;  // of what it sweeps [m]
  };
  struct Meeting {
    double t = 1;
    BodyIndex other = kNoBody;
  };
  void find_motions(const Model& model, double h, const State& state) noexcept;
  [[nodiscard]] SweptShape swept(const Model& model, std::uint32_t shape) const noexcept;
  [[nodiscard]] bool may_meet(const Model& model, std::uint32_t a, std::uint32_t b) const noexcept;
  SweptTouch touch(const SweptShape& a, const SweptShape& b, double size, double until) noexcept;
  Meeting first_meeting(const Model& model, BodyIndex body, std::uint32_t& unknown) noexcept;
  void put_back(const Model& model, const Parameters& parameters, double h, BodyIndex body, const Meeting& meeting,
                State& state) const noexcept;

  struct Start {  // of the step
    std::vector<BodyKinematics> bodies;
    std::vector<Frame> X_WS;
    std::vector<Aabb> boxes;
  };
  Start start_;
  std::vector<BodyIndex> bodies_;  // continuous
  std::vector<Motion> motions_;    // per body
  std::vector<double> radii_;      // per shape, about its body's mass centre
  std::vector<double> thickness_;  // per shape: half of its least width
  MeshSweep mesh_sweep_;
  std::vector<Meeting> meetings_;  // per continuous body
};

}  // namespace tactus
