// After a World is built, its tick allocates nothing: counted in the build that users run, while contacts form and
// break.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "tests/support/alloc_guard.h"
#include "tests/support/scenes.h"

namespace tactus {
namespace {

using test::AllocGuard;
using test::Random;
using test::Scene;

void* volatile g_sink;  // keeps the compiler from leaving out an allocation

TEST_CASE("alloc guard: sees every way to allocate, and nothing else" * doctest::skip(!AllocGuard::available())) {
  const auto counts = [](auto allocate, auto release) {
    const AllocGuard guard;
    g_sink = allocate();
    const auto n = guard.count();
    release(g_sink);
    return n;
  };
  const auto release = [](void* p) { std::free(p); };
  const auto remove = [](void* p) { ::operator delete(p); };
  const auto remove_aligned = [](void* p) { ::operator delete(p, std::align_val_t(64)); };
  CHECK(counts([] { return std::malloc(8); }, release) == 1);
  CHECK(counts([] { return std::calloc(2, 8); }, release) == 1);
  CHECK(counts([] { return std::aligned_alloc(64, 64); }, release) == 1);
  CHECK(counts(
            []() -> void* {
              void* p = nullptr;
              return posix_memalign(&p, 64, 64) == 0 ? p : nullptr;
            },
            release) == 1);
  CHECK(counts([] { return std::realloc(std::malloc(8), 16); }, release) == 2);
  CHECK(counts([] { return ::operator new(8); }, remove) == 1);
  CHECK(counts([]() -> void* { return ::operator new(64, std::align_val_t(64)); }, remove_aligned) == 1);
  CHECK(counts([]() -> void* { return nullptr; }, release) == 0);
  const AllocGuard guard;
  std::vector<int> v(100);
  g_sink = v.data();
  CHECK(guard.count() == 1);
}

// Elastic bodies that hop for ever: contacts form and break all the time, and pairs come and go.
Scene restless(ContactModelKind kind, Integrator integrator) {
  Random random(1);
  Scene scene(0.3, 0.9);
  scene.model->contact_model = kind;
  scene.model->integrator = integrator;
  scene.add_floor();
  for (const Vec3& nhat : {Vec3(1, 0, 0), Vec3(-1, 0, 0), Vec3(0, 1, 0), Vec3(0, -1, 0)}) {
    scene.add_floor(-0.6 * nhat, nhat);
  }
  for (int i = 0; i < 12; ++i) {
    const Vec3 p(random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3), 0.3 + 0.35 * i);
    const Shape shape = i % 4 == 0   ? make_box(Vec3(0.1, 0.12, 0.08))
                        : i % 4 == 1 ? make_sphere(0.1)
                        : i % 4 == 2 ? make_cylinder(0.1, 0.1)
                                     : make_capsule(0.07, 0.1);
    scene.add(shape, random.uniform(0.5, 5), {random.rotation(), p}, {random.in_cube(3), Vec3::Zero()});
  }
  return scene;
}

TEST_CASE("tick: 10,000 ticks of every model allocate nothing" * doctest::skip(!AllocGuard::available())) {
  for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::deepest}) {
    for (const Integrator integrator : {Integrator::semi_implicit_euler, Integrator::rk4}) {
      Random random(2);
      World world = restless(kind, integrator).world();
      State saved = world.state();
      std::uint32_t changes = 0, impacts = 0, manifolds = 0;
      const AllocGuard guard;
      for (int i = 0; i < 10000; ++i) {
        // Kicks, so that the heap never comes to rest.
        if (i % 97 == 0) world.apply(5 + random.below(12), {random.in_cube(100), Vec3(0, 0, 3000)});
        if (i % 1000 == 500) world.snapshot(saved);
        if (i % 1000 == 700) world.restore(saved);
        const StepReport report = world.step();
        changes += report.manifolds != manifolds;
        manifolds = report.manifolds;
        impacts += report.impacts;
      }
      const auto n = guard.count();
      CHECK(n == 0);
      CHECK(changes > 500);
      CHECK(impacts > 100);
      CHECK(world.state().tick > 5000);
    }
  }
}

TEST_CASE("tick: steps of the models with complementarity allocate nothing, what they fall back on included" *
          doctest::skip(!AllocGuard::available())) {
  for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st, ContactModelKind::ap}) {
    for (const double mu : {0.3, 3.0}) {  // the larger one wedges bodies, so that other solvers are tried
      Random random(3);
      Scene scene = restless(kind, Integrator::semi_implicit_euler);
      scene.model->step = 4e-3;
      scene.model->materials[0].friction.mu_static = scene.model->materials[0].friction.mu_dynamic = mu;
      World world = scene.world();
      State saved = world.state();
      std::uint32_t touched = 0;
      const AllocGuard guard;
      for (int i = 0; i < 400; ++i) {
        if (i % 97 == 0) world.apply(5 + random.below(12), {random.in_cube(100), Vec3(0, 0, 1000)});
        if (i % 200 == 100) world.snapshot(saved);
        if (i % 200 == 150) world.restore(saved);
        touched += world.step().manifolds;
      }
      const auto n = guard.count();
      CHECK(n == 0);
      CHECK(touched > 1000);
    }
  }
}

TEST_CASE("tick: continuous bodies and forgotten witnesses allocate nothing" *
          doctest::skip(!AllocGuard::available())) {
  for (const ContactModelKind kind : {ContactModelKind::penalty, ContactModelKind::st}) {
    Scene scene = restless(kind, Integrator::semi_implicit_euler);
    for (Body& body : scene.model->bodies) body.continuous = body.mode == BodyMode::free;
    World world = scene.world();
    Random random(4);
    std::uint32_t stops = 0;
    const AllocGuard guard;
    for (int i = 0; i < 200; ++i) {
      Parameters p = world.parameters();
      p.coherence = i % 2 == 0;
      world.set_parameters(p);
      if (i % 20 == 0) world.apply(5 + random.below(12), {Vec3::Zero(), random.in_cube(2e5)});
      stops += world.step().continuous_stops;
    }
    const auto n = guard.count();
    CHECK(n == 0);
    CAPTURE(std::string(to_string(kind)));
    if (kind == ContactModelKind::penalty) CHECK(stops > 0);  // st sees what is ahead of it by itself
  }
}

TEST_CASE("tick: overload, a frozen body and a switch of model allocate nothing" *
          doctest::skip(!AllocGuard::available())) {
  Scene scene = restless(ContactModelKind::penalty, Integrator::semi_implicit_euler);
  scene.limits.pairs = 8;
  scene.limits.points_per_pair = 4;
  World world = scene.world();
  std::uint32_t dropped = 0, frozen = 0;
  const AllocGuard guard;
  for (int i = 0; i < 3000; ++i) {
    if (i % 100 == 0) world.set_model(i % 200 ? ContactModelKind::deepest : ContactModelKind::penalty);
    if (i == 2000) {
      for (int k = 0; k < 2; ++k) world.apply(7, {Vec3::Zero(), Vec3::Constant(1.7e308)});
    }
    const StepReport report = world.step();
    dropped += report.pairs_dropped + report.points_dropped;
    frozen += report.bodies_frozen;
  }
  const auto n = guard.count();
  CHECK(n == 0);
  CHECK(dropped > 0);
  CHECK(frozen == 1);
}

}  // namespace
}  // namespace tactus
