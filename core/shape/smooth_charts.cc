// The unit sphere over six charts.
#include <cmath>

#include "core/shape/smooth_base.h"

namespace tactus {

namespace {

// Unit axes of a chart: w = m + u a + v b with a x b = m.
struct ChartAxes {
  Vec3 m, a, b;
};
ChartAxes axes_of(std::int32_t chart) noexcept {
  const int axis = chart / 2;
  const bool negative = chart % 2 != 0;
  const Vec3 i = Vec3::Unit((axis + 1) % 3), j = Vec3::Unit((axis + 2) % 3);
  return {negative ? Vec3(-Vec3::Unit(axis)) : Vec3(Vec3::Unit(axis)), negative ? j : i, negative ? i : j};
}

}  // namespace

PatchJet sphere_patch(const SurfacePoint& where) noexcept {
  TACTUS_ASSERT(where.chart >= 0 && where.chart < 6);
  const auto [m, a, b] = axes_of(where.chart);
  const double u = where.uv.x(), v = where.uv.y();
  const double inverse = 1 / std::sqrt(1 + u * u + v * v), inverse2 = inverse * inverse;
  PatchJet jet;
  const Vec3 n = inverse * (m + u * a + v * b);
  const double nu = inverse * u, nv = inverse * v;
  jet.S = n;
  jet.Su = inverse * (a - nu * n);
  jet.Sv = inverse * (b - nv * n);
  jet.Suu = inverse2 * ((3 * nu * nu - 1) * n - 2 * nu * a);
  jet.Svv = inverse2 * ((3 * nv * nv - 1) * n - 2 * nv * b);
  jet.Suv = inverse2 * (3 * nu * nv * n - nu * b - nv * a);
  return jet;
}

SurfacePoint sphere_chart_of(const Vec3& w) noexcept {
  int axis = 0;
  w.cwiseAbs().maxCoeff(&axis);
  SurfacePoint out;
  out.chart = 2 * axis + (w[axis] < 0 ? 1 : 0);
  const auto [m, a, b] = axes_of(out.chart);
  const double scale = 1 / std::abs(w[axis]);
  out.uv = scale * Vec2(w.dot(a), w.dot(b));
  return out;
}

SurfacePoint sphere_normalise(const SurfacePoint& where) noexcept {
  if (where.uv.cwiseAbs().maxCoeff() <= kChartEdge) return where;
  if (!where.uv.allFinite()) return {where.chart, Vec2::Zero()};
  const auto [m, a, b] = axes_of(where.chart);
  return sphere_chart_of(m + where.uv.x() * a + where.uv.y() * b);
}

}  // namespace tactus
