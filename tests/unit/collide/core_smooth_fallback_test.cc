// Where Newton's method finds no extremal points: the pair has an answer by its supports, it is counted, and the world
// goes on.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>

#include "core/collide/smooth/extremal_points.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_shapes.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

// A pose of b beside a, deep in it, whose search from nothing falls back.
std::optional<Pose> falls_back(const Shape& a, const Shape& b, Random& rng) {
  for (int i = 0; i < 5000; ++i) {
    const Pose X{rng.rotation(), rng.in_cube(0.25)};
    const ExtremalPair pair = test::from_nothing(a, {}, b, {X.q.toRotationMatrix(), X.p});
    if (pair.status == ExtremalStatus::fallen_back && pair.d < 0) return X;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("fallbacks: a pair that Newton does not solve is counted, and time goes on under each model and stepper") {
  test::OwnedShapes owned;
  const Shape torus = owned.add(make_torus(0.3, 0.1)), box = make_box({0.3, 0.2, 0.1});
  Random rng(62);
  struct Way {
    ContactModelKind kind;
    LcpStepper stepper;
  };
  for (const Way way : {Way{ContactModelKind::penalty, LcpStepper::fixed},
                        Way{ContactModelKind::lcp, LcpStepper::fixed}, Way{ContactModelKind::lcp, LcpStepper::exact},
                        Way{ContactModelKind::st, LcpStepper::fixed}, Way{ContactModelKind::ap, LcpStepper::fixed},
                        Way{ContactModelKind::lnc, LcpStepper::fixed}, Way{ContactModelKind::peg, LcpStepper::fixed}}) {
    INFO(std::string(to_string(way.kind)) << std::string(way.stepper == LcpStepper::exact ? ", exact" : ""));
    const std::optional<Pose> X = falls_back(torus, box, rng);
    REQUIRE(X.has_value());
    Scene scene(0.3);
    scene.set_gravity(Vec3::Zero());
    scene.model->contact_model = way.kind;
    scene.model->parameters.lcp_stepper = way.stepper;
    scene.add(torus, 2, {});
    scene.add(box, 1, *X);
    World world = scene.world();
    std::uint64_t fallbacks = 0, allocated = 0;
    for (int i = 0; i < 200; ++i) {
      const double before = world.state().time;
      const test::AllocGuard guard;
      const StepReport report = world.step();
      allocated += guard.count();
      fallbacks += report.witnesses.fallbacks;
      if (i == 0) CHECK(report.witnesses.fallbacks >= 1);
      CHECK(report.witnesses.unknown == 0);
      CHECK(report.bodies_frozen == 0);
      CHECK(report.exact.exhausted == 0);
      CHECK(world.state().time == doctest::Approx(before + world.h()).epsilon(1e-14));
      for (const BodyIndex b : {BodyIndex{0}, BodyIndex{1}}) {
        REQUIRE(world.state().p_WBcm(b).allFinite());
        REQUIRE(world.state().v_WBcm(b).allFinite());
      }
    }
    MESSAGE(std::string(to_string(way.kind)) << ": " << fallbacks << " fallbacks in 200 steps");
    CHECK(allocated == 0);
    CHECK(world.state().witnesses.fallbacks == fallbacks);
  }
}

}  // namespace tactus
