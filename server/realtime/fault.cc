#include "server/realtime/fault.h"

#include <ctime>

#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"

namespace tactus {
namespace {

thread_local TickLoop* t_loop = nullptr;

void on_assert(const char*, const char*, int) noexcept {
  if (t_loop != nullptr) t_loop->publish_fault();
}

}  // namespace

FaultScope::FaultScope(TickLoop& loop) noexcept : previous_(set_assert_handler(&on_assert)) {
  t_loop = &loop;
}

FaultScope::~FaultScope() {
  t_loop = nullptr;
  set_assert_handler(previous_);
}

void TickLoop::publish_fault() noexcept {
  fault_ = true;
  output_count_ = 0;  // zero force in the wrench columns
  if (StateSlot* slot = link_.states.begin_write()) {
    fill(*slot, {grid_.deadline_ns(), now_ns(), true, false});
    link_.states.commit();
  }
  Notice notice;
  notice.kind = Notice::Kind::fault;
  notice.ok = false;
  notice.tick = world_->state().tick;
  link_.notices.push(notice);
  signal_net();
  const timespec grace{0, 30'000'000};
  nanosleep(&grace, nullptr);
}

}  // namespace tactus
