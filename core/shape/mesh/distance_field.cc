#include "core/shape/mesh/distance_field.h"

#include <algorithm>
#include <cmath>

#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

namespace {

// The leaf that holds a point, and where in it.
struct Leaf {
  std::uint32_t node;
  Vec3 at;      // 0..1 in the leaf
  double edge;  // of the leaf [m]
};

// Doubling and subtracting one are exact: the place in the leaf is that of the point.
Leaf find_leaf(const DistanceField& field, const Vec3& p_S) noexcept {
  Leaf leaf{field.nodes[0], (p_S - field.origin) / field.size, field.size};
  while ((leaf.node >> 30U) == DistanceField::kInner) {
    std::uint32_t child = 0;
    for (int k = 0; k < 3; ++k) {
      leaf.at[k] *= 2;
      if (leaf.at[k] >= 1) {
        leaf.at[k] -= 1;
        child |= 1U << k;
      }
    }
    leaf.node = field.nodes[(leaf.node & DistanceField::kIndexMask) + child];
    leaf.edge *= 0.5;
  }
  return leaf;
}

double interpolate(const float* c, const Vec3& t) noexcept {
  const double x = t.x(), y = t.y(), z = t.z();
  const double c00 = c[0] + x * (c[1] - static_cast<double>(c[0])), c10 = c[2] + x * (c[3] - static_cast<double>(c[2]));
  const double c01 = c[4] + x * (c[5] - static_cast<double>(c[4])), c11 = c[6] + x * (c[7] - static_cast<double>(c[6]));
  const double c0 = c00 + y * (c10 - c00), c1 = c01 + y * (c11 - c01);
  return c0 + z * (c1 - c0);
}

Vec3 slope(const float* corner, const Vec3& t) noexcept {
  double c[8];
  std::copy(corner, corner + 8, c);
  const double x = t.x(), y = t.y(), z = t.z(), x1 = 1 - x, y1 = 1 - y, z1 = 1 - z;
  return {z1 * (y1 * (c[1] - c[0]) + y * (c[3] - c[2])) + z * (y1 * (c[5] - c[4]) + y * (c[7] - c[6])),
          z1 * (x1 * (c[2] - c[0]) + x * (c[3] - c[1])) + z * (x1 * (c[6] - c[4]) + x * (c[7] - c[5])),
          y1 * (x1 * (c[4] - c[0]) + x * (c[5] - c[1])) + y * (x1 * (c[6] - c[2]) + x * (c[7] - c[3]))};
}

FieldSample sample_inside(const DistanceField& field, const TriangleMesh& mesh, const Vec3& p_S) noexcept {
  const Leaf leaf = find_leaf(field, p_S);
  const std::uint32_t index = leaf.node & DistanceField::kIndexMask;
  if ((leaf.node >> 30U) == DistanceField::kExact) {
    const std::uint32_t first = field.exact_first[index];
    const MeshClosest c =
        closest_on_triangles(mesh, field.exact_triangles.data() + first, field.exact_first[index + 1] - first, p_S);
    return {c.distance, c.gradient_S, c.triangle};
  }
  const DistanceField::Linear& linear = field.linear[index];
  const Vec3& nhat = mesh.normals[linear.triangle];
  const double plane = nhat.dot(p_S - mesh.vertices[mesh.triangles[linear.triangle][0]]);
  const Vec3 g = nhat + slope(linear.corner, leaf.at) / leaf.edge;
  const double length = g.norm();
  return {plane + interpolate(linear.corner, leaf.at), length > 1e-6 ? Vec3(g / length) : nhat, linear.triangle};
}

}  // namespace

FieldSample sample_field(const DistanceField& field, const TriangleMesh& mesh, const Vec3& p_S) noexcept {
  const Vec3 q = p_S.cwiseMax(field.origin).cwiseMin(Vec3(field.origin.array() + field.size));
  FieldSample out = sample_inside(field, mesh, q);
  const double outside2 = (p_S - q).squaredNorm();
  if (outside2 > 0) {
    const double outside = std::sqrt(outside2);
    out.distance = std::max(out.distance - outside, outside + field.margin);
    out.gradient_S = (p_S - q) / outside;
  }
  return out;
}

double field_distance(const DistanceField& field, const TriangleMesh& mesh, const Vec3& p_S) noexcept {
  return sample_field(field, mesh, p_S).distance;
}

FieldStats field_stats(const DistanceField& field) noexcept {
  FieldStats stats;
  stats.cells = field.nodes.size();
  stats.linear_cells = field.linear.size();
  stats.exact_cells = field.exact_first.empty() ? 0 : field.exact_first.size() - 1;
  stats.bytes = field.nodes.size() * sizeof(std::uint32_t) + field.linear.size() * sizeof(DistanceField::Linear) +
                (field.exact_first.size() + field.exact_triangles.size()) * sizeof(std::uint32_t);
  if (stats.exact_cells > 0) {
    stats.triangles_per_exact_cell =
        static_cast<double>(field.exact_triangles.size()) / static_cast<double>(stats.exact_cells);
  }
  stats.depth = field.depth;
  stats.max_error = field.max_error;
  return stats;
}

}  // namespace tactus
