#include "core/collide/convex/narrow_proof.h"

#include <cmath>

#include "core/check.h"
#include "core/collide/convex/narrow_arc.h"
#include "core/collide/convex/narrow_rims.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// Four points of the disc of radius r around `centre` with normal n, one of them on the way to the origin.
void disc_ring(const Vec3& centre, double r, const Vec3& n, Vec3 (&ring)[kRingMax]) noexcept {
  Vec3 t1 = n.dot(centre) * n - centre, t2;
  const double length = std::sqrt(t1.squaredNorm());
  if (length > 1e-9 * r) {
    t1 *= r / length;
    t2 = n.cross(t1);
  } else {
    tangent_basis(n, t1, t2);
    t1 *= r, t2 *= r;
  }
  ring[0] = centre + t1, ring[1] = centre + t2, ring[2] = centre - t1, ring[3] = centre - t2;
}

void parallelogram_ring(const Vec3& centre, const Vec3& u, const Vec3& v, Vec3 (&ring)[kRingMax]) noexcept {
  ring[0] = centre + u + v, ring[1] = centre + u - v, ring[2] = centre - u - v, ring[3] = centre - u + v;
}

// The cap of a cylinder against the support of the other along n. of_a: whose cap.
bool prove_cap(const Core& a, const Core& b, bool of_a, const Vec3& n, Axis& out) noexcept {
  const Core& capped = of_a ? a : b;
  const Vec3 cap = capped.p + (of_a ? -capped.half_length : capped.half_length) * n;
  const Vec3 centre = of_a ? Vec3(core_support(b, n) - cap) : Vec3(cap - core_support(a, -n));
  out.n = n;
  out.overlap = n.dot(centre);
  if (out.overlap <= 0) return false;
  Vec3 ring[kRingMax];
  disc_ring(centre, capped.radius, n, ring);
  return proves_least(a, b, n, out.overlap, ring, 4);
}

// An edge (or side line) of a with its middle at p_a and half of its length u against b's side line.
bool prove_lines(const Core& a, const Core& b, const Vec3& p_a, const Vec3& u, double reach, const Vec3& last_n,
                 Axis& out) noexcept {
  const Vec3 v = b.half_length * b.axis(), cross = u.cross(v);
  const double length2 = cross.squaredNorm();
  if (length2 < 1e-6 * u.squaredNorm() * v.squaredNorm()) return false;
  out.n = cross * ((cross.dot(last_n) < 0 ? -1.0 : 1.0) / std::sqrt(length2));
  const Vec3 centre = b.p - p_a + reach * out.n;
  out.overlap = out.n.dot(centre);
  if (out.overlap <= 0) return false;
  // Of a polyhedron another vertex may reach farther now: then the line is not on the boundary.
  if (!a.is_cylinder() && out.n.dot(p_a - core_support(a, -out.n)) > kSameHeight * out.overlap) return false;
  Vec3 ring[kRingMax];
  parallelogram_ring(centre, u, v, ring);
  return proves_least(a, b, out.n, out.overlap, ring, 4);
}

// Where a rim or a side decides, the boundary bends, and the proof is another. Let n be a critical direction with
// overlap f, t a direction across it and g(theta) the overlap along cos(theta) n + sin(theta) t. The height of a disc
// of radius r and axis z along that circle has h'' + h = r (t . z x n)^2 / |z x m|^3, at least r (t . z x n)^2; that of
// any solid has h'' + h >= 0. So
//   g(theta) - f >= (rho - f) (1 - cos(theta)) + slope sin(theta),   rho = sum of r (t . z x n)^2,
// with the one-sided slope g'(0) of the kink that a straight line of half length l along the unit e makes, if the point
// of contact is `off` from its middle: (l - |off|) |t . e|. Up to theta = pi - 2 atan(kFar) the last term is at least
// kFar slope (1 - cos(theta)), and f is the least if rho + kFar slope >= f for each t; the rest of the sphere is left
// to the lowest point. A disc that n meets nearly flat, z x n = q u with a small q, bends more than its least: that far
// it gives at least kFar / 2 r (t . u)^2 (in the limit, r sin(theta) (1 - cos(t, away from z))).
class Bends {
 public:
  explicit Bends(const Vec3& n) noexcept : n_(n) { tangent_basis(n, t1_, t2_); }
  void disc(double radius, const Vec3& axis) noexcept {
    const Vec3 u = axis.cross(n_);
    const double q2 = u.squaredNorm();
    const bool flat = q2 < 0.5 * kFar;
    rest_ = rest_ || flat;
    add(flat ? 0.5 * kFar * radius / std::max(q2, 1e-24) : radius, u);
  }
  void line(double half_length, double off, const Vec3& e) noexcept {
    rest_ = true;
    const double slope = half_length - std::abs(off);
    inside_ = inside_ && slope >= 0;
    add(kFar * slope, e);  // |t . e| >= (t . e)^2
  }
  [[nodiscard]] bool prove(const Core& a, const Core& b, double f) const noexcept {
    const double x = xx_ - f, y = yy_ - f;
    if (!inside_ || !(x > 0) || !(y > 0) || !(x * y > xy_ * xy_)) return false;
    if (!rest_) return true;
    const Vec3 low = difference_support(a, b, -n_);
    const double along = -n_.dot(low), across2 = low.squaredNorm() - along * along;
    const double spare = kCosRest * along - f;
    return spare > 0 && spare * spare > kSinRest * kSinRest * across2;
  }

