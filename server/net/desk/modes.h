// What a client set falls back when he leaves: lockstep, pause, joint options, faults on others' links. And the stop
// that needs no lease.
#pragma once

#include "server/net/desk/requests.h"

namespace tactus::net {

// A client has left: what was his, but for what he asked to keep. Acts later, when no tick is under way.
void fall_back(Hub& hub, ClientSlot client);
// Channels are no longer his: so are the joint options that he set under them.
void end_options(Hub& hub, const std::vector<LostChannel>& lost);
// Somebody took channels: what another set on their joints ends.
void end_options_of_others(Hub& hub, ClientSlot by, const std::vector<Channel>& taken);
// Force is for whoever holds the token; on loopback without one, for all that may drive.
[[nodiscard]] bool may_force(const Exchange& x);

void stop(const Exchange& x);

}  // namespace tactus::net
