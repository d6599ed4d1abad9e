#include "tests/bench/mujoco_model.h"

#include <cstdio>
#include <cstring>

#include "core/check.h"
#include "tests/bench/mjcf.h"

namespace tactus::bench {
namespace {

Mat3 rotation(const Model& model, const mjData& data, const Joint& joint, const MujocoModel::Place& place) {
  TACTUS_REQUIRE(joint.parent == kNone && joint.X_PF.p.isZero(0) && joint.X_PF.q.vec().isZero(0),
                 "floating joints stand in the world here");
  TACTUS_REQUIRE(model.bodies[joint.child].mode == BodyMode::link, "a joint moves a link");
  const mjtNum* q = data.qpos + place.q + 3;
  return Quat(q[0], q[1], q[2], q[3]).toRotationMatrix();
}

}  // namespace

MujocoModel::MujocoModel(const Model& m, bool contacts) : ours(&m) {
  mju_user_warning = [](const char* words) { std::fprintf(stderr, "MuJoCo: %s\n", words); };  // else a file here
  const std::string text = mjcf_text(m, contacts);
  // The virtual file system takes a megabyte.
  const auto files = std::make_unique<mjVFS>();
  mj_defaultVFS(files.get());
  TACTUS_REQUIRE(mj_makeEmptyFileVFS(files.get(), "model.xml", static_cast<int>(text.size())) == 0, "MuJoCo: no room");
  std::memcpy(files->filedata[mj_findFileVFS(files.get(), "model.xml")], text.data(), text.size());
  char error[1000] = "";
  model.reset(mj_loadXML("model.xml", files.get(), error, sizeof error));
  mj_deleteVFS(files.get());
  TACTUS_REQUIRE(model != nullptr, std::string("MuJoCo: ") + error);
  data.reset(mj_makeData(model.get()));
  for (std::size_t j = 0; j < m.joints.size(); ++j) {
    const int id = mj_name2id(model.get(), mjOBJ_JOINT, ("j" + std::to_string(j)).c_str());
    TACTUS_REQUIRE(id >= 0, "MuJoCo lost a joint");
    joints.push_back({model->jnt_qposadr[id], model->jnt_dofadr[id], model->jnt_bodyid[id]});
  }
}

void MujocoModel::set(const State& state) {
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const Joint& joint = ours->joints[j];
    for (std::uint32_t k = 0; k < position_count(joint.kind); ++k)
      data->qpos[joints[j].q + static_cast<int>(k)] = state.joint_q[joint.first_q + k];
  }
  velocity_from_ours(state.joint_v.data(), data->qvel);
}

void MujocoModel::velocity_to_ours(const mjtNum* theirs, double* out) const {
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const Joint& joint = ours->joints[j];
    const mjtNum* from = theirs + joints[j].v;
    double* to = out + joint.first_v;
    std::copy(from, from + velocity_count(joint.kind), to);
    if (joint.kind != JointKind::floating) continue;
    Eigen::Map<Vec3>(to + 3) = rotation(*ours, *data, joint, joints[j]) * Vec3(from[3], from[4], from[5]);
  }
}

void MujocoModel::velocity_from_ours(const double* x, mjtNum* theirs) const {
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const Joint& joint = ours->joints[j];
    const double* from = x + joint.first_v;
    mjtNum* to = theirs + joints[j].v;
    std::copy(from, from + velocity_count(joint.kind), to);
    if (joint.kind != JointKind::floating) continue;
    Eigen::Map<Vec3>(to + 3) = rotation(*ours, *data, joint, joints[j]).transpose() * Vec3(from[3], from[4], from[5]);
  }
}

// The map of velocities is a rotation, so forces turn the same way.
void MujocoModel::force_from_ours(const double* x, mjtNum* theirs) const {
  velocity_from_ours(x, theirs);
}

}  // namespace tactus::bench
