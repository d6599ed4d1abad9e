// chi, chi' and chi'' of two features of polyhedra that move (Baraff 1990, eq. 3 and 4): signed distances, not scaled,
// so constant accelerations without rotation make eq. 20 exact. Points and directions are fixed in their bodies.
#pragma once

#include "core/collide/smooth/extremal_points.h"
#include "core/collide/time/collision_time.h"

namespace tactus {

// Of the point at pa_W of A over the plane through pb_W of B with the unit outward normal nhat_W of B.
ChiJet vertex_face_jet(const RigidMotion& a, const Vec3& pa_W, const RigidMotion& b, const Vec3& pb_W,
                       const Vec3& nhat_W) noexcept;

// Of two edges through pa_W and pb_W along ea_W and eb_W (any length), along their common normal, taken on the side of
// towards_A_W. Parallel to 1e-9: known = false.
ChiJet edge_edge_jet(const RigidMotion& a, const Vec3& pa_W, const Vec3& ea_W, const RigidMotion& b, const Vec3& pb_W,
                     const Vec3& eb_W, const Vec3& towards_A_W) noexcept;

// The same times |ea x eb|: zero at the same times. The normal of edges that are near parallel turns much faster than
// they do, and chi bends with it; this does not, and takes fewer steps to its zero (paper collision_time_test).
ChiJet edge_edge_volume_jet(const RigidMotion& a, const Vec3& pa_W, const Vec3& ea_W, const RigidMotion& b,
                            const Vec3& pb_W, const Vec3& eb_W, const Vec3& towards_A_W) noexcept;

}  // namespace tactus
