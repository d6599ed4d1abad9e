// Closed surfaces without boundary, twice differentiable: what curved contact needs of a shape (Baraff 1990, sections 4
// to 7). Frame S is the shape's own. A surface is given as F(p) = 0, F < 0 inside, or as S(u, v) over one or more
// charts. What uses it: collide/smooth/extremal_points.h.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/math/spatial.h"
#include "core/shape/shape.h"
#include "core/shape/smooth/ellipsoid_form.h"
#include "core/shape/solid_moments.h"

namespace tactus {

using Vec2 = Eigen::Vector2d;

enum class SmoothKind : std::uint8_t { ellipsoid, superellipsoid, torus, quadric, revolution, spline };
const char* to_string(SmoothKind kind) noexcept;

// F and its derivatives at a point of S. F need not be a distance; |grad| > 0 on the surface.
struct ImplicitJet {
  double F = 0;
  Vec3 grad = Vec3::Zero();  // outward on the surface
  Mat3 hess = Mat3::Zero();
};

// Where on a parametric surface: charts overlap, so that near every point there is one without a singularity.
struct SurfacePoint {
  std::int32_t chart = 0;
  Vec2 uv = Vec2::Zero();
};

struct PatchJet {  // Su x Sv points outwards
  Vec3 S, Su, Sv, Suu, Suv, Svv;
};

// How the whole surface is laid out: on unit vectors w, or on the unit square (u, v, -) whose opposite sides are one.
enum class SmoothTopology : std::uint8_t { sphere, torus };

// A point of the coarse mesh that solvers start from.
struct SurfaceSeed {
  Vec3 p_S, n_S;       // on the surface, unit outward normal
  SurfacePoint where;  // parametric surfaces only
};

// Points of a surface at two spacings, always in the same order. Of the fine ones each is in the cell of the nearest
// coarse one, which is among them: what is far from that by more than the cell's radius needs no look at them.
struct SeedMesh {
  struct Cell {                          // of coarse[i]
    std::uint32_t first = 0, count = 0;  // of fine
    double radius = 0;                   // how far the farthest of them is [m]
  };
  std::vector<SurfaceSeed> coarse, fine;  // about half and a quarter of the size apart, at most
  std::vector<Cell> cells;
  [[nodiscard]] std::span<const SurfaceSeed> fine_of(std::size_t i) const noexcept {
    return std::span<const SurfaceSeed>(fine).subspan(cells[i].first, cells[i].count);
  }
};

// What a convex hull, given by its farthest points, may be far from.
class FarFromHull {
 public:
  using Support = Vec3 (*)(const void* hull, const Vec3& d) noexcept;
  virtual ~FarFromHull() = default;
  [[nodiscard]] virtual bool ball(const Vec3& centre, double radius) const noexcept = 0;  // quick
  [[nodiscard]] virtual bool hull(Support support, const void* hull) const noexcept = 0;
};

// Constant once built (scene/ builds and checks, so that nothing here throws); owned by the Model, outlives the World.
class SmoothSurface {
 public:
  virtual ~SmoothSurface() = default;
  SmoothSurface() = default;
  SmoothSurface(const SmoothSurface&) = delete;
  SmoothSurface& operator=(const SmoothSurface&) = delete;

  [[nodiscard]] virtual SmoothKind kind() const noexcept = 0;
  // The form that the solver takes: eq. 9 of the paper, or eq. 56. A surface may have both.
  [[nodiscard]] virtual bool parametric() const noexcept = 0;
  // Convex: a global least distance is unique and can be proved. False also for a cavity.
  [[nodiscard]] virtual bool convex() const noexcept = 0;
  // The solid is outside of the surface: a bowl. Normals point into the hollow; F < 0 in the solid.
  [[nodiscard]] virtual bool cavity() const noexcept { return false; }
  // Of a cavity: is the hollow convex? Then of what has corners or rims only those touch its wall.
  [[nodiscard]] virtual bool hollow_is_convex() const noexcept { return false; }

