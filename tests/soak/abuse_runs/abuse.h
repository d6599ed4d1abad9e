// One seeded run of a scene that is treated as no user should: pushes, joint commands, restored states, parameters and
// models at the ends of what a client may ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/dynamics/model.h"
#include "core/limits.h"

namespace tactus::test {

struct AbuseCase {
  std::string_view variant;  // one of abuse_variants()
  std::uint64_t seed = 0;
  std::uint32_t ticks = 60;
};

struct AbuseResult {
  std::string fault;  // empty: all stayed finite and within bounds
  std::uint32_t frozen = 0, bounded = 0, restored = 0, refused = 0;
};

// Each contact model that moves the world itself, "lcp-exact", "rk4" of penalty; "slow-NAME" beside the tick, and
// "shadow-NAME" beside penalty.
const std::vector<std::string>& abuse_variants();

Limits abuse_limits();
AbuseResult abuse(const std::shared_ptr<const Model>& model, const AbuseCase& which);

}  // namespace tactus::test
