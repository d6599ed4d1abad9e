// What is wrong with a mesh is found and named; what is right is not refused; repairs give the solid that was meant.
#include "core/shape/mesh/mesh_check.h"

#include <doctest/doctest.h>

#include <limits>

#include "core/shape/mass_properties.h"
#include "core/shape/mesh/mesh_build.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"
#include "tests/unit/shape/mesh_samples.h"

namespace tactus {
namespace {

using namespace mesh_test;
using Kind = MeshDefectKind;

struct Result {
  MeshDefect defect;
  MeshRepairs done;
  double volume = 0;
  std::string message;
};
Result check(MeshSoup soup, bool repair = false) {
  Result r;
  r.defect = prepare_mesh(soup, repair, r.done);
  if (!r.defect) {
    const TriangleMesh mesh = finish_mesh(soup);
    r.defect = check_crossings(mesh);
    r.volume = volume(make_mesh(&mesh));
  }
  r.message = describe(r.defect, soup.origin, "triangle");
  return r;
}
void check_says(const Result& r, Kind kind, const std::vector<std::string>& parts) {
  CHECK(r.defect.kind == kind);
  for (const auto& part : parts)
    CHECK_MESSAGE(r.message.find(part) != std::string::npos, r.message << " lacks " << part);
}
void turn(MeshSoup& soup, std::size_t t) {
  std::swap(soup.triangles[t][1], soup.triangles[t][2]);
}
// Each triangle gets vertices of its own, as in an STL file.
MeshSoup apart(const MeshSoup& soup) {
  MeshSoup out;
  for (const auto& [a, b, c] : soup.triangles) {
    const auto v = static_cast<std::uint32_t>(out.vertices.size());
    for (const std::uint32_t i : {a, b, c}) out.vertices.push_back(soup.vertices[i]);
    add_triangle(out, v, v + 1, v + 2);
  }
  return out;
}

TEST_CASE("mesh check: solids are accepted, also with a cavity, an island in it, and a separate part") {
  for (const MeshSoup& soup : {box({0, 0, 0}, {1, 1, 1}), icosphere(1, 3), torus(1, 0.4, 20, 10), l_prism(1, 0.01)})
    CHECK(!check(apart(soup)).defect);
  MeshSoup nested = box({0, 0, 0}, {9, 9, 9});
  add_box(nested, {1, 1, 1}, {8, 8, 8}, true);
  add_box(nested, {2, 2, 2}, {7, 7, 7});
  add_box(nested, {3, 3, 3}, {6, 6, 6}, true);
  add_box(nested, {20, 0, 0}, {21, 1, 1});
  const Result r = check(nested);
  CHECK(!r.defect);
  CHECK(r.volume == doctest::Approx(729 - 343 + 125 - 27 + 1));
}

TEST_CASE("mesh check: holes, crowded edges and turned triangles name the edge") {
  MeshSoup soup = box({0, 0, 0}, {1, 2, 4});
  soup.triangles.pop_back();
  check_says(check(soup), Kind::open_edge,
             {"triangle 5: ", "(1, 0, 0) to (1, 0, 4)", "1 triangle, expected 2", "3 such"});
  soup = box({0, 0, 0}, {1, 2, 4});
  soup.vertices.emplace_back(0.5, 1, 9);
  add_triangle(soup, 4, 7, 8);
  add_triangle(soup, 7, 4, 8);
  check_says(check(soup), Kind::crowded_edge, {"(0, 0, 4) to (1, 2, 4)", "4 triangles, expected 2"});
  soup = box({0, 0, 0}, {1, 2, 4});
  turn(soup, 5);
  check_says(check(soup), Kind::same_way,
             {"triangle 6: the edge from (0, 0, 0) to (0, 0, 4)", "runs the same way in triangle 9", "3 such"});
}

TEST_CASE("mesh check: numbers, triangles without area, too few, no size") {
  MeshSoup soup = box({0, 0, 0}, {1, 1, 1});
  soup.vertices[3].y() = std::numeric_limits<double>::quiet_NaN();
  check_says(check(soup), Kind::not_finite, {"triangle 1: ", "nan", "finite"});
  soup = box({0, 0, 0}, {1, 1, 1});
  add_triangle(soup, 0, 1, 1);
  check_says(check(soup), Kind::repeated_vertex, {"triangle 13: ", "(1, 0, 0) twice"});
  soup = box({0, 0, 0}, {1, 1, 1});
  soup.vertices.emplace_back(0.25, 0, 0);
  add_triangle(soup, 0, 1, 8);
  check_says(check(soup), Kind::no_area, {"triangle 13: ", "without area"});
  soup = box({0, 0, 0}, {1, 1, 1});
  add_triangle(soup, 2, 3, 0);
  check_says(check(soup), Kind::duplicate, {"triangle 13: ", "triangle 1 ", "again"});
  soup = MeshSoup();
  check_says(check(soup), Kind::empty, {"0 triangles", "at least 4"});
  soup = box({1, 1, 1}, {1, 1, 1});
  check_says(check(soup), Kind::flat, {"(1, 1, 1) to (1, 1, 1)"});
  for (const double size : {1e-160, 1e-10, 1e10, 1e200, 1e308})
    check_says(check(box(Vec3::Zero(), Vec3::Constant(size))), Kind::flat, {"at least 1e-9 m"});
  for (const double size : {1e-8, 1e8}) CHECK(!check(box(Vec3::Zero(), Vec3::Constant(size))).defect);
}

TEST_CASE("mesh check: inside-out shells by containment") {
  MeshSoup soup = box({0, 0, 0}, {1, 1, 1});
  for (std::size_t t = 0; t < 12; ++t) turn(soup, t);
  check_says(check(soup), Kind::inside_out, {"triangle 1: ", "shell that is inside out", "-1 m^3"});
  CHECK(check(soup, true).volume == doctest::Approx(1));
  soup = box({0, 0, 0}, {3, 3, 3});
  add_box(soup, {1, 1, 1}, {2, 2, 2}, false);
  check_says(check(soup), Kind::inside_out, {"triangle 13: ", "cavity", "1 shells around"});
  CHECK(check(soup, true).volume == doctest::Approx(26));
}

TEST_CASE("mesh check: self-intersection names two triangles; touching is none") {
  MeshSoup soup = box({0, 0, 0}, {2, 2, 2});
  add_box(soup, {1, 0.5, 0.5}, {3, 1.5, 1.5});
  check_says(check(soup), Kind::self_intersection, {"crosses triangle", "near ("});
  // Two tetrahedra whose edges cross in their middles: no corner and no edge goes through the middle of a face.
  soup = MeshSoup();
  soup.vertices = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}, {-1, -1, -1}, {-1, 1, 1}, {1, -1, 1}, {1, 1, -1}};
  for (const std::uint32_t o : {0u, 4u}) {
    add_triangle(soup, o, o + 1, o + 2);
    add_triangle(soup, o, o + 3, o + 1);
    add_triangle(soup, o, o + 2, o + 3);
    add_triangle(soup, o + 1, o + 3, o + 2);
  }
  for (std::size_t t = 4; t < 8; ++t) turn(soup, t);
  CHECK(check(soup).defect.kind == Kind::self_intersection);
  // A corner pushed through the opposite side.
  soup = box({0, 0, 0}, {1, 1, 1});
  soup.vertices[7] = {0.5, 0.5, -0.3};
  CHECK(check(soup, true).defect.kind == Kind::self_intersection);
  // Side by side, sharing a plane but no vertex.
  soup = box({0, 0, 0}, {1, 1, 1});
  add_box(soup, {1, 0.2, 0.2}, {2, 0.8, 0.8});
  CHECK(!check(soup).defect);
}

