// Lockstep on the net thread: runs the tick inline up to what was granted, and answers. Long grants run in slices, so
// that the other clients are served in between.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/net/hub.h"

namespace tactus::net {

inline constexpr std::uint64_t kGrantTicksMax = 10'000;

class LockstepDesk {
 public:
  explicit LockstepDesk(Hub& hub) : hub_(hub) {}

  // Runs to `until`; then `answer` (may be null; null tick: the grant became void). mute_before: the client gets the
  // state of the last tick only. False: not in lockstep, or more than kGrantTicksMax ahead.
  using Answer = std::function<void(bool reached)>;
  bool grant(ClientSlot client, std::uint64_t until, bool mute_before, Answer answer);
  // The present state once more, to this client only (the others see no new tick). Lockstep only.
  void show_present(ClientSlot client);
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

  Hub& hub_;
  std::vector<Waiting> waiting_;
  bool scheduled_ = false;
};

}  // namespace tactus::net
