#include "tests/support/scenes.h"

#include <algorithm>

namespace tactus::test {

Quat turned(const Vec3& axis, double angle) {
  return Quat(Eigen::AngleAxisd(angle, axis.normalized()));
}

// The half-way quaternion; Eigen's FromTwoVectors has a singular value decomposition for vectors that oppose, which
// costs every file that uses it eight seconds.
Quat shortest_rotation(const Vec3& from, const Vec3& to) {
  const Vec3 a = from.normalized(), b = to.normalized();
  const double c = b.dot(a);
  Quat q;
  if (c < -1 + 1e-6) {  // 1 + c has lost its digits; the sum and the difference of unit vectors have not
    Vec3 axis = a.cross(b);
    axis -= a.dot(axis) * a;
    axis = axis.norm() > 1e-12 ? Vec3(axis.normalized()) : Vec3(a.unitOrthogonal());
    q.w() = 0.5 * (a + b).norm();
    q.vec() = 0.5 * (a - b).norm() * axis;
    return q;
  }
  const double s = std::sqrt((1 + c) * 2), inv = 1 / s;
  q.vec() = a.cross(b) * inv;
  q.w() = s * 0.5;
  return q;
}

Scene::Scene(double mu, double restitution) {
  limits.pairs = 512;
  model->name = "test";
  add_material(mu, restitution);
}

std::uint32_t Scene::add_material(double mu, double restitution) {
  Material m;
  m.name = "default";
  if (!model->materials.empty()) m.name = std::to_string(model->materials.size());
  m.restitution = restitution;
  m.friction.mu_static = m.friction.mu_dynamic = mu;
  model->materials.push_back(m);
  return static_cast<std::uint32_t>(model->materials.size() - 1);
}

BodyIndex Scene::add(const Shape& shape, double mass, const Pose& X_WB, const SpatialVelocity& V_WB,
                     std::uint32_t material, BodyMode mode) {
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

BodyIndex Scene::add_floor(const Vec3& p_W, const Vec3& nhat_W, std::uint32_t material) {
  const Pose X_WB{shortest_rotation(Vec3::UnitZ(), nhat_W).normalized(), p_W};
  return add(make_half_space(), 0, X_WB, {}, material, BodyMode::fixed);
}

World Scene::world() {
  finish_model(*model);
  return World(std::move(model), limits);
}

void run(World& world, int ticks) {
  for (int i = 0; i < ticks; ++i) world.step();
}

Momentum momentum(const Model& model, const State& state) {
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

double potential_energy(const Model& model, const Parameters& parameters, const State& state) {
  double energy = 0;
  for (BodyIndex b = 0; b < state.body_count(); ++b) {
    const Body& body = model.bodies[b];
    if (body.mode != BodyMode::free) continue;
    energy -= body.mass * body.gravity_scale * parameters.gravity_W.dot(state.p_WBcm(b));
  }
  return energy;
}

double total_energy(const World& world) {
  return kinetic_energy(world.model(), world.state()) +
         potential_energy(world.model(), world.parameters(), world.state());
}

Scene stack(int n, bool jitter) {
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
