#include "core/collide/convex/narrow_feature.h"

#include <algorithm>

#include "core/check.h"
#include "core/collide/convex/narrow_closest.h"
#include "core/collide/convex/narrow_rim.h"

namespace tactus {

namespace {

// A feature steeper than this against the contact plane [cosine of the angle of normals, or sine for a line] holds no
// second point.
constexpr double kSteep = 0.5;
constexpr double kSteepFace = 0.1;
// Beyond this slope a line meets the corners' edges, not the face beside them.
constexpr double kLevel = 0.998;

struct Loop {
  static constexpr int kCapacity = 2 * Feature::kCapacity + 8;
  Vec3 p[kCapacity];
  int count = 0;
};

// Keeps the part of the loop on the left of the line from p to q (in the plane; z goes along).
void cut(const Loop& in, const Vec3& p, const Vec3& q, double turn, Loop& out) noexcept {
  out.count = 0;
  const double ex = turn * (q.x() - p.x()), ey = turn * (q.y() - p.y());
  const auto side = [&](const Vec3& x) noexcept { return ex * (x.y() - p.y()) - ey * (x.x() - p.x()); };
  double s0 = in.count > 0 ? side(in.p[0]) : 0.0;
  for (int i = 0; i < in.count; ++i) {
    const Vec3& x = in.p[i];
    const Vec3& y = in.p[i + 1 == in.count ? 0 : i + 1];
    const double s1 = side(y);
    if (s0 >= 0 && out.count < Loop::kCapacity) out.p[out.count++] = x;
    if (((s0 > 0 && s1 < 0) || (s0 < 0 && s1 > 0)) && out.count < Loop::kCapacity) {
      out.p[out.count++] = x + (s0 / (s0 - s1)) * (y - x);
    }
    s0 = s1;
  }
}

double signed_area(const Vec3* p, int count) noexcept {
  double area = 0;
  for (int i = 2; i < count; ++i) {
    area += (p[i - 1].x() - p[0].x()) * (p[i].y() - p[0].y()) - (p[i - 1].y() - p[0].y()) * (p[i].x() - p[0].x());
  }
  return area;
}

}  // namespace

void facing_polygon(const Core& core, const Vec3& d, int near_edge, Feature& out) noexcept {
  TACTUS_DCHECK(core.face_count > 0 && near_edge < core.edge_count);
  const Vec3 d_S = core.R.transpose() * d;
  int best = -1;
  double most = -2;
  const auto look = [&](int f) noexcept {
    const double s = core.faces[f].nhat.dot(d_S);
    if (s > most) {
      most = s;
      best = f;
    }
  };
  out.count = 0;
  if (core.face_count == 0) return;
  if (near_edge >= 0) {
    look(static_cast<int>(core.edges[near_edge].face_left));
    look(static_cast<int>(core.edges[near_edge].face_right));
  } else {
    for (int f = 0; f < core.face_count; ++f) look(f);
  }
  if (most < kSteepFace) return;
  const ConvexHull::Face& face = core.faces[best];
  out.nhat = core.R * face.nhat;
  const std::uint32_t* index = core.face_vertices + face.first;
  const int all = static_cast<int>(face.count);
  const int kept = std::min(all, Feature::kCapacity);
  for (int i = 0; i < kept; ++i) {
    const int k = all == kept ? i : static_cast<int>(static_cast<std::int64_t>(i) * all / kept);
    out.p[out.count++] = core.R * core.vertices[index[k]] + core.p;
  }
}

void facing_cap(const Core& core, const Vec3& d, Feature& out) noexcept {
  TACTUS_DCHECK(core.is_cylinder() && core.radius > 0);
  out.count = 0;
  const Vec3 d_S = core.R.transpose() * d;
  if (d_S.z() * d_S.z() < 1 - kSteep * kSteep) return;
  Vec3 rim[kRimPoints];
  rim_offsets(core.radius, d_S, rim);
  const double z = std::copysign(core.half_length, d_S.z());
  for (int k = 0; k < kRimPoints; ++k) out.p[k] = core.R * Vec3(rim[k].x(), rim[k].y(), z) + core.p;
  out.count = kRimPoints;
  const bool body_fixed = d_S.x() * d_S.x() + d_S.y() * d_S.y() <= kRimPhaseTilt * kRimPhaseTilt;
  out.rim_slack = body_fixed ? 0.08 * kRimPhaseTilt * core.radius : 0.0;
  out.nhat = std::copysign(1.0, d_S.z()) * core.axis();
}

void facing_side(const Core& core, const Vec3& d, Feature& out) noexcept {
  TACTUS_DCHECK(core.half_length > 0);
  out.count = 0;
  const Vec3 axis = core.axis();
  const double s = d.dot(axis);
  if (s * s > kSteep * kSteep) return;
  const Vec3 radial = (d - s * axis) * (core.radius / std::sqrt(1 - s * s));
  out.p[0] = core.p + radial - core.half_length * axis;
  out.p[1] = core.p + radial + core.half_length * axis;
  out.count = 2;
  out.radius = core.radius;
  out.rise = core.radius / std::sqrt(1 - s * s);
}

Vec3 edge_crossing(const Core& a, int edge, const Vec3& c, const Vec3& u) noexcept {
  TACTUS_DCHECK(edge >= 0 && edge < a.edge_count);
  const Vec3& p = a.vertices[a.edges[edge].vertex_a];
  const Vec3& q = a.vertices[a.edges[edge].vertex_b];
  const Vec3 middle = a.R * (0.5 * (p + q)) + a.p;
  const Vec3 half = a.R * (0.5 * (q - p));
  double s = 0, t = 0;
  closest_on_segments(middle - c, half, u, s, t);
  return middle + s * half;
}

PointGatherer::PointGatherer(const Vec3& n, double overlap, double scale) noexcept
    : n_(n), overlap_(overlap), scale_(scale) {
  TACTUS_DCHECK(!(overlap <= 0) && scale > 0);
  tangent_basis(n, t1_, t2_);
}

void PointGatherer::add(double u, double v, double z_a, double z_b) noexcept {
  const double depth = std::min(z_b - z_a, overlap_);
  if (depth <= 0) return;
  const double z = 0.5 * (z_a + z_b);
  const double near2 = 1e-8 * scale_ * scale_;
  for (int i = 0; i < count_; ++i) {
    const double du = points_[i].u - u, dv = points_[i].v - v;
    if (du * du + dv * dv > near2) continue;
    if (points_[i].depth < depth) points_[i] = {u, v, z, depth};
    deepest_ = std::max(deepest_, depth);
    return;
  }
  if (count_ < kMaxPoints) points_[count_++] = {u, v, z, depth};
  deepest_ = std::max(deepest_, depth);
}

void PointGatherer::polygon_on_polygon(const Feature& a, const Feature& b) noexcept {
  TACTUS_DCHECK(a.count >= 3 && b.count >= 3 && a.count <= Feature::kCapacity && b.count <= Feature::kCapacity);
  Loop loops[2];
  Loop* in = &loops[0];
  Loop* out = &loops[1];
  for (int i = 0; i < a.count; ++i) in->p[i] = project(a.p[i]);
  in->count = a.count;
  Vec3 clip[Feature::kCapacity];
  for (int i = 0; i < b.count; ++i) clip[i] = project(b.p[i]);
  const double turn = signed_area(clip, b.count) < 0 ? -1.0 : 1.0;
  for (int i = 0; i < b.count && in->count > 0; ++i) {
    cut(*in, clip[i], clip[i + 1 == b.count ? 0 : i + 1], turn, *out);
    std::swap(in, out);
  }
  const Vec3 m = project(b.nhat);  // b's plane as a height over the contact plane
  for (int i = 0; i < in->count; ++i) {
    const Vec3& p = in->p[i];
    const double z_b = clip[0].z() - (m.x() * (p.x() - clip[0].x()) + m.y() * (p.y() - clip[0].y())) / m.z();
    add(p.x(), p.y(), p.z(), z_b);
  }
}

// Ends of the common part of two nearly parallel lines. Beside the crossing of the lines the rounded sides recede:
// circles of radii r and s offset by delta meet on the line between their centres, lower by 1 - sqrt(1 - (delta / (r +
// s))^2) of their radii.
void PointGatherer::line_along_line(const Line& a, const Line& b) noexcept {
  const Vec3 e = a.q - a.p, g = b.q - b.p;
  const double ee = e.x() * e.x() + e.y() * e.y(), gg = g.x() * g.x() + g.y() * g.y();
  const double cross = e.x() * g.y() - e.y() * g.x();
  const double radius = a.radius + b.radius;
  // A side that slants more holds no second point, and its end would not be where the slice across it says.
  if (a.rise > 1.005 * a.radius || b.rise > 1.005 * b.radius) return;
  if (cross * cross > 0.01 * ee * gg || ee <= 0 || gg <= 0 || radius <= 0) return;
  const auto meet = [&](const Vec3& x, const Vec3& y) noexcept {  // x on a, y on b
    const double offset2 = (x.x() - y.x()) * (x.x() - y.x()) + (x.y() - y.y()) * (x.y() - y.y());
    const double share2 = offset2 / (radius * radius);
    if (share2 >= 0.03) return;  // well beside each other: no line contact
    const double drop = 1 - std::sqrt(1 - share2);
    const double t = a.radius / radius;
    add(x.x() + t * (y.x() - x.x()), x.y() + t * (y.y() - x.y()), x.z() + a.rise * drop, y.z() - b.rise * drop);
  };
  const auto foot = [](const Vec3& x, const Vec3& from, const Vec3& along, double length2, Vec3& y) noexcept {
    const double t = ((x.x() - from.x()) * along.x() + (x.y() - from.y()) * along.y()) / length2;
    y = from + t * along;
    return t >= -1e-9 && t <= 1 + 1e-9;
  };
  Vec3 y;
  if (foot(a.p, b.p, g, gg, y)) meet(a.p, y);
  if (foot(a.q, b.p, g, gg, y)) meet(a.q, y);
  if (foot(b.p, a.p, e, ee, y)) meet(y, b.p);
  if (foot(b.q, a.p, e, ee, y)) meet(y, b.q);
}

void PointGatherer::line_on_polygon(const Feature& line, const Feature& polygon, bool line_is_a) noexcept {
  TACTUS_DCHECK(line.count == 2 && polygon.count >= 3);
  const Vec3 p = project(line.p[0]), q = project(line.p[1]);
  Vec3 corner[Feature::kCapacity];
  for (int i = 0; i < polygon.count; ++i) corner[i] = project(polygon.p[i]);
  const Vec3 m = project(polygon.nhat);
  if (std::abs(m.z()) >= kLevel) {
    const double turn = signed_area(corner, polygon.count) < 0 ? -1.0 : 1.0;
    const double slack = 1e-9 * scale_;
    double lo = 0, hi = 1;
    for (int i = 0; i < polygon.count; ++i) {
      const Vec3& x = corner[i];
      const Vec3& y = corner[i + 1 == polygon.count ? 0 : i + 1];
      const double ex = turn * (y.x() - x.x()), ey = turn * (y.y() - x.y());
      const double keep = slack * (std::abs(ex) + std::abs(ey));
      const double s0 = ex * (p.y() - x.y()) - ey * (p.x() - x.x()) + keep;
      const double s1 = ex * (q.y() - x.y()) - ey * (q.x() - x.x()) + keep;
      if (s0 < 0 && s1 < 0) lo = 2;  // all outside
      if (s0 < 0) lo = std::max(lo, s0 / (s0 - s1));
      if (s1 < 0) hi = std::min(hi, s0 / (s0 - s1));
    }
    for (const double t : {lo, hi}) {
      if (lo > hi) break;
      const Vec3 x = p + t * (q - p);
      const double z = corner[0].z() - (m.x() * (x.x() - corner[0].x()) + m.y() * (x.y() - corner[0].y())) / m.z();
      add(x.x(), x.y(), line_is_a ? x.z() : z, line_is_a ? z : x.z());
    }
  }
  for (int i = 0; i < polygon.count; ++i) {
    const Line edge{corner[i], corner[i + 1 == polygon.count ? 0 : i + 1], 0, 0};
    const Line side{p, q, line.radius, line.rise};
    line_along_line(line_is_a ? side : edge, line_is_a ? edge : side);
  }
}

void PointGatherer::intersect(const Feature& a, const Feature& b) noexcept {
  if (a.count == 0 || b.count == 0) return;
  // A body-fixed octagon misses the rim's deepest place by this much: see kRimPhaseTilt.
  slack_ = std::max({slack_, a.rim_slack, b.rim_slack});
  if (a.count > 2 && b.count > 2) {
    polygon_on_polygon(a, b);
  } else if (a.count > 2) {
    line_on_polygon(b, a, false);
  } else if (b.count > 2) {
    line_on_polygon(a, b, true);
  } else {
    line_along_line({project(a.p[0]), project(a.p[1]), a.radius, a.rise},
                    {project(b.p[0]), project(b.p[1]), b.radius, b.rise});
  }
}

void PointGatherer::ensure_deepest(const Vec3& p_a) noexcept {
  if (count_ > 0 && deepest_ >= overlap_ * (1 - 5e-3) - slack_) return;
  const Vec3 a = project(p_a);
  add(a.x(), a.y(), a.z(), a.z() + overlap_);
}

void PointGatherer::write(const Frame& X_WA, ContactBuffer& out) const noexcept {
  out.nhat_BA_W = X_WA.R * n_;
  for (int i = 0; i < count_; ++i) {
    const Point& point = points_[i];
    out.add(X_WA * (point.u * t1_ + point.v * t2_ + point.z * n_), point.depth);
  }
}

}  // namespace tactus
