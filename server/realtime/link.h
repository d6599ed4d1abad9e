// Everything that crosses between the tick thread and the net thread: commands in, notices and states out, one eventfd
// to wake net.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <memory>

#include "core/check.h"
#include "server/metrics/counter.h"
#include "server/realtime/messages.h"
#include "server/realtime/play_feed.h"
#include "server/realtime/record_feed.h"
#include "server/realtime/ring.h"
#include "server/realtime/state_ring.h"

namespace tactus {

struct TickLink {
  // bodies and contacts: what a state slot holds. commands: rows that may wait for one tick.
  TickLink(std::uint32_t bodies, std::uint32_t contacts, std::uint32_t command_rows)
      : commands(command_rows),
        notices(4 * static_cast<std::size_t>(command_rows) + 8 * static_cast<std::size_t>(bodies)),
        states(bodies, contacts),
        wake_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    TACTUS_ASSERT(wake_fd >= 0);
  }
  ~TickLink() { close(wake_fd); }
  TickLink(const TickLink&) = delete;
  TickLink& operator=(const TickLink&) = delete;

  // By the tick: one eventfd write. A full eventfd (never drained by net) is not an error worth a word from here.
  void wake_net() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_fd, &one, sizeof one);
  }

  Ring<Command> commands;              // net -> tick
  Ring<Notice> notices;                // tick -> net
  StateRing states;                    // tick -> net
  ToolRing tools;                      // tick -> net, before the step: what devices wait for
  Counter commands_dropped;            // written by net: the ring was full
  const int wake_fd;                   // written by the tick, once a tick
  std::unique_ptr<RecordFeed> record;  // tick -> recorder; null: nobody records. Set before the loop is made
  std::unique_ptr<PlayFeed> play;      // player -> tick; null: the world is live. Set before the loop is made
};

}  // namespace tactus
