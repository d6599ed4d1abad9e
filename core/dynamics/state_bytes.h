// A State as bytes, for snapshots that leave the process. Belongs to one scene and one build's layout.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/dynamics/state.h"

namespace tactus {

// Little-endian, about 104 bytes a body and 240 a pair. Allocates: not for the tick.
std::vector<std::uint8_t> to_bytes(const State& state);

// Into out, which must have been made for the same scene (initial_state). False, and out unchanged, when the bytes are
// cut, from another layout or another number of bodies, hold non-finite numbers, or more pairs than out has room for.
bool from_bytes(std::span<const std::uint8_t> bytes, State& out);

}  // namespace tactus
