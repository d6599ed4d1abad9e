// A virtual admittance device, its loop, a link, the server's tool desk and a world, stepped together in simulated
// time: HapticRig the other way round, force in and motion out.
#pragma once

#include "tactus/haptic/admittance.h"
#include "tactus/haptic/virtual_admittance.h"
#include "tests/support/haptic_rig.h"

namespace tactus::test {

struct AdmittanceOptions {
  haptic::ServoMechanism mechanism;
  haptic::Hand hand;
  haptic::LoopOptions loop;
  double mass = 0;  // felt; 0: the device's least
  ToolSettings tool;
  LinkOptions up, down;
  std::uint64_t seed = 1;
};

// A tool that follows as the server would have it.
inline AdmittanceOptions admittance_options(BodyIndex body) {
  AdmittanceOptions o;
  o.loop.gains = {2000, 0, 0.2, 0};
  o.loop.force_limit = o.mechanism.sensor_max;
  o.tool.body = body;
  o.tool.gains = {2000, 2, 0.2, 2e-4};
  o.tool.force_limit = 40;
  return o;
}

class AdmittanceRig {
 public:
  AdmittanceRig(World& the_world, const AdmittanceOptions& options)
      : world(the_world),
        device(options.mechanism, options.hand),
        loop(options.loop, haptic::choose_admittance(device.capabilities(), options.mass)),
        up_(options.up, 2 * options.seed + 11),
        down_(options.down, 2 * options.seed + 12) {
    desk.attach(0, options.tool, 0.05);
    loop.engage();
  }

  void tick() {
    haptic::Reading reading;
    device.read(reading);
    if (tamper) tamper(reading);
    down_.take(now, [&](const haptic::ToolMessage& m) { loop.receive(m); });
    sent = loop.move(reading);
    device.write_pose(sent.X_DH, sent.V_DH);
    up_.send(loop.message(), now);
    up_.take(now,
             [&](const haptic::DeviceMessage& m) { desk.take(to_row(m), world.state().tick, world.model().step); });
    desk.apply(world, slow != nullptr ? slow->solver()->ticks() : 0);
    for (const ToolRow& row : desk.rows()) down_.send(to_message(row, world.state().tick), now);
    if (slow != nullptr) {
      slow->step(world, Meet::wait, Meet::wait, true);
    } else {
      world.step();
    }
    device.step();
    ++now;
    look();
  }
  void run(int ticks) {
    for (int i = 0; i < ticks; ++i) tick();
  }
  [[nodiscard]] const ToolReport& report() const { return desk.rows()[0].report; }

  World& world;
  ToolDesk desk;
  haptic::VirtualAdmittance device;
  haptic::AdmittanceLoop loop;
  haptic::AdmittanceLoop::Command sent;
  std::function<void(haptic::Reading&)> tamper;  // with what the loop reads
  SlowTicker* slow = nullptr;
  int now = 0;
  double given_out = 0;  // most that the hand has got and not given before, since it last did nothing [J]

 private:
  void look() {
    quiet_ = device.hand_force().norm() < 0.05 && device.velocity().norm() < 1e-3 ? quiet_ + 1 : 0;
    if (quiet_ > 60) base_ = device.hand_work();
    given_out = std::max(given_out, base_ - device.hand_work());
  }
  SimLink<haptic::DeviceMessage> up_;
  SimLink<haptic::ToolMessage> down_;
  int quiet_ = 0;
  double base_ = 0;
};

}  // namespace tactus::test
