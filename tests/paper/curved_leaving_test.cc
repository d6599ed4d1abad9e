// Baraff 1990 with model `lcp` and its exact stepper (Fig. 1): a ball that slides, and one that rolls, off a sphere.
// Closed forms: without friction cos a = 2/3 cos a0 + v0^2 / (3 g (R + r)), N = m (g cos a - v^2 / (R + r)); rolling
// from rest cos a = 10/17 cos a0.
#include <doctest/doctest.h>

#include <cmath>

#include "core/world.h"
#include "tests/paper/paper_output.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::at;
using test::kGravity;
using test::Scene;

constexpr double kBase = 1, kBall = 0.25, kArm = kBase + kBall, kMass = 2;

World ball_on_ball(double mu, double angle, double v, double h, LcpStepper stepper) {
  Scene scene(mu);
  scene.add(make_sphere(kBase), 0, at(0, 0, 0), {}, 0, BodyMode::fixed);
  const Vec3 along(std::cos(angle), 0, -std::sin(angle));
  scene.add(make_sphere(kBall), kMass, at(kArm * std::sin(angle), 0, kArm * std::cos(angle)),
            {Vec3::Zero(), v * along});
  scene.model->contact_model = ContactModelKind::lcp;
  scene.model->step = h;
  scene.model->parameters.lcp_stepper = stepper;
  return scene.world();
}

double angle_of(const Vec3& p) {
  return std::atan2(p.x(), p.z());
}
double push_of(const World& world) {
  double sum = 0;
  for (std::uint32_t k = 0; k < world.contacts().point_count; ++k) {
    sum -= world.contact_force(k).dot(world.state().p_WBcm(1).normalized());
  }
  return sum;
}

// Where the contact breaks [rad]: exact, at the event; fixed, at the first step without force.
double leaving_angle(World& world) {
  for (int i = 0; i < 100000; ++i) {
    const StepReport report = world.step();
    if (report.exact.breaks > 0) {
      const double s = world.h() - report.exact.event_time;
      const State& state = world.state();
      return angle_of(state.p_WBcm(1) - s * state.v_WBcm(1) + 0.5 * s * s * world.parameters().gravity_W);
    }
    if (world.parameters().lcp_stepper == LcpStepper::fixed && push_of(world) <= 0 && i > 2) {
      return angle_of(world.state().p_WBcm(1));
    }
  }
  return -1;
}

struct Case {
  const char* name;
  double mu, angle, v, expected;
};

}  // namespace

TEST_CASE("curved: N along the way of a ball that slides off a sphere") {
  const double angle = 0.1, v0 = 0.3;
  World world = ball_on_ball(0, angle, v0, 1e-3, LcpStepper::exact);
  auto csv = test::open_csv("curved_slide.csv", "angle_deg,force_n,closed_form_n");
  double worst = 0;
  for (int i = 0; i < 2000; ++i) {
    if (world.step().exact.breaks > 0) break;
    const double a = angle_of(world.state().p_WBcm(1));
    const double v2 = v0 * v0 + 2 * kGravity * kArm * (std::cos(angle) - std::cos(a));
    const double expected = kMass * (kGravity * std::cos(a) - v2 / kArm);
    worst = std::max(worst, std::abs(push_of(world) - expected));
    csv << a * 180 / M_PI << ',' << push_of(world) << ',' << expected << '\n';
  }
  CHECK_WITHIN(worst / (kMass * kGravity), 1e-9);
}

TEST_CASE("curved: leaving angles within 0.01 degrees, at any step; the fixed stepper beside it") {
  const double g = kGravity, a0 = 0.1;
  const Case cases[] = {
      {"sliding", 0, a0, 0.3, std::acos(2.0 / 3 * std::cos(a0) + 0.09 / (3 * g * kArm))},
      {"rolling", 1e4, a0, 0, std::acos(10.0 / 17 * std::cos(a0))},
  };
  auto csv = test::open_csv("curved_leaving.csv", "case,stepper,step_s,error_deg");
  for (const Case& c : cases) {
    for (const double h : {2.5e-4, 1e-3, 4e-3, 1.6e-2}) {
      CAPTURE(h);
      for (const LcpStepper stepper : {LcpStepper::exact, LcpStepper::fixed}) {
        World world = ball_on_ball(c.mu, c.angle, c.v, h, stepper);
        const double error = (leaving_angle(world) - c.expected) * 180 / M_PI;
        csv << c.name << ',' << (stepper == LcpStepper::exact ? "exact" : "fixed") << ',' << h << ',' << std::abs(error)
            << '\n';
        if (stepper == LcpStepper::exact) CHECK_WITHIN(error, 0.01);
      }
    }
  }
}

}  // namespace tactus
