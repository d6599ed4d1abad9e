// The modes of the world that somebody set, and whose they are.
#pragma once

#include "server/session/ownership.h"

namespace tactus::net {

struct OwnedModes {
  OwnedMode pause, lockstep;
};

}  // namespace tactus::net
