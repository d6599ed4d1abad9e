// What only net knows goes to the recorder: commands as they came, verdicts, events, what links did. Without a recorder
// every function does nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "control.pb.h"
#include "server/net/scene/world_status.h"
#include "server/record/recorder.h"
#include "server/session/session.h"

namespace tactus::net {

class Journal {
 public:
  Journal(record::Recorder* recorder, const WorldStatus& status) : recorder_(recorder), status_(status) {}

  void received(const std::string& client, std::uint64_t sequence, std::span<const std::uint8_t> payload,
                std::uint64_t now_ns);
  void verdict(const std::string& client, const VerdictRecord& verdict);
  void event(const v1::Event& event);
  // What a client did that is no command of the tick: its settings of a link, for example.
  void note(const std::string& what, const std::string& text, const std::string& client);
  // What a link did to its n-th datagram: FaultyLink::last_fate().
  void injected(const std::string& client, bool down, std::uint64_t number, std::uint32_t fate);

 private:
  record::Recorder* recorder_;
  const WorldStatus& status_;
};

}  // namespace tactus::net
