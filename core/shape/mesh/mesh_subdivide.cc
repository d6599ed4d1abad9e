#include "core/shape/mesh/mesh_subdivide.h"

#include <cmath>
#include <cstdint>

#include "core/check.h"
#include "core/shape/mesh/mesh_features.h"

namespace tactus {
namespace {

using Triangle = TriangleMesh::Triangle;

double area(const MeshSoup& soup, std::size_t t) noexcept {
  const auto& [a, b, c] = soup.triangles[t];
  const Vec3& o = soup.vertices[a];
  return 0.5 * (soup.vertices[b] - o).cross(soup.vertices[c] - o).norm();
}

class Subdivider {
 public:
  Subdivider(const MeshSoup& coarse, std::size_t max_triangles) : soup(coarse), max_triangles_(max_triangles) {
    neighbours_.resize(soup.triangles.size());
    const auto uses = edge_uses(soup.triangles);
    for_each_edge(uses, [&](const EdgeUse* use, std::size_t count) {
      TACTUS_ASSERT(count == 2);
      neighbours_[use[0].triangle][use[0].corner] = use[1].triangle;
      neighbours_[use[1].triangle][use[1].corner] = use[0].triangle;
    });
  }

  // False when there would be too many triangles.
  bool run(double max_area) {
    for (std::uint32_t t = 0; t < soup.triangles.size(); ++t)
      while (area(soup, t) > max_area)
        if (!bisect(t)) return false;
    return true;
  }

  MeshSoup soup;

 private:
  // Edges are ordered strictly, by length, then by their ends: so the path over ever longer edges cannot turn back.
  struct Length {
    double square = 0;
    std::uint64_t key = 0;
    bool operator>(const Length& b) const noexcept { return square != b.square ? square > b.square : key > b.key; }
  };
  [[nodiscard]] std::uint32_t longest(std::uint32_t t) const noexcept {
    Length most;
    std::uint32_t corner = 0;
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::uint32_t a = soup.triangles[t][k], b = soup.triangles[t][(k + 1) % 3];
      const Length length{(soup.vertices[b] - soup.vertices[a]).squaredNorm(), edge_key(a, b)};
      if (k > 0 && !(length > most)) continue;
      most = length;
      corner = k;
    }
    return corner;
  }
  // The corner of t at which its edge from vertex a to b starts. Between two triangles with the same corners, a
  // neighbour does not tell which edge is meant.
  [[nodiscard]] std::uint32_t corner_of_edge(std::uint32_t t, std::uint32_t a, std::uint32_t b) const noexcept {
    for (std::uint32_t k = 0; k < 3; ++k)
      if (soup.triangles[t][k] == a && soup.triangles[t][(k + 1) % 3] == b) return k;
    TACTUS_ASSERT(false);
    return 0;
  }

  // Splits the longest edge of the last triangle on the path from t, which is t itself in the end.
  bool bisect(std::uint32_t t) {
    for (;;) {
      const std::uint32_t k = longest(t), u = neighbours_[t][k];
      const std::uint32_t a = soup.triangles[t][k], b = soup.triangles[t][(k + 1) % 3];
      if (longest(u) == corner_of_edge(u, b, a)) return split(t, k, u);
      t = u;
    }
  }

  // t = (a, b, c) and u = (b, a, d) share the edge a-b, whose middle is m: (a, m, c), (m, b, c), (b, m, d), (m, a, d).
  bool split(std::uint32_t t, std::uint32_t k, std::uint32_t u) {
    if (soup.triangles.size() + 2 > max_triangles_) return false;
    const std::uint32_t a = soup.triangles[t][k], b = soup.triangles[t][(k + 1) % 3];
    const std::uint32_t l = corner_of_edge(u, b, a);
    const auto m = static_cast<std::uint32_t>(soup.vertices.size());
    soup.vertices.push_back(0.5 * (soup.vertices[a] + soup.vertices[b]));
    const std::uint32_t t2 = halve(t, k, m), u2 = halve(u, l, m);
    neighbours_[t][k] = u2;                         // a-m
    neighbours_[u2][corner_of_edge(u2, m, a)] = t;  //
    neighbours_[u][corner_of_edge(u, b, m)] = t2;   // m-b
    neighbours_[t2][corner_of_edge(t2, m, b)] = u;
    return true;
  }
  // t = (a, b, c) from corner k becomes (a, m, c); the new triangle is (m, b, c). Their edge m-c and the edge b-c,
  // which the new one takes over, are linked; a-m and m-b are not.
  std::uint32_t halve(std::uint32_t t, std::uint32_t k, std::uint32_t m) {
    const auto fresh = static_cast<std::uint32_t>(soup.triangles.size());
    const std::uint32_t b = soup.triangles[t][(k + 1) % 3], c = soup.triangles[t][(k + 2) % 3];
    const std::uint32_t beyond = neighbours_[t][(k + 1) % 3];
    soup.triangles.push_back({m, b, c});
    soup.origin.push_back(soup.origin[t]);
    neighbours_.push_back({fresh, beyond, t});
    neighbours_[beyond][corner_of_edge(beyond, c, b)] = fresh;
    soup.triangles[t][(k + 1) % 3] = m;
    neighbours_[t][(k + 1) % 3] = fresh;
    return fresh;
  }

  std::vector<Triangle> neighbours_;
  std::size_t max_triangles_;
};

}  // namespace

double predicted_triangles(const MeshSoup& soup, double max_area) noexcept {
  double sum = 0;
  for (std::size_t t = 0; t < soup.triangles.size(); ++t)
    sum += std::exp2(std::max(0.0, std::ceil(std::log2(area(soup, t) / max_area))));
  return sum;
}

bool subdivide(MeshSoup& soup, double max_area, std::size_t max_triangles, std::string& error) {
  TACTUS_ASSERT(max_area > 0);
  const double predicted = predicted_triangles(soup, max_area);
  if (!(predicted <= static_cast<double>(max_triangles))) {
    const std::string count = predicted < 1e15 ? std::to_string(static_cast<std::uint64_t>(predicted)) : "over 1e15";
    error = "would make at least " + count + " triangles of " + std::to_string(soup.triangles.size()) +
            ", expected at most " + std::to_string(max_triangles);
    return false;
  }
  Subdivider fine(soup, max_triangles);
  if (!fine.run(max_area)) {
    error = "makes more than " + std::to_string(max_triangles) + " triangles of " +
            std::to_string(soup.triangles.size()) +
            " (more than predicted, to stay closed), expected at most that many";
    return false;
  }
  soup = std::move(fine.soup);
  return true;
}

}  // namespace tactus