TEST_CASE("mesh check: a vertex that two parts share is pinched, and repair separates them") {
  MeshSoup soup = box({0, 0, 0}, {1, 1, 1});
  add_box(soup, {1, 1, 1}, {2, 2, 2});
  check_says(check(soup), Kind::pinched_vertex, {"triangle 13: ", "(1, 1, 1)", "fan"});
  const Result r = check(soup, true);
  CHECK(!r.defect);
  CHECK(r.volume == doctest::Approx(2));
  CHECK(r.done.pinched == 1);
}

TEST_CASE("mesh repair: a Moebius band has one side and stays refused") {
  MeshSoup soup;
  constexpr std::uint32_t n = 12;
  for (std::uint32_t i = 0; i < n; ++i) {
    const double u = 2 * M_PI * i / n;
    for (const double w : {-0.3, 0.3}) {
      const double r = 1 + w * std::cos(u / 2);
      soup.vertices.emplace_back(r * std::cos(u), r * std::sin(u), w * std::sin(u / 2));
    }
  }
  for (std::uint32_t i = 0; i + 1 < n; ++i) add_quad(soup, 2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1);
  add_quad(soup, 2 * n - 2, 1, 0, 2 * n - 1);
  MeshRepairs done;
  CHECK_FALSE(orient(soup, done));
  CHECK(check(soup, true).defect.kind == Kind::open_edge);
}

