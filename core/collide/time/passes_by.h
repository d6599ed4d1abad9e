// Pairs that models which look ahead need not hold apart.
#pragma once

#include "core/collide/contact_set.h"
#include "core/collide/time/swept_pair.h"

namespace tactus {

// Do they keep apart over the step, as they move now, although a contact found ahead says that the gap along its normal
// may close? Only of surfaces that are not convex: to their nearest place belongs no plane that is all of them, and
// what flies at a torus' hole would be held before the ring. Asked only where they are farther apart than a quarter of
// the thinner one's half width and points come within the reach, else false; what forces of the step add
// is the next step's.
bool passes_by(const SweptShape& a, const SweptShape& b, const ContactPoint* points, std::uint32_t count) noexcept;

}  // namespace tactus
