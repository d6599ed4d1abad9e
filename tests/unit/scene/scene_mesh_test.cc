// Meshes in scenes: keys, sharing, notes, and refusals that name the scene's line and the mesh's element.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/check.h"
#include "core/scene/scene.h"
#include "tests/support/tolerance.h"
#include "tests/unit/shape/mesh_samples.h"

namespace tactus {
namespace {

namespace fs = std::filesystem;

// A folder with mesh files; scenes are parsed as if they were in it.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("tactus_scene_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path / "meshes"); }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  void obj(const std::string& name, const MeshSoup& soup) const {
    std::ofstream out(path / "meshes" / name);
    out.precision(17);
    for (const Vec3& v : soup.vertices) out << "v " << v.x() << " " << v.y() << " " << v.z() << "\n";
    for (const auto& t : soup.triangles) out << "f " << t[0] + 1 << " " << t[1] + 1 << " " << t[2] + 1 << "\n";
  }
  std::unique_ptr<Model> parse(const std::string& text, Limits limits = {}) const {
    SceneOptions options;
    options.cache_directory = "";
    options.limits = limits;
    auto model = parse_scene(text, (path / "s.toml").string(), options);
    // A slow machine is told how long a field took to build.
    std::erase_if(model->notes, [](const std::string& note) { return note.find(" built in ") != std::string::npos; });
    return model;
  }
  [[nodiscard]] std::string complaint(const std::string& text, Limits limits = {}) const {
    try {
      parse(text, limits);
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  }
};
std::string body(const std::string& name, const std::string& keys) {
  return "[[body]]\nname = \"" + name + "\"\ndensity_kg_per_m3 = 1000\n[[body.shape]]\nkind = \"mesh\"\n" + keys + "\n";
}
void check_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const auto& part : parts) CHECK_MESSAGE(message.find(part) != std::string::npos, message << " lacks " << part);
}

TEST_CASE("scene mesh: file beside the scene, scale, mass and inertia of the solid") {
  const Folder folder;
  folder.obj("box.obj", mesh_test::box({0, 0, 0}, {100, 200, 300}));
  const auto model = folder.parse(body("a", "file = \"meshes/box.obj\"\nscale = 0.001") +
                                  body("b", "file = \"meshes/box.obj\"\nscale = [0.001, -0.001, 0.002]"));
  REQUIRE(model->bodies.size() == 2);
  CHECK_WITHIN(model->bodies[0].mass - 6, 1e-12);
  CHECK_WITHIN((model->bodies[0].p_BBcm - Vec3(0.05, 0.1, 0.15)).norm(), 1e-15);
  CHECK_WITHIN(model->bodies[0].I_BBcm(0, 0) - 6.0 / 12 * (0.04 + 0.09), 1e-12);
  CHECK_WITHIN(model->bodies[1].mass - 12, 1e-12);
  CHECK_WITHIN((model->bodies[1].p_BBcm - Vec3(0.05, -0.1, 0.3)).norm(), 1e-15);
  REQUIRE(model->meshes.size() == 2);
  const TriangleMesh& mesh = *model->meshes[0];
  CHECK(model->shapes[0].shape.mesh == &mesh);
  CHECK(mesh.facet_count == 6);
  CHECK(mesh.tree);
  REQUIRE(mesh.field);
  CHECK(mesh.field->tolerance == doctest::Approx(5e-4 * mesh.hi.norm()));
  CHECK(model->notes.empty());
}

TEST_CASE("scene mesh: equal file and options are one mesh, different ones are not") {
  const Folder folder;
  folder.obj("box.obj", mesh_test::box({0, 0, 0}, {1, 1, 1}));
  const auto model =
      folder.parse(body("a", "file = \"meshes/box.obj\"") + body("b", "file = \"meshes/../meshes/box.obj\"") +
                   body("c", "file = \"meshes/box.obj\"\nmax_triangle_area_m2 = 0.01") +
                   "[[generate]]\nkind = \"grid\"\nname = \"g\"\ncount = [2, 2, 2]\npitch_m = [2, 2, "
                   "2]\n[generate.body]\nmass_kg = 1\n"
                   "[[generate.body.shape]]\nkind = \"mesh\"\nfile = \"meshes/box.obj\"\n");
  CHECK(model->bodies.size() == 11);
  CHECK(model->meshes.size() == 2);
  CHECK(model->shapes[0].shape.mesh == model->shapes[1].shape.mesh);
  CHECK(model->shapes[0].shape.mesh == model->shapes[10].shape.mesh);
  CHECK(model->shapes[0].shape.mesh != model->shapes[2].shape.mesh);
  CHECK(model->meshes[1]->triangles.size() >= 600);
  CHECK(model->bodies[0].mass == doctest::Approx(model->bodies[2].mass));
}

