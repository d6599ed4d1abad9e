// Smooth shapes in scenes: keys, mass, sharing, and refusals that name file, line and key.
#include <doctest/doctest.h>

#include <numbers>
#include <set>

#include "core/check.h"
#include "core/scene/scene.h"
#include "core/shape/smooth/smooth_surface.h"
#include "core/tool_planes.h"
#include "core/world.h"
#include "tests/support/smooth_surfaces.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

// The shape's table begins in line 5, its keys in line 6.
std::string scene(const std::string& keys, const std::string& body = "density_kg_per_m3 = 1000") {
  return "[[body]]\nname = \"a\"\n" + body + "\n\n[[body.shape]]\n" + keys + "\n";
}
std::string complaint(const std::string& text) {
  try {
    parse_scene(text, "f.toml", {});
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}
void check_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const auto& part : parts) CHECK_MESSAGE(message.find(part) != std::string::npos, message << " lacks " << part);
}

TEST_CASE("scene smooth: an ellipsoid in either form has an ellipsoid's mass") {
  for (const char* form : {"implicit", "parametric"}) {
    const auto model = parse_scene(
        scene("kind = \"ellipsoid\"\nradii_m = [0.3, 0.2, 0.5]\nform = \"" + std::string(form) + "\""), "f.toml", {});
    const Shape& shape = model->shapes.at(0).shape;
    REQUIRE(shape.kind == ShapeKind::smooth);
    CHECK(shape.smooth->kind() == SmoothKind::ellipsoid);
    CHECK(shape.smooth->parametric() == (form == std::string("parametric")));
    const double mass = 1000 * 4.0 / 3.0 * std::numbers::pi * 0.3 * 0.2 * 0.5;
    CHECK_WITHIN(model->bodies[0].mass / mass - 1, 1e-14);
    const Vec3 expected = mass / 5 * Vec3(0.04 + 0.25, 0.09 + 0.25, 0.09 + 0.04);
    CHECK_WITHIN((model->bodies[0].I_BBcm.diagonal() - expected).norm() / expected.norm(), 1e-14);
  }
}

TEST_CASE("scene smooth: the mass centre of an egg is its own, and its inertia about it") {
  const auto model = parse_scene(
      scene("kind = \"revolution\"\nprofile_m = [[0, -0.2], [0.2, -0.2], [0.2, 0.1], [0.05, 0.4], [0, 0.4]]"), "f.toml",
      {});
  const Body& egg = model->bodies.at(0);
  CHECK(egg.p_BBcm.z() < 0.05);  // the blunt end is below
  CHECK(egg.p_BBcm.head<2>().norm() == 0);
  CHECK_WITHIN((model->shapes[0].X_BcmS.p + egg.p_BBcm).norm(), 1e-15);
}

TEST_CASE("scene smooth: every kind loads, is owned by the model and is stepped") {
  SceneOptions options;
  const std::shared_ptr<const Model> model =
      load_scene(std::string(TACTUS_SOURCE_DIR) + "/config/scenes/smooth_shapes.toml", options);
  std::set<SmoothKind> kinds;
  bool cavity = false;
  for (const auto& surface : model->smooth_surfaces) {
    kinds.insert(surface->kind());
    cavity = cavity || surface->cavity();
  }
  CHECK(kinds.size() == 5);
  CHECK(cavity);
  World world(model, Limits{});
  for (int i = 0; i < 10; ++i) world.step();
  CHECK(world.state().time == doctest::Approx(0.01));
}

