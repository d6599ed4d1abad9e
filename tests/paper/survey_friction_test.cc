// Baraff 1993, sections 5 and 7.2, and what follows from Coulomb's law for every model with complementarity: one point
// of static friction is always consistent, inclines, sliding, seams and edges.
#include <string>
#include <vector>

#include "tests/paper/methods.h"
#include "tests/paper/paper_output.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Random;
using test::Scene;

constexpr ContactModelKind kModels[] = {ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::ap};

World world_of(Scene scene, ContactModelKind kind, double h) {
  scene.model->contact_model = kind;
  scene.model->step = h;
  test::keep_small(scene);
  return scene.world();
}

// A box of any inertia and mass centre at rest on one corner.
struct Corner {
  Scene scene;
  Vec3 p_W = Vec3::Zero();  // of the corner
};
Corner on_corner(Random& random, double mu) {
  Corner out{Scene(mu), {}};
  out.scene.add_floor();
  const Vec3 half = Vec3::Constant(0.3) + random.in_cube(0.2);
  for (;;) {
    const Quat q = random.rotation();
    std::vector<Vec3> corners;
    for (int i = 0; i < 8; ++i) {
      corners.push_back(q * Vec3((i & 1) != 0 ? half.x() : -half.x(), (i & 2) != 0 ? half.y() : -half.y(),
                                 (i & 4) != 0 ? half.z() : -half.z()));
    }
    std::sort(corners.begin(), corners.end(), [](const Vec3& a, const Vec3& b) { return a.z() < b.z(); });
    if (corners[1].z() - corners[0].z() < 0.02) continue;
    out.p_W = Vec3(corners[0].x(), corners[0].y(), 0);
    out.scene.add(make_box(half), 1, {q, Vec3(0, 0, -corners[0].z())});
    break;
  }
  Body& body = out.scene.model->bodies[1];
  body.mass = random.log_uniform(0.1, 10);
  const Mat3 R = random.rotation().toRotationMatrix();
  const double x = random.log_uniform(0.02, 0.2), y = random.log_uniform(0.02, 0.2), z = random.log_uniform(0.02, 0.2);
  body.I_BBcm = body.mass * R * Vec3(x, y, z).asDiagonal() * R.transpose();
  body.p_BBcm = random.in_cube(0.1);
  out.scene.model->shapes[1].X_BcmS.p = -body.p_BBcm;
  return out;
}

// A block on a floor; gravity leans by atan(tangent) towards `angle` in the floor's plane.
World on_floor(ContactModelKind kind, std::uint32_t directions, double mu) {
  Scene scene(mu);
  scene.add_floor();
  scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 2, test::at(0, 0, 0.1));
  scene.model->parameters.friction_directions = directions;
  return world_of(std::move(scene), kind, 1e-2);
}
bool slides(World& world, double tangent, double angle) {
  world.reset();
  Parameters p = world.parameters();
  p.gravity_W = kGravity * Vec3(tangent * std::cos(angle), tangent * std::sin(angle), -1);
  world.set_parameters(p);
  for (int i = 0; i < 5; ++i) CHECK(world.step().solver_failures == 0);
  return world.state().v_WBcm(1).norm() > 1e-9;
}

double threshold(World& world, double mu, double angle) {
  double lo = 0, hi = 2 * mu;
  while (hi - lo > 1e-7) {
    const double middle = 0.5 * (lo + hi);
    (slides(world, middle, angle) ? hi : lo) = middle;
  }
  return 0.5 * (lo + hi);
}

// A block 0.4 m long on two fixed ones that meet at x = 0, or on one that ends there.
Scene on_blocks(double mu, bool two, double start, double speed) {
  Scene scene(mu);
  scene.add(make_box(Vec3(1, 1, 0.5)), 1, test::at(-1, 0, -0.5), {}, 0, BodyMode::fixed);
  if (two) scene.add(make_box(Vec3(1, 1, 0.5)), 1, test::at(1, 0, -0.5), {}, 0, BodyMode::fixed);
  scene.add(make_box(Vec3(0.2, 0.2, 0.1)), 1, test::at(start, 0.05, 0.1), {Vec3::Zero(), Vec3(speed, 0, 0)});
  return scene;
}

}  // namespace

TEST_CASE("Survey, 7.2: one point of static friction is always consistent: its forces obey Coulomb's law") {
  Random random(1);
  const double h = 1e-5;  // the body hardly turns in it
  int sticking = 0, sliding = 0, leaving = 0;
  for (int k = 0; k < 600; ++k) {
    CAPTURE(k);
    const double mu = random.uniform(0, 1) < 0.1 ? 20 : random.uniform(0, 3);
    Corner corner = on_corner(random, mu);
    const Vec3 p_W = corner.p_W;
    World world = world_of(std::move(corner.scene), ContactModelKind::lcp, h);
    const Vec3 p_WBcm = world.state().p_WBcm(1);
    const double weight = world.model().bodies[1].mass * kGravity;
    world.apply(1, {weight * random.in_cube(0.3), weight * random.in_cube(1.2)});
    const StepReport report = world.step();
    CHECK(report.inconsistent == 0);
    CHECK(report.solver_failures == 0);
    Vec3 f = Vec3::Zero();
    for (std::uint32_t i = 0; i < world.contacts().point_count; ++i) f -= world.contact_force(i);
    const Vec3 a = (world.state().v_WBcm(1) + world.state().w_WB(1).cross(p_W - p_WBcm)) / h;
    const double size = 1e-5 * (1 + a.norm()) /* gaps of 1e-16 m over h^2 */, share = 1e-7 * (weight + f.norm());
    CHECK(f.z() >= 0);
    CHECK(a.z() >= -size);
    CHECK_WITHIN(f.z() * a.z(), 1e-5 * (weight + f.norm()) * (1 + a.norm()));
    const Eigen::Vector2d f_t = f.head<2>(), a_t = a.head<2>();
    CHECK(f_t.norm() <= mu * f.z() + share);                // (14)
    if (f.z() > 0 && a_t.norm() > 1e-5 * (1 + a.norm())) {  // (19), and along the acceleration
      CHECK_WITHIN(f_t.norm() - mu * f.z(), share);
      CHECK_WITHIN((f_t + mu * f.z() * a_t.normalized()).norm(), 1e-5 * (weight + f.norm()));
      ++sliding;
    } else {
      ++(f.z() > 0 ? sticking : leaving);  // (18)
    }
  }
  MESSAGE("sticks " << sticking << ", slides " << sliding << ", leaves " << leaving);
  CHECK(sticking > 60);
  CHECK(sliding > 60);
  CHECK(leaving > 60);
}

