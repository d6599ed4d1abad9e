// Tables of a recording, for other programs.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "record.pb.h"

namespace tactus::cli {

// One row per state and body, with what was commanded in that tick, which may stand before or after it in the file: all
// records go to first_pass(), then all of them to second_pass(). Throws client::Error when it cannot be written.
class CsvTable {
 public:
  explicit CsvTable(const std::string& path);
  void first_pass(const v1::Record& record);
  void second_pass(const v1::RecordHeader& header, const v1::Record& record);
  void finish();

 private:
  std::ofstream file_;
  std::string path_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::array<double, 6>> applied_;
};

}  // namespace tactus::cli
