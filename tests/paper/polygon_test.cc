// Drumwright Figures 4 and 5: which points of an overlap are on its bottom, and the polygon that finds them, step by
// step as the paper prints it, beside ours (core/contact/bottom_points).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/contact/bottom_points.h"
#include "tests/paper/paper_output.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Scene;
using Points = std::vector<ContactPoint>;
using Indices = std::vector<std::uint32_t>;

Indices bottom(const Points& points) {
  const auto n = static_cast<std::uint32_t>(points.size());
  Arena arena(2 * bottom_points_scratch(n));
  Indices out(n);
  out.resize(bottom_points(Vec3::UnitZ(), points.data(), n, 0, out.data(), arena));
  return out;
}

// III-A as printed: points in descending depth; a fan of the points kept so far, sorted by their signed angle about the
// comparator (the deepest point); a candidate is put in its place by binary search when it lies outside.
class PaperPolygon {
 public:
  explicit PaperPolygon(const Points& points) : points_(points), order(points.size()) {
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto i, auto j) { return points[i].depth > points[j].depth; });
  }
  // Signed angle from the vertical axis to the line from the comparator to the point.
  [[nodiscard]] double angle(std::uint32_t i) const {
    const Vec3 d = points_[i].p_WC - points_[order[0]].p_WC;
    return std::atan2(d.x(), d.y());
  }
  // True: the point is outside the polygon of those before it, and is now one of its corners.
  bool offer(std::uint32_t i) {
    const auto less = [this](std::uint32_t a, std::uint32_t b) { return angle(a) < angle(b); };
    const auto place = std::lower_bound(fan.begin(), fan.end(), i, less);
    if (fan.size() >= 2) {
      const std::uint32_t after = place == fan.end() ? fan.front() : *place;
      const std::uint32_t before = place == fan.begin() ? fan.back() : *(place - 1);
      if (inside(before, after, i)) return false;
    }
    fan.insert(place, i);
    return true;
  }

 private:
  // In the triangle of the comparator and its two neighbours by angle; a gap of half a turn or more is outside.
  [[nodiscard]] bool inside(std::uint32_t before, std::uint32_t after, std::uint32_t i) const {
    const Vec3 c = points_[order[0]].p_WC, a = points_[before].p_WC - c, b = points_[after].p_WC - c,
               p = points_[i].p_WC - c;
    const auto cross = [](const Vec3& u, const Vec3& v) { return u.x() * v.y() - u.y() * v.x(); };
    if (cross(b, a) <= 0) return false;               // angles run clockwise
    return cross(b, a) >= cross(b, p) + cross(p, a);  // on the comparator's side of the line from before to after
  }
  const Points& points_;

 public:
  Indices order;  // by falling depth; the first is the comparator
  Indices fan;    // the others that were kept, by angle
};

TEST_CASE("Figure 5: the polygon grows point by point in (d) to (g); in (h) point 4 is inside and is discarded") {
  // Point 0 is the comparator, deepest and bottom-most; 1 to 5 in the order of their angles; 4 is the shallowest.
  const Points points{{Vec3(0, 0, 0), 0.60}, {Vec3(-3, 1, 0), 0.50},    {Vec3(-2, 4, 0), 0.30},
                      {Vec3(1, 5, 0), 0.40}, {Vec3(1.5, 2.5, 0), 0.10}, {Vec3(4, 2, 0), 0.45}};
  PaperPolygon polygon(points);
  CHECK(polygon.order == Indices{0, 1, 5, 3, 2, 4});                                      // (a), (b)
  for (std::uint32_t i = 2; i <= 5; ++i) CHECK(polygon.angle(i - 1) < polygon.angle(i));  // (c)
  auto csv = test::open_csv("fig5.csv", "stage,order,point,x_m,y_m,depth_m,kept");
  Points seen{points[0]};
  for (std::size_t k = 1; k < points.size(); ++k) {
    const std::uint32_t i = polygon.order[k];
    const bool kept = polygon.offer(i);
    CHECK_MESSAGE(kept == (i != 4), "point " << i);
    CHECK(std::is_sorted(polygon.fan.begin(), polygon.fan.end()));  // the place that binary search found
    const char stage = static_cast<char>('d' + (k - 1));
    csv << stage << ",0,0," << points[0].p_WC.x() << ',' << points[0].p_WC.y() << ',' << points[0].depth << ",1\n";
    for (std::size_t j = 0; j < polygon.fan.size(); ++j) {
      const ContactPoint& p = points[polygon.fan[j]];
      csv << stage << ',' << j + 1 << ',' << polygon.fan[j] << ',' << p.p_WC.x() << ',' << p.p_WC.y() << ',' << p.depth
          << ",1\n";
    }
    if (!kept)
      csv << stage << ",-1," << i << ',' << points[i].p_WC.x() << ',' << points[i].p_WC.y() << ',' << points[i].depth
          << ",0\n";
    seen.push_back(points[i]);
    CHECK(bottom(seen).size() == (kept ? seen.size() : seen.size() - 1));  // ours, at every stage
  }
  CHECK(polygon.fan == Indices{1, 2, 3, 5});
  CHECK(bottom(points) == Indices{0, 1, 2, 3, 5});
}

