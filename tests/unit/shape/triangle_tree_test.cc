// The trees of a mesh against brute force over all triangles.
#include "core/shape/mesh/triangle_tree.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/support/meshes.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

std::vector<test::MeshPtr> meshes() {
  std::vector<test::MeshPtr> out;
  out.push_back(test::finish_mesh(test::box_mesh(Vec3(0.5, 0.4, 0.3)), 0));
  out.push_back(test::finish_mesh(test::torus_mesh(0.5, 0.2, 24, 16), 0));
  out.push_back(test::finish_mesh(test::l_prism_mesh(1, 0.3, 0.5, 2), 0));
  out.push_back(test::finish_mesh(test::box_mesh(Vec3(0.5, 0.5, 0.002), 6, 5, 1), 0));
  out.push_back(test::finish_mesh(test::sphere_mesh(0.6, 2), 0));
  return out;
}

Vec3 around(const TriangleMesh& mesh, Random& random) {
  const Vec3 c = 0.5 * (mesh.lo + mesh.hi), half = 0.7 * (mesh.hi - mesh.lo);
  return c + random.in_cube(1).cwiseProduct(half);
}

// Parity of crossings with a ray in a random direction: knows nothing of normals.
bool inside_by_parity(const TriangleMesh& mesh, const Vec3& p, Random& random) {
  MeshCrossing crossings[64];
  return cross_segment(mesh, p, p + 10 * random.direction(), crossings, 64) % 2 == 1;
}

double box_to(const Vec3& half, const Vec3& p) {
  const Vec3 q = p.cwiseAbs() - half;
  return q.cwiseMax(0.0).norm() + std::min(q.maxCoeff(), 0.0);
}

}  // namespace

TEST_CASE("triangle_tree: the nearest point is that of brute force, and its sign that of a parity count") {
  Random random(1);
  for (const test::MeshPtr& mesh : meshes()) {
    int inside = 0, odd = 0;
    for (int i = 0; i < 2000; ++i) {
      const Vec3 p = around(*mesh, random);
      double least = 1e300;
      for (std::uint32_t t = 0; t < mesh->triangles.size(); ++t) {
        least = std::min(least, (closest_on_triangle(*mesh, t, p) - p).norm());
      }
      const MeshClosest found = closest_on_mesh(*mesh, p);
      REQUIRE(test::within(std::abs(found.distance) - least, 1e-12));
      REQUIRE(test::within(found.gradient_S.norm() - 1, 1e-12));
      REQUIRE(test::within((found.p_S + found.distance * found.gradient_S - p).norm(), 1e-9));
      inside += found.distance < 0 ? 1 : 0;
      odd += (found.distance < 0) != inside_by_parity(*mesh, p, random) ? 1 : 0;
    }
    CHECK(odd <= 1);  // a ray through an edge counts twice
    CHECK(inside > 3);
  }
}

TEST_CASE("triangle_tree: the distance to a box is the closed form, inside, outside and around its edges") {
  Random random(2);
  const Vec3 half(0.5, 0.4, 0.3);
  const test::MeshPtr mesh = test::finish_mesh(test::box_mesh(half, 3, 2, 4), 0);
  for (int i = 0; i < 5000; ++i) {
    const Vec3 p = around(*mesh, random);
    REQUIRE(test::within(closest_on_mesh(*mesh, p).distance - box_to(half, p), 1e-12));
  }
}

