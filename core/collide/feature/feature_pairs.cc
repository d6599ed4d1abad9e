#include "core/collide/feature/feature_pairs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/collide/convex/narrow_closest.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// A vertex in front of a face's middle must stay in front whatever way its edges point, unless they point through.
constexpr double kFaceEpsilon = 0.5;
// Of the smaller body's diagonal: deeper than what features make sense of. From several sides they ask for what cannot
// be at once, which no choice of contacts solves.
constexpr double kDeep = 5e-4;
constexpr std::uint32_t kDeepFeature = 900;  // below 1024, as all that keys of contacts have room for
constexpr double kMostFalling = 0.02;        // [rad]
// Edges nearer to parallel than the step may turn them have no common perpendicular to speak of: it swings by the turn
// over their angle. Their ends are then within reach of each other, and faces see them.
constexpr double kParallelEdges = 1e-6, kParallelTurns = 2;

double squared_distance(const Vec3& p, const Vec3& tail, const Vec3& head) noexcept {
  const Vec3 along = head - tail;
  const double length2 = along.squaredNorm();
  const double t = length2 > 0 ? std::clamp(along.dot(p - tail) / length2, 0.0, 1.0) : 0.0;
  return (p - tail - t * along).squaredNorm();
}

bool boxes_meet(const Vec3& lo_a, const Vec3& hi_a, const Vec3& lo_b, const Vec3& hi_b) noexcept {
  return (lo_a.array() <= hi_b.array()).all() && (lo_b.array() <= hi_a.array()).all();
}

}  // namespace

FeaturePairs::FeaturePairs(std::vector<FeatureShape> shapes, std::uint32_t contacts_max)
    : shapes_(std::move(shapes)),
      contacts_(contacts_max),
      groups_(contacts_max),
      members_(std::size_t{4} * contacts_max) {
  std::size_t vertices = 0, edges = 0, faces = 0;
  for (const FeatureShape& shape : shapes_) {
    vertices = std::max(vertices, shape.vertices.size());
    edges = std::max(edges, shape.edges.size());
    faces = std::max(faces, shape.faces.size());
  }
  for (Side& side : side_) {
    side.vertices.resize(vertices), side.normals.resize(faces);
    side.near_vertices.reserve(vertices), side.near_edges.reserve(edges), side.near_faces.reserve(faces);
  }
}

void FeaturePairs::start(const FeatureRules& rules) noexcept {
  rules_ = rules;
  contact_count_ = group_count_ = member_count_ = dropped_ = 0;
}

void FeaturePairs::place(Side& side, const FeatureShape& shape, const Frame& X_WS) const noexcept {
  TACTUS_DCHECK(is_rotation(X_WS.R) && shape.vertices.size() <= side.vertices.capacity());
  side.shape = &shape;
  side.lo.setConstant(std::numeric_limits<double>::infinity());
  side.hi = -side.lo;
  for (std::size_t i = 0; i < shape.vertices.size(); ++i) {
    side.vertices[i] = X_WS * shape.vertices[i];
    if (shape.planar) side.vertices[i].z() = 0;
    side.lo = side.lo.cwiseMin(side.vertices[i]), side.hi = side.hi.cwiseMax(side.vertices[i]);
  }
  for (std::size_t f = 0; f < shape.faces.size(); ++f) {
    side.normals[f] = X_WS.R * shape.faces[f].nhat;
    if (shape.planar) side.normals[f].z() = 0;
  }
}

// What of a side lies within reach of the other's box.
void FeaturePairs::filter(Side& side, const Side& other) const noexcept {
  const Vec3 lo = other.lo.array() - reach_, hi = other.hi.array() + reach_;
  const FeatureShape& shape = *side.shape;
  side.near_vertices.clear(), side.near_edges.clear(), side.near_faces.clear();
  for (std::uint32_t i = 0; i < shape.vertices.size(); ++i) {
    if (boxes_meet(side.vertices[i], side.vertices[i], lo, hi)) side.near_vertices.push_back(i);
  }
  for (std::uint32_t i = 0; i < shape.edges.size(); ++i) {
    const Vec3 &p = side.vertices[shape.edges[i].tail], &q = side.vertices[shape.edges[i].head];
    if (boxes_meet(p.cwiseMin(q), p.cwiseMax(q), lo, hi)) side.near_edges.push_back(i);
  }
  for (std::uint32_t i = 0; i < shape.faces.size(); ++i) {
    const FeatureShape::Face& face = shape.faces[i];
    Vec3 face_lo = side.vertices[shape.face_vertices[face.first]], face_hi = face_lo;
    for (std::uint32_t k = 1; k < face.count; ++k) {
      const Vec3& p = side.vertices[shape.face_vertices[face.first + k]];
      face_lo = face_lo.cwiseMin(p), face_hi = face_hi.cwiseMax(p);
    }
    if (boxes_meet(face_lo, face_hi, lo, hi)) side.near_faces.push_back(i);
  }
}

