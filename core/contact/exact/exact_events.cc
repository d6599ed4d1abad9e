// What ends a piece of the exact stepper before its time: a contact whose force ends, or slip that turns round.
#include <algorithm>

#include "core/check.h"
#include "core/contact/exact/exact_stepper.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr double kWeak = 1e-7;  // a force below this, of what acts without it, has no end to be looked for
constexpr int kMostRoots = 60;

}  // namespace

// Positive at the start of the piece; negative once the contact has broken, or slip has turned round.
double ExactStepper::event_value(const Event& event) noexcept {
  TACTUS_DCHECK(event.contact < forces_.contacts().size());
  const FollowedContact& c = forces_.contacts()[event.contact];
  if (event.slip) return slip_of(c, forces_).dot(c.slip_W);
  return c.force[0] > 0 ? c.force[0] * c.mobility : -c.opening;
}

// A contact whose push or slip has ended, but the one known.
bool ExactStepper::find_event(const Event& known, Event& out) noexcept {
  const std::span<FollowedContact> contacts = forces_.contacts();
  for (std::uint32_t i = 0; i < contacts.size(); ++i) {
    const double least = kWeak * contacts[i].free.norm();
    for (const bool slip : {false, true}) {
      out = {i, slip};
      if (known.contact == i && known.slip == slip) continue;
      if (slip ? !contacts[i].slides : start_[i].push <= least || shares_on(contacts[i])) continue;
      if (event_value(out) < (slip ? 0 : -least)) return true;
    }
  }
  return false;
}

// Regula falsi (Illinois) between the start and dt; the state is left at the time given, just after the event.
double ExactStepper::event_time(const Tick& tick, const Event& event, double dt, State& state) noexcept {
  const Start& start = start_[event.contact];
  double low = 0, f_low = event.slip ? start.slip : start.push, high = dt, f_high = event_value(event);
  double at = dt;
  int side = 0;
  for (int i = 0; i < kMostRoots && high - low > kTimeTolerance && !forces_.spent(); ++i) {
    at = low + (high - low) * f_low / (f_low - f_high);
    // Ends that hardly move are moved by what is left to be found.
    at = std::clamp(at, low + 0.25 * kTimeTolerance, high - 0.25 * kTimeTolerance);
    integrate(tick, at, state);
    const double f = event_value(event);
    if (f < 0) {
      high = at, f_high = f;
      if (side < 0) f_low *= 0.5;
      side = -1;
    } else {
      low = at, f_low = std::max(f, 1e-300);
      if (side > 0) f_high *= 0.5;
      side = 1;
    }
  }
  TACTUS_DCHECK(not_outside(high, 0, dt));
  if (at != high) integrate(tick, high, state);
  return high;
}

// The first end of a push or of slip within dt.
double ExactStepper::end_at_event(const Tick& tick, double dt, State& state, ExactReport& report) noexcept {
  Event known{kNone, false}, event{};
  for (int i = 0; i < kMostBackUps && !forces_.spent() && find_event(known, event); ++i) {
    dt = event_time(tick, event, dt, state);
    known = event;
  }
  if (known.contact == kNone) return dt;
  ++(known.slip ? report.stops : report.breaks);
  const FollowedContact& c = forces_.contacts()[known.contact];
  if (c.fits) ++shared_ends_[c.body_a], ++shared_ends_[c.body_b];
  if (known.slip) turned_a_ = c.shape_a, turned_b_ = c.shape_b;
  tick.finder->find();
  return dt;
}

}  // namespace tactus
