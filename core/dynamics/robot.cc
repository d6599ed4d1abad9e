#include "core/dynamics/robot.h"

#include <array>

namespace tactus {

namespace {
constexpr std::array<const char*, 7> kNames{"fixed",  "revolute",  "continuous", "prismatic",
                                            "planar", "spherical", "floating"};
constexpr std::array<std::uint32_t, 7> kPositions{0, 1, 1, 1, 3, 4, 7}, kVelocities{0, 1, 1, 1, 3, 3, 6};
}  // namespace

const char* to_string(JointKind kind) noexcept {
  return kNames[static_cast<std::size_t>(kind)];
}
std::uint32_t position_count(JointKind kind) noexcept {
  return kPositions[static_cast<std::size_t>(kind)];
}
std::uint32_t velocity_count(JointKind kind) noexcept {
  return kVelocities[static_cast<std::size_t>(kind)];
}

}  // namespace tactus
