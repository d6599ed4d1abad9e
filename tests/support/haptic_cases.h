// Single runs that both the property tests and the table of haptic numbers (paper/haptic_numbers_test) are made of.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/haptic_runs.h"
#include "tests/support/robots.h"

namespace tactus::test {

struct Cut {
  double force_at_cut = 0, force_left = 0, slope = 0, beyond_stored = 0;
  bool released = false, resumed = false;
};

// Pushes at nearly full force; the link dies at a random tick, in either or both directions.
inline Cut cut_at_full_push(haptic::Mode mode, std::uint64_t seed) {
  Random random(seed + 1000);
  BallOnFloor ball(0.0);
  World world = ball.scene.world();
  RigOptions o = rig_options(ball.ball, random.uniform(0.5, 2.0), mode);
  o.loop.watchdog_s = 0.005;
  o.tool.watchdog_ticks = 5;
  o.hand.stiffness = random.uniform(500, 2000);
  o.hand.damping = seed % 3 == 0 ? 0.0 : random.uniform(1, 10);
  const double depth = random.uniform(0.01, 0.02), speed = random.uniform(0.05, 0.2);
  o.hand.wants = [=](double t) { return down_by(std::clamp((t - 0.25) * speed, 0.0, depth)); };
  const int at = 500 + static_cast<int>(random.below(200));
  const std::uint32_t which = random.below(3);
  if (which != 0) o.up.cut_at = at;
  if (which != 1) o.down.cut_at = at;
  o.seed = seed;
  HapticRig rig(world, o);
  rig.run(at);
  Cut out;
  out.force_at_cut = rig.device.acting().force.norm();
  const double stiffness = rig.loop.options().gains.stiffness;
  const double work = rig.device.motor_work(), stored = 0.5 * out.force_at_cut * out.force_at_cut / stiffness;
  double last = out.force_at_cut, at_loss = -1, stored_at_loss = stored;
  for (int k = 0; k < 400; ++k) {
    rig.tick();
    const double force = rig.device.acting().force.norm();
    if (at_loss < 0 && !rig.loop.engaged()) at_loss = k, stored_at_loss = 0.5 * force * force / stiffness;
    if (k > 60) out.slope = std::max(out.slope, force > 0 ? 1e9 : 0.0);
    out.slope = std::max(out.slope, std::abs(force - last));
    if (k == 55 + 2) out.force_left = force;  // two ticks: the cut is felt a tick later on either side
    if (k > 100 && (force > 0 || rig.loop.engaged())) out.resumed = true;
    out.beyond_stored = std::max(out.beyond_stored, rig.device.motor_work() - work - std::max(stored, stored_at_loss));
    last = force;
  }
  out.released = rig.loop.idle() && rig.report().F_T_W.force.isZero(0);
  return out;
}

// A ball of 5 mm on a joint that slides along z.
inline BodyIndex add_slider(Model& model, double mass, double height = 0.05) {
  add_robot(model, "slider");
  const BodyIndex ball = add_link(model, mass, 1e-5 * Mat3::Identity());
  ShapeInstance shape;
  shape.shape = make_sphere(0.005);
  shape.body = ball;
  model.bodies[ball].first_shape = static_cast<std::uint32_t>(model.shapes.size());
  model.bodies[ball].shape_count = 1;
  model.shapes.push_back(shape);
  add_joint(model, JointKind::prismatic, kNone, ball, at(0, 0, height));
  return ball;
}

// How far below the sheet's middle the tool's centre got; negative: never. link: the tool is a robot's, a slider's.
inline double pushed_through(haptic::Mode mode, double mass, double speed, double tilt, ContactModelKind model,
                             bool link = false) {
  Scene scene;
  scene.set_gravity(Vec3::Zero());
  scene.add(make_box(Vec3(0.1, 0.1, 0.0005)), 1, {turned(Vec3::UnitX(), tilt), Vec3::Zero()}, {}, 0, BodyMode::fixed);
  const BodyIndex ball = link ? add_slider(*scene.model, mass) : scene.add(make_sphere(0.005), mass, at(0, 0, 0.05));
  scene.model->contact_model = model;
  World world = scene.world();
  RigOptions o = rig_options(ball, 1.0, mode);
  o.hand.stiffness = 2000;
  o.hand.damping = 20;
  o.hand.wants = [=](double t) { return down_by(std::clamp((t - 0.25) * speed, 0.0, 0.065)); };
  o.tool.force_limit = 10;
  o.loop.force_limit = 10;
  HapticRig rig(world, o);
  double deepest = -1;
  const Vec3 n = turned(Vec3::UnitX(), tilt) * Vec3::UnitZ();
  const int ticks = 600 + static_cast<int>(65 / speed);  // the hand's way, and a while to press
  for (int k = 0; k < ticks; ++k) {
    rig.tick();
    deepest = std::max(deepest, -n.dot(body_pose(world.model(), world.state(), ball).p));
  }
  return deepest;
}

struct SlowPress {
  double motor = 0, contact = 0, stiffness = 0;
  bool engaged = false;
};

// Down by 20 mm in half a second onto a floor 5 mm below; means from 0.3 s after it stopped on, over 0.3 s by Hann's
// window: what an encoder's last count makes ripple (a line answers 1 um in 1 ms with 0.07 N) is not cut within a
// cycle. slow_ticks: of a step of the model, beside the tick; 0: at the tick.
inline SlowPress slow_press(haptic::Mode mode, ContactModelKind kind = ContactModelKind::penalty,
                            std::uint32_t slow_ticks = 0) {
  BallOnFloor ball;
  if (slow_ticks == 0) ball.scene.model->contact_model = kind;
  World world = ball.scene.world();
  SlowTicker slow(static_cast<std::uint32_t>(world.model().bodies.size()), 64);
  std::optional<SlowSolver> solver;
  if (slow_ticks > 0) {
    solver.emplace(make_solver_world(world.shared_model(), world.limits(), kind, slow_ticks), kind, 64);
    world.yield_to(kind);
    slow.exchange(&*solver, world);
  }
  RigOptions o = rig_options(ball.ball, 1.0, mode);
  o.hand.wants = [](double t) { return down_by(0.02 * std::clamp((t - 0.3) / 0.5, 0.0, 1.0)); };
  HapticRig rig(world, o);
  if (slow_ticks > 0) rig.slow = &slow;
  rig.run(1100);
  SlowPress out;
  constexpr int kTicks = 300;
  for (int k = 0; k < kTicks; ++k) {
    rig.tick();
    const double weight = (1 - std::cos(2 * M_PI * (k + 0.5) / kTicks)) / kTicks;  // of sum 1
    if (slow_ticks > 0) {
      for (const ContactRow& row : slow.contacts()) out.contact += weight * std::abs(row.value[8]);
    } else {
      for (std::uint32_t i = 0; i < world.contacts().point_count; ++i)
        out.contact += weight * world.contact_force(i).norm();
    }
    out.motor += weight * rig.device.acting().force.z();
  }
  out.engaged = rig.loop.engaged();
  out.stiffness = out.motor / (-rig.device.pose().p.z() - 0.005);
  return out;
}

struct Saving {
  double up = 0, down = 0, error = 0, stiffness = 0;
  HapticResult result;
};

// watchdog: of both sides, beside the link's delay [cycles]; heartbeats follow from it.
inline Saving deadband_run(haptic::Mode mode, double share, int delay, std::uint64_t seed,
                           std::uint32_t watchdog = 100) {
  Random random(seed * 7919 + 17);
  BallOnFloor ball(0.005);
  World world = ball.scene.world();
  RigOptions o = rig_options(ball.ball, 1.0, mode);
  double end = 0;
  o.hand = random_hand(random, seed, end);
  o.mechanism.coulomb = 0.05;
  o.deadband = o.loop.deadband = share;
  o.heartbeat = o.tool.predict_ticks = wire::heartbeat_for(watchdog);
  o.tool.watchdog_ticks = watchdog + 2 * static_cast<std::uint32_t>(delay);
  o.loop.watchdog_s = 1e-3 * o.tool.watchdog_ticks;
  o.up = o.down = {delay, 0, 0, 5, -1};
  HapticRig rig(world, o);
  Meter meter;
  std::vector<double> forces;
  const int ticks = static_cast<int>(1000 * end);
  for (int k = 0; k < ticks; ++k) {
    rig.tick();
    meter.look(rig, 2e-3 * delay);
    if (k >= ticks - 1000) forces.push_back(rig.device.acting().force.z());
  }
  Saving out;
  out.result = meter.out;
  out.result.oscillates = sustained(forces);
  out.result.engaged = rig.loop.engaged();
  out.up = rig.device_band.count().saved();
  out.down = rig.tool_band.count().saved();
  out.error = std::max(rig.device_band.count().error_max, rig.tool_band.count().error_max);
  return out;
}

// A slider along z whose drive is a spring, its top at z = 0; a ball of 50 g rests on it, without gravity.
struct SpringBlock {
  explicit SpringBlock(double stiffness) {
    scene.set_gravity(Vec3::Zero());
    Model& model = *scene.model;
    add_robot(model, "block");
    const BodyIndex block = add_link(model, 0.1, 1e-4 * Mat3::Identity());
    ShapeInstance box;
    box.shape = make_box(Vec3(0.05, 0.05, 0.02));
    box.body = block;
    model.bodies[block].shape_count = 1;
    model.shapes.push_back(box);
    JointDrive drive;
    drive.joint = add_joint(model, JointKind::prismatic, kNone, block, at(0, 0, -0.02));
    drive.kind = DriveKind::position;
    drive.kp = stiffness;
    drive.kd = 1;
    model.drives.push_back(drive);
    ball = scene.add(make_sphere(0.01), 0.05, at(0, 0, 0.01));
  }
  Scene scene;
  BodyIndex ball = 0;
};

constexpr double kWall = 1e7;                   // a wall is a spring so stiff that nothing of it is felt [N/m]
constexpr double kFelt = 0.9 * 2 * 1.0 / 1e-3;  // of 2b/T at b = 1 N s/m, T = 1 ms
struct SlowWorld {
  double stiffness = 0, spring = 0, force = 0;  // felt beyond the block, of its spring [N/m]; means over 0.3 s
  HapticResult result;
};

// A world solved at 100 Hz: pressed onto the block by 20 mm, held 3 s.
inline SlowWorld slow_world(ContactModelKind kind, double spring, double hand_damping) {
  SpringBlock block(spring);
  World world = block.scene.world();
  SlowTicker slow(static_cast<std::uint32_t>(world.model().bodies.size()), 64);
  SlowSolver solver(make_solver_world(world.shared_model(), world.limits(), kind, 10), kind, 64);
  world.yield_to(kind);
  slow.exchange(&solver, world);
  RigOptions o = rig_options(block.ball, 1.0);
  o.loop.gains.stiffness = o.tool.gains.stiffness = kFelt;
  o.hand.damping = hand_damping;
  o.hand.stiffness = 300;
  o.hand.wants = [](double t) { return down_by(std::clamp(0.05 * (t - 0.5), 0.0, 0.02)); };
  HapticRig rig(world, o);
  rig.slow = &slow;
  Meter meter;
  std::vector<double> forces;
  double pressed = 0, sunk = 0;
  SlowWorld out;
  for (int k = 0; k < 4000; ++k) {
    rig.tick();
    meter.look(rig, 0.01);
    forces.push_back(rig.device.acting().force.z());
    if (k < 3700) continue;
    out.force += rig.device.acting().force.z() / 300;
    pressed += (0.01 - rig.loop.message().X_WR.p.z()) / 300;
    sunk -= (world.state().p_WBcm(0).z() + 0.02) / 300;
  }
  out.stiffness = out.force / (pressed - sunk);
  out.spring = out.force / sunk;
  out.result = meter.out;
  out.result.engaged = rig.loop.engaged();
  out.result.oscillates = sustained(forces);
  return out;
}

// The moment of all contact forces on the tool about its origin, and their sum.
inline SpatialForce contact_wrench(const World& world, BodyIndex tool) {
  SpatialForce out;
  const Vec3 p = body_pose(world.model(), world.state(), tool).p;
  for (std::uint32_t m = 0; m < world.contacts().manifold_count; ++m) {
    const Manifold& manifold = world.contacts().manifolds[m];
    if (manifold.body_a != tool && manifold.body_b != tool) continue;
    const double sign = manifold.body_a == tool ? 1 : -1;
    for (std::uint32_t i = manifold.first; i < manifold.first + manifold.count; ++i) {
      const Vec3 f = sign * world.contact_force(i);
      out.force += f;
      out.torque += (world.contacts().points[i].p_WC - p).cross(f);
    }
  }
  return out;
}

// Delay each way, and patience for it [ticks].
inline void delay(RigOptions& o, int ticks) {
  o.up.delay = o.down.delay = ticks;
  o.tool.watchdog_ticks = static_cast<std::uint32_t>(60 + 2 * ticks);
  o.loop.watchdog_s = 1e-3 * o.tool.watchdog_ticks;
}

struct Ridge {
  SpatialForce contact;  // means over 0.1 s: the encoder's steps tremble
  haptic::Wrench felt;
  bool engaged = false;
};

// A box pressed on a ridge off its centre.
inline Ridge on_a_ridge(haptic::Mode mode, double mu, int ticks) {
  Scene scene(mu);
  scene.set_gravity(Vec3::Zero());
  scene.add(make_box(Vec3(0.002, 0.05, 0.01)), 1, at(0.012, 0, -0.01), {}, 0, BodyMode::fixed);
  const BodyIndex box = scene.add(make_box(Vec3(0.02, 0.02, 0.01)), 0.1, at(0, 0, 0.012));
  World world = scene.world();
  RigOptions o = rig_options(box, 1.0, mode);
  o.hand.turn_stiffness = 2;
  o.hand.turn_damping = 0.01;
  o.hand.wants = [](double t) { return down_by(std::clamp(0.03 * (t - 0.3), 0.0, 0.012)); };
  delay(o, ticks);
  HapticRig rig(world, o);
  rig.run(1500 + 100 * ticks);
  Ridge out;
  out.engaged = rig.loop.engaged();
  for (int k = 0; k < 100; ++k) {
    rig.tick();
    const SpatialForce now = contact_wrench(world, box);
    out.contact.force += 0.01 * now.force;
    out.contact.torque += 0.01 * now.torque;
    out.felt = out.felt + 0.01 * rig.device.acting();
  }
  return out;
}

}  // namespace tactus::test
