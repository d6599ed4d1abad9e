// Slow models beside the tick: when their results are adopted, that no commanded impulse is lost, what lateness does,
// and what switching keeps. Without a thread a solver solves when the test says so: late by as many ticks as wanted.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "core/scene/scene.h"
#include "server/solver/model_rates.h"
#include "server/solver/shadow_ticker.h"
#include "server/solver/slow_ticker.h"
#include "tests/support/alloc_guard.h"

using namespace tactus;

namespace {

constexpr const char* kFloating = R"(
title = "two blocks in space"
gravity_m_per_s2 = [0, 0, 0]
[[body]]
name = "block"
mass_kg = 2
[[body.shape]]
kind = "box"
size_m = [0.1, 0.1, 0.1]
[[body]]
name = "mover"
mode = "kinematic"
position_m = [5, 0, 0]
linear_velocity_m_per_s = [0, 0.5, 0]
[[body.shape]]
kind = "sphere"
radius_m = 0.1
)";

constexpr const char* kStanding = R"(
title = "a block that stands"
[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"
[[body]]
name = "block"
position_m = [0, 0, 0.1]
mass_kg = 2
[[body.shape]]
kind = "box"
size_m = [0.2, 0.2, 0.2]
)";

constexpr std::uint32_t kTicks = 10;
constexpr double kStep = 1e-3, kMass = 2;

Limits small_limits() {
  Limits limits;
  limits.bodies = 8;
  limits.shapes = 8;
  limits.pairs = 16;
  return limits;
}

std::unique_ptr<World> make_world(const char* scene) {
  SceneOptions options;
  options.limits = small_limits();
  return std::make_unique<World>(parse_scene(scene, "test", options), small_limits());
}

std::unique_ptr<SlowSolver> make_solver(const World& live, ContactModelKind kind) {
  return std::make_unique<SlowSolver>(make_solver_world(live.shared_model(), live.limits(), kind, kTicks), kind, 16);
}

// A world in the charge of a solver whose thread is the test.
struct Bench {
  std::unique_ptr<World> world;
  std::unique_ptr<SlowSolver> solver;
  SlowTicker ticker{8, 16};

  explicit Bench(const char* scene, ContactModelKind kind = ContactModelKind::deepest)
      : world(make_world(scene)), solver(make_solver(*world, kind)) {
    world->yield_to(kind);
    CHECK(ticker.exchange(solver.get(), *world) == nullptr);
  }
  void tick(double force = 0, bool begin_next = true) {
    world->apply(0, {Vec3(0, 0, 0), Vec3(force, 0, 0)});
    ticker.step(*world, Meet::ready, Meet::ready, begin_next);
  }
  [[nodiscard]] double momentum() const { return kMass * world->state().v_WBcm(0).x(); }
  [[nodiscard]] double x() const { return world->state().p_WBcm(0).x(); }
};

}  // namespace

TEST_CASE("server_slow: a result is adopted when its step ends, never earlier, and the stream's ticks go on") {
  Bench bench(kFloating);
  for (std::uint64_t n = 1; n <= 5 * kTicks; ++n) {
    bench.tick(3.0);
    bench.solver->solve_here();  // long before it is due
    CHECK(bench.world->state().tick == n);
    CHECK(bench.ticker.adopted() == (n % kTicks == 0));
    CHECK(bench.ticker.extrapolated() == (n % kTicks != 0));
    CHECK_FALSE(bench.ticker.late());
    // The wrench of ticks 1..10 is in the step begun at 10, which is adopted at 20.
    const double adopted = static_cast<double>(n / kTicks);
    const double impulse = n < 2 * kTicks ? 0.0 : (adopted - 1) * kTicks * kStep * 3.0;
    CHECK(bench.momentum() == doctest::Approx(impulse).epsilon(1e-12));
  }
}

