#include "core/scene/field_cache.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "core/check.h"
#include "core/scene/random.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::array<char, 8> kMagic{'T', 'A', 'C', 'T', 'U', 'S', 'D', 'F'};
// Raised when the building of fields changes: what older programs kept is then not found.
constexpr std::uint32_t kCacheVersion = 1;

struct Header {
  std::array<char, 8> magic{};
  std::uint32_t version = 0, reserved = 0;
  std::array<char, 32> key{};
  std::uint64_t length = 0, checksum = 0;  // of what follows
};
static_assert(sizeof(Header) == 64);

// A running 64-bit hash (the mixer of SplitMix64). Against accidents, not against malice: what is read is checked.
class Hash {
 public:
  explicit Hash(std::uint64_t seed) noexcept : state_(seed) {}
  void add(const void* data, std::size_t size) noexcept {
    const auto* bytes = static_cast<const char*>(data);
    for (std::size_t i = 0; i < size; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + i, std::min<std::size_t>(8, size - i));
      mix(word);
    }
    mix(size);
  }
  template <class T>
  void add(const T& value) noexcept {
    add(&value, sizeof value);
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

 private:
  void mix(std::uint64_t word) noexcept {
    std::uint64_t z = (state_ ^ word) + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    state_ = z ^ (z >> 31);
  }
  std::uint64_t state_;
};

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept {
  Hash hash(3);
  hash.add(bytes.data(), bytes.size());
  return hash.value();
}

// Points near the surface and anywhere in the box, asked of the field and of the triangles. A field of another mesh, or
// of another program's idea of a field, does not pass even when its bytes are in order.
bool agrees(const DistanceField& field, const TriangleMesh& mesh) {
  SceneRandom random(1, mesh.triangles.size());
  const Vec3 size = mesh.hi - mesh.lo;
  const double reach = 0.02 * size.norm();
  for (int i = 0; i < 256; ++i) {
    Vec3 p;
    if (i % 2 == 0) {
      const auto t = static_cast<std::size_t>(random.unit() * static_cast<double>(mesh.triangles.size()));
      const auto& [a, b, c] = mesh.triangles[t];
      p = (mesh.vertices[a] + mesh.vertices[b] + mesh.vertices[c]) / 3 +
          random.uniform(-reach, reach) * mesh.normals[t];
    } else {
      const double x = random.unit(), y = random.unit(), z = random.unit();
      p = mesh.lo + size.cwiseProduct(Vec3(x, y, z));
    }
    const double exact = closest_on_mesh(mesh, p).distance;
    const double allowed = 2 * (field.tolerance + DistanceField::kGrowth * std::abs(exact));
    if (!(std::abs(field_distance(field, mesh, p) - exact) <= allowed)) return false;
  }
  return true;
}

// Runs body(data, i) for i < count on threads of its own.
struct Jobs {
  unsigned threads = 1;
  static void run(void* context, std::size_t count, void (*body)(void*, std::size_t), void* data) {
    const auto& self = *static_cast<Jobs*>(context);
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < count; i = next++) body(data, i);
    };
    std::vector<std::thread> helpers;
    try {
      for (unsigned i = 1; i < std::min<std::size_t>(self.threads, count); ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // Fewer threads, then: this one does the work.
    }
    work();
    for (std::thread& helper : helpers) helper.join();
  }
};

struct Builder {
  Jobs jobs;  // first, so that one context serves both calls
  const std::string* name = nullptr;
  bool bar = false, drawn = false;
  Clock::time_point start = Clock::now();

  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
  static void run(void* context, std::size_t count, void (*body)(void*, std::size_t), void* data) {
    Jobs::run(&static_cast<Builder*>(context)->jobs, count, body, data);
  }
  static bool progress(void* context, int done, int most) {
    auto& self = *static_cast<Builder*>(context);
    if (!self.bar || self.seconds() < 1) return true;
    const int filled = 30 * done / std::max(1, most);
    std::fprintf(stderr, "\r%s: distance field [%.*s%.*s] level %d of at most %d, %.0f s ", self.name->c_str(), filled,
                 "##############################", 30 - filled, "..............................", done, most,
                 self.seconds());
    std::fflush(stderr);
    self.drawn = true;
    return true;
  }
  void clear() const {
    if (drawn) std::fprintf(stderr, "\r\033[K");
  }
};

// False when there is no such file; error says what is wrong with one that is there.
bool read_cache(const fs::path& path, const std::string& key, const TriangleMesh& mesh, std::size_t bytes_max,
                DistanceField& out, std::string& error) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  if (failed) return false;
  if (size > bytes_max + (16U << 20U)) {
    error = std::to_string(size) + " bytes are more than such a field may have";
    return false;
  }
  std::vector<std::byte> bytes(size);
  std::ifstream in(path, std::ios::binary);
  if (!in || !in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
    error = "it cannot be read";
    return false;
  }
  return field_from_cache_file(bytes, key, mesh, out, error);
}

