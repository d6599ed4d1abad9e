// Golden hashes: the same bits at -O0 and -O3, with g++ and clang, on the default instruction set. A hash that changes
// on purpose is a line in CHANGELOG.md. Scenes use no libm function but the square root, whose result is exact.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "tests/support/scenes.h"

namespace tactus {
namespace {

using test::Scene;

// Two boxes and two spheres that fall askew on a floor and on each other.
Scene tumble(ContactModelKind kind, Integrator integrator) {
  Scene scene(0.5, 0.25);
  scene.model->contact_model = kind;
  scene.model->integrator = integrator;
  scene.add_floor();
  const Quat askew = Quat(4, 1, -2, 0.5).normalized();
  scene.add(make_box(Vec3(0.25, 0.125, 0.0625)), 2, {askew, Vec3(0, 0, 0.5)}, {Vec3(1, 2, -3), Vec3(0.5, 0, 0)});
  scene.add(make_box(Vec3(0.125, 0.125, 0.125)), 1, {askew.conjugate(), Vec3(0.0625, 0, 1)},
            {Vec3(0, 1, 0), Vec3::Zero()});
  scene.add(make_sphere(0.125), 1.5, test::at(-0.125, 0.0625, 1.5), {Vec3(3, 0, 0), Vec3(0, 0, -1)});
  scene.add(make_sphere(0.1875), 3, test::at(0.0625, -0.0625, 2), {Vec3::Zero(), Vec3(0.25, 0, 0)});
  return scene;
}

Scene standing(ContactModelKind kind, Integrator integrator) {
  Scene scene;
  scene.model->contact_model = kind;
  scene.model->integrator = integrator;
  scene.add_floor();
  for (int i = 0; i < 4; ++i) scene.add(make_box(Vec3::Constant(0.5)), 1, test::at(0.015625 * i * i, 0, 0.5 + i));
  return scene;
}

struct Golden {
  const char* name;
  Scene (*scene)(ContactModelKind, Integrator);
  ContactModelKind kind;
  Integrator integrator;
  int ticks;
  std::uint64_t hash;
};

constexpr Golden kGolden[] = {
    {"tumble", tumble, ContactModelKind::penalty, Integrator::semi_implicit_euler, 1500, 0x22670b0bbf8a6aa2ULL},
    {"tumble", tumble, ContactModelKind::penalty, Integrator::rk4, 1500, 0xa902fed5195c1b84ULL},
    {"tumble", tumble, ContactModelKind::deepest, Integrator::semi_implicit_euler, 1500, 0x28aea4b987ff3228ULL},
    {"standing", standing, ContactModelKind::penalty, Integrator::semi_implicit_euler, 1000, 0x4bae9c662f58714bULL},
    {"standing", standing, ContactModelKind::deepest, Integrator::semi_implicit_euler, 1000, 0x12c6f7cc704ee2a1ULL},
};

// -march beyond the portable default may fuse and reorder: such builds have hashes of their own.
#if defined(__x86_64__) && !defined(__SSE3__)
constexpr bool kDefaultInstructions = true;
#else
constexpr bool kDefaultInstructions = false;
#endif

TEST_CASE("golden: state hashes after a run are those committed" * doctest::skip(!kDefaultInstructions)) {
  for (const Golden& golden : kGolden) {
    World world = golden.scene(golden.kind, golden.integrator).world();
    test::run(world, golden.ticks);
    char found[32], expected[32];
    std::snprintf(found, sizeof found, "0x%016llx", static_cast<unsigned long long>(world.hash()));
    std::snprintf(expected, sizeof expected, "0x%016llx", static_cast<unsigned long long>(golden.hash));
    CHECK_MESSAGE(std::string(found) == expected, std::string(golden.name)
                                                      << ", " << std::string(to_string(golden.kind)) << ", "
                                                      << std::string(to_string(golden.integrator)) << ": found "
                                                      << found << ", committed " << expected);
  }
}

}  // namespace
}  // namespace tactus
