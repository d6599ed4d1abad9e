// Impacts at all points together: flat landings, rows of spheres (with what simultaneous impacts cannot do), any order
// of contacts, and what no set of impulses may do.
#include "core/contact/impact/impact_simultaneous.h"

#include <algorithm>
#include <vector>

#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

struct Together {
  std::unique_ptr<Model> model;
  State state;
  Kinematics kinematics;
  Arena arena{1u << 20};
  std::vector<ImpactContact> contacts;
  std::vector<std::vector<ContactPoint>> points;

  explicit Together(Scene scene) : model(std::move(scene.model)) {
    finish_model(*model);
    state = initial_state(*model, 4);
    resize(*model, kinematics);
    compute_kinematics(*model, state, kinematics);
  }
  void add(BodyIndex a, BodyIndex b, const Vec3& nhat_BA_W, const std::vector<Vec3>& at, bool pending, double e,
           double mu = 0) {
    contacts.push_back({a, b, nhat_BA_W, at[0], e, mu, pending, false, 0, 0});
    points.emplace_back();
    for (const Vec3& p : at) {
      ContactPoint point{};
      point.p_WC = p;
      points.back().push_back(point);
    }
  }
  ImpactResult run(std::uint32_t max_sweeps = 100) {
    const std::vector<std::uint32_t> all{0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<ImpactPatch> patches;
    for (const auto& p : points) patches.push_back({p.data(), all.data(), static_cast<std::uint32_t>(p.size())});
    const std::size_t used = arena.used();
    const ImpactResult result =
        resolve_impacts_together(contacts.data(), patches.data(), static_cast<std::uint32_t>(contacts.size()), 1e-9,
                                 max_sweeps, kinematics, arena, state);
    CHECK(arena.used() == used);
    return result;
  }
};

std::vector<Vec3> corners(double x, double y, double z) {
  return {{-x, -y, z}, {x, -y, z}, {x, y, z}, {-x, y, z}};
}

TEST_CASE("simultaneous impacts: a box that lands flat bounces with e and does not turn, in one sweep") {
  for (const double e : {0.0, 0.4, 1.0}) {
    for (const double mu : {0.0, 0.7}) {
      Scene scene;
      scene.add_floor();
      scene.add(make_box(Vec3(0.5, 0.3, 0.1)), 3, test::at(0, 0, 0.1), {Vec3::Zero(), Vec3(0, 0, -2)});
      Together t(std::move(scene));
      t.add(1, 0, Vec3::UnitZ(), corners(0.5, 0.3, 0), true, e, mu);
      CHECK(!t.run(1).exhausted);
      CHECK_WITHIN((t.state.v_WBcm(1) - Vec3(0, 0, 2 * e)).norm(), 1e-14);
      CHECK_WITHIN(t.state.w_WB(1).norm(), 1e-14);
    }
  }
}

TEST_CASE("simultaneous impacts: each corner of a tilting box leaves with e times its speed, or rises faster") {
  Random random(1);
  int rises = 0;
  for (int i = 0; i < 300; ++i) {
    Scene scene;
    scene.add_floor();
    const double w_y = random.uniform(-4, 4), w_x = random.uniform(-4, 4);
    scene.add(make_box(Vec3(0.5, 0.3, 0.1)), 3, test::at(0, 0, 0.1), {Vec3(w_x, w_y, 1), Vec3(0, 0, -1)});
    Together t(std::move(scene));
    const std::vector<Vec3> at = corners(0.5, 0.3, 0);
    t.add(1, 0, Vec3::UnitZ(), at, true, 0.5);
    const State before = t.state;
    const auto v_n = [&](const State& s, const Vec3& p) {
      return (s.v_WBcm(1) + s.w_WB(1).cross(p - s.p_WBcm(1))).z();
    };
    t.run(1000);
    for (const Vec3& p : at) {
      const double least = std::max(0.0, -0.5 * v_n(before, p));
      CHECK(v_n(t.state, p) > least - 1e-7);
      rises += v_n(t.state, p) > least + 1e-3;
    }
    CHECK(kinetic_energy(*t.model, t.state) <= kinetic_energy(*t.model, before) * (1 + 1e-14));
  }
  CHECK(rises > 100);
}

// Equal spheres in a row along x, touching; the first comes with speed 1.
Together cradle(int n, double e, bool pending_all) {
  Scene scene;
  for (int i = 0; i < n; ++i) {
    scene.add(make_sphere(0.1), 1, test::at(0.2 * i, 0, 0), {Vec3::Zero(), Vec3(i == 0 ? 1 : 0, 0, 0)});
  }
  Together t(std::move(scene));
  for (int i = 0; i + 1 < n; ++i) {
    t.add(static_cast<BodyIndex>(i), static_cast<BodyIndex>(i + 1), -Vec3::UnitX(), {Vec3(0.2 * i + 0.1, 0, 0)},
          pending_all || i == 0, e);
  }
  return t;
}

TEST_CASE("simultaneous impacts: two spheres swap their speeds, five do not (Newton's cradle is sequential)") {
  Together two = cradle(2, 1, true);
  two.run();
  CHECK_WITHIN(two.state.v_WBcm(0).x(), 1e-14);
  CHECK_WITHIN(two.state.v_WBcm(1).x() - 1, 1e-14);
  // Only the first pair had a speed to give back: it parts with it, the other four go on as one. Momentum and energy
  // are those of the real cradle, in which the last sphere alone leaves.
  for (const bool pending_all : {true, false}) {
    Together five = cradle(5, 1, pending_all);
    CHECK(!five.run().exhausted);
    CHECK_WITHIN(five.state.v_WBcm(0).x() + 0.6, 1e-7);
    for (BodyIndex b = 1; b < 5; ++b) CHECK_WITHIN(five.state.v_WBcm(b).x() - 0.4, 1e-7);
  }
}

TEST_CASE("simultaneous impacts: a row hit from both ends by equal spheres is as symmetric as its blows") {
  Together t = cradle(5, 0.5, false);
  t.state.set_velocity(4, Vec3(-1, 0, 0), Vec3::Zero());
  t.contacts[3].pending = true;
  t.run();
  for (BodyIndex b = 0; b < 5; ++b) CHECK_WITHIN(t.state.v_WBcm(b).x() + t.state.v_WBcm(4 - b).x(), 1e-7);
  CHECK_WITHIN(t.state.v_WBcm(2).x(), 1e-7);
  CHECK_WITHIN(t.state.v_WBcm(4).x() - 0.5, 1e-7);
}

TEST_CASE("simultaneous impacts: a box under a falling ball stays on the floor, which takes the blow") {
  Scene scene;
  scene.add_floor();
  scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 1, test::at(0, 0, 0.1));
  scene.add(make_sphere(0.1), 2, test::at(0.2, 0.1, 0.3), {Vec3::Zero(), Vec3(0, 0, -1)});
  Together t(std::move(scene));
  t.add(1, 0, Vec3::UnitZ(), corners(0.5, 0.5, 0), false, 0.8, 0.5);
  t.add(2, 1, Vec3::UnitZ(), {Vec3(0.2, 0.1, 0.2)}, true, 0.8, 0.5);
  CHECK(!t.run().exhausted);
  CHECK(t.contacts[0].hit);
  CHECK_WITHIN((t.state.v_WBcm(2) - Vec3(0, 0, 0.8)).norm(), 1e-7);
  CHECK_WITHIN(t.state.v_WBcm(1).norm() + t.state.w_WB(1).norm(), 1e-6);
}

