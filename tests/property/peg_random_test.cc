// PEG on random corners, edges and stacks: every step is solved, means what its constraints say, and leaves no overlap.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/polygons.h"

namespace tactus {
namespace {

using test::Random;
using test::Scene;

constexpr double kReach = 1.1;  // no point that touches is farther from either body's centre [m]

struct Tally {
  int cases = 0, solved = 0, fallbacks = 0, failures = 0, touched = 0;
  double residual = 0, overlap = 0;  // worst
  double over = -1;                  // most of an overlap over what turning within the steps explains [m]
};

// By how much the step that was made may be short of a gap that is linear in it. Seen by B, which turns at w_B, a
// corner of A at r_A from its centre and x from B's, whose velocity over B's material is v, accelerates by
//   w_A x (w_A x r_A) - w_B x (w_B x x) - 2 w_B x v,
// and B's faces stand still; so their gap strays by at most h^2 / 2 of that. The last term is B's face that turns while
// the corner slides along it. Edges that cross at an angle t turn their normal 1 / sin t faster: not granted here.
double stray(const World& world, BodyIndex a, BodyIndex b) {
  const State& state = world.state();
  const double h = world.h(), turn_a = state.w_WB(a).norm() * h, turn_b = state.w_WB(b).norm() * h;
  const double slide = (state.v_WBcm(a) - state.v_WBcm(b)).norm() * h + (turn_a + turn_b) * kReach;
  return 0.5 * (turn_a * turn_a + turn_b * turn_b) * kReach + std::max(turn_a, turn_b) * slide;
}

// One case: a scene whose bodies are apart, some steps of it. *Solved*: no failure, no fallback, residual at most 1e-9.
void run_case(Scene scene, int steps, Tally& tally) {
  finish_model(*scene.model);
  scene.limits.pairs = 16;
  scene.limits.problem_contacts = 512;
  scene.limits.problem_rows = 48;
  World world(std::move(scene.model), scene.limits);
  bool solved = true;
  const std::uint32_t bodies = world.state().body_count();
  std::vector<double> strays(std::size_t{bodies} * bodies);
  for (int i = 0; i < steps; ++i) {
    const StepReport report = world.step();
    for (BodyIndex a = 0; a < bodies; ++a) {
      for (BodyIndex b = 0; b < a; ++b) strays[std::size_t{a} * bodies + b] += stray(world, a, b);
    }
    solved = solved && report.solver_failures == 0 && report.solver_fallbacks == 0 && report.solver_residual <= 1e-9;
    tally.fallbacks += static_cast<int>(report.solver_fallbacks);
    tally.failures += static_cast<int>(report.solver_failures);
    tally.residual = std::max(tally.residual, report.solver_residual);
    bool pushes = false;
    for (std::uint32_t k = 0; k < world.contacts().point_count; ++k)
      pushes = pushes || !world.contact_force(k).isZero(0);
    if (i == 0) tally.touched += pushes ? 1 : 0;
  }
  ++tally.cases;
  tally.solved += solved ? 1 : 0;
  const auto flat = [&](BodyIndex b) { return world.model().shapes[b].shape.kind == ShapeKind::half_space; };
  for (BodyIndex a = 0; a < bodies; ++a) {
    for (BodyIndex b = 0; b < a; ++b) {
      if (flat(a) || flat(b)) continue;
      const double overlap = -test::gap_between(world, a, b);
      tally.overlap = std::max(tally.overlap, overlap);
      tally.over = std::max(tally.over, overlap - strays[std::size_t{a} * bodies + b]);
    }
  }
}

void settings(Scene& scene, ContactModelKind kind, PegForm form, double h) {
  scene.model->contact_model = kind;
  scene.model->parameters.peg_form = form;
  scene.model->step = h;
}

// Two convex polygons that fly at each other, corner on corner, edge or flat.
Scene planar_case(Random& random, PegForm form, double mu) {
  Scene scene(mu);
  scene.model->planar = true;
  settings(scene, ContactModelKind::peg, form, 0.01);
  scene.set_gravity(Vec3::Zero());
  const int kind = static_cast<int>(random.below(3));
  // One draw a statement: compilers evaluate arguments in different orders.
  const auto polygon = [&random] {
    const int corners = 3 + static_cast<int>(random.below(4));
    return test::regular_polygon(corners, random.uniform(0.3, 0.6));
  };
  const std::vector<Vec3> a = polygon(), b = polygon();
  double turn_a = 0, turn_b = 0;
  double side = random.uniform(-0.02, 0.02);
  // A corner of a looks along x, and one of b against it.
  if (kind == 0) turn_a = random.uniform(-0.3, 0.3), turn_b = M_PI + random.uniform(-0.3, 0.3);
  if (kind == 1) turn_a = M_PI / static_cast<double>(a.size()), turn_b = M_PI + random.uniform(-0.3, 0.3);
  if (kind == 2) turn_a = M_PI / static_cast<double>(a.size()), turn_b = M_PI + M_PI / static_cast<double>(b.size());
  if (kind > 0) side = random.uniform(-0.5, 0.5);
  const Pose X_WA{test::turned(Vec3::UnitZ(), turn_a), Vec3::Zero()};
  Pose X_WB{test::turned(Vec3::UnitZ(), turn_b), Vec3(0, side, 0)};
  const auto gap_at = [&](double x) {
    std::vector<Vec3> p, q;
    for (const Vec3& c : a) p.push_back(X_WA * c);
    for (const Vec3& c : b) q.push_back(X_WB.q * c + Vec3(x, side, 0));
    return test::gap_between(p, q, true);
  };
  double lo = 0, hi = 3;  // 2 mm apart
  for (int i = 0; i < 40; ++i) (gap_at(0.5 * (lo + hi)) < 0.002 ? lo : hi) = 0.5 * (lo + hi);
  X_WB.p.x() = hi;
  const double speed = random.uniform(0.2, 1.5);
  const BodyMode mode = random.below(3) == 0 ? BodyMode::fixed : BodyMode::free;
  const double mass_a = random.uniform(0.3, 3), mass_b = random.uniform(0.3, 3);
  const double spin = random.uniform(-1, 1), along = random.uniform(-0.3, 0.3);
  test::add_hull(scene, test::prism(a), mass_a, X_WA, {}, mode);
  test::add_hull(scene, test::prism(b), mass_b, X_WB, {Vec3(0, 0, spin), Vec3(-speed, along, 0)});
  return scene;
}

// Two polyhedra: boxes or tetrahedra, corner on corner, corner on edge, edge on edge, anything.
Scene spatial_case(Random& random, PegForm form, double mu) {
  Scene scene(mu);
  settings(scene, ContactModelKind::peg, form, 0.01);
  scene.set_gravity(Vec3::Zero());
  const auto shape = [&random] {
    if (random.below(2) == 0) {
      const double x = random.uniform(0.2, 0.5), y = random.uniform(0.2, 0.5), z = random.uniform(0.2, 0.5);
      return test::box_corners(Vec3(x, y, z));
    }
    const double r = random.uniform(0.3, 0.6);
    return std::vector<Vec3>{Vec3(r, r, r), Vec3(r, -r, -r), Vec3(-r, r, -r), Vec3(-r, -r, r)};
  };
  const std::vector<Vec3> a = shape(), b = shape();
  // A random feature of each turned to the other: a corner, an edge's middle, or as it comes.
  const auto facing = [&random](const std::vector<Vec3>& corners, const Vec3& to) {
    const std::uint32_t how = random.below(3);
    Vec3 d = corners[random.below(static_cast<std::uint32_t>(corners.size()))];
    if (how == 1) d += corners[random.below(static_cast<std::uint32_t>(corners.size()))];
    if (how == 2 || d.norm() < 0.05) return random.rotation();
    const Quat roll(Eigen::AngleAxisd(random.uniform(0, 6), to.normalized()));
    const Vec3 axis = random.direction();
    const Quat slight(Eigen::AngleAxisd(random.uniform(-0.1, 0.1), axis));
    return Quat(slight * roll * test::shortest_rotation(d, to)).normalized();
  };
  const Pose X_WA{facing(a, Vec3::UnitX()), Vec3::Zero()};
  Pose X_WB{facing(b, -Vec3::UnitX()), Vec3::Zero()};
  const double side_y = random.uniform(-0.05, 0.05), side_z = random.uniform(-0.05, 0.05);
  const Vec3 side(0, side_y, side_z);
  const auto gap_at = [&](double x) {
    std::vector<Vec3> p, q;
    for (const Vec3& c : a) p.push_back(X_WA * c);
    for (const Vec3& c : b) q.push_back(X_WB.q * c + Vec3(x, 0, 0) + side);
    return test::gap_between(p, q, false);
  };
  double lo = 0, hi = 4;
  for (int i = 0; i < 22; ++i) (gap_at(0.5 * (lo + hi)) < 0.002 ? lo : hi) = 0.5 * (lo + hi);
  X_WB.p = Vec3(hi, 0, 0) + side;
  const BodyMode mode = random.below(3) == 0 ? BodyMode::fixed : BodyMode::free;
  const double mass_a = random.uniform(0.3, 3), mass_b = random.uniform(0.3, 3), speed = random.uniform(0.2, 1.5);
  const double along = random.uniform(-0.2, 0.2);
  const Vec3 spin = random.in_cube(0.6);
  test::add_hull(scene, a, mass_a, X_WA, {}, mode);
  test::add_hull(scene, b, mass_b, X_WB, {spin, Vec3(-speed, along, 0)});
  return scene;
}

// Two to four blocks on the ground, jittered.
Scene stack_case(Random& random, bool planar, PegForm form, double mu) {
  Scene scene(mu);
  settings(scene, ContactModelKind::peg, form, 0.01);
  scene.model->planar = planar;
  const Vec3 up = planar ? Vec3::UnitY() : Vec3::UnitZ();
  scene.set_gravity(-test::kGravity * up);
  scene.add_floor(Vec3::Zero(), up);
  const int n = 2 + static_cast<int>(random.below(3));
  double height = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.uniform(0.2, 0.5), y = random.uniform(0.2, 0.5), turn = random.uniform(-3, 3);
    Pose X_WB{test::turned(Vec3::UnitZ(), planar ? 0 : turn), height * up + 0.2 * up};
    X_WB.p.x() += random.uniform(-0.1, 0.1);
    const double mass = random.uniform(0.3, 3), speed = random.uniform(-0.5, 0.5);
    scene.add(make_box(planar ? Vec3(x, 0.2, 0.5) : Vec3(x, y, 0.2)), mass, X_WB, {Vec3::Zero(), Vec3(speed, 0, 0)});
    height += 0.4 + random.uniform(0, 1e-3);
  }
  return scene;
}

// n, or what TACTUS_PEG_CASES says.
int scaled(int n) {
  const char* text = std::getenv("TACTUS_PEG_CASES");
  return text != nullptr ? std::atoi(text) : n;
}

// Cases of one kind, each from a seed of its own, so that one can be repeated alone; friction in every other.
enum class Kind : std::uint8_t { planar, spatial, stack_2d, stack_3d };
Tally run_cases(Kind kind, PegForm form, int n, int steps) {
  Tally tally;
  for (int i = 0; i < n; ++i) {
    Random random(static_cast<std::uint64_t>(kind) * 1'000'000 + static_cast<std::uint64_t>(i));
    const double mu = 0.4 * static_cast<double>(random.below(2));
    const int before = tally.solved;
    switch (kind) {
      case Kind::planar:
        run_case(planar_case(random, form, mu), steps, tally);
        break;
      case Kind::spatial:
        run_case(spatial_case(random, form, mu), steps, tally);
        break;
      default:
        run_case(stack_case(random, kind == Kind::stack_2d, form, 0.5), steps, tally);
    }
    if (tally.solved == before && form == PegForm::repaired) {
      MESSAGE("case " << i << " of kind " << static_cast<int>(kind) << " is not solved");
    }
  }
  return tally;
}

void show(const char* what, const Tally& t) {
  MESSAGE(std::string(what) << ": solved " << t.solved << " of " << t.cases << ", touched " << t.touched
                            << ", fallbacks " << t.fallbacks << ", failures " << t.failures << ", worst residual "
                            << t.residual << ", overlap " << t.overlap << " m, over what turning explains " << t.over);
}

}  // namespace

