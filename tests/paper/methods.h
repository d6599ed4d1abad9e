// The methods that section IV of the penalty paper compares, with its gains.
#pragma once

#include <string>

#include "tests/support/scenes.h"

namespace tactus::test {

struct Method {
  std::string name;
  ContactModelKind kind = ContactModelKind::penalty;
  Gains gains;

  // The paper integrates by RK4; ours is what a scene gets that says nothing.
  void apply(Model& model) const {
    model.contact_model = kind;
    model.parameters.gains = gains;
    if (gains.law == GainLaw::explicit_gains || gains.law == GainLaw::paper) model.integrator = Integrator::rk4;
  }
};

inline Method explicit_method(const std::string& name, ContactModelKind kind, double kp, double kv, double ki,
                              bool divide = true) {
  Method m{name, kind, {}};
  m.gains.law = GainLaw::explicit_gains;
  m.gains.kp = kp, m.gains.kv = kv, m.gains.ki = ki;
  m.gains.divide_by_points = divide;
  return m;
}
inline Method multi_point(bool divide = true) {
  return explicit_method(divide ? "multi" : "multi_undivided", ContactModelKind::penalty, 5000, 2500, 100, divide);
}
inline Method deepest_point() {
  return explicit_method("deepest", ContactModelKind::deepest, 6000, 3000, 200);
}
inline Method automatic() {
  return {"auto", ContactModelKind::penalty, {}};
}

// The 10 kg unit cube of IV-A and IV-B on a plane.
inline Scene block_scene(const Method& method, const Pose& X_WB) {
  Scene scene;
  method.apply(*scene.model);
  scene.add_floor();
  scene.add(make_box(Vec3::Constant(0.5)), 10, X_WB);
  return scene;
}

// For worlds of a few bodies that are made by the thousand: the solvers' memory is what making them costs.
inline void keep_small(Scene& scene) {
  scene.limits.pairs = 16, scene.limits.problem_contacts = 128, scene.limits.problem_rows = 64;
}

// IV-A: turned 0.01-0.05 rad about a random axis, the lowest corner 5-20 mm inside.
inline Pose penetrating_pose(std::uint64_t seed) {
  Random random(seed);
  const Vec3 axis = random.direction();
  Pose X_WB{turned(axis, random.uniform(0.01, 0.05)), Vec3::Zero()};
  const double reach = (X_WB.q.conjugate() * Vec3::UnitZ()).cwiseAbs().sum() * 0.5;
  X_WB.p.z() = reach - random.uniform(5e-3, 20e-3);
  return X_WB;
}

// Angle between the body's z axis and the world's [rad].
inline double tilt(const State& state, BodyIndex b) {
  const Vec3 z = state.q_WB(b) * Vec3::UnitZ();
  return std::atan2(z.head<2>().norm(), z.z());
}

}  // namespace tactus::test
