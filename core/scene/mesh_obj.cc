// Wavefront OBJ: vertices and faces; everything else (normals, texture coordinates, groups, materials, lines) is passed
// over. Declared in mesh_file.h.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/check.h"
#include "core/scene/mesh_file.h"

namespace tactus {
namespace {

constexpr std::size_t kCornersMax = 4096;  // of one face: cutting is quadratic

using Point = Eigen::Vector2d;
double cross(const Point& a, const Point& b) noexcept {
  return a.x() * b.y() - a.y() * b.x();
}
double twice_area(const Point& a, const Point& b, const Point& c) noexcept {
  return cross(b - a, c - a);
}

// A polygon that loses one ear after the other.
class EarClipper {
 public:
  EarClipper(const std::vector<Vec3>& points, const std::vector<std::uint32_t>& corners) : left_(corners) {
    Vec3 n = Vec3::Zero();  // Newell: twice the vector area
    for (std::size_t i = 0; i < corners.size(); ++i)
      n += points[corners[i]].cross(points[corners[(i + 1) % corners.size()]]);
    const Vec3& o = points[corners[0]];
    Vec3 e1 = Vec3::UnitX(), e2 = Vec3::UnitY();
    if (const double length = n.norm(); length > 0) tangent_basis(n / length, e1, e2);
    for (const std::uint32_t v : corners) flat_.emplace_back(e1.dot(points[v] - o), e2.dot(points[v] - o));
    for (std::size_t i = 0; i < corners.size(); ++i) rest_ += cross(flat_[i], flat_[(i + 1) % corners.size()]);
    tiny_ = 1e-12 * std::abs(rest_);
  }

  void cut(std::vector<TriangleMesh::Triangle>& out) {
    std::size_t at = 1;
    while (left_.size() > 3) {
      std::size_t ear = at % left_.size(), tried = 0;
      while (tried < left_.size() && !is_ear(ear)) ear = (ear + 1) % left_.size(), ++tried;
      // No ear: the outline crosses itself. Any cut will do, the mesh is refused later.
      clip(ear, out);
      at = ear;
    }
    out.push_back({left_[0], left_[1], left_[2]});
  }

 private:
  [[nodiscard]] std::size_t before(std::size_t i) const { return (i + left_.size() - 1) % left_.size(); }
  [[nodiscard]] std::size_t after(std::size_t i) const { return (i + 1) % left_.size(); }

  // Convex, with no other corner inside or on its sides, and neither it nor what is left is a line.
  [[nodiscard]] bool is_ear(std::size_t i) const {
    const Point &a = flat_[before(i)], &b = flat_[i], &c = flat_[after(i)];
    const double area = twice_area(a, b, c);
    if (area <= tiny_ || rest_ - area <= tiny_) return false;
    for (const Point& p : flat_) {
      if (p == a || p == b || p == c) continue;
      if (twice_area(a, b, p) >= -tiny_ && twice_area(b, c, p) >= -tiny_ && twice_area(c, a, p) >= -tiny_) return false;
    }
    return true;
  }
  void clip(std::size_t i, std::vector<TriangleMesh::Triangle>& out) {
    out.push_back({left_[before(i)], left_[i], left_[after(i)]});
    rest_ -= twice_area(flat_[before(i)], flat_[i], flat_[after(i)]);
    left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(i));
    flat_.erase(flat_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::vector<std::uint32_t> left_;
  std::vector<Point> flat_;  // the same corners in the polygon's plane
  double rest_ = 0;          // twice the area of what is left
  double tiny_ = 0;
};

class ObjParser {
 public:
  ObjParser(std::string_view bytes, std::string name, const MeshFileLimits& limits)
      : lines_(bytes, true), name_(std::move(name)), limits_(limits) {}

