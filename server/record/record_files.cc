#include "server/record/record_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tactus::record {
namespace {

constexpr int kNamesTried = 1000;
constexpr std::size_t kPiece = 1u << 16;  // written at once, so that a slow disk is seen to go on

std::string clean(const std::string& text) {
  std::string out = text.substr(0, 64);
  for (char& c : out) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') c = '_';
  }
  return out.empty() ? "_" : out;
}

}  // namespace

OutFile::~OutFile() {
  close();
}

void OutFile::fail(const std::string& what, int code) {
  if (!error_.empty()) return;
  error_ = path_ + ": " + what + ": " + std::strerror(code);
}

void OutFile::create(const std::string& folder, const std::string& stem, bool whole) {
  std::error_code problem;
  path_ = folder;
  std::filesystem::create_directories(folder, problem);
  if (problem) return fail("the folder cannot be made", problem.value());
  for (int i = 1; i <= kNamesTried && descriptor_ < 0; ++i) {
    path_ = folder + "/" + stem;
    if (i > 1) path_.append("-").append(std::to_string(i));
    path_ += ".mcap";
    part_ = whole ? path_ + ".part" : std::string();
    if (whole && access(path_.c_str(), F_OK) == 0) continue;
    descriptor_ = open((whole ? part_ : path_).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ >= 0) return;
  part_.clear();
  fail("cannot be made", errno);
}

void OutFile::create(const std::string& path) {
  path_ = path;
  std::error_code ignored;
  const bool pipe = std::filesystem::is_fifo(path, ignored);
  const bool device = pipe || std::filesystem::is_character_file(path, ignored);
  const int no_wait = pipe ? O_NONBLOCK : 0;  // else it would be opened when somebody comes to read
  descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC | no_wait | (device ? 0 : O_CREAT | O_EXCL), 0644);
  if (descriptor_ < 0 && pipe && errno == ENXIO) {
    error_ = path_ + ": is a pipe that nobody reads";
  } else if (descriptor_ < 0) {
    fail(errno == EEXIST ? "is there already, and is not written over" : "cannot be made", errno);
  } else if (pipe && fcntl(descriptor_, F_SETFL, O_WRONLY) != 0) {
    fail("cannot be made", errno);
  }
}

void OutFile::write(std::string_view bytes) {
  while (ok() && !bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kPiece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail("stopped after " + std::to_string(bytes_) + " bytes, which can be read", errno);
    bytes_ += static_cast<std::uint64_t>(n);
    if (total_ != nullptr) *total_ += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void OutFile::close() {
  if (descriptor_ >= 0 && ::close(descriptor_) != 0 && errno != EINTR) fail("cannot be closed", errno);
  descriptor_ = -1;
  if (part_.empty()) return;
  const std::string part = std::exchange(part_, {});
  if (!ok()) {
    path_ = part;  // where what was written stands
    return;
  }
  // Unlike rename() link() never takes a name that is in use; file systems without links get the former.
  if (link(part.c_str(), path_.c_str()) == 0) {
    unlink(part.c_str());
  } else if (errno == EEXIST || rename(part.c_str(), path_.c_str()) != 0) {
    fail("its last name cannot be given to " + part, errno);
    path_ = part;
  }
}

std::string folder_problem(const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return folder + ": the folder cannot be made: " + problem.message();
  if (access(folder.c_str(), W_OK | X_OK) != 0) return folder + ": " + std::strerror(errno);
  return "";
}

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string file_stem(std::int64_t unix_s, const std::string& scene, const std::string& reason) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return std::string(text) + "-" + clean(scene) + "-" + clean(reason);
}

}  // namespace tactus::record
