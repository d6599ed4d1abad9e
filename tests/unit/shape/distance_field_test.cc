// The distance field against the exact distance, the closed forms, and bytes that were tampered with.
#include "core/shape/mesh/distance_field.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/support/alloc_guard.h"
#include "tests/support/meshes.h"
#include "tests/support/random.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

struct Named {
  const char* name;
  TriangleMesh mesh;
};
std::vector<Named> meshes() {
  return {{"cube", test::box_mesh(Vec3::Constant(0.5), 6, 6, 6)},
          {"torus", test::torus_mesh(0.5, 0.2, 28, 16)},
          {"l_prism", test::l_prism_mesh(1, 0.3, 0.5, 2)},
          {"thin_wall", test::box_mesh(Vec3(0.5, 0.4, 0.002), 7, 6, 1)},
          {"bowl", test::bowl_mesh(0.4, 0.5, 5, 16)}};
}

// On the surface, moved along the triangle's normal by at most `reach`.
Vec3 near_surface(const TriangleMesh& mesh, double reach, Random& random) {
  const std::uint32_t t = random.below(static_cast<std::uint32_t>(mesh.triangles.size()));
  double u = random.uniform(0, 1), v = random.uniform(0, 1);
  if (u + v > 1) u = 1 - u, v = 1 - v;
  const TriangleMesh::Triangle& c = mesh.triangles[t];
  const Vec3& a = mesh.vertices[c[0]];
  return a + u * (mesh.vertices[c[1]] - a) + v * (mesh.vertices[c[2]] - a) +
         random.uniform(-reach, reach) * mesh.normals[t];
}

Vec3 around(const TriangleMesh& mesh, Random& random) {
  const Vec3 half = 0.55 * (mesh.hi - mesh.lo) + Vec3::Constant(0.01);
  return 0.5 * (mesh.lo + mesh.hi) + random.in_cube(1).cwiseProduct(half);
}

double angle(const Vec3& a, const Vec3& b) {
  return std::atan2(a.cross(b).norm(), a.dot(b));
}

// Runs the jobs backwards: another order than that of the loop.
void backwards(void* context, std::size_t count, void (*body)(void*, std::size_t), void* data) {
  ++*static_cast<int*>(context);
  for (std::size_t i = count; i-- > 0;) body(data, i);
}

}  // namespace

TEST_CASE("distance_field: within tolerance + 3 % of the distance of the exact one; the sign is right everywhere") {
  Random random(1);
  const double tolerance = 1e-5;
  for (const Named& named : meshes()) {
    const test::MeshPtr mesh = test::finish_mesh(named.mesh, tolerance);
    const DistanceField& field = *mesh->field;
    CHECK(field.max_error <= tolerance);
    double worst = 0, far = 0;
    int wrong_sign = 0;
    for (int i = 0; i < 20000; ++i) {
      const Vec3 p = near_surface(*mesh, 0.01, random), q = around(*mesh, random);
      const double truth = closest_on_mesh(*mesh, p).distance, distant = closest_on_mesh(*mesh, q).distance;
      const double found = field_distance(field, *mesh, p), found_far = field_distance(field, *mesh, q);
      // Between the test points of a cell the bound may be exceeded where a bend cuts off a corner of the cell.
      worst = std::max(worst, (std::abs(found - truth)) / (tolerance + DistanceField::kGrowth * std::abs(truth)));
      far = std::max(far, std::abs(found_far - distant) / (tolerance + DistanceField::kGrowth * std::abs(distant)));
      wrong_sign += found * truth < 0 && std::abs(truth) > tolerance ? 1 : 0;
      wrong_sign += found_far * distant < 0 && std::abs(distant) > tolerance ? 1 : 0;
    }
    INFO(std::string(named.name));
    CHECK_WITHIN(worst, 3);
    CHECK_WITHIN(far, 2);
    CHECK(wrong_sign == 0);
  }
}

