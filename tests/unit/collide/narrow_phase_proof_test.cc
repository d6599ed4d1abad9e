// The proof that last tick's axis is still the least: what it accepts must be the least, against a fresh search and
// against directions drawn at random; and it must accept what rests on a face or a cap, and nearly all that meets on
// rims, sides and corners.
#include "core/collide/convex/narrow_proof.h"
#include "tests/support/tolerance.h"
#include "tests/unit/collide/narrow_phase_check.h"

namespace tactus {
namespace {

using namespace geometry_test;

constexpr double kRounding = 1e-14;  // of lengths of about 1

struct Tally {
  int touching = 0, proved = 0;
};

// Axis of the pair in a's frame, as the searches take it.
struct InA {
  CoreStorage storage_a, storage_b;
  Core a, b;
  InA(const Placed& first, const Placed& second)
      : a(make_core(first.shape, Mat3::Identity(), Vec3::Zero(), storage_a)),
        b(make_core(second.shape, first.X.R.transpose() * second.X.R, first.X.R.transpose() * (second.X.p - first.X.p),
                    storage_b)) {}
  [[nodiscard]] Axis search(const Axis& last) const {
    return a.is_cylinder() ? least_overlap_cylinders(a, b, last) : least_overlap_cylinder(a, b, last);
  }
  bool prove(const Axis& last, Axis& out) const {
    return a.is_cylinder() ? same_axis_cylinders(a, b, last, out) : same_axis_cylinder(a, b, last, out);
  }
};

// The axis found in one pose, tried in one a little further.
void try_proof(const Placed& a, Placed b, Rng& rng, Tally& tally) {
  const Axis last = InA(a, b).search({});
  if (last.overlap <= 0) return;
  const double move = std::pow(10.0, uniform(rng, -7, -2));
  const Vec3 shift = move * in_cube(rng, 1), axis = direction(rng);
  b.X.p += shift;
  b.X.R = Eigen::AngleAxisd(move, axis).toRotationMatrix() * b.X.R;
  const InA pair(a, b);
  const Axis fresh = pair.search({});
  if (fresh.overlap <= 0) return;
  ++tally.touching;
  Axis proved;
  if (!pair.prove(last, proved)) return;
  ++tally.proved;
  CHECK_WITHIN(proved.n.norm() - 1, 1e-12);
  CHECK_WITHIN(proved.n.dot(difference_support(pair.a, pair.b, proved.n)) / proved.overlap - 1, 1e-5);
  CHECK(proved.overlap <= fresh.overlap * (1 + 1e-9) + kRounding);
  for (int i = 0; i < 100; ++i) {
    const Vec3 n = direction(rng);
    CHECK(n.dot(difference_support(pair.a, pair.b, n)) >= proved.overlap * (1 - 1e-9) - kRounding);
    const Vec3 near = (proved.n + 0.1 * n).normalized();
    CHECK(near.dot(difference_support(pair.a, pair.b, near)) >= proved.overlap * (1 - 1e-9) - kRounding);
  }
}

Shape box_or_cylinder(bool box, Rng& rng) {
  const double u = uniform(rng, 0.05, 0.5), v = uniform(rng, 0.05, 0.5), w = uniform(rng, 0.05, 0.5);
  return box ? make_box({u, v, w}) : make_cylinder(u, v);
}

}  // namespace

TEST_CASE("narrow_phase: an axis that is proved to be the least has no lesser one beside it") {
  for (const bool box : {true, false}) {
    Rng rng(box ? 31 : 32);
    Tally tally;
    while (tally.touching < 3000) {
      const Placed a{box_or_cylinder(box, rng), {rotation(rng), Vec3::Zero()}};
      Placed b{box_or_cylinder(false, rng), {rotation(rng), Vec3::Zero()}};
      Vec3 d = direction(rng);
      sampled_minimum(a, b, rng, 20, &d);
      const double depth = std::pow(10.0, uniform(rng, -6, -1));
      b.X.p += (depth - overlap_along(a, b, d)) * d;
      try_proof(a, b, rng, tally);
    }
    MESSAGE(std::string(box ? "box" : "cylinder")
            << " on cylinder: " << tally.proved << " of " << tally.touching << " proved");
    CHECK(tally.proved > tally.touching * 9 / 10);
  }
}

TEST_CASE("narrow_phase: the height of a disc bends by what the proof takes from it") {
  // g(theta) = |z x m| along the circle from n towards t; z x n = q u.
  const double far = std::tan(0.25);
  for (double q = 1e-7; q <= 1; q *= 1.3) {
    const Vec3 z(-q, 0, std::sqrt(1 - q * q));
    for (int i = 0; i < 72; ++i) {
      const double psi = i * M_PI / 36;
      const Vec3 t(std::cos(psi), std::sin(psi), 0), n = Vec3::UnitZ();
      const double slope = -z.dot(n) * z.dot(t) / q, along2 = t.y() * t.y();  // u = -y
      for (double theta = 0.01; theta < M_PI; theta += 0.02) {
        const Vec3 m = std::cos(theta) * n + std::sin(theta) * t;
        const double beyond = z.cross(m).norm() - q * std::cos(theta) - slope * std::sin(theta);
        CHECK(beyond >= q * q * along2 * (1 - std::cos(theta)) - 1e-12);
        if (theta < M_PI - 0.5) CHECK(beyond >= 0.5 * far * along2 * (1 - std::cos(theta)) - 1e-12);
      }
    }
  }
}

TEST_CASE("narrow_phase: a cylinder that stands on a box or on a cylinder within its face is proved at once") {
  Rng rng(33);
  for (int i = 0; i < 400; ++i) {
    const Placed a{i % 2 == 0 ? make_box({0.5, 0.4, 0.3}) : make_cylinder(0.4, 0.3), {rotation(rng), Vec3::Zero()}};
    const double r = uniform(rng, 0.02, 0.15), h = uniform(rng, 0.02, 0.3), tilt = uniform(rng, 1e-3, 0.3);
    const double depth = std::pow(10.0, uniform(rng, -7, -4));
    const Vec3 axis(std::cos(i), std::sin(i), 0);
    Placed b{make_cylinder(r, h), {Eigen::AngleAxisd(tilt, axis).toRotationMatrix(), Vec3::Zero()}};
    b.X.p = Vec3(uniform(rng, -0.1, 0.1), 0.05, 0.3 + h * std::cos(tilt) + r * std::sin(tilt) - depth);
    b.X = {a.X.R * b.X.R, a.X.R * b.X.p};
    const InA pair(a, b);
    const Axis found = pair.search({});
    Axis proved;
    REQUIRE(pair.prove(found, proved));
    CHECK_WITHIN(proved.overlap / depth - 1, 1e-6);
    CHECK_WITHIN((proved.n + Vec3::UnitZ()).norm(), 1e-12);
  }
}

}  // namespace tactus
