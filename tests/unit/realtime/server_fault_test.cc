// A failed assertion, or a signal such as SIGSEGV, on the tick thread: a last state with FAULT and zero force and a
// notice come out, and then the process dies of it. Each case runs in a process of its own.
#include "server/realtime/fault.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "core/scene/scene.h"
#include "server/realtime/clock.h"
#include "server/realtime/tick_loop.h"

using namespace tactus;

namespace {

constexpr const char* kScene = R"(
title = "a block in free fall"
[[body]]
name = "block"
mass_kg = 2
[[body.shape]]
kind = "box"
size_m = [0.1, 0.1, 0.1]
)";

// What net saw before the end.
struct LastWords {
  bool pushed = false;  // a force acted before
  bool fault_state = false, fault_notice = false;
  double force_x = 99;  // in the state with FAULT
};

Limits small_limits() {
  Limits limits;
  limits.bodies = 4;
  limits.shapes = 4;
  limits.pairs = 8;
  return limits;
}

std::unique_ptr<World> make_world() {
  SceneOptions scene;
  scene.limits = small_limits();
  return std::make_unique<World>(parse_scene(kScene, "test", scene), small_limits());
}

// Net's side of the link, until done says so or 5 s have passed.
template <typename Done>
void listen(TickLink& link, LastWords& words, Done done) {
  const std::uint64_t end = now_ns() + 5'000'000'000;
  while (now_ns() < end && !done()) {
    Notice notice;
    while (link.notices.pop(notice)) words.fault_notice = words.fault_notice || notice.kind == Notice::Kind::fault;
    while (const StateSlot* slot = link.states.begin_read()) {
      words.pushed = words.pushed || slot->wrench[0] == 3.0;
      if ((slot->frame.status_bits & kStatusFault) != 0) {
        words.fault_state = true;
        words.force_x = slot->wrench[0];
      }
      link.states.release();
    }
  }
}

// A server's two threads; break_it makes the tick thread fail after a while. Never returns.
template <typename BreakIt>
[[noreturn]] void child(int pipe, BreakIt break_it) {
  for (const int number : {SIGABRT, SIGSEGV}) std::signal(number, SIG_DFL);  // doctest has its own
  TickLink link(4, 8, 64);
  TickOptions options;
  options.rights.enabled = false;
  options.bodies = 4;
  TickLoop loop(options, link, make_world(), 9);
  if (!loop.start()) _exit(4);
  Command push;
  push.epoch = 9;
  push.received_ns = now_ns();
  push.deadline_us = 200'000;
  push.row = {{3, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0, false};
  link.commands.push(push);
  LastWords words;
  listen(link, words, [&] { return words.pushed; });
  break_it(link);
  listen(link, words, [&] { return words.fault_state && words.fault_notice; });
  if (write(pipe, &words, sizeof words) < 0) _exit(3);
  std::this_thread::sleep_for(std::chrono::seconds(5));  // what ends this process is the failure
  _exit(5);
}

template <typename BreakIt>
LastWords last_words(BreakIt break_it, int& signal) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) child(ends[1], break_it);
  close(ends[1]);
  LastWords words;
  const ssize_t got = read(ends[0], &words, sizeof words);
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  signal = WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  CHECK(got == static_cast<ssize_t>(sizeof words));
  return words;
}

void check(const LastWords& words) {
  CHECK(words.pushed);
  CHECK(words.fault_state);
  CHECK(words.fault_notice);
  CHECK(words.force_x == 0.0);
}

}  // namespace

TEST_CASE("server_fault: a failed assertion of the tick is announced with zero force, and ends in abort") {
  int signal = 0;
  const LastWords words = last_words(
      [](TickLink& link) {
        Command poison;
        poison.kind = Command::Kind::swap_world;  // without a world: TACTUS_ASSERT(command.world != nullptr)
        link.commands.push(poison);
      },
      signal);
  check(words);
  CHECK(signal == SIGABRT);
}

#ifndef TACTUS_SANITIZED  // the sanitizers take the signal for themselves
TEST_CASE("server_fault: a segmentation fault of the tick is announced with zero force, and ends as one") {
  int signal = 0;
  const LastWords words = last_words(
      [](TickLink& link) {
        Command poison;
        poison.kind = Command::Kind::set_parameters;
        poison.parameters = nullptr;  // copied from
        link.commands.push(poison);
      },
      signal);
  check(words);
  CHECK(signal == SIGSEGV);
}
#endif
