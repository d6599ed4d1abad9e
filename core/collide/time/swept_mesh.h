// Meshes over a step: first_touch() of swept_pair.h triangle by triangle, those near the way found by the trees.
#pragma once

#include "core/collide/time/swept_pair.h"
#include "core/shape/convex_hull.h"

namespace tactus {

// A triangle of a mesh: by itself, and with what is solid under it.
class SweptFacet {
 public:
  SweptFacet();
  void set(const TriangleMesh& mesh, std::uint32_t triangle, double depth) noexcept;
  [[nodiscard]] const ConvexHull& flat() const noexcept { return flat_; }
  [[nodiscard]] const ConvexHull& solid() const noexcept { return solid_; }
  [[nodiscard]] const Vec3& nhat_S() const noexcept { return solid_.faces[0].nhat; }

 private:
  ConvexHull flat_, solid_;  // corners only; a prism
};

// Room for one pair at a time; sized once.
class MeshSweep {
 public:
  // a: convex, not smooth nor a half-space, or a mesh; b: a mesh. The same rule as first_touch(). `deepest` is a
  // quarter of the half thickness. A triangle stops what comes from its outer side, along its normal, or at an edge
  // that sticks out along the least distance. What touches the mesh anywhere at t = 0 may overlap it everywhere as
  // deep as it does there: else a ball that rolls would be stopped at each edge between two triangles. Its cost grows
  // with the number of triangles near the way; after kMostWork pairs of boxes and triangles the rest is not looked at,
  // and `unknown` counts one.
  SweptTouch first_touch(const SweptShape& a, const SweptShape& b, double slack, double deepest,
                         double until = 1) noexcept;
  static constexpr std::uint32_t kMostWork = 20000;

 private:
  struct Part;
  struct Rule {
    double slack, deepest;
    bool touching = false;  // anywhere at t = 0
    double depth = 0;       // the deepest then
  };
  void find_start(const SweptShape& a, const SweptShape& b, Rule& rule, bool& whole) noexcept;
  SweptTouch touch_parts(const Part& a, const Part& b, const Rule& rule, double until) noexcept;

  SweptFacet facet_a_, facet_b_;
};

}  // namespace tactus