TEST_CASE("distance_field: the gradient is the exact one within 10 degrees near the surface, and unit") {
  Random random(2);
  for (const Named& named : meshes()) {
    const test::MeshPtr mesh = test::finish_mesh(named.mesh);
    double worst = 0, mean = 0;
    const int n = 20000;
    for (int i = 0; i < n; ++i) {
      const Vec3 p = near_surface(*mesh, 0.002, random);
      const FieldSample s = sample_field(*mesh->field, *mesh, p);
      REQUIRE(test::within(s.gradient_S.norm() - 1, 1e-9));
      const double off = angle(s.gradient_S, closest_on_mesh(*mesh, p).gradient_S);
      worst = std::max(worst, off);
      mean += off / n;
    }
    INFO(std::string(named.name));
    MESSAGE(std::string(named.name) << ": gradient off by at most " << worst << " rad, mean " << mean);
    CHECK_WITHIN(mean, 0.002);
    CHECK_WITHIN(worst, 0.18);
  }
}

TEST_CASE("distance_field: a flat face is exact, and the field is continuous across its cells' borders") {
  const test::MeshPtr mesh = test::finish_mesh(test::box_mesh(Vec3::Constant(0.5), 8, 8, 8));
  Random random(3);
  for (int i = 0; i < 20000; ++i) {  // above and below the top face
    const Vec3 p(random.uniform(-0.45, 0.45), random.uniform(-0.45, 0.45), 0.5 + random.uniform(-0.004, 0.004));
    const FieldSample s = sample_field(*mesh->field, *mesh, p);
    REQUIRE(test::within(s.distance - (p.z() - 0.5), 1e-8));
    REQUIRE(test::within((s.gradient_S - Vec3::UnitZ()).norm(), 1e-5));
  }
  const test::MeshPtr torus = test::finish_mesh(test::torus_mesh(0.5, 0.2, 36, 20));
  double jump = 0;
  for (int i = 0; i < 20000; ++i) {
    const Vec3 p = near_surface(*torus, 0.001, random), q = p + 1e-7 * random.direction();
    jump =
        std::max(jump, std::abs(field_distance(*torus->field, *torus, p) - field_distance(*torus->field, *torus, q)));
  }
  CHECK_WITHIN(jump, 2 * 1e-5 + 2 * DistanceField::kGrowth * 0.001);
}

TEST_CASE("distance_field: outside its root cell it gives a lower bound that leads away from the mesh") {
  const test::MeshPtr mesh = test::finish_mesh(test::torus_mesh(0.5, 0.2, 36, 20));
  Random random(4);
  for (int i = 0; i < 5000; ++i) {
    const Vec3 p = 5 * random.direction() * random.uniform(0.4, 1);
    const double truth = closest_on_mesh(*mesh, p).distance, found = field_distance(*mesh->field, *mesh, p);
    REQUIRE(found <= truth * 1.05);
    REQUIRE(found > 0.5 * truth);
  }
}

TEST_CASE("distance_field: its bytes do not depend on the order of the jobs, and come back as they were") {
  const TriangleMesh raw = test::torus_mesh(0.5, 0.2, 24, 12);
  int calls = 0;
  FieldJobs jobs;
  jobs.context = &calls;
  jobs.run = backwards;
  const test::MeshPtr one = test::finish_mesh(raw), two = test::finish_mesh(raw, 1e-5, jobs);
  const std::vector<std::byte> bytes = field_bytes(*one->field);
  CHECK(calls > 3);
  CHECK(bytes == field_bytes(*two->field));
  DistanceField back;
  std::string error;
  REQUIRE_MESSAGE(field_from_bytes(bytes, back, error), error);
  CHECK(field_bytes(back) == bytes);
  CHECK(bytes.size() > field_stats(*one->field).bytes);
}

