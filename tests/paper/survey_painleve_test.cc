// Baraff 1993, 7.1: sliding friction for which no forces exist (inconsistent) or several motions do (indeterminate),
// on Painleve's rod, and Loetstedt's law, under which neither happens.
#include <vector>

#include "tests/paper/methods.h"
#include "tests/paper/paper_output.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Scene;

constexpr double kMass = 1.3, kHalf = 1, kRadius = 0.01, kStep = 1e-3, kSpeed = 2;

// A rod leaning forwards that slides on its lower end: mass centre, lever of the contact and mobilities in the plane.
struct Rod {
  double angle, mu, lift;  // from the floor [rad]; upwards at the mass centre, of the weight
  [[nodiscard]] Eigen::Vector2d lever() const { return {kHalf * std::cos(angle), -kHalf * std::sin(angle) - kRadius}; }
  [[nodiscard]] static double inertia() { return kMass * kHalf * kHalf / 3; }
  // What a normal force does to the end's normal acceleration while it slides forwards: n K (n - mu t).
  [[nodiscard]] double mobility() const {
    const Eigen::Vector2d r = lever();
    return 1 / kMass + r.x() * (r.x() + mu * r.y()) / inertia();
  }
  [[nodiscard]] double free() const { return (lift - 1) * kGravity; }

  [[nodiscard]] World world(LcpFriction friction, ForceMethod method = ForceMethod::automatic) const {
    Scene scene(mu);
    scene.add_floor();
    const Eigen::Vector2d r = lever();
    // The rod's axis, local z, points from the contact to the upper end.
    const Quat q = test::shortest_rotation(Vec3::UnitZ(), Vec3(-std::cos(angle), 0, std::sin(angle)));
    scene.add(make_capsule(kRadius, kHalf), kMass, {q, Vec3(0, 0, -r.y())}, {Vec3::Zero(), Vec3(kSpeed, 0, 0)});
    scene.model->bodies[1].I_BBcm = Vec3(inertia(), inertia(), 1e-3 * inertia()).asDiagonal();
    scene.model->contact_model = ContactModelKind::lcp;
    scene.model->step = kStep;
    scene.model->parameters.lcp_friction = friction;
    scene.model->parameters.lcp_method = method;
    test::keep_small(scene);
    return scene.world();
  }
  [[nodiscard]] SpatialForce push() const { return {Vec3::Zero(), Vec3(0, 0, lift * kMass * kGravity)}; }
};

// Velocity of the end that touches, in the plane: along x, up.
Eigen::Vector2d end_velocity(const World& world, const Rod& rod) {
  const Eigen::Vector2d r = rod.lever();
  const Vec3 v = world.state().v_WBcm(1) + world.state().w_WB(1).cross(Vec3(r.x(), 0, r.y()));
  return {v.x(), v.z()};
}

template <typename Check>
void for_rods(const Check& check) {
  for (double angle = 0.15; angle < 1.5; angle += 0.15) {
    for (double mu = 0.1; mu < 4; mu += 0.3) {
      for (const double lift : {0.0, 0.7, 1.5}) check(Rod{angle, mu, lift});
    }
  }
}

}  // namespace

TEST_CASE("Survey, 7.1: a sliding rod without consistent forces, or with several motions, is found where theory says") {
  auto csv = test::open_csv("survey_painleve.csv", "angle_rad,friction,lift,mobility,verdict");
  int counts[4] = {};
  for_rods([&](const Rod& rod) {
    const double A = rod.mobility(), b = rod.free();
    if (std::abs(A) * kMass < 1e-3) return;
    World world = rod.world(LcpFriction::coulomb);
    world.apply(1, rod.push());
    const double before = kinetic_energy(world.model(), world.state());
    const StepReport report = world.step();
    CAPTURE(rod.angle);
    CAPTURE(rod.mu);
    CAPTURE(rod.lift);
    CHECK(report.solver_failures == 0);
    const Eigen::Vector2d v = end_velocity(world, rod);
    double force = 0, friction = 0;
    for (std::uint32_t k = 0; k < world.contacts().point_count; ++k) {
      force -= world.contact_force(k).z(), friction -= world.contact_force(k).x();
    }
    const bool inconsistent = A < 0 && b < 0, indeterminate = A < 0 && b > 0;
    CHECK(report.inconsistent == (inconsistent ? 1 : 0));
    CHECK(report.indeterminate == (indeterminate ? 1 : 0));
    csv << rod.angle << ',' << rod.mu << ',' << rod.lift << ',' << A << ','
        << (inconsistent    ? "inconsistent"
            : indeterminate ? "indeterminate"
            : b > 0         ? "leaves"
                            : "slides")
        << '\n';
    if (inconsistent) {
      // An impulse that stops the slip: K p = -v, which lies in the friction cone exactly because A < 0.
      ++counts[0];
      CHECK_WITHIN(v.norm(), 1e-9);
      CHECK(std::abs(friction) <= rod.mu * force * (1 + 1e-9));
      CHECK(kinetic_energy(world.model(), world.state()) < before);
    } else if (b > 0) {
      ++counts[indeterminate ? 1 : 2];  // of leaving, staying and jamming: the motion with fewer contacts
      CHECK(force == 0);
      CHECK_WITHIN(v.y() / kStep - b, 1e-8);
    } else {
      ++counts[3];
      CHECK_WITHIN(force * A / b + 1, 1e-8);
      CHECK_WITHIN(friction + rod.mu * force, 1e-9 * force);
      CHECK_WITHIN(v.y(), 1e-10);
    }
  });
  MESSAGE("inconsistent " << counts[0] << ", indeterminate " << counts[1] << ", leaving " << counts[2] << ", sliding "
                          << counts[3]);
  for (const int n : counts) CHECK(n > 20);
}

TEST_CASE("Survey, 7.1: rods that jam go on without ever gaining energy") {
  int jams = 0;
  for (const double angle : {0.7, 0.9, 1.1}) {
    for (const double mu : {1.6, 2.2, 3.0}) {
      World world = Rod{angle, mu, 0}.world(LcpFriction::coulomb);
      const double start = test::total_energy(world);
      double most = start;
      for (int i = 0; i < 1000; ++i) {
        const StepReport report = world.step();
        jams += static_cast<int>(report.inconsistent);
        CHECK(report.solver_failures == 0);
        CHECK(report.bodies_frozen == 0);
        most = std::max(most, test::total_energy(world));
      }
      CHECK_WITHIN(most - start, 1e-3 * std::abs(start));
    }
  }
  CHECK(jams > 5);
}

TEST_CASE("Survey, 7.1: under Loetstedt's law every rod has forces, and every method finds the same motion") {
  double worst = 0;
  for_rods([&](const Rod& rod) {
    if (rod.lift == 0.7) return;
    World worlds[] = {rod.world(LcpFriction::lotstedt), rod.world(LcpFriction::lotstedt, ForceMethod::pivoting),
                      rod.world(LcpFriction::lotstedt, ForceMethod::qp)};
    for (int i = 0; i < 4; ++i) {
      for (World& world : worlds) {
        world.apply(1, rod.push());
        const StepReport report = world.step();
        CHECK(report.solver_failures + report.inconsistent + report.indeterminate == 0);
      }
      for (std::size_t k = 0; k < worlds[0].state().v.size(); ++k) {
        const double v = worlds[0].state().v[k];
        worst = std::max({worst, std::abs(worlds[1].state().v[k] - v), std::abs(worlds[2].state().v[k] - v)});
      }
    }
  });
  CHECK_WITHIN(worst, 1e-8);
}

}  // namespace tactus
