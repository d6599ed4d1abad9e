#include "proto/cpp/token_file.h"

#ifndef _WIN32
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#endif

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tactus::wire {
namespace {

void require(bool true_of_file, const std::string& text) {
  if (!true_of_file) throw TokenFileError(text);
}

constexpr std::size_t kTokenLeast = 16, kTokenMost = 4096;

std::string how_to_make(const std::string& path) {
  return "; for example: (umask 077; head -c 24 /dev/urandom | base64 > " + path + ")";
}

// What is no token, whatever the file's rights.
std::string checked(const std::string& said, const std::string& path, std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n\v\f") + 1);
  require(!text.empty(), said + "it is empty, expected a token of at least 16 bytes" + how_to_make(path));
  require(text.size() >= kTokenLeast, said + "found a token of " + std::to_string(text.size()) +
                                          " bytes, expected at least 16" + how_to_make(path));
  return text;
}

#ifndef _WIN32

// Closed when it goes.
struct OpenFile {
  explicit OpenFile(const std::string& path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {}
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd;
};

std::string mode_of(const struct stat& s) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%03o", static_cast<unsigned>(s.st_mode & 0777));
  return text.data();
}

// Of a user alone: each has one where files are made writable by groups.
bool is_own_group(const struct stat& s) {
  const passwd* owner = getpwuid(s.st_uid);
  if (owner == nullptr || owner->pw_gid != s.st_gid) return false;
  const std::string name = owner->pw_name;
  const group* g = getgrgid(s.st_gid);
  if (g == nullptr) return false;
  for (char** member = g->gr_mem; member != nullptr && *member != nullptr; ++member) {
    if (name != *member) return false;
  }
  return true;
}

// Whoever may write the folder may put another file in the place of this one. A sticky folder (/tmp) keeps that to the
// owners.
void check_folder(const std::string& said, const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  struct stat s {};
  if (error || !real.has_parent_path() || stat(real.parent_path().c_str(), &s) != 0) return;  // no name: a pipe
  const std::string folder = real.parent_path().string();
  const bool by_group = (s.st_mode & S_IWGRP) != 0 && !is_own_group(s), by_all = (s.st_mode & S_IWOTH) != 0;
  require((!by_group && !by_all) || (s.st_mode & S_ISVTX) != 0,
          said + "others can put another file in its place, since they may write the folder " + folder + " (mode " +
              mode_of(s) + "): chmod go-w " + folder + ", or keep the file elsewhere");
}

// Root, the server's user, and who called sudo: whoever set that variable started the server.
bool is_trusted(uid_t owner) {
  const char* caller = std::getenv("SUDO_UID");
  return owner == 0 || owner == geteuid() || (caller != nullptr && std::to_string(owner) == caller);
}

std::string read_all(const std::string& said, int fd) {
  std::string text;
  std::array<char, 1024> piece{};
  for (;;) {
    const ssize_t n = read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    require(n >= 0, said + "cannot be read: " + std::strerror(errno));
    if (n == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(n));
    require(text.size() <= kTokenMost, said + "found more than " + std::to_string(kTokenMost) +
                                           " bytes, expected a token: one line of random text");
  }
}

#endif

}  // namespace

#ifdef _WIN32

// Rights there are lists of their own: what the file holds is checked alone.
Token read_token_file(const std::string& name, const std::string& path, [[maybe_unused]] Reader reader) {
  const std::string said = name + ": the token file " + path + ": ";
  require(!std::filesystem::is_directory(path), said + "found a folder, expected a file");
  std::ifstream file(path, std::ios::binary);
  require(file.good(), said + std::strerror(errno));
  return {checked(said, path, {std::istreambuf_iterator<char>(file), {}}), {}};
}

#else

Token read_token_file(const std::string& name, const std::string& path, Reader reader) {
  const std::string said = name + ": the token file " + path + ": ";
  const OpenFile file(path);
  require(file.fd >= 0, said + std::strerror(errno) + (errno == ENOENT ? how_to_make(path) : std::string()));
  struct stat s {};
  require(fstat(file.fd, &s) == 0, said + std::strerror(errno));
  require(!S_ISDIR(s.st_mode), said + "found a folder, expected a file" + how_to_make(path + "/token"));
  require(S_ISREG(s.st_mode) || S_ISFIFO(s.st_mode), said + "found a device, expected a file");
  const bool is_file = S_ISREG(s.st_mode);
  require(!is_file || (s.st_mode & (S_IWGRP | S_IWOTH)) == 0,
          said + "others than its owner can write it (mode " + mode_of(s) +
              "), and so set a token of their own: chmod go-w " + path);
  if (is_file) check_folder(said, path);
  Token token;
  token.text = checked(said, path, read_all(said, file.fd));
  if (is_file && (s.st_mode & S_IROTH) != 0)
    token.warnings.push_back(said + "every user of this machine can read it (mode " + mode_of(s) + "): chmod o-r " +
                             path);
  if (is_file && reader == Reader::server && !is_trusted(s.st_uid))
    token.warnings.push_back(said + "it belongs to the user " + std::to_string(s.st_uid) +
                             ", who can set another token: chown it to root or to the server's user");
  return token;
}

#endif

}  // namespace tactus::wire
