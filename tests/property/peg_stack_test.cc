// lnc and peg: stacks stand, blocks slide as if edges and seams were not there, and what moves is carried.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/alloc_guard.h"
#include "tests/support/polygons.h"

namespace tactus {
namespace {

using test::kGravity;
using test::Scene;

World world_of(Scene scene, ContactModelKind kind, double h) {
  scene.model->contact_model = kind;
  scene.model->step = h;
  scene.limits.problem_contacts = 2048;
  return scene.world();
}

void check_solved(const StepReport& report) {
  CHECK(report.solver_failures == 0);
  CHECK(report.solver_fallbacks == 0);
  CHECK(report.solver_residual <= 1e-9);
}

constexpr ContactModelKind kBoth[] = {ContactModelKind::lnc, ContactModelKind::peg};

}  // namespace

TEST_CASE("peg: stacks of 5, 10 and 20 cubes, aligned and jittered, stand for 10 s without fallback") {
  for (const int n : {5, 10, 20}) {
    for (const bool jitter : {false, true}) {
      CAPTURE(n);
      CAPTURE(jitter);
      World world = world_of(test::stack(n, jitter), ContactModelKind::peg, 1e-2);
      double depth = 0, residual = 0;
      std::uint32_t failures = 0, fallbacks = 0, iterations = 0;
      for (int i = 0; i < 1000; ++i) {
        const StepReport report = world.step();
        depth = std::max(depth, report.depth_max);
        residual = std::max(residual, report.solver_residual);
        failures += report.solver_failures;
        fallbacks += report.solver_fallbacks;
        iterations += report.solver_iterations;
      }
      MESSAGE(n << std::string(jitter ? " jittered" : " aligned") << ": deepest " << depth << " m, residual "
                << residual << ", factorisations a step " << iterations / 1000.0 << ", kinetic energy "
                << kinetic_energy(world.model(), world.state()) << " J, fallbacks " << fallbacks);
      CHECK(depth < 1e-9);
      CHECK(failures == 0);
      CHECK(fallbacks == 0);
      CHECK(residual <= 1e-9);
      CHECK(kinetic_energy(world.model(), world.state()) < 1e-12);
      CHECK(std::abs(world.state().p_WBcm(static_cast<BodyIndex>(n)).z() - (n - 0.5)) < 1e-4);
    }
  }
}

// Corners exactly on edges: for lnc falling through is as good an answer as resting, and what rests is to go on
// resting.
TEST_CASE("lnc, peg: bricks that lie edge exactly over edge stay where they are") {
  for (const ContactModelKind kind : kBoth) {
    for (const double yaw : {0.0, M_PI / 2, 0.3}) {
      CAPTURE(std::string(to_string(kind)));
      CAPTURE(yaw);
      Scene scene(0.5);
      scene.add_floor();
      const Quat q = test::turned(Vec3::UnitZ(), yaw);
      for (int row = 0; row < 3; ++row) {
        for (int k = 0; k < 3 - row; ++k) {
          const Vec3 p(0.2 * k + 0.1 * row, 0, 0.05 + 0.1 * row);
          scene.add(make_box(Vec3(0.1, 0.05, 0.05)), 0.5, {q, q * p});
        }
      }
      World world = world_of(std::move(scene), kind, 1e-2);
      const State start = world.state();
      for (int i = 0; i < 300; ++i) check_solved(world.step());
      for (BodyIndex b = 1; b < start.body_count(); ++b) {
        CHECK((world.state().p_WBcm(b) - start.p_WBcm(b)).norm() < 1e-9);
      }
    }
  }
}

TEST_CASE("lnc, peg: a sliding box loses mu g h of speed a step, to 1e-6") {
  for (const ContactModelKind kind : kBoth) {
    for (const double angle : {0.0, 0.3, 2.5}) {
      for (const bool on_box : {false, true}) {
        Scene scene(0.3);
        if (on_box) {
          scene.add(make_box(Vec3(20, 20, 1)), 1, test::at(0, 0, -1), {}, 0, BodyMode::fixed);
        } else {
          scene.add_floor();
        }
        const Vec3 along(std::cos(angle), std::sin(angle), 0);
        scene.add(make_box(Vec3(0.5, 0.5, 0.1)), 3, test::at(0, 0, 0.1), {Vec3::Zero(), 2 * along});
        World world = world_of(std::move(scene), kind, 0.01);
        for (int n = 1; n <= 60; ++n) {
          check_solved(world.step());
          CHECK((world.state().v_WBcm(1) - (2 - 0.3 * kGravity * 0.01 * n) * along).norm() < 1e-6);
        }
        test::run(world, 20);
        CHECK(world.state().v_WBcm(1).norm() < 1e-12);
      }
    }
  }
}

TEST_CASE("lnc, peg: a block slides over the seam between two blocks, and over an edge, as over one plane") {
  for (const ContactModelKind kind : kBoth) {
    for (const bool planar : {false, true}) {
      for (int k = 0; k < 20; ++k) {
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(planar);
        CAPTURE(k);
        Scene scene(0.2);
        scene.model->planar = planar;
        const Vec3 up = planar ? Vec3::UnitY() : Vec3::UnitZ();
        if (planar) scene.set_gravity(-kGravity * up);
        const Vec3 half = planar ? Vec3(1, 0.5, 1) : Vec3(1, 1, 0.5);
        for (const double x : {-1.0, 1.0}) {
          scene.add(make_box(half), 1, {Quat::Identity(), x * Vec3::UnitX() - 0.5 * up}, {}, 0, BodyMode::fixed);
        }
        const Vec3 v(1.5, 0, 0), small = planar ? Vec3(0.2, 0.1, 0.2) : Vec3(0.2, 0.2, 0.1);
        const Vec3 start = (-0.6037 + 0.0034 * k) * Vec3::UnitX() + 0.1 * up + (planar ? 0.0 : 0.05) * Vec3::UnitY();
        scene.add(make_box(small), 1, {Quat::Identity(), start}, {Vec3::Zero(), v});
        World world = world_of(std::move(scene), kind, 0.01);
        for (int n = 1; n <= 70; ++n) {
          check_solved(world.step());
          CHECK((world.state().v_WBcm(2) - (1.5 - 0.2 * kGravity * 0.01 * n) * Vec3::UnitX()).norm() < 1e-6);
        }
        CHECK(world.state().p_WBcm(2).x() > -0.1);
      }
    }
  }
}

TEST_CASE("lnc, peg: a block pushed over the end of a table falls past its edge: no trap") {
  for (const ContactModelKind kind : kBoth) {
    for (int k = 0; k < 10; ++k) {
      Scene scene(0.1);
      scene.add(make_box(Vec3(1, 1, 0.5)), 1, test::at(-1, 0, -0.5), {}, 0, BodyMode::fixed);
      scene.add(make_box(Vec3(0.2, 0.2, 0.2)), 1, test::at(-0.5 + 0.003 * k, 0, 0.2), {Vec3::Zero(), Vec3(2, 0, 0)});
      World world = world_of(std::move(scene), kind, 0.005);
      double worst = 0;
      for (int n = 0; n < 160; ++n) {
        check_solved(world.step());
        worst = std::max(worst, -test::gap_between(world, 0, 1));
      }
      // 0.8 s: off the edge at about 1.8 m/s, and fallen.
      CHECK(world.state().p_WBcm(1).x() > 0.7);
      CHECK(world.state().p_WBcm(1).z() < -0.3);
      CHECK(worst < 2e-3);
    }
  }
}

TEST_CASE("lnc, peg: a kinematic platform carries a block along and up; d psi / d t enters") {
  for (const ContactModelKind kind : kBoth) {
    Scene scene(0.8);
    scene.add(make_box(Vec3(1, 1, 0.1)), 1, test::at(0, 0, -0.1), {Vec3::Zero(), Vec3(0.5, 0.2, 0.3)}, 0,
              BodyMode::kinematic);
    scene.add(make_box(Vec3(0.2, 0.2, 0.2)), 2, test::at(0.1, 0, 0.2));
    World world = world_of(std::move(scene), kind, 0.01);
    for (int n = 0; n < 100; ++n) check_solved(world.step());
    CHECK((world.state().v_WBcm(1) - Vec3(0.5, 0.2, 0.3)).norm() < 1e-9);
    CHECK(std::abs(test::gap_between(world, 0, 1)) < 1e-9);
  }
}

TEST_CASE("lnc, peg: an overlap at the start leaves at the clamped speed") {
  for (const ContactModelKind kind : kBoth) {
    for (const bool planar : {false, true}) {
      Scene scene(0.3);
      scene.model->planar = planar;
      const Vec3 up = planar ? Vec3::UnitY() : Vec3::UnitZ();
      scene.set_gravity(-kGravity * up);
      scene.model->parameters.overlap_relax_speed = 0.2;
      scene.add(make_box(Vec3::Constant(0.5)), 1, {Quat::Identity(), -0.5 * up}, {}, 0, BodyMode::fixed);
      scene.add(make_box(Vec3::Constant(0.3)), 1, {Quat::Identity(), 0.27 * up});
      World world = world_of(std::move(scene), kind, 0.01);
      double fastest = 0, last = 0.03;
      for (int n = 0; n < 60; ++n) {
        check_solved(world.step());
        fastest = std::max(fastest, world.state().v_WBcm(1).norm());
        const double depth = -test::gap_between(world, 0, 1);
        CHECK(depth <= std::max(last, 0.0) + 1e-12);
        last = depth;
      }
      CHECK(fastest <= 0.2 + 1e-9);
      CHECK(last < 1e-6);
    }
  }
}

TEST_CASE("lnc, peg: a cube lands with e times its speed, and round shapes rest among polyhedra") {
  for (const ContactModelKind kind : kBoth) {
    Scene scene(0.4, 0.5);
    scene.add(make_box(Vec3(2, 2, 0.5)), 1, test::at(0, 0, -0.5), {}, 0, BodyMode::fixed);
    scene.add(make_box(Vec3::Constant(0.2)), 1, test::at(0, 0, 0.5));
    World world = world_of(std::move(scene), kind, 1e-3);
    double before = 0;
    for (int i = 0; i < 2000; ++i) {
      before = world.state().v_WBcm(1).z();
      check_solved(world.step());
      if (world.state().v_WBcm(1).z() > before) break;
    }
    CHECK(before < -2);
    CHECK(world.state().v_WBcm(1).z() == doctest::Approx(-0.5 * before).epsilon(1e-9));

    Scene heap(0.4);
    heap.add(make_box(Vec3(2, 2, 0.5)), 1, test::at(0, 0, -0.5), {}, 0, BodyMode::fixed);
    heap.add(make_sphere(0.2), 1, test::at(0.5, 0, 0.2));
    heap.add(make_cylinder(0.2, 0.1), 1, test::at(-0.5, 0, 0.1));
    heap.add(make_box(Vec3::Constant(0.1)), 1, test::at(-0.5, 0, 0.3));
    World rest = world_of(std::move(heap), kind, 0.01);
    for (int i = 0; i < 100; ++i) CHECK(rest.step().solver_failures == 0);
    CHECK(kinetic_energy(rest.model(), rest.state()) < 1e-12);
    CHECK(std::abs(rest.state().p_WBcm(3).z() - 0.3) < 1e-6);
  }
}

TEST_CASE("lnc, peg: two worlds stay equal to the bit, also from a snapshot; no step allocates") {
  for (const ContactModelKind kind : kBoth) {
    for (const PegForm form : {PegForm::repaired, PegForm::printed}) {
      if (kind == ContactModelKind::lnc && form == PegForm::printed) continue;
      const auto make = [&] {
        Scene scene(0.4, 0.2);
        scene.add_floor();
        scene.model->parameters.peg_form = form;
        test::Random random(9);
        const int n = form == PegForm::printed ? 4 : 10;
        for (int i = 0; i < n; ++i) {
          const Vec3 p = Vec3(0, 0, 0.3 + 0.3 * i) + random.in_cube(0.1);
          const Quat q = random.rotation();
          scene.add(i % 5 != 4 ? make_box(Vec3(0.1, 0.12, 0.08)) : make_sphere(0.1), 1, {q, p});
        }
        return world_of(std::move(scene), kind, 5e-3);
      };
      World a = make(), b = make();
      State saved = a.state();
      std::uint32_t failures = 0, fallbacks = 0;
      for (int i = 0; i < 200; ++i) {
        {
          const test::AllocGuard guard;
          const StepReport report = a.step();
          failures += report.solver_failures, fallbacks += report.solver_fallbacks;
          if (test::AllocGuard::available()) CHECK(guard.count() == 0);
        }
        b.step();
        REQUIRE(a.hash() == b.hash());
        if (i == 99) a.snapshot(saved);
      }
      REQUIRE(b.restore(saved));
      for (int i = 0; i < 100; ++i) b.step();
      CHECK(a.hash() == b.hash());
      MESSAGE(std::string(to_string(kind))
              << std::string(form == PegForm::printed ? " printed" : "") << ": 200 steps of a heap, failures "
              << failures << ", fallbacks " << fallbacks);
    }
  }
}

}  // namespace tactus
