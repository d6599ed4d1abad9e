// A virtual admittance device, its loop, a link, the server's tool desk and a world, stepped together in simulated
// time: HapticRig the other way round, force in and motion out.
#pragma once

#include <optional>

#include "tactus/haptic/admittance.h"
#include "tactus/haptic/virtual_admittance.h"
#include "tests/support/haptic_runs.h"

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

// Force of all contacts on a body; deepest: of their overlaps.
inline double force_on(const World& world, BodyIndex body, double& deepest) {
  double sum = 0;
  deepest = 0;
  const ContactSet& set = world.contacts();
  for (const Manifold* m = set.manifolds; m != set.manifolds + set.manifold_count; ++m) {
    if (m->body_a != body && m->body_b != body) continue;
    deepest = std::max(deepest, m->depth_max);
    for (std::uint32_t i = 0; i < m->count; ++i) sum += world.contact_force(m->first + i).norm();
  }
  return sum;
}

struct Felt {
  double depth = 0, overlap = 0, force = 0, contact = 0;  // means over the last 0.3 s; overlap: the model's own
  double deepest = 0, given_out = 0;
  bool rings = false, engaged = false;
};

// What the adopted step of a slow model says of the contacts on a body: their normal forces.
inline double force_on(const SlowTicker& slow, BodyIndex body) {
  double sum = 0;
  for (const ContactRow& row : slow.contacts())
    sum += row.body_a == body || row.body_b == body ? std::abs(row.value[8]) : 0;
  return sum;
}

// A hand of its own kind presses, holds and releases three times; the last time it stays. kind: solved at 100 Hz beside
// the tick; none: by penalty at the tick.
inline Felt press_admittance(const LinkOptions& link, bool movable, std::uint64_t seed,
                             std::optional<ContactModelKind> kind = {}) {
  Random random(seed * 7919 + 17);
  Scene scene;
  scene.add_floor();
  const double top = movable ? 0.04 : 0;
  if (movable) scene.add(make_box(Vec3(0.05, 0.05, 0.02)), 1, at(0, 0, 0.02));
  const BodyIndex ball = scene.add(make_sphere(0.01), 0.05, at(0, 0, top + 0.015));
  World world = scene.world();
  SlowTicker slow(static_cast<std::uint32_t>(world.model().bodies.size()), 64);
  std::optional<SlowSolver> solver;
  if (kind) {
    solver.emplace(make_solver_world(world.shared_model(), world.limits(), *kind, 10), *kind, 64);
    world.yield_to(*kind);
    slow.exchange(&*solver, world);
  }
  AdmittanceOptions o = admittance_options(ball);
  double end = 0;
  o.hand = random_hand(random, seed, end);
  o.up = o.down = link;
  o.seed = seed;
  o.loop.watchdog_s = 1e-3 * (2 * (link.delay + link.jitter) + 60);
  o.tool.watchdog_ticks = static_cast<std::uint32_t>(1000 * o.loop.watchdog_s);
  AdmittanceRig rig(world, o);
  if (kind) rig.slow = &slow;
  Felt out;
  std::vector<double> forces;
  const int ticks = static_cast<int>(1000 * end) + 1000;
  for (int k = 0; k < ticks; ++k) {
    rig.tick();
    const double handle = rig.device.position().z() - rig.sent.X_DH.p.z() + rig.loop.virtual_tool().p.z();
    const double depth = top + 0.01 - handle;
    if (k > 400) out.deepest = std::max(out.deepest, depth);  // anchored long since
    if (k >= ticks - 1000) forces.push_back(rig.device.hand_force().z());
    if (k < ticks - 300) continue;
    out.depth += depth / 300;
    out.force -= rig.device.hand_force().z() / 300;
    double overlap = 0;
    out.contact += (kind ? force_on(slow, ball) : force_on(world, ball, overlap)) / 300;
    out.overlap += overlap / 300;
  }
  out.rings = sustained(forces);
  out.engaged = rig.loop.engaged();
  out.given_out = rig.given_out;
  return out;
}

}  // namespace tactus::test
