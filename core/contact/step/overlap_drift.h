// Overlap worked off by a spring and damper at each manifold's deepest point, the set-up that Drumwright compares with
// (IV-B): of the acceleration model and of Anitescu and Potra's (Parameters::lcp_drift, ap_drift).
// It stays out of b, or complementarity would cancel it (Drumwright 2008 does not say where it enters).
#pragma once

#include "core/contact/solve/contact_problem.h"

namespace tactus {

// Springs and dampers at the ends of a step: kp = m / (h T), kv = m / h with m the effective mass of the deepest point
// and T = max(n h, overlap_relax_time), n: springs of the manifold's bodies, weighed by what each body gives way (a
// body is split among its springs: Cimmino's simultaneous projections, which bring nothing farther from where no
// manifold overlaps; with n = 1 a stack's overlaps grew by a fifth a step of 10 ms), without inertia: what they give
// moves bodies by depth h / T, at most by h overlap_relax_speed, and leaves no velocity behind, so that nothing is
// thrown out. Points equally deep share it. A manifold that opens that fast by itself gets nothing. problem, u: solved;
// y: scratch of half_size; u_drift: half velocities that they give, out.
void find_drift(const Tick& tick, const ContactProblem& problem, const double* u, double* y, double* u_drift) noexcept;
// Moves bodies and robots by them for h.
void move_by_drift(const Tick& tick, const ContactProblem& problem, double* u_drift, State& state) noexcept;

}  // namespace tactus
