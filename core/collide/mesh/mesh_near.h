// The solver of extremal points at one feature of a mesh after the other. Work frame: that of the smooth surface.
#pragma once

#include "core/collide/mesh/mesh_solid.h"
#include "core/collide/smooth/extremal_search.h"

namespace tactus {

class MeshNear {
 public:
  MeshNear(const MeshSolid& mesh, const SmoothSurface& surface) noexcept;

  // From the remembered points, from feature to feature. False: no place there.
  bool follow(const ExtremalSide& on_mesh, const ExtremalSide& on_surface) noexcept;
  // The two points that are remembered, as they lie to each other now: no root.
  bool hold(const ExtremalSide& on_mesh, const ExtremalSide& on_surface) noexcept;
  // From a place of the surface at one feature; start: on it. False: none that lies on it.
  bool look(std::int32_t feature, const Vec3& start, const SurfaceSeed& seed) noexcept;
  // The same from the surface's farthest point along n.
  bool look_towards(std::int32_t feature, const Vec3& start, const Vec3& n) noexcept;
  // Newton's method alone: a root, wherever on the feature's line or plane; and where the surface is there.
  bool solve(std::int32_t feature, const Vec3& start, const SurfaceSeed& seed) noexcept;
  bool solve_towards(std::int32_t feature, const Vec3& start, const Vec3& n) noexcept;
  [[nodiscard]] bool solved() const noexcept { return solved_; }  // the last one
  // At an edge, by nearest points in turn first: of the surface to the edge's, and of the edge to the surface's. Given
  // up where they are still farther than `most` apart.
  bool look_in_turn(std::int32_t edge, const Vec3& start, const SurfaceSeed& seed, double most) noexcept;
  // The surface's nearest place to p, from a seed: root(), seed().
  bool foot(const Vec3& p, const SurfaceSeed& seed) noexcept;
  // Is the root a place: where the two are near, and none on a far side? Its feature must hold it.
  [[nodiscard]] bool is_place() const noexcept;

  [[nodiscard]] const ExtremalRoot& root() const noexcept { return root_; }
  [[nodiscard]] std::int32_t feature() const noexcept { return feature_; }
  [[nodiscard]] double scale() const noexcept { return scale_; }
  [[nodiscard]] SurfaceSeed seed() const noexcept { return on_surface_.seed(); }
  void remember(ExtremalSide& on_mesh, ExtremalSide& on_surface) const noexcept;
  // In W, from the surface (B) into the mesh (A).
  [[nodiscard]] ExtremalPair pair(const Frame& X_WS) const noexcept;

 private:
  [[nodiscard]] bool fits() const noexcept;
  [[nodiscard]] bool overlaps_there() const noexcept;
  bool solve_here(std::int32_t feature, const Vec3& start) noexcept;
  bool holds_root() noexcept;

  const MeshSolid& mesh_;
  const SmoothSurface& surface_;
  double scale_;
  ExtremalFeature on_mesh_, on_surface_;
  std::int32_t feature_ = -1;
  bool solved_ = false;
  ExtremalRoot root_;
  std::uint32_t iterations_ = 0;
};

// The mesh and the surface of a pair, whichever stands first.
struct MeshSmoothPair {
  const Shape &mesh, &smooth;
  const Frame &X_WM, &X_WS;
  bool turned;  // the smooth shape stands first

  MeshSmoothPair(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) noexcept
      : mesh(a.kind == ShapeKind::mesh ? a : b),
        smooth(a.kind == ShapeKind::mesh ? b : a),
        X_WM(a.kind == ShapeKind::mesh ? X_WA : X_WB),
        X_WS(a.kind == ShapeKind::mesh ? X_WB : X_WA),
        turned(a.kind != ShapeKind::mesh) {}
  [[nodiscard]] MeshSolid solid() const noexcept;
  [[nodiscard]] const SmoothSurface& surface() const noexcept { return *smooth.smooth; }
};

}  // namespace tactus
