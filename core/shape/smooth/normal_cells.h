// A body's hull in cells of its normals: along each direction of a cell the hull reaches no farther than one ball does.
// What holds the balls' centres, as deep as their radius, holds the body: one point for each cell, and few cells, as
// balls bend as the hull does.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/shape/smooth/white_form.h"

namespace tactus {

class NormalCells {
 public:
  static constexpr std::size_t kMost = 2048;  // that are looked at, of each kind
  using Place = std::array<float, 4>;
  // The next one in single precision that is not less.
  [[nodiscard]] static float above(double x) noexcept {
    const auto near = static_cast<float>(x);
    return near < x ? std::nextafter(near, std::numeric_limits<float>::infinity()) : near;
  }
  // What the constructor asks of a body; not kept.
  class Body {
   public:
    // How far the hull reaches along n: convex and homogeneous, not below the truth.
    [[nodiscard]] virtual double highest(const Vec3& n) const = 0;
    // Where on the body something is farthest along a direction of the cone over three.
    [[nodiscard]] virtual Place place(const std::array<Vec3, 3>& corners) const = 0;
    double size;
    double enough;   // of the size: what a cell's planes may leave beyond the hull, and half of what its ball may
    bool symmetric;  // its own mirror image in all planes of its axes: cells of one octant only

   protected:
    Body(double of_size, double of_enough, bool is_symmetric)
        : size(of_size), enough(of_enough), symmetric(is_symmetric) {}
    ~Body() = default;
  };
  NormalCells() = default;
  explicit NormalCells(const Body& body);

  [[nodiscard]] bool empty() const noexcept { return fours_.empty(); }
  [[nodiscard]] double radius() const noexcept { return radius_; }
  [[nodiscard]] double farthest() const noexcept { return farthest_; }  // of the centres' coordinates
  // Cells that have nothing within and whose centres may be outside e. False: too many.
  struct Open {
    std::array<std::int32_t, kMost + 4> cells;
    std::size_t count = 0;
  };
  [[nodiscard]] bool find_open(const FourForm& e, Open& out) const noexcept;
  // Of symmetric bodies: in which octants that may find any. Bit 1: x < 0, 2: y < 0, 4: z < 0, of their number.
  [[nodiscard]] std::uint32_t octants_beyond(const FourForm& e) const noexcept;
  // Are they held otherwise: tips in e, or centres in other ellipsoids of deeper's kind? All mirrored by `sign`; false:
  // the first that is left is not.
  [[nodiscard]] bool others_hold(const InnerForm& e, const InnerForm& deeper, const Vec3& sign,
                                 Open& open) const noexcept;
  [[nodiscard]] const Place& place(std::int32_t cell) const noexcept { return places_[static_cast<std::size_t>(cell)]; }
  [[nodiscard]] Vec3 centre(std::int32_t cell) const noexcept {
    const Four& four = fours_[static_cast<std::size_t>(cell / 4)];
    const auto k = static_cast<std::size_t>(cell % 4);
    return {four.x[k], four.y[k], four.z[k]};
  }

 private:
  static constexpr int kDepth = 9;  // of fours; the first of an octant is always looked at
  struct alignas(64) Four {         // floats: what rounding them may do is counted
    std::array<float, 4> x, y, z;
    std::int32_t within = 0;            // cell k of `inner` has the four `within` + k
    std::uint8_t inner = 0, whole = 0;  // a bit for each cell that has a four within, and has nothing within
  };
  struct Corner {
    Vec3 n;
    double height = 0;
    std::uint32_t index = 0;
  };
  using Cell = std::array<Corner, 3>;
  struct Builder;

  void drop_tips(const FourForm& e, Open& open) const noexcept;

  std::vector<Four> fours_;
  std::vector<Place> places_;  // of cells that have nothing within
  struct FourTips {            // of those: where the planes of the corners meet, not lower than anything there
    std::array<float, 4> x, y, z;
  };
  std::vector<FourTips> tips_;
  bool symmetric_ = false;
  double radius_ = 0, farthest_ = 0, farthest_tip_ = 0;
};

}  // namespace tactus