TEST_CASE("simultaneous impacts: a resting pair far from all blows is not looked at") {
  Together t = cradle(4, 1, false);
  t.contacts[0].pending = false;
  t.contacts[2].pending = true;  // nothing approaches there
  t.run();
  CHECK(t.state.v_WBcm(0).x() == 1);
  CHECK(!t.contacts[0].hit);
}

TEST_CASE("impacts and restitution_law are run-time parameters, read strictly and told again") {
  Parameters p;
  CHECK(World::parse_parameter("restitution_law", "stronge", p));
  CHECK(p.restitution_law == RestitutionLaw::stronge);
  CHECK(!World::parse_parameter("impacts", "simultaneous", p));  // knows Newton's law only
  CHECK(World::parse_parameter("restitution_law", "newton", p));
  CHECK(World::parse_parameter("impacts", "simultaneous", p));
  CHECK(p.impacts == Impacts::simultaneous);
  for (const char* word : {"", "both", "Sequential", "sequential "}) CHECK(!World::parse_parameter("impacts", word, p));
  Parameters copy;
  for (const auto& [key, value] : World::list_parameters(p)) CHECK(World::parse_parameter(key, value, copy));
  CHECK(copy.impacts == p.impacts);
}

struct Heap {
  Together t;
  double energy;
  test::Momentum before;
};

