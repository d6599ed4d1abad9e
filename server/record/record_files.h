// Files that are written once and never over another.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tactus::record {

// A file that is being written. The first problem stays, and everything after it is dropped.
class OutFile {
 public:
  OutFile() = default;
  explicit OutFile(int descriptor) : descriptor_(descriptor) {}
  ~OutFile();
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;

  // FOLDER/STEM.mcap, or STEM-2.mcap and so on when there is one. Makes the folder. `whole`: what takes this name is
  // complete; until close() it is written as STEM.mcap.part, and stays that when it could not be written to its end.
  void create(const std::string& folder, const std::string& stem, bool whole);
  // This path, which must not be a file yet; a device will do.
  void create(const std::string& path);
  void write(std::string_view bytes);
  // What is written is added to it as it goes, so that others see whether the disk still answers.
  void count_into(std::atomic<std::uint64_t>* total) { total_ = total; }
  void close();
  [[nodiscard]] bool ok() const { return error_.empty(); }
  [[nodiscard]] const std::string& error() const { return error_; }  // names the file and what the system said
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void fail(const std::string& what, int code);
  int descriptor_ = -1;
  std::string path_, part_, error_;  // part_: the name until it is whole; empty: path_ itself
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t>* total_ = nullptr;
};

// Makes the folder where it is missing, and gives why no file can be made in it; empty: one can.
std::string folder_problem(const std::string& folder);

// Since 1970 [ns]; for names and headers of files only.
std::int64_t unix_ns();
// 20261122T134501Z-SCENE-REASON; what does not belong in a name becomes '_'.
std::string file_stem(std::int64_t unix_s, const std::string& scene, const std::string& reason);

}  // namespace tactus::record
