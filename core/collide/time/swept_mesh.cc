#include "core/collide/time/swept_mesh.h"

#include <cmath>

#include "core/check.h"
#include "core/collide/narrow_phase.h"
#include "core/collide/time/sweep.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

namespace {

constexpr std::uint32_t kBoxLooks = 6;  // after which two boxes are taken for near
constexpr double kSolid = 4;            // of `deepest`, the depth of what is solid under a triangle: the half thickness
constexpr double kSure = 1e-3;          // of slack: nearer than that, the least distance has no direction
constexpr double kDeeper = 2;           // of `deepest`: no overlap elsewhere allows more than that here

const BoxTree* tree_of(const SweptShape& s) noexcept {
  return s.shape.kind == ShapeKind::mesh ? &s.shape.mesh->tree->triangles : nullptr;
}

// A node of a mesh's tree as a box on its way, or a convex shape itself.
struct Piece {
  Shape shape;
  SweptShape swept;
  Vec3 middle_W;  // of a ball around it at t = 0
  double round, arm;

  Piece(const SweptShape& s, std::uint32_t node) noexcept : Piece(s, tree_of(s), node) {}
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

 private:
  Piece(const SweptShape& s, const BoxTree* tree, std::uint32_t node) noexcept
      : shape(tree == nullptr ? s.shape : make_box(0.5 * (tree->nodes[node].hi - tree->nodes[node].lo))),
        swept{shape, s.X_WS, s.centre_W, s.travel_W, s.turn_W, s.radius, s.stopped},
        middle_W(s.centre_W),
        round(s.radius),
        arm(0) {
    if (tree == nullptr) return;
    swept.X_WS.p = middle_W = s.X_WS * Vec3(0.5 * (tree->nodes[node].hi + tree->nodes[node].lo));
    round = shape.half_S.norm();
    arm = (middle_W - s.centre_W).norm();
    swept.radius = std::min(s.radius, arm + round);
  }
};

double gap_of_balls(const Piece& a, const Piece& b) noexcept {
  return (a.middle_W - b.middle_W).norm() - a.round - b.round;
}

bool apart_at_start(const Piece& a, const Piece& b, double near) noexcept {
  if (gap_of_balls(a, b) > near) return true;
  return find_separation(a.shape, a.swept.X_WS, b.shape, b.swept.X_WS).gap > near;
}

// Until then, by balls or by a few looks. False: not known.
bool apart_until(const Piece& a, const Piece& b, double near, double until) noexcept {
  const double rate =
      (a.swept.travel_W - b.swept.travel_W).norm() + a.swept.turn_W.norm() * a.arm + b.swept.turn_W.norm() * b.arm;
  const bool stops = a.swept.stopped < until || b.swept.stopped < until;
  if (!stops && gap_of_balls(a, b) > near + until * rate) return true;
  Sweep s(a.swept, b.swept, until);
  for (std::uint32_t i = 0; i < kBoxLooks; ++i) {
    s.look();
    const Separation d = s.separation();
    if (d.gap <= near) return false;
    if (!s.advance(d.gap - near, s.closing(d.n_W, b.swept.radius))) return true;
  }
  return false;
}

// Calls visit(item of a, item of b) for leaves that keep(piece of a, piece of b); a convex shape is one leaf of one
// item. The nearer of two children first. False: too much work, the rest is left out.
template <typename Keep, typename Visit>
bool visit_pairs(const SweptShape& a, const SweptShape& b, const Keep& keep, const Visit& visit) {
  struct Entry {
    std::uint32_t a, b;
  };
  const BoxTree *tree_a = tree_of(a), *tree_b = tree_of(b);
  const auto leaf = [](const BoxTree* tree, std::uint32_t node) { return tree == nullptr || tree->nodes[node].count; };
  const auto count = [](const BoxTree* tree, std::uint32_t node) {
    return tree == nullptr ? 1 : tree->nodes[node].count;
  };
  const auto item = [](const BoxTree* tree, std::uint32_t node, std::uint32_t i) {
    return tree == nullptr ? 0 : tree->items[tree->nodes[node].first + i];
  };
  const auto middle = [](const SweptShape& s, const BoxTree* tree, std::uint32_t node) {
    return Vec3(s.X_WS * Vec3(0.5 * (tree->nodes[node].lo + tree->nodes[node].hi)));
  };
  Entry stack[2 * kBoxTreeStack];
  int size = 0;
  stack[size++] = {0, 0};
  for (std::uint32_t work = 0; size > 0;) {
    if (++work > MeshSweep::kMostWork) return false;
    const Entry at = stack[--size];
    const Piece piece_a(a, at.a), piece_b(b, at.b);
    if (!keep(piece_a, piece_b)) continue;
    const bool leaf_a = leaf(tree_a, at.a), leaf_b = leaf(tree_b, at.b);
    if (leaf_a && leaf_b) {
      for (std::uint32_t i = 0; i < count(tree_a, at.a); ++i) {
        for (std::uint32_t j = 0; j < count(tree_b, at.b); ++j, ++work) {
          visit(item(tree_a, at.a, i), item(tree_b, at.b, j));
        }
      }
      continue;
    }
    const bool split_b = !leaf_b && (leaf_a || piece_b.round >= piece_a.round);
    const BoxTree* tree = split_b ? tree_b : tree_a;
    const std::uint32_t node = split_b ? at.b : at.a, left = node + 1, right = tree->nodes[node].first;
    const Vec3& from = split_b ? piece_a.middle_W : piece_b.middle_W;
    const SweptShape& s = split_b ? b : a;
    const bool left_first =
        (middle(s, tree, left) - from).squaredNorm() <= (middle(s, tree, right) - from).squaredNorm();
    for (const std::uint32_t child : {left_first ? right : left, left_first ? left : right}) {
      stack[size++] = split_b ? Entry{at.a, child} : Entry{child, at.b};
    }
  }
  return true;
}

}  // namespace

