// One engine under test, driven the same way as every other: a scene of our loader, forces at mass centres, steps,
// poses.
#pragma once

#include <memory>
#include <string>

#include "core/scene/scene.h"

namespace tactus::bench {

class Engine {
 public:
  virtual ~Engine() = default;
  // F_Bcm_W acts during the next step only.
  virtual void apply(BodyIndex b, const SpatialForce& F_Bcm_W) = 0;
  // Collision, solve and integration of one step. This is what is timed.
  virtual void step() = 0;
  virtual void read(BodyIndex b, Pose& X_WBcm, SpatialVelocity& V_WBcm) const = 0;
};

// What an engine is asked to be. All: one thread, double precision, sleeping off.
enum class EngineKind {
  tactus,         // the contact model of the scene
  bullet,         // btDiscreteDynamicsWorld, sequential impulse, default margins
  bullet_margin,  // the same with a collision margin of 1 mm
  ode_quick,      // dWorldQuickStep, 20 iterations
  ode_step,       // dWorldStep, the exact solver
  mujoco          // mj_step with its defaults: Newton's method, pyramids, soft contacts; robots only
};
const char* to_string(EngineKind kind);
bool available(EngineKind kind);

// model outlives the engine. Throws InputError for what a peer cannot represent.
std::unique_ptr<Engine> make_engine(EngineKind kind, const Model& model);

std::unique_ptr<Engine> make_tactus_engine(const Model& model);
std::unique_ptr<Engine> make_bullet_engine(const Model& model, double margin);  // margin < 0: Bullet's default
std::unique_ptr<Engine> make_ode_engine(const Model& model, bool quick);
std::unique_ptr<Engine> make_mujoco_engine(const Model& model);  // in programs that hold mujoco_engine.cc

// Bodies, shapes, robots and their drives; without sensors. Throws InputError for models with hulls.
std::unique_ptr<Model> copy_model(const Model& model);
// What a drive gives at time t to a joint at q, v, as engines without implicit drives apply it [N m or N].
double drive_effort(const JointDrive& drive, double t, double q, double v);

}  // namespace tactus::bench
