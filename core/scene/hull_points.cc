#include "core/scene/hull_points.h"

#include <algorithm>
#include <cstdint>

namespace tactus {
namespace {

// Indices of the points that are farthest along the axes and their diagonals: 26 directions.
std::vector<std::uint32_t> extremes(const std::vector<Vec3>& points) {
  std::vector<std::uint32_t> out;
  for (int i = 0; i < 27; ++i) {
    const Vec3 d(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1);
    if (d.isZero(0)) continue;
    std::uint32_t best = 0;
    for (std::uint32_t k = 1; k < points.size(); ++k)
      if (d.dot(points[k]) > d.dot(points[best])) best = k;
    out.push_back(best);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

struct Outlier {
  double distance;
  std::uint32_t point;
};

// Per face the point farthest beyond it, once each, farthest first. O(faces * points).
std::vector<Outlier> outliers(const ConvexHull& hull, const std::vector<Vec3>& points) {
  std::vector<Outlier> out;
  for (const ConvexHull::Face& face : hull.faces) {
    Outlier best{0, 0};
    for (std::uint32_t k = 0; k < points.size(); ++k) {
      const double d = face.nhat.dot(points[k]) - face.offset;
      if (d > best.distance) best = {d, k};
    }
    if (best.distance > 0) out.push_back(best);
  }
  std::sort(out.begin(), out.end(), [](const Outlier& a, const Outlier& b) {
    return a.point != b.point ? a.point < b.point : a.distance > b.distance;
  });
  out.erase(std::unique(out.begin(), out.end(), [](const Outlier& a, const Outlier& b) { return a.point == b.point; }),
            out.end());
  std::stable_sort(out.begin(), out.end(), [](const Outlier& a, const Outlier& b) { return a.distance > b.distance; });
  return out;
}

// Points to ignore below this fraction of the size: files in single precision put the points of a plane so far off it,
// and faces of that thickness cannot be told apart.
constexpr double kFlatness = 1e-6;

// A choice of the points that grows by those that lie farthest outside its hull.
class HullGrower {
 public:
  HullGrower(const std::vector<Vec3>& points, std::size_t max_vertices)
      : points_(points), max_(max_vertices), banned_(points.size(), false) {}

  bool run(ConvexHull& out, HullFit& fit, std::string& error) {
    chosen_ = extremes(points_);
    if (chosen_.size() > max_) chosen_.resize(max_);
    if (!build(chosen_, error)) return false;
    for (;;) {
      const std::vector<Outlier> far = outside();
      fit.left_out = far.empty() ? 0 : far.front().distance;
      if (chosen_.size() >= max_ || far.empty() || !grow(far)) break;
    }
    out = std::move(hull_);
    return true;
  }

 private:
  bool build(const std::vector<std::uint32_t>& chosen, std::string& error) {
    std::vector<Vec3> some;
    some.reserve(chosen.size());
    for (const std::uint32_t k : chosen) some.push_back(points_[k]);
    ConvexHull hull;
    if (!build_convex_hull(some, max_, hull, error)) return false;
    hull_ = std::move(hull);
    return true;
  }

  [[nodiscard]] std::vector<Outlier> outside() const {
    std::vector<Outlier> far = outliers(hull_, points_);
    const double least = kFlatness * hull_.radius;
    std::erase_if(far, [&](const Outlier& o) { return o.distance <= least || banned_[o.point]; });
    return far;
  }

  // A quarter of them at a time, since each changes the faces that the others are measured from; fewer when the hull
  // of all these cannot be decided. A point that alone makes it undecidable is left out for good.
  bool grow(const std::vector<Outlier>& far) {
    std::string ignored;
    std::size_t more = std::min(max_ - chosen_.size(), std::max<std::size_t>(1, far.size() / 4));
    for (; more > 0; more /= 2) {
      std::vector<std::uint32_t> next = chosen_;
      for (std::size_t i = 0; i < more; ++i) next.push_back(far[i].point);
      if (!build(next, ignored)) continue;
      chosen_ = std::move(next);
      return true;
    }
    banned_[far.front().point] = true;
    return true;
  }

  const std::vector<Vec3>& points_;
  std::size_t max_;
  std::vector<bool> banned_;
  std::vector<std::uint32_t> chosen_;
  ConvexHull hull_;
};

}  // namespace

bool fit_convex_hull(const std::vector<Vec3>& points, std::size_t max_vertices, ConvexHull& out, HullFit& fit,
                     std::string& error) {
  fit = {};
  ConvexHull exact;
  const bool decided = build_convex_hull(points, points.size(), exact, error);
  if (decided && exact.vertices.size() <= max_vertices) {
    out = std::move(exact);
    return true;
  }
  if (points.size() < 4) return false;
  fit.approximate = true;
  const std::vector<Vec3> finer = decided ? exact.vertices : points;
  return HullGrower(finer, max_vertices).run(out, fit, error);
}

}  // namespace tactus
