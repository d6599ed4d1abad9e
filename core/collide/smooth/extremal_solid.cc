#include "core/collide/smooth/extremal_solid.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// A root may pass its feature's border by this much of the solid's size: neighbours would else hand it back and forth.
constexpr double kBorder = 1e-10;

enum CylinderPart : std::int32_t { kCapUp = 0, kCapDown = 1, kRimUp = 2, kRimDown = 3, kMantle = 4 };

double size_of(const Shape& shape) noexcept {
  switch (shape.kind) {
    case ShapeKind::box:
      return std::sqrt(shape.half_S.squaredNorm());
    case ShapeKind::capsule:
    case ShapeKind::cylinder:
      return shape.radius + shape.half_length;
    case ShapeKind::convex:
      return shape.hull->radius;
    case ShapeKind::smooth:
      return shape.smooth->radius();
    case ShapeKind::sphere:
    case ShapeKind::half_space:
    case ShapeKind::mesh:
      break;
  }
  return shape.radius;
}

}  // namespace

ExtremalSolid::ExtremalSolid(const Shape& shape, const Mat3& R, const Vec3& p) noexcept
    : shape_(shape), centre_(p), size_(size_of(shape)) {
  core_.R = R, core_.p = p;
  switch (shape.kind) {
    case ShapeKind::capsule:
      radius_ = shape.radius;
      [[fallthrough]];
    case ShapeKind::box:
    case ShapeKind::convex:
      core_ = make_core(shape, R, p, storage_);
      features_ = core_.vertex_count + core_.edge_count + core_.face_count;
      if (shape.kind == ShapeKind::convex) centre_ = R * shape.hull->centroid + p;
      break;
    case ShapeKind::cylinder:
      core_ = make_core(shape, R, p, storage_);
      features_ = 5;
      break;
    case ShapeKind::sphere:
      radius_ = shape.radius;
      break;
    case ShapeKind::smooth:
      centre_ = R * shape.smooth->centre() + p;
      break;
    case ShapeKind::half_space:
    case ShapeKind::mesh:
      TACTUS_ASSERT(shape.kind != ShapeKind::mesh);
      break;
  }
}

int ExtremalSolid::faces() const noexcept {
  if (shape_.kind == ShapeKind::half_space) return 1;
  return shape_.kind == ShapeKind::cylinder ? 2 : core_.face_count;
}

Vec3 ExtremalSolid::face_normal(int face) const noexcept {
  TACTUS_DCHECK(face >= 0 && face < faces());
  if (shape_.kind == ShapeKind::half_space) return core_.R.col(2);
  if (shape_.kind == ShapeKind::cylinder) return (face == kCapUp ? 1.0 : -1.0) * core_.R.col(2);
  return core_.R * core_.faces[face].nhat;
}

Vec3 ExtremalSolid::edge_normal(int e) const noexcept {
  TACTUS_DCHECK(e >= 0 && e < core_.edge_count);
  const ConvexHull::Edge& edge = core_.edges[e];
  return core_.R * (core_.faces[edge.face_left].nhat + core_.faces[edge.face_right].nhat).normalized();
}

std::int32_t ExtremalSolid::face_feature(int face) const noexcept {
  TACTUS_DCHECK(face >= 0 && face < faces());
  return core_.vertices != nullptr ? core_.vertex_count + core_.edge_count + face : face;
}

bool ExtremalSolid::is_face(std::int32_t feature) const noexcept {
  if (shape_.kind == ShapeKind::half_space) return true;
  if (shape_.kind == ShapeKind::cylinder) return feature <= kCapDown;
  return core_.vertices != nullptr && feature >= core_.vertex_count + core_.edge_count;
}

bool ExtremalSolid::is_corner(std::int32_t feature) const noexcept {
  if (shape_.kind == ShapeKind::cylinder) return feature == kRimUp || feature == kRimDown;
  return shape_.kind == ShapeKind::sphere || (core_.vertices != nullptr && feature < core_.vertex_count);
}

std::int32_t ExtremalSolid::rim(bool up) const noexcept {
  return up ? kRimUp : kRimDown;
}

Vec3 ExtremalSolid::rim_point(bool up, double x, double y) const noexcept {
  return from_own({core_.radius * x, core_.radius * y, up ? core_.half_length : -core_.half_length});
}

