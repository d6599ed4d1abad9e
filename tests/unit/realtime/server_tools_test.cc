// What a device is granted when it attaches: contradictions refused by name, wishes cut with a note, the mode chosen.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "server/net/scene/tools.h"
#include "tests/support/random.h"

namespace tactus::net {
namespace {

constexpr double kTick = 1e-3;

v1::AttachTool sound() {
  v1::AttachTool r;
  r.set_tool("ball");
  r.set_mode(v1::TOOL_AUTO);
  v1::DeviceCapabilities& d = *r.mutable_device();
  d.set_name("virtual");
  d.set_axes_sensed(6);
  d.set_axes_actuated(6);
  d.set_force_max_n(20);
  d.set_torque_max_n_m(1);
  d.set_damping_n_s_per_m(1);
  d.set_turn_damping_n_m_s_per_rad(1e-3);
  d.set_rate_hz(1000);
  return r;
}
bool noted(const ToolChoice& choice, const std::string& words) {
  if (words.empty()) return true;
  for (const std::string& note : choice.notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("server_tools: capabilities that contradict each other are refused by name") {
  REQUIRE(fault_in(sound()).empty());
  const auto fault = [](auto change) {
    v1::AttachTool r = sound();
    change(*r.mutable_device(), r);
    return fault_in(r);
  };
  const auto names = [&](const char* key, auto change) {
    const std::string found = fault(change);
    CAPTURE(found);
    CHECK(found.find(key) != std::string::npos);
  };
  names("axes_actuated", [](auto& d, auto&) { d.set_axes_sensed(3); });
  names("force_max_n", [](auto& d, auto&) { d.set_force_max_n(0); });
  names("torque_max_n_m", [](auto& d, auto&) { d.set_axes_actuated(3); });
  names("force_max_n", [](auto& d, auto&) { d.set_axes_actuated(0); });
  names("force_max_n", [](auto& d, auto&) { d.set_force_max_n(std::nan("")); });
  names("stiffness_max_n_per_m", [](auto& d, auto&) { d.set_stiffness_max_n_per_m(-1); });
  names("rate_hz", [](auto& d, auto&) { d.set_rate_hz(INFINITY); });
  names("no stiffness is known", [](auto& d, auto&) { d.set_damping_n_s_per_m(0); });
  names("name", [](auto& d, auto&) { d.set_name("a\nb"); });
  names("mode", [](auto&, auto& r) { r.set_mode(static_cast<v1::ToolMode>(4)); });
  names("loss", [](auto&, auto& r) { r.set_loss(1.5); });
  names("round_trip_s", [](auto&, auto& r) { r.set_round_trip_s(std::nan("")); });
  names("position_scale", [](auto&, auto& r) { r.set_position_scale(-1); });
}

TEST_CASE("server_tools: whatever a client states or wishes, it is granted no more than 2b/T allows, and told why") {
  const HapticOptions options;
  v1::AttachTool r = sound();
  const double passive = 2 * 1.0 / kTick;  // Colgate & Schenkel: 2b/T at b = 1 N s/m
  CHECK(choose(r, options, kTick).stiffness <= passive);
  r.mutable_device()->set_stiffness_max_n_per_m(1e6);  // lies: its damping bears no such thing
  ToolChoice lied = choose(r, options, kTick);
  CHECK(lied.stiffness <= passive);
  CHECK(noted(lied, "stiffness_max"));
  r.set_stiffness_n_per_m(1e5);
  CHECK(choose(r, options, kTick).stiffness <= passive);
  CHECK(noted(choose(r, options, kTick), "stiffness at the handle"));
  r.mutable_device()->set_damping_n_s_per_m(0);  // claims it without any damping at all
  lied = choose(r, options, kTick);
  CHECK(lied.stiffness <= options.stiffness_max);
  CHECK(noted(lied, "haptic.stiffness_max"));
  r = sound();
  r.mutable_device()->set_force_max_n(900);
  CHECK(choose(r, options, kTick).force_limit == options.force_max);
  CHECK(noted(choose(r, options, kTick), "haptic.force_max"));
  r = sound();
  r.mutable_device()->set_delay_s(0.0045);  // b / (T/2 + Td)
  CHECK(choose(r, options, kTick).stiffness <= 1.0 / (0.0005 + 0.0045));
  CHECK(choose(sound(), options, kTick).notes.size() == 1);  // the mode, and nothing was cut
}

TEST_CASE("server_tools: time-domain passivity is granted where it was measured to hold, and nowhere else") {
  const auto granted = [](auto change, const char* why) {
    v1::AttachTool r = sound();
    r.set_mode(v1::TOOL_DIRECT);
    r.set_passivity(true);
    r.set_round_trip_s(0.001);
    ToolScene scene;
    change(r, scene);
    const ToolChoice choice = choose(r, {}, kTick, scene);
    CHECK(choice.settings.passivity == choice.passivity);
    CHECK(noted(choice, "no time-domain passivity") == !choice.passivity);
    CHECK(noted(choice, why));
    return choice.passivity;
  };
  CHECK(granted([](auto&, auto&) {}, ""));
  CHECK_FALSE(granted([](auto& r, auto&) { r.set_round_trip_s(0.010); }, "beyond"));
  CHECK_FALSE(granted([](auto& r, auto&) { r.set_jitter_s(0.010); }, "beyond"));
  CHECK_FALSE(granted([](auto& r, auto&) { r.set_loss(0.01); }, "loses"));
  CHECK_FALSE(granted([](auto& r, auto&) { r.set_round_trip_s(0); }, "not measured"));
  CHECK_FALSE(granted([](auto& r, auto&) { r.set_deadband(0.1); }, "deadband"));
  CHECK_FALSE(granted([](auto& r, auto&) { r.set_mode(v1::TOOL_WAVE); }, "mode direct"));
  CHECK_FALSE(granted([](auto&, auto& scene) { scene.slow = true; }, "slow model"));
}

TEST_CASE("server_tools: an admittance device is a mass that planes hold: mode local whatever is asked, told why") {
  v1::AttachTool r = sound();
  r.mutable_device()->set_admittance(true);
  CHECK(fault_in(r).find("moved as a mass") != std::string::npos);
  r.mutable_device()->set_mass_kg(2);
  CHECK(fault_in(r).empty());
  for (const bool meshes : {false, true}) {
    for (const v1::ToolMode mode : {v1::TOOL_LOCAL, v1::TOOL_DIRECT, v1::TOOL_WAVE, v1::TOOL_AUTO}) {
      r.set_mode(mode);
      const ToolChoice choice = choose(r, {}, kTick, {.meshes = meshes});
      CHECK(choice.settings.mode == ToolMode::local);
      CHECK((mode == v1::TOOL_LOCAL || noted(choice, "admittance")));
    }
  }
}

TEST_CASE(
    "server_tools: heartbeats of a deadband leave room to save 90 %, and one may be lost before the watchdog acts") {
  v1::AttachTool r = sound();
  r.set_mode(v1::TOOL_DIRECT);
  const std::uint32_t plain = choose(r, {}, kTick).settings.watchdog_ticks;
  r.set_deadband(0.1);
  const ToolChoice choice = choose(r, {}, kTick);
  CHECK(choice.deadband == 0.1);
  CHECK(1.0 / choice.heartbeat_ticks <= 0.10);
  CHECK(2 * choice.heartbeat_ticks < choice.settings.watchdog_ticks);
  CHECK(choice.settings.predict_ticks == choice.heartbeat_ticks);
  CHECK(choice.settings.watchdog_ticks <= 0.2 / kTick);
  r.set_watchdog_s(0.02);  // what a client names is kept
  CHECK(choose(r, {}, kTick).settings.watchdog_ticks == 20);
  r.set_mode(v1::TOOL_WAVE);
  r.set_watchdog_s(0);
  CHECK(choose(r, {}, kTick).settings.watchdog_ticks == plain);  // no deadband, no longer wait
}

TEST_CASE("server_tools: scaling keeps the handle's stiffness: at the tool it is that over the square of the scale") {
  v1::AttachTool r = sound();
  const double one = choose(r, {}, kTick).stiffness;
  r.set_position_scale(3);
  CHECK(choose(r, {}, kTick).stiffness == doctest::Approx(one / 9));
}

TEST_CASE("server_tools: the mode is chosen by scene, device and link, and said with its reason") {
  v1::AttachTool r = sound();
  const auto mode = [&](bool meshes) {
    const ToolChoice choice = choose(r, {}, kTick, {.meshes = meshes});
    CHECK(noted(choice, "mode "));
    return choice.settings.mode;
  };
  r.set_round_trip_s(0.1);
  CHECK(mode(false) == ToolMode::local);
  CHECK(mode(true) == ToolMode::wave);
  r.set_round_trip_s(0.0002);
  CHECK(mode(false) == ToolMode::local);
  CHECK(mode(true) == ToolMode::direct);
  r.set_jitter_s(0.005);
  CHECK(mode(true) == ToolMode::wave);
  r.set_jitter_s(0);
  r.set_loss(0.01);
  CHECK(mode(true) == ToolMode::wave);
  r.set_loss(0);
  r.set_jitter_s(0.0002);  // a link's joints hold it where no plane is: its force must come from the server
  CHECK(choose(r, {}, kTick, {.link = true}).settings.mode == ToolMode::direct);
  r.set_jitter_s(0.005);
  CHECK(choose(r, {}, kTick, {.link = true}).settings.mode == ToolMode::wave);
  CHECK(noted(choose(r, {}, kTick, {.link = true}), "joints"));
  r.set_jitter_s(0);
  r.set_round_trip_s(0);  // not measured
  CHECK(mode(true) == ToolMode::wave);
  r.set_round_trip_s(0.0002);  // two hands beside a slow model: not by planes, whose friction comes too late
  CHECK(choose(r, {}, kTick, {.slow = true}).settings.mode == ToolMode::local);
  CHECK(noted(choose(r, {}, kTick, {.slow = true}), "two hands slips"));
  CHECK(choose(r, {}, kTick, {.other_hand = true}).settings.mode == ToolMode::local);
  CHECK(choose(r, {}, kTick, {.slow = true, .other_hand = true}).settings.mode == ToolMode::direct);
  CHECK(noted(choose(r, {}, kTick, {.slow = true, .other_hand = true}), "two hands"));
  r.set_round_trip_s(0.02);
  CHECK(choose(r, {}, kTick, {.slow = true, .other_hand = true}).settings.mode == ToolMode::wave);
  for (const v1::ToolMode asked : {v1::TOOL_LOCAL, v1::TOOL_DIRECT, v1::TOOL_WAVE}) {  // a wish is a wish
    r.set_mode(asked);
    CHECK(static_cast<int>(choose(r, {}, kTick, {.meshes = true}).settings.mode) == asked);
  }
}

// A device's clock is its own: 1 kHz within 10 us is foretold to 20 us, a loop that comes when it likes is not.
TEST_CASE("tools: the next sample of a regular device is foretold, of an irregular one it is not") {
  SampleClock regular, irregular;
  test::Random random(3);
  std::uint64_t due = 0, foretold = 0;
  constexpr std::uint64_t kStart = 5'000'000'000, kPeriod = 1'027'000;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto now = kStart + i * kPeriod + static_cast<std::uint64_t>(random.uniform(0, 10e3));
    if (due != 0) {
      ++foretold;
      CHECK(std::abs(static_cast<double>(static_cast<std::int64_t>(now - due))) < 20e3);
    }
    due = regular.came(now);
  }
  CHECK(foretold > 950);
  CHECK(regular.came(kStart + 2000 * kPeriod) == 0);  // it was away
  std::uint64_t now = kStart;
  for (int i = 0; i < 1000; ++i) {
    now += static_cast<std::uint64_t>(random.uniform(0.2e6, 2e6));
    CHECK(irregular.came(now) == 0);
  }
}

}  // namespace
}  // namespace tactus::net
