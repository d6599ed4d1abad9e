#include "core/collide/places/mesh_places.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/collide/convex/closest_cores.h"
#include "core/collide/mesh/mesh_near.h"
#include "core/math/checks.h"
#include "core/shape/mesh/distance_field.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

namespace {

// Of the smaller one's size: places nearer to each other are one.
constexpr double kOneMeshPlace = 0.02;
// Of the surface's radius: seeds of one neighbourhood, how much nearer than its seed a place may be, and how far from
// it along the surface.
constexpr double kNeighbours = 0.2, kBetweenSeeds = 0.25, kSeedGaps = 0.45;
// Cosine of a seed's normal and a face's from which on it may lead to the face's place.
constexpr double kFacingSeed = 0.2;
constexpr int kMostSeedStarts = 12;  // of one feature
// Of the surface's radius: a triangle that is small against it; and the cosine of the normals where it may face it.
constexpr double kSmallTriangle = 0.15, kSmallFacing = 0.5;
// Of the surface's radius: boxes of the tree below that are not worth one more of its farthest points, if those are
// dear.
constexpr double kFineBox = 0.1;
// Sine by which a vertex' neighbours may be higher where its place is known to first order only, and more of that per
// distance by radius.
constexpr double kNearCone = 0.02, kNearConeGrowth = 4;
// Of the least height of a convex hollow's middle over its seeds' planes: what is in it as a ball.
constexpr double kInHollow = 0.7;
constexpr double kFreed = 0.05;  // of the way: so far outside is freed, less is rounding where two are as deep
constexpr std::uint32_t kCachedFacets = 32, kCachedFolded = 8;
// Of the size: a root that far beyond a triangle may belong to it; the solver decides.
constexpr double kPerhapsWithin = 1e-6;
// Between the normals of an edge's faces: directions tried, and how far from the edge, of the size, is near enough.
constexpr int kMostTurns = 24;
constexpr double kOverEdge = 0.01;
// Of the surface's radius: how high over a seed's plane an edge may lie that has a place near it. And how many of an
// edge's seeds are tried by nearest points in turn.
constexpr double kOverSeed = 0.15;
constexpr int kMostInTurn = 3;

// To first order of F, or by the plane at the nearest seed: how far p is from the surface, and its place there.
double gap_to(const SmoothSurface& surface, const Vec3& p, SurfaceSeed& foot) noexcept {
  const SurfaceSeed* nearest = &surface.seeds()[0];
  if (!surface.parametric()) {
    const ImplicitJet jet = surface.implicit(p);
    const double grad2 = jet.grad.squaredNorm();
    if (!(grad2 > 1e-12)) {  // the middle
      foot = *nearest;
      return -surface.radius();
    }
    const double grad = std::sqrt(grad2), gap = jet.F / grad;
    if (std::abs(gap) < 0.5 * surface.radius()) {
      foot = {p - (gap / grad) * jet.grad, jet.grad / grad, {}};
      return gap;
    }
  }
  for (const SurfaceSeed& seed : surface.seeds()) {
    if ((seed.p_S - p).squaredNorm() < (nearest->p_S - p).squaredNorm()) nearest = &seed;
  }
  foot = *nearest;
  return nearest->n_S.dot(p - nearest->p_S);
}

Vec3 support_of_surface(const void* surface, const Vec3& d) noexcept {
  return static_cast<const SmoothSurface*>(surface)->support(d);
}
Vec3 support_of_point(const void* p, const Vec3& /*d*/) noexcept {
  return *static_cast<const Vec3*>(p);
}

// Seeds that lie lowest among their neighbours, the lowest first.
struct LowSeeds {
  struct Low {
    const SurfaceSeed* seed;
    double height;
  };
  Low at[kMostSeedStarts];
  int count = 0;