  MeshFile parse() {
    while (lines_.next(words_)) {
      if (words_[0] == "v") read_vertex();
      if (words_[0] == "f") read_face();
    }
    // Faces may name vertices that come later, so the check comes last.
    const std::size_t vertices = out_.soup.vertices.size();
    for (std::size_t f = 0; f < face_first_.size(); ++f) cut_face(f, vertices);
    if (out_.soup.triangles.empty())
      throw InputError(name_ + ": found no face (f ...), expected a surface in Wavefront OBJ");
    out_.element = "line";
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string place(std::uint32_t line) const { return name_ + ":" + std::to_string(line); }

  void read_vertex() {
    if (words_.size() < 4)
      throw InputError(place(lines_.line()) + ": found a vertex of " + std::to_string(words_.size() - 1) +
                       " numbers, expected v x y z");
    Vec3 p;
    for (int i = 0; i < 3; ++i) p[i] = finite_number(words_[static_cast<std::size_t>(i) + 1], place(lines_.line()));
    out_.soup.vertices.push_back(p);
  }

  // "12", "12/3", "12//4", "-1/2/3": the vertex, from 1 or back from the last.
  [[nodiscard]] std::int64_t read_index(std::string_view word) const {
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
    const bool whole = end == word.data() + word.size() || *end == '/';
    if (error != std::errc() || !whole || index == 0)
      throw InputError(place(lines_.line()) + ": found \"" + std::string(word.substr(0, 40)) +
                       "\", expected the number of a vertex, from 1 or from -1");
    return index > 0 ? index - 1 : static_cast<std::int64_t>(out_.soup.vertices.size()) + index;
  }

  void read_face() {
    if (words_.size() < 4 || words_.size() > kCornersMax + 1)
      throw InputError(place(lines_.line()) + ": found a face of " + std::to_string(words_.size() - 1) +
                       " corners, expected 3 to " + std::to_string(kCornersMax));
    face_first_.push_back(corners_.size());
    face_line_.push_back(lines_.line());
    for (std::size_t i = 1; i < words_.size(); ++i) corners_.push_back(read_index(words_[i]));
    triangles_ += words_.size() - 3;
    if (triangles_ > limits_.triangles)
      throw InputError(place(lines_.line()) + ": found more than " + std::to_string(limits_.triangles) +
                       " triangles, expected at most as many as the limit says");
  }

  void cut_face(std::size_t f, std::size_t vertices) {
    const std::size_t end = f + 1 < face_first_.size() ? face_first_[f + 1] : corners_.size();
    polygon_.clear();
    for (std::size_t i = face_first_[f]; i < end; ++i) {
      const std::int64_t v = corners_[i];
      if (v < 0 || v >= static_cast<std::int64_t>(vertices))
        throw InputError(place(face_line_[f]) + ": found a face with vertex " + std::to_string(v < 0 ? v : v + 1) +
                         ", expected 1 to " + std::to_string(vertices) + ", which the file has");
      polygon_.push_back(static_cast<std::uint32_t>(v));
    }
    cut_polygon(out_.soup.vertices, polygon_, out_.soup.triangles);
    out_.soup.origin.resize(out_.soup.triangles.size(), face_line_[f]);
  }

  LineReader lines_;
  std::string name_;
  MeshFileLimits limits_;
  MeshFile out_;
  std::vector<std::string_view> words_;
  std::vector<std::size_t> face_first_;  // into corners_
  std::vector<std::uint32_t> face_line_;
  std::vector<std::int64_t> corners_;  // from 0; what is out of range is seen at the end
  std::vector<std::uint32_t> polygon_;
  std::size_t triangles_ = 0;
};

}  // namespace

void cut_polygon(const std::vector<Vec3>& points, const std::vector<std::uint32_t>& corners,
                 std::vector<TriangleMesh::Triangle>& out) {
  if (corners.size() == 3)
    out.push_back({corners[0], corners[1], corners[2]});
  else
    EarClipper(points, corners).cut(out);
}

MeshFile parse_obj(std::string_view bytes, const std::string& name, const MeshFileLimits& limits) {
  return ObjParser(bytes, name, limits).parse();
}

}  // namespace tactus