TEST_CASE("server_slow: between its steps bodies move on with their velocities") {
  Bench bench(kFloating);
  bench.world->set_body(0, Pose{}, {Vec3::Zero(), Vec3(0.25, 0, 0)});
  for (int n = 1; n <= 35; ++n) {
    bench.tick();
    bench.solver->solve_here();
    CHECK(bench.x() == doctest::Approx(0.25 * n * kStep).epsilon(1e-12));
    CHECK(bench.world->state().p_WBcm(1).y() == doctest::Approx(0.5 * n * kStep).epsilon(1e-12));
  }
}

TEST_CASE("server_slow: every commanded impulse is in the momentum, whatever the rhythm of commands and solves") {
  for (const std::uint32_t delay : {0u, 1u, 7u, 13u, 29u}) {
    CAPTURE(delay);
    Bench bench(kFloating);
    double impulse = 0;
    std::uint32_t waited = 0;
    for (std::uint32_t n = 0; n < 3000; ++n) {
      const double force = n < 2000 && n % 7 < 3 ? 5.0 + n % 11 : 0.0;  // short pushes that fit no step
      impulse += force * kStep;
      bench.tick(force);
      if (waited++ >= delay && bench.solver->solve_here()) waited = 0;
    }
    CHECK(std::abs(bench.momentum() - impulse) <= 1e-9);
  }
}

TEST_CASE("server_slow: a late result is counted once, moved on by its lateness, and the grid stays") {
  Bench bench(kFloating);
  bench.world->set_body(0, Pose{}, {Vec3::Zero(), Vec3(0.25, 0, 0)});
  std::vector<std::uint64_t> adoptions;
  int became_late = 0;
  for (std::uint64_t n = 1; n <= 60; ++n) {
    if (n == 24) bench.solver->solve_here();  // of the step 10..20: 4 ticks late
    bench.tick();
    if (n < 10 || n >= 25) bench.solver->solve_here();
    became_late += bench.ticker.became_late() ? 1 : 0;
    CHECK(bench.ticker.late() == (n >= 20 && n < 24));
    if (bench.ticker.adopted()) adoptions.push_back(n);
    CHECK(bench.x() == doctest::Approx(0.25 * static_cast<double>(n) * kStep).epsilon(1e-12));
  }
  CHECK(adoptions == std::vector<std::uint64_t>{10, 24, 30, 40, 50, 60});
  CHECK(became_late == 1);
  CHECK(bench.ticker.ticks_lost() == 0);
}

TEST_CASE(
    "server_slow: later than a whole step, bodies stand, time falls behind by what is counted, and no impulse is "
    "lost") {
  Bench bench(kFloating);
  bench.world->set_body(0, Pose{}, {Vec3::Zero(), Vec3(0.25, 0, 0)});
  for (std::uint64_t n = 1; n <= 80; ++n) {
    if (n == 55) bench.solver->solve_here();  // of the step 10..20
    bench.tick(n <= 60 ? 3.0 : 0.0);
    if (n < 10 || n >= 55) bench.solver->solve_here();
    // 10 ticks beyond its end nothing moves any more, but what moves by itself.
    if (n >= 30 && n < 55) CHECK(bench.x() == doctest::Approx(0.25 * 30 * kStep).epsilon(1e-12));
    CHECK(bench.world->state().p_WBcm(1).y() == doctest::Approx(0.5 * static_cast<double>(n) * kStep).epsilon(1e-12));
    if (n == 55) CHECK(bench.x() == doctest::Approx(0.25 * 20 * kStep).epsilon(2e-2));
    // Told while the result is still out, not only when it comes.
    const std::uint64_t lost = n < 30 ? 0 : std::min<std::uint64_t>(n, 55) - 20;
    CHECK(bench.ticker.ticks_lost() == lost);
  }
  CHECK(bench.ticker.ticks_lost() == 35);
  for (int n = 0; n < 40; ++n) {
    bench.tick();
    bench.solver->solve_here();
  }
  CHECK(bench.momentum() == doctest::Approx(kMass * 0.25 + 60 * kStep * 3.0).epsilon(1e-12));
}

