#include "core/shape/mesh/triangle_tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"

namespace tactus {

namespace {

constexpr std::uint32_t kLeafItems = 4;
constexpr std::uint32_t kNoTriangle = 0xffffffffu;

struct Box {
  Vec3 lo = Vec3::Constant(std::numeric_limits<double>::infinity());
  Vec3 hi = Vec3::Constant(-std::numeric_limits<double>::infinity());
  void add(const Vec3& p) noexcept {
    lo = lo.cwiseMin(p);
    hi = hi.cwiseMax(p);
  }
};

// Splits at the median of the box centres, along the axis on which they spread widest; ties by item number.
void split(const std::vector<Box>& boxes, std::uint32_t first, std::uint32_t count, BoxTree& tree) {
  const std::size_t at = tree.nodes.size();
  tree.nodes.emplace_back();
  Box all, centres;
  for (std::uint32_t i = first; i < first + count; ++i) {
    const Box& box = boxes[tree.items[i]];
    all.add(box.lo);
    all.add(box.hi);
    centres.add(box.lo + box.hi);
  }
  tree.nodes[at].lo = all.lo;
  tree.nodes[at].hi = all.hi;
  if (count <= kLeafItems) {
    tree.nodes[at].first = first;
    tree.nodes[at].count = count;
    return;
  }
  int axis = 0;
  (centres.hi - centres.lo).maxCoeff(&axis);
  const auto less = [&boxes, axis](std::uint32_t x, std::uint32_t y) {
    const double cx = boxes[x].lo[axis] + boxes[x].hi[axis], cy = boxes[y].lo[axis] + boxes[y].hi[axis];
    return cx < cy || (cx == cy && x < y);
  };
  const std::uint32_t half = count / 2;
  const auto begin = tree.items.begin() + first;
  std::nth_element(begin, begin + half, begin + count, less);
  split(boxes, first, half, tree);
  tree.nodes[at].first = static_cast<std::uint32_t>(tree.nodes.size());
  split(boxes, first + half, count - half, tree);
}

void build(const std::vector<Box>& boxes, BoxTree& tree) {
  tree.nodes.clear();
  tree.items.resize(boxes.size());
  std::iota(tree.items.begin(), tree.items.end(), 0u);
  if (!boxes.empty()) split(boxes, 0, static_cast<std::uint32_t>(boxes.size()), tree);
}

// Each edge once, from the side of the lower triangle; convex ones with an angle only.
void find_sharp_edges(const TriangleMesh& mesh, TriangleTree& out) {
  out.sharp_edges.clear();
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t u = mesh.neighbours[t][k];
      if (u < t) continue;
      const std::uint32_t a = mesh.triangles[t][k], b = mesh.triangles[t][(k + 1) % 3];
      const Vec3 e = (mesh.vertices[b] - mesh.vertices[a]).normalized();
      const double sine = mesh.normals[t].cross(mesh.normals[u]).dot(e);  // > 0: the faces bend away from each other
      const bool folded = mesh.normals[t].dot(mesh.normals[u]) < 0;
      if (sine > TriangleTree::kSharpSine || (folded && sine >= 0)) out.sharp_edges.push_back({a, b, t, u});
    }
  }
}

void find_vertex_normals(const TriangleMesh& mesh, TriangleTree& out) {
  out.vertex_normals.assign(mesh.vertices.size(), Vec3::Zero());
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3& p = mesh.vertices[mesh.triangles[t][k]];
      const Vec3 u = mesh.vertices[mesh.triangles[t][(k + 1) % 3]] - p;
      const Vec3 v = mesh.vertices[mesh.triangles[t][(k + 2) % 3]] - p;
      out.vertex_normals[mesh.triangles[t][k]] += std::atan2(u.cross(v).norm(), u.dot(v)) * mesh.normals[t];
    }
  }
  for (Vec3& n : out.vertex_normals) n.normalize();
}

// The nearest point of a triangle and which feature it lies on: 0 face, 1..3 the edge from vertex k - 1, 4..6 vertex
// k - 4 (Ericson, Real-Time Collision Detection, 5.1.5).
struct OnTriangle {
  Vec3 p;
  int feature;
};