TEST_CASE("triangle_tree: the segment's crossings are those of the closed form, in order") {
  const test::MeshPtr mesh = test::finish_mesh(test::l_prism_mesh(1, 0.3, 0.5), 0);
  MeshCrossing out[8];
  // Along x at the height of the foot, of the leg, and above all.
  REQUIRE(cross_segment(*mesh, Vec3(-1, 0.011, 0.101), Vec3(2, 0.011, 0.101), out, 8) == 2);
  CHECK_WITHIN(out[0].t - 1.0 / 3, 1e-12);
  CHECK_WITHIN(out[1].t - 2.0 / 3, 1e-12);
  REQUIRE(cross_segment(*mesh, Vec3(-1, 0.011, 0.5), Vec3(2, 0.011, 0.5), out, 8) == 2);
  CHECK_WITHIN(out[1].t - 1.3 / 3, 1e-12);
  CHECK(cross_segment(*mesh, Vec3(-1, 0.011, 1.01), Vec3(2, 0.011, 1.01), out, 8) == 0);
  CHECK(cross_segment(*mesh, Vec3(-1, 0.011, 0.101), Vec3(2, 0.011, 0.101), out, 1) == 2);  // told, not stored
}

TEST_CASE("triangle_tree: tree against tree finds the pairs that all pairs one by one give") {
  Random random(3);
  const test::MeshPtr a = test::finish_mesh(test::torus_mesh(0.5, 0.2, 14, 9), 0);
  const test::MeshPtr b = test::finish_mesh(test::l_prism_mesh(1, 0.3, 0.5, 2), 0);
  std::vector<TrianglePair> found(200000), one(1);
  std::size_t total = 0;
  for (int k = 0; k < 20; ++k) {
    const Frame X_AB{random.rotation().toRotationMatrix(), random.in_cube(0.6)};
    const std::uint32_t n = intersecting_triangles(*a, *b, X_AB, found.data(), 200000);
    REQUIRE(n <= found.size());
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t i = 0; i < n; ++i) pairs.emplace(found[i].a, found[i].b);
    CHECK(pairs.size() == n);
    // An edge of one that crosses a triangle of the other, by the segment query on the whole mesh.
    std::set<std::pair<std::uint32_t, std::uint32_t>> expected;
    MeshCrossing hits[64];
    for (std::uint32_t t = 0; t < b->triangles.size(); ++t) {
      for (std::size_t e = 0; e < 3; ++e) {
        const Vec3 p = X_AB * b->vertices[b->triangles[t][e]], q = X_AB * b->vertices[b->triangles[t][(e + 1) % 3]];
        const std::uint32_t m = cross_segment(*a, p, q, hits, 64);
        for (std::uint32_t i = 0; i < m; ++i) expected.emplace(hits[i].triangle, t);
      }
    }
    for (std::uint32_t t = 0; t < a->triangles.size(); ++t) {
      for (std::size_t e = 0; e < 3; ++e) {
        const Vec3 p = X_AB.to_local(a->vertices[a->triangles[t][e]]);
        const std::uint32_t m =
            cross_segment(*b, p, X_AB.to_local(a->vertices[a->triangles[t][(e + 1) % 3]]), hits, 64);
        for (std::uint32_t i = 0; i < m; ++i) expected.emplace(t, hits[i].triangle);
      }
    }
    CHECK(pairs == expected);
    total += n;
    CHECK(intersecting_triangles(*a, *b, X_AB, one.data(), 1) == n);
  }
  CHECK(total > 500);
}

TEST_CASE(
    "triangle_tree: sharp edges are a box's twelve lines and none of a fine sphere's; the L's inner edge is none") {
  const auto length = [](const TriangleMesh& mesh) {
    double sum = 0;
    for (const TriangleTree::Edge& e : mesh.tree->sharp_edges) {
      sum += (mesh.vertices[e.vertex_a] - mesh.vertices[e.vertex_b]).norm();
    }
    return sum;
  };
  CHECK_WITHIN(length(*test::finish_mesh(test::box_mesh(Vec3(0.5, 0.4, 0.3), 3, 5, 2), 0)) - 8 * 1.2, 1e-12);
  CHECK(test::finish_mesh(test::sphere_mesh(1, 5), 0)->tree->sharp_edges.empty());
  const double l = 2 * (4 * 1.0) + 5 * 0.5;  // two L outlines, five convex edges along y
  CHECK_WITHIN(length(*test::finish_mesh(test::l_prism_mesh(1, 0.3, 0.5, 3), 0)) - l, 1e-12);
}

}  // namespace tactus