 private:
  static constexpr double kFar = 0.25534192122103627;                                      // tan(0.25)
  static constexpr double kCosRest = 0.87758256189037276, kSinRest = 0.47942553860420301;  // of 0.5 rad
  void add(double weight, const Vec3& u) noexcept {
    const double x = u.dot(t1_), y = u.dot(t2_);
    xx_ += weight * x * x, xy_ += weight * x * y, yy_ += weight * y * y;
  }
  Vec3 n_, t1_, t2_;
  double xx_ = 0, xy_ = 0, yy_ = 0;
  bool rest_ = false, inside_ = true;
};

// A rim on a rim.
bool prove_rims(const TwoCylinders& s, const Vec3& last_n, Axis& out) noexcept {
  out.n = descend_rims(s, last_n, Vec3::Zero());
  const RimExpansion x = expand_rims(s, out.n);
  out.overlap = overlap_along(s, out.n);
  if (out.overlap <= 0 || (x.w - x.f * x.n).squaredNorm() > 1e-18 * s.size() * s.size()) return false;
  Bends bends(out.n);
  bends.disc(s.a.radius, s.axis_a);
  bends.disc(s.b.radius, s.axis_b);
  return bends.prove(s.a, s.b, out.overlap);
}

// The rim of one cylinder on the side of the other.
bool prove_rim_on_side(const TwoCylinders& s, bool side_of_a, const Vec3& last_n, Axis& out) noexcept {
  const Core &side = side_of_a ? s.a : s.b, &round = side_of_a ? s.b : s.a;
  const Vec3 &e = side_of_a ? s.axis_a : s.axis_b, &axis = side_of_a ? s.axis_b : s.axis_a;
  ArcProblem arc;
  if (!make_arc(e, axis, s.d, round.radius, round.half_length, arc) || !arc_minimum_near(arc, last_n, out.n))
    return false;
  out.overlap = overlap_along(s, out.n);
  if (out.overlap <= 0) return false;
  const Vec3 p = core_support(round, side_of_a ? out.n : Vec3(-out.n));
  Bends bends(out.n);
  bends.disc(s.a.radius, s.axis_a);
  bends.disc(s.b.radius, s.axis_b);
  bends.line(side.half_length, (p - side.p).dot(e), e);
  return bends.prove(s.a, s.b, out.overlap);
}

// A vertex of a on b's side.
bool prove_vertex_on_side(const Core& a, const Core& b, int vertex, Axis& out) noexcept {
  TACTUS_DCHECK(vertex >= 0 && vertex < a.vertex_count);
  const Vec3 axis = b.axis(), d = a.vertices[vertex] - b.p;
  const double along = d.dot(axis);
  const Vec3 u = d - along * axis;
  const double rho = std::sqrt(u.squaredNorm());
  if (rho < 1e-6 * b.radius) return false;
  out.n = u * (1.0 / rho);
  if (support_vertex(a, -out.n) != vertex) return false;
  out.overlap = b.radius - out.n.dot(d);
  if (out.overlap <= 0) return false;
  Bends bends(out.n);
  bends.disc(b.radius, axis);
  bends.line(b.half_length, along, axis);
  return bends.prove(a, b, out.overlap);
}

