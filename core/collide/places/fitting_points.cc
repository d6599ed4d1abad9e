#include "core/collide/places/fitting_points.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/collide/mesh/mesh_solid.h"
#include "core/collide/places/touching_area.h"
#include "core/collide/smooth/extremal_feature.h"
#include "core/collide/smooth/extremal_solid.h"
#include "core/math/checks.h"
#include "core/shape/mesh/triangle_tree.h"

namespace tactus {

namespace {

// Conditioning below which a contact is a line or an area: about the tilt of a torus on a plane [rad].
constexpr double kFits = 0.02;
constexpr double kFacing = 1 - 0.5 * kFits * kFits;  // cosine
// By how much the directions of the points around it are tilted [rad], and how many there are.
constexpr double kTilt = 0.05;
constexpr int kAround = 8;
constexpr std::uint32_t kBorderSteps = 20, kFeetSteps = 20;
// Cosine of the normals of two surfaces where they are still taken to face each other across the contact.
constexpr double kStillFacing = 0.98;
constexpr double kDirections[kAround][2] = {{1, 0},  {0.7, 0.7},   {0, 1},  {-0.7, 0.7},
                                            {-1, 0}, {-0.7, -0.7}, {0, -1}, {0.7, -0.7}};
// Points nearer to each other than this part of the size are one.
constexpr double kSamePoint = 1e-2;
// By which a place may be lower than its hull, of the size: what tilts of at most kFits make.
constexpr double kOnHull = 1e-3;

// From a point whose normal is tilted against m to the bottom of the valley that it lies over: along the direction of
// the larger curvature only.
Vec3 valley(const SmoothSurface& surface, const Frame& X_WS, const Vec3& p_W, const Vec3& m_W) noexcept {
  if (surface.parametric()) return p_W;
  ExtremalFeature on;
  on.set_surface(surface, X_WS.R, X_WS.p);
  ExtremalSide side;
  side.p_S = X_WS.to_local(p_W), side.feature = 0;
  on.place(side);
  for (int i = 0; i < 4; ++i) {
    on.evaluate();
    Vec3 t1, t2;
    tangent_basis(on.n(), t1, t2);
    Form2 k;
    Pair2 w;
    on.curvature(t1, t2, k, w);
    const double half = 0.5 * (k.xx - k.yy), large = 0.5 * (k.xx + k.yy) + std::sqrt(half * half + k.xy * k.xy);
    if (large * surface.radius() < 0.1) break;
    Pair2 v = half > 0 ? Pair2{large - k.yy, k.xy} : Pair2{k.xy, large - k.xx};
    const double length2 = v.x * v.x + v.y * v.y;
    if (length2 == 0) break;
    const double x = (t1.dot(m_W) * v.x + t2.dot(m_W) * v.y) / (large * length2);
    on.move(t1, t2, {x * v.x, x * v.y});
  }
  on.evaluate();
  return on.p() + on.eta() * on.n();
}

// The surface as the solver's feature, starting near p_W, or where it faces along towards_W.
void begin_on(const SmoothSurface& surface, const Frame& X_WS, const Vec3& towards_W, const Vec3& p_W,
              ExtremalFeature& on) noexcept {
  on.set_surface(surface, X_WS.R, X_WS.p);
  if (surface.parametric()) {
    on.place_towards(towards_W);
  } else {
    on.place(ExtremalSide{X_WS.to_local(p_W), Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), 0});
  }
}

// Where the surface, near p_W, crosses the border of the face that is next to a point beyond it. False: nowhere near.
bool at_border(const SmoothSurface& surface, const Frame& X_WS, const ExtremalSolid& flat, std::int32_t face,
               const Vec3& beyond_W, const Vec3& towards_W, const Vec3& p_W, Vec3& out_W) noexcept {
  const std::int32_t border = flat.border_beyond(face, beyond_W);
  if (border < 0) return false;
  ExtremalFeature edge, on;
  flat.set(border, p_W, edge);
  begin_on(surface, X_WS, towards_W, p_W, on);
  ExtremalRoot root;
  if (!solve_extremal(edge, on, surface.radius(), kBorderSteps, root)) return false;
  out_W = root.pb;
  return flat.within_face(face, root.pa) && root.n.dot(towards_W) > 0;
}

void add_new(const Vec3& p_W, const Vec3& m_W, double depth, double size, ContactBuffer& out) noexcept {
  const Vec3 p_WC = p_W - (0.5 * depth) * m_W;
  const double near = kSamePoint * size;
  for (std::uint32_t i = 0; i < out.count; ++i) {
    if ((out.points[i].p_WC - p_WC).squaredNorm() < near * near) return;
  }
  out.add(p_WC, depth);
}

// m_W, tilted in the i-th direction.
Vec3 tilted(const ExtremalPair& pair, const Vec3& m_W, int i) noexcept {
  TACTUS_DCHECK(is_unit(m_W));
  return m_W + kTilt * (kDirections[i][0] * pair.t1_W + kDirections[i][1] * pair.t2_W);
}

// Where the surface's normal is tilted from m_W, which points out of it.
Vec3 point_around(const ExtremalPair& pair, const SmoothSurface& surface, const Frame& X_WS, const Vec3& m_W,
                  int i) noexcept {
  const Vec3 towards = tilted(pair, m_W, i);
  return valley(surface, X_WS, X_WS * surface.support(X_WS.R.transpose() * towards), m_W);
}

// m_W: from the surface into the face; offset: m . p on its plane.
void add_on_face(const ExtremalPair& pair, const SmoothSurface& surface, const Frame& X_WS, const ExtremalSolid& flat,
                 std::int32_t face, const Vec3& m_W, double offset, double reach, ContactBuffer& out) noexcept {
  Vec3 around_W[kAround];
  for (int i = 0; i < kAround; ++i) around_W[i] = point_around(pair, surface, X_WS, m_W, i);
  const auto add = [&](const Vec3& p_W) {
    const double depth = m_W.dot(p_W) - offset;
    if (depth > -reach) add_new(p_W, m_W, depth, surface.radius(), out);
  };
  for (int i = 0; i < kAround; ++i) {
    if (flat.within_face(face, around_W[i])) {
      add(around_W[i]);
      continue;
    }
    // A valley crosses the border on both sides of a point beyond it.
    for (const int k : {(i + 1) % kAround, (i + kAround - 1) % kAround}) {
      const Vec3 between_W = 0.5 * (around_W[i] + around_W[k]);
      const Vec3 towards_W = tilted(pair, m_W, i) + tilted(pair, m_W, k);
      Vec3 p_W;
      if (at_border(surface, X_WS, flat, face, around_W[i], towards_W, between_W, p_W)) add(p_W);
    }
  }
}

// Points of one surface and how deep they are in the other one, along its normal there. m_W: out of the first.
void add_on_surface(const ExtremalPair& pair, const SmoothSurface& surface, const Frame& X_WS,
                    const SmoothSurface& other, const Frame& X_WO, const Vec3& m_W, double reach,
                    ContactBuffer& out) noexcept {
  const double size = std::min(surface.radius(), other.radius());
  for (int i = 0; i < kAround; ++i) {
    const Vec3 p_W = point_around(pair, surface, X_WS, m_W, i);
    ExtremalFeature point, on;
    point.set_point(p_W);
    on.set_surface(other, X_WO.R, X_WO.p);
    on.place_towards(-m_W);
    ExtremalRoot root;
    if (!solve_extremal(point, on, size, kFeetSteps, root) || root.n.dot(m_W) > -kStillFacing) continue;
    if (-root.d > -reach) add_new(p_W, m_W, -root.d, size, out);
  }
}

// Supports are those of the hull: is the place on it, along m_W (out of the surface)?
bool on_hull(const SmoothSurface& surface, const Frame& X_WS, const Vec3& p_W, const Vec3& m_W) noexcept {
  if (surface.convex()) return true;
  const Vec3 highest_W = X_WS * surface.support(X_WS.R.transpose() * m_W);
  return m_W.dot(highest_W - p_W) <= kOnHull * surface.radius();
}

// Where the surface crosses the mesh's edge next to p_W.
bool at_edge(const SmoothSurface& surface, const Frame& X_WS, const MeshSolid& mesh, std::int32_t edge,
             const Vec3& towards_W, const Vec3& p_W, Vec3& out_W) noexcept {
  TACTUS_DCHECK(mesh.valid(edge));
  ExtremalFeature line, on;
  mesh.set(edge, p_W, line);
  begin_on(surface, X_WS, towards_W, p_W, on);
  ExtremalRoot root;
  if (!solve_extremal(line, on, surface.radius(), kBorderSteps, root)) return false;
  out_W = root.pb;
  return mesh.spans(edge, root.pa) && root.n.dot(towards_W) > kStillFacing;
}

// Does p_W lie over the facet of triangle t? On the way from there, or by the mesh's nearest point where the facet has
// gaps; else where the surface crosses the border.
bool on_facet(const SmoothSurface& surface, const Frame& X_WS, const MeshSolid& mesh, std::uint32_t t, const Vec3& m_W,
              Vec3& p_W) noexcept {
  TACTUS_DCHECK(t < mesh.mesh().triangles.size() && is_unit(m_W));
  const TriangleMesh& M = mesh.mesh();
  std::uint32_t last = t, k = 0;
  const Vec3 p_M = mesh.to_own(p_W);
  if (mesh.walk_facet(p_M, last, k)) return true;
  const Vec3 foot_M = p_M - M.normals[t].dot(p_M - M.vertices[M.triangles[t][0]]) * M.normals[t];
  const MeshClosest there = closest_on_mesh(M, foot_M);
  if (std::abs(there.distance) <= 10 * mesh.near() && M.facet[there.triangle] == M.facet[t]) return true;
  return at_edge(surface, X_WS, mesh, mesh.edge_number(last, k), m_W, p_W, p_W);
}

// Does the surface fit a plane at its place along a line or over an area?
bool fits_plane(const ExtremalForm& form, const SmoothSurface& surface) noexcept {
  return form.dim == 2 && surface.radius() * least_singular(form.h11, form.h12, form.h12, form.h22) <= kFits;
}

// A convex surface and a polyhedron, cylinder or half-space.
void add_area_on_face(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const ExtremalPair& pair,
                      double reach, ContactBuffer& out) noexcept {
  const bool smooth_a = a.kind == ShapeKind::smooth;
  const SmoothSurface& surface = *(smooth_a ? a : b).smooth;
  const ExtremalForm &form = smooth_a ? pair.a : pair.b, &other = smooth_a ? pair.b : pair.a;
  if (other.dim != 2 && !fits_plane(form, surface)) return;
  const Frame &X_WF = smooth_a ? X_WB : X_WA, &X_WS = smooth_a ? X_WA : X_WB;
  const ExtremalSolid solid(smooth_a ? b : a, X_WF.R, X_WF.p);
  const std::int32_t face = solid.face_along(smooth_a ? pair.nhat_BA_W : Vec3(-pair.nhat_BA_W), kFacing);
  if (face < 0) return;
  // Where its border or corner is the deepest, the face itself tells the normal.
  const Vec3 outward_W = solid.face_normal_of(face);
  out.nhat_BA_W = smooth_a ? outward_W : Vec3(-outward_W);
  const AreaSide on_surface{&surface, &X_WS}, on_face{nullptr, nullptr, &solid, face};
  add_area({smooth_a ? on_surface : on_face, smooth_a ? on_face : on_surface, surface.radius(), reach}, pair, out);
}

// A convex surface and a mesh.
std::uint32_t add_area_on_facet(const MeshSmoothPair& shapes, const ExtremalPair& pair, std::int32_t feature,
                                double reach, ContactBuffer& out) noexcept {
  const SmoothSurface& surface = shapes.surface();
  const ExtremalForm &form = shapes.turned ? pair.a : pair.b, &other = shapes.turned ? pair.b : pair.a;
  if (other.dim != 2 && !fits_plane(form, surface)) return MeshSolid::kNoTriangle;
  const MeshSolid mesh(*shapes.mesh.mesh, shapes.X_WM.R, shapes.X_WM.p, shapes.solid().near());
  const Vec3 out_of_mesh_W = shapes.turned ? pair.nhat_BA_W : Vec3(-pair.nhat_BA_W);
  const std::uint32_t t = mesh.triangle_along(feature, out_of_mesh_W, kFacing);
  if (t == MeshSolid::kNoTriangle) return t;
  out.nhat_BA_W = shapes.turned ? mesh.normal(t) : Vec3(-mesh.normal(t));
  AreaSide on_surface{&surface, &shapes.X_WS}, on_facet;
  on_facet.mesh = &mesh, on_facet.triangle = t;
  add_area({shapes.turned ? on_surface : on_facet, shapes.turned ? on_facet : on_surface, surface.radius(), reach},
           pair, out);
  return t;
}

}  // namespace