double ExtremalSolid::gap_at(const Vec3& p) const noexcept {
  const Vec3 p_S = to_own(p);
  if (shape_.kind == ShapeKind::half_space) return p_S.z();
  if (shape_.kind == ShapeKind::cylinder) {
    const double radial = std::sqrt(p_S.x() * p_S.x() + p_S.y() * p_S.y());
    return std::max(radial - core_.radius, std::abs(p_S.z()) - core_.half_length);
  }
  if (core_.vertices == nullptr) return std::sqrt(p_S.squaredNorm()) - radius_;
  if (core_.face_count == 0) {
    const Vec3 half = 0.5 * (core_.vertices[1] - core_.vertices[0]), middle = core_.vertices[0] + half;
    const double along = std::clamp((p_S - middle).dot(half) / half.squaredNorm(), -1.0, 1.0);
    return std::sqrt((p_S - middle - along * half).squaredNorm()) - radius_;
  }
  double most = -std::numeric_limits<double>::infinity();
  for (int f = 0; f < core_.face_count; ++f) {
    most = std::max(most, core_.faces[f].nhat.dot(p_S) - core_.faces[f].offset);
  }
  return most;
}

Vec3 ExtremalSolid::support(const Vec3& d) const noexcept {
  if (shape_.kind == ShapeKind::sphere) return core_.p;
  if (shape_.kind == ShapeKind::smooth) return core_.R * shape_.smooth->support(core_.R.transpose() * d) + core_.p;
  return core_support(core_, d);
}

double ExtremalSolid::ball_at(const Vec3& p, const Vec3& n) const noexcept {
  if (shape_.kind == ShapeKind::sphere) return 0;
  if (shape_.kind == ShapeKind::smooth) return shape_.smooth->ball_around(to_own(p));
  if (core_.vertices == nullptr) return std::numeric_limits<double>::infinity();
  const Vec3 p_S = to_own(p), n_S = core_.R.transpose() * n;
  const double same = kBorder * size_;
  double radius = 0;
  for (int i = 0; i < core_.vertex_count; ++i) {
    const Vec3 from = core_.vertices[i] - p_S;
    const double height = n_S.dot(from), far2 = from.squaredNorm();
    if (far2 <= same * same) continue;
    if (height <= 0) return std::numeric_limits<double>::infinity();
    radius = std::max(radius, 0.5 * far2 / height);
  }
  return radius;
}

bool ExtremalSolid::lies_in(const EllipsoidForm& e, std::int32_t feature, const Vec3& p) const noexcept {
  if (shape_.kind == ShapeKind::sphere) return true;
  const EllipsoidForm own = form_to_own(e);
  if (shape_.kind == ShapeKind::cylinder) return cylinder_lies_in(own, feature, to_own(p));
  if (feature >= core_.vertex_count) return false;
  for (int i = 0; i < core_.vertex_count; ++i) {
    if (i != feature && !(own.at(core_.vertices[i]) <= 1)) return false;
  }
  return true;
}

// The rim that touches, and the other one, whose best factor is not known.
bool ExtremalSolid::cylinder_lies_in(const EllipsoidForm& e, std::int32_t rim, const Vec3& p_S) const noexcept {
  CircleBound bound;
  const double touching = touching_factor(e, p_S), least = least_factor(e), r2 = core_.radius * core_.radius;
  if ((rim != kRimUp && rim != kRimDown) || !bound_circles(e, touching, bound)) return false;
  const double other = rim == kRimUp ? -core_.half_length : core_.half_length;
  if (bound.at(r2, other) <= 1) return true;
  return std::any_of(std::begin(kOtherFactors), std::end(kOtherFactors), [&](double factor) {
    return bound_circles(e, factor * least, bound) && bound.at(r2, other) <= 1;
  });
}

std::int32_t ExtremalSolid::towards(const Vec3& d, double level) const noexcept {
  if (shape_.kind == ShapeKind::cylinder) {
    const Vec3 d_S = core_.R.transpose() * d;
    const double radial = std::sqrt(d_S.x() * d_S.x() + d_S.y() * d_S.y()), slope = level / size_;
    if (radial <= slope * std::abs(d_S.z())) return d_S.z() > 0 ? kCapUp : kCapDown;
    if (std::abs(d_S.z()) <= slope * radial) return kMantle;
    return d_S.z() > 0 ? kRimUp : kRimDown;
  }
  return core_.vertices != nullptr ? towards_polyhedron(d, level) : 0;
}

