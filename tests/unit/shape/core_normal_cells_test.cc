// Cells of normals: what they call held is held, whatever the ellipsoid, and octants that are seen at once are those.
#include "core/shape/smooth/normal_cells.h"

#include <cmath>
#include <memory>

#include "tests/support/random.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Random;

struct EllipsoidBody final : NormalCells::Body {
  EllipsoidBody(const Vec3& of_radii, bool is_symmetric)
      : Body(of_radii.maxCoeff(), 1e-3, is_symmetric), radii(of_radii) {}
  [[nodiscard]] double highest(const Vec3& n) const override { return radii.cwiseProduct(n).norm(); }
  [[nodiscard]] NormalCells::Place place(const std::array<Vec3, 3>& /*corners*/) const override { return {}; }
  Vec3 radii;
};

Vec3 signs(int octant) {
  return {octant % 2 == 0 ? 1.0 : -1.0, octant / 2 % 2 == 0 ? 1.0 : -1.0, octant / 4 == 0 ? 1.0 : -1.0};
}

// Ellipsoids about as large as what the balls' centres need, some larger, some smaller, turned and moved.
EllipsoidForm random_form(const Vec3& radii, double ball, Random& rng) {
  EllipsoidForm e;
  const Mat3 R = rng.chance(0.5) ? Mat3(Mat3::Identity()) : rng.rotation().toRotationMatrix();
  const Vec3 r = rng.uniform(0.8, 2.0) * (radii - Vec3::Constant(0.9 * ball));
  e.A = R * r.cwiseAbs2().cwiseInverse().asDiagonal() * R.transpose();
  e.m = rng.in_cube(0.05);
  return e;
}

TEST_CASE("cells of normals: where none is open, the body reaches no farther than the ellipsoid and the ball") {
  const Vec3 radii(0.3, 0.2, 0.25);
  const EllipsoidBody body(radii, false);
  const NormalCells cells(body);
  // The least radius of curvature of an ellipsoid: the square of its least radius by its largest.
  CHECK(cells.radius() > 0.9 * 0.04 / 0.3);
  CHECK(cells.radius() < 1.1 * 0.04 / 0.3);
  const auto open = std::make_unique<NormalCells::Open>();
  Random rng(41);
  int held = 0, beyond = 0;
  for (int i = 0; i < 2000; ++i) {
    const EllipsoidForm e = random_form(radii, cells.radius(), rng);
    const WhiteForm white(e);
    REQUIRE(white.finite());
    const bool none_open = cells.find_open(FourForm(white, cells.farthest()), *open) && open->count == 0;
    const Mat3 C = e.A.inverse();
    double most = -1;  // of what the body reaches beyond
    for (int k = 0; k < 200; ++k) {
      const Vec3 n = rng.direction();
      most = std::max(most, body.highest(n) - (e.m.dot(n) + std::sqrt(n.dot(C * n)) + cells.radius()));
    }
    CHECK((!none_open || most <= 0));
    held += none_open ? 1 : 0;
    beyond += most > 0 ? 1 : 0;
  }
  CHECK(held > 200);
  CHECK(beyond > 200);
}

TEST_CASE("cells of normals: of a symmetric body, all octants at once and each mirrored say the same") {
  const Vec3 radii(0.3, 0.2, 0.25);
  const EllipsoidBody body(radii, true), whole(radii, false);
  const NormalCells cells(body), all(whole);
  const auto open = std::make_unique<NormalCells::Open>();
  Random rng(42);
  int some = 0, none = 0;
  for (int i = 0; i < 2000; ++i) {
    const WhiteForm white(random_form(radii, cells.radius(), rng));
    const FourForm form(white, cells.farthest());
    const std::uint32_t octants = cells.octants_beyond(form);
    std::size_t count = 0;
    for (int octant = 0; octant < 8; ++octant) {
      REQUIRE(cells.find_open(form.mirrored(signs(octant)), *open));
      count += open->count;
      if ((octants >> octant & 1) == 0) CHECK(open->count == 0);
    }
    // The same cells, looked at without knowing of the mirrors.
    const bool none_open = all.find_open(FourForm(white, all.farthest()), *open) && open->count == 0;
    CHECK((count == 0) == none_open);
    CHECK((octants != 0 || count == 0));
    ++(octants == 0 ? none : some);
  }
  CHECK(some > 200);
  CHECK(none > 20);
}

}  // namespace
}  // namespace tactus