// Largest distance of b from the plane of one of a's faces; above `enough` the first that is found.
double FeaturePairs::separation(const Side& a, const Side& b, double enough) noexcept {
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t f = 0; f < a.shape->faces.size(); ++f) {
    const Vec3& nhat = a.normals[f];
    const double offset = nhat.dot(a.vertices[a.shape->face_vertices[a.shape->faces[f].first]]);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < b.shape->vertices.size() && least > best; ++i) {
      least = std::min(least, nhat.dot(b.vertices[i]) - offset);
    }
    best = std::max(best, least);
    if (best > enough) break;
  }
  return best;
}

FeaturePairs::Found FeaturePairs::find(std::uint32_t a, const Shape& shape_a, const Frame& X_WA, std::uint32_t b,
                                       const Shape& shape_b, const Frame& X_WB, double reach, double turn,
                                       Witness& witness) noexcept {
  TACTUS_DCHECK(a != b && a < shapes_.size() && b < shapes_.size() && not_below(reach, 0) && not_below(turn, 0));
  Found found{contact_count_, 0, -std::numeric_limits<double>::infinity()};
  pair_first_ = contact_count_;
  const std::uint32_t group_first = group_count_;
  place(side_[0], shapes_[a], X_WA), place(side_[1], shapes_[b], X_WB);
  const bool plane_a = shapes_[a].kind == FeatureShape::Kind::plane,
             plane_b = shapes_[b].kind == FeatureShape::Kind::plane;
  if (plane_a || plane_b) {
    if (plane_a && plane_b) return found;
    side_[plane_b ? 1 : 0].lo = plane_b ? X_WB.p : X_WA.p;  // a point of the plane
    find_plane(plane_b, reach);
    for (std::uint32_t i = found.first; i < contact_count_; ++i) {
      found.overlap = std::max(found.overlap, -contacts_[i].gap);
    }
    found.count = contact_count_ - found.first;
    return found;
  }
  double apart = std::max(separation(side_[0], side_[1], reach), separation(side_[1], side_[0], reach));
  found.overlap = -apart;
  if (apart > reach) return found;
  if (apart < 0 && !shapes_[a].planar) {
    // Edges may still keep them apart.
    ContactPoint points[16];
    ContactBuffer buffer{points, 16};
    collide(shape_a, X_WA, shape_b, X_WB, witness, buffer);
    apart = 0;
    for (std::uint32_t i = 0; i < buffer.count; ++i) apart = std::min(apart, -points[i].depth);
    found.overlap = -apart;
    if (found.overlap > kDeep * smaller_size()) {
      add_deep(buffer);
      found.count = contact_count_ - found.first;
      return found;
    }
  }
  // What overlaps looks through itself for the features on the way out.
  reach_ = reach + 1.5 * std::max(0.0, -apart);
  reach2_ = reach_ * reach_;
  // Bodies that fall flat within the step turn by about what they travel over their size.
  const double turned = turn + std::min(kMostFalling, reach / smaller_size());
  epsilon_ = rules_.epsilon + turned;
  parallel_ = kParallelEdges + kParallelTurns * turned;
  filter(side_[0], side_[1]), filter(side_[1], side_[0]);
  find_vertex_pairs();
  find_vertex_edges(true), find_vertex_edges(false);
  find_edge_pairs();
  find_vertex_faces(true), find_vertex_faces(false);
  if (rules_.repaired) open_false_traps(group_first);
  found.count = contact_count_ - found.first;
  return found;
}

double FeaturePairs::smaller_size() const noexcept {
  return std::min((side_[0].hi - side_[0].lo).norm(), (side_[1].hi - side_[1].lo).norm());
}

// Far inside each other faces and edges of all sides are near, and ask for what cannot be at once. The points of the
// least overlap say which way is out; they are known by their place in the list.
void FeaturePairs::add_deep(const ContactBuffer& least) noexcept {
  for (std::uint32_t i = 0; i < least.count; ++i) {
    FeatureContact contact;
    contact.nhat_BA_W = least.nhat_BA_W;
    contact.p_WC = least.points[i].p_WC;
    contact.gap = -least.points[i].depth;
    contact.kind = FeatureContact::Kind::vertex_face;
    contact.feature_a = kDeepFeature + i, contact.feature_b = kDeepFeature;
    contact.manifold = kNoContact, contact.unilateral = true;
    add(contact);
  }
}

