// Shapes that own their smooth surfaces, and extremal points of two bodies with nothing remembered.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/collide/smooth/extremal_points.h"
#include "core/shape/shape.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus::test {

class OwnedShapes {
 public:
  Shape add(std::unique_ptr<SmoothSurface> surface) {
    REQUIRE(surface != nullptr);
    surfaces_.push_back(std::move(surface));
    return make_smooth(surfaces_.back().get());
  }

 private:
  std::vector<std::unique_ptr<SmoothSurface>> surfaces_;
};

inline ExtremalPair from_nothing(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) {
  ExtremalSide side_a, side_b;
  return extremal_points(a, X_WA, b, X_WB, side_a, side_b);
}

}  // namespace tactus::test
