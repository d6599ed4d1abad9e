#include "core/shape/mesh/mesh_repair.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/shape/mesh/mesh_features.h"

namespace tactus {
namespace {

using Triangle = TriangleMesh::Triangle;

bool repeats(const Triangle& t) noexcept {
  return t[0] == t[1] || t[1] == t[2] || t[2] == t[0];
}

// Keeps triangles for which keep(t) holds.
template <class Keep>
std::uint32_t filter(MeshSoup& soup, Keep&& keep) {
  std::size_t n = 0;
  for (std::size_t t = 0; t < soup.triangles.size(); ++t) {
    if (!keep(t)) continue;
    soup.triangles[n] = soup.triangles[t];
    soup.origin[n++] = soup.origin[t];
  }
  const auto dropped = static_cast<std::uint32_t>(soup.triangles.size() - n);
  soup.triangles.resize(n);
  soup.origin.resize(n);
  return dropped;
}

// Gives every triangle the vertex to[v] for v.
void rename(MeshSoup& soup, const std::vector<std::uint32_t>& to) {
  for (Triangle& t : soup.triangles)
    for (std::uint32_t& v : t) v = to[v];
}

void drop_unused_vertices(MeshSoup& soup) {
  std::vector<std::uint32_t> to(soup.vertices.size(), kNoIndex);
  for (const Triangle& t : soup.triangles)
    for (const std::uint32_t v : t) to[v] = 0;
  std::uint32_t n = 0;
  for (std::size_t v = 0; v < to.size(); ++v) {
    if (to[v] == kNoIndex) continue;
    soup.vertices[n] = soup.vertices[v];
    to[v] = n++;
  }
  soup.vertices.resize(n);
  rename(soup, to);
}

bool before(const Vec3& a, const Vec3& b) noexcept {
  if (a.x() != b.x()) return a.x() < b.x();
  if (a.y() != b.y()) return a.y() < b.y();
  return a.z() < b.z();
}

// The representative of v, halving paths on the way.
std::uint32_t root(std::vector<std::uint32_t>& parent, std::uint32_t v) noexcept {
  while (parent[v] != v) v = parent[v] = parent[parent[v]];
  return v;
}
void join(std::vector<std::uint32_t>& parent, std::uint32_t a, std::uint32_t b) noexcept {
  a = root(parent, a);
  b = root(parent, b);
  if (a != b) parent[std::max(a, b)] = std::min(a, b);
}

// Drops triangles of one kind: cap (height over the longest edge) or needle; needles lose their shortest edge.
struct Flat {
  bool flat = false;
  std::uint32_t a = 0, b = 0;  // the ends of its shortest edge
  bool needle = false;
};
Flat flatness(const MeshSoup& soup, const Triangle& t, double tolerance) noexcept {
  Flat out;
  double longest = 0, shortest = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double length = (soup.vertices[t[(k + 1) % 3]] - soup.vertices[t[k]]).norm();
    longest = std::max(longest, length);
    if (k > 0 && length >= shortest) continue;
    shortest = length;
    out.a = t[k];
    out.b = t[(k + 1) % 3];
  }
  const Vec3& o = soup.vertices[t[0]];
  const double area = (soup.vertices[t[1]] - o).cross(soup.vertices[t[2]] - o).norm();
  out.flat = !(area > tolerance * longest);
  out.needle = shortest <= tolerance;
  return out;
}

// Each triangle once, whatever corner it starts with.
std::uint32_t drop_duplicates(MeshSoup& soup) {
  std::vector<std::pair<Triangle, std::uint32_t>> order(soup.triangles.size());
  for (std::uint32_t t = 0; t < order.size(); ++t) {
    Triangle turned = soup.triangles[t];
    std::rotate(turned.begin(), std::min_element(turned.begin(), turned.end()), turned.end());
    order[t] = {turned, t};
  }
  std::sort(order.begin(), order.end());
  std::vector<bool> again(order.size(), false);
  for (std::size_t i = 1; i < order.size(); ++i) again[order[i].second] = order[i].first == order[i - 1].first;
  return filter(soup, [&](std::size_t t) { return !again[t]; });
}

}  // namespace

