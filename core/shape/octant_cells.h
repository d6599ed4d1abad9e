// A convex surface that is its own mirror image in all three planes of its axes, in cells: what lies over a cell of
// directions is held by the origin and four points of a tangent plane.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/shape/smooth_surface.h"

namespace tactus {

class OctantCells {
 public:
  OctantCells() = default;
  // Implicit, about the origin; directions are counted in `radii`.
  OctantCells(const SmoothSurface& surface, const Vec3& radii);

  // Does all of the surface lie in e, but for what is in the octant of p, each coordinate not smaller than `known` of
  // p's? There it is known to.
  [[nodiscard]] bool lie_in(const InnerForm& e, const Vec3& p, double known) const noexcept;

 private:
  static constexpr int kDepth = 6;
  static constexpr double kEnough = 3e-4;  // what a cell's points may reach beyond the surface by, of its size
  struct Cell {                            // a square of directions, and its four quarters after it
    std::array<double, 4> x, y, z;
    Vec3 least = Vec3::Zero();  // of the surface's coordinates
    std::int32_t end = 0;       // the first cell after its quarters
    bool whole = true;          // it has none
  };
  void divide(const SmoothSurface& surface, const Vec3& radii, int axis, const Vec2& lo, double side, int depth);

  std::vector<Cell> cells_;
};

}  // namespace tactus
