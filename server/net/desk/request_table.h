// Which requests change something: a session of role "observe" may make the others only.
#pragma once

#include <array>
#include <cstdint>

#include "control.pb.h"

namespace tactus::net {

enum class Changes : std::uint8_t {
  nothing,    // of the world, of others' sessions or of the server's machine
  something,  // an observer hears ERROR_READ_ONLY
  by_content  // changes_something() looks into it
};

struct RequestRow {
  v1::Request::BodyCase body;
  Changes changes;
};

// One row for each field of Request.body; a test walks them.
inline constexpr std::array<RequestRow, 36> kRequestTable{{
    {v1::Request::kHello, Changes::nothing},
    {v1::Request::kAuthenticate, Changes::nothing},
    {v1::Request::kListScenes, Changes::nothing},
    {v1::Request::kLoadScene, Changes::something},
    {v1::Request::kDescribeScene, Changes::nothing},
    {v1::Request::kSubscribe, Changes::nothing},
    {v1::Request::kUnsubscribe, Changes::nothing},
    {v1::Request::kAcquireLease, Changes::something},
    {v1::Request::kRenewLease, Changes::something},
    {v1::Request::kReleaseLease, Changes::something},
    {v1::Request::kPause, Changes::something},
    {v1::Request::kResume, Changes::something},
    {v1::Request::kStep, Changes::something},
    {v1::Request::kSetLockstep, Changes::something},
    {v1::Request::kGrant, Changes::something},
    {v1::Request::kReset, Changes::something},
    {v1::Request::kTakeSnapshot, Changes::by_content},
    {v1::Request::kRestoreSnapshot, Changes::something},
    {v1::Request::kSetModel, Changes::something},
    {v1::Request::kSetParameter, Changes::something},
    {v1::Request::kGetStatistics, Changes::nothing},
    {v1::Request::kListLeases, Changes::nothing},
    {v1::Request::kSetShadow, Changes::something},
    {v1::Request::kCommand, Changes::by_content},
    {v1::Request::kGetMesh, Changes::nothing},
    {v1::Request::kSetJointOptions, Changes::something},
    {v1::Request::kRecoverFault, Changes::something},
    {v1::Request::kSaveBlackBox, Changes::something},
    {v1::Request::kStartRecording, Changes::something},
    {v1::Request::kStopRecording, Changes::something},
    {v1::Request::kSetLinkFaults, Changes::something},
    {v1::Request::kGetLinkFaults, Changes::nothing},
    {v1::Request::kAttachTool, Changes::something},
    {v1::Request::kDetachTool, Changes::something},
    {v1::Request::kSetPlayback, Changes::by_content},
    {v1::Request::kStop, Changes::something},
}};

// True for what stands in no row: it is of a newer version.
[[nodiscard]] bool changes_something(const v1::Request& request);

}  // namespace tactus::net