  void add(const SurfaceSeed& seed, double height, double near) noexcept {
    const auto together = [&](const Low& other) { return (other.seed->p_S - seed.p_S).squaredNorm() <= near * near; };
    for (int i = 0; i < count; ++i) {
      if (at[i].height <= height && together(at[i])) return;
    }
    count = static_cast<int>(std::remove_if(at, at + count, together) - at);
    if (count == kMostSeedStarts && height >= at[count - 1].height) return;
    int i = count < kMostSeedStarts ? count++ : count - 1;
    for (; i > 0 && at[i - 1].height > height; --i) at[i] = at[i - 1];
    at[i] = {&seed, height};
  }
};

// In the frame of the surface.
class MeshPlaceSearch {
 public:
  MeshPlaceSearch(const MeshSmoothPair& pair, double reach, std::span<const ExtremalPair> known,
                  MeshPlaces& out) noexcept
      : pair_(pair),
        solid_(pair.solid()),
        mesh_(*pair.mesh.mesh),
        surface_(pair.surface()),
        at_(solid_, surface_),
        reach_(reach),
        known_(known),
        out_(out) {
    const Mat3 R_MS = pair.X_WM.R.transpose() * pair.X_WS.R;
    box_ = surface_.bounds({R_MS, pair.X_WM.to_local(pair.X_WS.p)});
    const Aabb own = surface_.bounds({});
    middle_ = 0.5 * (own.lo + own.hi);
    half_ = 0.5 * (own.hi - own.lo);
    for (Facet& facet : facets_) facet.facet = kNoIndexHere;
    const SmoothKind kind = surface_.kind();
    if (surface_.cavity()) measure_hollow();
    dear_ = kind == SmoothKind::superellipsoid || kind == SmoothKind::revolution || kind == SmoothKind::spline;
  }

  void find() noexcept {
    if (surface_.cavity() && beyond_wall()) return;
    const auto keep = [this](const Vec3& lo, const Vec3& hi) noexcept {
      if (out_.triangles >= kMostNearTriangles) return false;
      return surface_.cavity() ? !deep_in_hollow(lo, hi) : may_be_near(lo, hi);
    };
    visit_boxes(mesh_.tree->triangles, keep, [this](std::uint32_t t) { visit(t); });
    if (out_.triangles >= kMostNearTriangles) ++out_.dropped;
  }

 private:
  static constexpr std::uint32_t kNoIndexHere = 0xffffffffu;
  struct Facet {
    std::uint32_t facet;
    Vec3 p;  // the surface's farthest point along -n
  };
  // The surface lies behind it.
  struct Plane {
    Vec3 n, n_M;
    double height;
  };
  static constexpr std::uint32_t kPlanes = 12;
  struct FoldedFacet {
    std::uint32_t facet = kNoIndexHere;
    int count = 0;
    SurfaceSeed at[kMostSeedStarts];  // of its plane's places
  };

  // A lower bound of what a box of the mesh is from the surface's hull, along a direction that is likely to be good.
  [[nodiscard]] bool may_be_near(const Vec3& lo, const Vec3& hi) noexcept {
    if (((lo.array() - reach_) > box_.hi.array()).any() || ((hi.array() + reach_) < box_.lo.array()).any())
      return false;
    const Vec3 half = 0.5 * (hi - lo), m = solid_.from_own(0.5 * (lo + hi));
    const auto beyond = [&](const Plane& plane) {
      return plane.n.dot(m) - plane.height - plane.n_M.cwiseAbs().dot(half) > reach_;
    };
    if (std::any_of(planes_, planes_ + plane_count_, beyond)) return false;
    const double fine = kFineBox * surface_.radius();
    if (dear_ && half.squaredNorm() < fine * fine) return true;
    Vec3 n = (m - middle_).cwiseQuotient(half_.cwiseProduct(half_));
    if (!surface_.parametric()) n = surface_.implicit(m).grad;
    const double length = n.norm();
    if (!(length > 0)) return true;
    n *= 1 / length;
    Plane& plane = planes_[next_plane_];
    plane = {n, solid_.turned_to_own(n), n.dot(surface_.outer_support(n))};
    if (!beyond(plane)) return true;
    plane_count_ = std::max(plane_count_, next_plane_ + 1);
    next_plane_ = (next_plane_ + 1) % kPlanes;
    return false;
  }

