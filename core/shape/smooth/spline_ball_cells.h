// What is found of a spline ball when it is built, so that on the tick nothing has to be searched for: where it lies on
// its own convex hull, and cells of normals, which prove that all of it lies in an ellipsoid that it touches.
#pragma once

#include <array>
#include <vector>

#include "core/shape/smooth/normal_cells.h"
#include "core/shape/smooth/spline_lattice.h"

namespace tactus {

class SplineBallCells {
 public:
  SplineBallCells() = default;
  SplineBallCells(const SmoothSurface& ball, const SplineLattice& lattice);

  // Is the point certainly the farthest along its own normal? Asked, when it was built, of points all around it.
  [[nodiscard]] bool on_hull(const SurfacePoint& at) const noexcept;
  // Does all of the ball lie in e, which it touches from within at `at`? As far from there as cells of normals reach
  // that are not in e, the form of e falls: it is level there, and its second derivatives, which are negative, do not
  // change faster than the lattice bends. beyond: of a cell that is far from there.
  [[nodiscard]] bool lie_in(const SplineLattice& lattice, const InnerForm& e, const SurfaceSeed& at,
                            SurfaceSeed& beyond) const noexcept;

 private:
  void find_hull(const SmoothSurface& ball, std::size_t parts);

  NormalCells hull_;      // places: unit w and an angle about it
  std::size_t side_ = 0;  // cells each way of a chart
  std::vector<bool> on_hull_;
};

}  // namespace tactus
