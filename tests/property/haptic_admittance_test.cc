// Admittance devices: the hand's force comes in, motion goes out. Free motion feels the stated mass, a wall is as stiff
// as the device's own position control, the hand gets nothing that it did not give, whatever the link.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/admittance_rig.h"
#include "tests/support/haptic_runs.h"
#include "tests/support/tolerance.h"

namespace tactus {
namespace {

using test::AdmittanceOptions;
using test::AdmittanceRig;
using test::Felt;

haptic::Hand pusher(std::function<double(double)> newton) {
  haptic::Hand hand;
  hand.stiffness = hand.damping = 0;
  hand.pushes = [=](double t) { return haptic::Wrench{Vec3(0, 0, newton(t)), Vec3::Zero()}; };
  return hand;
}

TEST_CASE("haptic_admittance: in free motion a hand moves the stated mass and damping") {
  for (const double mass : {2.0, 4.0}) {
    test::Scene scene;
    const BodyIndex ball = scene.add(make_sphere(0.01), 0.05, test::at(0, 0, 1));
    World world = scene.world();
    AdmittanceOptions o = test::admittance_options(ball);
    o.mass = mass;
    const auto force = [](double t) { return t < 0.5 ? 0.0 : 3 * std::sin(2 * M_PI * (t - 0.5)); };
    o.hand = pusher(force);
    AdmittanceRig rig(world, o);
    const double b = o.mechanism.felt_damping, dt = 1e-5;
    double v = 0, peak = 0, worst = 0, z = 0;  // of the closed form m v' + b v = F
    for (int k = 0; k < 2500; ++k) {
      rig.tick();
      for (int i = 0; i < 100; ++i) v += dt * (force(1e-3 * k + i * dt) - b * v) / mass, z += dt * v;
      peak = std::max(peak, std::abs(v));
      worst = std::max(worst, std::abs(rig.device.velocity().z() - v));
    }
    MESSAGE("mass " << mass << " kg: velocity within " << 100 * worst / peak << " % of the closed form, peak " << peak
                    << " m/s");
    CHECK(rig.loop.engaged());
    CHECK_WITHIN(worst / peak, 0.01);
    CHECK_WITHIN(rig.device.position().z() / z - 1, 0.01);
    CHECK_WITHIN(rig.report().X_WT.p.z() - 1 - z, 2e-3);  // the tool follows
  }
}

TEST_CASE("haptic_admittance: a wall is as stiff as the position control, over any link, for hands of every kind") {
  const double servo = haptic::ServoMechanism{}.servo_stiffness;
  for (const test::LinkOptions& link :
       {test::LinkOptions{0, 0, 0}, test::LinkOptions{5, 0, 0}, test::LinkOptions{5, 5, 0.1},
        test::LinkOptions{20, 0, 0}, test::LinkOptions{50, 5, 0.1}}) {
    const double step = haptic::ServoMechanism{}.sensor_step;
    double deepest = 0, given = 0, stiffness = 1e9;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      CAPTURE(seed);
      const Felt felt = test::press_admittance(link, false, seed);
      CHECK(felt.engaged);
      CHECK_FALSE(felt.rings);
      CHECK(felt.force > 0.5);
      // A grip that changes is answered a round trip late.
      if (seed % 4 != 1 || link.delay == 0) CHECK_WITHIN(felt.contact - felt.force, step + 1e-3 * felt.force);
      deepest = std::max(deepest, felt.deepest);
      given = std::max(given, felt.given_out);
      stiffness = std::min(stiffness, felt.force / (felt.depth - felt.overlap));
    }
    MESSAGE(link.delay << " ms, jitter " << link.jitter << " ms, loss " << link.loss << ": stiffness " << stiffness
                       << " N/m beyond the model's overlap, deepest " << 1e3 * deepest << " mm, given out "
                       << 1e3 * given << " mJ");
    CHECK(stiffness > 0.98 * servo);
    CHECK(deepest < 1e-3);
    CHECK(given < 1e-3);
  }
}

TEST_CASE("haptic_admittance: a block of 1 kg on the floor") {
  for (const test::LinkOptions& link :
       {test::LinkOptions{0, 0, 0}, test::LinkOptions{5, 5, 0.1}, test::LinkOptions{50, 5, 0.1}}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      CAPTURE(seed);
      const Felt felt = test::press_admittance(link, true, seed);
      MESSAGE(link.delay << " ms: depth " << 1e3 * felt.depth << " mm, hand " << felt.force << " N, contact "
                         << felt.contact << " N, given out " << 1e3 * felt.given_out << " mJ");
      CHECK(felt.engaged);
      CHECK_FALSE(felt.rings);
      CHECK(felt.given_out < 1e-3);
      if (seed % 4 != 1 || link.delay == 0) CHECK_WITHIN(felt.contact - felt.force, 0.01 + 2e-3 * felt.force);
    }
  }
}

