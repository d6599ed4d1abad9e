// The text of a scene: refused with InputError, or a sound model that a world can step. No other exception, no crash,
// no endless loop.
#include <cmath>
#include <cstdlib>
#include <string>

#include "core/check.h"
#include "core/scene/scene.h"
#include "core/world.h"

using namespace tactus;

namespace {

Limits small_limits() {
  Limits limits;
  limits.bodies = 32;
  limits.shapes = 64;
  limits.pairs = 128;
  limits.hull_vertices = 64;
  return limits;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  SceneOptions options;
  options.limits = small_limits();
  std::unique_ptr<Model> model;
  try {
    model = parse_scene(std::string(reinterpret_cast<const char*>(data), size), "fuzz.toml", options);
  } catch (const InputError& error) {
    // Every refusal names the file.
    if (std::string(error.what()).find("fuzz.toml") == std::string::npos) {
      std::fprintf(stderr, "a refusal without the file's name: %s\n", error.what());
      std::abort();
    }
    return 0;
  }
  if (model == nullptr || !std::isfinite(model->step) || model->step <= 0) std::abort();
  World world(std::move(model), small_limits());
  for (int i = 0; i < 4; ++i) world.step();
  return 0;
}
