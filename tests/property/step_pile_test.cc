// Piles under Stewart-Trinkle and the acceleration model: bodies of 0 to 100 kg, wedged between walls and each other,
// are solved at the first attempt. Their redundant contacts contradict each other by rounding and by overlaps.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>

#include "core/scene/scene.h"
#include "core/world.h"
#include "tests/support/share.h"

namespace tactus {

namespace {

// Of this thread.
double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

TEST_CASE("st, ap, lcp: piles of 30 at 100 Hz are solved to 1e-9 in every step, without fallback") {
  constexpr int kSteps = 220;
  struct {
    ContactModelKind kind;
    std::uint64_t seed;
  } const rows[] = {{ContactModelKind::lcp, 1}, {ContactModelKind::st, 1},  {ContactModelKind::st, 4},
                    {ContactModelKind::ap, 1},  {ContactModelKind::st, 7},  {ContactModelKind::lcp, 3},
                    {ContactModelKind::st, 2},  {ContactModelKind::st, 3},  {ContactModelKind::st, 5},
                    {ContactModelKind::st, 6},  {ContactModelKind::st, 8},  {ContactModelKind::lcp, 2},
                    {ContactModelKind::lcp, 4}, {ContactModelKind::lcp, 5}, {ContactModelKind::lcp, 6},
                    {ContactModelKind::lcp, 7}, {ContactModelKind::lcp, 8}, {ContactModelKind::ap, 7}};
  for (const auto& row : std::span(rows).first(test::share(18, 6))) {
    CAPTURE(std::string(to_string(row.kind)));
    CAPTURE(row.seed);
    SceneOptions options;
    options.set.emplace_back("n", "30");
    options.seed = row.seed;
    std::unique_ptr<Model> model = load_scene(TACTUS_SOURCE_DIR "/config/scenes/pile.toml", options);
    model->step = 1e-2;
    model->contact_model = row.kind;
    World world(std::move(model), options.limits);
    std::uint32_t failures = 0, fallbacks = 0, touching = 0;
    double residual = 0;
    for (int i = 0; i < kSteps; ++i) {
      const StepReport report = world.step();
      failures += report.solver_failures;
      fallbacks += report.solver_fallbacks;
      if (report.solver_failures == 0) residual = std::max(residual, report.solver_residual);
      touching = std::max(touching, world.contacts().point_count);
    }
    MESSAGE(std::string(to_string(row.kind)) << ", seed " << row.seed << ": fallbacks " << fallbacks << ", failures "
                                             << failures << ", worst residual " << residual << ", points " << touching);
    CHECK(touching > 100);
    CHECK(failures == 0);
    CHECK(fallbacks == 0);
    CHECK(residual <= 1e-9);  // of what passed as solved
  }
}

// lnc's choices run in circles here: unbounded, single steps of this second took 13 s and more; and an outcome with
// enormous impulses seemed to fit, for residuals are relative to them: bodies were 1e13 m away half a second later, and
// later, with those refused, what was thrown out of deep overlaps had 40 times the energy of the scene.
TEST_CASE("lnc: what is too hard for a step's work is given up, is told, and flings nothing away") {
  std::unique_ptr<Model> model = load_scene(TACTUS_SOURCE_DIR "/config/scenes/default.toml", SceneOptions{});
  model->step = 1e-2;
  model->contact_model = ContactModelKind::lnc;
  World world(std::move(model), Limits{});
  std::uint32_t failures = 0;
  double farthest = 0, most = 0;
  const double start = mechanical_energy(world.model(), world.parameters().gravity_W, world.state());
  for (int i = 0; i < test::share(60, 3); ++i) {
    const StepReport report = world.step();
    failures += report.solver_failures;
    CHECK((report.solver_failures > 0) == (report.solver_residual > 1e-9));
    most = std::max(most, mechanical_energy(world.model(), world.parameters().gravity_W, world.state()));
    for (BodyIndex b = 0; b < world.state().body_count(); ++b)
      farthest = std::max(farthest, world.state().p_WBcm(b).norm());
  }
  MESSAGE("failures " << failures << ", farthest " << farthest << " m, energy of " << start << " J at most " << most);
  // Overlaps are worked off at overlap_relax_speed at most: so much can that give.
  double mass = 0;
  for (const Body& body : world.model().bodies) mass += body.mode == BodyMode::free ? body.mass : 0;
  const double speed = world.parameters().overlap_relax_speed;
  CHECK(most < start + 0.5 * mass * speed * speed);
  CHECK(farthest < 10);
}

// A row of dominoes that was pushed over leans, wedged, with overlaps of 0.2 mm. Solutions with impulses that fight
// each other met all equations and threw it: 9,050 J of 7.4 J under peg.
TEST_CASE("peg, lnc: dominoes that fall on each other are not thrown") {
  struct Row {
    ContactModelKind kind;
    int steps;
  };
  for (const Row& row : {Row{ContactModelKind::peg, 180}, Row{ContactModelKind::lnc, 75}}) {
    CAPTURE(std::string(to_string(row.kind)));
    SceneOptions options;
    options.set.emplace_back("step_s", "0.01");
    SceneRun run = load_scene_run(TACTUS_SOURCE_DIR "/config/scenes/dominoes.toml", options);
    run.model->contact_model = row.kind;
    World world(std::move(run.model), options.limits);
    const auto energy = [&] { return mechanical_energy(world.model(), world.parameters().gravity_W, world.state()); };
    double mass = 0, force = 0, most = energy();
    for (const Body& body : world.model().bodies) mass += body.mode == BodyMode::free ? body.mass : 0;
    for (const Push& push : run.pushes) force = std::max(force, push.force_W.norm());
    const double start = most;
    std::uint32_t failures = 0;
    for (int i = 0; i < test::share(row.steps, 4); ++i) {
      for (const Push& push : run.pushes) {
        const auto tick = static_cast<std::uint64_t>(i);
        if (push.start > tick || tick >= push.end) continue;
        world.apply(push.body, push_force(world.model(), world.state(), push));
      }
      failures += world.step().solver_failures;
      most = std::max(most, energy());
    }
    MESSAGE("failures " << failures << ", energy of " << start << " J at most " << most);
    // The push gives its force over less than a domino's height; overlaps what they may be worked off with.
    const double speed = world.parameters().overlap_relax_speed;
    CHECK(most < start + 0.2 * force + 0.5 * mass * speed * speed);
  }
}

// What a server asks of a slow model at its default rate: 30 dominoes pushed over, 10 ms a step. Judged by what is
// counted alike on every machine; by time only where a step takes more than twice its length, which is when simulated
// time is lost (server/README.md), and then with room for a machine half as fast that others load.
TEST_CASE("Slow models at 100 Hz: dominoes that fall are solved, few of their steps late enough to lose time") {
  for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::ap,
                                      ContactModelKind::lnc, ContactModelKind::peg}) {
    CAPTURE(std::string(to_string(kind)));
    SceneOptions options;
    options.set.emplace_back("step_s", "0.01");
    SceneRun run = load_scene_run(TACTUS_SOURCE_DIR "/config/scenes/dominoes.toml", options);
    run.model->contact_model = kind;
    World world(std::move(run.model), options.limits);
    // To rest. The share that a sanitized build runs is the hardest: its work may be the whole's.
    constexpr int kWhole = 400;
    const int steps = test::share(kWhole, 4);
    int failing = 0, overdue = 0;
    std::uint64_t iterations = 0;
    double seconds = 0;
    for (int i = 0; i < steps; ++i) {
      for (const Push& push : run.pushes) {
        const auto tick = static_cast<std::uint64_t>(i);
        if (push.start > tick || tick >= push.end) continue;
        world.apply(push.body, push_force(world.model(), world.state(), push));
      }
      const double before = processor_seconds();
      const StepReport report = world.step();
      const double took = processor_seconds() - before;
      seconds += took;
      overdue += took > 2 * world.h() ? 1 : 0;
      failing += report.solver_failures > 0 ? 1 : 0;
      iterations += report.solver_iterations;
    }
    MESSAGE(std::string(to_string(kind)) << ": " << failing << " of " << steps << " steps failed, " << overdue
                                         << " took over two periods, factorisations a step "
                                         << iterations / std::uint64_t(steps) << ", real-time factor "
                                         << steps * world.h() / seconds);
    CHECK(failing <= 0.02 * steps);
    CHECK(iterations <= 200 * std::uint64_t{kWhole});
#ifndef TACTUS_SANITIZED
    CHECK(overdue <= 0.2 * steps);
#endif
  }
}

