#include "core/shape/smooth/smooth_surface.h"

#include <algorithm>
#include <map>

#include "core/shape/smooth/smooth_base.h"
#include "core/shape/smooth/smooth_shapes.h"

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

// The solid on the other side: F and the normals change sign, so u and v change places.
class Cavity final : public SmoothSurface {
 public:
  explicit Cavity(std::unique_ptr<SmoothSurface> surface) : base_(std::move(surface)) {
    seeds_ = base_->seed_mesh();
    for (SurfaceSeed& seed : seeds_.coarse) seed = turned(seed);
    for (SurfaceSeed& seed : seeds_.fine) seed = turned(seed);
  }
  [[nodiscard]] SmoothKind kind() const noexcept override { return base_->kind(); }
  [[nodiscard]] bool parametric() const noexcept override { return base_->parametric(); }
  [[nodiscard]] bool convex() const noexcept override { return false; }
  [[nodiscard]] bool cavity() const noexcept override { return true; }
  [[nodiscard]] bool hollow_is_convex() const noexcept override { return base_->convex(); }
  [[nodiscard]] bool has_implicit() const noexcept override { return base_->has_implicit(); }
  [[nodiscard]] ImplicitJet implicit(const Vec3& p_S) const noexcept override {
    const ImplicitJet jet = base_->implicit(p_S);
    return {-jet.F, -jet.grad, -jet.hess};
  }
  [[nodiscard]] PatchJet patch(const SurfacePoint& where) const noexcept override {
    PatchJet jet = base_->patch(swapped(where));
    jet.Su.swap(jet.Sv);
    jet.Suu.swap(jet.Svv);
    return jet;
  }
  [[nodiscard]] SurfacePoint normalise(const SurfacePoint& where) const noexcept override {
    return swapped(base_->normalise(swapped(where)));
  }
  [[nodiscard]] Vec3 support(const Vec3& d_S) const noexcept override { return base_->support(d_S); }
  [[nodiscard]] const SeedMesh& seed_mesh() const noexcept override { return seeds_; }
  [[nodiscard]] Vec3 centre() const noexcept override { return base_->centre(); }
  [[nodiscard]] double radius() const noexcept override { return base_->radius(); }
  [[nodiscard]] Aabb bounds(const Frame& X_WS) const noexcept override { return base_->bounds(X_WS); }
  [[nodiscard]] double ball_outside(const Vec3& p_S) const noexcept override { return base_->ball_inside(p_S); }
  [[nodiscard]] bool is_ellipsoid(EllipsoidForm& out) const noexcept override { return base_->is_ellipsoid(out); }
  [[nodiscard]] SmoothTopology topology() const noexcept override { return base_->topology(); }
  [[nodiscard]] SurfaceSeed at(const Vec3& w) const noexcept override { return turned(base_->at(w)); }
  [[nodiscard]] SolidMoments moments() const noexcept override { return base_->moments(); }

 private:
  static SurfacePoint swapped(const SurfacePoint& where) noexcept {
    return {where.chart, Vec2(where.uv.y(), where.uv.x())};
  }
  static SurfaceSeed turned(const SurfaceSeed& seed) noexcept { return {seed.p_S, -seed.n_S, swapped(seed.where)}; }

  std::unique_ptr<SmoothSurface> base_;
  SeedMesh seeds_;
};

}  // namespace

const char* to_string(SmoothKind kind) noexcept {
  switch (kind) {
    case SmoothKind::ellipsoid:
      return "ellipsoid";
    case SmoothKind::superellipsoid:
      return "superellipsoid";
    case SmoothKind::torus:
      return "torus";
    case SmoothKind::quadric:
      return "quadric";
    case SmoothKind::revolution:
      return "revolution";
    case SmoothKind::spline:
      return "spline";
  }
  return "unknown";
}

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

std::unique_ptr<SmoothSurface> make_cavity(std::unique_ptr<SmoothSurface> surface) {
  return std::make_unique<Cavity>(std::move(surface));
}

}  // namespace tactus
