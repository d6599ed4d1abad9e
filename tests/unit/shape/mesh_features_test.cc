// Volume, mass centre and inertia of meshes against closed forms; features against what is known of the solid.
#include "core/shape/mesh/mesh_features.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/shape/mass_properties.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"
#include "tests/unit/shape/mesh_samples.h"

namespace tactus {
namespace {

using namespace mesh_test;

MassProperties mass_of(const MeshSoup& soup, double density) {
  const TriangleMesh mesh = mesh_of(soup);
  return mass_properties(make_mesh(&mesh), density);
}

void check_same(const MassProperties& a, const MassProperties& b, double tolerance) {
  CHECK_WITHIN(a.mass / b.mass - 1, tolerance);
  CHECK_WITHIN((a.p_SScm - b.p_SScm).norm(), tolerance);
  CHECK_WITHIN((a.I_SScm - b.I_SScm).norm() / b.I_SScm.norm(), tolerance);
}

// A box from lo to hi by the closed form.
MassProperties box_mass(const Vec3& lo, const Vec3& hi, double density) {
  Pose X_BS;
  X_BS.p = 0.5 * (lo + hi);
  return transformed(mass_properties(make_box(0.5 * (hi - lo)), density), X_BS);
}

TEST_CASE("mesh mass: a box has the closed form's, wherever it stands") {
  const Vec3 lo(-0.1, 0.2, 3.0), hi(0.3, 0.5, 3.9);
  check_same(mass_of(box(lo, hi), 700), box_mass(lo, hi, 700), 1e-13);
}

TEST_CASE("mesh mass: a tetrahedron with its corner at the origin") {
  const double a = 0.3, b = 0.5, c = 0.2, density = 900, m = density * a * b * c / 6;
  const MassProperties found = mass_of(tetrahedron(a, b, c), density);
  CHECK_WITHIN(found.mass / m - 1, 1e-14);
  CHECK_WITHIN((found.p_SScm - Vec3(a, b, c) / 4).norm(), 1e-15);
  // Integral of x^2 about the mass centre 3 m a^2 / 80, of x y -m a b / 80.
  const Vec3 s = 3 * m / 80 * Vec3(a * a, b * b, c * c);
  Mat3 I;
  I << s.y() + s.z(), m * a * b / 80, m * a * c / 80, m * a * b / 80, s.z() + s.x(), m * b * c / 80, m * a * c / 80,
      m * b * c / 80, s.x() + s.y();
  CHECK_WITHIN((found.I_SScm - I).norm() / I.norm(), 1e-13);
}

TEST_CASE("mesh mass: an L is the sum of two boxes") {
  const double a = 0.2, h = 0.1;
  check_same(mass_of(l_prism(a, h), 500),
             combined(box_mass({0, 0, 0}, {2 * a, a, h}, 500), box_mass({0, a, 0}, {a, 2 * a, h}, 500)), 1e-13);
}

TEST_CASE("mesh mass: a hollow box is the difference of two") {
  MeshSoup hollow = box({0, 0, 0}, {1, 0.8, 0.6});
  add_box(hollow, {0.1, 0.2, 0.1}, {0.7, 0.6, 0.4}, true);
  const MassProperties all = mass_of(hollow, 100), hole = box_mass({0.1, 0.2, 0.1}, {0.7, 0.6, 0.4}, 100);
  check_same(combined(all, hole), box_mass({0, 0, 0}, {1, 0.8, 0.6}, 100), 1e-13);
}

TEST_CASE("mesh mass: spheres and tori of more and more triangles approach the solid at second order") {
  const MassProperties sphere = mass_properties(make_sphere(0.4), 1000);
  double last = 0;
  for (int level = 1; level < 5; ++level) {
    const MassProperties found = mass_of(icosphere(0.4, level), 1000);
    const double error = 1 - found.mass / sphere.mass;
    CHECK(error > 0);
    if (level > 1) CHECK(last / error == doctest::Approx(4).epsilon(0.1));
    last = error;
    CHECK_WITHIN(found.p_SScm.norm(), 1e-14);
  }
  CHECK(last < 0.005);
  const double ring = 0.5, tube = 0.1, exact = 2 * M_PI * M_PI * ring * tube * tube;
  const double coarse = 1 - mass_of(torus(ring, tube, 24, 12), 1).mass / exact;
  const double fine = 1 - mass_of(torus(ring, tube, 48, 24), 1).mass / exact;
  CHECK(coarse / fine == doctest::Approx(4).epsilon(0.1));
}

TEST_CASE("mesh mass: a turned and moved mesh has the turned and moved inertia") {
  test::Random random(3);
  for (int i = 0; i < 20; ++i) {
    const Pose X_BS{random.rotation(), random.in_cube(2)};
    MeshSoup moved = l_prism(0.2, 0.1);
    for (Vec3& v : moved.vertices) v = X_BS * v;
    check_same(mass_of(moved, 500), transformed(mass_of(l_prism(0.2, 0.1), 500), X_BS), 1e-11);
  }
}

TEST_CASE("mesh features: neighbours point back, normals point out, lists are complete") {
  for (const MeshSoup& soup : {box({0, 0, 0}, {1, 2, 3}), icosphere(1, 2), torus(1, 0.3, 12, 8), l_prism(1, 1)}) {
    const TriangleMesh mesh = mesh_of(soup);
    std::size_t mutual = 0;
    Vec3 closed = Vec3::Zero();
    for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
      const auto& [a, b, c] = mesh.triangles[t];
      const Vec3 n = (mesh.vertices[b] - mesh.vertices[a]).cross(mesh.vertices[c] - mesh.vertices[a]);
      closed += n;
      CHECK_WITHIN(mesh.normals[t].cross(n).norm() / n.norm(), 1e-14);
      CHECK(mesh.normals[t].dot(n) > 0);
      for (std::size_t k = 0; k < 3; ++k) {
        const std::uint32_t u = mesh.neighbours[t][k], from = mesh.triangles[t][k], to = mesh.triangles[t][(k + 1) % 3];
        for (std::size_t l = 0; l < 3; ++l)
          mutual += mesh.triangles[u][l] == to && mesh.triangles[u][(l + 1) % 3] == from && mesh.neighbours[u][l] == t;
        const auto row = [&](const auto& first, const auto& list, std::uint32_t v) {
          return std::set<std::uint32_t>(list.begin() + first[v], list.begin() + first[v + 1]);
        };
        CHECK(row(mesh.vertex_first, mesh.vertex_vertices, from).count(to) == 1);
        CHECK(row(mesh.vertex_first, mesh.vertex_vertices, to).count(from) == 1);
        CHECK(row(mesh.corner_first, mesh.vertex_triangles, from).count(t) == 1);
      }
    }
    CHECK(mutual == 3 * mesh.triangles.size());
    CHECK(mesh.vertex_triangles.size() == 3 * mesh.triangles.size());
    CHECK(mesh.vertex_vertices.size() == 3 * mesh.triangles.size());  // each of 3n/2 edges from both ends
    CHECK_WITHIN(closed.norm(), 1e-12);
  }
}

TEST_CASE("mesh features: coplanar neighbours are one facet, whatever the turn and the place") {
  test::Random random(4);
  const auto facets = [&](MeshSoup soup) {
    const Pose X_BS{random.rotation(), random.in_cube(1)};
    for (Vec3& v : soup.vertices) v = X_BS * v;
    return mesh_of(soup).facet_count;
  };
  for (int i = 0; i < 10; ++i) {
    CHECK(facets(box({0, 0, 0}, {1, 2, 3})) == 6);
    CHECK(facets(l_prism(1, 1)) == 8);
    CHECK(facets(tetrahedron(1, 1, 1)) == 4);
    CHECK(facets(icosphere(1, 2)) == 320);
  }
  // Two facets in one plane that do not touch stay two: the tops of the L's two arms after a cut would be such.
  MeshSoup two = box({0, 0, 0}, {1, 1, 1});
  add_box(two, {2, 0, 0}, {3, 1, 1});
  CHECK(mesh_of(two).facet_count == 12);
}

TEST_CASE("mesh features: a bend of 1e-6 is no plane") {
  MeshSoup soup = box({0, 0, 0}, {1, 1, 1});
  soup.vertices[7] += Vec3(0, 0, 1e-6);
  CHECK(mesh_of(soup).facet_count == 7);  // the two side faces at that corner stay plane
  soup.vertices[7] += Vec3(1e-6, 1e-6, 0);
  CHECK(mesh_of(soup).facet_count == 9);
}

}  // namespace
}  // namespace tactus
