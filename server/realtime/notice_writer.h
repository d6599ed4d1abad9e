// What the tick says, once and in order: each notice goes to net, and what a recording needs of it to the recorder.
#pragma once

#include <cstdint>

#include "core/check.h"
#include "server/realtime/messages.h"
#include "server/realtime/record_tap.h"
#include "server/realtime/ring.h"

namespace tactus {

// That the command is done; tick: of the state that is shown.
inline Notice done_notice(const Command& command, std::uint64_t tick) noexcept {
  Notice out;
  out.kind = Notice::Kind::done;
  out.command = command.kind;
  out.client = command.client;
  out.ticket = command.ticket;
  out.tick = tick;
  return out;
}

class NoticeWriter {
 public:
  NoticeWriter(Ring<Notice>& notices, RecordTap& record) noexcept : notices_(notices), record_(record) {}

  // A verdict or an event. The ring has room: draining stops while half of it is full.
  void tell(const Notice& notice) noexcept {
    TACTUS_ASSERT(notice.kind != Notice::Kind::done);
    push(notice);
    record_.notice(notice, nullptr);
  }
  // A done notice; a recording keeps what moves the world from there.
  void finish(const Notice& done, const InCharge& in_charge) noexcept {
    TACTUS_ASSERT(done.kind == Notice::Kind::done);
    push(done);
    record_.notice(done, &in_charge);
  }
  // Hands it back, to be destroyed off the tick. Null: nothing.
  void retire(SlowSolver* solver) noexcept {
    if (solver == nullptr) return;
    Notice notice;
    notice.kind = Notice::Kind::retired;
    notice.solver = solver;
    tell(notice);
  }
  void retire(ShadowSolver* shadow) noexcept {
    if (shadow == nullptr) return;
    Notice notice;
    notice.kind = Notice::Kind::retired;
    notice.shadow = shadow;
    tell(notice);
  }
  // The tick has failed: whether or not there is room.
  void tell_fault(std::uint64_t tick) noexcept {
    Notice notice;
    notice.kind = Notice::Kind::fault;
    notice.ok = false;
    notice.tick = tick;
    notices_.push(notice);
    record_.notice(notice, nullptr);
  }

 private:
  void push(const Notice& notice) noexcept {
    const bool pushed = notices_.push(notice);
    TACTUS_ASSERT(pushed);
  }

  Ring<Notice>& notices_;
  RecordTap& record_;
};

}  // namespace tactus
