// Damaged scene files: whatever the damage, the loader accepts a sound model or throws InputError; it never crashes,
// hangs or lets a non-finite number through.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/check.h"
#include "core/scene/random.h"
#include "core/scene/scene.h"

using namespace tactus;

namespace {

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::size_t pick(SceneRandom& random, std::size_t n) {
  return static_cast<std::size_t>(random.next() % n);
}

std::string damaged(std::string text, SceneRandom& random) {
  static const std::string kBits[] = {
      "0",    "-1", "1e400", "1e308", "-1e-320", "nan",  "inf",    "9223372036854775807", "\"x\"",
      "true", "[]", "{}",    "[[",    "\"",      "\x80", "\"$n\"", "0x7fffffff"};
  for (std::size_t k = 1 + pick(random, 3); k > 0 && !text.empty(); --k) {
    const std::size_t at = pick(random, text.size());
    switch (pick(random, 4)) {
      case 0:
        text.erase(at, 1 + pick(random, 20));
        break;
      case 1:
        text.insert(at, text.substr(pick(random, text.size()), pick(random, 60)));
        break;
      case 2:
        text[at] = static_cast<char>(random.next());
        break;
      default: {  // another value for some key
        const std::size_t equals = text.find("= ", at);
        if (equals == std::string::npos) break;
        const std::size_t end = text.find('\n', equals);
        text.replace(equals + 2, end - equals - 2, kBits[pick(random, std::size(kBits))]);
      }
    }
  }
  return text;
}

bool sound(const Model& model) {
  for (const Body& b : model.bodies) {
    if (!b.I_BBcm.allFinite() || !b.inv_I_BBcm.allFinite() || !b.p_BBcm.allFinite()) return false;
    if (b.mode == BodyMode::free && !(b.mass > 0 && std::isfinite(b.inv_mass) && b.inv_mass > 0)) return false;
  }
  for (const Pose& X : model.X_WB0)
    if (!X.p.allFinite() || !(std::abs(X.q.norm() - 1) < 1e-9)) return false;
  return model.bodies.size() == model.X_WB0.size() && model.step > 0;
}

}  // namespace

TEST_CASE("damaged scenes are refused by name or are sound") {
  SceneOptions few;
  few.limits.bodies = 100;
  few.limits.shapes = 200;
  int accepted = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TACTUS_SOURCE_DIR) + "/config/scenes")) {
    const std::string good = read(entry.path());
    SceneRandom random(11, good.size());
    for (int i = 0; i < 1500; ++i) {
      const std::string text = damaged(good, random);
      try {
        const SceneRun run = parse_scene_run(text, "damaged.toml", few);
        ++accepted;
        CHECK_MESSAGE(sound(*run.model), text);
      } catch (const InputError& e) {
        ++refused;
        CHECK_MESSAGE(std::string(e.what()).find("damaged.toml") == 0, e.what());
      }
    }
  }
  CHECK(accepted > 500);
  CHECK(refused > 5000);
}
