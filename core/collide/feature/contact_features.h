// The two features that touch at a contact, in their shapes' own frames, and how their distance and its points move
// (chi of Baraff 1990, eq. 3 and section 6): for models that follow a contact between two searches for contacts.
#pragma once

#include <cstdint>

#include "core/collide/contact_set.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/shape/shape.h"

namespace tactus {

// A side is a core that is part of its body, and all points within `radius` of it. sphere, vertex: a point; capsule,
// cylinder's side, edge: a line; cylinder's rim: a circle; face, half-space: a plane.
enum class FeatureCore : std::uint8_t { point, line, circle, plane };

struct FeatureSide {
  FeatureCore core = FeatureCore::point;
  Vec3 p_S = Vec3::Zero();   // of the core; of a circle its middle
  Vec3 u_S = Vec3::UnitZ();  // unit: along the line; outward normal of the plane; axis of the circle
  double radius = 0;         // [m]; 0 of a plane
  double rim = 0;            // the circle's own radius [m]
  Vec3 e_S = Vec3::UnitX();  // unit, from its middle to the point that touched when it was found
};

struct ContactFeatures {
  FeatureSide a, b;
  double side = 1;  // two lines or circles: the normal is that side of the tangents' cross product
};

// Where and how two surfaces are nearest. All in W; the dots are rates in W, of points that move over the surfaces.
struct ContactJet {
  Vec3 pa = Vec3::Zero(), pb = Vec3::Zero(), pa_dot = Vec3::Zero(), pb_dot = Vec3::Zero();
  Vec3 nhat_BA = Vec3::UnitZ(), nhat_dot = Vec3::Zero();
  double d = 0;             // nhat . (pa - pb): > 0 apart [m]
  double conditioning = 1;  // of smooth shapes: ExtremalPair's, but of those that touch along an edge
  bool on_edge = false;     // of a solid, or on a rim; by a smooth shape
  bool known = true;        // false: the features no longer have a distance (lines that became parallel)
};

// What touches at a point of a manifold, by where along the normal each shape is farthest. Where two features share
// more than a point (face on face, an edge or a cylinder on a face, parallel edges) the point found is taken as part of
// shape A against the plane of B, or the other way round where only A has one; so is the rim of a cylinder that nearly
// lies on a plane. Both sides of a mesh count as a plane: right in value and rate, not in chi''. So does any point
// whose features' distance is not the depth that was found (in deep overlap they are not what touches). For smooth
// shapes: extremal_points.h.
ContactFeatures find_features(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
                              const Vec3& nhat_BA_W, const ContactPoint& point) noexcept;

// Closed form, about 100 ns. Motions: of any point of each body; accelerations are not looked at.
ContactJet contact_jet(const ContactFeatures& features, const Frame& X_WA, const RigidMotion& A, const Frame& X_WB,
                       const RigidMotion& B) noexcept;

// The same of a smooth shape and another (extremal_points.h) or a mesh (mesh_places.h), from where the sides remember.
// Where the points' rates are not defined (surfaces that fit each other: line and area contacts) the point of A is
// taken as part of it, and the normal as part of B.
ContactJet extremal_jet(const Shape& a, const Frame& X_WA, const RigidMotion& A, const Shape& b, const Frame& X_WB,
                        const RigidMotion& B, bool one_of_several, ExtremalSide& side_a, ExtremalSide& side_b) noexcept;

// d' and d'' of a jet, in W. d'' equals eqs. 46 to 49 of Baraff 1990 plus d |n'|^2:
//   d' = n.(V_a - V_b),  d'' = n.(A_a - A_b) + n'.(V_a - V_b),  V = v + w x (p - c),
//   A = a + alpha x (p - c) + w x (p' - v)
Vec3 material_velocity(const RigidMotion& body, const Vec3& p_W) noexcept;
Vec3 material_acceleration(const RigidMotion& body, const Vec3& p_W, const Vec3& p_dot_W) noexcept;
double gap_rate(const ContactJet& jet, const RigidMotion& A, const RigidMotion& B) noexcept;
double gap_acceleration(const ContactJet& jet, const RigidMotion& A, const RigidMotion& B) noexcept;

}  // namespace tactus
