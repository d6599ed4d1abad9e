// A whole state in a recording, from which a run can go on: the World's state, its settings, and what a model beside
// the tick was given.
#pragma once

#include <cstdint>

#include "core/world.h"
#include "record.pb.h"
#include "server/solver/slow_ticker.h"

namespace tactus::record {

// Of the limits 0 means none.
void write_options(const ChannelOptions& in, v1::JointOptions& out);
ChannelOptions read_options(const v1::JointOptions& in);

// memory: null where no model beside the tick has anything to say.
void write_keyframe(const World& world, const State& state, const Parameters& parameters, const SlowMemory* memory,
                    v1::Keyframe& out);

// The state alone. False: it is of another scene or build.
bool read_state(const v1::Keyframe& in, const World& world, State& out);
// out: sized by SlowTicker::resize_memory() for in.solver().slow_ticks(). False: it does not fit.
bool read_memory(const v1::SolverKeyframe& in, const World& world, SlowMemory& out);
// Keys that this build does not know are passed over.
Parameters read_parameters(const google::protobuf::RepeatedPtrField<v1::Parameter>& in, Parameters base);

}  // namespace tactus::record
