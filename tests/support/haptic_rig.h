// A virtual device, its loop, a link with delay, jitter and burst loss, the server's tool desk and a world, stepped
// together in simulated time: no clock, no thread, no socket. The same bits each run.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "server/realtime/tool_desk.h"
#include "server/solver/slow_ticker.h"
#include "tactus/haptic/deadband.h"
#include "tactus/haptic/loop.h"
#include "tactus/haptic/virtual_device.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"

namespace tactus::test {

struct LinkOptions {
  int delay = 0;    // of every message, one way [ticks]
  int jitter = 0;   // and up to so many more
  double loss = 0;  // share, in bursts of `burst` in the mean
  double burst = 5;
  int cut_at = -1;  // nothing arrives that was sent from this tick on
};

template <class Message>
class SimLink {
 public:
  SimLink(const LinkOptions& options, std::uint64_t seed) : o_(options), random_(seed) {}
  void send(const Message& message, int now) {
    // Gilbert: stays bad with 1 - 1/burst; becomes bad so that the share fits.
    const double leave = 1 / o_.burst, enter = o_.loss < 1 ? leave * o_.loss / (1 - o_.loss) : 1;
    bad_ = random_.chance(bad_ ? 1 - leave : enter);
    const int wait = o_.delay + static_cast<int>(random_.below(static_cast<std::uint32_t>(o_.jitter) + 1));
    if ((bad_ && o_.loss > 0) || (o_.cut_at >= 0 && now >= o_.cut_at)) return;
    waiting_.push_back({now + wait, message});
    ++sent_;
  }
  // All that has arrived by now, in the order of arrival.
  template <class Take>
  void take(int now, Take take) {
    std::stable_sort(waiting_.begin(), waiting_.end(), [](const Item& a, const Item& b) { return a.at < b.at; });
    while (!waiting_.empty() && waiting_.front().at <= now) {
      const Message message = waiting_.front().message;
      waiting_.pop_front();
      take(message);
    }
  }

 private:
  struct Item {
    int at;
    Message message;
  };
  LinkOptions o_;
  Random random_;
  std::deque<Item> waiting_;
  bool bad_ = false;
  int sent_ = 0;
};

inline DeviceRow to_row(const haptic::DeviceMessage& m) {
  DeviceRow row;
  row.grip = m.grip;
  row.sample = m.sample;
  row.tick_echo = m.tick_echo;
  row.pose = {m.X_WR.p.x(), m.X_WR.p.y(), m.X_WR.p.z(), m.X_WR.q.w(), m.X_WR.q.x(), m.X_WR.q.y(), m.X_WR.q.z()};
  row.velocity = {m.V_WR.v.x(), m.V_WR.v.y(), m.V_WR.v.z(), m.V_WR.w.x(), m.V_WR.w.y(), m.V_WR.w.z()};
  row.wave = m.wave;
  row.force = {m.F_H.force.x(), m.F_H.force.y(), m.F_H.force.z(), m.F_H.torque.x(), m.F_H.torque.y(), m.F_H.torque.z()};
  row.stiffness_share = m.stiffness_share;
  row.port_in = m.port_in;
  row.bits = m.bits;
  return row;
}

inline haptic::ToolMessage to_message(const ToolRow& row, std::uint64_t tick) {
  haptic::ToolMessage m;
  const ToolReport& r = row.report;
  m.tick = tick;
  m.sample_echo = row.device.sample;
  m.age = r.input_age_ticks;
  m.X_WT = {r.X_WT.q, r.X_WT.p};
  m.V_WT = {r.V_WT.v, r.V_WT.w};
  m.F_T = {r.F_T_W.force, r.F_T_W.torque};
  m.wave = row.wave;
  m.port_in = r.port_in;
  m.declared = r.declared;
  m.bits = r.bits;
  m.grip = row.grip;
  for (std::uint32_t i = 0; i < row.plane_count; ++i) {
    const ToolPlane& p = row.planes[i];
    const double along = p.moving ? p.nhat_W.dot(p.v_W) : 0.0;
    m.planes.push_back({p.key, p.nhat_W, p.p_W, p.c_T, along, p.mu, p.moving, p.on_tool});
  }
  return m;
}

struct RigOptions {
  haptic::Mechanism mechanism;
  haptic::Hand hand;
  haptic::LoopOptions loop;
  ToolSettings tool;
  LinkOptions up, down;
  double reach = 0.05;
  std::uint64_t seed = 1;
  bool server_paused = false;
  double deadband = 0;  // share; 0: every message is sent
  std::uint32_t heartbeat = wire::DeadbandOptions{}.heartbeat;
};

class HapticRig {
 public:
  // The handle starts where the tool is.
  HapticRig(World& the_world, const RigOptions& options) : HapticRig(the_world, options, nullptr, 0) {}
  // One of several at a desk that is another's: its place there; send(), receive() and step_device() for tick().
  HapticRig(World& the_world, const RigOptions& options, ToolDesk* shared, std::uint32_t its_place)
      : o_(options),
        world(the_world),
        own_desk(shared == nullptr ? std::make_unique<ToolDesk>() : nullptr),
        desk(shared == nullptr ? *own_desk : *shared),
        place(its_place),
        device(options.mechanism, options.hand),
        loop(options.loop),
        device_band(band_options(options), options.mechanism.period),
        tool_band(band_options(options)),
        up_(options.up, 2 * options.seed + 11),
        down_(options.down, 2 * options.seed + 12) {
    desk.attach(its_place, options.tool, options.reach);
    loop.engage();
  }

