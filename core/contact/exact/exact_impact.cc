// Impulses at the start of a piece of the exact stepper, and what it publishes at the end.
#include <algorithm>

#include "core/check.h"
#include "core/contact/body_response.h"
#include "core/contact/exact/exact_stepper.h"
#include "core/contact/impact/impact_simultaneous.h"

namespace tactus {

namespace {

// Of bounces ever lower there is no end (Zeno). Once a step has come to many pieces, what would rise by less than
// counts as a touch (1e-8 m) under gravity stays.
constexpr double kLowBounce = 4e-4;  // [m/s]

}  // namespace

// Contacts that approach faster than impact_epsilon collide, manifold by manifold (Parameters::impacts); then nothing
// that touches approaches any more.
void ExactStepper::strike(const Tick& tick, State& state, StepReport& report) noexcept {
  const std::size_t mark = tick.arena.used();
  const std::span<FollowedContact> contacts = forces_.contacts();
  const auto n = static_cast<std::uint32_t>(contacts.size());
  auto* const impacts = tick.arena.take<ImpactContact>(n);
  auto* const patches = tick.arena.take<ImpactPatch>(n);
  auto* const chosen = tick.arena.take<std::uint32_t>(n);
  const double low = many_ ? kLowBounce : 0;
  const double epsilon = std::max(tick.parameters.impact_epsilon, low);
  std::uint32_t count = 0;
  bool any = false;
  for (std::uint32_t first = 0, last = 0; first < n; first = last) {
    while (last < n && contacts[last].manifold == contacts[first].manifold) ++last;
    const auto approaches = [&](const FollowedContact& c) {
      return gap_rate(c.jet, forces_.motion(c.body_a), forces_.motion(c.body_b)) < -epsilon;
    };
    const bool pending = std::any_of(contacts.begin() + first, contacts.begin() + last, approaches);
    Vec3 centre = Vec3::Zero();
    std::uint32_t points = 0;
    for (std::uint32_t i = first; i < last; ++i) {
      if (pending && !approaches(contacts[i])) continue;
      chosen[first + points++] = contacts[i].point;
      centre += contacts[i].p_W();
    }
    TACTUS_DCHECK(points > 0 && count < n);
    const FollowedContact& c = contacts[first];
    impacts[count] = {c.body_a, c.body_b, c.jet.nhat_BA, centre / points, c.restitution, c.mu_dynamic, pending, false,
                      0,        0};
    patches[count++] = {tick.contacts.points, chosen + first, points};
    any = any || pending;
  }
  if (any) {
    ImpactResult result;
    const Parameters& p = tick.parameters;
    if (p.impacts == Impacts::simultaneous) {
      result = resolve_impacts_together(impacts, patches, count, epsilon, tick.limits.impact_sweeps, tick.kinematics,
                                        tick.arena, state);
    } else {
      auto* const stamps = tick.arena.take<std::uint32_t>(state.body_count());
      result = resolve_impacts(impacts, count, epsilon, tick.limits.impact_sweeps, tick.kinematics, stamps, state,
                               p.restitution_law);
    }
    if (result.exhausted) report.sweeps_exhausted = 1;
    for (std::uint32_t i = 0; i < count; ++i) report.impacts += impacts[i].hit ? 1 : 0;
  }
  forces_.stop_approach(state);
  tick.arena.rewind(mark);
}

// Contacts, forces and phases of pairs at the end of the step.
void ExactStepper::publish(const Tick& tick, State& state) noexcept {
  gather(tick, state);
  classify();
  forces_.evaluate(state.q.data(), state.v.data(), force_.data());
  std::fill_n(tick.contact_force, tick.contacts.point_count, SpatialForce{});
  for (std::uint32_t i = 0; i < tick.contacts.manifold_count; ++i) {
    PairRecord& record = state.pairs[tick.contacts.manifolds[i].pair];
    record.model.fill(0.0);
    record.phase = ContactPhase::apart;
  }
  for (const FollowedContact& c : forces_.contacts()) {
    TACTUS_DCHECK(c.manifold < tick.contacts.manifold_count && c.point < tick.contacts.point_count);
    tick.contact_force[c.point].force = c.e * c.force;
    if (c.force[0] > 0) state.pairs[tick.contacts.manifolds[c.manifold].pair].phase = ContactPhase::resting;
  }
}

}  // namespace tactus