SweptFacet::SweptFacet() {
  flat_.vertices.assign(3, Vec3::Zero());
  solid_.vertices.assign(6, Vec3::Zero());  // under corner k is corner 3 + k
  solid_.faces.resize(5);                   // the triangle, what is opposite, the sides
  solid_.face_vertices = {0, 1, 2, 3, 5, 4};
  solid_.faces[0].count = 3;
  solid_.faces[1].first = 3, solid_.faces[1].count = 3;
  for (std::uint32_t k = 0; k < 3; ++k) {
    const std::uint32_t l = (k + 1) % 3;
    solid_.faces[2 + k].first = static_cast<std::uint32_t>(solid_.face_vertices.size());
    solid_.faces[2 + k].count = 4;
    for (const std::uint32_t v : {k, 3 + k, 3 + l, l}) solid_.face_vertices.push_back(v);
    solid_.edges.push_back({k, l, 0, 2 + k});
    solid_.edges.push_back({3 + k, 3 + l, 2 + k, 1});
    solid_.edges.push_back({k, 3 + k, 2 + k, 2 + (k + 2) % 3});
  }
  for (std::uint32_t v = 0; v < 6; ++v) {
    const std::uint32_t level = v < 3 ? 0 : 3, k = v % 3;
    solid_.neighbours_first.push_back(static_cast<std::uint32_t>(solid_.neighbours.size()));
    for (const std::uint32_t w : {level + (k + 1) % 3, level + (k + 2) % 3, 3 - level + k}) {
      solid_.neighbours.push_back(w);
    }
  }
  solid_.neighbours_first.push_back(static_cast<std::uint32_t>(solid_.neighbours.size()));
}

void SweptFacet::set(const TriangleMesh& mesh, std::uint32_t triangle, double depth) noexcept {
  TACTUS_DCHECK(triangle < mesh.triangles.size());
  const Vec3& n = mesh.normals[triangle];
  solid_.centroid.setZero(), solid_.radius = 0;
  for (std::uint32_t k = 0; k < 3; ++k) {
    flat_.vertices[k] = solid_.vertices[k] = mesh.vertices[mesh.triangles[triangle][k]];
    solid_.vertices[3 + k] = solid_.vertices[k] - depth * n;
  }
  for (const Vec3& v : solid_.vertices) {
    solid_.centroid += v / 6;
    solid_.radius = std::max(solid_.radius, v.norm());
  }
  flat_.centroid = solid_.centroid, flat_.radius = solid_.radius;
  solid_.faces[0].nhat = n;
  solid_.faces[1].nhat = -n;
  for (std::uint32_t k = 0; k < 3; ++k) {
    solid_.faces[2 + k].nhat = (solid_.vertices[(k + 1) % 3] - solid_.vertices[k]).cross(n).normalized();
  }
  for (ConvexHull::Face& face : solid_.faces) {
    face.offset = face.nhat.dot(solid_.vertices[solid_.face_vertices[face.first]]);
  }
}

