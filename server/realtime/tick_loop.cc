#include "server/realtime/tick_loop.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "core/check.h"
#include "server/realtime/clock.h"
#include "server/realtime/fault.h"

namespace tactus {

TickLoop::TickLoop(const TickOptions& options, TickLink& link, std::unique_ptr<World> world, std::uint32_t epoch)
    : options_(options),
      link_(link),
      parts_(options, link, std::move(world), epoch),
      dispatch_(parts_),
      publisher_(link.states, link.commands_dropped, parts_.record) {}

TickLoop::~TickLoop() {
  request_stop();
  join();
}

void TickLoop::set_solvers(std::unique_ptr<SlowSolver> solver, std::unique_ptr<ShadowSolver> shadow) noexcept {
  TACTUS_ASSERT(!thread_.started());
  parts_.models.set_solvers(std::move(solver), std::move(shadow), parts_.scene.world());
}

bool TickLoop::start() noexcept {
  const auto main = [](void* self) -> void* {
    pthread_setname_np(pthread_self(), "tactus-tick");
    static_cast<TickLoop*>(self)->run();
    return nullptr;
  };
  return thread_.start(main, this);
}

void TickLoop::run() noexcept {
  thread_.ask_for(options_.rights);
  link_.wake_net();
  const FaultScope fault_scope({[](void* self) noexcept { static_cast<TickLoop*>(self)->say_last_words(); }, this});
  parts_.pacer.start(now_ns());
  const std::uint64_t block_ns = options_.interleave_bare_ns;
  for (;;) {
    if (parts_.run.lockstep()) {  // the done notice is out
      thread_.lend();
      link_.wake_net();
      thread_.wait_for_return();
    }
    if (thread_.stopping()) return;
    if (block_ns > 0 && (now_ns() - parts_.pacer.started_ns()) / block_ns % 2 == 1) {
      bare_tick();
    } else {
      tick(false, true);
    }
  }
}

// One tick. granted: called by net in lockstep, at once and not on the grid. may_move: false to serve commands only.
void TickLoop::tick(bool granted, bool may_move) noexcept {
  if (granted) {
    const std::uint64_t number = beat_.number;
    beat_ = {};
    beat_.number = number;
    beat_.start_ns = now_ns();
    beat_.granted = true;
  } else {
    wake_up();
  }
  dispatch_.drain(beat_);
  beat_.advanced = may_move && move();
  if (beat_.advanced && !parts_.show.active()) {
    apply_commands();
    step_world();
  }
  parts_.record.set_beat(++beat_.number);
  if (!publisher_.publish(parts_, beat_)) metrics_.states_dropped.add();
  if (!granted) link_.wake_net();
  if (beat_.advanced) parts_.devices.look(parts_.scene.world());
  account();
}

// Sleeps to the next grid point: with more spinning, and the next answer's memory at hand, while devices hold tools.
void TickLoop::wake_up() noexcept {
  const bool held = beat_.advanced && parts_.devices.held();
  parts_.pacer.sleep(held ? std::max(options_.spin_ns, options_.tool_spin_ns) : options_.spin_ns);
  if (held) parts_.devices.fetch();
  parts_.pacer.wake(beat_);
}

// Whether the world is to be stepped in this beat, or what is shown has moved on.
bool TickLoop::move() noexcept {
  if (!parts_.show.active()) {
    const bool moves = parts_.run.moves(beat_.granted);
    if (!moves && !parts_.run.lockstep()) parts_.commands.stand_still();
    return moves;
  }
  beat_.step_start_ns = now_ns();
  beat_.step_ns = 0;
  const PlayShow::Turn turn = parts_.show.show_next(parts_.run);
  if (turn.ended_step) parts_.finish_steps();
  return turn.moved;
}

// Deadlines, then what acts in the step: commands to bodies and joints, and what devices do with their tools.
void TickLoop::apply_commands() noexcept {
  World& world = parts_.scene.world();
  const JudgeContext context = parts_.context(beat_);
  const SlowTicker& slow = parts_.models.slow();
  parts_.commands.watch(context, world);
  parts_.commands.apply(world);
  parts_.devices.apply(world, slow.active() ? slow.solver()->ticks() : 0, beat_, context);
  parts_.commands.record(context.tick);
  parts_.devices.record(context.tick, parts_.record);
}

void TickLoop::step_world() noexcept {
  World& world = parts_.scene.world();
  const JudgeContext context = parts_.context(beat_);  // before the world moves on
  beat_.step_start_ns = now_ns();
  const StepReport& report = parts_.models.step(world, parts_.run.lockstep());
  beat_.step_ns = now_ns() - beat_.step_start_ns;
  parts_.record.step(world, parts_.models.slow());
  parts_.models.count(world, metrics_);
  parts_.models.end_switch(world);
  parts_.commands.tell_robots(context, world);
  parts_.scene.tell_frozen(report.bodies_frozen, [this](BodyIndex body) {
    Notice notice;
    notice.kind = Notice::Kind::body_frozen;
    notice.body = body;
    notice.tick = parts_.scene.tick();
    parts_.notices.tell(notice);
  });
  if (parts_.run.count_step()) parts_.finish_steps(world.hash());
}

void TickLoop::account() noexcept {
  const std::uint64_t end = now_ns();
  const std::uint64_t work_ns = end - beat_.start_ns;
  double simulated_s = 0;
  metrics_.work_ns.record(work_ns);
  metrics_.beats.add();
  if (beat_.advanced) {
    metrics_.drain_ns.record(beat_.step_start_ns - beat_.start_ns);
    metrics_.step_ns.record(beat_.step_ns);
    metrics_.publish_ns.record(end - beat_.step_start_ns - beat_.step_ns);
    metrics_.ticks.add();
    metrics_.contacts_sum.add(parts_.models.report().contacts);
    simulated_s = parts_.show.active() ? parts_.show.simulated_s() : parts_.scene.world().model().step;
  }
  parts_.pacer.note_work(work_ns, simulated_s, end);
  metrics_.real_time_factor.set(parts_.pacer.factor());
  if (beat_.granted) return;
  metrics_.wake_late_ns.record(beat_.late_ns());
  const std::uint64_t skipped = parts_.pacer.end_beat(end);
  parts_.devices.skipped(skipped);
  metrics_.points_skipped.add(skipped);
  metrics_.late_ticks.add(skipped > 0 ? 1 : 0);
  metrics_.block_beats.add();
  metrics_.block_late.add(skipped > 0 ? 1 : 0);
}

// The yardstick: the same sleep on the same grid, and nothing else; or, on request, the step of the world alone.
void TickLoop::bare_tick() noexcept {
  wake_up();
  if (options_.interleave_steps) step_world();
  const std::uint64_t skipped = parts_.pacer.skip(now_ns());
  metrics_.bare_beats.add();
  metrics_.bare_late.add(skipped > 0 ? 1 : 0);
}

void TickLoop::grant_tick() noexcept {
  TACTUS_ASSERT(parts_.run.lockstep());
  tick(true, true);
}

void TickLoop::serve() noexcept {
  TACTUS_ASSERT(parts_.run.lockstep());
  tick(true, false);
}

void TickLoop::return_world() noexcept {
  TACTUS_ASSERT(parts_.run.lockstep());
  parts_.run.leave_lockstep();
  parts_.pacer.begin_anew();
  thread_.give_back();
}

// After an assertion or a signal on the tick thread: FAULT and zero force, and net gets a moment to send it. Best
// effort.
void TickLoop::say_last_words() noexcept {
  Beat last = beat_;
  last.deadline_ns = parts_.pacer.deadline_ns();
  last.start_ns = now_ns();
  last.granted = true;  // no lateness is told
  last.late = false;
  parts_.commands.release_all();
  publisher_.publish_fault(parts_, last);
  parts_.notices.tell_fault(parts_.scene.tick());
  link_.wake_net();
  const timespec grace{0, 30'000'000};
  nanosleep(&grace, nullptr);
  parts_.record.wait_until_saved();
}

}  // namespace tactus
