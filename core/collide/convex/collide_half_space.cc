// Every solid against a half-space: the normal is the plane's, the points are the solid's features below the plane.
#include <algorithm>

#include "core/check.h"
#include "core/collide/convex/narrow_rim.h"
#include "core/collide/narrow_table.h"
#include "core/math/checks.h"
#include "core/shape/convex_hull.h"

namespace tactus {

namespace {

// Slopes below this count as vertical: a face that rounding tips over by less is no part of the bottom.
constexpr double kVertical = 1e-9;

// The witness needs no more than the normal: the pair function is closed form.
void remember(const Frame& X_WA, const Vec3& nhat_BA_W, Witness& witness) noexcept {
  TACTUS_DCHECK(is_unit(nhat_BA_W));
  witness.axis_A.noalias() = X_WA.R.transpose() * nhat_BA_W;
}

inline void add_below(const Vec3& p_W, double depth, const Vec3& nhat_W, ContactBuffer& out) noexcept {
  TACTUS_DCHECK(is_unit(nhat_W));
  if (depth > 0) out.add(p_W + (0.5 * depth) * nhat_W, depth);
}

}  // namespace

// Corners below the plane that belong to a face looking down. O(1).
void collide_box_half_space(const Shape& a, const Frame& X_WA, const Shape&, const Frame& X_WB, Witness& witness,
                            ContactBuffer& out) noexcept {
  const Vec3 nhat_W = X_WB.R.col(2);
  const double height = nhat_W.dot(X_WA.p - X_WB.p);
  const Vec3 n_A(nhat_W.dot(X_WA.R.col(0)), nhat_W.dot(X_WA.R.col(1)), nhat_W.dot(X_WA.R.col(2)));
  const Vec3 rise = n_A.cwiseProduct(a.half_S);
  if (height - rise.cwiseAbs().sum() >= 0) return;
  out.nhat_BA_W = nhat_W;
  out.all_on_bottom = true;
  witness.axis_A = n_A;
  for (int corner = 0; corner < 8; ++corner) {
    const Vec3 s((corner & 1) != 0 ? 1.0 : -1.0, (corner & 2) != 0 ? 1.0 : -1.0, (corner & 4) != 0 ? 1.0 : -1.0);
    const double depth = -(height + s.dot(rise));
    if (depth <= 0) continue;
    if (s.cwiseProduct(n_A).minCoeff() >= -kVertical) continue;  // only faces that look up: not on the bottom
    out.add(X_WA * s.cwiseProduct(a.half_S) + (0.5 * depth) * nhat_W, depth);
  }
}

// The lowest point under each end. O(1).
void collide_capsule_half_space(const Shape& a, const Frame& X_WA, const Shape&, const Frame& X_WB, Witness& witness,
                                ContactBuffer& out) noexcept {
  const Vec3 nhat_W = X_WB.R.col(2);
  const Vec3 arm = a.half_length * X_WA.R.col(2);
  for (const double side : {-1.0, 1.0}) {
    const Vec3 centre = X_WA.p + side * arm;
    const double depth = a.radius - nhat_W.dot(centre - X_WB.p);
    add_below(centre - a.radius * nhat_W, depth, nhat_W, out);
  }
  if (out.count == 0) return;
  out.nhat_BA_W = nhat_W;
  out.all_on_bottom = true;
  remember(X_WA, nhat_W, witness);
}

// Per cap eight rim points, the first at the deepest place of the rim. O(1).
void collide_cylinder_half_space(const Shape& a, const Frame& X_WA, const Shape&, const Frame& X_WB, Witness& witness,
                                 ContactBuffer& out) noexcept {
  const Vec3 nhat_W = X_WB.R.col(2);
  const double height = nhat_W.dot(X_WA.p - X_WB.p);
  const Vec3 n_A(nhat_W.dot(X_WA.R.col(0)), nhat_W.dot(X_WA.R.col(1)), nhat_W.dot(X_WA.R.col(2)));
  const double radial = std::sqrt(n_A.x() * n_A.x() + n_A.y() * n_A.y());
  if (height - a.half_length * std::abs(n_A.z()) - a.radius * radial >= 0) return;
  out.nhat_BA_W = nhat_W;
  witness.axis_A = n_A;
  Vec3 rim[kRimPoints];
  rim_offsets(a.radius, -n_A, rim);
  for (const double side : {-1.0, 1.0}) {
    const double z = side * a.half_length, lift = n_A.z() * z;
    const auto add = [&](const Vec3& r) {
      const double depth = -(height + (n_A.x() * r.x() + (n_A.y() * r.y() + lift)));
      if (depth > 0) out.add(X_WA * Vec3(r.x(), r.y(), z) + (0.5 * depth) * nhat_W, depth);
    };
    // Of a cap that looks up only the rim's lower side belongs to the bottom, and nothing when the cylinder stands.
    if (side * n_A.z() < -kVertical) {
      for (const Vec3& r : rim) add(r);
    } else if (radial > kRimPhaseTilt) {
      for (const int k : {0, 1, kRimPoints - 1}) add(rim[k]);
    }
  }
  out.all_on_bottom = true;
}

namespace {

constexpr std::size_t kMarkWords = 16;  // hulls of up to 1024 vertices

// Vertices of faces that look down.
void mark_bottom(const ConvexHull& hull, const Vec3& n_S, std::uint64_t (&marks)[kMarkWords]) noexcept {
  TACTUS_DCHECK(hull.vertices.size() <= 64 * kMarkWords);
  for (const ConvexHull::Face& face : hull.faces) {
    if (face.nhat.dot(n_S) >= -kVertical) continue;
    for (std::uint32_t i = 0; i < face.count; ++i) {
      const std::uint32_t v = hull.face_vertices[face.first + i];
      marks[v / 64] |= std::uint64_t{1} << (v % 64);
    }
  }
}

}  // namespace

// All vertices below the plane that belong to a face looking down. O(vertices + faces).
void collide_half_space_convex(const Shape&, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
                               ContactBuffer& out) noexcept {
  const ConvexHull& hull = *b.hull;
  const Vec3 nhat_W = X_WA.R.col(2);  // of the plane: towards b
  const Vec3 n_S = X_WB.R.transpose() * nhat_W;
  const double height = nhat_W.dot(X_WB.p - X_WA.p);
  if (height - hull.radius >= 0) return;
  std::uint64_t marks[kMarkWords] = {};
  const bool can_mark = hull.vertices.size() <= 64 * kMarkWords;
  bool marked = false;
  for (std::size_t i = 0; i < hull.vertices.size(); ++i) {
    const double depth = -(height + n_S.dot(hull.vertices[i]));
    if (depth <= 0) continue;
    if (!marked && can_mark) {
      mark_bottom(hull, n_S, marks);
      marked = true;
    }
    if (can_mark && ((marks[i / 64] >> (i % 64)) & 1) == 0) continue;
    out.add(X_WB * hull.vertices[i] + (0.5 * depth) * nhat_W, depth);
  }
  if (out.count == 0) return;
  out.nhat_BA_W = -nhat_W;
  out.all_on_bottom = can_mark;
  remember(X_WA, out.nhat_BA_W, witness);
}

}  // namespace tactus