OnTriangle closest_feature(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& p) noexcept {
  const Vec3 ab = b - a, ac = c - a, ap = p - a;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap);
  if (d1 <= 0 && d2 <= 0) return {a, 4};
  const Vec3 bp = p - b;
  const double d3 = ab.dot(bp), d4 = ac.dot(bp);
  if (d3 >= 0 && d4 <= d3) return {b, 5};
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return {a + (d1 / (d1 - d3)) * ab, 1};
  const Vec3 cp = p - c;
  const double d5 = ab.dot(cp), d6 = ac.dot(cp);
  if (d6 >= 0 && d5 <= d6) return {c, 6};
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return {a + (d2 / (d2 - d6)) * ac, 3};
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) return {b + ((d4 - d3) / ((d4 - d3) + (d5 - d6))) * (c - b), 2};
  const double denominator = 1.0 / (va + vb + vc);
  return {a + ab * (vb * denominator) + ac * (vc * denominator), 0};
}

struct Nearest {
  double d2 = std::numeric_limits<double>::infinity();
  OnTriangle on{Vec3::Zero(), 0};
  std::uint32_t triangle = kNoTriangle;

  void look(const TriangleMesh& mesh, std::uint32_t t, const Vec3& p) noexcept {
    const TriangleTree::Packed& v = mesh.tree->packed[t];
    const double height = v.nhat.dot(p - v.a);
    if (height * height > d2 * (1 + 1e-9)) return;  // the plane is too far already
    const OnTriangle found = closest_feature(v.a, v.b, v.c, p);
    const double square = (p - found.p).squaredNorm();
    if (square < d2) {
      d2 = square;
      on = found;
      triangle = t;
    }
  }
};

// The pseudo-normal of the nearest feature gives the sign.
MeshClosest finish(const TriangleMesh& mesh, const Nearest& nearest, const Vec3& p) noexcept {
  MeshClosest out;
  out.triangle = nearest.triangle;
  if (nearest.triangle == kNoTriangle) return out;
  out.p_S = nearest.on.p;
  const std::size_t t = nearest.triangle;
  const Vec3 away = p - nearest.on.p;
  const Vec3& face = mesh.normals[t];
  if (nearest.on.feature == 0) {
    out.distance = face.dot(away);  // exact for points in the plane too
    out.gradient_S = face;
    return out;
  }
  Vec3 normal = face;
  if (nearest.on.feature <= 3) {
    normal += mesh.normals[mesh.neighbours[t][static_cast<std::size_t>(nearest.on.feature - 1)]];
  } else {
    normal = mesh.tree->vertex_normals[mesh.triangles[t][static_cast<std::size_t>(nearest.on.feature - 4)]];
  }
  const double distance = std::sqrt(nearest.d2), scale = p.cwiseAbs().maxCoeff();
  const double sign = away.dot(normal) < 0 ? -1.0 : 1.0;
  out.distance = sign * distance;
  // On the feature itself the direction to it says nothing.
  out.gradient_S = distance > 1e-13 * scale ? Vec3(away * (sign / distance)) : Vec3(normal.normalized());
  return out;
}

double box_distance2(const Vec3& lo, const Vec3& hi, const Vec3& p) noexcept {
  return (lo - p).cwiseMax(p - hi).cwiseMax(0.0).squaredNorm();
}

}  // namespace

void build_triangle_tree(const TriangleMesh& mesh, TriangleTree& out) {
  TACTUS_ASSERT(mesh.normals.size() == mesh.triangles.size() && mesh.neighbours.size() == mesh.triangles.size());
  out.packed.clear();
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const auto& [a, b, c] = mesh.triangles[t];
    out.packed.push_back({mesh.vertices[a], mesh.vertices[b], mesh.vertices[c], mesh.normals[t]});
  }
  find_vertex_normals(mesh, out);
  find_sharp_edges(mesh, out);
  std::vector<Box> boxes(mesh.triangles.size());
  for (std::size_t t = 0; t < boxes.size(); ++t) {
    for (const std::uint32_t v : mesh.triangles[t]) boxes[t].add(mesh.vertices[v]);
  }
  build(boxes, out.triangles);
  boxes.assign(mesh.vertices.size(), Box{});
  for (std::size_t v = 0; v < boxes.size(); ++v) boxes[v].add(mesh.vertices[v]);
  build(boxes, out.vertices);
  boxes.assign(out.sharp_edges.size(), Box{});
  for (std::size_t e = 0; e < boxes.size(); ++e) {
    boxes[e].add(mesh.vertices[out.sharp_edges[e].vertex_a]);
    boxes[e].add(mesh.vertices[out.sharp_edges[e].vertex_b]);
  }
  build(boxes, out.edges);
}

