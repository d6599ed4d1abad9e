// What the surfaces of one form have in common, and the coarse meshes all start from.
#pragma once

#include <vector>

#include "core/check.h"
#include "core/shape/mesh/triangle_mesh.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

// A closed triangle mesh of the unit sphere (icosahedron, each triangle in four, `level` times) or of the unit square
// with opposite sides joined (nu x nv).
struct LaidOutMesh {
  std::vector<Vec3> w;
  std::vector<TriangleMesh::Triangle> triangles;  // counter-clockwise seen from outside; (u, v) right-handed
};
LaidOutMesh sphere_mesh(int level);
LaidOutMesh torus_mesh(int nu, int nv);

// Points of surface.at(): 42 and 162 of a sphere, 12 x 6 and 24 x 12 of a torus.
SeedMesh surface_seeds(const SmoothSurface& surface);

// Box of a surface whose support is exact and that is its own mirror image about centre().
Aabb symmetric_bounds(const SmoothSurface& surface, const Frame& X_WS) noexcept;

// n(u, v) over six overlapping charts: the faces of a cube seen from its centre. n = w / |w|, w on the face 2 axis +
// side; regular everywhere, also between 1 and kChartEdge, where normalise() changes the chart. Su x Sv points
// outwards.
inline constexpr double kChartEdge = 1.15;
PatchJet sphere_patch(const SurfacePoint& where) noexcept;
SurfacePoint sphere_normalise(const SurfacePoint& where) noexcept;
SurfacePoint sphere_chart_of(const Vec3& w) noexcept;  // w: any length but 0

class ParametricSurface : public SmoothSurface {
 public:
  [[nodiscard]] bool parametric() const noexcept final { return true; }
  [[nodiscard]] bool has_implicit() const noexcept override { return false; }
  [[nodiscard]] ImplicitJet implicit(const Vec3& /*p_S*/) const noexcept override {
    TACTUS_ASSERT(!"F of a parametric surface");
    return {};
  }
  [[nodiscard]] const SeedMesh& seed_mesh() const noexcept final { return seeds_; }

 protected:
  void find_seeds() { seeds_ = surface_seeds(*this); }  // last in a constructor
  [[nodiscard]] SurfaceSeed seed_at(const SurfacePoint& where) const noexcept {
    const PatchJet jet = patch(where);
    return {jet.S, jet.Su.cross(jet.Sv).normalized(), where};
  }

 private:
  SeedMesh seeds_;
};

class ImplicitSurface : public SmoothSurface {
 public:
  [[nodiscard]] bool parametric() const noexcept final { return false; }
  [[nodiscard]] PatchJet patch(const SurfacePoint& /*where*/) const noexcept final {
    TACTUS_ASSERT(!"patch of an implicit surface");
    return {};
  }
  [[nodiscard]] SurfacePoint normalise(const SurfacePoint& where) const noexcept final { return where; }
  [[nodiscard]] const SeedMesh& seed_mesh() const noexcept final { return seeds_; }
  [[nodiscard]] Aabb bounds(const Frame& X_WS) const noexcept override { return symmetric_bounds(*this, X_WS); }

 protected:
  void find_seeds() { seeds_ = surface_seeds(*this); }  // last in a constructor
  // at() of a surface that each ray from its centre meets once: p is on it.
  [[nodiscard]] SurfaceSeed seed_at(const Vec3& p_S) const noexcept {
    return {p_S, implicit(p_S).grad.normalized(), {}};
  }

 private:
  SeedMesh seeds_;
};

}  // namespace tactus
