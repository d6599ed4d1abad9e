// Impacts by sequential impulses: closed forms of one collision, what no impulse may do, and the rules of the loop.
#include "core/contact/impact/impact.h"

#include <vector>

#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

// K of two random bodies that meet at random levers: v' = v + K j.
Mat3 random_collision_matrix(Random& random) {
  Mat3 K = Mat3::Zero();
  for (int side = 0; side < 2; ++side) {
    if (side == 1 && random.chance(0.3)) break;  // against something fixed
    const double mass = random.log_uniform(1e-2, 1e2), size = random.log_uniform(0.05, 2);
    const Mat3 rx = skew(random.in_cube(size));
    K += Mat3::Identity() / mass - rx * random.inertia(mass, size).inverse() * rx;
  }
  return 0.5 * (K + K.transpose());
}

TEST_CASE("collision_impulse: a central collision reverses the normal velocity times e and nothing else") {
  const double mass = 2;
  const Mat3 K = Mat3::Identity() / mass;
  for (const double e : {0.0, 0.5, 1.0}) {
    const Vec3 j = collision_impulse(K, Vec3(0.3, 0.2, -4), Vec3::UnitZ(), e, 0);
    CHECK_WITHIN((j - Vec3(0, 0, mass * 4 * (1 + e))).norm(), 1e-14);
  }
}

TEST_CASE("collision_impulse: a hollow sphere that skids keeps mu, one that grips stops its contact point") {
  // Sphere of mass m and inertia 2/5 m r^2: tangential mobility 7/(2 m).
  const double mass = 1.5, v_t = 2, v_n = 1;
  const Mat3 K = Vec3(3.5, 3.5, 1).asDiagonal() * (1 / mass);
  const double mu_grip = v_t / 3.5 / v_n;  // the least mu that sticks, e = 0
  const Vec3 v(v_t, 0, -v_n);
  const Vec3 grip = collision_impulse(K, v, Vec3::UnitZ(), 0, 1.01 * mu_grip);
  CHECK_WITHIN((v + K * grip).norm(), 1e-14);
  const Vec3 skid = collision_impulse(K, v, Vec3::UnitZ(), 0, 0.5 * mu_grip);
  CHECK_WITHIN((skid - mass * v_n * Vec3(-0.5 * mu_grip, 0, 1)).norm(), 1e-14);
}

TEST_CASE("collision_impulse: a separating pair gets nothing") {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const Mat3 K = random_collision_matrix(random);
    const Vec3 nhat = random.direction();
    Vec3 v = random.in_cube(3);
    v -= std::min(0.0, nhat.dot(v)) * nhat * 2;  // reflected to separate
    CHECK(collision_impulse(K, v, nhat, random.uniform(0, 1), random.uniform(0, 2)).norm() == 0);
  }
}

TEST_CASE("collision_impulse: never pulls, never leaves the friction cone, never adds energy") {
  Random random(2);
  double worst_gain = -1, worst_cone = -1, worst_pull = -1;
  for (int i = 0; i < 50000; ++i) {
    const Mat3 K = random_collision_matrix(random);
    const Vec3 nhat = random.direction();
    Vec3 v = random.in_cube(3);
    if (nhat.dot(v) > 0) v = -v;
    const double e = random.chance(0.2) ? 1 : random.uniform(0, 1), mu = random.chance(0.2) ? 0 : random.uniform(0, 3);
    const Vec3 j = collision_impulse(K, v, nhat, e, mu);
    const double scale = j.norm() * v.norm() + 1e-300;
    worst_gain = std::max(worst_gain, (j.dot(v) + 0.5 * j.dot(K * j)) / scale);
    worst_cone = std::max(worst_cone, ((j - nhat.dot(j) * nhat).norm() - mu * nhat.dot(j)) / (j.norm() + 1e-300));
    worst_pull = std::max(worst_pull, -nhat.dot(j));
  }
  CHECK_WITHIN(std::max(0.0, worst_gain), 1e-12);
  CHECK_WITHIN(std::max(0.0, worst_cone), 1e-12);
  CHECK_WITHIN(std::max(0.0, worst_pull), 0);
}

