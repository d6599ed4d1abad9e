#include "core/shape/smooth/smooth_profile.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/shape/smooth/gauss_rule.h"

namespace tactus {

namespace {

constexpr int kChords = 16;  // of a segment, where a check looks at the curve

double cross(const Vec2& a, const Vec2& b) noexcept {
  return a.x() * b.y() - a.y() * b.x();
}

// Twice the area to the left of the closed polygon.
double signed_area(const std::vector<Vec2>& points) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) sum += cross(points[i], points[(i + 1) % points.size()]);
  return sum;
}

bool segments_cross(const Vec2& a, const Vec2& b, const Vec2& c, const Vec2& d) noexcept {
  const double abc = cross(b - a, c - a), abd = cross(b - a, d - a);
  const double cda = cross(d - c, a - c), cdb = cross(d - c, b - c);
  return (abc > 0) != (abd > 0) && (cda > 0) != (cdb > 0);
}

// Chords of the closed curve or of the way between the poles.
std::vector<Vec2> chords(const ProfileCurve& curve, bool closed) {
  std::vector<Vec2> out;
  const std::size_t count = curve.segments.size() * kChords + (closed ? 0 : 1);
  for (std::size_t i = 0; i < count; ++i) out.push_back(curve.jet(static_cast<double>(i) / kChords).x);
  return out;
}

bool crosses_itself(const std::vector<Vec2>& p, bool closed) {
  const std::size_t n = p.size(), edges = closed ? n : n - 1;
  for (std::size_t i = 0; i < edges; ++i)
    for (std::size_t k = i + 2; k < edges; ++k) {
      if (closed && i == 0 && k + 1 == edges) continue;
      if (segments_cross(p[i], p[i + 1], p[k], p[(k + 1) % n])) return true;
    }
  return false;
}

}  // namespace

std::size_t ProfileCurve::segment_of(double t) const noexcept {
  if (!(t >= 1)) return 0;
  return std::min(static_cast<std::size_t>(std::min(t, 1e6)), segments.size() - 1);
}

ProfileJet ProfileCurve::jet(double t) const noexcept {
  const std::size_t i = segment_of(t);
  const double s = t - static_cast<double>(i);
  const auto& c = segments[i].c;
  return {c[0] + s * (c[1] + s * (c[2] + s * c[3])), c[1] + s * (2 * c[2] + s * (3 * c[3])), 2 * c[2] + s * (6 * c[3])};
}

ProfileCurve profile_curve(const std::vector<Vec2>& control, bool closed) {
  const auto n = static_cast<int>(control.size());
  const auto point = [&](int i) -> Vec2 {
    if (closed) return control[static_cast<std::size_t>((i + n) % n)];
    const bool beyond = i < 0 || i >= n;
    const Vec2& p = control[static_cast<std::size_t>(i < 0 ? -i : (i >= n ? 2 * n - 2 - i : i))];
    return beyond ? Vec2(-p.x(), p.y()) : p;
  };
  ProfileCurve curve;
  for (int i = 0; i < (closed ? n : n - 1); ++i) {
    const Vec2 a = point(i - 1), b = point(i), c = point(i + 1), d = point(i + 2);
    curve.segments.push_back(
        {{Vec2((a + 4 * b + c) / 6), Vec2((c - a) / 2), Vec2((a - 2 * b + c) / 2), Vec2((d - a + 3 * (b - c)) / 6)}});
  }
  return curve;
}

Vec2 profile_support(const ProfileCurve& curve, double a, double b) noexcept {
  const Vec2 d(a, b);
  double best = -std::numeric_limits<double>::infinity();
  double at = 0, in_segment = 0;  // where: segment and the way in it
  for (std::size_t i = 0; i < curve.segments.size(); ++i) {
    const auto& c = curve.segments[i].c;
    const double h0 = d.dot(c[0]), r = d.dot(c[1]), q = d.dot(c[2]), h3 = d.dot(c[3]);
    const double end = h0 + (r + (q + h3));
    // No point of a segment is higher than the highest of Bernstein's coefficients.
    const double third = h0 + r / 3, other = h0 + (2 * r + q) / 3;
    if (std::max({h0, third, other, end}) <= best) continue;
    const auto look = [&](double s) {
      const double height = h0 + s * (r + s * (q + s * h3));
      if (height <= best) return;
      best = height;
      at = static_cast<double>(i), in_segment = s;
    };
    look(0);
    look(1);
    if (std::max(third, other) <= best) continue;
    // c1 + 2 c2 s + 3 c3 s^2 = 0 along d, the root that loses no digits and its partner.
    const double p = 3 * h3, disc = q * q - p * r;
    if (disc < 0) continue;
    const double w = -(q + std::copysign(std::sqrt(disc), q));
    for (const double s : {p != 0 ? w / p : -1, w != 0 ? r / w : -1})
      if (s > 0 && s < 1) look(s);
  }
  return curve.jet(at + in_segment).x;
}

SolidMoments profile_moments(const ProfileCurve& curve, double z0) noexcept {
  constexpr double kPi = std::numbers::pi;
  SolidMoments m;
  double side = 0, axial = 0;
  for (std::size_t i = 0; i < curve.segments.size(); ++i)
    for (std::size_t k = 0; k < kGaussPoints; ++k) {
      const ProfileJet jet = curve.jet(static_cast<double>(i) + kGaussNode[k]);
      const double rho2 = jet.x.x() * jet.x.x(), z = jet.x.y() - z0;
      const double dz = kGaussWeight[k] * jet.dx.y() * kPi * rho2;
      m.volume += dz;
      m.first.z() += z * dz;
      axial += z * z * dz;
      side += 0.25 * rho2 * dz;
    }
  m.second = Vec3(side, side, axial).asDiagonal();
  return m;
}

std::string profile_defect(const std::vector<Vec2>& control, const ProfileCurve& curve, bool closed) {
  const std::vector<Vec2> way = chords(curve, closed);
  double size = 0, speed = std::numeric_limits<double>::infinity();
  for (const Vec2& p : control) size = std::max(size, (p - control[0]).norm());
  for (std::size_t i = 0; i < way.size(); ++i)
    speed = std::min(speed, curve.jet(static_cast<double>(i) / kChords).dx.norm());
  if (!(speed > 1e-6 * size)) return "found a profile with a cusp (it stands still), expected points further apart";
  for (std::size_t i = 0; i < way.size(); ++i) {
    const bool pole = !closed && (i == 0 || i + 1 == way.size());
    if (!pole && !(way[i].x() > 1e-6 * size))
      return "found a profile that meets the axis between its ends, expected rho > 0 there";
  }
  if (signed_area(way) < 0)
    return closed
               ? "found a profile that runs clockwise in the (rho, z) plane, so that normals point inwards, expected "
                 "the other direction"
               : "found a profile that runs downwards, so that normals point inwards, expected the lower pole first";
  if (crosses_itself(way, closed)) return "found a profile that crosses itself, expected one that does not";
  return {};
}

}  // namespace tactus
