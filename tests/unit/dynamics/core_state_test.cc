// State: its hash sees every word, and its bytes go out and come back, or are refused.
#include "core/dynamics/state.h"

#include <cstring>
#include <limits>
#include <set>

#include "core/dynamics/state_bytes.h"
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;
using Bytes = std::vector<std::uint8_t>;

// A stack in motion: bodies, contacts, friction springs, integrals.
Scene busy_scene() {
  Scene scene = test::stack(3, true);
  scene.add(make_sphere(0.3), 2, test::at(0.6, 0.1, 3.3), {Vec3(1, 2, 3), Vec3(-1, 0, 0)});
  scene.model->seed = 77;
  return scene;
}

TEST_CASE("state hash: every word of the state changes it, each to another value") {
  World world = busy_scene().world();
  test::run(world, 200);
  State state;
  world.snapshot(state);
  REQUIRE(state.pairs.size() >= 3);
  std::set<std::uint64_t> seen{state_hash(state)};
  std::size_t changes = 0;
  const auto expect_new = [&](const char* what) {
    ++changes;
    CHECK_MESSAGE(seen.insert(state_hash(state)).second, what);
  };
  const auto flip = [&](auto& word, const char* what) {
    const auto old = word;
    for (std::size_t byte = 0; byte < sizeof(word); ++byte) {
      reinterpret_cast<unsigned char*>(&word)[byte] ^= 0x10;
      expect_new(what);
      word = old;
    }
  };
  flip(state.tick, "tick");
  flip(state.time, "time");
  flip(state.random, "random");
  state.contact_model = ContactModelKind::deepest;
  expect_new("contact model");
  state.contact_model = ContactModelKind::penalty;
  for (double& x : state.q) flip(x, "q");
  for (double& x : state.v) flip(x, "v");
  for (auto& x : state.frozen) flip(x, "frozen");
  for (std::uint32_t i = 0; i < state.pairs.size(); ++i) {
    PairRecord& r = state.pairs[i];
    flip(r.key.shape_a, "shape a"), flip(r.key.shape_b, "shape b"), flip(r.key.patch, "patch"), flip(r.phase, "phase"),
        flip(r.age, "age");
    for (int k = 0; k < 3; ++k) flip(r.witness.axis_A[k], "axis");
    flip(r.witness.feature_a, "feature a"), flip(r.witness.feature_b, "feature b");
    for (double& x : r.model) flip(x, "model block");
  }
  state.pairs.set_size(state.pairs.size() - 1);
  expect_new("one pair less");
  CHECK(changes > 1000);
}

TEST_CASE("state hash: swapping two bodies' poses or two words is seen") {
  World world = busy_scene().world();
  test::run(world, 200);
  State state;
  world.snapshot(state);
  const std::uint64_t start = state_hash(state);
  for (std::size_t i = 0; i + 7 < state.q.size(); i += 7) {
    if (state.q[i] == state.q[i + 7]) continue;
    std::swap(state.q[i], state.q[i + 7]);
    CHECK(state_hash(state) != start);
    std::swap(state.q[i], state.q[i + 7]);
  }
}

TEST_CASE("state bytes: a round trip gives the same state to the bit") {
  World world = busy_scene().world();
  test::run(world, 200);
  State state, back;
  world.snapshot(state);
  world.snapshot(back);
  for (double& x : back.q) x = 0.5;
  back.pairs.clear();
  const Bytes bytes = to_bytes(state);
  REQUIRE(from_bytes(bytes, back));
  CHECK(state_hash(back) == state_hash(state));
  CHECK(to_bytes(back) == bytes);
}

TEST_CASE("state bytes: whatever is cut or longer is refused, and nothing changes") {
  World world = busy_scene().world();
  test::run(world, 200);
  State state, out;
  world.snapshot(state);
  world.snapshot(out);
  out.tick = 4711;
  const std::uint64_t untouched = state_hash(out);
  Bytes bytes = to_bytes(state);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    if (from_bytes({bytes.data(), n}, out)) FAIL_CHECK("accepted " << n << " of " << bytes.size() << " bytes");
  }
  bytes.push_back(0);
  CHECK(!from_bytes(bytes, out));
  CHECK(state_hash(out) == untouched);
}

