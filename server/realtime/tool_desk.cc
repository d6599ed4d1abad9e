#include "server/realtime/tool_desk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace tactus {
namespace {

// How deep a tool may come within one tick before its contact answers [m]: less than half of a thin sheet.
constexpr double kSlack = 0.25e-3;
// A client's word on the hand's force against what it was granted: this much more of stiffness for so long, or of force
// at once, is doubted. The proxy of its local model is not quite where the tool is.
constexpr double kDoubtShare = 1.5, kDoubtForce = 1.05, kDoubtFloor = 0.5;  // the floor in [N]
constexpr std::uint32_t kDoubtTicks = 200;

Pose pose_of(const std::array<double, 7>& x) noexcept {
  return {Quat(x[3], x[4], x[5], x[6]), Vec3(x[0], x[1], x[2])};
}

}  // namespace

void ToolDesk::attach(std::uint32_t index, const ToolSettings& settings, double reach) noexcept {
  TACTUS_ASSERT(index < kTools);
  tools_[index] = {};
  tools_[index].attached = true;
  tools_[index].settings = settings;
  tools_[index].reach = reach;
  tools_[index].coupling.set(settings);
}

void ToolDesk::detach(std::uint32_t index) noexcept {
  if (!attached(index)) return;
  tools_[index].leaving = true;
  tools_[index].coupling.let_go();
}

void ToolDesk::clear() noexcept {
  for (Tool& tool : tools_) tool = {};
  row_count_ = applied_count_ = lost_now_ = 0;
}

void ToolDesk::drop_all() noexcept {
  for (Tool& tool : tools_) {
    if (!tool.attached) continue;
    tool.coupling.drop();
    tool.fresh = tool.looked = false;
    if (tool.leaving) tool = {};
  }
  row_count_ = applied_count_ = lost_now_ = 0;
}

bool ToolDesk::take(const DeviceRow& row, std::uint64_t tick, double step) noexcept {
  if (!attached(row.tool) || tools_[row.tool].leaving) return false;
  Tool& tool = tools_[row.tool];
  ++tool.samples;
  if (row.grip != 0 && row.grip == tool.grip && tool.settings.mode == ToolMode::wave) {
    // What came while the world stood still is as old as it was then: else the playout would stay late by the stall.
    const auto waited = static_cast<std::uint64_t>(1e-6 * row.wait_us / step);
    const auto skipped = static_cast<std::uint64_t>(steps_due_ - 1);
    tool.playout.push(row.sample, tick + lost_steps_ - std::min(waited, skipped), row.wave);
  }
  if (row.sample <= tool.device.sample) return false;
  // With a deadband most samples are not sent, and those that are count themselves.
  const std::uint64_t newest = row.band_sent > 0 ? row.band_sent : row.sample;
  const std::uint64_t last = row.band_sent > 0 ? tool.device.band_sent : tool.device.sample;
  if (last > 0 && newest > last) tool.samples_lost += newest - last - 1;
  tool.device = row;
  tool.fresh = true;
  return true;
}

// A link without mass behind it bears nothing.
ToolMass ToolDesk::mass_of(const Tool& tool, World& world) noexcept {
  const ToolSettings& s = tool.settings;
  if (world.model().bodies[s.body].mode != BodyMode::link) return tool_mass(world.model(), s.body, s.X_BT);
  Eigen::Matrix<double, 6, 6> mobility;
  const Pose X_WT = body_pose(world.model(), world.state(), s.body) * s.X_BT;
  return world.mobility(s.body, X_WT.p, mobility) ? tool_mass(mobility) : ToolMass{};
}

// A new number of grip engages; zero lets go. After the watchdog has let go, the same number does nothing.
void ToolDesk::engage_or_let_go(Tool& tool, World& world) noexcept {
  if (!tool.fresh || tool.leaving) return;
  if (tool.device.grip == 0) {
    tool.coupling.let_go();
  } else if (tool.device.grip != tool.grip) {
    tool.grip = tool.device.grip;
    tool.coupling.engage(tool.settings, mass_of(tool, world), world.model(), world.state());
    tool.playout.clear();
    tool.wave.fill(0);
    tool.input = {};
    const Pose X_WT = body_pose(world.model(), world.state(), tool.settings.body) * tool.settings.X_BT;
    tool.input.X_WR = X_WT;
  }
}

// Null: nothing was heard in this tick.
const ToolInput* ToolDesk::input_of(Tool& tool, std::uint64_t tick, double h) noexcept {
  ToolInput& in = tool.input;
  if (tool.settings.mode == ToolMode::wave) {
    std::array<double, 6> played{};
    tool.playout.advance(tick + lost_steps_, played);
    const double share = 1 / (h * std::sqrt(steps_due_));
    in.wave_v = Vec3(played[0], played[1], played[2]) * share;
    in.wave_w = Vec3(played[3], played[4], played[5]) * share;
  }
  if (!tool.fresh) return nullptr;
  const DeviceRow& d = tool.device;
  if ((d.bits & kDeviceAnchored) != 0) {
    in.X_WR = pose_of(d.pose);
    in.V_WR = {Vec3(d.velocity[3], d.velocity[4], d.velocity[5]), Vec3(d.velocity[0], d.velocity[1], d.velocity[2])};
  }
  in.stiffness_share = d.stiffness_share;
  in.port_in = d.port_in;
  in.F_H_W = {Vec3(d.force[3], d.force[4], d.force[5]), Vec3(d.force[0], d.force[1], d.force[2])};
  return &in;
}