TEST_CASE("collision_impulse: the normal velocity becomes -e times what it was, for any bodies and friction") {
  Random random(4);
  for (int i = 0; i < 20000; ++i) {
    const Mat3 K = random_collision_matrix(random);
    const Vec3 nhat = random.direction();
    Vec3 v = random.in_cube(3);
    if (nhat.dot(v) > 0) v = -v;
    const double e = random.uniform(0, 1), mu = random.chance(0.3) ? 0 : random.uniform(0, 2);
    const Vec3 j = collision_impulse(K, v, nhat, e, mu);
    const Vec3 after = v + K * j;
    CHECK_WITHIN(nhat.dot(after) + e * nhat.dot(v), 1e-13 * (v.norm() + K.norm() * j.norm()));
  }
}

// Contacts between bodies of one model, ready for the loop.
struct Loop {
  std::unique_ptr<Model> model;
  State state;
  Kinematics kinematics;
  std::vector<std::uint32_t> stamps;
  std::vector<ImpactContact> contacts;

  explicit Loop(Scene scene) : model(std::move(scene.model)) {
    finish_model(*model);
    state = initial_state(*model, 4);
    resize(*model, kinematics);
    compute_kinematics(*model, state, kinematics);
    stamps.resize(model->bodies.size());
  }
  void add(BodyIndex a, BodyIndex b, const Vec3& nhat_BA_W, const Vec3& p_WC, bool pending, double e, double mu = 0) {
    contacts.push_back({a, b, nhat_BA_W, p_WC, e, mu, pending, false, 0, 0});
  }
  ImpactResult run(std::uint32_t sweeps = 100, double epsilon = 1e-9) {
    return resolve_impacts(contacts.data(), static_cast<std::uint32_t>(contacts.size()), epsilon, sweeps, kinematics,
                           stamps.data(), state);
  }
};

// Equal spheres in a row along x, touching; the first comes with speed 1.
Loop cradle(int n, double e, bool pending_all) {
  Scene scene;
  for (int i = 0; i < n; ++i) {
    scene.add(make_sphere(0.1), 1, test::at(0.2 * i, 0, 0), {Vec3::Zero(), Vec3(i == 0 ? 1 : 0, 0, 0)});
  }
  Loop loop(std::move(scene));
  for (int i = 0; i + 1 < n; ++i) {
    loop.add(static_cast<BodyIndex>(i), static_cast<BodyIndex>(i + 1), -Vec3::UnitX(), Vec3(0.2 * i + 0.1, 0, 0),
             pending_all || i == 0, e);
  }
  return loop;
}

TEST_CASE("resolve_impacts: Newton's cradle passes the speed to the last sphere") {
  for (const bool pending_all : {true, false}) {
    Loop loop = cradle(5, 1, pending_all);
    const ImpactResult result = loop.run();
    CHECK(!result.exhausted);
    CHECK(result.impulses == 4);
    for (BodyIndex b = 0; b < 5; ++b) CHECK_WITHIN(loop.state.v_WBcm(b).x() - (b == 4 ? 1 : 0), 1e-15);
  }
}

TEST_CASE("resolve_impacts: the cradle also runs against the order of its contacts") {
  Loop loop = cradle(5, 1, false);
  std::reverse(loop.contacts.begin(), loop.contacts.end());
  CHECK(loop.run().impulses == 4);
  for (BodyIndex b = 0; b < 5; ++b) CHECK_WITHIN(loop.state.v_WBcm(b).x() - (b == 4 ? 1 : 0), 1e-15);
}

TEST_CASE("resolve_impacts: a resting pair is hit only through a third body") {
  // 0 hits 1, which rests on 2. Far away 3 approaches 4 in a resting pair: that is the penalty force's business.
  Scene scene;
  scene.add(make_sphere(0.1), 1, test::at(0, 0, 0.4), {Vec3::Zero(), Vec3(0, 0, -1)});
  scene.add(make_sphere(0.1), 1, test::at(0, 0, 0.2));
  scene.add(make_sphere(0.1), 1, test::at(0, 0, 0));
  scene.add(make_sphere(0.1), 1, test::at(5, 0, 0.2), {Vec3::Zero(), Vec3(0, 0, -1)});
  scene.add(make_sphere(0.1), 1, test::at(5, 0, 0));
  Loop loop(std::move(scene));
  loop.add(1, 2, Vec3::UnitZ(), Vec3(0, 0, 0.1), false, 0);
  loop.add(0, 1, Vec3::UnitZ(), Vec3(0, 0, 0.3), true, 0);
  loop.add(3, 4, Vec3::UnitZ(), Vec3(5, 0, 0.1), false, 0);
  loop.run();
  CHECK(loop.contacts[0].hit);
  CHECK(loop.contacts[1].hit);
  CHECK(!loop.contacts[2].hit);
  CHECK(loop.state.v_WBcm(3).z() == -1);
  CHECK(loop.state.v_WBcm(2).z() < -0.1);  // the blow went through
}