TEST_CASE("server_slow: what is under way when the state jumps is discarded") {
  Bench bench(kFloating);
  for (int n = 0; n < 15; ++n) {
    bench.tick(100.0);
    if (n < 12) bench.solver->solve_here();
  }
  bench.world->adopt(bench.world->initial());  // reset, with a step under way that would bring the push
  bench.ticker.clear();
  for (int n = 0; n < 50; ++n) {
    bench.tick();
    bench.solver->solve_here();
    CHECK(bench.momentum() == 0.0);
  }
  CHECK(bench.world->state().tick == 50);
}

TEST_CASE("server_slow: from slow to fast and back keeps pose, velocity and momentum") {
  Bench bench(kFloating);
  double impulse = 0;
  const auto tick = [&](double force, bool begin_next) {
    impulse += force * kStep;
    bench.tick(force, begin_next);
    bench.solver->solve_here();
  };
  for (int n = 0; n < 47; ++n) tick(4.0, true);
  CHECK_FALSE(bench.ticker.may_exchange(*bench.world));
  int waited = 0;
  for (; !bench.ticker.may_exchange(*bench.world); ++waited) tick(4.0, false);
  CHECK(waited == 3);  // to the end of its step
  const State before = bench.world->state();
  CHECK(bench.world->set_model(ContactModelKind::penalty));
  CHECK(bench.ticker.exchange(nullptr, *bench.world) == bench.solver.get());
  CHECK(bench.world->state().q == before.q);
  CHECK(bench.world->state().v == before.v);
  CHECK(bench.world->state().contact_model == ContactModelKind::penalty);
  for (int n = 0; n < 25; ++n) tick(4.0, true);  // the last step's impulse comes in the first ticks
  CHECK(bench.momentum() == doctest::Approx(impulse).epsilon(1e-12));
  for (int n = 0; n < 3; ++n) tick(4.0, true);
  const State again = bench.world->state();
  bench.world->yield_to(ContactModelKind::deepest);
  bench.ticker.exchange(bench.solver.get(), *bench.world);
  CHECK(bench.world->state().q == again.q);
  CHECK(bench.world->state().v == again.v);
  for (int n = 0; n < 33; ++n) tick(4.0, true);
  for (int n = 0; n < 30; ++n) tick(0.0, true);
  CHECK(bench.momentum() == doctest::Approx(impulse).epsilon(1e-12));
}

TEST_CASE("server_slow: a switch away from a solver that does not answer keeps the impulse of what it had") {
  Bench bench(kFloating);
  for (int n = 0; n < 12; ++n) {
    bench.tick(4.0);
    if (n < 9) bench.solver->solve_here();
  }
  int waited = 0;
  for (; !bench.ticker.may_exchange(*bench.world); ++waited) bench.tick(4.0, false);
  CHECK(waited <= 2 * static_cast<int>(kTicks));
  CHECK(bench.world->set_model(ContactModelKind::penalty));
  bench.ticker.exchange(nullptr, *bench.world);
  for (int n = 0; n < 20; ++n) bench.tick();
  CHECK(bench.momentum() == doctest::Approx((12 + waited) * kStep * 4.0).epsilon(1e-12));
}

TEST_CASE("server_slow: a block stands under a slow model, and the contacts published carry its weight") {
  Bench bench(kStanding, ContactModelKind::penalty);
  for (int n = 0; n < 1000; ++n)
    bench.ticker.step(*bench.world, Meet::wait, Meet::wait, true);  // in lockstep the tick solves by itself
  CHECK(bench.world->state().p_WBcm(1).z() == doctest::Approx(0.1).epsilon(1e-2));
  double force = 0;
  for (const ContactRow& row : bench.ticker.contacts()) force += row.body_a == 1 ? row.value[8] : -row.value[8];
  CHECK(force == doctest::Approx(kMass * 9.81).epsilon(1e-3));
}

