// Subdivision changes neither the solid nor its closedness, and refuses instead of exploding.
#include "core/shape/mesh/mesh_subdivide.h"

#include <doctest/doctest.h>

#include "core/shape/mass_properties.h"
#include "core/shape/mesh/mesh_check.h"
#include "tests/support/tolerance.h"
#include "tests/unit/shape/mesh_samples.h"

namespace tactus {
namespace {

using namespace mesh_test;

double largest_area(const MeshSoup& soup) {
  double most = 0;
  for (const auto& [a, b, c] : soup.triangles)
    most =
        std::max(most, 0.5 * (soup.vertices[b] - soup.vertices[a]).cross(soup.vertices[c] - soup.vertices[a]).norm());
  return most;
}

TEST_CASE("mesh subdivide: every triangle is below the area, the mesh closed, mass and inertia as before") {
  for (const MeshSoup& coarse : {box({0, 0, 0}, {1, 0.02, 0.5}), tetrahedron(1, 2, 3), l_prism(0.5, 2),
                                 icosphere(0.6, 1), torus(1, 0.3, 9, 5)}) {
    const TriangleMesh before = mesh_of(coarse);
    const MassProperties m = mass_properties(make_mesh(&before), 1000);
    for (const double area : {0.1, 0.01, 0.0007}) {
      MeshSoup fine = coarse;
      std::string error;
      REQUIRE_MESSAGE(subdivide(fine, area, 1000000, error), error);
      CHECK(largest_area(fine) <= area);
      CHECK(!check_mesh(fine));
      CHECK(fine.origin.size() == fine.triangles.size());
      const double predicted = predicted_triangles(coarse, area);
      CHECK(static_cast<double>(fine.triangles.size()) >= predicted);
      CHECK(static_cast<double>(fine.triangles.size()) <= 2 * predicted);
      const TriangleMesh after = mesh_of(fine);
      const MassProperties n = mass_properties(make_mesh(&after), 1000);
      CHECK_WITHIN(n.mass / m.mass - 1, 1e-12);
      CHECK_WITHIN((n.p_SScm - m.p_SScm).norm(), 1e-12);
      CHECK_WITHIN((n.I_SScm - m.I_SScm).norm() / m.I_SScm.norm(), 1e-12);
      CHECK(after.facet_count == before.facet_count);
    }
  }
}

TEST_CASE("mesh subdivide: triangles do not degenerate; longest-edge bisection halves the smallest angle at worst") {
  MeshSoup soup = tetrahedron(1, 1, 1);
  std::string error;
  REQUIRE(subdivide(soup, 1e-4, 1000000, error));
  double least = 1;
  for (const auto& [a, b, c] : soup.triangles) {
    const std::array<Vec3, 3> p{soup.vertices[a], soup.vertices[b], soup.vertices[c]};
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3 u = p[(k + 1) % 3] - p[k], v = p[(k + 2) % 3] - p[k];
      least = std::min(least, std::atan2(u.cross(v).norm(), u.dot(v)));
    }
  }
  CHECK(least > 0.5 * M_PI / 4);  // the smallest angle of the coarse mesh is 45 degrees
}

TEST_CASE("mesh subdivide: nothing to do changes nothing; the same input gives the same bits") {
  MeshSoup soup = box({0, 0, 0}, {1, 1, 1});
  std::string error;
  REQUIRE(subdivide(soup, 0.5, 12, error));
  CHECK(soup.triangles.size() == 12);
  MeshSoup a = soup, b = soup;
  REQUIRE(subdivide(a, 0.003, 100000, error));
  REQUIRE(subdivide(b, 0.003, 100000, error));
  CHECK(a.vertices == b.vertices);
  CHECK(a.triangles == b.triangles);
}

TEST_CASE("mesh subdivide: an explosion is refused with the number predicted, and the mesh is as it was") {
  for (const double area : {1e-6, 1e-9, 1e-300, 5e-324}) {
    MeshSoup soup = box({0, 0, 0}, {1, 1, 1});
    std::string error;
    CHECK_FALSE(subdivide(soup, area, 100000, error));
    CHECK(soup.triangles.size() == 12);
    CHECK_MESSAGE(error.find("at most 100000") != std::string::npos, error);
    CHECK_MESSAGE(
        error.find(area == 1e-6 ? "at least 6291456 triangles of 12" : "triangles of 12") != std::string::npos, error);
  }
  // The prediction fits, what must be split along does not.
  MeshSoup soup = tetrahedron(1, 2, 3);
  std::string error;
  const auto predicted = static_cast<std::size_t>(predicted_triangles(soup, 0.06));
  CHECK_FALSE(subdivide(soup, 0.06, predicted, error));
  CHECK_MESSAGE(error.find("more than predicted") != std::string::npos, error);
  CHECK(soup.triangles.size() == 4);
}

}  // namespace
}  // namespace tactus