  // A ball about the middle of a convex hollow that certainly lies in it.
  void measure_hollow() noexcept {
    ellipsoid_ = surface_.is_ellipsoid(hollow_);
    hollow_ball_ = std::numeric_limits<double>::infinity();
    for (const SurfaceSeed& seed : surface_.seeds())
      hollow_ball_ = std::min(hollow_ball_, kInHollow * seed.n_S.dot(surface_.centre() - seed.p_S));
  }
  // All of the mesh beyond the wall, seen from the middle?
  [[nodiscard]] bool beyond_wall() const noexcept {
    const Vec3 n = solid_.centre() - surface_.centre();
    const double reach = solid_.turned_to_own(n).cwiseAbs().dot(0.5 * (mesh_.hi - mesh_.lo));
    return n.dot(solid_.centre() - surface_.support(n)) > reach;
  }
  [[nodiscard]] bool in_hollow(const Vec3& p) const noexcept {
    if (ellipsoid_) return hollow_.at(p) < 1;
    if (surface_.has_implicit()) return surface_.implicit(p).F > 0;
    return (p - surface_.centre()).squaredNorm() < hollow_ball_ * hollow_ball_;
  }
  // All of the box in the hollow, and farther than `reach` from the wall? A part s of a convex hollow about its middle
  // is at least 1 - s of that ball away from the wall.
  [[nodiscard]] bool deep_in_hollow(const Vec3& lo, const Vec3& hi) const noexcept {
    const double part = 1 - reach_ / hollow_ball_;
    if (!(part > 0)) return false;
    for (int i = 0; i < 8; ++i) {
      const Vec3 corner(i % 2 == 0 ? lo.x() : hi.x(), i / 2 % 2 == 0 ? lo.y() : hi.y(), i / 4 == 0 ? lo.z() : hi.z());
      if (!in_hollow(surface_.centre() + (solid_.from_own(corner) - surface_.centre()) / part)) return false;
    }
    return true;
  }

  const Vec3& farthest(std::uint32_t t) noexcept {
    const std::uint32_t facet = mesh_.facet[t];
    Facet& known = facets_[facet % kCachedFacets];
    if (known.facet != facet) known = {facet, surface_.support(-solid_.normal(t))};
    return known.p;
  }
  [[nodiscard]] double height(std::uint32_t t, const Vec3& p) const noexcept {
    return solid_.normal(t).dot(p - solid_.vertex(mesh_.triangles[t][0]));
  }

  void visit(std::uint32_t t) noexcept {
    ++out_.triangles;
    if (surface_.cavity()) return visit_corners(t);
    const double middle = height(t, surface_.centre());
    if (middle - surface_.radius() > reach_) return;  // all of it is farther away
    // All of the surface behind it: another face is nearer.
    const bool behind = middle < -surface_.radius();
    if (surface_.convex()) {
      if (height(t, farthest(t)) > reach_) return;
      visit_convex(t, behind);
    } else {
      visit_folded(t, behind);
    }
    visit_corners(t);
  }
  // In a convex hollow nothing else touches the wall.
  void visit_corners(std::uint32_t t) noexcept {
    for (const std::uint32_t v : mesh_.triangles[t]) {
      if (mesh_.vertex_triangles[mesh_.corner_first[v]] == t && solid_.is_corner(v)) look_at_vertex(v);
    }
  }

  void visit_convex(std::uint32_t t, bool behind) noexcept {
    const Vec3 p = farthest(t);
    if (!behind && is_over(t, p)) {
      const std::int32_t face = solid_.face_number(t);
      if (at_.look_towards(face, p, -solid_.normal(t))) add();
    }
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::uint32_t u = mesh_.neighbours[t][k];
      if (u > t && solid_.sticks_out(t, k) > 0) look_at_edge(t, k, u);
    }
  }
  // Only where each face's own place lies beyond the edge: else the edge has none.
  void look_at_edge(std::uint32_t t, std::uint32_t k, std::uint32_t u) noexcept {
    const Vec3 a = solid_.vertex(mesh_.triangles[t][k]), b = solid_.vertex(mesh_.triangles[t][(k + 1) % 3]);
    const Vec3 n_t = solid_.normal(t), n_u = solid_.normal(u), along = b - a;
    const double near = 1e-6 * at_.scale() * along.norm();
    if (n_t.cross(along).dot(farthest(t) - a) > near || -n_u.cross(along).dot(farthest(u) - a) > near) return;
    // Between the two normals, across the edge: where the surface's farthest point lies over it.
    const Vec3 u_hat = along.normalized();
    Vec3 n_low = n_t, n_high = n_u, n = n_t + n_u, p = farthest(t);
    double low = n_t.cross(u_hat).dot(p - a), high = n_u.cross(u_hat).dot(farthest(u) - a);
    for (int i = 0; i < kMostTurns; ++i) {
      const double part = i % 3 == 2 || !(high - low > 0) ? 0.5 : std::clamp(-low / (high - low), 0.02, 0.98);
      n = ((1 - part) * n_low + part * n_high).normalized();
      p = surface_.support(-n);
      const double over = n.cross(u_hat).dot(p - a);
      if (std::abs(over) <= kOverEdge * at_.scale()) break;
      (over < 0 ? n_low : n_high) = n;
      (over < 0 ? low : high) = over;
    }
    if (at_.look_towards(solid_.edge_number(t, k), a + u_hat.dot(p - a) * u_hat, -n)) add();
  }

