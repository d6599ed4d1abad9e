// Patches of one pair that push against each other: a jam of an edge that has passed the middle of a thin wall has one
// way out; a peg held between two walls has two contacts.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "core/collide/mesh/collide_mesh.h"
#include "tests/support/meshes.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

constexpr std::uint32_t kPatches = 4;

struct Patch {
  Vec3 nhat = Vec3::Zero();
  double depth = 0;  // the largest
};

// Patches found by a pair that knows nothing yet, and again by one that knows the last tick.
struct Pair {
  MeshScratch scratch{4096};
  std::array<PairRecord, kPatches> records{};

  std::vector<Patch> collide(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB) {
    MeshContacts found;
    collide_mesh(a, X_WA, b, X_WB, 0, records.data(), kPatches, scratch, found);
    std::vector<Patch> out;
    for (std::uint32_t k = 0; k < kPatches; ++k) {
      const ContactBuffer& buffer = found.patch[k];
      records[k].phase = buffer.count > 0 ? ContactPhase::resting : ContactPhase::apart;
      records[k].age = buffer.count > 0 ? records[k].age + 1 : 0;
      if (buffer.count == 0) continue;
      Patch patch{buffer.nhat_BA_W, 0};
      for (std::uint32_t i = 0; i < buffer.count; ++i) patch.depth = std::max(patch.depth, buffer.points[i].depth);
      out.push_back(patch);
    }
    return out;
  }
};

// A square tube along y, outer side 2 half, wall t.
TriangleMesh square_tube(double half, double t, double length) {
  const std::vector<double> x{-half, -half + t, half - t, half};
  return test::cells_mesh(x, test::steps(-length / 2, length / 2, 1), x,
                          [](int i, int, int k) { return i != 1 || k != 1; });
}

Frame about(const Vec3& axis, double angle, const Vec3& p) {
  return {Eigen::AngleAxisd(angle, axis).toRotationMatrix(), p};
}

}  // namespace

TEST_CASE("collide_mesh: an edge past the middle of a thin wall is sent back, not on, by one patch") {
  // The tube stands on its lower edge, its upper edge along y at height 0; the cube's lower edge runs along x at
  // -depth. Of the wall, sqrt(2) t thick there, the cube's edge has passed more than half: the nearest way out leads on
  // into the tube, where the cube's faces would still be cut by the wall. Both are free when the cube goes up by the
  // depth.
  constexpr double kHalf = 0.1, kWall = 0.02, kCube = 0.05;
  const auto tube = test::finish_mesh(square_tube(kHalf, kWall, 0.4));
  const auto cube = test::finish_mesh(test::box_mesh(Vec3::Constant(kCube)));
  const Shape a = make_mesh(cube.get()), b = make_mesh(tube.get());
  const Frame X_WB = about(Vec3::UnitY(), M_PI / 4, Vec3(0, 0, -std::sqrt(2.0) * kHalf));
  for (const bool exchanged : {false, true}) {
    Pair known;
    for (const double depth : {0.002, 0.01, 0.0145, 0.016, 0.02, 0.024}) {
      const Frame X_WA = about(Vec3::UnitX(), M_PI / 4, Vec3(1e-4, 2e-4, std::sqrt(2.0) * kCube - depth));
      Pair fresh;
      for (Pair* pair : {&fresh, &known}) {
        const std::vector<Patch> patches =
            exchanged ? pair->collide(b, X_WB, a, X_WA) : pair->collide(a, X_WA, b, X_WB);
        CAPTURE(depth);
        REQUIRE(patches.size() == 1);
        CHECK_WITHIN((patches[0].nhat - Vec3(0, 0, exchanged ? -1 : 1)).norm(), 1e-3);
        CHECK_WITHIN(patches[0].depth / depth - 1, 0.02);
      }
    }
  }
}

TEST_CASE("collide_mesh: where a wall's rim and an edge past its middle disagree, the one translation separates") {
  // A wedge along y, its edge at (x, z) = (c, -d), in a wall z in [-t, 0] that ends at x = 0. Its corners are nearer to
  // the wall's far side, while the rim lies (d - c) / sqrt(2) inside the wedge's left face. Only upwards is it free.
  constexpr double kCube = 0.05, kWall = 0.02;
  const Vec3 half_a = Vec3::Constant(kCube), half_b(0.1, 0.1, 0.5 * kWall);
  const auto cube = test::finish_mesh(test::box_mesh(half_a)), wall = test::finish_mesh(test::box_mesh(half_b));
  const Shape a = make_mesh(cube.get()), b = make_mesh(wall.get());
  const Frame X_WB{Mat3::Identity(), Vec3(0.1, 0, -0.5 * kWall)};
  const auto overlap = [&](const Frame& X_WA) {
    std::array<ContactPoint, 64> points;
    ContactBuffer buffer{points.data(), 64};
    Witness witness;
    collide(make_box(half_a), X_WA, make_box(half_b), X_WB, witness, buffer);
    return buffer.count > 0;
  };
  const double corners[][2] = {{0.0115, 0.009}, {0.013, 0.008}, {0.015, 0.01}, {0.018, 0.01}};
  for (const auto& corner : corners) {
    const double d = corner[0], c = corner[1];  // clang 14 captures no structured bindings
    Frame X_WA = about(Vec3::UnitY(), M_PI / 4, Vec3(c, 3e-4, std::sqrt(2.0) * kCube - d));
    Pair pair;
    for (int tick = 0; tick < 3; ++tick) {
      const std::vector<Patch> patches = pair.collide(a, X_WA, b, X_WB);
      CAPTURE(d);
      REQUIRE(patches.size() == 1);
      CHECK(patches[0].depth < 1.5 * d);
      X_WA.p += 1.01 * patches[0].depth * patches[0].nhat;
      CHECK(!overlap(X_WA));
      X_WA.p -= 1.01 * patches[0].depth * patches[0].nhat;
      CHECK(overlap(X_WA));
    }
  }
}

TEST_CASE("collide_mesh: a peg that is a little too wide for its slot keeps a contact with each wall") {
  // The slot is open upwards, 0.1 wide between walls of 0.05; the peg is too wide by 2 overlap.
  const std::vector<double> x{-0.1, -0.05, 0.05, 0.1}, z{-0.1, -0.05, 0.1};
  const auto block = test::finish_mesh(
      test::cells_mesh(x, test::steps(-0.1, 0.1, 1), z, [](int i, int, int k) { return i != 1 || k == 0; }));
  const Shape b = make_mesh(block.get());
  for (const double overlap : {1e-5, 1e-4, 1e-3}) {
    const auto peg = test::finish_mesh(test::box_mesh(Vec3(0.05 + overlap, 0.05, 0.06), 1, 2, 2));
    const Shape a = make_mesh(peg.get());
    Pair pair;
    for (int tick = 0; tick < 3; ++tick) {
      const std::vector<Patch> patches =
          pair.collide(a, {Mat3::Identity(), Vec3(0, 0, 0.03)}, b, {Mat3::Identity(), Vec3::Zero()});
      CAPTURE(overlap);
      REQUIRE(patches.size() == 2);
      CHECK_WITHIN(patches[0].nhat.x() + patches[1].nhat.x(), 1e-9);
      CHECK_WITHIN(std::abs(patches[0].nhat.x()) - 1, 1e-9);
      for (const Patch& p : patches) CHECK_WITHIN(p.depth / overlap - 1, 0.02);
    }
  }
}

}  // namespace tactus