std::int32_t ExtremalSolid::towards_polyhedron(const Vec3& d, double level) const noexcept {
  const Vec3 d_S = core_.R.transpose() * d;
  const int best = support_vertex(core_, d_S);
  const double enough = core_.vertices[best].dot(d_S) - level;
  const double tilt = level / size_, cosine = (1 - 0.5 * tilt * tilt) * std::sqrt(d.squaredNorm());
  for (int f = 0; f < core_.face_count; ++f) {
    if (core_.faces[f].nhat.dot(d_S) >= cosine) return core_.vertex_count + core_.edge_count + f;
  }
  for (int e = 0; e < core_.edge_count; ++e) {
    if (core_.vertices[core_.edges[e].vertex_a].dot(d_S) >= enough &&
        core_.vertices[core_.edges[e].vertex_b].dot(d_S) >= enough) {
      return core_.vertex_count + e;
    }
  }
  return best;
}

void ExtremalSolid::set(std::int32_t feature, const Vec3& start, ExtremalFeature& out) const noexcept {
  TACTUS_ASSERT(valid(feature));
  if (shape_.kind == ShapeKind::smooth) return out.set_surface(*shape_.smooth, core_.R, core_.p);
  if (shape_.kind == ShapeKind::sphere) return out.set_point(core_.p);
  if (shape_.kind == ShapeKind::half_space) return out.set_plane(core_.p, core_.R.col(2));
  if (shape_.kind == ShapeKind::cylinder) {
    const Vec3 axis = core_.R.col(2);
    const double side = feature == kCapUp || feature == kRimUp ? 1.0 : -1.0;
    const Vec3 end = core_.p + (side * core_.half_length) * axis;
    if (feature <= kCapDown) return out.set_plane(end, side * axis);
    out.start(start);
    if (feature == kMantle) return out.set_side(core_.p, axis, core_.radius);
    return out.set_circle(end, axis, core_.radius);
  }
  if (feature < core_.vertex_count) return out.set_point(vertex(feature));
  feature -= core_.vertex_count;
  if (feature < core_.edge_count) {
    const ConvexHull::Edge& edge = core_.edges[feature];
    const Vec3 p = vertex(static_cast<int>(edge.vertex_a)), q = vertex(static_cast<int>(edge.vertex_b));
    return out.set_line(p, (q - p).normalized(), start);
  }
  const ConvexHull::Face& face = core_.faces[feature - core_.edge_count];
  const Vec3 nhat = core_.R * face.nhat;
  out.set_plane(core_.p + face.offset * nhat, nhat);
}

bool ExtremalSolid::within_face(std::int32_t feature, const Vec3& p_work) const noexcept {
  if (shape_.kind == ShapeKind::half_space) return true;
  const Vec3 p_S = core_.R.transpose() * (p_work - core_.p);
  if (shape_.kind == ShapeKind::cylinder) {
    return std::sqrt(p_S.x() * p_S.x() + p_S.y() * p_S.y()) <= core_.radius + kBorder * size_;
  }
  return outside_face(feature - core_.vertex_count - core_.edge_count, p_S) < 0;
}

std::int32_t ExtremalSolid::face_along(const Vec3& d, double cosine) const noexcept {
  TACTUS_DCHECK(is_unit(d) && cosine <= 1);
  std::int32_t best = -1;
  for (int f = 0; f < faces(); ++f) {
    const double along = face_normal(f).dot(d);
    if (along >= cosine) cosine = along, best = face_feature(f);
  }
  return best;
}

Vec3 ExtremalSolid::face_normal_of(std::int32_t feature) const noexcept {
  return face_normal(core_.vertices != nullptr ? feature - core_.vertex_count - core_.edge_count : feature);
}

std::int32_t ExtremalSolid::border_beyond(std::int32_t feature, const Vec3& p_work) const noexcept {
  if (!is_face(feature) || within_face(feature, p_work)) return -1;
  if (shape_.kind == ShapeKind::cylinder) return feature + kRimUp;
  return outside_face(feature - core_.vertex_count - core_.edge_count, to_own(p_work));
}

std::int32_t ExtremalSolid::end_beyond(std::int32_t feature, const Vec3& p_work) const noexcept {
  if (is_face(feature)) return bounded() ? border_beyond(feature, p_work) : -1;
  const Vec3 p_S = to_own(p_work);
  const double border = kBorder * size_;
  if (shape_.kind == ShapeKind::cylinder) {
    if (feature != kMantle || std::abs(p_S.z()) <= core_.half_length + border) return -1;
    return p_S.z() > 0 ? kRimUp : kRimDown;
  }
  if (core_.vertices == nullptr || feature < core_.vertex_count) return -1;
  const ConvexHull::Edge& edge = core_.edges[feature - core_.vertex_count];
  const Vec3 &p = core_.vertices[edge.vertex_a], &q = core_.vertices[edge.vertex_b];
  const Vec3 along = (q - p).normalized();
  if ((p_S - p).dot(along) < -border) return static_cast<std::int32_t>(edge.vertex_a);
  return (p_S - q).dot(along) > border ? static_cast<std::int32_t>(edge.vertex_b) : -1;
}

