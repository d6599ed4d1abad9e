#include "core/collide/mesh/mesh_solid.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"
#include "core/shape/mesh/distance_field.h"

namespace tactus {

namespace {

// Sine by which a neighbour must reach farther than a feature to take over: less is rounding.
constexpr double kReaches = 1e-11;
constexpr int kMostTriangles = 256;  // of one way over a facet

}  // namespace

bool MeshSolid::valid(std::int32_t number) const noexcept {
  const std::size_t count = mesh_.vertices.size() + 4 * mesh_.triangles.size();
  return number >= 0 && static_cast<std::size_t>(number) < count;
}

MeshSolid::Feature MeshSolid::feature(std::int32_t number) const noexcept {
  TACTUS_DCHECK(valid(number));
  auto n = static_cast<std::uint32_t>(number);
  const auto vertices = static_cast<std::uint32_t>(mesh_.vertices.size());
  const auto triangles = static_cast<std::uint32_t>(mesh_.triangles.size());
  if (n < vertices) return {Kind::vertex, n, 0};
  n -= vertices;
  if (n < 3 * triangles) return {Kind::edge, n / 3, n % 3};
  return {Kind::face, n - 3 * triangles, 0};
}

std::int32_t MeshSolid::number(const Feature& f) const noexcept {
  if (f.kind == Kind::vertex) return vertex_number(f.i);
  return f.kind == Kind::edge ? edge_number(f.i, f.k) : face_number(f.i);
}

std::int32_t MeshSolid::face_number(std::uint32_t t) const noexcept {
  TACTUS_DCHECK(t < mesh_.triangles.size());
  return static_cast<std::int32_t>(mesh_.vertices.size() + 3 * mesh_.triangles.size() + t);
}

std::int32_t MeshSolid::edge_number(std::uint32_t t, std::uint32_t k) const noexcept {
  TACTUS_DCHECK(t < mesh_.triangles.size() && k < 3);
  const std::uint32_t u = mesh_.neighbours[t][k];
  if (u < t) {
    const std::uint32_t end = mesh_.triangles[t][(k + 1) % 3];
    for (std::uint32_t j = 0; j < 3; ++j) {
      if (mesh_.triangles[u][j] == end && mesh_.neighbours[u][j] == t) return edge_number(u, j);
    }
  }
  return static_cast<std::int32_t>(mesh_.vertices.size() + std::size_t{3} * t + k);
}

bool MeshSolid::is_at_facet(std::int32_t number, std::uint32_t facet) const noexcept {
  const Feature f = feature(number);
  if (f.kind != Kind::vertex) {
    return mesh_.facet[f.i] == facet || (f.kind == Kind::edge && mesh_.facet[mesh_.neighbours[f.i][f.k]] == facet);
  }
  for (std::uint32_t c = mesh_.corner_first[f.i]; c < mesh_.corner_first[f.i + 1]; ++c) {
    if (mesh_.facet[mesh_.vertex_triangles[c]] == facet) return true;
  }
  return false;
}

bool MeshSolid::is_corner(std::uint32_t v) const noexcept {
  TACTUS_DCHECK(v < mesh_.vertices.size());
  const std::uint32_t first = mesh_.facet[mesh_.vertex_triangles[mesh_.corner_first[v]]];
  std::uint32_t second = first;
  for (std::uint32_t c = mesh_.corner_first[v]; c < mesh_.corner_first[v + 1]; ++c) {
    const std::uint32_t facet = mesh_.facet[mesh_.vertex_triangles[c]];
    if (facet == first || facet == second) continue;
    if (second != first) return true;
    second = facet;
  }
  return false;
}

double MeshSolid::sticks_out(std::uint32_t t, std::uint32_t k) const noexcept {
  TACTUS_DCHECK(t < mesh_.triangles.size() && k < 3);
  const std::uint32_t u = mesh_.neighbours[t][k];
  if (mesh_.facet[t] == mesh_.facet[u]) return 0;
  const Vec3 along = mesh_.vertices[mesh_.triangles[t][(k + 1) % 3]] - mesh_.vertices[mesh_.triangles[t][k]];
  const Vec3 across = mesh_.normals[u].cross(along);  // away from u
  const double length = across.norm(), down = mesh_.normals[t].dot(across);
  return length > 0 ? down / length : 0.0;
}

void MeshSolid::set(std::int32_t number, const Vec3& start, ExtremalFeature& out) const noexcept {
  const Feature f = feature(number);
  switch (f.kind) {
    case Kind::vertex:
      return out.set_point(vertex(f.i));
    case Kind::edge: {
      const TriangleMesh::Triangle& corners = mesh_.triangles[f.i];
      const Vec3 a = vertex(corners[f.k]), b = vertex(corners[(f.k + 1) % 3]);
      return out.set_line(a, (b - a).normalized(), start);
    }
    case Kind::face:
      return out.set_plane(vertex(mesh_.triangles[f.i][0]), normal(f.i));
  }
}

std::int32_t MeshSolid::next(std::int32_t number, const ExtremalRoot& root) const noexcept {
  const Feature f = feature(number);
  switch (f.kind) {
    case Kind::vertex:
      return next_vertex(f, -turned_to_own(root.n));
    case Kind::edge:
      return next_edge(f, -turned_to_own(root.n), to_own(root.pa));
    case Kind::face:
      return next_face(f, to_own(root.pa));
  }
  return -1;
}

std::int32_t MeshSolid::next_vertex(const Feature& f, const Vec3& m_M) const noexcept {
  double most = kReaches;
  std::uint32_t highest = 0;
  bool found = false;
  for (std::uint32_t i = mesh_.vertex_first[f.i]; i < mesh_.vertex_first[f.i + 1]; ++i) {
    const Vec3 along = mesh_.vertices[mesh_.vertex_vertices[i]] - mesh_.vertices[f.i];
    const double rise = m_M.dot(along) / along.norm();
    if (rise > most) most = rise, highest = mesh_.vertex_vertices[i], found = true;
  }
  if (!found) return vertex_number(f.i);
  for (std::uint32_t c = mesh_.corner_first[f.i]; c < mesh_.corner_first[f.i + 1]; ++c) {
    const std::uint32_t t = mesh_.vertex_triangles[c];
    for (std::uint32_t k = 0; k < 3; ++k) {
      if (mesh_.triangles[t][k] == f.i && mesh_.triangles[t][(k + 1) % 3] == highest) return edge_number(t, k);
    }
  }
  return -1;
}

std::int32_t MeshSolid::next_edge(const Feature& f, const Vec3& m_M, const Vec3& p_M) const noexcept {
  const TriangleMesh::Triangle& corners = mesh_.triangles[f.i];
  const std::uint32_t a = corners[f.k], b = corners[(f.k + 1) % 3], u = mesh_.neighbours[f.i][f.k];
  const Vec3 along = mesh_.vertices[b] - mesh_.vertices[a];
  const double length = along.norm(), s = along.dot(p_M - mesh_.vertices[a]) / length;
  if (s < -near_) return vertex_number(a);
  if (s > length + near_) return vertex_number(b);
  const double over_t = m_M.dot(mesh_.normals[f.i].cross(along)) / length;
  const double over_u = -m_M.dot(mesh_.normals[u].cross(along)) / length;
  if (std::max(over_t, over_u) <= kReaches) return number(f);
  return face_number(over_t >= over_u ? f.i : u);
}

std::int32_t MeshSolid::next_face(const Feature& f, const Vec3& p_M) const noexcept {
  std::uint32_t t = f.i, k = 0;
  if (walk_facet(p_M, t, k)) return face_number(t);
  return edge_number(t, k);
}

std::uint32_t MeshSolid::beyond(std::uint32_t t, const Vec3& p_M, double least) const noexcept {
  const TriangleMesh::Triangle& corners = mesh_.triangles[t];
  double most = least;
  std::uint32_t out = 3;
  for (std::uint32_t k = 0; k < 3; ++k) {
    const Vec3& a = mesh_.vertices[corners[k]];
    const Vec3 along = mesh_.vertices[corners[(k + 1) % 3]] - a;
    const double over = -mesh_.normals[t].cross(along).dot(p_M - a) / along.norm();
    if (over > most) most = over, out = k;
  }
  return out;
}

Vec3 MeshSolid::nearest_on_edge(std::int32_t edge, const Vec3& p) const noexcept {
  const Feature f = feature(edge);
  const TriangleMesh::Triangle& corners = mesh_.triangles[f.i];
  const Vec3 a = vertex(corners[f.k]), along = vertex(corners[(f.k + 1) % 3]) - a;
  return a + std::clamp(along.dot(p - a) / along.squaredNorm(), 0.0, 1.0) * along;
}

bool MeshSolid::spans(std::int32_t edge, const Vec3& p) const noexcept {
  const Feature f = feature(edge);
  const TriangleMesh::Triangle& corners = mesh_.triangles[f.i];
  const Vec3& a = mesh_.vertices[corners[f.k]];
  const Vec3 along = mesh_.vertices[corners[(f.k + 1) % 3]] - a;
  const double length = along.norm(), s = along.dot(to_own(p) - a) / length;
  return s >= -near_ && s <= length + near_;
}

bool MeshSolid::walk_facet(const Vec3& p_M, std::uint32_t& t, std::uint32_t& k) const noexcept {
  TACTUS_DCHECK(t < mesh_.triangles.size());
  for (int i = 0;; ++i) {
    k = beyond(t, p_M, near_);
    if (k == 3) return true;
    const std::uint32_t u = mesh_.neighbours[t][k];
    if (i == kMostTriangles || mesh_.facet[u] != mesh_.facet[t]) return false;
    t = u;
  }
}

std::uint32_t MeshSolid::triangle_along(std::int32_t number, const Vec3& n, double cosine) const noexcept {
  TACTUS_DCHECK(is_unit(n));
  const Feature f = feature(number);
  const Vec3 n_M = turned_to_own(n);
  std::uint32_t best = kNoTriangle;
  const auto look = [&](std::uint32_t t) {
    const double c = mesh_.normals[t].dot(n_M);
    if (c > cosine) cosine = c, best = t;
  };
  if (f.kind == Kind::vertex) {
    for (std::uint32_t c = mesh_.corner_first[f.i]; c < mesh_.corner_first[f.i + 1]; ++c) {
      look(mesh_.vertex_triangles[c]);
    }
    return best;
  }
  look(f.i);
  if (f.kind == Kind::edge) look(mesh_.neighbours[f.i][f.k]);
  return best;
}

double MeshSolid::distance(const Vec3& p) const noexcept {
  return field_distance(*mesh_.field, mesh_, to_own(p));
}

}  // namespace tactus
