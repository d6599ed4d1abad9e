// Scene files: TOML in, Model out. The only room of core that reads files and throws (InputError: file, line, key, what is expected).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/dynamics/model.h"
#include "core/limits.h"

namespace tactus {

struct SceneOptions {
  std::vector<std::pair<std::string, std::string>> set;  // --set key=value: overrides a [parameters] entry of the scene
  std::uint64_t seed = 0;                                // 0: the scene's own
  Limits limits;
};

// Reads, checks and builds. The schema is config/README.md. Throws InputError.
std::unique_ptr<Model> load_scene(const std::string& path, const SceneOptions& options);
// The same from text; name stands for the file in messages.
std::unique_ptr<Model> parse_scene(const std::string& text, const std::string& name, const SceneOptions& options);

}  // namespace tactus