void merge_equal_vertices(MeshSoup& soup, MeshRepairs& done) {
  for (Vec3& v : soup.vertices) v += Vec3::Zero();  // -0 becomes 0
  std::vector<std::uint32_t> order(soup.vertices.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return before(soup.vertices[a], soup.vertices[b]); });
  std::vector<std::uint32_t> to(order.size());
  for (std::size_t i = 0, first = 0; i < order.size(); ++i) {
    if (soup.vertices[order[i]] != soup.vertices[order[first]]) first = i;
    to[order[i]] = order[first];
    done.merged += order[i] != order[first];
  }
  rename(soup, to);
  drop_unused_vertices(soup);
}

namespace {

struct OpenEdges {
  std::vector<EdgeUse> edges;
  std::vector<std::uint32_t> vertices;  // their ends, sorted by the first coordinate
};

OpenEdges find_open_edges(const MeshSoup& soup) {
  OpenEdges open;
  const auto uses = edge_uses(soup.triangles);
  for_each_edge(uses, [&](const EdgeUse* use, std::size_t count) {
    if (count == 1 && use->low() != use->high()) open.edges.push_back(*use);
  });
  for (const EdgeUse& e : open.edges) {
    open.vertices.push_back(e.low());
    open.vertices.push_back(e.high());
  }
  std::sort(open.vertices.begin(), open.vertices.end());
  open.vertices.erase(std::unique(open.vertices.begin(), open.vertices.end()), open.vertices.end());
  std::stable_sort(open.vertices.begin(), open.vertices.end(),
                   [&](auto a, auto b) { return soup.vertices[a].x() < soup.vertices[b].x(); });
  return open;
}

// Open vertices with x from lo to hi.
std::span<const std::uint32_t> between(const MeshSoup& soup, const std::vector<std::uint32_t>& sorted, double lo,
                                       double hi) {
  const auto x = [&](std::uint32_t v) { return soup.vertices[v].x(); };
  const auto first =
      std::lower_bound(sorted.begin(), sorted.end(), lo, [&](std::uint32_t v, double value) { return x(v) < value; });
  const auto last =
      std::upper_bound(first, sorted.end(), hi, [&](double value, std::uint32_t v) { return value < x(v); });
  return {first, last};
}

// Returns whether anything was welded.
bool weld_open_vertices(MeshSoup& soup, double tolerance, MeshRepairs& done) {
  const OpenEdges open = find_open_edges(soup);
  std::vector<std::uint32_t> parent(soup.vertices.size());
  std::iota(parent.begin(), parent.end(), 0u);
  std::uint32_t welded = 0;
  for (const std::uint32_t v : open.vertices) {
    const Vec3& p = soup.vertices[v];
    for (const std::uint32_t w : between(soup, open.vertices, p.x(), p.x() + tolerance)) {
      const double distance = (soup.vertices[w] - p).norm();
      if (w == v || distance > tolerance || root(parent, v) == root(parent, w)) continue;
      join(parent, v, w);
      done.gap = std::max(done.gap, distance);
      ++welded;
    }
  }
  if (welded == 0) return false;
  done.welded += welded;
  for (std::uint32_t v = 0; v < parent.size(); ++v) parent[v] = root(parent, v);
  rename(soup, parent);
  // What was narrower than the tolerance has closed on itself.
  filter(soup, [&](std::size_t t) { return !repeats(soup.triangles[t]); });
  return true;
}

struct OnEdge {
  double s;  // along the edge, 0 to 1
  std::uint32_t vertex;
};

// Vertices of other open edges that lie on this one, in its order.
std::vector<OnEdge> vertices_on(const MeshSoup& soup, const OpenEdges& open, std::uint32_t a, std::uint32_t b,
                                double tolerance, double& gap) {
  std::vector<OnEdge> found;
  const Vec3 &p = soup.vertices[a], d = soup.vertices[b] - p;
  const double length = d.norm();
  const double lo = std::min(0.0, d.x()) - tolerance, hi = std::max(0.0, d.x()) + tolerance;
  for (const std::uint32_t v : between(soup, open.vertices, p.x() + lo, p.x() + hi)) {
    if (v == a || v == b) continue;
    const Vec3 r = soup.vertices[v] - p;
    const double s = r.dot(d) / (length * length);
    const double distance = (r - s * d).norm();
    // Nearer to the edge than to its ends, by far: a neighbour round a corner is not on it.
    if (!(s > 0 && s < 1) || distance > std::min(tolerance, 0.1 * std::min(s, 1 - s) * length)) continue;
    gap = std::max(gap, distance);
    found.push_back({s, v});
  }
  std::sort(found.begin(), found.end(), [](const OnEdge& x, const OnEdge& y) { return x.s < y.s; });
  return found;
}

// One pass: every triangle loses at most one open edge to a fan. Returns how many edges were split.
std::uint32_t split_open_edges(MeshSoup& soup, double tolerance, MeshRepairs& done) {
  const OpenEdges open = find_open_edges(soup);
  std::vector<bool> touched(soup.triangles.size(), false);
  std::uint32_t split = 0;
  for (const EdgeUse& e : open.edges) {
    if (touched[e.triangle]) continue;
    const Triangle t = soup.triangles[e.triangle];
    const std::uint32_t a = t[e.corner], b = t[(e.corner + 1u) % 3], c = t[(e.corner + 2u) % 3];
    auto chain = vertices_on(soup, open, a, b, tolerance, done.gap);
    std::erase_if(chain, [&](const OnEdge& x) { return x.vertex == c; });
    if (chain.empty()) continue;
    touched[e.triangle] = true;
    ++split;
    std::uint32_t last = a;
    chain.push_back({1, b});
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const Triangle piece{last, chain[i].vertex, c};
      last = chain[i].vertex;
      if (i == 0) {
        soup.triangles[e.triangle] = piece;
        continue;
      }
      soup.triangles.push_back(piece);
      soup.origin.push_back(soup.origin[e.triangle]);
    }
  }
  done.split += split;
  return split;
}

}  // namespace