TEST_CASE("scene mesh: refusals name line and key of the scene, file and element of the mesh") {
  const Folder folder;
  MeshSoup soup = mesh_test::box({0, 0, 0}, {1, 1, 1});
  soup.triangles.pop_back();
  folder.obj("open.obj", soup);
  check_parts(
      folder.complaint(body("a", "file = \"meshes/open.obj\"")),
      {"s.toml:6: body[0].shape[0].file: ", "meshes/open.obj: line 13: the edge from (1, 0, 0) to (1, 0, 1) has 1"});
  soup = mesh_test::box({0, 0, 0}, {1, 1, 1});
  for (auto& t : soup.triangles) std::swap(t[0], t[1]);
  folder.obj("turned.obj", soup);
  check_parts(folder.complaint(body("a", "file = \"meshes/turned.obj\"")),
              {"inside out", "repair = true would mend it"});
  const auto model = folder.parse(body("a", "file = \"meshes/turned.obj\"\nrepair = true"));
  REQUIRE(model->notes.size() == 1);
  check_parts(model->notes[0], {"meshes/turned.obj: repaired: 1 shells turned the right way out"});
  mesh_test::add_box(soup, {0.5, 0.2, 0.2}, {1.5, 0.8, 0.8});
  folder.obj("crossing.obj", soup);
  check_parts(folder.complaint(body("a", "file = \"meshes/crossing.obj\"\nrepair = true")),
              {": line ", "crosses line "});
  std::ofstream(folder.path / "meshes" / "nan.obj") << "v 0 nan 0\n";
  check_parts(folder.complaint(body("a", "file = \"meshes/nan.obj\"")), {"s.toml:6:", "nan.obj:1: found \"nan\""});
  std::ofstream(folder.path / "meshes" / "big.stl") << "x";
  fs::resize_file(folder.path / "meshes" / "big.stl", 2ULL << 30);
  check_parts(folder.complaint(body("a", "file = \"meshes/big.stl\"")),
              {"found 2147483648 bytes, expected at most 268435456"});
  check_parts(folder.complaint(body("a", "file = \"meshes/none.obj\"")),
              {"s.toml:6:", "meshes/none.obj: no such file"});
  check_parts(folder.complaint(body("a", "")), {"s.toml:4: body[0].shape[0].file: missing"});
  check_parts(folder.complaint(body("a", "file = \"meshes/open.obj\"\nscale = 0")),
              {"s.toml:7: body[0].shape[0].scale: found 0"});
  check_parts(folder.complaint(body("a", "file = \"meshes/open.obj\"\nscale = [1, 1]")),
              {"s.toml:7:", "3 finite numbers"});
  check_parts(folder.complaint(body("a", "file = \"meshes/open.obj\"\nrepair = 1")), {"s.toml:7:", "true or false"});
  folder.obj("good.obj", mesh_test::box({0, 0, 0}, {1, 1, 1}));
  check_parts(folder.complaint(body("a", "file = \"meshes/good.obj\"\nradius_m = 1")),
              {"s.toml:7: body[0].shape[0].radius_m: unknown key"});
  check_parts(folder.complaint(body("a", "file = \"meshes/good.obj\"\nscal = 1")), {"perhaps scale"});
}

TEST_CASE("scene mesh: limits refuse what would explode") {
  const Folder folder;
  folder.obj("box.obj", mesh_test::box({0, 0, 0}, {1, 1, 1}));
  check_parts(folder.complaint(body("a", "file = \"meshes/box.obj\"\nmax_triangle_area_m2 = 1e-12")),
              {"s.toml:6:", "box.obj: max_triangle_area_m2 = 1e-12 would make at least", "at most 2000000"});
  Limits limits;
  limits.mesh_triangles = 20;
  check_parts(folder.complaint(
                  body("a", "file = \"meshes/box.obj\"") + body("b", "file = \"meshes/box.obj\"\nscale = 2"), limits),
              {"s.toml:12:", "found 24 triangles in all meshes of the scene, expected at most 20"});
  CHECK(folder.complaint(body("a", "file = \"meshes/box.obj\"") + body("b", "file = \"meshes/box.obj\""), limits) ==
        "accepted");
  limits.mesh_triangles = 8;
  check_parts(folder.complaint(body("a", "file = \"meshes/box.obj\""), limits),
              {"box.obj:17: found more than 8 triangles"});
  limits = Limits();
  limits.field_bytes = 1000;
  folder.obj("torus.obj", mesh_test::torus(1, 0.3, 12, 8));
  check_parts(folder.complaint(body("a", "file = \"meshes/torus.obj\""), limits),
              {"torus.obj: ", "distance field", "more than 1000 bytes"});
}

TEST_CASE("scene mesh: a size that is likely wrong is a note with the size found") {
  const Folder folder;
  folder.obj("box.obj", mesh_test::box({0, 0, 0}, {203.2, 304.8, 12.7}));
  const auto huge = folder.parse(body("a", "file = \"meshes/box.obj\"\nfield_tolerance_m = 1"));
  REQUIRE(huge->notes.size() == 1);
  check_parts(huge->notes[0], {"meshes/box.obj: found a size of 203.2 x 304.8 x 12.7 m", "millimetres, scale = 0.001"});
  const auto tiny = folder.parse(body("a", "file = \"meshes/box.obj\"\nscale = 1e-6"));
  REQUIRE(tiny->notes.size() == 1);
  check_parts(tiny->notes[0], {"found a size of 0.0002032 x", "leave scale out"});
  CHECK(folder.parse(body("a", "file = \"meshes/box.obj\"\nscale = 0.001"))->notes.empty());
}

TEST_CASE("scene mesh: a convex hull of a mesh file's vertices") {
  const Folder folder;
  folder.obj("l.obj", mesh_test::l_prism(1, 1));
  const auto model = folder.parse(
      "[[body]]\nname = \"a\"\ndensity_kg_per_m3 = 1\n[[body.shape]]\nkind = \"convex\"\nfile = "
      "\"meshes/l.obj\"\nscale = 2\n");
  CHECK(model->bodies[0].mass == doctest::Approx(8 * 3.5));
  CHECK(model->meshes.empty());
}

}  // namespace
}  // namespace tactus
