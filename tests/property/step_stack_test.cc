// Stacks of cubes under Stewart-Trinkle stand as if glued by their weight alone.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/scenes.h"

namespace tactus {

TEST_CASE("st: stacks of 5, 10 and 20 cubes, aligned and jittered, stand for 10 s") {
  for (const int n : {5, 10, 20}) {
    for (const bool jitter : {false, true}) {
      CAPTURE(n);
      CAPTURE(jitter);
      test::Scene scene = test::stack(n, jitter);
      scene.model->contact_model = ContactModelKind::st;
      scene.model->step = 1e-2;
      World world = scene.world();
      double depth = 0, residual = 0;
      std::uint32_t failures = 0, fallbacks = 0;
      for (int i = 0; i < 1000; ++i) {
        const StepReport report = world.step();
        depth = std::max(depth, report.depth_max);
        residual = std::max(residual, report.solver_residual);
        failures += report.solver_failures;
        fallbacks += report.solver_fallbacks;
      }
      CHECK(depth < 1e-4);
      CHECK(failures == 0);
      CHECK(fallbacks == 0);
      CHECK(residual <= 1e-9);
      CHECK(kinetic_energy(world.model(), world.state()) < 1e-12);
      CHECK(std::abs(world.state().p_WBcm(static_cast<BodyIndex>(n)).z() - (n - 0.5)) < 1e-4);
    }
  }
}

}  // namespace tactus
