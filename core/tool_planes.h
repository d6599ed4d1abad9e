// What lies around a tool: planes for the device's own contact model, sent before there is contact, and the swept test
// that keeps a fast tool from jumping through thin bodies between two ticks.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/world.h"

namespace tactus {

inline constexpr std::uint32_t kToolPlanes = 12;

// The tool's point c must stay on the side that n points to: n . (X_WT c_T - p_W) >= 0. Where the tool overlaps, the
// plane goes through its point as it is: what the contact model carries with, the device need not feel twice.
struct ToolPlane {
  Vec3 nhat_W;              // from the obstacle into the tool
  Vec3 p_W;                 // on the obstacle
  Vec3 c_T;                 // on the tool, in its frame
  double gap = 0;           // [m]; negative: overlap
  Vec3 v_W = Vec3::Zero();  // of the obstacle there [m/s]
  double mu = 0;            // Coulomb's, dynamic
  BodyIndex body = kNoBody;
  std::uint32_t key = 0;  // the same pair and feature from tick to tick
  bool moving = false;    // the obstacle is no fixed body
  bool on_tool = false;   // the flat face is the tool's, on an edge or corner of the obstacle: the normal turns with it
};

class ToolPlanes {
 public:
  // All within `reach` of the tool's shapes, nearest first. Convex pairs are seen before they touch; a mesh when it
  // touches (World::contacts()). O(shapes) for the boxes, and a narrow phase for each near one. Allocates nothing.
  void find(const World& world, BodyIndex tool, const Pose& X_BT, double reach) noexcept;
  [[nodiscard]] std::span<const ToolPlane> planes() const noexcept { return {planes_.data(), count_}; }

  struct Push {
    BodyIndex body = kNoBody;
    SpatialForce F_Bcm_W;
  };
  // The swept test: forces for this tick, on the tool and back on what it meets, that let it come no deeper than
  // `slack` within the tick, given what else will act on it: of a free body all, of a robot's link the wrench alone,
  // for what joints and drives do within a tick is less than `slack`. None: it is slow enough. pushes()[0] is the
  // tool's. Between steps, with World::mobility().
  bool sweep(World& world, BodyIndex tool, const SpatialForce& F_Bcm_W, double slack) noexcept;
  [[nodiscard]] std::span<const Push> pushes() const noexcept { return {pushes_.data(), push_count_}; }

 private:
  void add_pair(const World& world, std::uint32_t shape, std::uint32_t other, const Pose& X_WT, double reach) noexcept;
  void add_meshes(const World& world, BodyIndex tool, const Pose& X_WT) noexcept;
  void add(const ToolPlane& plane) noexcept;

  std::array<ToolPlane, kToolPlanes> planes_;
  std::array<Push, kToolPlanes + 1> pushes_;
  std::uint32_t count_ = 0, push_count_ = 0;
};

}  // namespace tactus
