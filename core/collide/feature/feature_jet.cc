#include "core/collide/feature/feature_jet.h"

namespace tactus {

namespace {

constexpr double kEdgesParallel = 1e-9;  // sine of the angle between edges

// A vector and its first two derivatives.
struct VectorJet {
  Vec3 x, dot, ddot;
};

// A point fixed in the body.
VectorJet point_jet(const RigidMotion& m, const Vec3& p_W) noexcept {
  const Vec3 r = p_W - m.c_W, turn = m.w_W.cross(r);
  return {p_W, m.v_W + turn, m.a_W + m.alpha_W.cross(r) + m.w_W.cross(turn)};
}

// A direction fixed in the body.
VectorJet direction_jet(const RigidMotion& m, const Vec3& e_W) noexcept {
  const Vec3 turn = m.w_W.cross(e_W);
  return {e_W, turn, m.alpha_W.cross(e_W) + m.w_W.cross(turn)};
}

VectorJet difference(const VectorJet& a, const VectorJet& b) noexcept {
  return {a.x - b.x, a.dot - b.dot, a.ddot - b.ddot};
}

VectorJet cross_product(const VectorJet& a, const VectorJet& b) noexcept {
  return {a.x.cross(b.x), a.dot.cross(b.x) + a.x.cross(b.dot),
          a.ddot.cross(b.x) + 2 * a.dot.cross(b.dot) + a.x.cross(b.ddot)};
}

ChiJet dot_product(const VectorJet& n, const VectorJet& d) noexcept {
  return {n.x.dot(d.x), n.dot.dot(d.x) + n.x.dot(d.dot), n.ddot.dot(d.x) + 2 * n.dot.dot(d.dot) + n.x.dot(d.ddot)};
}

}  // namespace

ChiJet vertex_face_jet(const RigidMotion& a, const Vec3& pa_W, const RigidMotion& b, const Vec3& pb_W,
                       const Vec3& nhat_W) noexcept {
  return dot_product(direction_jet(b, nhat_W), difference(point_jet(a, pa_W), point_jet(b, pb_W)));
}

ChiJet edge_edge_jet(const RigidMotion& a, const Vec3& pa_W, const Vec3& ea_W, const RigidMotion& b, const Vec3& pb_W,
                     const Vec3& eb_W, const Vec3& towards_A_W) noexcept {
  const VectorJet c = cross_product(direction_jet(a, ea_W), direction_jet(b, eb_W));
  const double length = c.x.norm();
  if (!(length > kEdgesParallel * std::sqrt(ea_W.squaredNorm() * eb_W.squaredNorm()))) return {0, 0, 0, false};
  const double sign = c.x.dot(towards_A_W) < 0 ? -1 : 1;
  // n = c / length, with length' = n . c' and length'' = n' . c' + n . c''.
  VectorJet n;
  n.x = c.x / length;
  const double rate = n.x.dot(c.dot);
  n.dot = (c.dot - rate * n.x) / length;
  n.ddot = (c.ddot - (n.dot.dot(c.dot) + n.x.dot(c.ddot)) * n.x - 2 * rate * n.dot) / length;
  ChiJet jet = dot_product(n, difference(point_jet(a, pa_W), point_jet(b, pb_W)));
  jet.chi *= sign, jet.chi_dot *= sign, jet.chi_ddot *= sign;
  return jet;
}

ChiJet edge_edge_volume_jet(const RigidMotion& a, const Vec3& pa_W, const Vec3& ea_W, const RigidMotion& b,
                            const Vec3& pb_W, const Vec3& eb_W, const Vec3& towards_A_W) noexcept {
  const VectorJet c = cross_product(direction_jet(a, ea_W), direction_jet(b, eb_W));
  if (!(c.x.norm() > kEdgesParallel * std::sqrt(ea_W.squaredNorm() * eb_W.squaredNorm()))) return {0, 0, 0, false};
  const double sign = c.x.dot(towards_A_W) < 0 ? -1 : 1;
  const ChiJet jet = dot_product(c, difference(point_jet(a, pa_W), point_jet(b, pb_W)));
  return {sign * jet.chi, sign * jet.chi_dot, sign * jet.chi_ddot, true};
}

}  // namespace tactus