TEST_CASE("state bytes: numbers that are not finite are refused wherever they stand") {
  World world = busy_scene().world();
  test::run(world, 200);
  State state, out;
  world.snapshot(state);
  world.snapshot(out);
  const auto refuses = [&](double& x, double bad) {
    const double old = x;
    x = bad;
    CHECK(!from_bytes(to_bytes(state), out));
    x = old;
  };
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    refuses(state.time, bad);
    for (double& x : state.q) refuses(x, bad);
    for (double& x : state.v) refuses(x, bad);
    for (double& x : state.pairs[1].model) refuses(x, bad);
    refuses(state.pairs[0].witness.axis_A[2], bad);
  }
  CHECK(from_bytes(to_bytes(state), out));
}

TEST_CASE("state bytes: orientations that are not unit, unsorted pairs and another scene are refused") {
  World world = busy_scene().world();
  test::run(world, 200);
  State state, out;
  world.snapshot(out);
  world.snapshot(state);
  state.q[7 + 3] *= 1.01;
  CHECK(!from_bytes(to_bytes(state), out));
  world.snapshot(state);
  std::swap(state.pairs[0], state.pairs[1]);
  CHECK(!from_bytes(to_bytes(state), out));
  const State other = test::stack(2, false).world().state();
  CHECK(!from_bytes(to_bytes(other), out));
  State small = initial_state(world.model(), 2);  // room for two pairs
  world.snapshot(state);
  CHECK(!from_bytes(to_bytes(state), small));
}

TEST_CASE("state bytes: garbled bytes are refused or give a state that a world can step from") {
  World world = busy_scene().world();
  test::run(world, 200);
  const State good = world.state();
  const Bytes bytes = to_bytes(good);
  Random random(1);
  int accepted = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Bytes bad = bytes;
    for (std::uint32_t k = 0; k <= random.below(3); ++k) {
      bad[random.below(static_cast<std::uint32_t>(bad.size()))] = static_cast<std::uint8_t>(random.below(256));
    }
    State state = good;
    if (!from_bytes(bad, state)) continue;
    if (!world.restore(state)) continue;
    ++accepted;
    test::run(world, 2);
    for (const double x : world.state().q) CHECK(std::isfinite(x));
    for (const double x : world.state().v) CHECK(std::isfinite(x));
  }
  CHECK(accepted > 100);
}

TEST_CASE("state: the user's frame and the mass centre's describe one motion") {
  Random random(2);
  Scene scene;
  const BodyIndex b = scene.add(make_box(Vec3(0.1, 0.2, 0.3)), 1, Pose{});
  scene.model->bodies[b].p_BBcm = Vec3(0.3, -0.2, 0.5);
  finish_model(*scene.model);
  State state = initial_state(*scene.model, 1);
  for (int i = 0; i < 100; ++i) {
    const Pose X_WB{random.rotation(), random.in_cube(5)};
    const SpatialVelocity V_WB{random.in_cube(3), random.in_cube(3)};
    set_body(*scene.model, state, b, X_WB, V_WB);
    CHECK_WITHIN((body_pose(*scene.model, state, b).p - X_WB.p).norm(), 1e-14);
    CHECK_WITHIN((body_velocity(*scene.model, state, b).v - V_WB.v).norm(), 1e-14);
    // The mass centre's path: its velocity is the derivative of its position as B moves.
    const double dt = 1e-6;
    const auto centre_at = [&](double t) {
      return Vec3(X_WB.p + t * V_WB.v + rotate_by(t * V_WB.w, X_WB.q) * scene.model->bodies[b].p_BBcm);
    };
    CHECK_WITHIN(((centre_at(dt) - centre_at(-dt)) / (2 * dt) - state.v_WBcm(b)).norm(), 1e-8);
    CHECK_WITHIN((state.p_WBcm(b) - X_WB * scene.model->bodies[b].p_BBcm).norm(), 1e-14);
  }
}

}  // namespace
}  // namespace tactus
