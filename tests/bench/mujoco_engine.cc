// MuJoCo with its defaults, robots only: drives are torques, as a controller of it would set them.
#include "tests/bench/engine.h"
#include "tests/bench/mujoco_model.h"

namespace tactus::bench {
namespace {

class MujocoEngine final : public Engine {
 public:
  explicit MujocoEngine(const Model& model) : m_(model, true), bodies_(model.bodies.size(), -1) {
    m_.set(initial_state(model, 0));
    for (std::size_t j = 0; j < model.joints.size(); ++j) bodies_[model.joints[j].child] = m_.joints[j].body;
  }
  void apply(BodyIndex b, const SpatialForce& F) override {
    for (int k = 0; k < 3; ++k) m_.data->xfrc_applied[6 * bodies_[b] + k] = F.force[k];
    for (int k = 0; k < 3; ++k) m_.data->xfrc_applied[6 * bodies_[b] + 3 + k] = F.torque[k];
  }
  void step() override {
    mjData& d = *m_.data;
    for (const JointDrive& drive : m_.ours->drives) {
      const auto& place = m_.joints[drive.joint];
      d.qfrc_applied[place.v] = drive_effort(drive, d.time, d.qpos[place.q], d.qvel[place.v]);
    }
    mj_step(m_.model.get(), &d);
    poses_known_ = false;
  }
  // Links only; mj_step leaves the poses of its start.
  void read(BodyIndex b, Pose& X_WBcm, SpatialVelocity& V_WBcm) const override {
    X_WBcm = {m_.ours->X_WB0[b].q, m_.ours->X_WB0[b] * m_.ours->bodies[b].p_BBcm};
    V_WBcm = {};
    if (bodies_[b] < 0) return;
    mjData* d = m_.data.get();
    if (!poses_known_) {
      mj_kinematics(m_.model.get(), d);
      mj_comPos(m_.model.get(), d);
      mj_comVel(m_.model.get(), d);
      poses_known_ = true;
    }
    const mjtNum *p = d->xipos + 3 * bodies_[b], *q = d->xquat + 4 * bodies_[b];
    X_WBcm = {Quat(q[0], q[1], q[2], q[3]), Vec3(p[0], p[1], p[2])};
    mjtNum v[6];  // angular, linear, at the mass centre, in W
    mj_objectVelocity(m_.model.get(), d, mjOBJ_BODY, bodies_[b], v, 0);
    V_WBcm = {Vec3(v[0], v[1], v[2]), Vec3(v[3], v[4], v[5])};
  }

 private:
  MujocoModel m_;
  std::vector<int> bodies_;  // MuJoCo's body of each of ours; -1: fixed
  mutable bool poses_known_ = false;
};

}  // namespace

std::unique_ptr<Engine> make_mujoco_engine(const Model& model) {
  return std::make_unique<MujocoEngine>(model);
}

}  // namespace tactus::bench
