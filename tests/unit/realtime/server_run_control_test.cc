// Whether the world moves: pause, steps, lockstep and back, and which Step was cut short.
#include "server/realtime/run_control.h"

#include <doctest/doctest.h>

using namespace tactus;

namespace {

Command step(std::uint64_t ticks, std::uint64_t ticket) {
  Command c;
  c.kind = Command::Kind::step;
  c.value = ticks;
  c.ticket = ticket;
  return c;
}

}  // namespace

TEST_CASE("server_run_control: a pause moves by the ticks of a Step and no further; the last one is told once") {
  RunControl run(false);
  CHECK(run.moves(false));
  CHECK_FALSE(run.begin_steps(step(3, 1)));  // it runs
  CHECK_FALSE(run.count_step());             // a tick of nobody's Step
  run.pause();
  CHECK_FALSE(run.moves(false));
  CHECK_FALSE(run.begin_steps(step(0, 2)));  // of no tick
  CHECK(run.begin_steps(step(2, 3)));
  CHECK_FALSE(run.begin_steps(step(2, 4)));  // another one is under way
  CHECK(run.step_command().ticket == 3);
  CHECK(run.moves(false));
  CHECK_FALSE(run.count_step());
  CHECK(run.stepping());
  CHECK(run.count_step());
  CHECK_FALSE(run.stepping());
  CHECK_FALSE(run.moves(false));
  CHECK_FALSE(run.count_step());
}

TEST_CASE("server_run_control: resume, pause and lockstep cut a Step short, and say so; without one they say nothing") {
  enum class Cut { resume, pause, lockstep };
  for (const Cut cut : {Cut::resume, Cut::pause, Cut::lockstep}) {
    RunControl run(false);
    run.pause();
    CHECK_FALSE(run.resume());
    run.pause();
    CHECK(run.begin_steps(step(5, 7)));
    CHECK_FALSE(run.count_step());
    const auto ends = [&] {
      return cut == Cut::resume ? run.resume() : cut == Cut::pause ? run.pause() : run.enter_lockstep();
    };
    CHECK(ends());
    CHECK_FALSE(run.stepping());
    CHECK(run.paused() == (cut != Cut::resume));  // lockstep leaves the pause as it is
    CHECK(run.moves(false) == (cut == Cut::resume));
    CHECK_FALSE(ends());
  }
}

TEST_CASE("server_run_control: lent to net the world moves by grants alone, and runs again when it is back") {
  RunControl run(true);
  CHECK(run.lockstep());
  CHECK_FALSE(run.moves(false));
  CHECK(run.moves(true));
  run.pause();
  CHECK(run.moves(true));  // a grant is a grant
  run.leave_lockstep();
  CHECK_FALSE(run.paused());
  CHECK(run.moves(false));
}

TEST_CASE("server_run_control: where nothing is left to step to, the next tick is the last one of its Step") {
  RunControl run(false);
  run.shorten_steps();
  CHECK_FALSE(run.stepping());
  run.pause();
  CHECK(run.begin_steps(step(100, 1)));
  run.shorten_steps();
  CHECK(run.count_step());
}