TEST_CASE("peg, repaired: random polygons, polyhedra and stacks are all solved without fallback, and stay apart") {
  struct {
    Kind kind;
    const char* name;
    int cases, steps;
  } const rows[] = {{Kind::planar, "planar", 400, 4},
                    {Kind::spatial, "spatial", 400, 4},
                    {Kind::stack_2d, "stacks 2d", 100, 10},
                    {Kind::stack_3d, "stacks 3d", 100, 10}};
  for (const auto& row : rows) {
    const Tally t = run_cases(row.kind, PegForm::repaired, scaled(row.cases), row.steps);
    show(row.name, t);
    CHECK(t.solved == t.cases);
    CHECK(t.touched > t.cases / 2);
    CHECK(t.over <= 1e-9);
  }
}

TEST_CASE("peg, printed: what it solves of the same cases is counted; nothing is left unsolved by its fallback") {
  struct {
    Kind kind;
    const char* name;
    int cases;
  } const rows[] = {{Kind::planar, "printed, planar", 100}, {Kind::spatial, "printed, spatial", 30}};
  for (const auto& row : rows) {
    const Tally t = run_cases(row.kind, PegForm::printed, scaled(row.cases), 1);
    show(row.name, t);
    CHECK(t.failures == 0);
    CHECK(t.residual <= 1e-9);
    CHECK(t.solved > t.cases / 2);
  }
}

}  // namespace tactus
