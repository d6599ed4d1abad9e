#include "core/shape/mesh/mesh_features.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"

namespace tactus {
namespace {

using Triangle = TriangleMesh::Triangle;

void find_neighbours(TriangleMesh& mesh) {
  mesh.neighbours.assign(mesh.triangles.size(), Triangle{kNoIndex, kNoIndex, kNoIndex});
  const auto uses = edge_uses(mesh.triangles);
  for_each_edge(uses, [&](const EdgeUse* use, std::size_t count) {
    TACTUS_ASSERT(count == 2 && use[0].forward != use[1].forward);
    mesh.neighbours[use[0].triangle][use[0].corner] = use[1].triangle;
    mesh.neighbours[use[1].triangle][use[1].corner] = use[0].triangle;
  });
}

void find_normals(TriangleMesh& mesh) {
  mesh.normals.resize(mesh.triangles.size());
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const auto& [a, b, c] = mesh.triangles[t];
    const Vec3 n = (mesh.vertices[b] - mesh.vertices[a]).cross(mesh.vertices[c] - mesh.vertices[a]);
    const double length = n.norm();
    TACTUS_ASSERT(length > 0);
    mesh.normals[t] = n / length;
  }
}

// Lists of a vertex as compressed rows: first[v] .. first[v + 1].
void compress(std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, std::size_t rows,
              std::vector<std::uint32_t>& first, std::vector<std::uint32_t>& list) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  first.assign(rows + 1, 0);
  list.resize(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ++first[pairs[i].first + 1];
    list[i] = pairs[i].second;
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
}

void find_adjacency(TriangleMesh& mesh) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges, corners;
  edges.reserve(6 * mesh.triangles.size());
  corners.reserve(3 * mesh.triangles.size());
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t a = mesh.triangles[t][k], b = mesh.triangles[t][(k + 1) % 3];
      edges.emplace_back(a, b);
      edges.emplace_back(b, a);
      corners.emplace_back(a, t);
    }
  }
  compress(edges, mesh.vertices.size(), mesh.vertex_first, mesh.vertex_vertices);
  compress(corners, mesh.vertices.size(), mesh.corner_first, mesh.vertex_triangles);
}

double double_area(const TriangleMesh& mesh, std::size_t t) {
  const auto& [a, b, c] = mesh.triangles[t];
  return (mesh.vertices[b] - mesh.vertices[a]).cross(mesh.vertices[c] - mesh.vertices[a]).norm();
}

void find_facets(TriangleMesh& mesh) {
  const double tolerance = kCoplanarTolerance * (mesh.hi - mesh.lo).norm();
  std::vector<double> area(mesh.triangles.size());
  for (std::size_t t = 0; t < area.size(); ++t) area[t] = double_area(mesh, t);
  std::vector<std::uint32_t> seeds(mesh.triangles.size());
  std::iota(seeds.begin(), seeds.end(), 0u);
  // The largest first: its plane is the best known, so that a facet does not depend on where it is begun.
  std::stable_sort(seeds.begin(), seeds.end(), [&](auto a, auto b) { return area[a] > area[b]; });
  mesh.facet.assign(mesh.triangles.size(), kNoIndex);
  mesh.facet_count = 0;
  std::vector<std::uint32_t> open;
  for (const std::uint32_t seed : seeds) {
    if (mesh.facet[seed] != kNoIndex) continue;
    const Vec3& n = mesh.normals[seed];
    const Vec3& p = mesh.vertices[mesh.triangles[seed][0]];
    const auto in_plane = [&](std::uint32_t t) {
      if (mesh.normals[t].dot(n) <= 0) return false;
      return std::all_of(mesh.triangles[t].begin(), mesh.triangles[t].end(),
                         [&](std::uint32_t v) { return std::abs(n.dot(mesh.vertices[v] - p)) <= tolerance; });
    };
    open.assign(1, seed);
    mesh.facet[seed] = mesh.facet_count;
    while (!open.empty()) {
      const std::uint32_t t = open.back();
      open.pop_back();
      for (const std::uint32_t u : mesh.neighbours[t]) {
        if (mesh.facet[u] != kNoIndex || !in_plane(u)) continue;
        mesh.facet[u] = mesh.facet_count;
        open.push_back(u);
      }
    }
    ++mesh.facet_count;
  }
}

}  // namespace

std::vector<EdgeUse> edge_uses(std::span<const Triangle> triangles) {
  std::vector<EdgeUse> uses;
  uses.reserve(3 * triangles.size());
  for (std::uint32_t t = 0; t < triangles.size(); ++t) {
    for (std::uint8_t k = 0; k < 3; ++k) {
      const std::uint32_t a = triangles[t][k], b = triangles[t][(k + 1) % 3];
      uses.push_back({edge_key(a, b), t, k, a < b});
    }
  }
  std::sort(uses.begin(), uses.end(), [](const EdgeUse& x, const EdgeUse& y) {
    return x.key != y.key ? x.key < y.key : x.triangle != y.triangle ? x.triangle < y.triangle : x.corner < y.corner;
  });
  return uses;
}

MeshBounds bounds_of(std::span<const Vec3> vertices) noexcept {
  MeshBounds box;
  if (vertices.empty()) return box;
  box.lo = box.hi = vertices[0];
  for (const Vec3& v : vertices) {
    box.lo = box.lo.cwiseMin(v);
    box.hi = box.hi.cwiseMax(v);
  }
  return box;
}

void find_features(TriangleMesh& mesh) {
  const MeshBounds box = bounds_of(mesh.vertices);
  mesh.lo = box.lo;
  mesh.hi = box.hi;
  find_neighbours(mesh);
  find_normals(mesh);
  find_adjacency(mesh);
  find_facets(mesh);
}

}  // namespace tactus
