// From a contact normal to contact points: the features of both solids that face each other are projected along the
// normal and intersected; at the corners of the intersection the overlap along the normal is the depth.
#pragma once

#include "core/collide/convex/narrow_core.h"

namespace tactus {

// A planar convex polygon (count >= 3) or a line (count 2) on the surface of a core, in the work frame. A line stands
// for the side of a cylinder or capsule of the given radius.
struct Feature {
  static constexpr int kCapacity = 40;
  Vec3 p[kCapacity];
  int count = 0;
  double radius = 0;
  double rise = 0;           // the same along the contact normal, which a slanted side sees as an ellipse
  double rim_slack = 0;      // a cap with body-fixed samples: how much deeper the rim may be between them
  Vec3 nhat = Vec3::Zero();  // of the polygon, outward
};

// The polygon of the polyhedron that faces d most (d: work frame, outward). O(faces). Faces of more corners than the
// capacity are thinned evenly. near_edge >= 0: only the faces beside that edge.
void facing_polygon(const Core& core, const Vec3& d, int near_edge, Feature& out) noexcept;

// Octagon of the cap that faces d, and the side's line that faces d; empty (count 0) when it is too steep to hold more
// points than the deepest.
void facing_cap(const Core& core, const Vec3& d, Feature& out) noexcept;
void facing_side(const Core& core, const Vec3& d, Feature& out) noexcept;

// The point of core a's edge where it passes the line of half vector u through c.
Vec3 edge_crossing(const Core& a, int edge, const Vec3& c, const Vec3& u) noexcept;

// Gathers the points of one pair in the work frame.
class PointGatherer {
 public:
  // n: unit, from b into a; scale: a length of the pair, for tolerances.
  PointGatherer(const Vec3& n, double overlap, double scale) noexcept;

  // Adds the points where a's and b's features overlap by more than nothing.
  void intersect(const Feature& a, const Feature& b) noexcept;
  // Adds the place where both would touch last, when the points so far miss the full depth. p_a: that point on a's
  // surface.
  void ensure_deepest(const Vec3& p_a) noexcept;
  void write(const Frame& X_WA, ContactBuffer& out) const noexcept;
  [[nodiscard]] int count() const noexcept { return count_; }

 private:
  struct Point {
    double u, v, z, depth;  // z: middle between both surfaces
  };
  struct Line {  // projected
    Vec3 p, q;
    double radius, rise;
  };
  void add(double u, double v, double z_a, double z_b) noexcept;
  void line_on_polygon(const Feature& line, const Feature& polygon, bool line_is_a) noexcept;
  void line_along_line(const Line& a, const Line& b) noexcept;
  void polygon_on_polygon(const Feature& a, const Feature& b) noexcept;
  [[nodiscard]] Vec3 project(const Vec3& p) const noexcept { return {t1_.dot(p), t2_.dot(p), n_.dot(p)}; }

  static constexpr int kMaxPoints = 96;
  Vec3 n_, t1_, t2_;
  double overlap_, scale_, deepest_ = 0, slack_ = 0;
  Point points_[kMaxPoints];
  int count_ = 0;
};

}  // namespace tactus
