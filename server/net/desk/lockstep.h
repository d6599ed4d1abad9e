// Lockstep on the net thread: runs the tick inline up to what was granted, and answers. Long grants run in slices, so
// that the other clients are served in between.
#pragma once

#include <asio/steady_timer.hpp>

#include <functional>
#include <string>
#include <vector>

#include "server/net/control/events.h"
#include "server/net/control/leases.h"
#include "server/net/desk/owned_modes.h"
#include "server/net/options.h"
#include "server/net/scene/tick_port.h"
#include "server/net/scene/world_status.h"
#include "server/net/udp/grant_answers.h"
#include "server/net/udp/link_port.h"

namespace tactus::net {

inline constexpr std::uint64_t kGrantTicksMax = 10'000;

class LockstepDesk final : public Granter {
 public:
  struct Uses {
    asio::io_context& io;
    const NetOptions& options;
    TickPort& tick;
    WorldStatus& status;
    OwnedModes& modes;
    Leases& leases;
    Events& events;
    LinkPort& links;
    GrantAnswers& answers;
  };
  explicit LockstepDesk(const Uses& uses) : uses_(uses), breather_(uses.io) {}

  // Runs to `until`; then `answer` (may be null; null tick: the grant became void). mute_before: the client gets the
  // state of the last tick only. False: not in lockstep, or more than kGrantTicksMax ahead.
  using Answer = std::function<void(bool reached)>;
  bool grant(ClientSlot client, std::uint64_t until, bool mute_before, Answer answer);
  bool grant_by_datagram(ClientSlot client, std::uint64_t until) override;
  // The present state once more, to this client only (the others see no new tick). Lockstep only.
  void show_present(ClientSlot client) override;
  // Reset, restore, a new scene, the end of lockstep: what waits can no longer be reached as meant.
  void cancel();
  // A client has left: its grants run no tick.
  void forget(ClientSlot client);
  // The mode begins, once the tick thread waits, and ends; all clients are told, and why where nobody asked.
  void begin();
  void end(const std::string& why = {});
  [[nodiscard]] bool busy() const { return !waiting_.empty(); }

 private:
  struct Waiting {
    ClientSlot client;
    std::uint64_t until;
    Answer answer;
  };
  void run_slice();
  void answer_reached();

  const Uses uses_;
  std::vector<Waiting> waiting_;
  bool scheduled_ = false;
  asio::steady_timer breather_;
};

}  // namespace tactus::net
