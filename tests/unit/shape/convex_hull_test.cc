// Convex hulls: what a hull is (all points inside, faces flat, closed, Euler), and that faces of solids come out whole.
#include "core/shape/convex_hull.h"

#include "tests/unit/collide/narrow_phase_check.h"

namespace tactus {
namespace {

using geometry_test::Rng;

void check_hull(const ConvexHull& hull, const std::vector<Vec3>& points, double tolerance) {
  CHECK(hull.vertices.size() + hull.faces.size() == hull.edges.size() + 2);
  for (const auto& face : hull.faces) {
    CHECK(std::abs(face.nhat.norm() - 1) < 1e-12);
    CHECK(face.count >= 3);
    for (const Vec3& p : points) CHECK(face.nhat.dot(p) <= face.offset + tolerance);
    Vec3 area = Vec3::Zero();
    for (std::uint32_t i = 0; i < face.count; ++i) {
      const Vec3& p = hull.vertices[hull.face_vertices[face.first + i]];
      const Vec3& q = hull.vertices[hull.face_vertices[face.first + (i + 1) % face.count]];
      CHECK(std::abs(face.nhat.dot(p) - face.offset) <= tolerance);
      area += p.cross(q);
    }
    CHECK(area.dot(face.nhat) > 0);  // counter-clockwise from outside
    CHECK(face.nhat.dot(hull.centroid) < face.offset);
  }
  std::vector<int> degree(hull.vertices.size(), 0);
  for (const auto& edge : hull.edges) {
    CHECK(edge.face_left != edge.face_right);
    ++degree[edge.vertex_a];
    ++degree[edge.vertex_b];
    for (const auto f : {edge.face_left, edge.face_right}) {
      CHECK(std::abs(hull.faces[f].nhat.dot(hull.vertices[edge.vertex_a]) - hull.faces[f].offset) <= tolerance);
      CHECK(std::abs(hull.faces[f].nhat.dot(hull.vertices[edge.vertex_b]) - hull.faces[f].offset) <= tolerance);
    }
    // face_left has the edge in its loop as a -> b.
    const auto& left = hull.faces[edge.face_left];
    bool found = false;
    for (std::uint32_t i = 0; i < left.count; ++i) {
      found |= hull.face_vertices[left.first + i] == edge.vertex_a &&
               hull.face_vertices[left.first + (i + 1) % left.count] == edge.vertex_b;
    }
    CHECK(found);
  }
  for (std::size_t v = 0; v < hull.vertices.size(); ++v) {
    CHECK(degree[v] >= 3);
    CHECK(hull.neighbours_first[v + 1] - hull.neighbours_first[v] == static_cast<std::uint32_t>(degree[v]));
    CHECK(hull.vertices[v].norm() <= hull.radius);
  }
}

TEST_CASE("convex_hull: a cube with Steiner points in faces, edges and inside has 8 vertices, 6 quads and 12 edges") {
  Rng rng(1);
  for (int trial = 0; trial < 20; ++trial) {
    const Mat3 R = trial == 0 ? Mat3(Mat3::Identity()) : geometry_test::rotation(rng);
    const Vec3 shift = trial == 0 ? Vec3(0, 0, 0) : geometry_test::in_cube(rng, 10);
    std::vector<Vec3> points;
    for (int x = -2; x <= 2; ++x)
      for (int y = -2; y <= 2; ++y)
        for (int z = -2; z <= 2; ++z) points.push_back(R * (0.5 * Vec3(x, y, z)) + shift);
    std::shuffle(points.begin(), points.end(), rng);
    ConvexHull hull;
    std::string error;
    REQUIRE(build_convex_hull(points, 256, hull, error));
    CHECK(hull.vertices.size() == 8);
    CHECK(hull.faces.size() == 6);
    CHECK(hull.edges.size() == 12);
    CHECK((hull.centroid - shift).norm() < 1e-12 * 20);
    check_hull(hull, points, 1e-8);
  }
}

TEST_CASE("convex_hull: random clouds, prisms and float-rounded points") {
  Rng rng(2);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<Vec3> points;
    const int n = 4 + static_cast<int>(rng() % 120);
    for (int i = 0; i < n; ++i) points.push_back(geometry_test::in_cube(rng, 1));
    ConvexHull hull;
    std::string error;
    REQUIRE(build_convex_hull(points, 256, hull, error));
    check_hull(hull, points, 1e-8);
  }
  for (int sides = 3; sides <= 40; sides += 3) {  // a prism, rotated and rounded to float as a mesh file does
    const Mat3 R = geometry_test::rotation(rng);
    std::vector<Vec3> points;
    for (int i = 0; i < sides; ++i) {
      const double phi = 2 * M_PI * i / sides;
      for (const double z : {-0.3, 0.3})
        points.push_back((R * Vec3(std::cos(phi), std::sin(phi), z)).cast<float>().cast<double>());
    }
    ConvexHull hull;
    std::string error;
    INFO("sides " << sides);
    REQUIRE(build_convex_hull(points, 256, hull, error));
    CHECK(hull.vertices.size() == static_cast<std::size_t>(2 * sides));
    check_hull(hull, points, 1e-5);
  }
}

TEST_CASE("convex_hull: what is no solid is refused with its reason") {
  ConvexHull hull;
  std::string error;
  const std::vector<Vec3> three{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  CHECK(!build_convex_hull(three, 256, hull, error));
  CHECK(error.find("4 points") != std::string::npos);
  Rng rng(3);
  const Mat3 R = geometry_test::rotation(rng);
  std::vector<Vec3> flat, line, same(6, Vec3(1, 2, 3));
  for (int i = 0; i < 30; ++i) {
    flat.push_back(R * Vec3(geometry_test::uniform(rng, -1, 1), geometry_test::uniform(rng, -1, 1), 0.5));
    line.push_back(R * Vec3(geometry_test::uniform(rng, -1, 1), 0, 0.5));
  }
  for (const auto* points : {&flat, &line, &same}) {
    error.clear();
    CHECK(!build_convex_hull(*points, 256, hull, error));
    CHECK(!error.empty());
  }
  std::vector<Vec3> bad = flat;
  bad[3].x() = NAN;
  CHECK(!build_convex_hull(bad, 256, hull, error));
  CHECK(error.find("finite") != std::string::npos);
  std::vector<Vec3> ball;
  for (int i = 0; i < 100; ++i) ball.push_back(geometry_test::direction(rng));
  CHECK(!build_convex_hull(ball, 20, hull, error));
  CHECK(error.find("limit") != std::string::npos);
}

TEST_CASE("convex_hull: the same points give the same hull, bit for bit") {
  Rng rng(4);
  std::vector<Vec3> points;
  for (int i = 0; i < 80; ++i) points.push_back(geometry_test::in_cube(rng, 1));
  ConvexHull x, y;
  std::string error;
  REQUIRE(build_convex_hull(points, 256, x, error));
  REQUIRE(build_convex_hull(points, 256, y, error));
  CHECK(x.face_vertices == y.face_vertices);
  CHECK(x.centroid == y.centroid);
}

}  // namespace
}  // namespace tactus
