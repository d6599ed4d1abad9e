// Triangle meshes in convex hollows: the places are the corners nearest to the wall, each as far from it as a ball of
// no size is; what rests there rests as the same box made of faces, under each model; what is shot at the wall stays
// in.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/collide/places/mesh_places.h"
#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/alloc_guard.h"
#include "tests/support/fixed_shape.h"
#include "tests/support/meshes.h"
#include "tests/support/models.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

struct Hollows {
  std::vector<std::unique_ptr<SmoothSurface>> all;
  Hollows() {
    std::string error;
    all.push_back(make_cavity(make_ellipsoid({1, 0.8, 0.6})));
    all.push_back(make_cavity(make_patched_ellipsoid({1, 0.8, 0.6})));
    all.push_back(make_cavity(make_superellipsoid({1, 0.8, 0.6}, 0.7, 0.8)));
    all.push_back(make_cavity(make_revolution(test::egg_profile(), error)));
  }
};

constexpr double kBall = 1e-4;  // that a point is looked at as: too small to touch in two places

struct Nearest {
  double d = 1e9;
  Vec3 p_W, nhat_W;  // of the wall
};
Nearest nearest_vertex(const TriangleMesh& mesh, const Frame& X_WM, const Shape& wall, const Frame& X_WB) {
  Nearest out;
  for (const Vec3& v : mesh.vertices) {
    const Vec3 p_W = X_WM * v;
    ExtremalSide a, b;
    const ExtremalPair pair = extremal_points(wall, X_WB, make_sphere(kBall), {Mat3::Identity(), p_W}, a, b);
    REQUIRE(pair.known());
    if (pair.d + kBall < out.d) out = {pair.d + kBall, p_W, -pair.nhat_BA_W};
  }
  return out;
}

TEST_CASE("mesh in a hollow: the nearest place is the corner nearest to the wall, whatever the mesh") {
  const Hollows hollows;
  const test::MeshPtr meshes[] = {test::finish_mesh(test::box_mesh({0.1, 0.08, 0.05}, 3, 2, 2)),
                                  test::finish_mesh(test::sphere_mesh(0.1, 1)),
                                  test::finish_mesh(test::l_prism_mesh(0.15, 0.04, 0.1, 2))};
  Random rng(71);
  int touching = 0;
  for (const auto& surface : hollows.all) {
    const double scale = surface->radius();
    for (const test::MeshPtr& mesh : meshes) {
      for (int i = 0; i < 6; ++i) {
        const Shape wall = make_smooth(surface.get()), body = make_mesh(mesh.get());
        const Frame X_WB{rng.rotation().toRotationMatrix(), rng.in_cube(1)};
        Frame X_WM{rng.rotation().toRotationMatrix(), X_WB * surface->centre()};
        // Towards the wall until a corner is about there.
        const Vec3 way = rng.direction();
        const double gaps[] = {2e-3, -1e-3, -0.02};
        Nearest expected;
        for (int k = 0; k < 8; ++k) {
          expected = nearest_vertex(*mesh, X_WM, wall, X_WB);
          if (k < 7) X_WM.p += (expected.d - gaps[i % 3]) / std::max(0.2, -expected.nhat_W.dot(way)) * way;
        }
        CAPTURE(std::string(to_string(surface->kind())));
        CAPTURE(i);
        const double reach = 5e-3;
        MeshPlaces found;
        find_mesh_places(body, X_WM, wall, X_WB, reach, {}, found);
        CHECK(found.dropped == 0);
        CHECK((found.count > 0) == (expected.d < reach));
        if (found.count == 0) continue;
        ++touching;
        const ExtremalPair& pair = found.place[0].pair;
        CHECK_WITHIN(pair.d - expected.d, 1e-12 * scale);
        CHECK_WITHIN((pair.pa_W - expected.p_W).norm(), 1e-9);
        // The wall's normal there, which points into the hollow.
        CHECK_WITHIN((pair.pa_W - pair.pb_W - pair.d * pair.nhat_BA_W).norm(), 1e-12 * scale);
        CHECK(pair.nhat_BA_W.dot(X_WB * surface->centre() - pair.pb_W) > 0);
        // The other way round.
        MeshPlaces turned;
        find_mesh_places(wall, X_WB, body, X_WM, reach, {}, turned);
        REQUIRE(turned.count == found.count);
        CHECK(turned.place[0].pair.d == pair.d);
        CHECK(turned.place[0].pair.nhat_BA_W == -pair.nhat_BA_W);
      }
    }
  }
  CHECK(touching > 60);
}

struct Rest {
  Vec3 p_W;
  double fastest = 0, deepest = 0;  // in the last half second
  std::uint64_t failures = 0, allocations = 0, fallbacks = 0;
  std::uint32_t points = 0, unresolved = 0;
};

