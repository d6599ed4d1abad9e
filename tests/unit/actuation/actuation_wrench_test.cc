// Wrench channels: deadline in ticks, ramp to zero, limits, the moment of a force at a point.
#include <doctest/doctest.h>

#include <vector>

#include "core/actuation/wrench_channels.h"
#include "core/shape/shape.h"

using namespace tactus;

namespace {

// Two free bodies with an offset mass centre.
struct Bench {
  Model model;
  State state;
  std::vector<ChannelOutput> out = std::vector<ChannelOutput>(2);

  Bench() {
    for (int i = 0; i < 2; ++i) {
      Body body;
      body.name = std::string(1, i == 0 ? 'a' : 'b');
      body.mass = 2;
      body.I_BBcm = Mat3::Identity();
      body.p_BBcm = Vec3(0.1, 0, 0);
      body.force_limit = 100;
      body.torque_limit = 10;
      model.bodies.push_back(body);
      model.X_WB0.emplace_back();
      model.V_WB0.emplace_back();
    }
    model.materials.emplace_back();
    finish_model(model);
    state = initial_state(model, 4);
  }
};

WrenchCommand push(double x) {
  WrenchCommand c;
  c.force = Vec3(x, 0, 0);
  return c;
}

}  // namespace

TEST_CASE("actuation_wrench: a deadline covers ceil(deadline / h) ticks, at least one") {
  CHECK(deadline_ticks(20'000, 1e-3) == 20);
  CHECK(deadline_ticks(20'001, 1e-3) == 21);
  CHECK(deadline_ticks(1, 1e-3) == 1);
  CHECK(deadline_ticks(0, 1e-3) == 1);
  CHECK(deadline_ticks(3'000, 1e-4) == 30);
  CHECK(deadline_ticks(200'000, 1.0 / 3000) == 600);
}

TEST_CASE("actuation_wrench: full until the deadline, then down to zero within 10 ms, said once") {
  Bench bench;
  WrenchChannels channels(2);
  channels.clear(1e-3);
  channels.hold(0, push(50), 105);
  int said = 0;
  for (std::uint64_t tick = 100; tick < 125; ++tick) {
    const auto n = channels.evaluate(tick, bench.model, bench.state, bench.out);
    const double force = n == 0 ? 0 : bench.out[0].F_Bcm_W.force.x();
    said += n == 1 && bench.out[0].expired_now ? 1 : 0;
    if (tick < 105) CHECK(force == 50);
    if (tick >= 105) CHECK(force == doctest::Approx(50 * std::max(0.0, 1 - static_cast<double>(tick - 104) / 10)));
    if (tick == 105) CHECK(said == 1);
  }
  CHECK(said == 1);
  CHECK(channels.active() == 0);
}

TEST_CASE("actuation_wrench: a zero command expires in silence; a jump of time past the ramp still says it once") {
  Bench bench;
  WrenchChannels channels(2);
  channels.clear(1e-3);
  channels.hold(0, push(0), 1);
  channels.hold(1, push(5), 1);
  REQUIRE(channels.evaluate(500, bench.model, bench.state, bench.out) == 2);
  for (const ChannelOutput& o : bench.out) {
    CHECK(o.F_Bcm_W.force.isZero(0.0));
    CHECK(o.expired_now == (o.body == 1));
  }
  CHECK(channels.evaluate(501, bench.model, bench.state, bench.out) == 0);
}

TEST_CASE(
    "actuation_wrench: a released channel ramps from now, without being announced; a new command takes it again at "
    "full strength") {
  Bench bench;
  WrenchChannels channels(2);
  channels.clear(1e-3);
  channels.hold(0, push(10), 1000);
  channels.release(0, 50);
  REQUIRE(channels.evaluate(50, bench.model, bench.state, bench.out) == 1);
  CHECK(bench.out[0].F_Bcm_W.force.x() == doctest::Approx(9));
  CHECK_FALSE(bench.out[0].expired_now);
  channels.hold(0, push(10), 1000);
  channels.evaluate(51, bench.model, bench.state, bench.out);
  CHECK(bench.out[0].F_Bcm_W.force.x() == 10);
  channels.clear(1e-3);
  CHECK(channels.evaluate(52, bench.model, bench.state, bench.out) == 0);
}

TEST_CASE(
    "actuation_wrench: a force at a point gives its moment about the mass centre; body components turn with the body") {
  Bench bench;
  WrenchCommand c;
  c.force = Vec3(0, 2, 0);
  c.at_point = true;
  c.p_BP = Vec3(1.1, 0, 0);
  CHECK((resolve_wrench(c, bench.model.bodies[0], Quat::Identity()).F_Bcm_W.torque - Vec3(0, 0, 2)).norm() < 1e-12);
  const Quat quarter(Eigen::AngleAxisd(1.5707963267948966, Vec3::UnitZ()));
  c.in_body_frame = true;
  const SpatialForce turned = resolve_wrench(c, bench.model.bodies[0], quarter).F_Bcm_W;
  CHECK((turned.force - Vec3(-2, 0, 0)).norm() < 1e-12);
  CHECK((turned.torque - Vec3(0, 0, 2)).norm() < 1e-12);
}

TEST_CASE("actuation_wrench: limits cut lengths and keep directions") {
  Bench bench;
  WrenchCommand c;
  c.force = Vec3(300, 400, 0);
  c.torque = Vec3(0, 0, -50);
  const ResolvedWrench cut = resolve_wrench(c, bench.model.bodies[0], Quat::Identity());
  CHECK(cut.clamped);
  CHECK((cut.F_Bcm_W.force - Vec3(60, 80, 0)).norm() < 1e-9);
  CHECK((cut.F_Bcm_W.torque - Vec3(0, 0, -10)).norm() < 1e-9);
  c.force = Vec3(60, 80, 0);
  c.torque.setZero();
  CHECK_FALSE(resolve_wrench(c, bench.model.bodies[0], Quat::Identity()).clamped);
  c.at_point = true;
  c.p_BP = Vec3(0.1, 0, 5);  // the moment alone exceeds the torque limit
  CHECK(resolve_wrench(c, bench.model.bodies[0], Quat::Identity()).clamped);
}