TEST_CASE("scene smooth: splines of two and of three ways") {
  const auto load = [](const std::vector<Vec3>& control, const std::string& grid) {
    std::string points;
    for (const Vec3& p : control) {
      points.append("[").append(std::to_string(p.x())).append(", ").append(std::to_string(p.y()));
      points.append(", ").append(std::to_string(p.z())).append("], ");
    }
    return parse_scene(scene("kind = \"spline\"\ncontrol_points_m = [" + points + "]\ncontrol_grid = " + grid),
                       "f.toml", {});
  };
  const auto ring = load(test::torus_control(8, 6), "[8, 6]"), ball = load(test::ball_control(4, 4, 4), "[4, 4, 4]");
  CHECK(ring->shapes.at(0).shape.smooth->topology() == SmoothTopology::torus);
  CHECK(ball->shapes.at(0).shape.smooth->topology() == SmoothTopology::sphere);
  CHECK(ring->bodies[0].mass > 0);
  CHECK(ball->bodies[0].mass > 0);
}

TEST_CASE("scene smooth: bodies of a generator share one surface") {
  const auto model = parse_scene(
      "[[generate]]\nkind = \"grid\"\nname = \"g\"\ncount = [3, 2, 1]\npitch_m = [1, 1, 1]\n[generate.body]\n"
      "mass_kg = 1\n[[generate.body.shape]]\nkind = \"torus\"\nring_radius_m = 0.2\ntube_radius_m = 0.1\n",
      "f.toml", {});
  CHECK(model->bodies.size() == 6);
  CHECK(model->smooth_surfaces.size() == 1);
}

TEST_CASE("scene smooth: what makes no surface is refused with line, key, found and expected") {
  const auto refused = [](const std::string& keys, const std::vector<std::string>& parts) {
    check_parts(complaint(scene(keys)), parts);
  };
  refused("kind = \"ellipsoid\"\nradii_m = [1, 0, 1]", {"f.toml:7", "radii_m", "found 0"});
  refused("kind = \"ellipsoid\"\nradii_m = [1, -2, 1]", {"f.toml:7", "radii_m", "found -2"});
  refused("kind = \"ellipsoid\"\nradii_m = [1, 1, 1]\nform = \"spline\"", {"f.toml:8", "form", "\"parametric\""});
  refused("kind = \"ellipsoid\"\nradii_m = [1, 1, 1]\nradius_m = 1", {"f.toml:8", "radius_m"});
  refused("kind = \"ellipsoid\"", {"f.toml:5", "radii_m"});
  refused("kind = \"superellipsoid\"\nradii_m = [1, 1, 1]\nexponents = [1, 0.5]",
          {"f.toml:8", "exponents", "found e1 = 1, e2 = 0.5", "twice differentiable", "expected"});
  refused("kind = \"superellipsoid\"\nradii_m = [1, 1, 1]\nexponents = [0.5, 1.5]", {"exponents", "e2 = 1.5"});
  refused("kind = \"superellipsoid\"\nradii_m = [1, 1, 1]\nexponents = [0.5, 0]", {"exponents", "e2 = 0"});
  refused("kind = \"torus\"\nring_radius_m = 0.1\ntube_radius_m = 0.1",
          {"f.toml:8", "tube_radius_m", "found 0.1", "cross itself"});
  refused("kind = \"torus\"\nring_radius_m = 0\ntube_radius_m = 0.1", {"f.toml:7", "ring_radius_m"});
  refused("kind = \"quadric\"\ncoefficients = [1, 1, -1, 0, 0, 0, 0, 0, 0, -1]",
          {"f.toml:7", "coefficients", "hyperboloid", "expected an ellipsoid"});
  refused("kind = \"quadric\"\ncoefficients = [1, 1, 1]", {"f.toml:7", "coefficients", "array of 10"});
  refused("kind = \"revolution\"\nprofile_m = [[0, 0], [1, 0.5], [1, 1]]",
          {"f.toml:7", "profile_m", "found 1 points on"});
  refused("kind = \"revolution\"\nprofile_m = [[0, 1], [1, 0.5], [0, 0]]", {"f.toml:7", "profile_m", "inwards"});
  refused("kind = \"revolution\"\nprofile_m = [[0, 1, 2]]", {"f.toml:7", "profile_m", "[rho, z]"});
  refused("kind = \"spline\"\ncontrol_points_m = [[0, 0, 0]]\ncontrol_grid = [3, 4]",
          {"f.toml:8", "control_grid", "found 3", "from 4"});
  refused("kind = \"spline\"\ncontrol_points_m = [[0, 0, 0]]\ncontrol_grid = [70, 70]",
          {"f.toml:8", "control_grid", "found a grid of 4900 points", "at most 4096"});
  refused("kind = \"spline\"\ncontrol_points_m = [[0, 0, 0]]\ncontrol_grid = [4, 4]",
          {"f.toml:7", "control_points_m", "found 1 control points, expected 16"});
  refused("kind = \"egg\"", {"f.toml:6", "kind", "found \"egg\"", "\"revolution\""});
}

