// Static friction by a linear system (Drumwright III-B): the tangential forces of the chosen contacts are those that
// bring their slip to rest by the end of the step, all contacts together, A x = b with A and b as in the LCP methods:
//   A = J M^-1 J^T,  b = -(J v / h + J a_free)
// with three rows a contact: two tangential ones and the spin about the normal (times the patch's radius R), at the
// pressure centre. Dearer than springs and without their stretch: for chosen contacts, as the paper says.
#pragma once

#include "core/contact/penalty/penalty_force.h"

namespace tactus {

struct FrictionRow;
struct LinkRows;

// Of the contacts with `linear_friction` set. For one tick; scratch comes from the arena.
class LinearFriction {
 public:
  LinearFriction(const Tick& tick, const State& state, PenaltyContact* contacts, std::uint32_t count) noexcept;

  // After all other forces of an evaluation are in F: adds the friction of the chosen contacts, so that a semi-implicit
  // step of length h leaves them without slip. Where contacts share a load it is the solution of least norm, so equal
  // contacts carry equal parts. A contact that would need more than its limit surface |F|^2 + (M / R)^2 <= (mu N)^2
  // allows slips with that, and the others are solved again, at most kRounds times. Adds each point's share to points
  // (indexed like the contact set) unless null. Gyroscopic terms and
  // the Coulomb friction and ends of joints are not foreseen, drives and damping of joints are. O(contacts) an
  // iteration of the conjugate gradients, three per contact in exact arithmetic, at most kIterations.
  void add(const StageBody* stage, double h, SpatialForce* F, SpatialForce* points) noexcept;

  static constexpr int kRounds = 4, kIterations = 200;

 private:
  // Velocities over h, or accelerations: of bodies, and of all robots in half velocities.
  struct Motion {
    SpatialVelocity* bodies = nullptr;
    double* half = nullptr;
  };
  void load_robots(double h, const SpatialForce* F) noexcept;
  LinkRows link_rows(BodyIndex body, const FrictionRow& row, const Vec3& p_WC, double sign) noexcept;
  void collect(const StageBody* stage) noexcept;
  void load(const StageBody* stage, double h, const SpatialForce* F) noexcept;
  void solve() noexcept;
  [[nodiscard]] bool clip(bool last) noexcept;
  void accelerate(const FrictionRow& row, const Vec3& x, const Motion& motion) const noexcept;
  [[nodiscard]] Vec3 slip(const FrictionRow& row, const Motion& motion) const noexcept;
  void clear(const Motion& motion) const noexcept;

  const Tick& tick_;
  const State& state_;
  PenaltyContact* contacts_;
  std::uint32_t contact_count_, count_ = 0;
  FrictionRow* rows_ = nullptr;  // of the contacts that push
  Motion free_;                  // at the end of the step without the unknown forces, over h
  Motion trial_;
  bool* solvable_ = nullptr;  // per robot
};

}  // namespace tactus