TEST_CASE("server_slow: lockstep gives the same bits with and without a thread") {
  std::vector<std::uint64_t> hashes;
  for (const bool threaded : {false, true}) {
    Bench bench(kStanding);
    if (threaded) REQUIRE(bench.solver->start(-1));
    for (int n = 0; n < 200; ++n) {
      bench.world->apply(1, {Vec3(0, 0, 0), Vec3(n % 3, 0, 0)});
      bench.ticker.step(*bench.world, Meet::wait, Meet::wait, true);
    }
    hashes.push_back(bench.world->hash());
  }
  CHECK(hashes[0] == hashes[1]);
}

TEST_CASE("server_slow: the thread answers by itself, and the tick's side allocates nothing") {
  Bench bench(kStanding);
  REQUIRE(bench.solver->start(-1));
  int adoptions = 0;
  std::uint64_t allocations = 0;
  for (int n = 0; n < 20000 && adoptions < 5; ++n) {
    bench.world->apply(1, {});
    {
      const test::AllocGuard guard;
      bench.ticker.step(*bench.world, Meet::ready, Meet::ready, true);
      allocations += guard.count();
    }
    adoptions += bench.ticker.adopted() ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(adoptions == 5);
  CHECK(allocations == 0);
}

TEST_CASE("server_slow: the shadow of a body in free flight differs by what two step lengths differ, and by no force") {
  auto world = make_world(kFloating);
  ShadowSolver shadow(make_solver_world(world->shared_model(), world->limits(), ContactModelKind::deepest, kTicks),
                      ContactModelKind::deepest);
  ShadowTicker ticker(8);
  ticker.exchange(&shadow);
  std::vector<std::uint64_t> told;
  for (int n = 1; n <= 100; ++n) {
    world->apply(0, {Vec3(0, 0, 0), Vec3(n <= 50 ? 2.0 : 0.0, 0, 0)});
    ticker.before_step(*world);
    world->step();
    ticker.after_step(*world, true);
    if (!ticker.fresh()) continue;
    told.push_back(ticker.summary().tick);
    CHECK(ticker.summary().ticks == kTicks);
    CHECK(ticker.rows()[0].velocity <= 1e-9f);  // the same impulse
    CHECK(ticker.rows()[0].force == 0);
    CHECK(ticker.rows()[0].angle <= 1e-9f);
    if (ticker.summary().tick > 50) CHECK(ticker.rows()[0].position <= 1e-9f);  // nothing acts: one line
  }
  CHECK(told == std::vector<std::uint64_t>{10, 20, 30, 40, 50, 60, 70, 80, 90});
}

TEST_CASE("server_slow: the shadow carries the same weight, and sees another depth where its step is longer") {
  auto world = make_world(kStanding);
  ShadowSolver shadow(make_solver_world(world->shared_model(), world->limits(), ContactModelKind::deepest, kTicks),
                      ContactModelKind::deepest);
  ShadowTicker ticker(8);
  ticker.exchange(&shadow);
  int told = 0;
  float largest = 0;
  for (int n = 1; n <= 1000; ++n) {
    ticker.before_step(*world);
    world->step();
    ticker.after_step(*world, true);
    if (!ticker.fresh()) continue;
    ++told;
    CHECK(ticker.rows()[0].position == 0);  // the floor is not compared
    CHECK(ticker.summary().position.body == 1);
    largest = std::max(largest, ticker.rows()[1].position);
  }
  CHECK(told == 99);
  CHECK(largest > 0);
  CHECK(largest < 1e-3f);
}

// A block that starts 0.5 mm inside the floor, and slides: the models part, and Newton's law ties what they part by.
// Both had the same wrench, so the difference of mean contact force is mass times the difference of velocity over the
// interval, in every interval. (Impulses of impacts are no forces; here are none.)
TEST_CASE("server_slow: with every slow model as the shadow, forces differ by what the velocities differ") {
  for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::ap,
                                      ContactModelKind::lnc, ContactModelKind::peg}) {
    CAPTURE(std::string(to_string(kind)));
    auto world = make_world(kStanding);
    world->set_body(1, {Quat::Identity(), Vec3(0, 0, 0.1 - 5e-4)}, {Vec3::Zero(), Vec3(0.3, 0.1, 0)});
    ShadowSolver shadow(make_solver_world(world->shared_model(), world->limits(), kind, kTicks), kind);
    ShadowTicker ticker(8);
    ticker.exchange(&shadow);
    float largest = 0, last = -1;
    for (int n = 1; n <= 1500; ++n) {
      ticker.before_step(*world);
      CHECK(world->step().impacts == 0);
      ticker.after_step(*world, true);
      if (!ticker.fresh()) continue;
      const auto& row = ticker.rows()[1];
      CAPTURE(ticker.summary().tick);
      CHECK(row.force == doctest::Approx(kMass * row.velocity / (kTicks * kStep)).epsilon(1e-3).scale(1e-3));
      CHECK(ticker.rows()[0].force == 0);  // the floor is not compared
      largest = std::max(largest, row.force), last = row.force;
    }
    CHECK(largest > 0.05 * kMass * 9.81);
    CHECK(last < 1e-3 * kMass * 9.81);  // both carry the weight
  }
}