  // From the surface's seeds, those lowest over the feature.
  void visit_folded(std::uint32_t t, bool behind) noexcept {
    const TriangleMesh::Triangle& corners = mesh_.triangles[t];
    const Vec3 middle = (solid_.vertex(corners[0]) + solid_.vertex(corners[1]) + solid_.vertex(corners[2])) / 3;
    double round = 0;
    for (const std::uint32_t v : corners) round = std::max(round, (solid_.vertex(v) - middle).norm());
    if (round < kSmallTriangle * surface_.radius()) return visit_small(t, middle, round, behind);
    if (height(t, farthest(t)) > reach_ || far_from_seeds(middle, round)) return;
    if (!behind) visit_folded_face(t);
    for (std::uint32_t k = 0; k < 3; ++k) {
      if (mesh_.neighbours[t][k] > t && solid_.sticks_out(t, k) > 0) visit_folded_edge(t, k);
    }
  }
  // Of a triangle small against the surface: all from the surface's place next to it.
  void visit_small(std::uint32_t t, const Vec3& middle, double round, bool behind) noexcept {
    SurfaceSeed foot;
    const double gap = gap_to(surface_, middle, foot), slack = kBetweenSeeds * surface_.radius();
    if (std::abs(gap) > round + std::max(reach_, 0.0) + 4 * slack) return;
    const bool faces_facet = mesh_.facet[mesh_.neighbours[t][0]] == mesh_.facet[t] ||
                             mesh_.facet[mesh_.neighbours[t][1]] == mesh_.facet[t] ||
                             mesh_.facet[mesh_.neighbours[t][2]] == mesh_.facet[t];
    if (faces_facet && !behind) visit_folded_face(t);
    bool inner = faces_facet;
    for (std::uint32_t k = 0; k < 3; ++k) inner = inner && mesh_.facet[mesh_.neighbours[t][k]] == mesh_.facet[t];
    if (inner || !at_.foot(middle, foot) || at_.root().d - round > reach_) return;
    const SurfaceSeed there = at_.seed();
    const Vec3 m = -at_.root().n;
    if (!faces_facet && !behind && m.dot(solid_.normal(t)) > kSmallFacing) {
      if (at_.look(solid_.face_number(t), there.p_S, there)) add();
    }
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::uint32_t u = mesh_.neighbours[t][k];
      if (u < t || solid_.sticks_out(t, k) <= 0) continue;
      if (m.dot((solid_.normal(t) + solid_.normal(u)).normalized()) < 0) continue;
      if (at_.look(solid_.edge_number(t, k), middle, there)) add();
    }
  }
  [[nodiscard]] bool far_from_seeds(const Vec3& p, double round) const noexcept {
    const double most = round + std::max(reach_, 0.0) + kSeedGaps * surface_.radius();
    return std::none_of(surface_.seeds().begin(), surface_.seeds().end(),
                        [&](const SurfaceSeed& seed) { return (seed.p_S - p).squaredNorm() <= most * most; });
  }
  [[nodiscard]] bool is_over(std::uint32_t t, const Vec3& p) const noexcept {
    return solid_.beyond(t, solid_.to_own(p), kPerhapsWithin * at_.scale()) == 3;
  }
  void visit_folded_face(std::uint32_t t) noexcept {
    FoldedFacet& facet = folded_[mesh_.facet[t] % kCachedFolded];
    if (facet.facet != mesh_.facet[t]) solve_facet(t, facet);
    for (int i = 0; i < facet.count; ++i) {
      if (!is_over(t, facet.at[i].p_S)) continue;
      if (at_.look(solid_.face_number(t), facet.at[i].p_S, facet.at[i])) add();
    }
  }
  // All places of the facet's plane.
  void solve_facet(std::uint32_t t, FoldedFacet& facet) noexcept {
    facet.facet = mesh_.facet[t];
    facet.count = 0;
    const Vec3 n = solid_.normal(t);
    LowSeeds low;
    for (const SurfaceSeed& seed : surface_.seeds()) {
      const double h = height(t, seed.p_S);
      if (-n.dot(seed.n_S) < kFacingSeed || h > reach_ + kBetweenSeeds * surface_.radius()) continue;
      low.add(seed, h, kNeighbours * surface_.radius());
    }
    const std::int32_t face = solid_.face_number(t);
    if (at_.solve_towards(face, farthest(t), -n)) facet.at[facet.count++] = at_.seed();  // the hull's
    for (int i = 0; i < low.count && facet.count < kMostSeedStarts; ++i) {
      if (!at_.solve(face, low.at[i].seed->p_S, *low.at[i].seed) || at_.root().d > reach_) continue;
      const SurfaceSeed found = at_.seed();
      const double near = kOneMeshPlace * surface_.radius();
      const auto same = [&](const SurfaceSeed& s) { return (s.p_S - found.p_S).squaredNorm() < near * near; };
      if (std::none_of(facet.at, facet.at + facet.count, same)) facet.at[facet.count++] = found;
    }
  }
  void visit_folded_edge(std::uint32_t t, std::uint32_t k) noexcept {
    const Vec3 a = solid_.vertex(mesh_.triangles[t][k]);
    const Vec3 along = solid_.vertex(mesh_.triangles[t][(k + 1) % 3]) - a;
    const double length2 = along.squaredNorm(), near = kSeedGaps * surface_.radius();
    const Vec3 out = (solid_.normal(t) + solid_.normal(mesh_.neighbours[t][k])).normalized();
    LowSeeds low;
    for (const SurfaceSeed& seed : surface_.seeds()) {
      if (-out.dot(seed.n_S) < kFacingSeed) continue;
      const double s = std::clamp(along.dot(seed.p_S - a) / length2, 0.0, 1.0);
      const Vec3 away = a + s * along - seed.p_S;
      const double far = away.norm();
      if (away.dot(seed.n_S) > reach_ + kOverSeed * surface_.radius()) continue;
      if (far <= std::max(reach_, 0.0) + near) low.add(seed, far, kNeighbours * surface_.radius());
    }
    const std::int32_t edge = solid_.edge_number(t, k);
    for (int i = 0; i < low.count; ++i) {
      const SurfaceSeed& seed = *low.at[i].seed;
      const double most = reach_ + kOverEdge * at_.scale();
      if (at_.look(edge, seed.p_S, seed) || (i < kMostInTurn && at_.look_in_turn(edge, seed.p_S, seed, most))) add();
    }
  }

  void look_at_vertex(std::uint32_t v) noexcept {
    const Vec3 p = solid_.vertex(v);
    SurfaceSeed foot;
    const double gap = gap_to(surface_, p, foot), radius = surface_.radius();
    if (gap > reach_ + kBetweenSeeds * radius) return;
    if (!surface_.parametric()) {
      const Vec3 m_M = -solid_.turned_to_own(foot.n_S);
      const double part = gap / radius, slack = kNearCone + kNearConeGrowth * std::min(std::abs(part), 1.0);
      for (std::uint32_t i = mesh_.vertex_first[v]; i < mesh_.vertex_first[v + 1]; ++i) {
        const Vec3 along = mesh_.vertices[mesh_.vertex_vertices[i]] - mesh_.vertices[v];
        if (m_M.dot(along) > slack * along.norm()) return;
      }
    }
    if (surface_.parametric() && at_.foot(p, foot)) foot = at_.seed();
    if (at_.look(solid_.vertex_number(v), p, foot)) {
      add();
    } else if (surface_.convex() && !at_.solved() && gap > 0) {
      Vec3 n;
      closest_convex({support_of_point, &p}, {support_of_surface, &surface_}, p - surface_.centre(), 1e-7, n);
      if (at_.look_towards(solid_.vertex_number(v), p, n)) add();
    }
  }

  // The solver's root as a place, if it is one that is new.
  void add() noexcept {
    if (!(at_.root().d < reach_)) return;
    ExtremalPlace place;
    place.pair = at_.pair(pair_.X_WS);
    at_.remember(place.a, place.b);
    if (pair_.turned) {
      std::swap(place.a, place.b);
      turn_round(place.pair);
    }
    const auto same = [&](const ExtremalPair& other) {
      return same_mesh_place(pair_.mesh, pair_.smooth, place.pair, other);
    };
    for (const ExtremalPair& other : known_) {
      if (same(other)) return;
    }
    for (std::uint32_t i = 0; i < out_.count; ++i) {
      if (!same(out_.place[i].pair)) continue;
      if (out_.place[i].pair.d <= place.pair.d) return;
      std::move(out_.place + i + 1, out_.place + out_.count, out_.place + i);
      --out_.count;
      --i;
    }
    insert(place);
  }
  void insert(const ExtremalPlace& place) noexcept {
    if (out_.count == MeshPlaces::kMost) {
      ++out_.dropped;
      if (place.pair.d >= out_.place[out_.count - 1].pair.d) return;
      --out_.count;
    }
    std::uint32_t i = out_.count++;
    for (; i > 0 && out_.place[i - 1].pair.d > place.pair.d; --i) out_.place[i] = out_.place[i - 1];
    out_.place[i] = place;
  }

  const MeshSmoothPair& pair_;
  const MeshSolid solid_;
  const TriangleMesh& mesh_;
  const SmoothSurface& surface_;
  MeshNear at_;
  double reach_;
  std::span<const ExtremalPair> known_;
  MeshPlaces& out_;
  bool dear_ = false;     // its farthest points are
  EllipsoidForm hollow_;  // of a cavity, where it is an ellipsoid
  bool ellipsoid_ = false;
  double hollow_ball_ = 0;
  Aabb box_;               // of the surface, in the mesh's frame
  Vec3 middle_, half_;     // of the surface's box in its own
  Plane planes_[kPlanes];  // that held boxes of the mesh away: the next one's neighbours, likely
  std::uint32_t plane_count_ = 0, next_plane_ = 0;
  Facet facets_[kCachedFacets];
  FoldedFacet folded_[kCachedFolded];
};

