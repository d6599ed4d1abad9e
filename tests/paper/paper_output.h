// Where the paper tests leave their curves: $TACTUS_OUT, or paper/ in the build tree. plot.py draws them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tactus::test {

inline std::ofstream open_csv(const std::string& name, const std::string& header) {
  const char* out = std::getenv("TACTUS_OUT");
  const std::filesystem::path folder =
      out ? std::filesystem::path(out) : std::filesystem::path(TACTUS_BUILD_DIR) / "paper";
  std::filesystem::create_directories(folder);
  std::ofstream file(folder / name);
  file.precision(9);
  file << header << '\n';
  return file;
}

}  // namespace tactus::test
