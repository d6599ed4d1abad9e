#include "server/realtime/tick_thread.h"

#include "core/check.h"

namespace tactus {
namespace {

constexpr std::size_t kTickStackBytes = 16u << 20;

}  // namespace

TickThread::~TickThread() {
  request_stop();
  join();
}

bool TickThread::start(void* (*main)(void*), void* argument) noexcept {
  TACTUS_ASSERT(!started_);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kTickStackBytes);
  started_ = pthread_create(&thread_, &attributes, main, argument) == 0;
  pthread_attr_destroy(&attributes);
  return started_;
}

void TickThread::request_stop() noexcept {
  stop_.store(true, std::memory_order_release);
  give_back();
}

void TickThread::join() noexcept {
  if (!started_) return;
  pthread_join(thread_, nullptr);
  started_ = false;
}

void TickThread::ask_for(const RightsWanted& wanted) noexcept {
  rights_ = ask_for_rights(wanted);
  rights_known_.store(true, std::memory_order_release);
}

void TickThread::lend() noexcept {
  owner_.store(stopping() ? Owner::tick : Owner::net, std::memory_order_release);
  owner_.notify_all();
}

void TickThread::wait_for_return() noexcept {
  if (!stopping()) owner_.wait(Owner::net, std::memory_order_acquire);
}

void TickThread::wait_for_loan() noexcept {
  owner_.wait(Owner::tick, std::memory_order_acquire);
}

void TickThread::give_back() noexcept {
  owner_.store(Owner::tick, std::memory_order_release);
  owner_.notify_all();
}

}  // namespace tactus
