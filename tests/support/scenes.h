// Scenes built in code, for tests that must not depend on files: a Model is filled body by body and then finished.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "core/shape/mass_properties.h"
#include "core/world.h"
#include "tests/support/random.h"

namespace tactus::test {

inline constexpr double kGravity = 9.81;  // [m/s^2]

inline Quat turned(const Vec3& axis, double angle) {
  return Quat(Eigen::AngleAxisd(angle, axis.normalized()));
}
inline Pose at(double x, double y, double z) {
  return {Quat::Identity(), Vec3(x, y, z)};
}

struct Scene {
  std::unique_ptr<Model> model = std::make_unique<Model>();
  Limits limits;

  // One default material; every surface is made of it.
  explicit Scene(double mu = 0.5, double restitution = 0) {
    limits.pairs = 512;
    model->name = "test";
    add_material(mu, restitution);
  }

  std::uint32_t add_material(double mu, double restitution) {
    Material m;
    m.name = "default";
    if (!model->materials.empty()) m.name = std::to_string(model->materials.size());
    m.restitution = restitution;
    m.friction.mu_static = m.friction.mu_dynamic = mu;
    model->materials.push_back(m);
    return static_cast<std::uint32_t>(model->materials.size() - 1);
  }

  // Uniform density; the shape's own frame is the body's.
  BodyIndex add(const Shape& shape, double mass, const Pose& X_WB, const SpatialVelocity& V_WB = {},
                std::uint32_t material = 0, BodyMode mode = BodyMode::free) {
    Body body;
    body.name = std::string(to_string(shape.kind)) + "_" + std::to_string(model->bodies.size());
    body.mode = mode;
    body.mass = mass;
    if (shape.kind != ShapeKind::half_space) {
      const MassProperties unit = mass_properties(shape, 1.0);
      body.I_BBcm = unit.I_SScm * (mass / unit.mass);
      body.p_BBcm = unit.p_SScm;
    }
    body.first_shape = static_cast<std::uint32_t>(model->shapes.size());
    body.shape_count = 1;
    ShapeInstance instance;
    instance.shape = shape;
    instance.body = static_cast<BodyIndex>(model->bodies.size());
    instance.X_BcmS.p = -body.p_BBcm;
    instance.material = material;
    model->shapes.push_back(instance);
    model->bodies.push_back(body);
    model->X_WB0.push_back(X_WB);
    model->V_WB0.push_back(V_WB);
    return instance.body;
  }

  // A half-space with its surface through p_W, outward normal nhat_W.
  BodyIndex add_floor(const Vec3& p_W = Vec3::Zero(), const Vec3& nhat_W = Vec3::UnitZ(), std::uint32_t material = 0) {
    const Pose X_WB{Quat::FromTwoVectors(Vec3::UnitZ(), nhat_W).normalized(), p_W};
    return add(make_half_space(), 0, X_WB, {}, material, BodyMode::fixed);
  }

  void set_gravity(const Vec3& gravity_W) { model->parameters.gravity_W = gravity_W; }

  // The World takes the model: a Scene is used once.
  World world() {
    finish_model(*model);
    return World(std::move(model), limits);
  }
};

inline void run(World& world, int ticks) {
  for (int i = 0; i < ticks; ++i) world.step();
}

// Sums over the free bodies; angular momentum about the origin of W.
struct Momentum {
  Vec3 linear = Vec3::Zero(), angular = Vec3::Zero();
};
inline Momentum momentum(const Model& model, const State& state) {
  Momentum sum;
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Body& body = model.bodies[b];
    if (body.mode != BodyMode::free) continue;
    const Mat3 R = state.q_WB(b).toRotationMatrix();
    const Vec3 p = body.mass * state.v_WBcm(b);
    sum.linear += p;
    sum.angular += state.p_WBcm(b).cross(p) + R * (body.I_BBcm * (R.transpose() * state.w_WB(b)));
  }
  return sum;
}

inline double potential_energy(const Model& model, const Parameters& parameters, const State& state) {
  double energy = 0;
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Body& body = model.bodies[b];
    if (body.mode != BodyMode::free) continue;
    energy -= body.mass * body.gravity_scale * parameters.gravity_W.dot(state.p_WBcm(b));
  }
  return energy;
}
inline double total_energy(const World& world) {
  return kinetic_energy(world.model(), world.state()) +
         potential_energy(world.model(), world.parameters(), world.state());
}

// n unit cubes of 1 kg on a floor (body 0), touching; jitter: +-2 mm in x and y, +-10 mrad of yaw (the benchmark's).
inline Scene stack(int n, bool jitter) {
  Scene scene;
  scene.add_floor();
  Random random(12345);
  for (int i = 0; i < n; ++i) {
    Pose X_WB = at(0, 0, 0.5 + i);
    if (jitter) {
      const double x = random.uniform(-2e-3, 2e-3), y = random.uniform(-2e-3, 2e-3);
      X_WB.p += Vec3(x, y, 0);
      X_WB.q = turned(Vec3::UnitZ(), random.uniform(-10e-3, 10e-3));
    }
    scene.add(make_box(Vec3::Constant(0.5)), 1, X_WB);
  }
  return scene;
}

}  // namespace tactus::test