// Every vertex within reach of a half-space must stay above it.
void FeaturePairs::find_plane(bool plane_is_b, double reach) noexcept {
  const Side &solid = side_[plane_is_b ? 0 : 1], &plane = side_[plane_is_b ? 1 : 0];
  const Vec3& up = plane.normals[0];
  for (std::uint32_t v = 0; v < solid.shape->vertices.size(); ++v) {
    const double gap = up.dot(solid.vertices[v] - plane.lo);
    if (gap > reach) continue;
    FeatureContact contact;
    contact.nhat_BA_W = plane_is_b ? up : Vec3(-up);
    contact.p_WC = solid.vertices[v] - 0.5 * gap * up;
    contact.gap = gap;
    contact.kind = plane_is_b ? FeatureContact::Kind::vertex_face : FeatureContact::Kind::face_vertex;
    contact.feature_a = plane_is_b ? v : 0, contact.feature_b = plane_is_b ? 0 : v;
    contact.manifold = kNoContact, contact.unilateral = true;
    add(contact);
  }
}

bool FeaturePairs::near_edge(const Side& side, std::uint32_t edge, const Vec3& p) const noexcept {
  const FeatureShape::Edge& e = side.shape->edges[edge];
  return squared_distance(p, side.vertices[e.tail], side.vertices[e.head]) < reach2_;
}

void FeaturePairs::find_vertex_pairs() noexcept {
  for (const std::uint32_t va : side_[0].near_vertices) {
    for (const std::uint32_t vb : side_[1].near_vertices) {
      if (near(side_[0].vertices[va], side_[1].vertices[vb])) add_vertex_vertex(va, vb);
    }
  }
}

// A vertex near an edge, and not near the edge's ends.
void FeaturePairs::find_vertex_edges(bool vertex_of_a) noexcept {
  const Side &own = side_[vertex_of_a ? 0 : 1], &other = side_[vertex_of_a ? 1 : 0];
  for (const std::uint32_t v : own.near_vertices) {
    const Vec3& p = own.vertices[v];
    for (const std::uint32_t e : other.near_edges) {
      const FeatureShape::Edge& edge = other.shape->edges[e];
      if (near(p, other.vertices[edge.tail]) || near(p, other.vertices[edge.head])) continue;
      if (near_edge(other, e, p)) add_vertex_edge(vertex_of_a, v, e);
    }
  }
}

// A vertex before the inside of a face, and not near its border: (18), in the plane vertex-edge.
void FeaturePairs::find_vertex_faces(bool vertex_of_a) noexcept {
  const Side &own = side_[vertex_of_a ? 0 : 1], &other = side_[vertex_of_a ? 1 : 0];
  const bool planar = other.shape->planar;
  for (const std::uint32_t v : own.near_vertices) {
    const Vec3& p = own.vertices[v];
    for (const std::uint32_t f : other.near_faces) {
      const FeatureShape::Face& face = other.shape->faces[f];
      const Vec3& nhat = other.normals[f];
      const std::uint32_t* loop = other.shape->face_vertices.data() + face.first;
      if (std::abs(nhat.dot(p - other.vertices[loop[0]])) >= reach_) continue;
      bool inside = true;
      for (std::uint32_t k = 0; k < face.count && inside; ++k) {
        const Vec3 &q = other.vertices[loop[k]], &r = other.vertices[loop[(k + 1) % face.count]];
        inside = planar ? (r - q).dot(p - q) >= 0 && !near(p, q)
                        : nhat.dot((r - q).cross(p - q)) >= 0 && squared_distance(p, q, r) >= reach2_;
      }
      if (!inside || !vertex_applies(vertex_of_a, v, f, std::max(epsilon_, kFaceEpsilon))) continue;
      const std::uint32_t contact = vertex_face(vertex_of_a, v, f);
      if (contact != kNoContact) contacts_[contact].unilateral = true;
    }
  }
}

// Edges that are near each other, but none of their ends is near the other edge: (19).
void FeaturePairs::find_edge_pairs() noexcept {
  for (const std::uint32_t ea : side_[0].near_edges) {
    const FeatureShape::Edge& edge_a = side_[0].shape->edges[ea];
    const Vec3 &tail_a = side_[0].vertices[edge_a.tail], &head_a = side_[0].vertices[edge_a.head];
    const Vec3 half_a = 0.5 * (head_a - tail_a), mid_a = tail_a + half_a;
    for (const std::uint32_t eb : side_[1].near_edges) {
      const FeatureShape::Edge& edge_b = side_[1].shape->edges[eb];
      const Vec3 &tail_b = side_[1].vertices[edge_b.tail], &head_b = side_[1].vertices[edge_b.head];
      const Vec3 half_b = 0.5 * (head_b - tail_b), mid_b = tail_b + half_b;
      if (!boxes_meet(tail_a.cwiseMin(head_a).array() - reach_, tail_a.cwiseMax(head_a).array() + reach_,
                      tail_b.cwiseMin(head_b), tail_b.cwiseMax(head_b))) {
        continue;
      }
      double s = 0, t = 0;
      closest_on_segments(mid_a - mid_b, half_a, half_b, s, t);
      if (!near(mid_a + s * half_a, mid_b + t * half_b)) continue;
      if (near_edge(side_[1], eb, tail_a) || near_edge(side_[1], eb, head_a) || near_edge(side_[0], ea, tail_b) ||
          near_edge(side_[0], ea, head_b)) {
        continue;
      }
      bool applies = false;
      const std::uint32_t contact = edge_edge(ea, eb, applies);
      if (contact != kNoContact && applies) contacts_[contact].unilateral = true;
    }
  }
}

