#include "core/contact/feature/feature_stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr double kTouching = 1e-6;  // [m]

std::vector<FeatureShape> feature_shapes(const Model& model) {
  std::vector<FeatureShape> out;
  for (const ShapeInstance& s : model.shapes) {
    const Quat q_WS = model.X_WB0[s.body].q * s.X_BcmS.q;
    out.push_back(make_feature_shape(s.shape, model.planar, q_WS.toRotationMatrix()));
  }
  return out;
}

// What of an overlap may be left at the end of the step.
double overlap_left(double depth, const Tick& tick) noexcept {
  if (!(depth > 0)) return 0;
  const double pace =
      std::min(depth / std::max(tick.h, tick.parameters.overlap_relax_time), tick.parameters.overlap_relax_speed);
  return depth - tick.h * pace;
}

}  // namespace

FeatureStepper::FeatureStepper(const Model& model, const Limits& limits)
    : TimeStepper(model, limits),
      pairs_(feature_shapes(model), limits.problem_contacts),
      feature_solver_(model, limits, limits.problem_contacts),
      contact_of_manifold_(std::size_t{limits.pairs} + limits.problem_contacts),
      shift_(limits.problem_contacts),
      bounce_of_(limits.problem_contacts),
      thrown_(limits.problem_contacts),
      arriving_(limits.problem_contacts),
      place_(limits.problem_contacts),
      groups_(limits.problem_contacts),
      members_(std::size_t{4} * limits.problem_contacts),
      always_(problem_contacts_max(model, limits)),
      touching_(problem_contacts_max(model, limits)),
      resting_(problem_contacts_max(model, limits)),
      bounce_(problem_contacts_max(model, limits)) {}

// Overlaps: a constraint's gaps all count from the least of its members' overlaps, which is what may stay of it; those
// that may push from the least of theirs, where one that only witnesses is apart.
void FeatureStepper::start(const Tick& tick) noexcept {
  std::fill_n(contact_of_manifold_.begin(), tick.contacts.manifold_count, kNoContact);
  const auto contacts = pairs_.contacts();
  for (std::uint32_t i = 0; i < contacts.size(); ++i) {
    TACTUS_DCHECK(contacts[i].manifold < tick.contacts.manifold_count);
    contact_of_manifold_[contacts[i].manifold] = i;
    shift_[i] = contacts[i].unilateral ? overlap_left(-contacts[i].gap, tick) : 0;
    bounce_of_[i] = 0;
  }
  for (const FeatureGroup& group : pairs_.groups()) {
    const auto members = pairs_.members(group);
    const auto raise = [&](std::span<const std::uint32_t> some) {
      double gap = -std::numeric_limits<double>::infinity();
      for (const std::uint32_t i : some) gap = std::max(gap, contacts[i].gap);
      for (const std::uint32_t i : some) shift_[i] = std::max(shift_[i], overlap_left(-gap, tick));
    };
    raise(members), raise(members.first(group.iota));
  }
}

// v_n' >= -psi / h, as Stewart and Trinkle, restitution too. Pairs without features: their clamp.
bool FeatureStepper::bias(const ContactStart& s, double& out) const noexcept {
  const Parameters& p = s.parameters;
  const std::uint32_t i = contact_of_manifold_[s.manifold];
  if (i != kNoContact) {
    out = (s.gap + shift_[i]) / s.h;
  } else if (s.gap >= 0) {
    out = s.gap / s.h;
  } else {
    out = -std::min(-s.gap / std::max(s.h, p.overlap_relax_time), p.overlap_relax_speed);
  }
  if (i != kNoContact) {
    thrown_[i] = -out > std::max(std::abs(s.free), p.overlap_relax_speed) ? 1 : 0;
    arriving_[i] = s.before < -p.impact_epsilon ? 1 : 0;
  }
  if (s.restitution > 0 && s.before < -p.impact_epsilon && s.gap + s.h * s.free < 0) {
    const double bounced = std::min(out, s.restitution * s.before);
    TACTUS_DCHECK(not_above(bounced - out, 0));
    if (i != kNoContact) bounce_of_[i] = bounced - out;
    out = bounced;
  }
  return true;
}

