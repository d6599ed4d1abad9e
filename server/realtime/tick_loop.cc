#include "server/realtime/tick_loop.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <utility>

#include "core/check.h"
#include "server/realtime/clock.h"
#include "server/realtime/fault.h"

namespace tactus {
namespace {

constexpr std::size_t kStackBytes = 16u << 20;

std::uint64_t period_ns(const World& world) noexcept {
  return static_cast<std::uint64_t>(std::llround(1e9 * world.model().step));
}

void sleep_until(std::uint64_t deadline_ns) noexcept {
  const timespec t{static_cast<time_t>(deadline_ns / 1'000'000'000u), static_cast<long>(deadline_ns % 1'000'000'000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

}  // namespace

TickLoop::TickLoop(const TickOptions& options, TickLink& link, std::unique_ptr<World> world, std::uint32_t epoch)
    : options_(options),
      link_(link),
      world_(std::move(world)),
      epoch_(epoch),
      pending_(options.bodies, link.notices),
      channels_(options.bodies),
      outputs_(options.bodies),
      frozen_(options.bodies),
      slow_(options.bodies, options.contacts),
      shadow_(options.bodies),
      lockstep_(options.lockstep),
      owner_(Owner::tick) {
  TACTUS_ASSERT(world_ != nullptr);
  TACTUS_ASSERT(world_->model().bodies.size() <= options.bodies);
  if (link_.play != nullptr) played_.resize(options.bodies, options.contacts);
  world_replaced();
}

TickLoop::~TickLoop() {
  request_stop();
  join();
  delete slow_.exchange(nullptr, *world_);
  delete shadow_.exchange(nullptr);
  if (switch_pending_) delete switch_command_.solver;
}

void TickLoop::set_solvers(std::unique_ptr<SlowSolver> solver, std::unique_ptr<ShadowSolver> shadow) noexcept {
  TACTUS_ASSERT(!started_);
  TACTUS_ASSERT(solver == nullptr || solver->kind() == world_->state().contact_model);
  delete slow_.exchange(solver.release(), *world_);
  delete shadow_.exchange(shadow.release());
}

bool TickLoop::start() noexcept {
  TACTUS_ASSERT(!started_);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  started_ = pthread_create(&thread_, &attributes, &TickLoop::thread_main, this) == 0;
  pthread_attr_destroy(&attributes);
  return started_;
}

void TickLoop::request_stop() noexcept {
  stop_.store(true, std::memory_order_release);
  owner_.store(Owner::tick, std::memory_order_release);
  owner_.notify_all();
}

void TickLoop::join() noexcept {
  if (!started_) return;
  pthread_join(thread_, nullptr);
  started_ = false;
}

void* TickLoop::thread_main(void* self) noexcept {
  pthread_setname_np(pthread_self(), "tactus-tick");
  static_cast<TickLoop*>(self)->run();
  return nullptr;
}

void TickLoop::run() noexcept {
  rights_ = ask_for_rights(options_.rights);
  rights_known_.store(true, std::memory_order_release);
  link_.wake_net();
  const FaultScope fault_scope({[](void* self) noexcept { static_cast<TickLoop*>(self)->publish_fault(); }, this});
  first_start_ns_ = now_ns();
  factor_.start(first_start_ns_);
  if (lockstep_) lend_world();
  while (!stop_.load(std::memory_order_acquire)) {
    if (in_bare_block()) {
      bare_tick();
    } else {
      tick(false, true);
      if (lockstep_) lend_world();
    }
  }
}

// One tick. granted: called by net in lockstep, at once and not on the grid. may_move: false to serve commands only.
void TickLoop::tick(bool granted, bool may_move) noexcept {
  const Wake wake = granted ? Wake{0, now_ns(), true, false} : sleep_to_grid_point();
  drain_commands(wake);
  advanced_ = may_move && (link_.play == nullptr ? world_moves(granted) : play());
  if (advanced_ && link_.play == nullptr) {
    watch_deadlines(wake);
    apply_commands(wake);
    step_world(wake);
  }
  publish(wake);
  if (advanced_) tools_.look(*world_);
  account(wake);
}

TickLoop::Wake TickLoop::sleep_to_grid_point() noexcept {
  if (std::exchange(regrid_, false)) {
    const std::uint64_t now = now_ns();
    grid_.start(now, period_ns(*world_));
    factor_.start(now);
  }
  Wake wake;
  wake.deadline_ns = grid_.deadline_ns();
  const bool held = advanced_ && !tools_.rows().empty();
  sleep_until(wake.deadline_ns - (held ? std::max(options_.spin_ns, options_.tool_spin_ns) : options_.spin_ns));
  if (held) link_.tools.fetch();
  do wake.start_ns = now_ns();
  while (wake.start_ns < wake.deadline_ns);
  wake.late = wake.start_ns - wake.deadline_ns >= grid_.period_ns();
  return wake;
}

void TickLoop::account(const Wake& wake) noexcept {
  const std::uint64_t end = now_ns();
  last_work_ns_ = end - wake.start_ns;
  metrics_.work_ns.record(last_work_ns_);
  metrics_.beats.add();
  if (advanced_) {
    metrics_.drain_ns.record(step_start_ns_ - wake.start_ns);
    metrics_.step_ns.record(step_ns_);
    metrics_.publish_ns.record(end - step_start_ns_ - step_ns_);
    metrics_.ticks.add();
    metrics_.contacts_sum.add(report_.contacts);
    factor_.add(link_.play == nullptr ? world_->model().step : played_s_);
  }
  factor_now_ = factor_.update(end);
  metrics_.real_time_factor.set(factor_now_);
  if (wake.granted) return;
  metrics_.wake_late_ns.record(wake.start_ns - wake.deadline_ns);
  const std::uint64_t skipped = grid_.advance(end);
  missed_ += skipped;
  tools_.skipped(skipped);
  metrics_.points_skipped.add(skipped);
  metrics_.late_ticks.add(skipped > 0 ? 1 : 0);
  metrics_.block_beats.add();
  metrics_.block_late.add(skipped > 0 ? 1 : 0);
}

bool TickLoop::in_bare_block() const noexcept {
  if (options_.interleave_bare_ns == 0) return false;
  return ((now_ns() - first_start_ns_) / options_.interleave_bare_ns) % 2 == 1;
}

// The yardstick: the same sleep on the same grid, and nothing else; or, on request, the step of the world alone.
void TickLoop::bare_tick() noexcept {
  const Wake wake = sleep_to_grid_point();
  if (options_.interleave_steps) step_world(wake);
  const std::uint64_t skipped = grid_.advance(now_ns());
  metrics_.bare_beats.add();
  metrics_.bare_late.add(skipped > 0 ? 1 : 0);
}

// The done notice is out; from here on net may touch the world, until it gives it back.
void TickLoop::lend_world() noexcept {
  owner_.store(stop_.load(std::memory_order_acquire) ? Owner::tick : Owner::net, std::memory_order_release);
  owner_.notify_all();
  link_.wake_net();
  if (stop_.load(std::memory_order_acquire)) return;
  owner_.wait(Owner::net, std::memory_order_acquire);
}

void TickLoop::wait_for_world() noexcept {
  owner_.wait(Owner::tick, std::memory_order_acquire);
}

void TickLoop::grant_tick() noexcept {
  TACTUS_ASSERT(lockstep_);
  tick(true, true);
}

void TickLoop::serve() noexcept {
  TACTUS_ASSERT(lockstep_);
  tick(true, false);
}

void TickLoop::return_world() noexcept {
  TACTUS_ASSERT(lockstep_);
  lockstep_ = false;
  paused_ = false;
  regrid_ = true;
  owner_.store(Owner::tick, std::memory_order_release);
  owner_.notify_all();
}

}  // namespace tactus