Heap random_heap(Random& random, double mu_max) {
  Scene scene;
  const std::uint32_t n = 2 + random.below(6);
  for (std::uint32_t b = 0; b < n; ++b) {
    const SpatialVelocity V{random.in_cube(5), random.in_cube(2)};  // one draw a statement
    const Pose X{random.rotation(), random.in_cube(1)};
    const double mass = random.log_uniform(0.1, 10);
    scene.add(make_box(Vec3(0.1, 0.2, 0.3)), mass, X, V);
  }
  Together t(std::move(scene));
  for (std::uint32_t k = 0; k < 2 * n; ++k) {
    const BodyIndex a = random.below(n), b = (a + 1 + random.below(n - 1)) % n;
    const Vec3 centre = random.in_cube(1), nhat = random.direction(), u = nhat.unitOrthogonal() * 0.1;
    const std::vector<Vec3> at{centre + u, centre - u, centre + nhat.cross(u)};
    const double mu = mu_max > 0 ? random.uniform(0, mu_max) : 0.0, e = random.uniform(0, 1);
    t.add(a, b, nhat, at, random.chance(0.6), e, mu);
  }
  const double energy = kinetic_energy(*t.model, t.state);
  const test::Momentum momentum = test::momentum(*t.model, t.state);
  return {std::move(t), energy, momentum};
}

TEST_CASE("simultaneous impacts: random heaps conserve momentum and never gain energy, converged or not") {
  Random random(6);
  int exhausted = 0;
  for (int i = 0; i < 600; ++i) {
    Heap heap = random_heap(random, 1.5);
    Together& t = heap.t;
    exhausted += t.run(i % 2 ? 1 : 10).exhausted;
    const test::Momentum after = test::momentum(*t.model, t.state);
    const double scale = std::sqrt(heap.energy * 100) + heap.before.linear.norm() + heap.before.angular.norm();
    CHECK_WITHIN((after.linear - heap.before.linear).norm() / scale, 1e-13);
    CHECK_WITHIN((after.angular - heap.before.angular).norm() / scale, 1e-13);
    CHECK_WITHIN(std::max(0.0, kinetic_energy(*t.model, t.state) / heap.energy - 1), 1e-13);
  }
  MESSAGE("sweeps exhausted in " << exhausted << " of 600");
}

TEST_CASE("simultaneous impacts: without friction any order of contacts and points gives the same velocities") {
  for (int i = 0; i < 100; ++i) {
    Random one(100 + static_cast<std::uint64_t>(i)), two(100 + static_cast<std::uint64_t>(i));
    Heap a = random_heap(one, 0), b = random_heap(two, 0);
    std::reverse(b.t.contacts.begin(), b.t.contacts.end());
    std::reverse(b.t.points.begin(), b.t.points.end());
    for (auto& points : b.t.points) std::reverse(points.begin(), points.end());
    if (a.t.run(10000).exhausted || b.t.run(10000).exhausted) continue;
    for (BodyIndex k = 0; k < a.t.state.body_count(); ++k) {
      CHECK_WITHIN((a.t.state.v_WBcm(k) - b.t.state.v_WBcm(k)).norm(), 1e-5);
      CHECK_WITHIN((a.t.state.w_WB(k) - b.t.state.w_WB(k)).norm(), 1e-4);
    }
  }
}

}  // namespace
}  // namespace tactus
