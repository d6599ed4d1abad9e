// Tools held by haptic devices, on the tick: what devices say becomes wrenches on the world, and what the world answers
// becomes rows to publish. Newest sample wins, waves are played out in order. Allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/actuation/tool_coupling.h"
#include "core/tool_planes.h"
#include "core/world.h"
#include "proto/cpp/playout.h"

namespace tactus {

inline constexpr std::uint32_t kTools = 4;

// What a device's loop says in one DEVICE datagram, checked: finite, in range, leased.
struct DeviceRow {
  std::uint32_t tool = 0, grip = 0;  // grip 0: let go; a new number engages
  std::uint64_t sample = 0, tick_echo = 0;
  std::array<double, 7> pose{};      // X_WR: p, q (wxyz)
  std::array<double, 6> velocity{};  // v, w
  std::array<double, 6> wave{};      // cumulative
  std::array<double, 6> force{};     // on the hand, in W
  double stiffness_share = 1, given = 0, taken = 0, round_trip = 0;
  double port_in = 0;  // time-domain passivity [J]
  std::uint32_t bits = 0, buttons = 0;
  std::uint64_t band_seen = 0, band_sent = 0;  // with a deadband: its cycles, and DEVICEs of them
  double band_error = 0;                       // largest, in units of the band
  std::uint32_t wait_us = 0;                   // from its arrival to the tick that used it
};
inline constexpr std::uint32_t kDeviceAnchored = 1024;  // pose and velocity are meant

// One tool for publishing.
struct ToolRow {
  std::uint32_t tool = 0, grip = 0;
  BodyIndex body = kNoBody;
  ToolMode mode = ToolMode::local;
  ToolReport report;
  ToolGains gains;  // after what the body bears
  std::array<double, 6> wave{};
  DeviceRow device;  // newest
  std::uint64_t samples = 0, samples_lost = 0;
  std::array<ToolPlane, kToolPlanes> planes;
  std::uint32_t plane_count = 0;
};

class ToolDesk {
 public:
  // A tool of these settings, not engaged yet. reach: how far planes are looked for [m].
  void attach(std::uint32_t tool, const ToolSettings& settings, double reach) noexcept;
  // Ramps to zero; the place is free once it is idle.
  void detach(std::uint32_t tool) noexcept;
  // Another scene: no tool is left.
  void clear() noexcept;
  // The state jumped: all are let go at once; devices engage anew.
  void drop_all() noexcept;
  [[nodiscard]] bool attached(std::uint32_t tool) const noexcept { return tool < kTools && tools_[tool].attached; }
  // False: no such tool, or older than what is known (its wave is taken all the same). step: of the world [s].
  bool take(const DeviceRow& row, std::uint64_t tick, double step) noexcept;

  // The world stood still for so many of its steps while the hand did not (grid points skipped): waves are played by
  // the hand's time. What piled up is played in one tick at 1 / sqrt(steps) of it, so that it has no more energy than
  // was sent.
  void skipped(std::uint64_t steps) noexcept { lost_steps_ += steps, steps_due_ += static_cast<double>(steps); }

  // After a step, ahead of the next: finds the planes of where the tools are now, so that no device waits for that in
  // the tick that answers it.
  void look(const World& world) noexcept;
  // Before World::step(): applies what acts. slow_ticks: of a step of the slow model in charge; 0: none is.
  void apply(World& world, std::uint32_t slow_ticks) noexcept;
  // What apply() has put on the world.
  struct Applied {
    BodyIndex body = kNoBody;
    SpatialForce F_Bcm_W;
  };
  [[nodiscard]] std::span<const Applied> applied() const noexcept { return {applied_.data(), applied_count_}; }
  [[nodiscard]] std::span<const ToolRow> rows() const noexcept { return {rows_.data(), row_count_}; }
  // Tools that the watchdog let go in the last tick, or that froze.
  [[nodiscard]] std::uint32_t lost_now() const noexcept { return lost_now_; }  // bit a tool

 private:
  struct Tool {
    bool attached = false, leaving = false, fresh = false;
    bool looked = false;  // planes are those of the present state
    ToolSettings settings;
    double reach = 0;
    std::uint32_t grip = 0;
    ToolCoupling coupling;
    ToolPlanes planes;
    wire::Playout<6> playout;
    DeviceRow device;
    ToolInput input;
    std::array<double, 6> wave{};
    std::uint64_t samples = 0, samples_lost = 0, first_sample = 0;
    std::uint32_t stiffer_ticks = 0;  // for so long the hand was said to get more than was granted
  };
  void step_tool(Tool& tool, std::uint32_t index, World& world, std::uint32_t slow_ticks) noexcept;
  void engage_or_let_go(Tool& tool, World& world) noexcept;
  [[nodiscard]] static ToolMass mass_of(const Tool& tool, World& world) noexcept;
  [[nodiscard]] const ToolInput* input_of(Tool& tool, std::uint64_t tick, double h) noexcept;
  [[nodiscard]] static bool doubted(Tool& tool) noexcept;
  void push(World& world, BodyIndex body, const SpatialForce& F_Bcm_W) noexcept;
  void publish(const Tool& tool, std::uint32_t index) noexcept;

  std::array<Tool, kTools> tools_;
  std::array<ToolRow, kTools> rows_;
  std::array<Applied, kTools*(kToolPlanes + 2)> applied_;
  std::uint64_t lost_steps_ = 0;
  double steps_due_ = 1;  // that the next tick stands for
  std::uint32_t row_count_ = 0, applied_count_ = 0, lost_now_ = 0;
};

}  // namespace tactus