  void tick() {
    send();
    desk.apply(world, slow != nullptr ? slow->solver()->ticks() : 0);
    receive();
    if (slow != nullptr) {
      slow->step(world, Meet::wait, Meet::wait, true);
    } else {
      world.step();
    }
    step_device();
  }
  // The device's cycle, up to what reaches the desk.
  void send() {
    haptic::Reading reading;
    device.read(reading);
    down_.take(now, [&](const haptic::ToolMessage& m) { loop.receive(m); });
    force = loop.step(reading);
    device.write(force);
    if (device_band.take(loop.message())) up_.send(loop.message(), now);
    up_.take(now, [&](const haptic::DeviceMessage& m) {
      DeviceRow row = to_row(m);
      row.tool = place;
      desk.take(row, world.state().tick, world.model().step);
    });
  }
  // What the desk has said of its tool.
  void receive() {
    for (const ToolRow& row : desk.rows()) {
      if (row.tool == place && take(row)) down_.send(to_message(row, world.state().tick), now);
    }
  }
  void step_device() {
    device.step();
    ++now;
  }
  void run(int ticks) {
    for (int i = 0; i < ticks; ++i) tick();
  }
  [[nodiscard]] const ToolReport& report() const {
    const auto own = [this](const ToolRow& row) { return row.tool == place; };
    return std::find_if(desk.rows().begin(), desk.rows().end(), own)->report;
  }

  RigOptions o_;
  World& world;
  std::unique_ptr<ToolDesk> own_desk;
  ToolDesk& desk;
  std::uint32_t place;
  haptic::VirtualDevice device;
  haptic::Loop loop;
  haptic::DeviceDeadband device_band;
  wire::ToolBand tool_band;
  haptic::Wrench force;
  SlowTicker* slow = nullptr;  // moves the world, if there is one
  int now = 0;

 private:
  static wire::DeadbandOptions band_options(const RigOptions& options) {
    wire::DeadbandOptions out;
    out.share = options.deadband;
    out.heartbeat = options.heartbeat;
    return out;
  }
  // Of the coupling's wrench and the planes, what the mode uses.
  bool take(const ToolRow& row) {
    const Pose& X = row.report.X_WT;
    const SpatialForce& F = row.report.F_T_W;
    const bool local = row.mode == ToolMode::local;
    wire::SixRow wrench{};
    if (!local) wrench = {F.force.x(), F.force.y(), F.force.z(), F.torque.x(), F.torque.y(), F.torque.z()};
    std::array<wire::PlaneRow, kToolPlanes> planes{};
    for (std::uint32_t i = 0; i < row.plane_count; ++i) {
      const ToolPlane& p = row.planes[i];
      planes[i] = {p.key,
                   {p.nhat_W.x(), p.nhat_W.y(), p.nhat_W.z()},
                   {p.p_W.x(), p.p_W.y(), p.p_W.z()},
                   {p.c_T.x(), p.c_T.y(), p.c_T.z()}};
    }
    constexpr std::uint32_t kFlickering = kToolForceLimited | kToolSpeedLimited | kToolSwept;
    const std::uint64_t discrete = (std::uint64_t{row.grip} << 32) | (row.report.bits & ~kFlickering);
    return tool_band.take({X.p.x(), X.p.y(), X.p.z(), X.q.w(), X.q.x(), X.q.y(), X.q.z()}, wrench, planes.data(),
                          local ? row.plane_count : 0, discrete);
  }
  SimLink<haptic::DeviceMessage> up_;
  SimLink<haptic::ToolMessage> down_;
};

// A ball of 50 g just above a floor; the hand pushes it down.
struct BallOnFloor {
  static constexpr double kRadius = 0.01;
  explicit BallOnFloor(double height = 0.005, double mass = 0.05) {
    scene.add_floor();
    ball = scene.add(make_sphere(kRadius), mass, at(0, 0, kRadius + height));
  }
  Scene scene;
  BodyIndex ball = 0;
};

inline haptic::Pose down_by(double z) {
  haptic::Pose X;
  X.p.z() = -z;
  return X;
}

// A device of damping b, a tool that follows with the same stiffness, both as the server would choose them.
inline RigOptions rig_options(BodyIndex body, double b, haptic::Mode mode = haptic::Mode::local) {
  RigOptions o;
  o.mechanism.damping = b;
  haptic::Capabilities c = haptic::VirtualDevice(o.mechanism).capabilities();
  o.loop.mode = mode;
  o.loop.gains = haptic::choose_gains(c);
  o.loop.force_limit = c.force_max;
  o.loop.torque_limit = c.torque_max;
  o.loop.mass = c.mass;
  o.loop.inertia = c.inertia;
  o.loop.damping = b;
  o.tool.body = body;
  o.tool.mode = static_cast<ToolMode>(mode);
  o.tool.gains = {o.loop.gains.stiffness, 2, o.loop.gains.turn_stiffness, 2e-4};
  if (mode == haptic::Mode::wave) o.tool.gains = {5000, 14, 0.5, 1e-3};
  return o;
}

}  // namespace tactus::test