void add_fitting_points(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const ExtremalPair& pair,
                        double reach, ContactBuffer& out) noexcept {
  const bool smooth_a = a.kind == ShapeKind::smooth, smooth_b = b.kind == ShapeKind::smooth;
  if (smooth_a && smooth_b) {
    if (has_area(*a.smooth) && has_area(*b.smooth)) {
      const double size = std::min(a.smooth->radius(), b.smooth->radius());
      return add_area({{a.smooth, &X_WA}, {b.smooth, &X_WB}, size, reach}, pair, out);
    }
    if (pair.conditioning > kFits || pair.status == ExtremalStatus::fallen_back) return;
    if (a.smooth->cavity() || b.smooth->cavity()) return;  // their normals differ by what they bend
    const Vec3& n = pair.nhat_BA_W;
    if (!on_hull(*a.smooth, X_WA, pair.pa_W, -n) || !on_hull(*b.smooth, X_WB, pair.pb_W, n)) return;
    add_on_surface(pair, *a.smooth, X_WA, *b.smooth, X_WB, -n, reach, out);
    add_on_surface(pair, *b.smooth, X_WB, *a.smooth, X_WA, n, reach, out);
    return;
  }
  const SmoothSurface& surface = *(smooth_a ? a : b).smooth;
  if (has_area(surface)) return add_area_on_face(a, X_WA, b, X_WB, pair, reach, out);
  if (surface.cavity() || !fits_plane(smooth_a ? pair.a : pair.b, surface)) return;
  const Frame &X_WF = smooth_a ? X_WB : X_WA, &X_WS = smooth_a ? X_WA : X_WB;
  const ExtremalSolid solid(smooth_a ? b : a, X_WF.R, X_WF.p);
  const std::int32_t face = solid.face_along(smooth_a ? pair.nhat_BA_W : Vec3(-pair.nhat_BA_W), kFacing);
  if (face < 0) return;
  // Where its border or corner is the deepest, the face itself tells the normal.
  const Vec3 m_W = -solid.face_normal_of(face);
  if (!on_hull(surface, X_WS, smooth_a ? pair.pa_W : pair.pb_W, m_W)) return;
  out.nhat_BA_W = smooth_a ? Vec3(-m_W) : m_W;
  add_on_face(pair, surface, X_WS, solid, face, m_W, m_W.dot(smooth_a ? pair.pb_W : pair.pa_W), reach, out);
}

