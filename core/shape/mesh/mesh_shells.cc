// Shells of a mesh: which way round they are wound, and what stands inside what. Declared in mesh_repair.h.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/shape/mesh/mesh_features.h"
#include "core/shape/mesh/mesh_repair.h"

namespace tactus {
namespace {

using Triangle = TriangleMesh::Triangle;

// Across each edge with two uses: the other triangle and whether both run along it the same way (one must be turned).
struct Links {
  std::vector<Triangle> other;
  std::vector<std::array<bool, 3>> same_way;
};
Links find_links(const std::vector<Triangle>& triangles) {
  Links links;
  links.other.assign(triangles.size(), Triangle{kNoIndex, kNoIndex, kNoIndex});
  links.same_way.assign(triangles.size(), {false, false, false});
  const auto uses = edge_uses(triangles);
  for_each_edge(uses, [&](const EdgeUse* use, std::size_t count) {
    if (count != 2) return;
    const bool same_way = use[0].forward == use[1].forward;
    for (int i = 0; i < 2; ++i) {
      links.other[use[i].triangle][use[i].corner] = use[1 - i].triangle;
      links.same_way[use[i].triangle][use[i].corner] = same_way;
    }
  });
  return links;
}

// Solid angle of a triangle seen from the origin (van Oosterom and Strackee).
double solid_angle(const Vec3& a, const Vec3& b, const Vec3& c) noexcept {
  const double la = a.norm(), lb = b.norm(), lc = c.norm();
  return 2 * std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
}

struct ShellPart {
  std::vector<std::uint32_t> triangles;
  MeshBounds box;
};

// Winding number of the part about p: about 0 outside, about 1 inside, whichever way it is wound.
double winding(const std::vector<Vec3>& vertices, const std::vector<Triangle>& triangles, const ShellPart& part,
               const Vec3& p) noexcept {
  double sum = 0;
  for (const std::uint32_t t : part.triangles) {
    const auto& [a, b, c] = triangles[t];
    sum += solid_angle(vertices[a] - p, vertices[b] - p, vertices[c] - p);
  }
  return std::abs(sum) / (4 * M_PI);
}

// Whether all of part a stands in part b. Asked at a few triangles' centres and corners; a point that lies on b's
// surface says nothing, and one outside is enough: shells that cross are not inside each other.
bool stands_in(const std::vector<Vec3>& vertices, const std::vector<Triangle>& triangles, const ShellPart& a,
               const ShellPart& b) {
  if ((a.box.lo.array() < b.box.lo.array()).any() || (a.box.hi.array() > b.box.hi.array()).any()) return false;
  constexpr std::size_t kAsked = 8;
  const std::size_t step = std::max<std::size_t>(1, a.triangles.size() / kAsked);
  bool inside = false;
  for (std::size_t i = 0; i < a.triangles.size(); i += step) {
    const Triangle& t = triangles[a.triangles[i]];
    for (const Vec3& p : {Vec3((vertices[t[0]] + vertices[t[1]] + vertices[t[2]]) / 3), vertices[t[0]]}) {
      const double w = winding(vertices, triangles, b, p);
      if (w < 0.4) return false;
      inside |= w > 0.6;
    }
  }
  return inside;
}

}  // namespace

std::vector<Shell> find_shells(const std::vector<Vec3>& vertices, const std::vector<Triangle>& triangles,
                               std::vector<std::uint32_t>& shell_of) {
  const Links links = find_links(triangles);
  std::vector<Shell> shells;
  std::vector<ShellPart> parts;
  shell_of.assign(triangles.size(), kNoIndex);
  const MeshBounds all = bounds_of(vertices);
  const Vec3 o = 0.5 * (all.lo + all.hi);
  for (std::uint32_t seed = 0; seed < triangles.size(); ++seed) {
    if (shell_of[seed] != kNoIndex) continue;
    Shell shell{seed, 0, 0, 0};
    ShellPart part{{seed}, {vertices[triangles[seed][0]], vertices[triangles[seed][0]]}};
    const auto number = static_cast<std::uint32_t>(shells.size());
    shell_of[seed] = number;
    for (std::size_t i = 0; i < part.triangles.size(); ++i) {
      const auto& [a, b, c] = triangles[part.triangles[i]];
      shell.volume += (vertices[a] - o).dot((vertices[b] - o).cross(vertices[c] - o)) / 6;
      for (const std::uint32_t v : {a, b, c}) {
        part.box.lo = part.box.lo.cwiseMin(vertices[v]);
        part.box.hi = part.box.hi.cwiseMax(vertices[v]);
      }
      for (const std::uint32_t u : links.other[part.triangles[i]]) {
        if (u == kNoIndex || shell_of[u] != kNoIndex) continue;
        shell_of[u] = number;
        part.triangles.push_back(u);
      }
    }
    shell.triangles = static_cast<std::uint32_t>(part.triangles.size());
    shells.push_back(shell);
    parts.push_back(std::move(part));
  }
  for (std::size_t i = 0; i < shells.size(); ++i)
    for (std::size_t j = 0; j < shells.size(); ++j)
      shells[i].inside_of += i != j && stands_in(vertices, triangles, parts[i], parts[j]);
  return shells;
}

bool orient(MeshSoup& soup, MeshRepairs& done) {
  const Links links = find_links(soup.triangles);
  std::vector<std::uint8_t> turn(soup.triangles.size(), 2);  // 2: not seen yet
  std::vector<std::uint32_t> part;
  for (std::uint32_t seed = 0; seed < turn.size(); ++seed) {
    if (turn[seed] != 2) continue;
    turn[seed] = 0;
    part.assign(1, seed);
    std::size_t turned = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::uint32_t t = part[i];
      turned += turn[t];
      for (std::size_t k = 0; k < 3; ++k) {
        const std::uint32_t u = links.other[t][k];
        if (u == kNoIndex) continue;
        const auto wanted = static_cast<std::uint8_t>(turn[t] ^ static_cast<std::uint8_t>(links.same_way[t][k]));
        if (turn[u] == 2) {
          turn[u] = wanted;
          part.push_back(u);
        } else if (turn[u] != wanted) {
          return false;
        }
      }
    }
    // The majority was right.
    if (2 * turned > part.size())
      for (const std::uint32_t t : part) turn[t] ^= 1;
  }
  for (std::size_t t = 0; t < turn.size(); ++t) {
    if (turn[t] == 0) continue;
    std::swap(soup.triangles[t][1], soup.triangles[t][2]);
    ++done.turned;
  }
  std::vector<std::uint32_t> shell_of;
  const auto shells = find_shells(soup.vertices, soup.triangles, shell_of);
  for (std::size_t t = 0; t < soup.triangles.size(); ++t)
    if (shells[shell_of[t]].wrong_way()) std::swap(soup.triangles[t][1], soup.triangles[t][2]);
  for (const Shell& shell : shells) done.turned_shells += shell.wrong_way();
  return true;
}

