#include "core/dynamics/kinematics.h"

namespace tactus {

void resize(const Model& model, Kinematics& out) {
  out.bodies.resize(model.bodies.size());
  out.X_WS.resize(model.shapes.size());
  out.boxes.resize(model.shapes.size());
}

void compute_kinematics(const Model& model, const State& state, Kinematics& out) noexcept {
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Body& body = model.bodies[b];
    BodyKinematics& k = out.bodies[b];
    k.X_WBcm.R = state.q_WB(b).toRotationMatrix();
    k.X_WBcm.p = state.p_WBcm(b);
    if (body.mode != BodyMode::free || state.frozen[b]) {
      k.inv_mass = 0;
      k.inv_I_W.setZero();
    } else {
      k.inv_mass = body.inv_mass;
      const Mat3 half = k.X_WBcm.R * body.inv_I_BBcm;
      k.inv_I_W.noalias() = half * k.X_WBcm.R.transpose();
    }
  }
  for (std::size_t s = 0; s < model.shapes.size(); ++s) {
    const ShapeInstance& instance = model.shapes[s];
    const Frame& X_WBcm = out.bodies[instance.body].X_WBcm;
    Frame& X_WS = out.X_WS[s];
    if (instance.shape_at_centre) {
      X_WS = X_WBcm;
    } else {
      X_WS.R = X_WBcm.R * instance.X_BcmS.q.toRotationMatrix();
      X_WS.p = X_WBcm * instance.X_BcmS.p;
    }
    out.boxes[s] = bounds(instance.shape, X_WS);
  }
}

}  // namespace tactus