// More force than the limit, or a stiffer spring than was granted. Waves have no spring of their own.
bool ToolDesk::doubted(Tool& tool) noexcept {
  const ToolSettings& s = tool.settings;
  const DeviceRow& d = tool.device;
  const double force = Vec3(d.force[0], d.force[1], d.force[2]).norm();
  const ToolReport& r = tool.coupling.report();
  const double scale = s.position_scale;
  const double stretch = (pose_of(d.pose).p - r.X_WT.p).norm();
  const bool springs = s.mode != ToolMode::wave && tool.coupling.engaged() && (d.bits & kDeviceAnchored) != 0;
  const bool stiffer = springs && force > kDoubtShare * s.gains.stiffness * scale * stretch + kDoubtFloor;
  tool.stiffer_ticks = stiffer ? std::min(tool.stiffer_ticks + 1, kDoubtTicks) : 0;
  return tool.stiffer_ticks >= kDoubtTicks || force > kDoubtForce * s.force_limit * scale + kDoubtFloor;
}

void ToolDesk::push(World& world, BodyIndex body, const SpatialForce& F_Bcm_W) noexcept {
  TACTUS_ASSERT(applied_count_ < applied_.size());
  world.apply(body, F_Bcm_W);
  applied_[applied_count_++] = {body, F_Bcm_W};
}

void ToolDesk::step_tool(Tool& tool, std::uint32_t index, World& world, std::uint32_t slow_ticks) noexcept {
  const double h = world.model().step;
  engage_or_let_go(tool, world);
  const bool was_engaged = tool.coupling.engaged();
  if (world.state().frozen[tool.settings.body] && !tool.coupling.idle()) tool.coupling.drop();
  if (world.model().bodies[tool.settings.body].mode == BodyMode::link && !tool.coupling.idle())
    tool.coupling.bear(mass_of(tool, world), h);
  if (!std::exchange(tool.looked, false)) tool.planes.find(world, tool.settings.body, tool.settings.X_BT, tool.reach);
  const ToolInput* input = input_of(tool, world.state().tick, h);
  tool.fresh = false;
  if (input == nullptr && tool.settings.mode == ToolMode::wave) tool.coupling.set_wave(tool.input);
  const SpatialForce F =
      tool.coupling.tick(input, world.model(), world.state(), world.parameters().gravity_W, h, slow_ticks);
  if (was_engaged && !tool.coupling.engaged()) lost_now_ |= 1u << index;
  if (!tool.coupling.idle()) {
    push(world, tool.settings.body, F);
    if (slow_ticks == 0 && tool.planes.sweep(world, tool.settings.body, F, kSlack)) {
      tool.coupling.note(kToolSwept);
      for (const ToolPlanes::Push& p : tool.planes.pushes()) push(world, p.body, p.F_Bcm_W);
    }
  }
  if (doubted(tool)) tool.coupling.note(kToolDoubted);
  const ToolReport& r = tool.coupling.report();
  for (int i = 0; i < 3; ++i) {
    tool.wave[i] += h * r.wave_v[i];
    tool.wave[3 + i] += h * r.wave_w[i];
  }
}

void ToolDesk::look(const World& world) noexcept {
  for (Tool& tool : tools_) {
    if (!tool.attached) continue;
    tool.planes.find(world, tool.settings.body, tool.settings.X_BT, tool.reach);
    tool.looked = true;
  }
}

void ToolDesk::apply(World& world, std::uint32_t slow_ticks) noexcept {
  row_count_ = applied_count_ = lost_now_ = 0;
  for (std::uint32_t i = 0; i < kTools; ++i) {
    Tool& tool = tools_[i];
    if (!tool.attached) continue;
    step_tool(tool, i, world, slow_ticks);
    publish(tool, i);
    if (tool.leaving && tool.coupling.idle()) tool = {};
  }
  steps_due_ = 1;
}

void ToolDesk::publish(const Tool& tool, std::uint32_t index) noexcept {
  ToolRow& row = rows_[row_count_++];
  row.tool = index;
  row.grip = tool.grip;
  row.body = tool.settings.body;
  row.mode = tool.settings.mode;
  row.report = tool.coupling.report();
  row.gains = tool.coupling.settings().gains;
  row.wave = tool.wave;
  row.device = tool.device;
  row.samples = tool.samples;
  row.samples_lost = tool.samples_lost;
  row.plane_count = static_cast<std::uint32_t>(tool.planes.planes().size());
  for (std::uint32_t i = 0; i < row.plane_count; ++i) row.planes[i] = tool.planes.planes()[i];
}

}  // namespace tactus