// Written beside and renamed, so that a reader finds all of it or nothing. The reason when it fails.
std::string write_cache(const fs::path& path, const std::vector<std::byte>& bytes) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) return failed.message();
  static std::atomic<unsigned> number{0};
  const fs::path beside = path.string() + "." + std::to_string(::getpid()) + "." + std::to_string(number++) + ".tmp";
  {
    std::ofstream out(beside, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) {
      fs::remove(beside, failed);
      return "it cannot be written";
    }
  }
  fs::rename(beside, path, failed);
  if (!failed) return "";
  std::error_code ignored;
  fs::remove(beside, ignored);
  return failed.message();
}

}  // namespace

std::string cache_directory() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text ? text : "");
  };
  if (std::getenv("TACTUS_CACHE")) return variable("TACTUS_CACHE");
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/tactus";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/tactus";
  return "";
}

std::string field_key(const TriangleMesh& mesh, const FieldOptions& options) {
  std::string key;
  for (const std::uint64_t seed : {1u, 2u}) {
    Hash hash(seed);
    hash.add(kCacheVersion);
    for (const Vec3& v : mesh.vertices) hash.add(v.data(), 3 * sizeof(double));
    for (const auto& t : mesh.triangles) hash.add(t);
    hash.add(options.tolerance_m);
    hash.add(options.max_depth);
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash.value()));
    key += text.data();
  }
  return key;
}

std::vector<std::byte> cache_file_bytes(const std::string& key, const DistanceField& field) {
  TACTUS_ASSERT(key.size() == 32);
  const std::vector<std::byte> payload = field_bytes(field);
  Header header;
  header.magic = kMagic;
  header.version = kCacheVersion;
  std::copy(key.begin(), key.end(), header.key.begin());
  header.length = payload.size();
  header.checksum = checksum_of(payload);
  std::vector<std::byte> out(sizeof header + payload.size());
  std::memcpy(out.data(), &header, sizeof header);
  std::copy(payload.begin(), payload.end(), out.begin() + sizeof header);
  return out;
}

bool field_from_cache_file(std::span<const std::byte> bytes, const std::string& key, const TriangleMesh& mesh,
                           DistanceField& out, std::string& error) {
  const auto refuse = [&](const std::string& why) {
    error = why;
    return false;
  };
  Header header;
  if (bytes.size() < sizeof header) return refuse("it is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto payload = bytes.subspan(sizeof header);
  if (header.magic != kMagic) return refuse("it is no such file");
  if (header.version != kCacheVersion) return refuse("it has version " + std::to_string(header.version));
  if (std::string(header.key.data(), header.key.size()) != key) return refuse("it belongs to another mesh");
  if (header.length != payload.size()) return refuse("its length is wrong");
  if (header.checksum != checksum_of(payload)) return refuse("its checksum is wrong");
  if (!field_from_bytes(payload, out, error)) return false;
  if (out.triangle_count != mesh.triangles.size()) return refuse("it belongs to another mesh");
  if (!agrees(out, mesh)) return refuse("its distances are not this mesh's");
  return true;
}

std::shared_ptr<const DistanceField> cached_field(const TriangleMesh& mesh, const FieldOptions& options,
                                                  const std::string& name, const FieldCacheOptions& cache,
                                                  std::vector<std::string>& notes) {
  const std::string key = field_key(mesh, options);
  const fs::path path = fs::path(cache.directory) / (key + ".field");
  auto field = std::make_shared<DistanceField>();
  if (!cache.directory.empty()) {
    std::string error;
    if (read_cache(path, key, mesh, options.max_bytes, *field, error)) return field;
    if (!error.empty())
      notes.push_back(name + ": the distance field kept in " + path.string() + " was damaged (" + error +
                      ") and is built again");
    *field = DistanceField();
  }
  Builder builder;
  builder.jobs.threads = cache.threads ? cache.threads : std::max(1u, std::thread::hardware_concurrency());
  builder.name = &name;
  builder.bar = cache.show_progress && ::isatty(STDERR_FILENO) == 1;
  std::string error;
  const bool built = build_distance_field(mesh, options, {&builder, &Builder::run, &Builder::progress}, *field, error);
  builder.clear();
  if (!built) throw InputError(name + ": found a mesh whose distance field cannot be built: " + error);
  std::string kept;
  if (!cache.directory.empty()) {
    const std::string failed = write_cache(path, cache_file_bytes(key, *field));
    if (failed.empty())
      kept = " and kept in " + cache.directory;
    else
      notes.push_back(name + ": the distance field could not be kept in " + cache.directory + ": " + failed);
  }
  if (builder.seconds() > 1) {
    std::array<char, 80> text{};
    std::snprintf(text.data(), text.size(), ": distance field of %.1f MB built in %.1f s",
                  static_cast<double>(field_stats(*field).bytes) * 1e-6, builder.seconds());
    notes.push_back(name + text.data() + kept);
  }
  return field;
}

}  // namespace tactus