// The planes hold the mass whatever model moves the world; a block yields up to two of its steps late.
TEST_CASE("haptic_admittance: beside lcp and st at 100 Hz: a wall as stiff as the servo, a block, no energy, no ring") {
  const double servo = haptic::ServoMechanism{}.servo_stiffness;
  for (const ContactModelKind kind : {ContactModelKind::lcp, ContactModelKind::st}) {
    for (const bool movable : {false, true}) {
      for (const int delay : {0, 5}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          CAPTURE(seed);
          const Felt felt = test::press_admittance({delay, 0, 0}, movable, seed, kind);
          MESSAGE(std::string(to_string(kind))
                  << ", " << delay << " ms, " << (movable ? "block" : "floor") << ": depth " << 1e3 * felt.depth
                  << " mm, hand " << felt.force << " N, contact " << felt.contact << " N, given out "
                  << 1e3 * felt.given_out << " mJ");
          CHECK(felt.engaged);
          CHECK_FALSE(felt.rings);
          CHECK(felt.given_out < 1e-3);
          CHECK(felt.force > 0.5);
          // A grip that changes is answered a step of the model and a round trip late.
          if (seed % 4 != 1) CHECK_WITHIN(felt.contact - felt.force, 0.01 + 5e-3 * felt.force);
          if (!movable) CHECK(felt.force / felt.depth > 0.98 * servo);
        }
      }
    }
  }
}

TEST_CASE("haptic_admittance: an undamped hand pushes a free block away in zero gravity") {
  for (const int delay : {0, 5, 20}) {
    test::Scene scene;
    scene.set_gravity(Vec3::Zero());
    scene.add(make_box(Vec3(0.05, 0.05, 0.02)), 1, test::at(0, 0, -0.02));
    const BodyIndex ball = scene.add(make_sphere(0.01), 0.05, test::at(0, 0, 0.015));
    World world = scene.world();
    AdmittanceOptions o = test::admittance_options(ball);
    o.hand.stiffness = 300;
    o.hand.damping = 0;
    o.hand.wants = [](double t) { return test::down_by(std::clamp(0.05 * (t - 0.5), 0.0, 0.03)); };
    o.up = o.down = {delay, 0, 0, 5, -1};
    o.loop.watchdog_s = 0.2;
    o.tool.watchdog_ticks = 200;
    AdmittanceRig rig(world, o);
    rig.run(3000);
    MESSAGE(delay << " ms: block at " << world.state().p_WBcm(0).z() << " m, " << 1e3 * rig.given_out << " mJ out");
    CHECK(rig.loop.engaged());
    CHECK(world.state().p_WBcm(0).z() < -0.04);
    CHECK(rig.given_out < 1e-3);
  }
}

TEST_CASE("haptic_admittance: undamped hands on a mass without damping: the swing grows by less than 2 % in 20 s") {
  for (const double stiffness : {100.0, 1000.0, 4000.0}) {
    test::Scene scene;
    const BodyIndex ball = scene.add(make_sphere(0.01), 0.05, test::at(0, 0, 1));
    World world = scene.world();
    AdmittanceOptions o = test::admittance_options(ball);
    o.mechanism.felt_damping = 0;
    o.hand.stiffness = stiffness;
    o.hand.damping = 0;
    o.hand.wants = [](double t) { return test::down_by(t < 0.5 ? 0.0 : 0.005); };
    AdmittanceRig rig(world, o);
    double early = 0, late = 0;
    for (int k = 0; k < 20000; ++k) {
      rig.tick();
      const double away = std::abs(rig.device.position().z() + 0.005);
      if (k > 1000 && k < 3000) early = std::max(early, away);
      if (k > 18000) late = std::max(late, away);
    }
    MESSAGE(stiffness << " N/m: swings by " << 1e3 * early << " mm at first, " << 1e3 * late << " mm after 20 s, "
                      << 1e3 * rig.given_out << " mJ out");
    CHECK(rig.loop.engaged());
    CHECK(early > 0.001);
    CHECK(late < 1.02 * early);
    CHECK(rig.given_out < 1e-3);
  }
}