MeshClosest closest_on_mesh(const TriangleMesh& mesh, const Vec3& p_S, double reach) noexcept {
  const BoxTree& tree = mesh.tree->triangles;
  Nearest nearest;
  nearest.d2 = reach * reach;
  struct Entry {
    std::uint32_t node;
    double d2;
  };
  Entry stack[kBoxTreeStack];
  int size = 0;
  stack[size++] = {0, box_distance2(tree.nodes[0].lo, tree.nodes[0].hi, p_S)};
  while (size > 0) {
    const Entry entry = stack[--size];
    if (entry.d2 >= nearest.d2) continue;
    const BoxTree::Node& node = tree.nodes[entry.node];
    if (node.count > 0) {
      for (std::uint32_t i = 0; i < node.count; ++i) nearest.look(mesh, tree.items[node.first + i], p_S);
      continue;
    }
    const BoxTree::Node &left = tree.nodes[entry.node + 1], &right = tree.nodes[node.first];
    const double dl = box_distance2(left.lo, left.hi, p_S), dr = box_distance2(right.lo, right.hi, p_S);
    if (dl <= dr) {  // the nearer one first
      if (dr < nearest.d2) stack[size++] = {node.first, dr};
      if (dl < nearest.d2) stack[size++] = {entry.node + 1, dl};
    } else {
      if (dl < nearest.d2) stack[size++] = {entry.node + 1, dl};
      if (dr < nearest.d2) stack[size++] = {node.first, dr};
    }
  }
  return finish(mesh, nearest, p_S);
}

MeshClosest closest_on_triangles(const TriangleMesh& mesh, const std::uint32_t* triangles, std::uint32_t count,
                                 const Vec3& p_S) noexcept {
  Nearest nearest;
  for (std::uint32_t i = 0; i < count; ++i) nearest.look(mesh, triangles[i], p_S);
  return finish(mesh, nearest, p_S);
}

Vec3 farthest_vertex(const TriangleMesh& mesh, const Vec3& d_S) noexcept {
  const BoxTree& tree = mesh.tree->vertices;
  const auto most = [&](const BoxTree::Node& node) {
    return node.lo.cwiseProduct(d_S).cwiseMax(node.hi.cwiseProduct(d_S)).sum();
  };
  std::uint32_t stack[kBoxTreeStack], best = 0;
  double height = -std::numeric_limits<double>::infinity();
  int size = 0;
  stack[size++] = 0;
  while (size > 0) {
    const std::uint32_t at = stack[--size];
    const BoxTree::Node& node = tree.nodes[at];
    if (most(node) <= height) continue;
    if (node.count == 0) {
      const std::uint32_t left = at + 1, right = node.first;
      const bool left_first = most(tree.nodes[left]) >= most(tree.nodes[right]);
      stack[size++] = left_first ? right : left;
      stack[size++] = left_first ? left : right;
      continue;
    }
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
      const double along = mesh.vertices[tree.items[i]].dot(d_S);
      if (along > height) height = along, best = tree.items[i];
    }
  }
  return mesh.vertices[best];
}

Vec3 closest_on_triangle(const TriangleMesh& mesh, std::uint32_t triangle, const Vec3& p_S) noexcept {
  const TriangleMesh::Triangle& v = mesh.triangles[triangle];
  return closest_feature(mesh.vertices[v[0]], mesh.vertices[v[1]], mesh.vertices[v[2]], p_S).p;
}

}  // namespace tactus
