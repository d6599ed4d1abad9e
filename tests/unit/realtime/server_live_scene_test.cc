// The scene that ticks: which commands are meant for it, and that what froze is told body by body, a few a tick, once.
#include "server/realtime/live_scene.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/tick_bench.h"

using namespace tactus;

TEST_CASE("server_live_scene: a scene that takes over is named by its own epoch, and the world before comes back") {
  std::unique_ptr<World> first = test::ball_world();
  World* const before = first.get();
  LiveScene scene(std::move(first), 4, test::kTickBodies);
  Command command;
  command.epoch = 4;
  CHECK(scene.is_meant(command));
  CHECK(scene.period_ns() == 1'000'000);
  World* const next = test::ball_world().release();
  const std::unique_ptr<World> back(scene.exchange(next, 5));
  CHECK(back.get() == before);
  CHECK(&scene.world() == next);
  CHECK_FALSE(scene.is_meant(command));
  command.epoch = 5;
  CHECK(scene.is_meant(command));
}

TEST_CASE("server_live_scene: what freezes is told once; what a jump brought frozen is known, and no news") {
  LiveScene scene(test::ball_world(), 4, test::kTickBodies);
  std::vector<BodyIndex> told;
  const auto look = [&](std::uint32_t froze) { scene.tell_frozen(froze, [&](BodyIndex b) { told.push_back(b); }); };
  look(0);
  CHECK(told.empty());
  CHECK_FALSE(scene.any_frozen());
  State state = scene.world().state();
  state.frozen[1] = 1;
  REQUIRE(scene.world().restore(state));
  look(1);
  look(0);
  CHECK(told == std::vector<BodyIndex>{1});
  CHECK(scene.any_frozen());
  scene.note_jump();
  look(1);
  CHECK(told.size() == 1);
  CHECK(scene.any_frozen());
  scene.world().reset();
  scene.note_jump();
  CHECK_FALSE(scene.any_frozen());
}