// Corners of a random polytope below the contact plane.
Points random_overlap(test::Random& random) {
  Points points(8 + random.below(25));
  for (auto& p : points) {
    const Vec3 d = random.direction();
    p = {Vec3(d.x(), d.y(), 0), 1 - d.z()};
  }
  return points;
}

TEST_CASE("Figure 5: the paper's polygon misses no point of ours, and keeps some that are not on the bottom") {
  test::Random random(1);
  std::size_t paper = 0, ours = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const Points points = random_overlap(random);
    PaperPolygon polygon(points);
    std::set<std::uint32_t> kept{polygon.order[0]};
    for (std::size_t k = 1; k < points.size(); ++k) {
      if (polygon.offer(polygon.order[k])) kept.insert(polygon.order[k]);
    }
    const Indices own = bottom(points);
    for (const std::uint32_t i : own) CHECK(kept.count(i) == 1);
    paper += kept.size(), ours += own.size();
  }
  const double surplus = static_cast<double>(paper) / static_cast<double>(ours) - 1;
  MESSAGE("the paper's polygon keeps " << 100 * surplus
                                       << " % more points than are outside the hull of the deeper ones");
  test::table_row("02_polygon", "Fig. 5: points kept that lie inside the hull of deeper ones", "none meant",
                  test::number(100 * surplus) + " % more", "0");
  CHECK(surplus > 0.005);
  CHECK(surplus < 0.5);
}

// The corners of an extruded isosceles trapezoid: half width `low` at z = 0, `high` at z = height; half length 1.
std::vector<Vec3> trapezoid(double low, double high, double height) {
  std::vector<Vec3> corners;
  for (const double y : {-1.0, 1.0}) {
    for (const double side : {-1.0, 1.0}) {
      corners.emplace_back(side * low, y, 0);
      corners.emplace_back(side * high, y, height);
    }
  }
  return corners;
}

using Place = std::pair<double, double>;

// Where the points lie that push, once the solid has sunk 0.1 m into the ground.
std::set<Place> pushing(double low, double high) {
  ConvexHull hull;
  std::string error;
  REQUIRE_MESSAGE(build_convex_hull(trapezoid(low, high, 1), 64, hull, error), error);
  Scene scene;
  scene.add_floor(Vec3(0, 0, 0.1));
  scene.add(make_convex(&hull), 5, Pose{});
  World world = scene.world();
  world.step();
  const ContactSet& contacts = world.contacts();
  REQUIRE(contacts.manifold_count == 1);
  std::set<Place> places;
  for (std::uint32_t i = 0; i < contacts.point_count; ++i) {
    CHECK_WITHIN(contacts.points[i].depth - 0.1, 1e-12);
    places.emplace(std::round(100 * contacts.points[i].p_WC.x()) / 100, contacts.points[i].p_WC.y());
  }
  return places;
}

TEST_CASE("Figure 4: of a trapezoid in the ground the lower corners push, those at the surface do not") {
  // The figure shows six of the overlap's eight corners. Its yellow points are not on the bottom by the definition
  // (normals) where the wide face is below: then they lie inside the outline of the green ones.
  const auto overlap = trapezoid(1.0, 0.95, 0.1);
  auto csv = test::open_csv("fig4.csv", "x_m,y_m,z_m,depth_m,bottom");
  Points points;
  for (const Vec3& p : overlap) points.push_back({p, 0.1 - p.z()});
  const Indices chosen = bottom(points);
  for (std::uint32_t i = 0; i < points.size(); ++i) {
    const bool is_bottom = std::count(chosen.begin(), chosen.end(), i) == 1;
    CHECK(is_bottom == (overlap[i].z() == 0));
    csv << overlap[i].x() << ',' << overlap[i].y() << ',' << overlap[i].z() << ',' << points[i].depth << ','
        << is_bottom << '\n';
  }
  CHECK(pushing(1, 0.5) == std::set<Place>{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}});
  // With the narrow face below the sides face downwards too and are bottom; their upper corners have no depth.
  Points leaning;
  for (const Vec3& p : trapezoid(0.5, 0.55, 0.1)) leaning.push_back({p, 0.1 - p.z()});
  CHECK(bottom(leaning).size() == 8);
  CHECK(pushing(0.5, 1) == std::set<Place>{{-0.5, -1}, {-0.5, 1}, {0.5, -1}, {0.5, 1}});
}

}  // namespace
}  // namespace tactus
