// Stacks of cubes under Stewart-Trinkle and under the acceleration model stand as if glued by their weight alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/support/scenes.h"
#include "tests/support/share.h"

namespace tactus {
namespace {

struct Stood {
  double depth = 0, residual = 0, energy = 0, top = 0;
  std::uint32_t failures = 0, fallbacks = 0, inconsistent = 0;
};

constexpr int kSeconds = test::share(10, 4);

Stood stand(ContactModelKind kind, int n, bool jitter, double h) {
  test::Scene scene = test::stack(n, jitter);
  scene.model->contact_model = kind;
  scene.model->step = h;
  World world = scene.world();
  Stood out;
  for (int i = 0; i * h < kSeconds; ++i) {
    const StepReport report = world.step();
    out.depth = std::max(out.depth, report.depth_max);
    out.residual = std::max(out.residual, report.solver_residual);
    out.failures += report.solver_failures;
    out.fallbacks += report.solver_fallbacks;
    out.inconsistent += report.inconsistent;
  }
  out.energy = kinetic_energy(world.model(), world.state());
  out.top = world.state().p_WBcm(static_cast<BodyIndex>(n)).z();
  return out;
}

}  // namespace

TEST_CASE("st, lcp: stacks of 5, 10 and 20 cubes, aligned and jittered, stand for 10 s") {
  for (const ContactModelKind kind : {ContactModelKind::st, ContactModelKind::lcp}) {
    for (const int n : {5, 10, 20}) {
      for (const bool jitter : {false, true}) {
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(n);
        CAPTURE(jitter);
        const Stood s = stand(kind, n, jitter, kind == ContactModelKind::st ? 1e-2 : 1e-3);
        CHECK(s.depth < 1e-4);
        CHECK(s.failures == 0);
        CHECK(s.inconsistent == 0);
        CHECK(s.residual <= 1e-9);
        CHECK(s.energy < 1e-12);
        CHECK(std::abs(s.top - (n - 0.5)) < 1e-4);
        CHECK(s.fallbacks == 0);
      }
    }
  }
}

// The springs of lcp's drift once fed each other at long steps: rounding grew by a fifth a step until contacts slid.
TEST_CASE(
    "lcp: jittered stacks stand at 250 and 100 Hz, too, solved at the first attempt, and overlap stays rounding") {
  for (const double h : {4e-3, 1e-2}) {
    for (const int n : {5, 10, 20, 40}) {
      CAPTURE(h);
      CAPTURE(n);
      const Stood s = stand(ContactModelKind::lcp, n, true, h);
      CHECK(s.failures == 0);
      CHECK(s.fallbacks == 0);
      CHECK(s.inconsistent == 0);
      CHECK(s.residual <= 1e-9);
      CHECK(s.depth < 1e-10);
      CHECK(s.energy < 1e-16);
    }
  }
}

// Springs know nothing of each other, so overlap within a stack leaves by way of its ends, as in diffusion.
TEST_CASE("lcp: overlaps of a stack are worked off together at 100 Hz, and what is left of them falls") {
  for (const double depth : {1e-6, 1e-4, 5e-3}) {
    for (const int n : {2, 5, 10}) {
      CAPTURE(depth);
      CAPTURE(n);
      test::Scene scene = test::stack(n, true);
      for (BodyIndex b = 1; b <= static_cast<BodyIndex>(n); ++b) scene.model->X_WB0[b].p.z() -= depth * b;
      scene.model->contact_model = ContactModelKind::lcp;
      scene.model->step = 1e-2;
      World world = scene.world();
      double most = 0, last = 0;
      std::uint32_t failures = 0;
      for (int i = 0; i < 2000; ++i) {
        const StepReport report = world.step();
        failures += report.solver_failures;
        last = report.depth_max, most = std::max(most, last);
      }
      CHECK(failures == 0);
      CHECK(most < 2 * depth);
      CHECK(last < 0.05 * depth);
    }
  }
}

}  // namespace tactus