Rest come_to_rest(const Shape& wall, const Shape& body, const test::Stepping& stepping) {
  test::Scene scene(0.5);
  stepping.set(*scene.model);
  test::add_fixed(scene, wall);
  const BodyIndex b = scene.add(body, 1, {test::turned(Vec3(2, 1, 3), 0.35), {0.15, 0.1, -0.3}});
  World world = scene.world();
  Rest out;
  for (int i = 0; i < 3000; ++i) {
    const test::AllocGuard guard;
    const StepReport report = world.step();
    out.allocations += guard.count();
    out.failures += report.solver_failures;
    out.fallbacks += report.witnesses.fallbacks;
    out.unresolved += report.exact.unresolved + report.exact.exhausted;
    if (i < 2500) continue;
    out.deepest = std::max(out.deepest, report.depth_max);
    out.fastest = std::max({out.fastest, world.state().v_WBcm(b).norm(), world.state().w_WB(b).norm()});
  }
  out.p_W = world.state().p_WBcm(b);
  out.points = world.contacts().point_count;
  return out;
}

// A box of triangles, its faces divided, beside the same box of six faces.
TEST_CASE("mesh in a hollow: a box of triangles comes to rest in a bowl where a box does, under each model") {
  const Hollows hollows;
  const Vec3 half(0.15, 0.125, 0.1);
  const test::MeshPtr mesh = test::finish_mesh(test::box_mesh(half, 4, 3, 3));
  for (std::size_t k = 0; k < 3; ++k) {
    const Shape wall = make_smooth(hollows.all[k].get());
    for (const test::Stepping& stepping : test::kAllSteppings) {
      if (stepping.kind == ContactModelKind::deepest) continue;  // takes one point a manifold
      CAPTURE(stepping.name());
      CAPTURE(k);
      const Rest rest = come_to_rest(wall, make_mesh(mesh.get()), stepping);
      CHECK(rest.allocations == 0);
      CHECK(rest.failures == 0);
      CHECK(rest.fallbacks == 0);
      CHECK(rest.unresolved == 0);
      CHECK(rest.points >= 3);
      CHECK(rest.deepest < 1e-5);
      CHECK(rest.fastest < 1e-4);
      const Rest box = come_to_rest(wall, make_box(half), stepping);
      CHECK((rest.p_W - box.p_W).norm() < 2e-3);
    }
  }
}

TEST_CASE("mesh in a hollow: what lies in the wall as a whole is not met") {
  const Hollows hollows;
  const test::MeshPtr mesh = test::finish_mesh(test::box_mesh({0.1, 0.08, 0.05}, 3, 2, 2));
  for (const auto& surface : hollows.all) {
    CAPTURE(std::string(to_string(surface->kind())));
    const Shape wall = make_smooth(surface.get());
    for (const Vec3& way : {Vec3(1, 1, 1), Vec3(0, 0, -1), Vec3(2, -1, 0.5)}) {
      const Vec3 n = way.normalized();
      for (const double beyond : {0.14, 0.3}) {  // of its middle: just beyond, and far
        test::Scene scene(0.3);
        scene.set_gravity(Vec3::Zero());
        test::add_fixed(scene, wall);
        const Vec3 p = surface->support(n) + beyond * n;
        const BodyIndex body = scene.add(make_mesh(mesh.get()), 1, {test::turned(Vec3(1, 2, 3), 1), p});
        World world = scene.world();
        CHECK(world.step().contacts == 0);
        CHECK(world.state().v_WBcm(body).norm() == 0);
      }
    }
  }
}

TEST_CASE("mesh in a hollow: what is continuous is not shot through the wall, and without the option it is") {
  const Hollows hollows;
  const test::MeshPtr mesh = test::finish_mesh(test::box_mesh({0.01, 0.008, 0.005}, 2, 2, 2));
  for (const auto& surface : hollows.all) {
    CAPTURE(std::string(to_string(surface->kind())));
    for (const bool continuous : {true, false}) {
      test::Scene scene(0.3);
      scene.set_gravity(Vec3::Zero());
      scene.model->contact_model = ContactModelKind::st;
      test::add_fixed(scene, make_smooth(surface.get()));
      const BodyIndex bullet = scene.add(make_mesh(mesh.get()), 0.01, {Quat::Identity(), surface->centre()},
                                         {Vec3(5, 9, 3), Vec3(310, 120, 70)});
      scene.model->bodies[bullet].continuous = continuous;
      World world = scene.world();
      bool left = false;
      for (int i = 0; i < 50; ++i) {
        world.step();
        ExtremalSide a, b;
        const Vec3 p_W = world.state().p_WBcm(bullet);
        left = left || (p_W - surface->centre()).norm() > 1.2 * surface->radius() ||
               extremal_points(make_sphere(kBall), {Mat3::Identity(), p_W}, make_smooth(surface.get()), {}, a, b).d <
                   -0.02;
      }
      CHECK(left == !continuous);
    }
  }
}

}  // namespace
}  // namespace tactus
