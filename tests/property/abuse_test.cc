// Whatever clients ask of it, a world stays a world: no shipped scene under any model aborts, hangs, or holds a number
// that is not finite. A few runs of tests/soak/abuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/scene/scene.h"
#include "tests/soak/abuse_runs/abuse.h"

TEST_CASE("abuse: every shipped scene stays finite under pushes, restored states, parameters and models at the ends") {
  using namespace tactus;
  std::vector<std::filesystem::path> scenes;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TACTUS_SOURCE_DIR) + "/config/scenes"))
    if (entry.path().extension() == ".toml") scenes.push_back(entry.path());
  std::sort(scenes.begin(), scenes.end());
  REQUIRE(scenes.size() > 20);
  SceneOptions options;
  options.limits = test::abuse_limits();
  const std::vector<std::string>& variants = test::abuse_variants();
  std::uint32_t frozen = 0, bounded = 0, restored = 0, refused = 0;
  for (std::size_t s = 0; s < scenes.size(); ++s) {
    const std::shared_ptr<const Model> model = load_scene(scenes[s].string(), options);
    for (std::size_t k = 0; k < 3; ++k) {  // other models for the next scene
      const std::string& variant = variants[(3 * s + k) % variants.size()];
      CAPTURE(scenes[s].stem().string() + ", " + variant);
      const test::AbuseResult result = test::abuse(model, {variant, 1 + 100 * s + k, 30});
      CHECK(result.fault == std::string());
      frozen += result.frozen, bounded += result.bounded;
      restored += result.restored, refused += result.refused;
    }
  }
  // The runs reach what they are for.
  CHECK(bounded > 0);
  CHECK(restored > 20);
  CHECK(refused > 20);
  MESSAGE(frozen << " bodies frozen, " << bounded << " speeds bounded");
}
