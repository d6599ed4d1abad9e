#include <algorithm>

#include "core/check.h"
#include "core/world.h"
#include "tests/bench/engine.h"

namespace tactus::bench {

// An engine owns its model, and a Model with hulls is not copied: scenes of the benchmark have none.
std::unique_ptr<Model> copy_model(const Model& m) {
  TACTUS_REQUIRE(m.hulls.empty(), "benchmark scenes with convex hulls are not supported");
  auto out = std::make_unique<Model>();
  out->name = m.name, out->title = m.title, out->step = m.step, out->integrator = m.integrator;
  out->contact_model = m.contact_model, out->parameters = m.parameters, out->planar = m.planar, out->seed = m.seed;
  out->settle = m.settle, out->bodies = m.bodies, out->shapes = m.shapes, out->materials = m.materials;
  out->surface_pairs = m.surface_pairs, out->no_collision = m.no_collision, out->X_WB0 = m.X_WB0, out->V_WB0 = m.V_WB0;
  out->joints = m.joints, out->robots = m.robots, out->frames = m.frames, out->drives = m.drives;
  out->joint_q0 = m.joint_q0, out->joint_v0 = m.joint_v0;
  return out;
}

double drive_effort(const JointDrive& drive, double t, double q, double v) {
  double effort = drive.target.value(t);
  if (drive.kind == DriveKind::velocity) effort = drive.kd * (effort - v);
  if (drive.kind == DriveKind::position) effort = drive.kp * (effort - q) + drive.kd * (drive.target.rate(t) - v);
  return std::clamp(effort, -drive.effort_limit, drive.effort_limit);
}

namespace {

class TactusEngine final : public Engine {
 public:
  explicit TactusEngine(const Model& model) : world_(copy_model(model), Limits{}) {}
  void apply(BodyIndex b, const SpatialForce& F_Bcm_W) override { world_.apply(b, F_Bcm_W); }
  void step() override { world_.step(); }
  void read(BodyIndex b, Pose& X_WBcm, SpatialVelocity& V_WBcm) const override {
    const State& s = world_.state();
    X_WBcm = {s.q_WB(b), s.p_WBcm(b)};
    V_WBcm = {s.w_WB(b), s.v_WBcm(b)};
  }

 private:
  World world_;
};

}  // namespace

std::unique_ptr<Engine> make_tactus_engine(const Model& model) {
  return std::make_unique<TactusEngine>(model);
}

const char* to_string(EngineKind kind) {
  switch (kind) {
    case EngineKind::tactus:
      return "tactus";
    case EngineKind::bullet:
      return "bullet";
    case EngineKind::bullet_margin:
      return "bullet-1mm";
    case EngineKind::ode_quick:
      return "ode-quick";
    case EngineKind::ode_step:
      return "ode-step";
    case EngineKind::mujoco:
      return "mujoco";
  }
  return "?";
}

bool available([[maybe_unused]] EngineKind kind) {
  if (kind == EngineKind::tactus) return true;
#ifdef TACTUS_HAS_BULLET
  if (kind == EngineKind::bullet || kind == EngineKind::bullet_margin) return true;
#endif
#ifdef TACTUS_HAS_ODE
  if (kind == EngineKind::ode_quick || kind == EngineKind::ode_step) return true;
#endif
#ifdef TACTUS_HAS_MUJOCO
  if (kind == EngineKind::mujoco) return true;
#endif
  return false;
}

std::unique_ptr<Engine> make_engine(EngineKind kind, const Model& model) {
  TACTUS_REQUIRE(available(kind), std::string(to_string(kind)) + " is not in this build");
  switch (kind) {
#ifdef TACTUS_HAS_BULLET
    case EngineKind::bullet:
      return make_bullet_engine(model, -1);
    case EngineKind::bullet_margin:
      return make_bullet_engine(model, 1e-3);
#endif
#ifdef TACTUS_HAS_ODE
    case EngineKind::ode_quick:
      return make_ode_engine(model, true);
    case EngineKind::ode_step:
      return make_ode_engine(model, false);
#endif
#ifdef TACTUS_HAS_MUJOCO
    case EngineKind::mujoco:
      return make_mujoco_engine(model);
#endif
    default:
      return make_tactus_engine(model);
  }
}

}  // namespace tactus::bench
