// What stands in the black box, and the Records that it becomes in a file.
#pragma once

#include <cstdint>

#include "record.pb.h"
#include "server/realtime/record_feed.h"
#include "server/record/black_box.h"

namespace tactus::record {

// Entry::kind. A state is a StateFrame and its columns; a row a RecordRow; a message a Record as protobuf writes it;
// a joint row the part of a RecordRow that commands of joints need.
enum class Kind : std::uint16_t { state, row, message, joint_row };

// Appends a copy of the state. False: no room.
bool append_state(BlackBox& box, double time, Bytes state);  // as StateBelt::front() gives it
[[nodiscard]] std::size_t state_bytes(std::size_t bodies, std::size_t joints = 0);
// Appends a row of the tick; those of joints, which may come with every tick and joint, shortened.
bool append_row(BlackBox& box, double time, const RecordRow& row);
// What one joint that is commanded in each tick takes a tick.
[[nodiscard]] std::size_t joint_row_bytes();

// False: an entry that becomes no record.
bool to_record(const BlackBox::Entry& entry, Bytes bytes, v1::Record& out);

// A command's name as in Request: "reset", "set_model". What is said of an operation by the tick and by net alike.
const char* name_of(Command::Kind kind);

}  // namespace tactus::record
