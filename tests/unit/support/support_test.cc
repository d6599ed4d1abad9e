// What tests lean on: the shortest rotation between two directions, also where they oppose.
#include "tests/support/scenes.h"
#include "tests/support/tolerance.h"

namespace tactus {

TEST_CASE("support: the shortest rotation turns one direction to the other, by the angle between them") {
  test::Random random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    const Vec3 from = random.direction(), other = random.direction();
    const double length = random.log_uniform(0.1, 10);
    // Every fourth pair opposes exactly, or all but.
    const Vec3 slight = trial % 8 == 0 ? Vec3(Vec3::Zero()) : Vec3(random.log_uniform(1e-9, 1e-2) * other);
    const Vec3 to = trial % 4 == 0 ? Vec3((slight - from).normalized()) : other.normalized();
    const Quat q = test::shortest_rotation(from, length * to);
    CHECK_WITHIN(q.norm() - 1, 1e-9);
    CHECK_WITHIN((q * from.normalized() - to).norm(), 1e-8);
    CHECK_WITHIN(q.w() - std::cos(0.5 * std::atan2(from.cross(to).norm(), from.dot(to))), 1e-7);
  }
}

}  // namespace tactus
