// Scenes built in code, for tests that must not depend on files: a Model is filled body by body and then finished.
// Compiled once (scenes.cc): half of the tests include this.
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

Quat turned(const Vec3& axis, double angle);
// The shortest rotation that turns `from` to the direction of `to`; a half turn about any axis across where they
// oppose.
Quat shortest_rotation(const Vec3& from, const Vec3& to);
inline Pose at(double x, double y, double z) {
  return {Quat::Identity(), Vec3(x, y, z)};
}

struct Scene {
  std::unique_ptr<Model> model = std::make_unique<Model>();
  Limits limits;

  // One default material; every surface is made of it.
  explicit Scene(double mu = 0.5, double restitution = 0);

  std::uint32_t add_material(double mu, double restitution);

  // Uniform density; the shape's own frame is the body's.
  BodyIndex add(const Shape& shape, double mass, const Pose& X_WB, const SpatialVelocity& V_WB = {},
                std::uint32_t material = 0, BodyMode mode = BodyMode::free);

  // A half-space with its surface through p_W, outward normal nhat_W.
  BodyIndex add_floor(const Vec3& p_W = Vec3::Zero(), const Vec3& nhat_W = Vec3::UnitZ(), std::uint32_t material = 0);

  void set_gravity(const Vec3& gravity_W) { model->parameters.gravity_W = gravity_W; }

  // The World takes the model: a Scene is used once.
  World world();
};

void run(World& world, int ticks);

// Sums over the free bodies; angular momentum about the origin of W.
struct Momentum {
  Vec3 linear = Vec3::Zero(), angular = Vec3::Zero();
};
Momentum momentum(const Model& model, const State& state);

double potential_energy(const Model& model, const Parameters& parameters, const State& state);
double total_energy(const World& world);

// n unit cubes of 1 kg on a floor (body 0), touching; jitter: +-2 mm in x and y, +-10 mrad of yaw (the benchmark's).
Scene stack(int n, bool jitter);

}  // namespace tactus::test