void close_seams(MeshSoup& soup, MeshRepairs& done) {
  const double diagonal = bounds_of(soup.vertices).diagonal();
  const std::size_t open = find_open_edges(soup).edges.size();
  // A seam is a small part of a surface; where most edges are open there is none, and looking for it would be slow.
  if (open == 0 || open > std::max<std::size_t>(64, soup.triangles.size() / 2)) return;
  weld_open_vertices(soup, kWeldTolerance * diagonal, done);
  for (int pass = 0; pass < 8; ++pass)
    if (split_open_edges(soup, kJunctionTolerance * diagonal, done) == 0) break;
  drop_unused_vertices(soup);
}

void drop_degenerate(MeshSoup& soup, MeshRepairs& done) {
  const double tolerance = kDegenerateTolerance * bounds_of(soup.vertices).diagonal();
  std::vector<std::uint32_t> parent(soup.vertices.size());
  std::iota(parent.begin(), parent.end(), 0u);
  for (const Triangle& t : soup.triangles) {
    const Flat flat = flatness(soup, t, tolerance);
    if (flat.flat && flat.needle) join(parent, flat.a, flat.b);
  }
  for (std::uint32_t v = 0; v < parent.size(); ++v) parent[v] = root(parent, v);
  rename(soup, parent);
  done.degenerate += filter(soup, [&](std::size_t t) {
    const Triangle& triangle = soup.triangles[t];
    return !repeats(triangle) && !flatness(soup, triangle, tolerance).flat;
  });
  done.duplicate += drop_duplicates(soup);
  drop_unused_vertices(soup);
}

}  // namespace tactus
