#include "core/shape/smooth/smooth_tessellate.h"

#include <algorithm>
#include <cmath>

#include "core/shape/smooth/smooth_base.h"

namespace tactus {

namespace {

SmoothTriangles lay_out(const SmoothSurface& surface, LaidOutMesh& mesh) {
  SmoothTriangles out;
  out.vertices.reserve(mesh.w.size());
  for (const Vec3& w : mesh.w) out.vertices.push_back(surface.at(w).p_S);
  out.triangles = std::move(mesh.triangles);
  if (surface.cavity())
    for (auto& [a, b, c] : out.triangles) std::swap(b, c);
  return out;
}

// How far the surface is from the middle of the chord between two points of the layout that are next to each other.
double bulge(const SmoothSurface& surface, const Vec3& p, const Vec3& q, const Vec3& middle) {
  const SurfaceSeed s = surface.at(middle);
  return std::abs(s.n_S.dot(s.p_S - 0.5 * (p + q)));
}

SmoothTriangles tessellate_sphere(const SmoothSurface& surface, double tolerance, std::size_t most) {
  for (int level = 2;; ++level) {
    LaidOutMesh mesh = sphere_mesh(level);
    const std::vector<Vec3> w = mesh.w;
    SmoothTriangles out = lay_out(surface, mesh);
    for (const auto& t : out.triangles)
      for (int k = 0; k < 3; ++k) {
        const std::uint32_t a = t[static_cast<std::size_t>(k)], b = t[static_cast<std::size_t>((k + 1) % 3)];
        if (a > b) continue;  // each edge once
        out.error = std::max(out.error, bulge(surface, out.vertices[a], out.vertices[b], (w[a] + w[b]).normalized()));
      }
    if (out.error <= tolerance || 4 * out.triangles.size() > most) return out;
  }
}

SmoothTriangles tessellate_torus(const SmoothSurface& surface, double tolerance, std::size_t most) {
  for (int nu = 16, nv = 16;;) {
    LaidOutMesh mesh = torus_mesh(nu, nv);
    const std::vector<Vec3> w = mesh.w;
    SmoothTriangles out = lay_out(surface, mesh);
    double along_u = 0, along_v = 0;
    for (int i = 0; i < nu; ++i)
      for (int j = 0; j < nv; ++j) {
        const auto index = [&](int a, int b) { return static_cast<std::size_t>((a % nu) * nv + b % nv); };
        const std::size_t here = index(i, j);
        const Vec3 &p = out.vertices[here], half_u(0.5 / nu, 0, 0), half_v(0, 0.5 / nv, 0);
        along_u = std::max(along_u, bulge(surface, p, out.vertices[index(i + 1, j)], w[here] + half_u));
        along_v = std::max(along_v, bulge(surface, p, out.vertices[index(i, j + 1)], w[here] + half_v));
        out.error =
            std::max(out.error, bulge(surface, p, out.vertices[index(i + 1, j + 1)], w[here] + half_u + half_v));
      }
    out.error = std::max({out.error, along_u, along_v});
    if (out.error <= tolerance || 2 * out.triangles.size() > most) return out;
    (along_u > along_v ? nu : nv) *= 2;
  }
}

}  // namespace

SmoothTriangles tessellate(const SmoothSurface& surface, double tolerance, std::size_t most) {
  return surface.topology() == SmoothTopology::sphere ? tessellate_sphere(surface, tolerance, most)
                                                      : tessellate_torus(surface, tolerance, most);
}

}  // namespace tactus
