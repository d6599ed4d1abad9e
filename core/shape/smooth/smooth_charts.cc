// The unit sphere over six charts.
#include <cmath>

#include "core/check.h"
#include "core/shape/smooth/smooth_base.h"

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

// Along (m, a, b), then where those axes are.
PatchJet sphere_patch(const SurfacePoint& where) noexcept {
  TACTUS_ASSERT(where.chart >= 0 && where.chart < 6);
  const int axis = where.chart / 2, next = axis == 2 ? 0 : axis + 1, last = 3 - axis - next;
  const bool negative = where.chart % 2 != 0;
  const int on_a = negative ? last : next, on_b = negative ? next : last;
  const double side = negative ? -1 : 1;
  const double u = where.uv.x(), v = where.uv.y();
  const double inverse = 1 / std::sqrt(1 + u * u + v * v), inverse2 = inverse * inverse;
  const double nu = inverse * u, nv = inverse * v, nm = inverse;
  PatchJet jet;
  const auto place = [&](Vec3& x, double along_m, double along_a, double along_b) {
    x[axis] = side * along_m, x[on_a] = along_a, x[on_b] = along_b;
  };
  const double bend_u = 3 * nu * nu - 1, bend_v = 3 * nv * nv - 1, twist = 3 * nu * nv;
  place(jet.S, nm, nu, nv);
  place(jet.Su, inverse * (-nu * nm), inverse * (1 - nu * nu), inverse * (-nu * nv));
  place(jet.Sv, inverse * (-nv * nm), inverse * (-nv * nu), inverse * (1 - nv * nv));
  place(jet.Suu, inverse2 * (bend_u * nm), inverse2 * (bend_u * nu - 2 * nu), inverse2 * (bend_u * nv));
  place(jet.Svv, inverse2 * (bend_v * nm), inverse2 * (bend_v * nu), inverse2 * (bend_v * nv - 2 * nv));
  place(jet.Suv, inverse2 * (twist * nm), inverse2 * (twist * nu - nv), inverse2 * (twist * nv - nu));
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
