// Where the paper tests leave their curves and the rows of their table: $TACTUS_OUT, or tests/out/ (which git ignores).
// plot.py draws the curves.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace tactus::test {

inline std::filesystem::path output_folder() {
  const char* out = std::getenv("TACTUS_OUT");
  const std::filesystem::path folder =
      out ? std::filesystem::path(out) : std::filesystem::path(TACTUS_SOURCE_DIR) / "tests" / "out";
  std::filesystem::create_directories(folder);
  return folder;
}

inline std::ofstream open_csv(const std::string& name, const std::string& header) {
  std::ofstream file(output_folder() / name);
  file.precision(9);
  file << header << '\n';
  return file;
}

// Two digits: what the papers print.
inline std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x != 0 && (std::abs(x) < 1e-2 || std::abs(x) >= 1e4) ? "%.1e" : "%.2g", x);
  return text;
}

// One row of paper_table.md. Tests run in programs of their own, in any order: each leaves its row in rows/ and writes
// the table anew from all rows there are, one program at a time.
inline void table_row(const std::string& key, const std::string& what, const std::string& paper,
                      const std::string& paper_gains, const std::string& by_default) {
  namespace fs = std::filesystem;
  const fs::path folder = output_folder(), rows = folder / "rows";
  const int lock = ::open((folder / ".table.lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (lock >= 0) ::flock(lock, LOCK_EX);
  fs::create_directories(rows);
  std::ofstream(rows / key) << "| " << what << " | " << paper << " | " << paper_gains << " | " << by_default << " |\n";
  std::map<std::string, std::string> lines{
      {"b4_lcp", "| IV-B: mean penetration, LCP with drift correction [m] | 1.5e-4 | comes with model `lcp` | |\n"},
      {"d1_mobile", "| IV-D: mobile robot, 2,500 steps: LCP / penalty [s] | 76.7 / 31.0 | comes with joints | |\n"},
      {"d2_humanoid", "| IV-D: humanoid, 2,500 steps: LCP / penalty [s] | 566.9 / 81.4 | comes with joints | |\n"}};
  for (const auto& entry : fs::directory_iterator(rows)) {
    std::ifstream file(entry.path());
    std::getline(file, lines[entry.path().filename().string()]);
    lines[entry.path().filename().string()] += '\n';
  }
  std::ofstream table(folder / "paper_table.md");
  table << "| | paper | ours, the paper's gains | ours by default |\n|---|---|---|---|\n";
  for (const auto& [ignored, line] : lines) table << line;
  table.close();
  if (lock >= 0) ::close(lock);
}

}  // namespace tactus::test