// An edge of a on b's rim.
bool prove_edge_on_rim(const Core& a, const Core& b, const ConvexHull::Edge& edge, const Vec3& last_n,
                       Axis& out) noexcept {
  const Vec3 &p = a.vertices[edge.vertex_a], &q = a.vertices[edge.vertex_b];
  const Vec3 middle = 0.5 * (p + q), along = q - p;
  const double length = std::sqrt(along.squaredNorm());
  const Vec3 e = along * (1.0 / length), axis = b.axis();
  ArcProblem arc;
  if (!make_arc(e, axis, b.p - p, b.radius, b.half_length, arc) || !arc_minimum_near(arc, last_n, out.n)) return false;
  const Vec3 w_b = core_support(b, out.n);
  out.overlap = out.n.dot(w_b - p);
  if (out.overlap <= 0 || out.n.dot(p - core_support(a, -out.n)) > kSameHeight * out.overlap) return false;
  Bends bends(out.n);
  bends.disc(b.radius, axis);
  bends.line(0.5 * length, (w_b - middle).dot(e), e);
  return bends.prove(a, b, out.overlap);
}

}  // namespace

bool proves_least(const Core& a, const Core& b, const Vec3& n, double overlap, const Vec3* ring, int count) noexcept {
  TACTUS_DCHECK(is_unit(n) && count <= kRingMax);
  const Vec3 low = difference_support(a, b, -n);
  const double sense = n.dot((ring[1] - ring[0]).cross(ring[2] - ring[1])) < 0 ? -1.0 : 1.0;
  const double overlap2 = overlap * overlap;
  for (int i = 0; i < count; ++i) {
    const Vec3& p = ring[i];
    const Vec3& q = ring[i + 1 == count ? 0 : i + 1];
    const Vec3 outward = (q - low).cross(p - low);  // of the side p q low, for a ring in the positive sense
    const double height = sense * outward.dot(low);
    if (!(height > 0) || height * height < overlap2 * outward.squaredNorm()) return false;
  }
  return true;
}

bool same_axis_cylinder(const Core& a, const Core& b, const Axis& last, Axis& out) noexcept {
  out.feature_a = last.feature_a, out.feature_b = last.feature_b;
  if (last.feature_b == kCap) return prove_cap(a, b, false, b.axis().dot(last.n) < 0 ? Vec3(-b.axis()) : b.axis(), out);
  if (last.feature_b == kSideLine && last.feature_a >= 0 && last.feature_a < a.edge_count) {
    const ConvexHull::Edge& edge = a.edges[last.feature_a];
    const Vec3 &p = a.vertices[edge.vertex_a], &q = a.vertices[edge.vertex_b];
    return prove_lines(a, b, 0.5 * (p + q), 0.5 * (q - p), b.radius, last.n, out);
  }
  if (last.feature_b == kSide && last.feature_a >= 0 && last.feature_a < a.vertex_count) {
    return prove_vertex_on_side(a, b, last.feature_a, out);
  }
  if (last.feature_b == kRim && last.feature_a >= 0 && last.feature_a < a.edge_count) {
    return prove_edge_on_rim(a, b, a.edges[last.feature_a], last.n, out);
  }
  if (last.feature_b != kRound || last.feature_a < 0 || last.feature_a >= a.face_count) return false;
  const ConvexHull::Face& face = a.faces[last.feature_a];
  if (face.count > kRingMax) return false;
  out.n = -face.nhat;
  const Vec3 w_b = core_support(b, out.n);
  out.overlap = face.offset + out.n.dot(w_b);
  if (out.overlap <= 0) return false;
  Vec3 ring[kRingMax];
  for (std::uint32_t i = 0; i < face.count; ++i) ring[i] = w_b - a.vertices[a.face_vertices[face.first + i]];
  return proves_least(a, b, out.n, out.overlap, ring, static_cast<int>(face.count));
}

bool same_axis_cylinders(const Core& a, const Core& b, const Axis& last, Axis& out) noexcept {
  out.feature_a = last.feature_a, out.feature_b = last.feature_b;
  const Vec3 d = b.p - a.p;
  const auto towards = [&d](const Vec3& n) { return n.dot(d) > 0 ? Vec3(-n) : n; };  // as the search chooses
  if (last.feature_a == kCap && last.feature_b == kRound) return prove_cap(a, b, true, towards(a.axis()), out);
  if (last.feature_a == kRound && last.feature_b == kCap) return prove_cap(a, b, false, towards(b.axis()), out);
  const TwoCylinders pair(a, b);
  if (last.feature_a == kRim && last.feature_b == kRim) return prove_rims(pair, last.n, out);
  if (last.feature_a == kRim && last.feature_b == kSide) return prove_rim_on_side(pair, false, last.n, out);
  if (last.feature_a == kSide && last.feature_b == kRim) return prove_rim_on_side(pair, true, last.n, out);
  if (last.feature_a != kSide || last.feature_b != kSide) return false;
  return prove_lines(a, b, a.p, a.half_length * a.axis(), a.radius + b.radius, last.n, out);
}

}  // namespace tactus