  // Of surfaces that are not parametric(); of others where they have F (has_implicit()), else asserted.
  [[nodiscard]] virtual bool has_implicit() const noexcept { return !parametric(); }
  [[nodiscard]] virtual ImplicitJet implicit(const Vec3& p_S) const noexcept = 0;
  // Of surfaces that are parametric(), else asserted. uv outside of its chart is wrapped or clamped by normalise().
  [[nodiscard]] virtual PatchJet patch(const SurfacePoint& where) const noexcept = 0;
  // Wraps periodic parameters, and moves near a chart's edge or singularity to the chart where the point is regular.
  [[nodiscard]] virtual SurfacePoint normalise(const SurfacePoint& where) const noexcept = 0;

  // Farthest point along d_S (need not be unit); of one that is not convex, of its hull. A cavity's: of the hollow.
  [[nodiscard]] virtual Vec3 support(const Vec3& d_S) const noexcept = 0;
  // The same, told of a place of the surface where its normal is d_S, which is likely to be it: quicker.
  [[nodiscard]] virtual Vec3 support_beyond(const Vec3& d_S, const Vec3& /*p_S*/) const noexcept {
    return support(d_S);
  }
  // Farthest point along d_S of something convex that holds the surface and is hardly larger: quick.
  [[nodiscard]] virtual Vec3 outer_support(const Vec3& d_S) const noexcept { return support(d_S); }
  // Some points of the surface, at least 24 coarse ones.
  [[nodiscard]] virtual const SeedMesh& seed_mesh() const noexcept = 0;
  [[nodiscard]] std::span<const SurfaceSeed> seeds() const noexcept { return seed_mesh().coarse; }
  // Centre and radius of a ball around the surface, in S [m].
  [[nodiscard]] virtual Vec3 centre() const noexcept = 0;
  [[nodiscard]] virtual double radius() const noexcept = 0;
  // Axis-aligned bounds of the surface at X_WS: exact, but for splines: of their box along
  // the axes of S.
  [[nodiscard]] virtual Aabb bounds(const Frame& X_WS) const noexcept = 0;

  // Radii of balls that touch at a point of the surface, which prove a nearest place to be the only one: the largest
  // that lies in the solid, and the least that holds it (of convex ones), and the largest that meets the solid nowhere
  // else from outside. Not known: 0, infinity and 0 [m].
  [[nodiscard]] virtual double ball_inside(const Vec3& /*p_S*/) const noexcept { return 0; }
  [[nodiscard]] virtual double ball_around(const Vec3& /*p_S*/) const noexcept {
    return std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] virtual double ball_outside(const Vec3& /*p_S*/) const noexcept { return 0; }
  // Is `at` certainly the surface's farthest point along its own normal: on its hull? Quick; false: not known.
  [[nodiscard]] virtual bool on_hull(const SurfaceSeed& /*at*/) const noexcept { return convex() && !cavity(); }
  // The ellipsoid that the surface is: of bowls, the hollow. False: none.
  [[nodiscard]] virtual bool is_ellipsoid(EllipsoidForm& /*out*/) const noexcept { return false; }
  // Does all of the surface lie in the ellipsoid e (in S), which it touches at `at` from within? False: not proved;
  // beyond: a place that seems to be outside, where its normal is not zero.
  [[nodiscard]] virtual bool lies_in(const InnerForm& /*e*/, const SurfaceSeed& /*at*/,
                                     SurfaceSeed& /*beyond*/) const noexcept {
    return false;
  }
  // Is no point of the surface higher along n_S than `at`, whose normal that is, but for those in hulls that are
  // far? False: not proved.
  [[nodiscard]] virtual bool lies_below(const Vec3& /*n_S*/, const SurfaceSeed& /*at*/,
                                        const FarFromHull& /*far*/) const noexcept {
    return convex() && !cavity();
  }

  // What loading, drawing and tests need; not for the tick.
  [[nodiscard]] virtual SmoothTopology topology() const noexcept = 0;
  // A continuous map of the sphere or torus of topology() onto the surface, one to one.
  [[nodiscard]] virtual SurfaceSeed at(const Vec3& w) const noexcept = 0;
  // Of the region within the surface (a cavity's: of the hollow), about centre().
  [[nodiscard]] virtual SolidMoments moments() const noexcept = 0;
};

}  // namespace tactus
