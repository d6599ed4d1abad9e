// A token file that others than its owner can write or replace is refused, one that they can read is warned of, and
// what is no token is named.
#include "proto/cpp/token_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace tactus::wire;
namespace fs = std::filesystem;

namespace {

constexpr const char* kGood = "a token of random text\n";

// A folder that only its owner may write, for as long as this lives.
struct PrivateFolder {
  PrivateFolder() : path(fs::temp_directory_path() / ("tactus_token_" + std::to_string(getpid()))) {
    fs::create_directory(path);
    chmod(path.c_str(), 0700);
  }
  ~PrivateFolder() { fs::remove_all(path); }
  std::string file(const std::string& text, mode_t mode) const {
    const std::string name = (path / "token").string();
    fs::remove(name);
    std::ofstream(name) << text;
    chmod(name.c_str(), mode);
    return name;
  }
  fs::path path;
};

// What is said against it; empty: nothing.
std::string complaint(const std::string& path) {
  try {
    (void)read_token_file("--token-file", path, Reader::server);
  } catch (const TokenFileError& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "token file: the contents without trailing white space, of a file that its owner alone, or his group, reads") {
  const PrivateFolder folder;
  for (const mode_t mode : {0400u, 0600u, 0640u, 0440u}) {
    const Token token = read_token_file("--token-file", folder.file(kGood, mode), Reader::server);
    CHECK(token.text == "a token of random text");
    CHECK(token.warnings.empty());
  }
}

TEST_CASE("token file: a write bit of group or others is refused, a read bit of others is warned of") {
  const PrivateFolder folder;
  for (const mode_t mode : {0620u, 0660u, 0602u, 0666u}) {
    const std::string path = folder.file(kGood, mode);
    CAPTURE(mode);
    CHECK(contains(complaint(path), "chmod go-w " + path));
  }
  const std::string readable = folder.file(kGood, 0604);
  CHECK(complaint(readable).empty());
  const std::vector<std::string> warnings = read_token_file("--token-file", readable, Reader::server).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "chmod o-r " + readable));
}

TEST_CASE("token file: one that belongs to somebody else is warned of, but not the caller's under sudo") {
  if (geteuid() != 0) {
    MESSAGE("skipped: only root can give a file away");
    return;
  }
  const PrivateFolder folder;
  const std::string path = folder.file(kGood, 0600);
  REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
  const std::vector<std::string> warnings = read_token_file("--token-file", path, Reader::server).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "belongs to the user 65534"));
  CHECK(read_token_file("--token-file", path, Reader::client).warnings.empty());  // it may be the service's
  setenv("SUDO_UID", "65534", 1);
  const bool is_silent = read_token_file("--token-file", path, Reader::server).warnings.empty();
  unsetenv("SUDO_UID");
  CHECK(is_silent);
}

TEST_CASE("token file: a folder in which others can put another file is refused, unless it is sticky") {
  const PrivateFolder folder;
  const std::string path = folder.file(kGood, 0600), by_link = (folder.path / "link").string();
  fs::create_symlink(path, by_link);
  chmod(folder.path.c_str(), 0702);
  CHECK(contains(complaint(path), "chmod go-w " + folder.path.string()));
  CHECK(contains(complaint(by_link), "chmod go-w " + folder.path.string()));
  chmod(folder.path.c_str(), 01777);
  CHECK(complaint(path).empty());
  if (geteuid() != 0) return;
  const gid_t not_the_owners = 65533;
  REQUIRE(chown(folder.path.c_str(), geteuid(), not_the_owners) == 0);
  chmod(folder.path.c_str(), 0770);
  CHECK(contains(complaint(path), "chmod go-w"));
  chmod(folder.path.c_str(), 0750);
  CHECK(complaint(path).empty());
}

TEST_CASE("token file: what is no token is named, with what to do") {
  const PrivateFolder folder;
  CHECK(contains(complaint(folder.path.string()), "found a folder"));
  CHECK(contains(complaint(folder.file("", 0600)), "it is empty"));
  CHECK(contains(complaint(folder.file(" \n\n", 0600)), "it is empty"));
  CHECK(contains(complaint(folder.file("fifteen bytes__\n", 0600)), "found a token of 15 bytes"));
  CHECK(contains(complaint(folder.file(std::string(5000, 'x'), 0600)), "more than 4096 bytes"));
  CHECK(contains(complaint((folder.path / "none").string()), "umask 077"));
  CHECK(contains(complaint("/dev/zero"), "found a device"));
  CHECK(complaint((folder.path / "none").string()).starts_with("--token-file: the token file "));
}
