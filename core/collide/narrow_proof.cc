#include "core/collide/narrow_proof.h"

#include <cmath>

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

}  // namespace

bool proves_least(const Core& a, const Core& b, const Vec3& n, double overlap, const Vec3* ring, int count) noexcept {
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
  if (last.feature_a != kSide || last.feature_b != kSide) return false;
  return prove_lines(a, b, a.p, a.half_length * a.axis(), a.radius + b.radius, last.n, out);
}

}  // namespace tactus
