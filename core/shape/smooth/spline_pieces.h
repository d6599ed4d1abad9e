// A torus of bicubic patches in pieces, each within the hull of its 16 Bezier points, and balls around more and more of
// them: what proves that all of the surface lies in an ellipsoid that it touches.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/shape/smooth/normal_cells.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

struct WhiteForm;

class SplinePieces {
 public:
  SplinePieces() = default;
  // control[i nv + j], periodic both ways: the patch over [i, i + 1] x [j, j + 1] is made by i - 1 to i + 2 and so on.
  SplinePieces(const std::vector<Vec3>& control, int nu, int nv);

  // Does all of it lie in e, which it touches from within at `at`? There the form of e is 1 and level, and falls from
  // there on as far as the cells of normals reach that are not in e. beyond: of such a cell that is far from there.
  [[nodiscard]] bool lie_in(const InnerForm& e, const SurfaceSeed& at, SurfaceSeed& beyond) const noexcept;
  // Is no point of it higher along n than p, which is at uv and has the normal n, but for those in far hulls?
  [[nodiscard]] bool lie_below(const Vec3& n, const Vec3& p, const Vec2& uv, const FarFromHull& far) const noexcept;
  // The farthest Bezier point.
  [[nodiscard]] Vec3 farthest(const Vec3& d) const noexcept;
  // Cells in whose points p all of it is lower than p along p's normal (spline_hull.cc): rectangles of (u, v) in rows.
  struct HullCells {
    int parts = 1, nv = 0;  // of a unit of u and of v; in a row
    std::vector<bool> on_hull;
    [[nodiscard]] bool hold(const Vec2& uv) const noexcept {
      const auto i = static_cast<std::size_t>(parts * uv.x()) * static_cast<std::size_t>(nv) +
                     static_cast<std::size_t>(parts * uv.y());
      return i < on_hull.size() && on_hull[i];
    }
  };
  [[nodiscard]] HullCells hull_cells() const;  // for loading

 private:
  static constexpr int kParts = 2;                 // of a patch, each way
  static constexpr double kBeside = 1.5;           // from the touch, where a cell may be too large to tell
  static constexpr int kCoarse = 144;              // patches at most that are held by cells of normals
  static constexpr int kPlaceDepth = 3;            // parts of a piece, 2^: how exactly it is known what cells touch
  static constexpr double kFarthest = 0.75;        // patches from the touch, what is still about it
  static constexpr int kHigher = 128, kTries = 8;  // pieces that may be higher, and how often hulls of them are tried
  struct Piece {
    std::array<double, 16> x, y, z;  // [4 i + j]
  };
  struct Group {  // a rectangle of pieces; the groups within it follow
    Vec3 centre = Vec3::Zero();
    double radius = 0;
    std::int32_t end = 0;    // the first group after those within it
    std::int32_t piece = 0;  // -1: more than one
    std::int32_t patch = 0;  // -1: not the pieces of one patch
  };
  struct HullSearch;
  struct Some;
  struct Highest;
  struct Form;  // of e, or a height, on a piece
  struct Top;
  struct Heights;
  struct AsHull;
  struct Window {  // about the touch, in patches
    Vec2 lo = Vec2::Zero(), hi = Vec2::Zero();
  };
  struct Borders {  // by how much a window lies beyond a patch's
    double before_u, behind_u, before_v, behind_v;
  };
  [[nodiscard]] double highest(const Vec3& n) const;
  [[nodiscard]] NormalCells::Place touched(const std::array<Vec3, 3>& corners) const;
  void find_jumps(const std::vector<Vec3>& control, int nu, int nv);
  [[nodiscard]] bool groups_lie_in(const InnerForm& e, const Vec2& uv) const noexcept;
  [[nodiscard]] bool falls_about(const WhiteForm& e, const Vec2& uv, const Window& window) const noexcept;
  // Of the squares of the steps of u and v: what the patch' neighbours add.
  [[nodiscard]] Vec2 of_neighbours(int i, int j, const Borders& over, const Window& window, const Vec3& slope,
                                   double beside, double stretch) const noexcept;
  [[nodiscard]] bool pieces_lie_in(const InnerForm& e, const WhiteForm& white, const Vec2& uv,
                                   const Window& window) const noexcept;
  [[nodiscard]] static Piece as_powers(const Piece& bezier) noexcept;
  void gather(int i0, int i1, int j0, int j1);
  [[nodiscard]] Vec2 seen_from(std::int32_t piece, const Vec2& uv) const noexcept;
  [[nodiscard]] static bool inside(const Piece& piece, const WhiteForm& e) noexcept;
  [[nodiscard]] static Vec3 point_of(const Piece& piece, const Vec2& uv) noexcept;

  int nu_ = 0, nv_ = 0;  // pieces
  std::vector<Piece> pieces_, patches_;
  std::vector<Piece> powers_;  // patches: what u^i v^j are multiplied by, u and v from 0 to 1
  std::vector<Group> groups_;
  struct Jump {  // of a third derivative, between patches
    Vec3 by = Vec3::Zero();
    double length = 0;
  };
  std::vector<Jump> jumps_u_, jumps_v_;  // [i nv + j]: of u where it is i, j a control point's; of v where it is j
  NormalCells hull_;
};

}  // namespace tactus