TEST_CASE("distance_field: damaged bytes are refused, whatever the damage, also with a good checksum") {
  const test::MeshPtr mesh = test::finish_mesh(test::l_prism_mesh(1, 0.3, 0.5, 2));
  const std::vector<std::byte> good = field_bytes(*mesh->field);
  DistanceField out;
  std::string error;
  for (std::size_t n = 0; n < good.size(); n += 1 + good.size() / 997) {
    CHECK_FALSE(field_from_bytes(std::span(good).first(n), out, error));
    CHECK_FALSE(error.empty());
  }
  const auto seal = [](std::vector<std::byte>& bytes) {  // FNV-1a over all behind the checksum
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (std::size_t i = 16; i < bytes.size(); ++i) h = (h ^ static_cast<std::uint64_t>(bytes[i])) * 0x100000001b3ULL;
    std::memcpy(bytes.data() + 8, &h, 8);
  };
  Random random(5);
  int refused = 0, taken = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::byte> bad = good;
    const std::size_t at = 16 + random.below(static_cast<std::uint32_t>(bad.size() - 16));
    bad[at] ^= static_cast<std::byte>(1 + random.below(255));
    CHECK_FALSE(field_from_bytes(bad, out, error));
    seal(bad);  // what passes now must be safe to ask
    if (!field_from_bytes(bad, out, error)) {
      ++refused;
      continue;
    }
    ++taken;
    if (out.triangle_count != mesh->triangles.size()) continue;
    for (int k = 0; k < 50; ++k) sample_field(out, *mesh, around(*mesh, random));
  }
  CHECK(refused > 100);
  CHECK(taken > 100);  // a changed distance cannot be known
}

TEST_CASE("distance_field: too small a limit and a stop are refused with a reason") {
  TriangleMesh raw = test::torus_mesh(0.5, 0.2, 36, 20);
  const test::MeshPtr mesh = test::finish_mesh(raw, 0);
  FieldOptions options;
  options.max_bytes = 10000;
  DistanceField field;
  std::string error;
  CHECK_FALSE(build_distance_field(*mesh, options, {}, field, error));
  CHECK(error.find("10000 bytes") != std::string::npos);
  options = {};
  FieldJobs jobs;
  jobs.progress = [](void*, int done, int) { return done < 3; };
  CHECK_FALSE(build_distance_field(*mesh, options, jobs, field, error));
  CHECK(error.find("stopped") != std::string::npos);
  options.tolerance_m = 0;
  CHECK_FALSE(build_distance_field(*mesh, options, {}, field, error));
}

// What a query looks at: cells on the way down, and the triangles of an exact leaf.
std::size_t looks(const DistanceField& field, const Vec3& p_S) {
  Vec3 low = field.origin;
  double size = field.size;
  std::size_t cells = 1;
  std::uint32_t node = field.nodes[0];
  for (; node >> 30 == DistanceField::kInner; ++cells) {
    size /= 2;
    std::uint32_t child = 0;
    for (int k = 0; k < 3; ++k) {
      if (p_S[k] < low[k] + size) continue;
      low[k] += size;
      child |= 1u << k;
    }
    node = field.nodes[(node & 0x3fffffffu) + child];
  }
  if (node >> 30 == DistanceField::kLinear) return cells;
  const std::uint32_t leaf = node & 0x3fffffffu;
  return cells + field.exact_first[leaf + 1] - field.exact_first[leaf];
}

TEST_CASE("distance_field: a query allocates nothing and looks at lg N of the cells") {
  Random random(6);
  for (int n = 12; n <= 96; n *= 2) {
    const test::MeshPtr mesh = test::finish_mesh(test::torus_mesh(0.5, 0.2, n, n / 2), 1e-4);
    double sum = 0, mean = 0;
    for (int i = 0; i < 4000; ++i) {
      const Vec3 p = near_surface(*mesh, 0.002, random);
      const test::AllocGuard guard;
      sum += sample_field(*mesh->field, *mesh, p).distance;
      if (test::AllocGuard::available()) REQUIRE(guard.count() == 0);
      mean += static_cast<double>(looks(*mesh->field, p)) / 4000;
    }
    const double lg = std::log2(static_cast<double>(field_stats(*mesh->field).cells));
    MESSAGE("N = " << field_stats(*mesh->field).cells << " cells: looks at " << mean << ", " << mean / lg
                   << " per lg N");
    CHECK(std::isfinite(sum));
    CHECK(mean < 2 * lg);  // the cells grow 20 times
  }
}

}  // namespace tactus
