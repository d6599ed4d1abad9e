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

struct Tally {
  int cases = 0, solved = 0, fallbacks = 0, failures = 0, touched = 0;
  double residual = 0, overlap = 0;  // worst
};

// One case: a scene whose bodies are apart, some steps of it. *Solved*: no failure, no fallback, residual at most 1e-9.
void run_case(Scene scene, int steps, Tally& tally) {
  finish_model(*scene.model);
  scene.limits.pairs = 16;
  scene.limits.problem_contacts = 512;
  World world(std::move(scene.model), scene.limits);
  bool solved = true;
  for (int i = 0; i < steps; ++i) {
    const StepReport report = world.step();
    solved = solved && report.solver_failures == 0 && report.solver_fallbacks == 0 && report.solver_residual <= 1e-9;
    tally.fallbacks += static_cast<int>(report.solver_fallbacks);
    tally.failures += static_cast<int>(report.solver_failures);
    tally.residual = std::max(tally.residual, report.solver_residual);
    if (i == 0) tally.touched += report.solver_iterations > 0 ? 1 : 0;
  }
  ++tally.cases;
  tally.solved += solved ? 1 : 0;
  const auto flat = [&](BodyIndex b) { return world.model().shapes[b].shape.kind == ShapeKind::half_space; };
  for (BodyIndex a = 0; a < world.state().body_count(); ++a) {
    for (BodyIndex b = 0; b < a; ++b) {
      if (!flat(a) && !flat(b)) tally.overlap = std::max(tally.overlap, -test::gap_between(world, a, b));
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
  std::vector<Vec3> a = test::regular_polygon(3 + static_cast<int>(random.below(4)), random.uniform(0.3, 0.6));
  std::vector<Vec3> b = test::regular_polygon(3 + static_cast<int>(random.below(4)), random.uniform(0.3, 0.6));
  double turn_a = random.uniform(-M_PI, M_PI), turn_b = random.uniform(-M_PI, M_PI);
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
  test::add_hull(scene, test::prism(a), random.uniform(0.3, 3), X_WA, {}, mode);
  test::add_hull(scene, test::prism(b), random.uniform(0.3, 3), X_WB,
                 {Vec3(0, 0, random.uniform(-1, 1)), Vec3(-speed, random.uniform(-0.3, 0.3), 0)});
  return scene;
}

// Two polyhedra: boxes or tetrahedra, corner on corner, corner on edge, edge on edge, anything.
Scene spatial_case(Random& random, PegForm form, double mu) {
  Scene scene(mu);
  settings(scene, ContactModelKind::peg, form, 0.01);
  scene.set_gravity(Vec3::Zero());
  const auto shape = [&random] {
    if (random.below(2) == 0) {
      return test::box_corners(Vec3{random.uniform(0.2, 0.5), random.uniform(0.2, 0.5), random.uniform(0.2, 0.5)});
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
    const Quat slight(Eigen::AngleAxisd(random.uniform(-0.1, 0.1), random.in_cube(1).normalized()));
    return Quat(slight * roll * Quat::FromTwoVectors(d, to)).normalized();
  };
  const Pose X_WA{facing(a, Vec3::UnitX()), Vec3::Zero()};
  Pose X_WB{facing(b, -Vec3::UnitX()), Vec3::Zero()};
  const Vec3 side{0, random.uniform(-0.05, 0.05), random.uniform(-0.05, 0.05)};
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
  test::add_hull(scene, a, random.uniform(0.3, 3), X_WA, {}, mode);
  test::add_hull(scene, b, random.uniform(0.3, 3), X_WB,
                 {random.in_cube(0.6), Vec3{-random.uniform(0.2, 1.5), random.uniform(-0.2, 0.2), 0}});
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
    const Vec3 half{random.uniform(0.2, 0.5), planar ? 0.2 : random.uniform(0.2, 0.5), planar ? 0.5 : 0.2};
    Pose X_WB{test::turned(Vec3::UnitZ(), planar ? 0 : random.uniform(-3, 3)), height * up + 0.2 * up};
    X_WB.p.x() += random.uniform(-0.1, 0.1);
    scene.add(make_box(half), random.uniform(0.3, 3), X_WB, {Vec3::Zero(), Vec3(random.uniform(-0.5, 0.5), 0, 0)});
    height += 0.4 + random.uniform(0, 1e-3);
  }
  return scene;
}

int scaled(int n) {
  const char* text = std::getenv("TACTUS_PEG_CASES");
  return text != nullptr ? std::atoi(text) : n;
}

void show(const char* what, const Tally& t) {
  MESSAGE(std::string(what) << ": solved " << t.solved << " of " << t.cases << ", touched " << t.touched
                            << ", fallbacks " << t.fallbacks << ", failures " << t.failures << ", worst residual "
                            << t.residual << ", overlap " << t.overlap << " m");
}

}  // namespace

TEST_CASE("peg, repaired: random polygons, polyhedra and stacks are all solved without fallback, and stay apart") {
  Random random(5);
  Tally planar, spatial, stacks_2d, stacks_3d;
  for (int i = 0; i < scaled(4000); ++i)
    run_case(planar_case(random, PegForm::repaired, random.below(2) * 0.4), 4, planar);
  show("planar", planar);
  for (int i = 0; i < scaled(4000); ++i)
    run_case(spatial_case(random, PegForm::repaired, random.below(2) * 0.4), 4, spatial);
  show("spatial", spatial);
  for (int i = 0; i < scaled(1000); ++i) run_case(stack_case(random, true, PegForm::repaired, 0.5), 10, stacks_2d);
  show("stacks 2d", stacks_2d);
  for (int i = 0; i < scaled(1000); ++i) run_case(stack_case(random, false, PegForm::repaired, 0.5), 10, stacks_3d);
  show("stacks 3d", stacks_3d);
  for (const Tally& t : {planar, spatial, stacks_2d, stacks_3d}) {
    CHECK(t.solved == t.cases);
    CHECK(t.touched > t.cases / 2);
  }
}

TEST_CASE("peg, printed: what it solves of the same cases is counted; nothing is left unsolved by its fallback") {
  Random random(5);
  Tally planar, spatial;
  for (int i = 0; i < scaled(1000); ++i)
    run_case(planar_case(random, PegForm::printed, random.below(2) * 0.4), 1, planar);
  for (int i = 0; i < scaled(300); ++i)
    run_case(spatial_case(random, PegForm::printed, random.below(2) * 0.4), 1, spatial);
  show("printed, planar", planar);
  show("printed, spatial", spatial);
}

}  // namespace tactus