std::int32_t ExtremalSolid::edge_between(std::uint32_t v, std::uint32_t w) const noexcept {
  for (int e = 0; e < core_.edge_count; ++e) {
    const ConvexHull::Edge& edge = core_.edges[e];
    if ((edge.vertex_a == v && edge.vertex_b == w) || (edge.vertex_a == w && edge.vertex_b == v)) {
      return core_.vertex_count + e;
    }
  }
  return -1;
}

// The border edge that p_S lies farthest beyond; -1: within the face.
std::int32_t ExtremalSolid::outside_face(int f, const Vec3& p_S) const noexcept {
  const ConvexHull::Face& face = core_.faces[f];
  double most = kBorder * size_;
  std::int32_t worst = -1;
  for (std::uint32_t i = 0; i < face.count; ++i) {
    const std::uint32_t v = core_.face_vertices[face.first + i],
                        w = core_.face_vertices[face.first + (i + 1 == face.count ? 0 : i + 1)];
    const Vec3 along = core_.vertices[w] - core_.vertices[v], out = along.cross(face.nhat);
    const double beyond = (p_S - core_.vertices[v]).dot(out) / std::sqrt(out.squaredNorm());
    if (beyond <= most) continue;
    most = beyond;
    worst = edge_between(v, w);
  }
  return worst;
}

std::int32_t ExtremalSolid::next_polyhedron(std::int32_t feature, const ExtremalRoot& root) const noexcept {
  const Vec3 p_S = core_.R.transpose() * (root.pa - core_.p), d_S = core_.R.transpose() * -root.n;
  const int first_face = core_.vertex_count + core_.edge_count;
  if (feature >= first_face) {
    const std::int32_t border = outside_face(feature - first_face, p_S);
    return border >= 0 ? border : feature;
  }
  const double border = kBorder * size_;
  const int farthest = support_vertex(core_, d_S);
  const double height = core_.vertices[farthest].dot(d_S);
  if (feature < core_.vertex_count) {
    if (core_.vertices[feature].dot(d_S) >= height - border) return feature;
    const std::int32_t edge = edge_between(static_cast<std::uint32_t>(feature), static_cast<std::uint32_t>(farthest));
    return edge >= 0 ? edge : farthest;
  }
  const ConvexHull::Edge& edge = core_.edges[feature - core_.vertex_count];
  const Vec3 &p = core_.vertices[edge.vertex_a], &q = core_.vertices[edge.vertex_b];
  const Vec3 along = (q - p).normalized();
  if ((p_S - p).dot(along) < -border) return static_cast<std::int32_t>(edge.vertex_a);
  if ((p_S - q).dot(along) > border) return static_cast<std::int32_t>(edge.vertex_b);
  if (p.dot(d_S) >= height - border) return feature;
  // Beyond one of the edge's faces: that face.
  const Vec3 left = core_.faces[edge.face_left].nhat, right = core_.faces[edge.face_right].nhat;
  const Vec3 inwards = left.cross(right).cross(left);  // from the left normal towards the right one
  const std::uint32_t face = inwards.dot(d_S) < 0 ? edge.face_left : edge.face_right;
  return first_face + static_cast<std::int32_t>(face);
}

std::int32_t ExtremalSolid::next_cylinder(std::int32_t feature, const ExtremalRoot& root) const noexcept {
  const Vec3 p_S = core_.R.transpose() * (root.pa - core_.p), d_S = core_.R.transpose() * -root.n;
  const double radial = std::sqrt(p_S.x() * p_S.x() + p_S.y() * p_S.y()), border = kBorder * size_;
  if (feature <= kCapDown) return radial <= core_.radius + border ? feature : feature + kRimUp;
  if (feature == kMantle) {
    if (std::abs(p_S.z()) <= core_.half_length + border) return feature;
    return p_S.z() > 0 ? kRimUp : kRimDown;
  }
  const double out = (p_S.x() * d_S.x() + p_S.y() * d_S.y()) / radial;
  if (out < -kBorder) return feature - kRimUp;
  return (feature == kRimUp ? d_S.z() : -d_S.z()) < -kBorder ? kMantle : feature;
}

std::int32_t ExtremalSolid::next(std::int32_t feature, const ExtremalRoot& root) const noexcept {
  TACTUS_DCHECK(valid(feature));
  if (shape_.kind == ShapeKind::cylinder) return next_cylinder(feature, root);
  return core_.vertices != nullptr ? next_polyhedron(feature, root) : feature;
}

}  // namespace tactus