bool touch_over_area(const Shape& a, const Shape& b) noexcept {
  const auto smooth = [](const Shape& s) { return s.kind == ShapeKind::smooth; };
  const auto can = [&](const Shape& s) { return !smooth(s) || has_area(*s.smooth); };
  return (smooth(a) || smooth(b)) && can(a) && can(b);
}

std::uint32_t add_fitting_points(const MeshSmoothPair& shapes, const ExtremalPair& pair, std::int32_t feature,
                                 double reach, ContactBuffer& out) noexcept {
  const SmoothSurface& surface = shapes.surface();
  if (has_area(surface)) return add_area_on_facet(shapes, pair, feature, reach, out);
  if (!fits_plane(shapes.turned ? pair.a : pair.b, surface)) return MeshSolid::kNoTriangle;
  const MeshSolid mesh(*shapes.mesh.mesh, shapes.X_WM.R, shapes.X_WM.p, shapes.solid().near());
  const Vec3 into_mesh_W = shapes.turned ? Vec3(-pair.nhat_BA_W) : pair.nhat_BA_W;
  const std::uint32_t t = mesh.triangle_along(feature, -into_mesh_W, kFacing);
  if (t == MeshSolid::kNoTriangle) return t;
  const Vec3 m_W = -mesh.normal(t);
  if (!on_hull(surface, shapes.X_WS, shapes.turned ? pair.pa_W : pair.pb_W, m_W)) return MeshSolid::kNoTriangle;
  out.nhat_BA_W = shapes.turned ? Vec3(-m_W) : m_W;
  const double offset = m_W.dot(mesh.vertex(mesh.mesh().triangles[t][0]));
  for (int i = 0; i < kAround; ++i) {
    Vec3 p_W = point_around(pair, surface, shapes.X_WS, m_W, i);
    if (!on_facet(surface, shapes.X_WS, mesh, t, m_W, p_W)) continue;
    const double depth = m_W.dot(p_W) - offset;
    if (depth > -reach) add_new(p_W, m_W, depth, surface.radius(), out);
  }
  return t;
}

}  // namespace tactus