double size_of(const Shape& a, const Shape& b) noexcept {
  const bool mesh_a = a.kind == ShapeKind::mesh;
  const TriangleMesh& mesh = *(mesh_a ? a : b).mesh;
  return std::min((mesh_a ? b : a).smooth->radius(), 0.5 * (mesh.hi - mesh.lo).norm());
}

// Along n (from the surface into the mesh, unit) the surface's farthest point, and what is opposite of it.
ExtremalPair deep_pair(const MeshSmoothPair& pair, const Vec3& n, const Vec3& p, double d) noexcept {
  ExtremalPair out;
  out.nhat_BA_W = pair.X_WS.R * n;
  tangent_basis(out.nhat_BA_W, out.t1_W, out.t2_W);
  out.pb_W = pair.X_WS * p;
  out.pa_W = out.pb_W + d * out.nhat_BA_W;
  out.d = d;
  out.status = ExtremalStatus::fallen_back;
  out.conditioning = 1;
  if (pair.turned) turn_round(out);
  return out;
}

}  // namespace

bool is_mesh_smooth_pair(const Shape& a, const Shape& b) noexcept {
  const bool mesh_a = a.kind == ShapeKind::mesh, mesh_b = b.kind == ShapeKind::mesh;
  if (mesh_a == mesh_b) return false;
  const Shape& other = mesh_a ? b : a;
  return other.kind == ShapeKind::smooth && (!other.smooth->cavity() || other.smooth->hollow_is_convex());
}

