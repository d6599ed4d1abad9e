// What the tick hands to a recorder: a belt of states, and a ring of rows for what must not be thinned out.
// The tick fills and never waits; what finds no room is counted.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "server/metrics/counter.h"
#include "server/realtime/messages.h"
#include "server/realtime/ring.h"
#include "server/realtime/state_belt.h"

namespace tactus {

// In the order in which the tick did things: a run is re-executed from a state and these.
struct RecordRow {
  enum class Kind : std::uint8_t {
    wrench,   // body, value: applied in the step to `tick`
    hash,     // of the state at `tick`
    adopted,  // a slow model's step became the state at `tick`; ok: the next one was begun at once
    begun,    // a slow model's step was begun before the step to `tick`, not by an adoption
    model,    // another model took over after `tick`; mode: ContactModelKind, bits: ticks of its steps, 0: in each tick
    notice,   // what: a done or an event; done swap_world carries the new epoch; mode, bits: the model in charge, as
              // above; value: the beat before
    lost,     // by the recorder: rows are missing before this one
    // What the channels of joints were given before the step to `tick`: a run is re-executed from these.
    joint_command,  // joint, mode; value: as asked for, rate; number: for so many ticks
    joint_release,  // joint
    joint_options,  // joint, mode: missed; number: tolerance and fault ticks (high, low half); value: ramp, cutoff,
                    // limits
    joint_time,     // number: ticks that passed without steps
    robot_recover,  // joint: the robot
    // What acted in the step to `tick`, after policies, limits and filter.
    joint_acts,  // joint, mode, bits; value: setpoint, rate, brake
  };
  Kind kind = Kind::wrench;
  Notice::Kind what = Notice::Kind::done;
  Command::Kind command = Command::Kind::wrench;
  bool ok = true;
  std::uint8_t mode = 0;  // DriveKind, or MissedPolicy
  JointIndex joint = kNone;
  std::uint32_t bits = 0;  // kJoint...
  std::uint32_t epoch = 0;
  BodyIndex body = kNoBody;
  std::uint64_t tick = 0;
  std::uint64_t number = 0;       // hash; notice: ticket
  std::array<double, 6> value{};  // force [N], torque [N m] at Bcm in W, after limits
};

struct RecordFeed {
  // Room for the recorder to be away. bodies, contacts_max: of the largest state. rows: how many. state_bytes: for
  // states; eight of the largest always fit.
  RecordFeed(std::uint32_t bodies, std::uint32_t row_capacity, std::uint32_t ticks_per_hash,
             std::uint32_t contacts_max = 0, std::size_t state_bytes = 0)
      : states(std::max(state_bytes, 8 * StateBelt::footprint(bodies, bodies, contacts_max))),
        contacts(contacts_max),
        rows(row_capacity),
        hash_every(ticks_per_hash) {
    spare.resize(bodies, contacts_max);
  }

  StateBelt states;                // tick -> recorder
  const std::uint32_t contacts;    // of a state at most
  Ring<RecordRow> rows;            // tick -> recorder
  StateSlot spare;                 // the tick's: filled where net had no slot for it
  Counter states_lost, rows_lost;  // written by the tick: no room
  // Written by the recorder: of recordings, because the disk was too slow.
  std::atomic<std::uint64_t> bytes_overtaken{0};
  std::atomic<bool> recording_failed{false};     // the newest recording has ended because it could not be written
  std::atomic<std::uint32_t> state_every{1};     // ticks; set by the recorder
  std::atomic<std::uint32_t> contacts_every{0};  // ticks, of those with a state; 0: never
  const std::uint32_t hash_every;                // ticks; 0: never
  // The tick has failed: it waits until the recorder has saved, a few seconds at most.
  std::atomic<bool> failed{false}, saved{false};
};

}  // namespace tactus
