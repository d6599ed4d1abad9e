// One side of a pair as the solver of extremal points sees it: a feature, where on it we are, and what it looks like
// there to second order. Work frame: the smooth body B's shape frame.
#pragma once

#include "core/collide/convex/narrow_core.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/shape/smooth/smooth_surface.h"

namespace tactus {

// Symmetric 2 x 2 in the tangent basis, and a vector there.
struct Form2 {
  double xx = 0, xy = 0, yy = 0;
};
struct Pair2 {
  double x = 0, y = 0;
};

class ExtremalFeature {
 public:
  enum class Kind : std::uint8_t { implicit, patch, plane, side, circle, line, point };

  // A surface at pose (R, p) in the work frame, starting at the point `side` (feature < 0: not valid yet).
  void set_surface(const SmoothSurface& surface, const Mat3& R, const Vec3& p) noexcept;
  void set_surface(const SmoothSurface& surface) noexcept;                      // the work frame is its own
  void set_plane(const Vec3& p, const Vec3& nhat) noexcept;                     // outward unit normal
  void set_side(const Vec3& c, const Vec3& axis, double radius) noexcept;       // of a cylinder, starting at start()
  void set_circle(const Vec3& c, const Vec3& axis, double radius) noexcept;     // a cylinder's rim
  void set_line(const Vec3& p, const Vec3& along, const Vec3& start) noexcept;  // unit; starts at the foot of `start`
  void set_point(const Vec3& p) noexcept;
  // Where to start, in the work frame; on surfaces in their own frame, see place().
  void start(const Vec3& p) noexcept { p_ = p; }
  void place(const ExtremalSide& side) noexcept;  // surfaces: at the remembered point
  void place(const SurfaceSeed& seed) noexcept;
  // Surfaces: where the outward normal is n (work frame): by support, for surfaces with a form to project on.
  void place_towards(const Vec3& n) noexcept;
  void remember(ExtremalSide& side) const noexcept;
  // Surfaces: the farthest point along n (work frame), likely to be p, which is on it and where its normal is n.
  [[nodiscard]] Vec3 farthest(const Vec3& n, const Vec3& p) const noexcept;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] int dim() const noexcept { return kind_ <= Kind::side ? 2 : (kind_ == Kind::point ? 0 : 1); }
  [[nodiscard]] const SmoothSurface* surface() const noexcept { return surface_; }
  [[nodiscard]] const SurfacePoint& where() const noexcept { return where_; }  // parametric surfaces
  // Surfaces: the place where the features were last, to first order.
  [[nodiscard]] SurfaceSeed seed() const noexcept { return {kind_ == Kind::patch ? jet_.S : p_S_, n_S_, where_}; }

  // Point, outward unit normal (dim 2), tangent (dim 1), distance to the surface along the normal, to first order.
  void evaluate() noexcept;
  [[nodiscard]] const Vec3& p() const noexcept { return p_; }
  [[nodiscard]] const Vec3& n() const noexcept { return n_; }
  [[nodiscard]] const Vec3& along() const noexcept { return n_; }  // dim 1
  [[nodiscard]] double eta() const noexcept { return eta_; }
  // Change of the outward normal with a step x in (t1, t2): k x + w eta. dim 2.
  void curvature(const Vec3& t1, const Vec3& t2, Form2& k, Pair2& w) noexcept;
  // Second derivative along n of the position on a curve. dim 1.
  [[nodiscard]] double bend(const Vec3& n) const noexcept;
  // Parametric surfaces: (u, v) by the (t1, t2) that curvature() was asked for, unless the chart has changed since.
  void parameters(ExtremalForm& out) const noexcept;
  // A step x in the (t1, t2) that curvature() was asked for, and onto the surface; on a curve x.x along it.
  void move(const Vec3& t1, const Vec3& t2, const Pair2& x) noexcept;

 private:
  [[nodiscard]] Vec3 to_S(const Vec3& v) const noexcept { return own_ ? v : Vec3(R_.transpose() * v); }
  void place_in_work(const Vec3& p_S) noexcept;

  Kind kind_ = Kind::point;
  bool own_ = false;  // S is the work frame: nothing to turn
  const SmoothSurface* surface_ = nullptr;
  Mat3 R_ = Mat3::Identity();  // surfaces
  Vec3 X_p_ = Vec3::Zero();
  Vec3 p_S_ = Vec3::Zero();  // implicit
  SurfacePoint where_;       // patch
  std::int32_t chart_ = 0;   // of jet_
  Vec3 c_ = Vec3::Zero(), axis_ = Vec3::Zero();
  double radius_ = 0;

  Vec3 p_ = Vec3::Zero(), n_ = Vec3::Zero();
  double eta_ = 0, inv_grad_ = 0;
  Vec3 n_S_ = Vec3::Zero();
  Mat3 hess_ = Mat3::Zero();
  PatchJet jet_;
  Vec3 t1_S_ = Vec3::Zero(), t2_S_ = Vec3::Zero();  // of curvature(), implicit
  double du1_ = 0, du2_ = 0, dv1_ = 0, dv2_ = 0;    // of curvature(), patch: (u, v) by (t1, t2)
};

}  // namespace tactus