ExtremalPair mesh_place(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, ExtremalSide& side_a,
                        ExtremalSide& side_b) noexcept {
  TACTUS_DCHECK(is_mesh_smooth_pair(a, b));
  const MeshSmoothPair pair(a, X_WA, b, X_WB);
  ExtremalSide &on_mesh = pair.turned ? side_b : side_a, &on_surface = pair.turned ? side_a : side_b;
  const MeshSolid solid = pair.solid();
  MeshNear near(solid, pair.surface());
  ExtremalPair out;
  if (!near.follow(advanced(pair.mesh, on_mesh), advanced(pair.smooth, on_surface))) return out;
  on_mesh.ahead_S.setZero(), on_surface.ahead_S.setZero();
  near.remember(on_mesh, on_surface);
  out = near.pair(pair.X_WS);
  out.warm = true;
  if (pair.turned) turn_round(out);
  return out;
}

ExtremalPair held_mesh_place(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
                             const ExtremalSide& side_a, const ExtremalSide& side_b) noexcept {
  TACTUS_DCHECK(is_mesh_smooth_pair(a, b));
  const MeshSmoothPair pair(a, X_WA, b, X_WB);
  const MeshSolid solid = pair.solid();
  MeshNear near(solid, pair.surface());
  ExtremalPair out;
  const ExtremalSide on_mesh = advanced(pair.mesh, pair.turned ? side_b : side_a);
  if (!near.hold(on_mesh, advanced(pair.smooth, pair.turned ? side_a : side_b))) return out;
  out = near.pair(pair.X_WS);
  out.status = ExtremalStatus::ill_conditioned;
  if (pair.turned) turn_round(out);
  return out;
}