TEST_CASE("haptic_admittance: 1 mm sheets at 10 N and up to 0.5 m/s: never through") {
  for (const double speed : {0.05, 0.2, 0.5}) {
    for (const double mass : {0.05, 0.5}) {
      for (const double way : {0.02, 0.03, 0.041}) {
        test::Scene scene;
        scene.add(make_box(Vec3(0.2, 0.2, 0.0005)), 1, test::at(0, 0, -0.0005), {}, 0, BodyMode::fixed);
        const BodyIndex ball = scene.add(make_sphere(0.01), mass, test::at(0, 0, 0.01 + way));
        World world = scene.world();
        AdmittanceOptions o = test::admittance_options(ball);
        // Carried by a stiff grip at that speed, then 10 N for good.
        o.hand.stiffness = 1000;
        o.hand.damping = 20;
        o.hand.wants = [=](double t) { return test::down_by(std::clamp(speed * (t - 0.4), 0.0, way + 0.01)); };
        AdmittanceRig rig(world, o);
        double lowest = 1;
        for (int k = 0; k < 2500; ++k) rig.tick(), lowest = std::min(lowest, rig.report().X_WT.p.z());
        CAPTURE(speed);
        CAPTURE(way);
        CHECK(rig.loop.engaged());
        CHECK(lowest > 0.0095);
        CHECK(-rig.device.hand_force().z() > 8);
        CHECK(rig.given_out < 1e-3);
      }
    }
  }
}

TEST_CASE("haptic_admittance: a lost link, moving or pushing: at rest within watchdog and ramp, and stays") {
  for (const int cut : {520, 560, 620, 700, 900, 1300}) {  // before, in and after the blow
    for (const double damping : {0.0, 5.0}) {
      test::BallOnFloor ball(0.02);
      World world = ball.scene.world();
      AdmittanceOptions o = test::admittance_options(ball.ball);
      o.hand.stiffness = 500;
      o.hand.damping = damping;
      o.hand.wants = [](double t) { return test::down_by(std::clamp(0.3 * (t - 0.45), 0.0, 0.04)); };
      o.up = o.down = {0, 0, 0, 5, cut};
      AdmittanceRig rig(world, o);
      rig.run(cut + 5 + 50);  // watchdog 5 ms, ramp 45 ms, and the servo's own
      CAPTURE(cut);
      CAPTURE(damping);
      CHECK_FALSE(rig.loop.engaged());
      CHECK(rig.loop.idle());
      CHECK(rig.loop.reason() == "no word from the server");
      CHECK(rig.sent.V_DH.v.norm() == 0);
      CHECK(rig.device.velocity().norm() < 0.005);
      const Vec3 stands = rig.sent.X_DH.p;
      rig.run(300);
      CHECK((rig.sent.X_DH.p - stands).norm() == 0);
      CHECK(rig.given_out < 1e-3);
    }
  }
}

// What is sent has speed and acceleration within the device's and its pose goes on without a jump, whatever is read.
TEST_CASE("haptic_admittance: readings that jump, lie or are not finite move nothing faster than the device follows") {
  enum class Bad { nan, huge, noise, jump };
  for (const Bad bad : {Bad::nan, Bad::huge, Bad::noise, Bad::jump}) {
    CAPTURE(static_cast<int>(bad));
    test::BallOnFloor ball(0.2);
    World world = ball.scene.world();
    AdmittanceOptions o = test::admittance_options(ball.ball);
    o.hand.stiffness = 300;
    test::Random random(7);
    AdmittanceRig rig(world, o);
    rig.tamper = [&](haptic::Reading& r) {
      if (rig.now < 600) return;
      if (bad == Bad::nan) r.F_H.force.x() = std::nan("");
      if (bad == Bad::huge) r.F_H.force = Vec3(0, 0, rig.now % 100 < 50 ? 1e9 : -1e9);
      if (bad == Bad::noise)
        r.F_H.force = Vec3(random.uniform(-40, 40), random.uniform(-40, 40), random.uniform(-40, 40));
      if (bad == Bad::jump && rig.now < 650) r.X_DH.p.x() += 0.1;
    };
    const double speed = o.mechanism.speed_max, acceleration = o.mechanism.acceleration_max;
    haptic::AdmittanceLoop::Command last;
    bool limited = false;
    for (int k = 0; k < 1500; ++k) {
      rig.tick();
      CHECK(rig.sent.V_DH.v.norm() <= speed * (1 + 1e-9));
      CHECK((rig.sent.X_DH.p - last.X_DH.p).norm() <= 1e-3 * speed * (1 + 1e-9));
      // Stopping where the gate says so may be faster.
      if ((rig.loop.bits() & haptic::kGateActed) == 0 && rig.loop.engaged())
        CHECK((rig.sent.V_DH.v - last.V_DH.v).norm() <= 1e-3 * acceleration * (1 + 1e-6) + 1e-12);
      limited = limited || (rig.loop.bits() & haptic::kSlewLimited) != 0;
      last = rig.sent;
    }
    const bool refused = bad == Bad::nan || bad == Bad::jump;
    CHECK(rig.loop.engaged() == !refused);
    if (refused) CHECK_FALSE(rig.loop.reason().empty());
    if (bad == Bad::huge) CHECK(limited);
    if (bad == Bad::huge) CHECK((rig.loop.bits() & haptic::kForceLimited) != 0);
  }
}

}  // namespace
}  // namespace tactus