// Feature contacts are known by their features.
float FeatureStepper::point_key(const Tick& tick, const ProblemContact& contact) const noexcept {
  const std::uint32_t i = contact_of_manifold_[contact.manifold];
  if (i == kNoContact) return TimeStepper::point_key(tick, contact);
  const FeatureContact& c = pairs_.contacts()[i];
  TACTUS_DCHECK(c.feature_a < 1024 && c.feature_b < 1024);  // or two features have one key
  return static_cast<float>(((static_cast<std::uint32_t>(c.kind) + 1) << 20U) + (c.feature_a << 10U) + c.feature_b);
}

// Groups over the problem's contacts: what collision found, less what did not fit or cannot move.
void FeatureStepper::list_groups(const ContactProblem& problem) noexcept {
  const auto contacts = pairs_.contacts();
  std::fill_n(place_.begin(), contacts.size(), kNoContact);
  for (std::uint32_t i = 0; i < problem.count(); ++i) {
    always_[i] = 1, touching_[i] = resting_[i] = 0, bounce_[i] = 0;
    if (problem.contact(i).manifold == kNone) continue;
    const std::uint32_t c = contact_of_manifold_[problem.contact(i).manifold];
    if (c == kNoContact) continue;
    TACTUS_DCHECK(place_[c] == kNoContact);  // a feature's contact stands in the problem once
    place_[c] = i;
    always_[i] = contacts[c].unilateral ? 1 : 0;
    touching_[i] = std::abs(contacts[c].gap) <= kTouching ? 1 : 0;
    resting_[i] = touching_[i] != 0 && arriving_[c] == 0 ? 1 : 0;
    bounce_[i] = bounce_of_[c];
  }
}

// Those that may push first. One behind the others that would have to throw the bodies apart, faster than they come and
// faster than an overlap is worked off, is no answer but a kick: it only witnesses.
void FeatureStepper::list_members(const FeatureGroup& group, ContactGroup& out) noexcept {
  const auto members = pairs_.members(group);
  std::uint32_t* next = members_.data() + out.first;
  for (const bool pushing : {true, false}) {
    for (std::uint32_t k = 0; k < members.size(); ++k) {
      const bool may_push = k < group.iota && thrown_[members[k]] == 0;
      if (place_[members[k]] == kNoContact || may_push != pushing) continue;
      *next++ = place_[members[k]];
      ++(pushing ? out.iota : out.kappa);
    }
  }
  TACTUS_DCHECK(out.iota <= group.iota && next <= members_.data() + members_.size());
}

SolverReport FeatureStepper::solve(const Tick& tick, const ContactProblem& problem, ContactSolver& solver, Vec3* p,
                                   double* u) noexcept {
  list_groups(problem);
  std::uint32_t group_count = 0, member_count = 0;
  for (const FeatureGroup& group : pairs_.groups()) {
    TACTUS_DCHECK(group_count < groups_.size());
    ContactGroup& out = groups_[group_count];
    out = {group.kind, member_count, 0, 0};
    list_members(group, out);
    member_count += out.iota + out.kappa;
    if (out.iota + out.kappa > 0) ++group_count;
  }
  GroupedContacts all;
  all.problem = &problem;
  all.always = {always_.data(), problem.count()};
  all.bounce = {bounce_.data(), problem.count()};
  all.touching = {touching_.data(), problem.count()};
  all.resting = {resting_.data(), problem.count()};
  all.groups = {groups_.data(), group_count};
  all.members = members_.data();
  all.push_out = tick.parameters.overlap_relax_speed;
  return feature_solver_.solve(all, printed(tick.parameters), tick.parameters.friction_directions,
                               {choice_work(tick.h)}, solver, p, u);
}

}  // namespace tactus
