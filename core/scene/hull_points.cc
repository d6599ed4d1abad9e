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

// Per face the point farthest beyond it, once each, farthest first.
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

}  // namespace

bool fit_convex_hull(const std::vector<Vec3>& points, std::size_t max_vertices, ConvexHull& out, HullFit& fit,
                     std::string& error) {
  fit = {};
  ConvexHull exact;
  if (!build_convex_hull(points, points.size(), exact, error)) return false;
  fit.vertices = exact.vertices.size();
  if (fit.vertices <= max_vertices) {
    out = std::move(exact);
    return true;
  }
  std::vector<std::uint32_t> chosen = extremes(exact.vertices);
  if (chosen.size() > max_vertices) chosen.resize(max_vertices);
  for (;;) {
    std::vector<Vec3> some;
    for (const std::uint32_t k : chosen) some.push_back(exact.vertices[k]);
    ConvexHull hull;
    if (!build_convex_hull(some, max_vertices, hull, error)) return false;
    const auto far = outliers(hull, exact.vertices);
    fit.left_out = far.empty() ? 0 : far.front().distance;
    const std::size_t room = max_vertices - chosen.size();
    if (room == 0 || far.empty() || fit.left_out <= 1e-9 * hull.radius) {
      out = std::move(hull);
      return true;
    }
    // A quarter of them at a time: each changes the faces that the others are measured from.
    const std::size_t more = std::min(room, std::max<std::size_t>(1, far.size() / 4));
    for (std::size_t i = 0; i < more; ++i) chosen.push_back(far[i].point);
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  }
}

}  // namespace tactus
