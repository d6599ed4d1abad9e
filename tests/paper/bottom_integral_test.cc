// Drumwright Figure 4 (which points of an overlap push) and Figure 6 (the forgetting factor of equation 2).
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/contact/penalty_force.h"
#include "tests/paper/paper_output.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Scene;

TEST_CASE("Figure 4: of a trapezoid in the ground only the corners of its lower face push") {
  // Extruded isosceles trapezoid, the small face below: the overlap has 8 corners, 4 of them on the bottom.
  std::vector<Vec3> corners;
  for (const double y : {-1.0, 1.0}) {
    for (const double x : {-0.5, 0.5}) corners.emplace_back(x, y, -0.5);
    for (const double x : {-1.0, 1.0}) corners.emplace_back(x, y, 0.5);
  }
  ConvexHull hull;
  std::string error;
  REQUIRE_MESSAGE(build_convex_hull(corners, 64, hull, error), error);
  Scene scene;
  const Vec3 floor(0, 0, -0.4);
  scene.add_floor(floor);
  const BodyIndex b = scene.add(make_convex(&hull), 5, Pose{});
  World world = scene.world();
  world.step();
  const ContactSet& contacts = world.contacts();
  REQUIRE(contacts.manifold_count == 1);
  std::set<std::pair<double, double>> pushing;
  for (std::uint32_t i = 0; i < contacts.point_count; ++i) {
    const ContactPoint& p = contacts.points[i];
    CHECK_WITHIN(p.depth - 0.1, 1e-12);  // no crossing point at depth 0
    pushing.emplace(std::round(10 * p.p_WC.x()) / 10, std::round(10 * p.p_WC.y()) / 10);
  }
  CHECK(pushing == std::set<std::pair<double, double>>{{-0.5, -1}, {-0.5, 1}, {0.5, -1}, {0.5, 1}});
  CHECK(b == 1);
}

// A kinematic sphere held at a depth in a free box of enormous mass: the depth stays, and the integral shows.
double integral_after(double lambda, double depth, int ticks) {
  Scene scene(0);
  scene.set_gravity(Vec3::Zero());
  Gains& gains = scene.model->parameters.gains;
  gains.law = GainLaw::explicit_gains;
  gains.kp = 1e-3, gains.kv = 0, gains.ki = 1e-3;
  gains.lambda = lambda;
  scene.add(make_box(Vec3::Ones()), 1e9, Pose{});
  scene.add(make_sphere(0.5), 1, test::at(0, 0, 1.5 - depth), {}, 0, BodyMode::kinematic);
  World world = scene.world();
  test::run(world, ticks);
  return load_block<PenaltyMemory>(world.state().pairs[0]).integral;
}

TEST_CASE("Figure 6: with forgetting the integral levels off at d / (1 - lambda), without it would grow for ever") {
  auto csv = test::open_csv("fig6.csv", "lambda,depth_m,step,integral_m");
  for (const double lambda : {0.8, 0.9, 0.99}) {
    for (const double depth : {0.01, 0.05, 0.1, 0.2}) {
      for (const int ticks : {1, 2, 5, 10, 20, 50, 100}) {
        const double found = integral_after(lambda, depth, ticks);
        csv << lambda << ',' << depth << ',' << ticks << ',' << found << '\n';
        CHECK_WITHIN(found / (depth * (1 - std::pow(lambda, ticks)) / (1 - lambda)) - 1, 1e-9);  // equation (2)
      }
      const double limit = depth / (1 - lambda);
      CHECK_WITHIN(integral_after(lambda, depth, 3000) / limit - 1, 1e-9);
    }
  }
}

TEST_CASE("equations (2) and (3) at rest: the static depth is m g / (kp + ki / (1 - lambda))") {
  for (const double ki : {0.0, 100.0, 500.0}) {
    Scene scene;
    Gains& gains = scene.model->parameters.gains;
    gains.law = GainLaw::explicit_gains;
    gains.kp = 20000, gains.kv = 2000, gains.ki = ki;
    scene.model->integrator = Integrator::rk4;
    scene.add_floor();
    scene.add(make_box(Vec3::Constant(0.5)), 10, test::at(0, 0, 0.5));
    World world = scene.world();
    test::run(world, 5000);
    CHECK_WITHIN((0.5 - world.state().p_WBcm(1).z()) / (10 * test::kGravity / (20000 + ki / 0.1)) - 1, 1e-3);
  }
}

}  // namespace
}  // namespace tactus