void split_pinched_vertices(MeshSoup& soup, MeshRepairs& done) {
  const Links links = find_links(soup.triangles);
  // Corners that are joined over an edge at their vertex belong to one fan. A fan's vertex keeps its place.
  std::vector<std::uint32_t> fan(3 * soup.triangles.size());
  std::iota(fan.begin(), fan.end(), 0u);
  const auto find = [&](std::uint32_t c) {
    while (fan[c] != c) c = fan[c] = fan[fan[c]];
    return c;
  };
  const auto corner_of = [&](std::uint32_t t, std::uint32_t v) {
    const Triangle& x = soup.triangles[t];
    return 3 * t + (x[0] == v ? 0u : x[1] == v ? 1u : 2u);
  };
  for (std::uint32_t t = 0; t < soup.triangles.size(); ++t) {
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::uint32_t u = links.other[t][k];
      if (u == kNoIndex) continue;
      for (const std::uint32_t c : {k, (k + 1) % 3}) {
        const std::uint32_t a = find(3 * t + c), b = find(corner_of(u, soup.triangles[t][c]));
        fan[std::max(a, b)] = std::min(a, b);
      }
    }
  }
  std::vector<std::uint32_t> first_fan(soup.vertices.size(), kNoIndex), vertex_of_fan(fan.size(), kNoIndex);
  for (std::uint32_t c = 0; c < fan.size(); ++c) {
    std::uint32_t& v = soup.triangles[c / 3][c % 3];
    const std::uint32_t own = find(c);
    if (vertex_of_fan[own] == kNoIndex) {
      if (first_fan[v] == kNoIndex) {
        first_fan[v] = own;
        vertex_of_fan[own] = v;
      } else {
        const Vec3 p = soup.vertices[v];
        vertex_of_fan[own] = static_cast<std::uint32_t>(soup.vertices.size());
        soup.vertices.push_back(p);
        ++done.pinched;
      }
    }
    v = vertex_of_fan[own];
  }
}

}  // namespace tactus
