// Measures the link to a server beside a bare UDP echo in the same process at the same rate.
#pragma once

#include <string>

#include "clients/cli/commands.h"

namespace tactus::cli {

struct LatencyResult {
  Spread command_us;      // send() to the arrival of the state with its verdict: applied commands only
  Spread ping_us;         // answered by the server's net thread, not by the tick
  Spread age_us;          // start of a state's tick to its arrival here, by the clock estimate
  Spread echo_us;         // this process to itself and back: what the machine costs without Tactus
  std::string commanded;  // body whose lease the commands used; empty: none was to be had
  std::string note;
  std::uint64_t sent = 0, echo_sent = 0;
  client::Clock clock;
  client::Link link;
};

// Drives the server for so long: zero wrenches, pings and echoes, each at rate_hz. `body` empty: the first free body
// whose lease is free. Nothing moves: a zero wrench changes nothing.
LatencyResult measure_latency(client::Client& client, const LatencyOptions& options);

// One line of the table: name, p50, p99, p99.9, max, number of samples.
void print_row(const char* name, const Spread& spread);

// Lockstep: one tick granted by UDP, and its state back, beside the echo (latency_lockstep.cc). Needs the lease
// "world"; the world advances.
int run_lockstep_latency(const Common& common, const LatencyOptions& options);

// Torque control of options.robot once a tick, beside a ping-pong at the same rate (latency_joints.cc).
int run_joint_latency(const Common& common, const LatencyOptions& options);

// A haptic device's datagram to the tool's answer, for options.device, beside the echo (latency_device.cc).
int run_device_latency(const Common& common, const LatencyOptions& options);

}  // namespace tactus::cli
