// What goes to and fro between the device's loop and the server, as plain values: the wire's DEVICE and TOOL datagrams
// (proto/haptic.proto) without their bookkeeping.
#pragma once

#include <array>
#include <vector>

#include "tactus/haptic/types.h"

namespace tactus::haptic {

enum class Mode : std::uint32_t { local = 0, direct = 1, wave = 2 };  // proto ToolMode
const char* mode_name(Mode mode);

struct Gains {
  double stiffness = 0, damping = 0;            // [N/m], [N s/m] at the tool
  double turn_stiffness = 0, turn_damping = 0;  // [N m/rad], [N m s/rad]
};

// The tool's point c stays on the side that n points to: n . (X_WT c_T - p_W) >= 0.
struct Plane {
  std::uint32_t key = 0;
  Vec3 n_W = Vec3::UnitZ(), p_W = Vec3::Zero(), c_T = Vec3::Zero();
  double v_n = 0;  // of the obstacle along n [m/s]
  double mu = 0;
  bool moving = false;
  bool on_tool = false;  // the flat face is the tool's: n turns with the tool, p stays on the obstacle
};

struct ToolMessage {
  std::uint64_t tick = 0;
  std::uint64_t sample_echo = 0;  // newest device sample that the tick has used
  std::uint64_t age = 0;          // ticks since that sample came: with a deadband no sign of a late link
  Pose X_WT;
  Twist V_WT;
  Wrench F_T;                    // of the coupling on the tool
  std::array<double, 6> wave{};  // cumulative [sqrt(W) s]
  Gains gains;                   // that act in the server
  double port_in = 0;            // time-domain passivity: energy into the network at the tool's port, cumulative [J]
  double declared = 0;           // energy that the scene gave by itself, cumulative [J]
  std::uint32_t bits = 0;        // proto ToolBit
  std::uint32_t grip = 0;        // of the engagement that this answers
  std::vector<Plane> planes;
};

struct DeviceMessage {
  std::uint64_t sample = 0;     // of the device's loop, from 1
  std::uint64_t tick_echo = 0;  // of the newest ToolMessage used
  std::uint32_t grip = 0;       // a new number engages anew; 0: not engaged
  Pose X_WR;                    // where the device wants the tool
  Twist V_WR;
  std::array<double, 6> wave{};  // cumulative [sqrt(W) s]
  double stiffness_share = 1;    // gains by age
  Wrench F_H;                    // what the hand is given, in W
  double port_in = 0;            // time-domain passivity: energy into the network at this port, cumulative [J]
  double given = 0, taken = 0;   // the motor's ledger [J]
  std::uint32_t bits = 0;        // DeviceBit
  std::uint32_t buttons = 0;
  double round_trip_s = 0;
};

}  // namespace tactus::haptic
