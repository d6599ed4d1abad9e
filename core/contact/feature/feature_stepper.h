// The time steppers that look at features of polyhedra: lnc and peg (Williams, Lu & Trinkle 2014).
#pragma once

#include <vector>

#include "core/contact/feature/feature_solver.h"
#include "core/contact/step/time_stepper.h"

namespace tactus {

// v' = v + h M^-1 F + M^-1 J^T p as in time_stepper.h; the gaps of all features that could touch
// (collide/feature/feature_pairs.h) under the model's I- and X-constraints; friction as st. An overlap at the start is
// worked off within a step, at most at Parameters::overlap_relax_speed, not faster than overlap_relax_time: all gaps of
// a constraint count from its least overlap. Boxes, convex polyhedra and half-spaces have features. Spheres, capsules,
// cylinders and meshes are replaced, each step anew, by the half-spaces that touch them at their nearest points: one
// U-constraint per point, as in st.
class FeatureStepper : public TimeStepper {
 public:
  FeatureStepper(const Model& model, const Limits& limits);
  [[nodiscard]] FeaturePairs* features() noexcept final { return &pairs_; }

 private:
  void start(const Tick& tick) noexcept final;
  SolverReport solve(const Tick& tick, const ContactProblem& problem, ContactSolver& solver, Vec3* p,
                     double* u) noexcept final;
  [[nodiscard]] float point_key(const Tick& tick, const ProblemContact& contact) const noexcept final;
  [[nodiscard]] bool bias(const ContactStart& start, double& out) const noexcept final;
  // peg in the paper's form: X-constraints, and the repaired ones to fall back on.
  [[nodiscard]] virtual bool printed(const Parameters& parameters) const noexcept = 0;

  void list_groups(const ContactProblem& problem) noexcept;
  void list_members(const FeatureGroup& group, ContactGroup& out) noexcept;

  FeaturePairs pairs_;
  FeatureSolver feature_solver_;
  std::vector<std::uint32_t> contact_of_manifold_;  // of pairs_, or kNoContact
  std::vector<double> shift_;                       // of a contact of pairs_: overlap that may stay [m]
  mutable std::vector<double> bounce_of_;  // of a contact of pairs_: restitution's part of its bias, <= 0 [m/s]
  mutable std::vector<std::uint8_t> thrown_, arriving_;  // of a contact of pairs_, see list_members, resting_
  std::vector<std::uint32_t> place_;                     // of a contact of pairs_: in the problem, or kNoContact
  std::vector<ContactGroup> groups_;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint8_t> always_, touching_, resting_;
  std::vector<double> bounce_;
};

// Locally non-convex: each vertex may pass one of the faces that meet at a corner or edge, but not all; nothing watches
// edges there, so bodies may pass through each other (the LNC-trap).
std::unique_ptr<ContactModel> make_locally_non_convex(const Model& model, const Limits& limits);
// Polygonally exact geometry; Parameters::peg_form.
std::unique_ptr<ContactModel> make_polygonally_exact(const Model& model, const Limits& limits);

}  // namespace tactus
