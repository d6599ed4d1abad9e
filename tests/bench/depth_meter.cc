#include "tests/bench/depth_meter.h"

#include <algorithm>

namespace tactus::bench {

DepthMeter::DepthMeter(const Model& model)
    : model_(&model), state_(initial_state(model, 0)), points_(512), mesh_scratch_(8192) {
  resize(model, kinematics_);
  std::vector<BroadShape> shapes;
  for (const auto& s : model.shapes) {
    const BodyMode mode = model.bodies[s.body].mode;
    shapes.push_back({s.body, s.group, s.mask, mode != BodyMode::fixed, mode == BodyMode::free,
                      s.shape.kind == ShapeKind::half_space});
  }
  broad_phase_ = std::make_unique<BroadPhase>(shapes, model.no_collision, 65536);
}

double DepthMeter::deepest(const Engine& engine) {
  for (BodyIndex b = 0; b < model_->bodies.size(); ++b) {
    if (model_->bodies[b].mode != BodyMode::free) continue;
    Pose X;
    SpatialVelocity V;
    engine.read(b, X, V);
    state_.set_pose(b, X.p, X.q);
    state_.set_velocity(b, V.v, V.w);
  }
  compute_kinematics(*model_, state_, kinematics_);
  double depth = 0;
  for (const PairKey key : broad_phase_->find_pairs(kinematics_.boxes, kinematics_.X_WS, no_memory_)) {
    if (is_mesh_pair(model_->shapes[key.shape_a].shape, model_->shapes[key.shape_b].shape)) {
      PairRecord records[1] = {};
      MeshContacts found;
      collide_mesh(model_->shapes[key.shape_a].shape, kinematics_.X_WS[key.shape_a], model_->shapes[key.shape_b].shape,
                   kinematics_.X_WS[key.shape_b], 0, records, 1, mesh_scratch_, found);
      for (std::uint32_t i = 0; i < found.patch[0].count; ++i) depth = std::max(depth, found.patch[0].points[i].depth);
      continue;
    }
    Witness witness;
    ContactBuffer buffer{points_.data(), static_cast<std::uint32_t>(points_.size())};
    collide(model_->shapes[key.shape_a].shape, kinematics_.X_WS[key.shape_a], model_->shapes[key.shape_b].shape,
            kinematics_.X_WS[key.shape_b], witness, buffer);
    for (std::uint32_t i = 0; i < buffer.count; ++i) depth = std::max(depth, points_[i].depth);
  }
  return depth;
}

double DepthMeter::lowest_height_ratio() const {
  double lowest = 1e300;
  for (BodyIndex b = 0; b < model_->bodies.size(); ++b) {
    if (model_->bodies[b].mode != BodyMode::free) continue;
    const double start = (model_->X_WB0[b] * model_->bodies[b].p_BBcm).z();
    lowest = std::min(lowest, state_.p_WBcm(b).z() / start);
  }
  return lowest;
}

}  // namespace tactus::bench