TEST_CASE("mesh repair: any turned triangles come back, as the closed form says") {
  test::Random random(9);
  for (int i = 0; i < 20; ++i) {
    MeshSoup soup = apart(torus(1, 0.4, 16, 8));
    for (std::size_t t = 0; t < soup.triangles.size(); ++t)
      if (random.chance(0.4)) turn(soup, t);
    CHECK(check(soup).defect.kind == Kind::same_way);
    const Result r = check(soup, true);
    CHECK(!r.defect);
    CHECK_WITHIN(r.volume / check(torus(1, 0.4, 16, 8)).volume - 1, 1e-13);
  }
}

TEST_CASE("mesh repair: seams that rounding opened are closed; T-junctions are no holes") {
  test::Random random(10);
  // Every corner of every triangle off by a little.
  MeshSoup soup = apart(icosphere(1, 2));
  for (Vec3& v : soup.vertices) v += random.in_cube(2e-7);
  const Result welded = check(soup);
  CHECK_MESSAGE(welded.defect.kind == Kind::open_edge, "every edge is open: that is a soup, not a seam");
  // One cut round the sphere.
  soup = icosphere(1, 2);
  const auto n = static_cast<std::uint32_t>(soup.vertices.size());
  std::vector<std::uint32_t> twin(n, 0);
  for (auto& t : soup.triangles) {
    double z = 0;
    for (const std::uint32_t v : t) z += soup.vertices[v].z();
    if (z <= 0) continue;
    for (std::uint32_t& v : t) {
      if (twin[v] == 0) {
        twin[v] = static_cast<std::uint32_t>(soup.vertices.size());
        const Vec3 p = soup.vertices[v] + random.in_cube(2e-7);
        soup.vertices.push_back(p);
      }
      v = twin[v];
    }
  }
  const Result seam = check(soup);
  CHECK(!seam.defect);
  CHECK(seam.done.welded > 8);
  CHECK(seam.done.gap > 0);
  CHECK(seam.done.gap < 1e-6);
  // A box whose top is cut in smaller triangles than its sides: their edges have other ends.
  soup = MeshSoup();
  add_box(soup, {0, 0, 0}, {2, 2, 1});
  soup.triangles.erase(soup.triangles.begin() + 2, soup.triangles.begin() + 4);
  soup.origin.pop_back();
  soup.origin.pop_back();
  const auto v = static_cast<std::uint32_t>(soup.vertices.size());
  for (const double y : {0.0, 0.7, 2.0})
    for (const double x : {0.0, 0.4, 1.3, 2.0}) soup.vertices.emplace_back(x, y, 1);
  for (std::uint32_t j = 0; j < 2; ++j)
    for (std::uint32_t i = 0; i < 3; ++i)
      add_quad(soup, v + 4 * j + i, v + 4 * j + i + 1, v + 4 * j + i + 5, v + 4 * j + i + 4);
  const Result junctions = check(soup);
  CHECK(!junctions.defect);
  CHECK(junctions.done.split == 4);
  CHECK(junctions.volume == doctest::Approx(4));
}

TEST_CASE("mesh repair: a hole is not closed, whatever is asked for") {
  MeshSoup soup = icosphere(1, 3);
  soup.triangles.resize(soup.triangles.size() - 2);
  soup.origin.resize(soup.triangles.size());
  for (const bool repair : {false, true}) CHECK(check(soup, repair).defect.kind == Kind::open_edge);
}

TEST_CASE("mesh repair: needles, caps and doubles go, and the solid stays closed") {
  MeshSoup soup = box({0, 0, 0}, {1, 1, 1});
  // A cap: the face 0-2-3 is cut at the middle of its edge 3-0 only on one side, the other side has a flat triangle.
  soup.vertices.emplace_back(0.5, 0.5, 0);
  soup.triangles[0] = {0, 2, 8};
  add_triangle(soup, 8, 2, 3);
  add_triangle(soup, 0, 8, 3);
  check_says(check(soup), Kind::no_area, {"triangle 14: "});
  const Result cap = check(soup, true);
  CHECK(!cap.defect);
  CHECK(cap.done.degenerate == 1);
  CHECK(cap.done.split == 1);
  CHECK(cap.volume == doctest::Approx(1));
  // A needle: a vertex and its twin 1e-12 away with triangles between them.
  soup = box({0, 0, 0}, {1, 1, 1});
  soup.vertices.emplace_back(1 + 1e-12, 1, 1);
  for (std::size_t t : {7u}) {  // one triangle of the face y = 1 uses the twin
    for (std::uint32_t& v : soup.triangles[t])
      if (v == 7) v = 8;
  }
  const Result needle = check(soup, true);
  CHECK_MESSAGE(!needle.defect, needle.message);
  soup = box({0, 0, 0}, {1, 1, 1});
  add_triangle(soup, 0, 2, 3);
  CHECK(check(soup).defect.kind == Kind::duplicate);
  CHECK(!check(soup, true).defect);
}

}  // namespace
}  // namespace tactus
