// STL, binary and ASCII. Stored normals are not looked at: the order of the corners says where the outside is. Declared
// in mesh_file.h.
#include <bit>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "core/scene/mesh_file.h"

namespace tactus {
namespace {

constexpr std::size_t kHeaderBytes = 84, kTriangleBytes = 50;
static_assert(std::endian::native == std::endian::little, "STL is little-endian");

std::uint32_t stated_count(std::string_view bytes) {
  std::uint32_t n = 0;
  std::memcpy(&n, bytes.data() + 80, sizeof n);
  return n;
}

void add_triangle(MeshFile& file, const std::array<Vec3, 3>& corners, std::uint32_t origin) {
  const auto first = static_cast<std::uint32_t>(file.soup.vertices.size());
  for (const Vec3& p : corners) file.soup.vertices.push_back(p);
  file.soup.triangles.push_back({first, first + 1, first + 2});
  file.soup.origin.push_back(origin);
}

void check_count(std::size_t count, const std::string& name, const MeshFileLimits& limits) {
  if (count > limits.triangles)
    throw InputError(name + ": found " + std::to_string(count) + " triangles or more, expected at most " +
                     std::to_string(limits.triangles));
}

MeshFile parse_binary(std::string_view bytes, const std::string& name, const MeshFileLimits& limits) {
  const std::uint32_t count = stated_count(bytes);
  check_count(count, name, limits);
  MeshFile file;
  file.soup.vertices.reserve(3 * std::size_t{count});
  for (std::uint32_t t = 0; t < count; ++t) {
    std::array<float, 12> numbers{};  // normal, three corners
    std::memcpy(numbers.data(), bytes.data() + kHeaderBytes + std::size_t{t} * kTriangleBytes, sizeof numbers);
    std::array<Vec3, 3> corners;
    for (std::size_t k = 0; k < 3; ++k) {
      corners[k] = Vec3(numbers[3 * k + 3], numbers[3 * k + 4], numbers[3 * k + 5]);
      if (!corners[k].allFinite())
        throw InputError(name + ": triangle " + std::to_string(t + 1) + ": found corner " + std::to_string(k + 1) +
                         " with a number that is not finite, expected finite numbers");
    }
    add_triangle(file, corners, t + 1);
  }
  return file;
}

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

class AsciiParser {
 public:
  AsciiParser(std::string_view bytes, std::string name, const MeshFileLimits& limits)
      : lines_(bytes, false), name_(std::move(name)), limits_(limits) {}

  MeshFile parse() {
    while (lines_.next(words_)) {
      const std::string word = lower(words_[0]);
      if (word == "vertex")
        read_vertex();
      else if (word == "outer")
        begin();
      else if (word == "endloop")
        end();
      else if (word != "facet" && word != "endfacet" && word != "solid" && word != "endsolid")
        refuse("\"" + std::string(words_[0].substr(0, 40)) + "\"", "facet, outer loop, vertex, endloop or endfacet");
    }
    if (open_) refuse("the end of the file inside a facet", "three vertices, endloop and endfacet");
    file_.element = "line";
    return std::move(file_);
  }

 private:
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw InputError(name_ + ":" + std::to_string(lines_.line()) + ": found " + found + ", expected " + expected);
  }
  void begin() {
    if (open_) refuse("a loop inside a loop", "endloop first");
    open_ = true;
    count_ = 0;
    first_line_ = lines_.line();
  }
  void read_vertex() {
    if (!open_ || count_ == 3) refuse(open_ ? "a fourth vertex" : "a vertex outside a loop", "three in each loop");
    if (words_.size() != 4) refuse("a vertex of " + std::to_string(words_.size() - 1) + " numbers", "vertex x y z");
    const std::string place = name_ + ":" + std::to_string(lines_.line());
    for (int i = 0; i < 3; ++i) corners_[count_][i] = finite_number(words_[static_cast<std::size_t>(i) + 1], place);
    ++count_;
  }
  void end() {
    if (!open_ || count_ != 3) refuse("a loop of " + std::to_string(open_ ? count_ : 0) + " vertices", "three");
    open_ = false;
    add_triangle(file_, corners_, first_line_);
    check_count(file_.soup.triangles.size(), name_, limits_);
  }

  LineReader lines_;
  std::string name_;
  MeshFileLimits limits_;
  MeshFile file_;
  std::vector<std::string_view> words_;
  std::array<Vec3, 3> corners_;
  std::size_t count_ = 0;
  std::uint32_t first_line_ = 0;
  bool open_ = false;
};

}  // namespace

MeshFile parse_stl(std::string_view bytes, const std::string& name, const MeshFileLimits& limits) {
  // Many binary files start with "solid" too, so their length decides first.
  const bool has_count = bytes.size() >= kHeaderBytes;
  const std::size_t expected = has_count ? kHeaderBytes + kTriangleBytes * std::size_t{stated_count(bytes)} : 0;
  MeshFile file;
  if (has_count && bytes.size() == expected) {
    file = parse_binary(bytes, name, limits);
  } else {
    const std::size_t start = bytes.find_first_not_of(" \t\r\n");
    const std::string_view rest = bytes.substr(std::min(start, bytes.size()));
    const bool text = bytes.find('\0') == std::string_view::npos && lower(rest.substr(0, 5)) == "solid";
    if (!text) {
      const std::string why = has_count ? ", and a binary one of the " + std::to_string(stated_count(bytes)) +
                                              " triangles that it states has " + std::to_string(expected)
                                        : "";
      throw InputError(name + ": found " + std::to_string(bytes.size()) +
                       " bytes that are no STL: an ASCII file starts with \"solid\"" + why);
    }
    file = AsciiParser(bytes, name, limits).parse();
  }
  if (file.soup.triangles.empty()) throw InputError(name + ": found no triangle, expected a surface in STL");
  return file;
}

}  // namespace tactus
