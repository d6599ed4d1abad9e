// MuJoCo's model and data of one of ours, and where each of our joints has gone in its vectors.
#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <vector>

#include "core/dynamics/state.h"

namespace tactus::bench {

struct MujocoModel {
  // Throws InputError with MuJoCo's words.
  MujocoModel(const Model& model, bool contacts);

  // Floating joints: MuJoCo's q is ours; its v has our linear velocity and the angular one in the body's axes. Both
  // assume that the joint's frame is that of W, as loaders make it.
  void set(const State& state);
  // One vector in our coordinates from MuJoCo's of the same state, and back: of velocities or accelerations; of forces.
  void velocity_to_ours(const mjtNum* theirs, double* ours) const;
  void velocity_from_ours(const double* ours, mjtNum* theirs) const;
  void force_from_ours(const double* ours, mjtNum* theirs) const;

  struct Place {
    int q, v, body;  // first entries in MuJoCo's vectors; of the child
  };
  const Model* ours;
  std::unique_ptr<mjModel, decltype(&mj_deleteModel)> model{nullptr, mj_deleteModel};
  std::unique_ptr<mjData, decltype(&mj_deleteData)> data{nullptr, mj_deleteData};
  std::vector<Place> joints;
};

}  // namespace tactus::bench
