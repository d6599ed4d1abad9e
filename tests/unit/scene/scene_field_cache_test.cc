// The cache of distance fields: used when good, built again and said so when not, never in the way.
#include "core/scene/field_cache.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/shape/mesh/mesh_build.h"
#include "tests/unit/shape/mesh_samples.h"

namespace tactus {
namespace {

namespace fs = std::filesystem;

const FieldOptions kOptions{5e-3, 8, 64U << 20U};

struct Folder {
  fs::path path = fs::temp_directory_path() / ("tactus_cache_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path); }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  [[nodiscard]] FieldCacheOptions options(unsigned threads = 1) const { return {path.string(), threads, false}; }
  [[nodiscard]] fs::path file() const {
    for (const auto& entry : fs::directory_iterator(path)) return entry.path();
    return {};
  }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

// A slow machine is told how long a build took; that is not what these tests are about.
std::shared_ptr<const DistanceField> get(const TriangleMesh& mesh, const FieldCacheOptions& cache,
                                         std::vector<std::string>& notes) {
  auto field = cached_field(mesh, kOptions, "m", cache, notes);
  std::erase_if(notes, [](const std::string& note) { return note.find(" built in ") != std::string::npos; });
  return field;
}

TriangleMesh sample(double radius = 0.2) {
  return finish_mesh(mesh_test::torus(0.5, radius, 18, 9));
}

std::vector<std::byte> read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}
void write(const fs::path& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

TEST_CASE("field cache: the bytes do not depend on the number of threads") {
  const TriangleMesh mesh = sample();
  std::vector<std::string> notes;
  const auto one = field_bytes(*get(mesh, {"", 1, false}, notes));
  for (const unsigned threads : {2u, 3u, 8u}) CHECK(field_bytes(*get(mesh, {"", threads, false}, notes)) == one);
  CHECK(notes.empty());
}

TEST_CASE("field cache: what was kept is found again, and is what is read") {
  const Folder folder;
  const TriangleMesh mesh = sample();
  std::vector<std::string> notes;
  const auto built = get(mesh, folder.options(), notes);
  REQUIRE(folder.count() == 1);
  CHECK(folder.file().filename().string() == field_key(mesh, kOptions) + ".field");
  // A field with one leaf moved by a hair, under its own good checksum: only a reader would return it.
  DistanceField other = *built;
  REQUIRE(!other.linear.empty());
  other.linear[0].corner[0] += 1e-5F;
  write(folder.file(), cache_file_bytes(field_key(mesh, kOptions), other));
  const auto found = get(mesh, folder.options(), notes);
  CHECK(field_bytes(*found) == field_bytes(other));
  CHECK(notes.empty());
}

TEST_CASE("field cache: another mesh, tolerance or depth has another key") {
  const std::string key = field_key(sample(), kOptions);
  CHECK(key.size() == 32);
  CHECK(field_key(sample(), kOptions) == key);
  CHECK(field_key(sample(0.2000001), kOptions) != key);
  CHECK(field_key(sample(), {6e-3, 8, 64U << 20U}) != key);
  CHECK(field_key(sample(), {5e-3, 9, 64U << 20U}) != key);
}

TEST_CASE("field cache: a damaged file is built again and said so, wherever the damage is") {
  const Folder folder;
  const TriangleMesh mesh = sample();
  std::vector<std::string> notes;
  const auto good_bytes = field_bytes(*get(mesh, folder.options(), notes));
  const auto file = read(folder.file());
  std::vector<std::vector<std::byte>> damaged;
  for (const std::size_t at : {0ul, 8ul, 20ul, 48ul, 56ul, 64ul, file.size() / 2, file.size() - 1}) {
    damaged.push_back(file);
    damaged.back()[at] ^= std::byte{0x10};
  }
  for (const std::size_t length : {0ul, 10ul, 64ul, file.size() - 1})
    damaged.emplace_back(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
  damaged.push_back(file);
  damaged.back().push_back(std::byte{0});
  for (const auto& bytes : damaged) {
    write(folder.file(), bytes);
    notes.clear();
    const auto field = get(mesh, folder.options(), notes);
    CHECK(field_bytes(*field) == good_bytes);
    REQUIRE(notes.size() == 1);
    CHECK_MESSAGE(notes[0].find("m: the distance field kept in " + folder.file().string() + " was damaged (") == 0,
                  notes[0]);
    CHECK(read(folder.file()) == file);  // and kept again
  }
}

TEST_CASE("field cache: a field in good order that is not this mesh's is not believed") {
  const Folder folder;
  // The same torus with its triangles in another order: everything in the file fits, but for what it says.
  MeshSoup backwards = mesh_test::torus(0.5, 0.2, 18, 9);
  std::reverse(backwards.triangles.begin(), backwards.triangles.end());
  const TriangleMesh mesh = sample();
  std::vector<std::string> notes;
  const auto wrong = get(finish_mesh(backwards), {"", 1, false}, notes);
  fs::create_directories(folder.path);
  write(folder.path / (field_key(mesh, kOptions) + ".field"), cache_file_bytes(field_key(mesh, kOptions), *wrong));
  const auto field = get(mesh, folder.options(), notes);
  REQUIRE(notes.size() == 1);
  CHECK_MESSAGE(notes[0].find("its distances are not this mesh's") != std::string::npos, notes[0]);
  CHECK(field_bytes(*field) == field_bytes(*get(mesh, {"", 1, false}, notes)));
}

TEST_CASE("field cache: a directory that cannot be written is a note, not an error") {
  const Folder folder;
  std::ofstream(folder.path.string()) << "a file where a directory should be";
  std::vector<std::string> notes;
  const auto field = get(sample(), folder.options(), notes);
  CHECK(field->triangle_count == 324);
  REQUIRE(notes.size() == 1);
  CHECK_MESSAGE(notes[0].find("m: the distance field could not be kept in " + folder.path.string()) == 0, notes[0]);
}

TEST_CASE("field cache: no half-written file stays behind") {
  const Folder folder;
  std::vector<std::string> notes;
  for (int i = 0; i < 3; ++i) get(sample(), folder.options(), notes);
  CHECK(folder.count() == 1);
}

TEST_CASE("field cache: the directory is TACTUS_CACHE, then XDG_CACHE_HOME, then the home") {
  const auto with = [](const char* own, const char* xdg, const char* home) {
    const auto put = [](const char* name, const char* value) {
      if (value)
        ::setenv(name, value, 1);
      else
        ::unsetenv(name);
    };
    put("TACTUS_CACHE", own);
    put("XDG_CACHE_HOME", xdg);
    put("HOME", home);
    return cache_directory();
  };
  const char* names[] = {"TACTUS_CACHE", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::pair<bool, std::string>> before;
  for (const char* name : names)
    before.emplace_back(std::getenv(name) != nullptr, std::getenv(name) ? std::getenv(name) : "");
  CHECK(with("/a", "/b", "/c") == "/a");
  CHECK(with("", "/b", "/c") == "");
  CHECK(with(nullptr, "/b", "/c") == "/b/tactus");
  CHECK(with(nullptr, nullptr, "/c") == "/c/.cache/tactus");
  CHECK(with(nullptr, nullptr, nullptr) == "");
  for (std::size_t i = 0; i < 3; ++i)
    before[i].first ? ::setenv(names[i], before[i].second.c_str(), 1) : ::unsetenv(names[i]);
}

}  // namespace
}  // namespace tactus