TEST_CASE("resolve_impacts: a hit on the floor is no news for others on the same floor") {
  Scene scene;
  scene.add_floor();
  scene.add(make_sphere(0.1), 1, test::at(0, 0, 0.1), {Vec3::Zero(), Vec3(0, 0, -1)});
  scene.add(make_sphere(0.1), 1, test::at(1, 0, 0.1), {Vec3::Zero(), Vec3(0, 0, -1)});
  Loop loop(std::move(scene));
  loop.add(1, 0, Vec3::UnitZ(), Vec3::Zero(), true, 0.5);
  loop.add(2, 0, Vec3::UnitZ(), Vec3(1, 0, 0), false, 0.5);
  loop.run();
  CHECK(loop.state.v_WBcm(1).z() == doctest::Approx(0.5));
  CHECK(loop.state.v_WBcm(2).z() == -1);
}

TEST_CASE("resolve_impacts: a pair is not hit again on its own account") {
  // The impulse at the centre leaves the far corner of a turning block approaching: no second impulse by itself.
  Scene scene;
  scene.add_floor();
  scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 1, test::at(0, 0, 0.1), {Vec3(0, 3, 0), Vec3(0, 0, -1)});
  Loop loop(std::move(scene));
  loop.add(1, 0, Vec3::UnitZ(), Vec3::Zero(), true, 0);
  const ImpactResult result = loop.run();
  CHECK(result.impulses == 1);
  CHECK(!result.exhausted);
}

TEST_CASE("resolve_impacts: sweeps end at the limit, and say so only when impacts are left") {
  Loop long_row = cradle(12, 1, false);
  std::reverse(long_row.contacts.begin(), long_row.contacts.end());  // one contact a sweep
  CHECK(long_row.run(5).exhausted);
  CHECK(long_row.state.v_WBcm(11).x() == 0);
  Loop one = cradle(2, 1, false);
  CHECK(!one.run(1).exhausted);
  Loop row = cradle(12, 1, false);
  CHECK(!row.run(1).exhausted);
  CHECK_WITHIN(row.state.v_WBcm(11).x() - 1, 1e-15);
}

TEST_CASE("resolve_impacts: random heaps conserve momentum and never gain energy") {
  Random random(6);
  for (int i = 0; i < 300; ++i) {
    Scene scene;
    const std::uint32_t n = 2 + random.below(8);
    for (std::uint32_t b = 0; b < n; ++b) {
      scene.add(make_box(Vec3(0.1, 0.2, 0.3)), random.log_uniform(0.01, 100), {random.rotation(), random.in_cube(1)},
                {random.in_cube(5), random.in_cube(2)});
    }
    Loop loop(std::move(scene));
    for (std::uint32_t k = 0; k < 2 * n; ++k) {
      const BodyIndex a = random.below(n), b = (a + 1 + random.below(n - 1)) % n;
      loop.add(a, b, random.direction(), random.in_cube(1), random.chance(0.5), random.uniform(0, 1),
               random.uniform(0, 1.5));
    }
    const test::Momentum before = test::momentum(*loop.model, loop.state);
    const double energy = kinetic_energy(*loop.model, loop.state);
    loop.run(20);
    const test::Momentum after = test::momentum(*loop.model, loop.state);
    const double scale = std::sqrt(energy * 1000) + before.linear.norm() + before.angular.norm();
    CHECK_WITHIN((after.linear - before.linear).norm() / scale, 1e-13);
    CHECK_WITHIN((after.angular - before.angular).norm() / scale, 1e-13);
    CHECK_WITHIN(std::max(0.0, kinetic_energy(*loop.model, loop.state) / energy - 1), 1e-13);
  }
}

}  // namespace
}  // namespace tactus
