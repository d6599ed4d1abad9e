// Drumwright Figures 1 and 3: a cube that comes to rest on one corner after another, by its deepest point and by many.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/paper/methods.h"
#include "tests/paper/paper_output.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::Method;

struct Rocking {
  int turns_early = 0, turns_late = 0;  // how often the corner that is deepest changes: in the first second, the last
  double spin_late = 0;                 // mean angular speed of the last second [rad/s]
  double tilt_late = 0;                 // mean tilt of the last second [rad]
};

int lowest_corner(const State& state) {
  const Vec3 down = state.q_WB(1).conjugate() * -Vec3::UnitZ();
  return (down.x() > 0 ? 1 : 0) + (down.y() > 0 ? 2 : 0);
}

// The cube touches with its lowest corner, tilted by 0.03 rad, and is let go.
Rocking rock(const Method& method, const std::string& figure) {
  Pose X_WB{test::turned(Vec3(1, 0.35, 0), 0.03), Vec3::Zero()};
  X_WB.p.z() = 0.5 * (X_WB.q.conjugate() * Vec3::UnitZ()).cwiseAbs().sum();
  World world = test::block_scene(method, X_WB).world();
  auto csv = test::open_csv(figure + "_" + method.name + ".csv", "step,tilt_x_rad,tilt_y_rad,corner,energy_j,depth_m");
  Rocking r;
  int corner = lowest_corner(world.state());
  for (int i = 0; i < 5000; ++i) {
    const double depth = world.step().depth_max;
    const State& state = world.state();
    const Vec3 z = state.q_WB(1) * Vec3::UnitZ();
    const int now = lowest_corner(state);
    csv << i << ',' << -z.y() << ',' << z.x() << ',' << now << ',' << kinetic_energy(world.model(), state) << ','
        << depth << '\n';
    if (now != corner && i < 1000) ++r.turns_early;
    if (now != corner && i >= 4000) ++r.turns_late;
    if (i >= 4000) r.spin_late += state.w_WB(1).norm() / 1000, r.tilt_late += test::tilt(state, 1) / 1000;
    corner = now;
  }
  return r;
}

TEST_CASE("Figures 1 and 3: by its deepest point the cube rocks from corner to corner; by many points it lies flat") {
  const Rocking deepest = rock(test::deepest_point(), "fig1"), multi = rock(test::multi_point(), "fig3"),
                automatic = rock(test::automatic(), "fig3");
  MESSAGE("changes of the deepest corner in the last second: " << deepest.turns_late << ", by many points "
                                                               << multi.turns_late);
  MESSAGE("mean angular speed of the last second [rad/s]: " << deepest.spin_late << ", by many points "
                                                            << multi.spin_late << ", auto " << automatic.spin_late);
  test::table_row("01_rocking", "Figs. 1, 3: angular speed after 4 s, deepest / multi-point [rad/s]",
                  "oscillates / \"little oscillation\"",
                  test::number(deepest.spin_late) + " / " + test::number(multi.spin_late),
                  test::number(automatic.spin_late));
  CHECK(deepest.turns_late > 50);  // it never comes to rest: more than 50 times a second another corner
  CHECK(multi.spin_late < deepest.spin_late / 100);
  CHECK(multi.tilt_late < 1e-4);
  CHECK(automatic.spin_late < multi.spin_late + 1e-9);
  CHECK(automatic.tilt_late < 1e-9);
}

}  // namespace
}  // namespace tactus
