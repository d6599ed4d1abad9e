// Physics has no preferred direction: a scene that is turned, moved or mirrored as a whole moves so too.
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

// Where the scene stands and how it is turned; mirrored: through the plane x = 0 of the scene first.
struct Placing {
  Quat q = Quat::Identity();
  Vec3 p = Vec3::Zero();
  bool mirrored = false;

  [[nodiscard]] Vec3 mirror(Vec3 v) const {
    if (mirrored) v.x() = -v.x();
    return v;
  }
  // A rotation's axis is a pseudovector: it mirrors with the opposite sign.
  [[nodiscard]] Vec3 mirror_axis(const Vec3& w) const { return mirrored ? Vec3(w.x(), -w.y(), -w.z()) : w; }
  [[nodiscard]] Vec3 vector(const Vec3& v) const { return q * mirror(v); }
  [[nodiscard]] Vec3 point(const Vec3& x) const { return p + vector(x); }
  [[nodiscard]] Vec3 axis(const Vec3& w) const { return q * mirror_axis(w); }
  [[nodiscard]] Quat rotation(const Quat& r) const { return q * (mirrored ? Quat(r.w(), r.x(), -r.y(), -r.z()) : r); }
};

// Single bodies that fall, bounce, slide, roll and come to rest, each on its own spot.
Scene show(const Placing& place) {
  Scene scene(0.4, 0.3);
  scene.set_gravity(place.vector(Vec3(0, 0, -9.81)));
  scene.add_floor(place.point(Vec3::Zero()), place.vector(Vec3::UnitZ()));
  const auto add = [&](const Shape& shape, const Vec3& x, const Quat& r, const Vec3& w, const Vec3& v) {
    scene.add(shape, 2, {place.rotation(r), place.point(x)}, {place.axis(w), place.vector(v)});
  };
  add(make_sphere(0.2), {0, 0, 0.5}, Quat::Identity(), {1, 2, 3}, {1, 0.5, 0});
  add(make_box(Vec3(0.2, 0.15, 0.1)), {3, 0, 0.101}, Quat::Identity(), {0, 0, 1}, {0.5, -1, 0});
  add(make_box(Vec3(0.2, 0.15, 0.1)), {0, 3, 0.3}, test::turned({1, 2, 3}, 0.5), {1, 0, 0}, {0.3, 0.2, 0});
  add(make_box(Vec3(0.3, 0.3, 0.3)), {3, 3, 0.301}, Quat::Identity(), Vec3::Zero(), Vec3::Zero());
  add(make_sphere(0.2), {3.1, 3.05, 0.85}, Quat::Identity(), {0, 1, 0}, Vec3::Zero());
  return scene;
}

double difference(const Placing& place, int ticks) {
  World plain = show(Placing{}).world(), placed = show(place).world();
  test::run(plain, ticks), test::run(placed, ticks);
  double worst = 0;
  for (BodyIndex b = 1; b < plain.state().body_count(); ++b) {
    worst = std::max(worst, (placed.state().p_WBcm(b) - place.point(plain.state().p_WBcm(b))).norm());
    worst = std::max(worst, (placed.state().v_WBcm(b) - place.vector(plain.state().v_WBcm(b))).norm());
    worst = std::max(worst, (placed.state().w_WB(b) - place.axis(plain.state().w_WB(b))).norm());
    worst = std::max(worst, placed.state().q_WB(b).angularDistance(place.rotation(plain.state().q_WB(b))));
  }
  return worst;
}

TEST_CASE("symmetry: a scene that is turned and moved as a whole, gravity included, moves the same way") {
  Random random(1);
  for (int i = 0; i < 8; ++i) {
    CHECK_WITHIN(difference({random.rotation(), random.in_cube(3), false}, 250), 1e-7);
    CHECK_WITHIN(difference({random.rotation(), random.in_cube(3), false}, 1500), 1e-4);
  }
}

TEST_CASE("symmetry: the mirror image of a scene moves as its mirror image") {
  CHECK_WITHIN(difference({Quat::Identity(), Vec3::Zero(), true}, 250), 1e-9);
  CHECK_WITHIN(difference({Quat::Identity(), Vec3::Zero(), true}, 1500), 1e-6);
}

TEST_CASE("symmetry: a head-on pair stays on its line and swaps nothing sideways") {
  Scene scene(0.5, 0.5);
  scene.set_gravity(Vec3::Zero());
  scene.add(make_box(Vec3::Constant(0.2)), 1, test::at(-0.5, 0, 0), {Vec3::Zero(), Vec3(1, 0, 0)});
  scene.add(make_box(Vec3::Constant(0.2)), 1, test::at(0.5, 0, 0), {Vec3::Zero(), Vec3(-1, 0, 0)});
  World world = scene.world();
  test::run(world, 1000);
  const State& s = world.state();
  CHECK_WITHIN(s.v_WBcm(0).x() + 0.5, 1e-9);
  CHECK_WITHIN(s.v_WBcm(1).x() - 0.5, 1e-9);
  for (BodyIndex b = 0; b < 2; ++b) {
    CHECK_WITHIN(s.v_WBcm(b).tail<2>().norm(), 1e-12);
    CHECK_WITHIN(s.w_WB(b).norm(), 1e-12);
  }
}

}  // namespace
}  // namespace tactus
