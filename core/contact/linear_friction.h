// Static friction by a linear system (Drumwright III-B): the tangential forces of the chosen contacts are those that
// bring their slip to rest by the end of the step, all contacts together, A x = b with A and b as in the LCP methods:
//   A = J M^-1 J^T,  b = -(J v / h + J a_free)
// with three rows a contact: two tangential ones and the spin about the normal (times the patch's radius R), at the
// pressure centre. Dearer than springs and without their stretch: for chosen contacts, as the paper says.
#pragma once

#include "core/contact/penalty_force.h"

namespace tactus {

struct FrictionRow;

// Of the contacts with `linear_friction` set. For one tick; scratch comes from the arena.
class LinearFriction {
 public:
  LinearFriction(const Tick& tick, PenaltyContact* contacts, std::uint32_t count) noexcept;

  // After all other forces of an evaluation are in F: adds the friction of the chosen contacts, so that a semi-implicit
  // step of length h leaves them without slip. Where contacts share a load it is the solution of least norm, so equal
  // contacts carry equal parts. A contact that would need more than its limit surface |F|^2 + (M / R)^2 <= (mu N)^2
  // allows slips with that, and the others are solved again, at most kRounds times. Adds each point's share to points
  // (indexed like the contact set) unless null. Gyroscopic terms are not foreseen. O(contacts) an iteration of the
  // conjugate gradients, three per contact in exact arithmetic, at most kIterations.
  void add(const StageBody* stage, double h, SpatialForce* F, SpatialForce* points) noexcept;

  static constexpr int kRounds = 4, kIterations = 200;

 private:
  void collect(const StageBody* stage) noexcept;
  void load(const StageBody* stage, double h, const SpatialForce* F) noexcept;
  void solve() noexcept;
  [[nodiscard]] bool clip(bool last) noexcept;
  void accelerate(const FrictionRow& row, const Vec3& x, SpatialVelocity* bodies) const noexcept;
  [[nodiscard]] Vec3 slip(const FrictionRow& row, const SpatialVelocity* bodies) const noexcept;
  void clear(SpatialVelocity* bodies) const noexcept;

  const Tick& tick_;
  PenaltyContact* contacts_;
  std::uint32_t contact_count_, count_ = 0;
  FrictionRow* rows_ = nullptr;       // of the contacts that push
  SpatialVelocity* free_ = nullptr;   // per body: change of velocity over h without the unknown forces, over h
  SpatialVelocity* trial_ = nullptr;  // per body
};

}  // namespace tactus