Wedge FeaturePairs::wedge(const Side& side, std::uint32_t edge) const noexcept {
  TACTUS_DCHECK(edge < side.shape->edges.size());
  const FeatureShape::Edge& e = side.shape->edges[edge];
  return make_wedge(side.vertices[e.head] - side.vertices[e.tail], side.normals[e.left], side.normals[e.right]);
}

// Eqs. 5 and 6: the edges of the vertex do not point through the face.
bool FeaturePairs::vertex_applies(bool vertex_of_a, std::uint32_t v, std::uint32_t f, double epsilon) const noexcept {
  const Side &own = side_[vertex_of_a ? 0 : 1], &other = side_[vertex_of_a ? 1 : 0];
  for (const std::uint32_t k : own.shape->vertex_neighbours.of(v)) {
    const Vec3 along = own.vertices[k] - own.vertices[v];
    if (other.normals[f].dot(along) < -epsilon * along.norm()) return false;
  }
  return true;
}

std::uint32_t FeaturePairs::add(const FeatureContact& contact) noexcept {
  TACTUS_DCHECK(is_unit(contact.nhat_BA_W));
  for (std::uint32_t i = pair_first_; i < contact_count_; ++i) {
    const FeatureContact& c = contacts_[i];
    if (c.kind == contact.kind && c.feature_a == contact.feature_a && c.feature_b == contact.feature_b) return i;
  }
  if (contact_count_ == contacts_.size()) {
    ++dropped_;
    return kNoContact;
  }
  contacts_[contact_count_] = contact;
  return contact_count_++;
}

std::uint32_t FeaturePairs::vertex_face(bool vertex_of_a, std::uint32_t v, std::uint32_t f) noexcept {
  const Side &own = side_[vertex_of_a ? 0 : 1], &other = side_[vertex_of_a ? 1 : 0];
  const Vec3 &p = own.vertices[v], &nhat = other.normals[f];
  FeatureContact contact;
  contact.gap = nhat.dot(p - other.vertices[other.shape->face_vertices[other.shape->faces[f].first]]);
  contact.nhat_BA_W = vertex_of_a ? nhat : Vec3(-nhat);
  contact.p_WC = p - 0.5 * contact.gap * nhat;
  contact.kind = vertex_of_a ? FeatureContact::Kind::vertex_face : FeatureContact::Kind::face_vertex;
  contact.feature_a = vertex_of_a ? v : f, contact.feature_b = vertex_of_a ? f : v;
  contact.manifold = kNoContact, contact.unilateral = false;
  return add(contact);
}

// The distance of two edges' lines; the force acts between the nearest points of the edges themselves.
std::uint32_t FeaturePairs::edge_edge(std::uint32_t ea, std::uint32_t eb, bool& applies) noexcept {
  const Wedge a = wedge(side_[0], ea), b = wedge(side_[1], eb);
  const Vec3 nhat = edge_normal(a, b, parallel_);
  applies = false;
  if (nhat.isZero(0)) return kNoContact;
  applies = edges_apply(a, b, nhat, rules_.edge_test, epsilon_);
  if (!applies) return kNoContact;
  const Vec3 mid_a = side_[0].vertices[side_[0].shape->edges[ea].tail] + 0.5 * a.along;
  const Vec3 mid_b = side_[1].vertices[side_[1].shape->edges[eb].tail] + 0.5 * b.along;
  double s = 0, t = 0;
  closest_on_segments(mid_a - mid_b, 0.5 * a.along, 0.5 * b.along, s, t);
  const Vec3 p_a = mid_a + 0.5 * s * a.along, p_b = mid_b + 0.5 * t * b.along;
  FeatureContact contact;
  contact.nhat_BA_W = nhat;
  contact.gap = nhat.dot(p_a - p_b);
  contact.p_WC = 0.5 * (p_a + p_b);
  contact.kind = FeatureContact::Kind::edge_edge;
  contact.feature_a = ea, contact.feature_b = eb;
  contact.manifold = kNoContact, contact.unilateral = false;
  return add(contact);
}

}  // namespace tactus