// What rests is held by the impulses that held it, whichever of its points lie near each other: dominoes 2 cm thick.
// With one remembered impulse given to two points each step took 80 to 120 factorisations.
TEST_CASE("st: dominoes at rest are solved by the last step's impulses") {
  SceneOptions options;
  options.set.emplace_back("step_s", "0.01");
  SceneRun run = load_scene_run(TACTUS_SOURCE_DIR "/config/scenes/dominoes.toml", options);
  run.model->contact_model = ContactModelKind::st;
  World world(std::move(run.model), options.limits);
  for (std::uint64_t i = 0; i < 490; ++i) {
    for (const Push& push : run.pushes) {
      if (push.start > i || i >= push.end) continue;
      world.apply(push.body, push_force(world.model(), world.state(), push));
    }
    world.step();
  }
  double speed = 0;
  std::uint32_t iterations = 0;
  constexpr std::uint32_t kSteps = 10;
  for (std::uint32_t i = 0; i < kSteps; ++i) iterations += world.step().solver_iterations;
  for (BodyIndex b = 0; b < world.state().body_count(); ++b) speed = std::max(speed, world.state().v_WBcm(b).norm());
  MESSAGE("factorisations a step " << iterations / double{kSteps} << ", speed " << speed);
  CHECK(speed < 1e-6);
  CHECK(iterations <= 10 * kSteps);
}

}  // namespace tactus