TEST_CASE("server_slow: a shadow that is not done leaves an interval out, and says so") {
  auto world = make_world(kFloating);
  ShadowSolver shadow(make_solver_world(world->shared_model(), world->limits(), ContactModelKind::deepest, kTicks),
                      ContactModelKind::deepest);
  ShadowTicker ticker(8);
  ticker.exchange(&shadow);
  std::vector<std::uint64_t> told;
  for (int n = 1; n <= 60; ++n) {
    if (n == 35) shadow.solve_here();  // of 0..10
    ticker.before_step(*world);
    world->step();
    ticker.after_step(*world, false);
    if (n > 40) shadow.solve_here();
    if (ticker.fresh()) told.push_back(ticker.summary().tick);
  }
  CHECK(told == std::vector<std::uint64_t>{10, 40, 50});
  CHECK(ticker.intervals_skipped() == 2);
}

TEST_CASE("server_slow: rates become whole ticks; one above the tick's is refused by key and range") {
  CHECK(ticks_per_step(0, 1e-3) == 1);
  CHECK(ticks_per_step(100, 1e-3) == 10);
  CHECK(ticks_per_step(1000, 1e-3) == 1);
  CHECK(ticks_per_step(300, 1e-3) == 3);
  CHECK(ticks_per_step(100, 0.02) == 1);  // a default, where the tick itself is slower
  CHECK(rounding_note("model.lcp.rate_hz", 250, 1e-3).empty());
  CHECK(rounding_note("model.lcp.rate_hz", 300, 1e-3).find("3 ticks") != std::string::npos);
  CHECK(rounding_note("model.lcp.rate_hz", 100, 0.02) ==
        "model.lcp.rate_hz: 100 Hz is above the tick's rate; a step takes a tick (50 Hz)");
  CHECK_NOTHROW(require_rate("model.lcp.rate_hz", 1000, 1e-3));
  CHECK_THROWS_WITH_AS(require_rate("model.lcp.rate_hz", 1001, 1e-3),
                       "model.lcp.rate_hz: found 1001, expected 1 to 1000, the scene's ticks a second", InputError);
  CHECK_THROWS_AS(require_rate("model.st.rate_hz", std::nan(""), 1e-3), InputError);
  CHECK_THROWS_AS(require_rate("model.st.rate_hz", 1e300, 1e-3), InputError);
  // No step takes more than a second, whatever a client asks for: memory goes with its ticks.
  for (const double rate : {1e-300, 1e-4, 5e-324, 0.999}) {
    CHECK_THROWS_AS(require_rate("shadow.rate_hz", rate, 1e-3), InputError);
    CHECK(ticks_per_step(rate, 1e-3) == 1000);
  }
  CHECK(rate_fault(1, 1e-3).empty());
  CHECK(rate_fault(-1, 1e-3) == "found -1, expected 1 to 1000, the scene's ticks a second");
}