TEST_CASE("scene smooth: a cavity needs a body that can hold it") {
  const std::string bowl = "kind = \"ellipsoid\"\nradii_m = [1, 1, 1]\ncavity = true";
  check_parts(complaint(scene(bowl)), {"f.toml:", "cavity", "inertia_kg_m2"});
  CHECK(complaint(scene(bowl, "mode = \"fixed\"")) == "accepted");
  CHECK(complaint(scene(bowl, "mass_kg = 1\ninertia_kg_m2 = [1, 1, 1]")) == "accepted");
}

TEST_CASE("scene smooth: a tool sees an ellipsoid before it touches, at the exact distance") {
  const std::shared_ptr<const Model> model = parse_scene(
      "gravity_m_per_s2 = [0, 0, 0]\n[[body]]\nname = \"egg\"\nmode = \"fixed\"\n[[body.shape]]\n"
      "kind = \"ellipsoid\"\nradii_m = [0.3, 0.2, 0.5]\n[[body]]\nname = \"tool\"\nmass_kg = 1\n"
      "position_m = [0, 0, 0.61]\n[[body.shape]]\nkind = \"sphere\"\nradius_m = 0.1\n",
      "f.toml", {});
  World world(model, Limits{});
  world.step();
  ToolPlanes planes;
  planes.find(world, 1, {}, 0.05);
  REQUIRE(planes.planes().size() == 1);
  CHECK_WITHIN(planes.planes()[0].gap - 0.01, 1e-12);
  CHECK_WITHIN((planes.planes()[0].nhat_W - Vec3(0, 0, 1)).norm(), 1e-9);
  planes.find(world, 1, {}, 0.005);
  CHECK(planes.planes().empty());
}

TEST_CASE("scene smooth: a mesh may meet a smooth shape and a convex hollow, but no other that it could touch") {
  const std::string file = std::string(TACTUS_SOURCE_DIR) + "/config/meshes/bowl.obj";
  const std::string text = "[[body]]\nname = \"bowl\"\nmode = \"fixed\"\n[[body.shape]]\nkind = \"mesh\"\nfile = \"" +
                           file + "\"\nfield_tolerance_m = 0.01\n[[body]]\nname = \"ball\"\nmass_kg = 1\n";
  const std::string hollow = "inertia_kg_m2 = [1, 1, 1]\n";
  const std::string shape = "[[body.shape]]\nkind = \"ellipsoid\"\nradii_m = [0.1, 0.1, 0.2]\n";
  CHECK(complaint(text + shape) == "accepted");
  CHECK(complaint(text + hollow + shape + "cavity = true\n") == "accepted");
  const std::string ring = "[[body.shape]]\nkind = \"torus\"\nring_radius_m = 0.2\ntube_radius_m = 0.1\n";
  const std::string cavity = text + hollow + ring + "cavity = true\n";
  check_parts(complaint(cavity), {"f.toml:9", "torus", "cavity", "\"ball\"", "mesh", "\"bowl\"", "no_collision"});
  CHECK(complaint(cavity + "mask = 0\n") == "accepted");
  CHECK(complaint("no_collision = [[\"bowl\", \"ball\"]]\n" + cavity) == "accepted");
}

}  // namespace
}  // namespace tactus