void find_mesh_places(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double reach,
                      std::span<const ExtremalPair> known, MeshPlaces& out) noexcept {
  TACTUS_DCHECK(is_mesh_smooth_pair(a, b));
  const MeshSmoothPair pair(a, X_WA, b, X_WB);
  out.count = out.triangles = out.dropped = 0;
  MeshPlaceSearch(pair, reach, known, out).find();
}

ExtremalPair separate_deep(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) noexcept {
  const MeshSmoothPair pair(a, X_WA, b, X_WB);
  const MeshSolid solid = pair.solid();
  const SmoothSurface& surface = pair.surface();
  const TriangleMesh& mesh = solid.mesh();
  if (surface.cavity()) return {};  // its corners say all
  FieldSample deepest;
  const auto sample = [&](const Vec3& p) {
    const FieldSample there = sample_field(*mesh.field, mesh, solid.to_own(p));
    if (there.distance < deepest.distance) deepest = there;
  };
  if (surface_holds(surface, surface.centre())) sample(surface.centre());  // not in a ring's hole
  for (const SurfaceSeed& seed : surface.seeds()) sample(seed.p_S);
  if (deepest.distance < 0) {
    const Vec3 n = -solid.normal(deepest.triangle), p = surface.support(n);
    return deep_pair(pair, n, p, n.dot(solid.vertex(mesh.triangles[deepest.triangle][0]) - p));
  }
  if (!surface_holds(surface, solid.vertex(0))) return {};
  Vec3 n = solid.centre() - surface.centre();
  n = n.norm() > 1e-9 * surface.radius() ? n.normalized() : Vec3(Vec3::UnitZ());
  const Vec3 p = surface.support(n), lowest = solid.from_own(farthest_vertex(mesh, solid.turned_to_own(-n)));
  return deep_pair(pair, n, p, n.dot(lowest - p));
}

bool same_mesh_place(const Shape& a, const Shape& b, const ExtremalPair& pair, const ExtremalPair& other) noexcept {
  const double near = kOneMeshPlace * size_of(a, b);
  return (other.pa_W - pair.pa_W).squaredNorm() < near * near && (other.pb_W - pair.pb_W).squaredNorm() < near * near;
}

bool frees(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const ExtremalPair& by,
           const ExtremalPair& pair) noexcept {
  TACTUS_DCHECK(by.known() && is_unit(by.nhat_BA_W));
  if (by.d >= 0 || pair.d >= 0) return false;
  const MeshSmoothPair m(a, X_WA, b, X_WB);
  const MeshSolid solid = m.solid();
  // The mesh goes along the normal from the surface into it, here as if the surface went the other way.
  const double sign = m.turned ? -1.0 : 1.0;
  const Vec3 way_W = sign * by.d * by.nhat_BA_W;  // of the surface
  const Vec3 on_surface = m.X_WS.to_local((m.turned ? pair.pa_W : pair.pb_W) + way_W);
  const Vec3 on_mesh = m.X_WS.to_local((m.turned ? pair.pb_W : pair.pa_W) - way_W);
  return solid.distance(on_surface) > -kFreed * by.d && !surface_holds(m.surface(), on_mesh);
}

}  // namespace tactus