TEST_CASE("Incline: a block holds up to the pyramid's edge, mu at its corners and mu cos(pi / n) between them") {
  const double mu = 0.5;
  auto csv = test::open_csv("survey_incline.csv", "model,directions,angle_rad,threshold,closed_form");
  double worst = 0;
  const auto measure = [&](ContactModelKind kind, std::uint32_t n) {
    World world = on_floor(kind, n, mu);
    for (int k = 0; k < 24; ++k) {
      const double angle = 2 * M_PI * k / 24;
      double closed = mu;
      if (n > 0) {
        const double step = 2 * M_PI / n, from_corner = angle - step * std::floor(angle / step);
        closed = mu * std::cos(0.5 * step) / std::cos(from_corner - 0.5 * step);
      }
      const double found = threshold(world, mu, angle);
      csv << to_string(kind) << ',' << n << ',' << angle << ',' << found << ',' << closed << '\n';
      worst = std::max(worst, std::abs(found - closed));
    }
  };
  for (const std::uint32_t n : {4U, 8U}) {
    measure(ContactModelKind::st, n);
    measure(ContactModelKind::ap, n);
  }
  measure(ContactModelKind::st, 0);
  measure(ContactModelKind::lcp, 0);
  CHECK_WITHIN(worst, 1e-6);
}

TEST_CASE("A sliding block has Coulomb's speed to 1e-6, whatever the model and the step") {
  auto csv = test::open_csv("survey_sliding.csv", "model,step_s,time_s,speed_m_per_s,error_m_per_s");
  const double mu = 0.3, angle = 0.7;
  const Vec3 along(std::cos(angle), std::sin(angle), 0);
  for (const ContactModelKind kind : kModels) {
    for (const double h : {1e-3, 1e-2}) {
      Scene scene(mu);
      scene.add_floor();
      scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 3, test::at(0, 0, 0.1), {Vec3::Zero(), 2 * along});
      World world = world_of(std::move(scene), kind, h);
      double worst = 0;
      for (int n = 1; n * h < 0.66; ++n) {
        CHECK(world.step().solver_failures == 0);
        const double error = (world.state().v_WBcm(1) - (2 - mu * kGravity * h * n) * along).norm();
        worst = std::max(worst, error);
        csv << to_string(kind) << ',' << h << ',' << n * h << ',' << world.state().v_WBcm(1).norm() << ',' << error
            << '\n';
      }
      MESSAGE(std::string(to_string(kind)) << ", " << h << " s: worst error " << worst << " m/s");
      CHECK_WITHIN(worst, 1e-6);
    }
  }
}

TEST_CASE("No trap: a block slides over the seam between two blocks as over one") {
  const double mu = 0.2, speed = 1.5;
  for (const ContactModelKind kind : kModels) {
    const double h = kind == ContactModelKind::lcp ? 1e-3 : 1e-2;
    int caught = 0;
    double worst = 0;
    for (int k = 0; k < 40; ++k) {
      World world = world_of(on_blocks(mu, true, -0.6037 + 0.00171 * k, speed), kind, h);
      bool held = false;
      for (int n = 1; n * h < 0.6; ++n) {
        CHECK(world.step().solver_failures == 0);
        const double error = (world.state().v_WBcm(2) - (speed - mu * kGravity * h * n) * Vec3::UnitX()).norm();
        worst = std::max(worst, error);
        held = held || error > 1e-6;
      }
      caught += held;
    }
    CAPTURE(std::string(to_string(kind)));
    CAPTURE(worst);
    CHECK(caught == 0);
  }
}

TEST_CASE("No trap: a block slides over an edge and falls off") {
  const double mu = 0.2, speed = 2.2;
  for (const ContactModelKind kind : kModels) {
    const double h = kind == ContactModelKind::lcp ? 1e-3 : 1e-2;
    for (int k = 0; k < 10; ++k) {
      CAPTURE(std::string(to_string(kind)));
      CAPTURE(k);
      World world = world_of(on_blocks(mu, false, -0.6037 + 0.00171 * k, speed), kind, h);
      double worst = 0;
      for (int n = 1; n * h < 1; ++n) {
        const double before = world.state().p_WBcm(1).x();
        world.step();
        // Flat and as if the plane went on, until friction, 0.1 m below the mass centre, tips it over the edge.
        if (before < -0.1 * mu - speed * h) {
          worst = std::max(worst, (world.state().v_WBcm(1) - (speed - mu * kGravity * h * n) * Vec3::UnitX()).norm());
        }
      }
      CHECK_WITHIN(worst, 1e-6);
      CHECK(world.state().p_WBcm(1).z() < -0.5);
      CHECK(world.state().p_WBcm(1).x() > 0.2);
    }
  }
}

}  // namespace tactus
