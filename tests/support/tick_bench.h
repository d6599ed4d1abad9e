// Parts of the tick without its thread: small worlds, commands, and what has come out of the rings.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/world.h"
#include "server/realtime/link.h"
#include "server/realtime/tick_parts.h"
#include "server/solver/slow_solver.h"
#include "tests/support/robots.h"
#include "tests/support/scenes.h"

namespace tactus::test {

inline constexpr std::uint32_t kTickBodies = 8, kTickContacts = 16, kTickEpoch = 9;

inline std::unique_ptr<World> world_of(Scene scene) {
  scene.set_gravity(Vec3::Zero());
  scene.limits.bodies = scene.limits.shapes = kTickBodies;
  scene.limits.pairs = 16;
  return std::unique_ptr<World>(new World(scene.world()));
}

// A ball of 2 kg in space, and a second one far from it.
inline std::unique_ptr<World> ball_world() {
  Scene scene;
  scene.add(make_sphere(0.1), 2, at(0, 0, 0));
  scene.add(make_sphere(0.1), 2, at(5, 0, 0));
  return world_of(std::move(scene));
}

// A robot of prismatic joints, each between the world and a link of 2 kg.
inline std::unique_ptr<World> slider_world(std::uint32_t joints, double effort_limit) {
  Scene scene;
  add_robot(*scene.model, "robot");
  for (std::uint32_t i = 0; i < joints; ++i) {
    const BodyIndex b = add_link(*scene.model, 2, Mat3::Identity());
    const JointIndex joint = add_joint(*scene.model, JointKind::prismatic, kNone, b, {}, Vec3::UnitX());
    scene.model->joints[joint].effort_limit = effort_limit;
  }
  return world_of(std::move(scene));
}

// Steps of so many ticks; without a thread it solves where the test says so.
inline SlowSolver* make_slow(const World& live, ContactModelKind kind, std::uint32_t ticks) {
  return new SlowSolver(make_solver_world(live.shared_model(), live.limits(), kind, ticks), kind, kTickContacts);
}

inline Command command_of(Command::Kind kind, std::uint64_t ticket = 0, std::uint64_t value = 0) {
  Command c;
  c.kind = kind;
  c.epoch = kTickEpoch;
  c.client = 1;
  c.ticket = ticket;
  c.value = value;
  return c;
}

// Along x.
inline Command push_of(std::uint64_t ticket, BodyIndex body, double force, std::uint32_t deadline_us = 5'000) {
  Command c = command_of(Command::Kind::wrench, ticket);
  c.deadline_us = deadline_us;
  c.row = {{force, 0, 0}, {0, 0, 0}, {0, 0, 0}, body, 0, false};
  return c;
}

inline Command torque_of(std::uint64_t ticket, JointIndex joint, double value, std::uint32_t deadline_us = 5'000) {
  Command c = command_of(Command::Kind::joint, ticket);
  c.deadline_us = deadline_us;
  c.joint.joint = joint;
  c.joint.value = value;
  return c;
}

template <typename T>
std::vector<T> take_all(Ring<T>& ring) {
  std::vector<T> out;
  T item;
  while (ring.pop(item)) out.push_back(item);
  return out;
}

// All parts, as the loop has them.
struct PartsBench {
  TickLink link{kTickBodies, kTickContacts, 64};
  std::unique_ptr<TickParts> parts;
  Beat beat;  // granted: no age and no lateness

  explicit PartsBench(std::unique_ptr<World> world, bool record = false, bool play = false, bool lockstep = false) {
    if (record) link.record = std::make_unique<RecordFeed>(kTickBodies, 256, 0, kTickContacts);
    if (play) link.play = std::make_unique<PlayFeed>(kTickBodies, kTickContacts);
    TickOptions options;
    options.bodies = kTickBodies;
    options.contacts = kTickContacts;
    options.lockstep = lockstep;
    parts = std::make_unique<TickParts>(options, link, std::move(world), kTickEpoch);
    beat.granted = true;
  }
  [[nodiscard]] World& world() { return parts->scene.world(); }
  [[nodiscard]] JudgeContext context() const { return parts->context(beat); }
  std::vector<Notice> notices() { return take_all(link.notices); }
  std::vector<RecordRow> rows() { return take_all(link.record->rows); }
};

}  // namespace tactus::test
