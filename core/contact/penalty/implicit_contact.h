// The penalty law that needs no tuning: a spring-damper per manifold, integrated implicitly, manifold after manifold
// (block Gauss-Seidel) with a warm start. Ours, not Drumwright's (2008), whose force is explicit and takes gains
// from the user. This file: one manifold.
#pragma once

#include <cstdint>

#include "core/contact/contact_model.h"

namespace tactus {

// A body during the substeps of a tick, in W.
struct SweepBody {
  Vec3 v, w;            // velocities now
  Vec3 v_free, w_free;  // the same at the end of the substep without contact
  Mat3 inv_I;           // [1/(kg m^2)]
  double inv_mass;      // [1/kg]; 0: does not move
};

// A side of a contact that is a link of a robot. (V, W) of the link at p_ref, in the basis e, is the sum over rows of Y
// u; an impulse (f, m) there changes u by Y (f, m). u: half velocities of the robot (dynamics/tree.h), so that the
// kinetic energy is |u|^2 / 2. Y is negative for B. Two links of one robot are one side.
struct TreeSide {
  std::uint32_t rows = 0;
  const std::uint32_t* dofs = nullptr;  // rows of u
  const double* Y = nullptr;            // rows x 6: V0 V1 V2 W0 W1 W2
  double* u = nullptr;
};
struct TreeSides {
  TreeSide side[2];
  std::uint32_t count = 0;
  Vec3 V = Vec3::Zero(), W = Vec3::Zero();  // what moving carriers of the robots add, A minus B
};

struct ImplicitPoint {
  double x, y;     // along t1, t2 from p_ref [m]
  double depth;    // now; negative across a gap [m]
  double impulse;  // of the last visit [N s]
};

// One manifold of the sweep, seen in the basis e = (nhat, t1, t2) at p_ref. V, W: linear and angular velocity of A
// against B there. Two blocks of three generalized velocities, and impulses on A that go with them:
//   normal    n = (V0, W1, W2), P = (N, M1, M2): the point at (x, y) parts with V0 + y W1 - x W2
//   friction  q = (V1, V2, W0), Q = (F1, F2, M0)
// An impulse changes n by K_nn P + K_qn^T Q and q by K_qn P + K_qq Q.
struct ImplicitContact {
  // What a contact at one point needs comes first, and is a good half: a large world's contacts are more than the inner
  // caches hold, and most of them are such.
  BodyIndex a, b;
  std::uint32_t count;
  bool at_point;     // one point, nothing resists rolling: only V, N, F1 and F2 are used
  bool bodies_rest;  // neither body moves nor can, apart from links
  bool was_slipping, slipped;
  bool patch_known;
  bool moves;  // r_a and r_b are those of the middle of the tick
  bool all_active_known;
  ImplicitPoint* points;
  const TreeSides* trees;  // null: no side is a link
  Mat3 e;                  // columns nhat_BA_W, t1, t2
  Vec3 r_a, r_b;  // p_ref from the mass centres, in W; of contacts whose place moves, in the middle of the tick
  // Spring-dampers; all gains already times the substep, so that they yield impulses.
  double spring;                               // of a point: h kp / count [kg/s]
  double yield;                                // of a point: (h^2 kp + h kv) / count [kg]
  double stop;                                 // yield / h: what holds at the far end of a gap [kg/s]
  double reach;                                // the spring feels min(depth, reach) [m]
  double tangential_spring, tangential_yield;  // h kt, h^2 kt + h ct
  double mu_static, mu_dynamic, stribeck_velocity;
  double inv_mass;            // of both bodies together [1/kg]
  double viscous;             // h times the coefficient [kg]
  double curve;               // Manifold::gap_curve
  double turning;             // part of the gap's rate that the normal's turn since the middle of the tick makes [m/s]
  double stretch1, stretch2;  // of the tangential springs, in the basis e [m]
  double sliding;             // k of the last visit that slid (implicit_friction.cc), 0: none in this tick
  Vec3 P, Q;                  // impulses on A of the last visit
  Vec3 f_sum, m_sum;          // linear and angular impulse over the tick, in the basis e
  // Where friction acts, found at the first visit of a tick that finds the contact loaded: mobility there, turns times
  // the radius; inverse of the sticking system.
  Mat3 F, stick;
  Mat3 K_qq, K_nn, K_qn;
  Vec3 p_ref;  // in W, at the start of the tick
  // Patches alone.
  double x, y, radius;  // pressure centre; root mean square distance of the pressure from it [m]
  double twist;         // of the torsional spring [rad]
  double rolling;       // arm of the rolling resistance: limit of its moment over the normal force [m]
  double roll1, roll2;  // of its springs [rad]
  double M1, M2;        // its moments along t1, t2, of the last visit
  Mat3 all_active;      // inverse of the normal system when every point pushes, once it was needed
  struct {
    double a, b, d, per;
    bool known;
  } pair;               // of two points: the system of their impulses and 1 over its determinant, once it was needed
  Mat3 beside_viscous;  // what viscous friction leaves of a velocity
};

// Fills K_nn, K_qn and K_qq (of these at a point what V and forces need); e, r_a, r_b, points and gains must be set.
void find_mobility(const SweepBody& a, const SweepBody& b, ImplicitContact& c) noexcept;

// One visit: with the impulse of the last visit taken back, finds the normal impulses that the springs and dampers of
// its points give at the end of the substep (exactly, by active sets), then friction and rolling resistance, and brings
// the difference to both bodies. O(points).
void visit(ImplicitContact& c, SweepBody& a, SweepBody& b) noexcept;

// Brings an impulse f and its moment m about p_ref, in the basis e, to both bodies.
void add_impulse(const ImplicitContact& c, const Vec3& f, const Vec3& m, SweepBody& a, SweepBody& b) noexcept;

// After a substep of length h, at whose end the bodies have the velocities given: depths and springs move with them;
// impulses are summed.
void follow(ImplicitContact& c, const SpatialVelocity& a, const SpatialVelocity& b, double h) noexcept;

}  // namespace tactus