// A triangle on its way, or a convex shape.
struct MeshSweep::Part {
  Shape shape, solid;
  SweptShape swept;
  const SweptFacet* facet;  // null: convex
  const TriangleMesh* mesh;
  std::uint32_t triangle;

  Part(const SweptShape& s, std::uint32_t item, double depth, SweptFacet& room) noexcept
      : shape(s.shape),
        solid(s.shape),
        swept{shape, s.X_WS, s.centre_W, s.travel_W, s.turn_W, s.radius, s.stopped},
        facet(s.shape.kind == ShapeKind::mesh ? &room : nullptr),
        mesh(s.shape.mesh),
        triangle(item) {
    if (facet == nullptr) return;
    room.set(*s.shape.mesh, item, depth);
    shape = make_convex(&room.flat());
    solid = make_convex(&room.solid());
    swept.radius = 0;
    for (const Vec3& v : room.flat().vertices) swept.radius = std::max(swept.radius, (s.X_WS * v - s.centre_W).norm());
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  [[nodiscard]] Vec3 outward(const Frame& X_WS) const noexcept { return X_WS.R * facet->nhat_S(); }
  // Does the solid around it, too, reach no farther along d than the triangle? Not where it goes on there: an edge
  // between two triangles of one face stops nothing across it.
  [[nodiscard]] bool reaches(const Vec3& d_S, double tolerance) const noexcept {
    if (facet == nullptr) return true;
    std::uint32_t top = mesh->triangles[triangle][0];
    for (const std::uint32_t v : mesh->triangles[triangle]) {
      if (mesh->vertices[v].dot(d_S) > mesh->vertices[top].dot(d_S)) top = v;
    }
    const double height = mesh->vertices[top].dot(d_S) + tolerance;
    for (std::uint32_t i = mesh->vertex_first[top]; i < mesh->vertex_first[top + 1]; ++i) {
      if (mesh->vertices[mesh->vertex_vertices[i]].dot(d_S) > height) return false;
    }
    return true;
  }
};

namespace {

// The direction of least overlap; zero: not known.
Vec3 axis_of(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) noexcept {
  ContactPoint points[4];
  ContactBuffer buffer{points, 4};
  Witness witness;
  collide(a, X_WA, b, X_WB, witness, buffer);
  return buffer.count > 0 ? buffer.nhat_BA_W : Vec3(Vec3::Zero());
}

// Along which two parts touch, and how deep they overlap along it. `enough`: an overlap along a triangle's own normal
// up to which that is taken; of two the one that the other part reaches along, then the one with the smaller overlap;
// of two that it does not, with the larger. False: from behind.
template <typename Part>
bool choose_axis(const Sweep& s, const Part& a, const Part& b, const Vec3& least_W, double enough, double near,
                 Vec3& n_W, double& depth) noexcept {
  n_W = least_W;
  bool plane = false, taken_reaches = false;
  Vec3 any = Vec3::Zero();
  for (const bool of_b : {true, false}) {
    const Part &part = of_b ? b : a, &other = of_b ? a : b;
    if (part.facet == nullptr) continue;
    const Vec3 out = of_b ? b.outward(s.X_WB) : Vec3(-a.outward(s.X_WA));
    if (out.dot(least_W) < 0) return false;
    if (any.isZero(0)) any = out;
    const double along = -s.gap(out);
    if (along > enough) continue;
    const Vec3 d_S = of_b ? Vec3(s.X_WA.R.transpose() * -out) : Vec3(s.X_WB.R.transpose() * out);
    const bool reaches = other.reaches(d_S, kSure * near);
    if (plane && (taken_reaches != reaches ? taken_reaches : (along > depth) == reaches)) continue;
    plane = true;
    taken_reaches = reaches;
    n_W = out;
    depth = along;
  }
  if (plane) return true;
  if (n_W.isZero(0)) n_W = any;
  depth = -s.gap(n_W);
  return true;
}

}  // namespace

// How deep they overlap at t = 0, of all parts that touch then.
void MeshSweep::find_start(const SweptShape& a, const SweptShape& b, Rule& rule, bool& whole) noexcept {
  const double near = kSweepNear * rule.slack;
  const auto keep = [near](const Piece& x, const Piece& y) noexcept { return !apart_at_start(x, y, near); };
  whole = visit_pairs(a, b, keep, [&](std::uint32_t i, std::uint32_t j) {
    const Part x(a, i, kSolid * rule.deepest, facet_a_), y(b, j, kSolid * rule.deepest, facet_b_);
    Sweep s(x.swept, y.swept);
    s.look();
    const Separation d = s.separation();
    if (d.gap > near) return;
    const Vec3 least = d.apart > kSure * rule.slack ? d.n_W : axis_of(x.solid, s.X_WA, y.solid, s.X_WB);
    Vec3 n_W;
    double depth = 0;
    if (!choose_axis(s, x, y, least, rule.deepest, near, n_W, depth)) return;
    rule.touching = true;
    rule.depth = std::max(rule.depth, depth);
  });
}

SweptTouch MeshSweep::touch_parts(const Part& x, const Part& y, const Rule& rule, double until) noexcept {
  Sweep sweep(x.swept, y.swept, until);
  const double near = kSweepNear * rule.slack;
  const double allowed =
      rule.touching ? std::max(rule.deepest, std::min(rule.depth, kDeeper * rule.deepest)) : rule.slack;
  bool from_start = false;
  const auto begin = [&](Sweep& s, const Separation& d, const Vec3& last) noexcept {
    Vec3 least = last;
    if (s.t == 0) least = d.apart > kSure * rule.slack ? d.n_W : axis_of(x.solid, s.X_WA, y.solid, s.X_WB);
    const double enough = s.t == 0 ? rule.deepest : (rule.touching ? allowed : near);
    Vec3 n_W;
    double depth = 0;
    if (!choose_axis(s, x, y, least, enough, near, n_W, depth)) return false;
    s.touching = true;
    s.n_B = s.X_WB.R.transpose() * n_W;
    from_start = s.t == 0;
    s.limit = from_start ? std::max(allowed, depth) : allowed;
    return !(from_start && depth >= rule.deepest && s.leaves(depth));
  };
  // Triangles that have passed through each other are apart again, but not from what is solid under them.
  const auto still = [&](Sweep& s) noexcept {
    const Shape &a = from_start ? x.solid : x.shape, &b = from_start ? y.solid : y.shape;
    return !(find_separation(a, s.X_WA, b, s.X_WB).gap > near);
  };
  return follow(sweep, rule.slack, begin, still);
}

SweptTouch MeshSweep::first_touch(const SweptShape& a, const SweptShape& b, double slack, double deepest,
                                  double until) noexcept {
  TACTUS_ASSERT(b.shape.kind == ShapeKind::mesh && is_swept_pair(a.shape, b.shape));
  Rule rule{slack, deepest};
  bool whole = true;
  find_start(a, b, rule, whole);
  SweptTouch out;
  out.t = until;
  const auto keep = [&](const Piece& x, const Piece& y) noexcept {
    return !apart_until(x, y, kSweepNear * slack, out.t);
  };
  const bool all = visit_pairs(a, b, keep, [&](std::uint32_t i, std::uint32_t j) {
    const Part x(a, i, kSolid * deepest, facet_a_), y(b, j, kSolid * deepest, facet_b_);
    const SweptTouch touch = touch_parts(x, y, rule, out.t);
    out.looks += touch.looks;
    if (!touch.found || touch.t >= out.t) return;
    out.found = true;
    out.t = touch.t;
  });
  out.unknown = whole && all ? 0 : 1;
  return out;
}

}  // namespace tactus
