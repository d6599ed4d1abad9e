// Who moves the world, without a thread: a switch amid a slow step waits for its end, whoever is no longer needed comes
// back, and each command is told once. The solver solves where the test says so.
#include "server/realtime/model_switch.h"

#include <doctest/doctest.h>

#include "tests/support/alloc_guard.h"
#include "tests/support/tick_bench.h"

using namespace tactus;

namespace {

constexpr std::uint32_t kTicks = 10;
constexpr auto kFast = ContactModelKind::penalty, kSlow = ContactModelKind::deepest;

struct Bench : test::PartsBench {
  ModelSwitch& models = parts->models;
  SlowSolver* solver = nullptr;

  explicit Bench(bool record = false) : PartsBench(test::ball_world(), record) {}
  Command model(ContactModelKind kind, std::uint64_t ticket, SlowSolver* by = nullptr) {
    Command c = test::command_of(Command::Kind::set_model, ticket, static_cast<std::uint64_t>(kind));
    c.solver = by;
    return c;
  }
  void go_slow() {
    solver = test::make_slow(world(), kSlow, kTicks);
    REQUIRE(models.set_model(model(kSlow, 1, solver), true, world()));
  }
  // One tick, as the loop does it.
  void tick(bool solve = true) {
    models.step(world(), false);
    models.end_switch(world());
    if (solve && models.slow().active()) solver->solve_here();
  }
  [[nodiscard]] bool in_charge(ContactModelKind kind, std::uint32_t ticks) {
    const InCharge now = models.in_charge(world());
    return now.kind == kind && now.ticks == ticks;
  }
  // Destroys what has come back; gives the done notices.
  std::vector<Notice> dones(int& retired) {
    std::vector<Notice> out;
    for (const Notice& notice : notices()) {
      if (notice.kind == Notice::Kind::done) out.push_back(notice);
      if (notice.kind == Notice::Kind::retired) ++retired;
      delete notice.solver;
      delete notice.shadow;
    }
    return out;
  }
};

}  // namespace

TEST_CASE("server_model_switch: between models of the tick's own rate a switch is at once, and is recorded") {
  Bench bench(true);
  CHECK(bench.in_charge(bench.world().state().contact_model, 0));
  const Command command = bench.model(kSlow, 1);
  CHECK_FALSE(bench.models.defer(command, true, false, bench.world()));
  CHECK(bench.models.set_model(command, true, bench.world()));
  CHECK(bench.in_charge(kSlow, 0));
  const std::vector<RecordRow> rows = bench.rows();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].kind == RecordRow::Kind::model);
  CHECK(rows[0].mode == static_cast<std::uint8_t>(kSlow));
  CHECK(rows[0].bits == 0);
  CHECK_FALSE(bench.models.set_model(bench.model(kFast, 2), false, bench.world()));  // of a scene that has gone
  CHECK(bench.in_charge(kSlow, 0));
}

TEST_CASE(
    "server_model_switch: away from a slow model a switch waits for the end of the step, and is told then, once") {
  Bench bench;
  bench.go_slow();
  CHECK(bench.in_charge(kSlow, kTicks));
  int retired = 0;
  for (std::uint32_t i = 0; i < 4; ++i) bench.tick();
  const test::AllocGuard guard;
  CHECK(bench.models.defer(bench.model(kFast, 5), true, false, bench.world()));
  for (std::uint64_t n = 5; n < kTicks; ++n) {
    bench.tick();
    CHECK(bench.models.waiting());
    CHECK(bench.in_charge(kSlow, kTicks));
  }
  CHECK(bench.link.notices.size() == 0);
  bench.tick();  // adopts; begins no other step
  if (test::AllocGuard::available()) CHECK(guard.count() == 0);
  CHECK_FALSE(bench.models.waiting());
  CHECK(bench.in_charge(kFast, 0));
  const std::vector<Notice> told = bench.dones(retired);
  CHECK(retired == 1);
  REQUIRE(told.size() == 1);
  CHECK(told[0].ticket == 5);
  CHECK(told[0].ok);
  CHECK(told[0].tick == kTicks);
  CHECK(told[0].hash == bench.world().hash());
  bench.tick();
  CHECK(bench.link.notices.size() == 0);
}

