#include "core/shape/smooth/smooth_base.h"

#include <algorithm>
#include <map>

#include "core/check.h"

namespace tactus {

namespace {

// Of the edge from a to b: its middle on the sphere, made once.
std::uint32_t middle(LaidOutMesh& mesh, std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>& known,
                     std::uint32_t a, std::uint32_t b) {
  const auto [entry, fresh] = known.emplace(std::minmax(a, b), static_cast<std::uint32_t>(mesh.w.size()));
  if (fresh) mesh.w.emplace_back((mesh.w[a] + mesh.w[b]).normalized());
  return entry->second;
}

bool before(const SurfaceSeed& a, const SurfaceSeed& b) noexcept {
  return std::lexicographical_compare(a.p_S.data(), a.p_S.data() + 3, b.p_S.data(), b.p_S.data() + 3);
}

}  // namespace

LaidOutMesh sphere_mesh(int level) {
  const double g = 0.5 * (1 + std::sqrt(5.0));
  LaidOutMesh mesh;
  for (const Vec3& v :
       {Vec3(-1, g, 0), Vec3(1, g, 0), Vec3(-1, -g, 0), Vec3(1, -g, 0), Vec3(0, -1, g), Vec3(0, 1, g), Vec3(0, -1, -g),
        Vec3(0, 1, -g), Vec3(g, 0, -1), Vec3(g, 0, 1), Vec3(-g, 0, -1), Vec3(-g, 0, 1)})
    mesh.w.emplace_back(v.normalized());
  mesh.triangles = {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                    {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
                    {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
  for (int i = 0; i < level; ++i) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
    std::vector<TriangleMesh::Triangle> finer;
    for (const auto& [a, b, c] : mesh.triangles) {
      const std::uint32_t ab = middle(mesh, known, a, b), bc = middle(mesh, known, b, c),
                          ca = middle(mesh, known, c, a);
      finer.insert(finer.end(), {{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}});
    }
    mesh.triangles = std::move(finer);
  }
  return mesh;
}

LaidOutMesh torus_mesh(int nu, int nv) {
  LaidOutMesh mesh;
  for (int i = 0; i < nu; ++i)
    for (int j = 0; j < nv; ++j) mesh.w.emplace_back(static_cast<double>(i) / nu, static_cast<double>(j) / nv, 0);
  const auto index = [&](int i, int j) { return static_cast<std::uint32_t>((i % nu) * nv + j % nv); };
  for (int i = 0; i < nu; ++i)
    for (int j = 0; j < nv; ++j) {
      mesh.triangles.push_back({index(i, j), index(i + 1, j), index(i + 1, j + 1)});
      mesh.triangles.push_back({index(i, j), index(i + 1, j + 1), index(i, j + 1)});
    }
  return mesh;
}

SeedMesh surface_seeds(const SmoothSurface& surface) {
  const bool sphere = surface.topology() == SmoothTopology::sphere;
  const auto laid_out = [&](const LaidOutMesh& mesh) {
    std::vector<SurfaceSeed> seeds;
    for (const Vec3& w : mesh.w) seeds.push_back(surface.at(w));
    std::sort(seeds.begin(), seeds.end(), before);
    return seeds;
  };
  SeedMesh out;
  out.coarse = laid_out(sphere ? sphere_mesh(1) : torus_mesh(12, 6));
  std::vector<std::vector<SurfaceSeed>> near(out.coarse.size());
  for (const SurfaceSeed& seed : laid_out(sphere ? sphere_mesh(2) : torus_mesh(24, 12))) {
    const auto far = [&](const SurfaceSeed& c) { return (c.p_S - seed.p_S).squaredNorm(); };
    const auto nearest = std::min_element(out.coarse.begin(), out.coarse.end(),
                                          [&](const auto& a, const auto& b) { return far(a) < far(b); });
    near[static_cast<std::size_t>(nearest - out.coarse.begin())].push_back(seed);
  }
  for (std::size_t i = 0; i < near.size(); ++i) {
    SeedMesh::Cell cell{static_cast<std::uint32_t>(out.fine.size()), static_cast<std::uint32_t>(near[i].size()), 0};
    TACTUS_ASSERT(!near[i].empty());  // the fine mesh has the coarse one's points
    for (const SurfaceSeed& seed : near[i]) {
      cell.radius = std::max(cell.radius, (seed.p_S - out.coarse[i].p_S).norm());
      out.fine.push_back(seed);
    }
    out.cells.push_back(cell);
  }
  return out;
}

Aabb symmetric_bounds(const SmoothSurface& surface, const Frame& X_WS) noexcept {
  const Vec3 centre = surface.centre(), centre_W = X_WS * centre;
  Vec3 e;
  for (int i = 0; i < 3; ++i) {
    const Vec3 axis_S = X_WS.R.row(i).transpose();
    e[i] = axis_S.dot(surface.support(axis_S) - centre);
  }
  return {centre_W - e, centre_W + e};
}

}  // namespace tactus
