// One table of what is asked of the haptic loops and what they do: tests/out/haptic_numbers.csv, drawn by plot.py. From
// the runs of the property tests, fewer of them; TACTUS_HAPTIC_RUNS=100 makes all.
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "tests/paper/paper_output.h"
#include "tests/support/admittance_rig.h"
#include "tests/support/haptic_cases.h"
#include "tests/support/haptic_rows.h"
#include "tests/support/haptic_wall.h"

namespace tactus {
namespace {

constexpr haptic::Mode kModes[] = {haptic::Mode::local, haptic::Mode::direct, haptic::Mode::wave};
constexpr double kBar = 1;  // [mJ]

enum class Sense { at_least, at_most };

void row(const std::string& what, const std::string& unit, Sense sense, double asked, double measured) {
  static std::ofstream file = test::open_csv("haptic_numbers.csv", "what,unit,sense,asked,measured,good");
  const bool good = sense == Sense::at_least ? measured >= asked : measured <= asked;
  file << what << ',' << unit << ',' << (sense == Sense::at_least ? "at least" : "at most") << ',' << asked << ','
       << measured << ',' << (good ? 1 : 0) << std::endl;
  CAPTURE(what);
  CAPTURE(measured);
  CAPTURE(asked);
  CHECK(good);
}
std::string named(const char* what, haptic::Mode mode) {
  return std::string(what) + " " + haptic::mode_name(mode);
}

TEST_CASE("haptic numbers: passive walls") {
  double share = 1e9;
  for (const double delay : {0.0, 1e-3, 2.5e-3})
    share = std::min(share, test::limit_under_imposed_motion(1, delay) / haptic::passive_stiffness(1, 1e-3, delay));
  row("passive wall under imposed motion", "of b/(T/2+Td)", Sense::at_least, 0.98, share);
  double hands = 0, gated = 0;
  for (const double b : {0.1, 1.0, 2.0}) {
    for (const double c : {0.0, 5.0}) {
      test::Wall wall;
      wall.damping = b;
      wall.hand = test::springs(200, c);
      wall.stiffness = 0.9 * 2 * b / 1e-3;
      hands = std::max(hands, 1e3 * test::push_into(wall).draw_up);
      wall.gate = true;
      wall.stiffness = 1.5 * 2 * b / 1e-3;
      gated = std::max(gated, 1e3 * test::push_into(wall).draw_up);
    }
  }
  row("wall of 0.9 of 2b/T: draw-up with hands", "mJ", Sense::at_most, kBar, hands);
  row("wall of 1.5 of 2b/T with the gate: draw-up", "mJ", Sense::at_most, kBar, gated);
}

// Both scenes, clean and with 5 ms jitter and 10 % loss.
TEST_CASE("haptic numbers: delay, jitter, loss") {
  const int runs = test::runs_of_a_row(2);
  for (const haptic::Mode mode : kModes) {
    double out = 0, share = 1e9;
    int rings = 0, all = 0;
    for (const int delay : {0, 1, 5, 20, 50}) {
      for (const int kind : {0, 1, 2, 3}) {
        const test::LinkRow link{mode, delay, kind % 2 == 1 ? 5 : 0, kind % 2 == 1 ? 0.1 : 0.0, kind >= 2, 1.0};
        const test::RunSummary s = test::sum_up(link, runs);
        out = std::max({out, 1e3 * s.motor_worst, 1e3 * s.hand_worst});
        rings += s.oscillating;
        all += s.runs;
        if (test::asked(link) > 0) share = std::min(share, s.stiffness_least / test::asked(link));
      }
    }
    row(named("0 to 50 ms; worst given out at either port", mode), "mJ", Sense::at_most, kBar, out);
    row(named("0 to 50 ms; runs that ring", mode), "of " + std::to_string(all), Sense::at_most, 0, rings);
    if (mode != haptic::Mode::direct)
      row(named("0 to 50 ms; felt stiffness over what is asked of the link", mode), "1", Sense::at_least, 1, share);
  }
}

TEST_CASE("haptic numbers: force, torque, a slow world") {
  for (const haptic::Mode mode : kModes) {
    const test::SlowPress press = test::slow_press(mode);
    row(named("slow press: motor against contact", mode), "1", Sense::at_most, 1e-3,
        std::abs(press.motor / press.contact - 1));
    double worst = 0;
    for (const double mu : {0.0, 0.3, 1.0}) {
      const test::Ridge r = test::on_a_ridge(mode, mu, 0);
      worst = std::max(worst, (r.felt.torque - r.contact.torque).norm() / r.contact.torque.norm());
    }
    row(named("torque on a ridge", mode), "1", Sense::at_most, 0.01, worst);
  }
  for (const double spring : {test::kWall, 500.0}) {
    const test::SlowWorld felt = test::slow_world(ContactModelKind::lcp, spring, 0);
    const std::string what = spring < test::kWall ? "world at 100 Hz: 0.1 kg on a spring" : "world at 100 Hz: wall";
    // To a hundredth: the encoder's steps.
    row(what, "of 2b/T", Sense::at_least, 0.9 * 0.99, felt.stiffness / 2000);
    row(what + "; given out", "mJ", Sense::at_most, kBar, 1e3 * std::max(felt.result.motor_out, felt.result.hand_out));
  }
}

TEST_CASE("haptic numbers: sheets, deadband, cuts") {
  test::Random random(5);
  const int tries = test::runs_of_a_row(4), cuts = 10 * test::runs_of_a_row(4);
  for (const haptic::Mode mode : kModes) {
    int through = 0;
    for (int i = 0; i < tries; ++i) {
      const double mass = random.log_uniform(0.05, 1), speed = random.uniform(0.05, 1),
                   tilt = random.uniform(-0.4, 0.4);
      const ContactModelKind model = i % 4 == 3 ? ContactModelKind::lcp : ContactModelKind::penalty;
      through += test::pushed_through(mode, mass, speed, tilt, model) < 0 ? 0 : 1;
    }
    row(named("1 mm sheet at 10 N: through", mode), "runs", Sense::at_most, 0, through);
    double left = 0, beyond = 0, slope = 0;
    for (int i = 0; i < cuts; ++i) {
      const test::Cut c = test::cut_at_full_push(mode, static_cast<std::uint64_t>(i));
      left = std::max(left, c.force_left / std::max(c.force_at_cut, 1e-9));
      beyond = std::max(beyond, 1e3 * c.beyond_stored);
      slope = std::max(slope, c.slope);
    }
    row(named("link cut: force left after watchdog + 50 ms", mode), "1", Sense::at_most, 0.01, left);
    row(named("link cut: beyond what was stored", mode), "mJ", Sense::at_most, kBar, beyond);
    row(named("link cut: slope", mode), "N/ms", Sense::at_most, 2 + 1e-9, slope);
    if (mode == haptic::Mode::wave) continue;
    const int presses = std::max(6, test::runs_of_a_row(6) / 2);
    double saved = 0, error = 0, out = 0;
    int rings = 0;
    for (int i = 1; i <= presses; ++i) {
      const test::Saving s = test::deadband_run(mode, 0.1, 5, static_cast<std::uint64_t>(i));
      saved += 0.5 * (s.up + s.down) / presses;
      error = std::max(error, s.error);
      out = std::max({out, 1e3 * s.result.motor_out, 1e3 * s.result.hand_out});
      rings += s.result.oscillates ? 1 : 0;
    }
    row(named("deadband 10 %: saved", mode), "1", Sense::at_least, 0.85, saved);
    row(named("deadband 10 %: error over the band", mode), "1", Sense::at_most, 1, error);
    row(named("deadband 10 %: given out", mode), "mJ", Sense::at_most, kBar, out);
    row(named("deadband 10 %: share of runs that ring", mode), "1", Sense::at_most, 0.05, 1.0 * rings / presses);
  }
}

TEST_CASE("haptic numbers: admittance and time-domain passivity") {
  const int runs = test::runs_of_a_row(4);
  double stiffness = 1e9, out = 0;
  for (const int delay : {0, 5, 50}) {
    for (int i = 1; i <= runs; ++i) {
      const test::Felt felt = test::press_admittance({delay, 0, 0}, false, static_cast<std::uint64_t>(i));
      stiffness = std::min(stiffness, felt.force / (felt.depth - felt.overlap));
      out = std::max(out, 1e3 * felt.given_out);
    }
  }
  row("admittance: wall over the servo's stiffness", "1", Sense::at_least, 0.98,
      stiffness / haptic::ServoMechanism{}.servo_stiffness);
  row("admittance: given out", "mJ", Sense::at_most, kBar, out);
  double worst = 0;
  for (const int delay : {0, 1, 2}) {
    test::LinkRow link{haptic::Mode::direct, delay, 0, 0.0, false, 1.0};
    link.passivity = true;
    link.gate = false;
    const test::RunSummary s = test::sum_up(link, runs);
    worst = std::max({worst, 1e3 * s.motor_worst, 1e3 * s.hand_worst});
  }
  row("time-domain passivity without gates to 2 ms: given out", "mJ", Sense::at_most, kBar, worst);
}

}  // namespace
}  // namespace tactus