TEST_CASE("server_model_switch: where nobody knows when the next tick will be, a switch is told at once, and once") {
  for (const bool at_once : {true, false}) {
    Bench bench;
    bench.go_slow();
    for (int i = 0; i < 4; ++i) bench.tick();
    CHECK(bench.models.defer(bench.model(kFast, 5), true, at_once, bench.world()));
    if (!at_once) bench.models.tell_waiting(bench.world());  // paused only then
    bench.models.tell_waiting(bench.world());
    int retired = 0;
    CHECK(bench.dones(retired).size() == 1);
    CHECK(retired == 0);  // it still has to end its step
    CHECK(bench.in_charge(kSlow, kTicks));
    for (std::uint32_t i = 4; i < kTicks; ++i) bench.tick();
    CHECK(bench.in_charge(kFast, 0));
    CHECK(bench.dones(retired).empty());
    CHECK(retired == 1);
  }
}

TEST_CASE(
    "server_model_switch: a second switch, a jump or a new scene ends one that waits, which is told that it failed") {
  const auto ends_it = [](auto other, int expected_retired) {
    Bench bench;
    bench.go_slow();
    for (int i = 0; i < 4; ++i) bench.tick();
    SlowSolver* next = test::make_slow(bench.world(), kSlow, kTicks);
    REQUIRE(bench.models.defer(bench.model(kSlow, 5, next), true, false, bench.world()));
    other(bench);
    int retired = 0;
    const std::vector<Notice> told = bench.dones(retired);
    REQUIRE(told.size() == 1);
    CHECK(told[0].ticket == 5);
    CHECK_FALSE(told[0].ok);
    CHECK(retired == expected_retired);
  };
  ends_it([](Bench& b) { CHECK(b.models.defer(b.model(kFast, 6), true, false, b.world())); }, 1);
  ends_it(
      [](Bench& b) {  // the scene's own model is fast: the slow one goes, too
        CHECK(b.models.jump(b.world().initial(), test::command_of(Command::Kind::reset), true, b.world()));
        CHECK(b.in_charge(kFast, 0));
      },
      2);
  ends_it([](Bench& b) { b.models.leave(test::command_of(Command::Kind::swap_world), b.world()); }, 2);
}

TEST_CASE(
    "server_model_switch: a jump to a state of the slow model keeps its solver; one that does not fit changes "
    "nothing") {
  Bench bench;
  bench.go_slow();
  State kept = bench.world().state();
  for (int i = 0; i < 4; ++i) bench.tick();
  CHECK(bench.models.jump(kept, test::command_of(Command::Kind::restore), true, bench.world()));
  CHECK(bench.in_charge(kSlow, kTicks));
  CHECK(bench.world().state().tick == 0);
  CHECK(bench.models.slow().solver() == bench.solver);
  bench.tick();
  Command stale = test::command_of(Command::Kind::restore);
  stale.solver = test::make_slow(bench.world(), kSlow, kTicks);
  CHECK_FALSE(bench.models.jump(kept, stale, false, bench.world()));
  CHECK(bench.world().state().tick == 1);
  int retired = 0;
  bench.dones(retired);
  CHECK(retired == 1);
}

TEST_CASE("server_model_switch: figures of a slow step count once, when it is adopted; lateness is counted") {
  Bench bench;
  TickMetrics metrics;
  bench.go_slow();
  for (std::uint32_t n = 1; n <= 3 * kTicks; ++n) {
    bench.tick();
    bench.models.count(bench.world(), metrics);
  }
  CHECK(metrics.solves.read() == 3);
  CHECK(metrics.adoption_tick.read() == 3 * kTicks);
  CHECK(metrics.late_solves.read() == 0);
  for (std::uint32_t n = 0; n < 2 * kTicks + 2; ++n) {  // the step under way is solved, the next one is not
    bench.tick(false);
    bench.models.count(bench.world(), metrics);
  }
  CHECK(metrics.late_solves.read() == 1);
}

TEST_CASE("server_model_switch: a shadow comes and goes by command; of a scene that has gone it only comes back") {
  Bench bench;
  const auto shadow = [&] {
    return new ShadowSolver(make_solver_world(bench.world().shared_model(), bench.world().limits(), kSlow, kTicks),
                            kSlow);
  };
  Command command = test::command_of(Command::Kind::set_shadow);
  command.shadow = shadow();
  CHECK(bench.models.set_shadow(command, true));
  CHECK(bench.models.shadow().active());
  Command stale = command;
  stale.shadow = shadow();
  CHECK_FALSE(bench.models.set_shadow(stale, false));
  CHECK(bench.models.shadow().active());
  const std::vector<Notice> told = bench.notices();
  REQUIRE(told.size() == 1);
  CHECK(told[0].shadow == stale.shadow);
  delete told[0].shadow;
  command.shadow = nullptr;
  CHECK(bench.models.set_shadow(command, true));
  CHECK_FALSE(bench.models.shadow().active());
  int retired = 0;
  bench.dones(retired);
  CHECK(retired == 1);
}
