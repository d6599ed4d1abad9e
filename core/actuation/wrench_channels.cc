#include "core/actuation/wrench_channels.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tactus {
namespace {

// ceil that forgives the last bits of a quotient that should have been whole.
std::uint64_t whole_ticks(double seconds, double h) noexcept {
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(seconds / h - 1e-6)));
}

}  // namespace

ResolvedWrench resolve_wrench(const WrenchCommand& command, const Body& body, const Quat& q_WB) noexcept {
  ResolvedWrench out;
  Vec3 force_W = command.in_body_frame ? Vec3(q_WB * command.force) : command.force;
  Vec3 torque_W = command.in_body_frame ? Vec3(q_WB * command.torque) : command.torque;
  out.clamped = cut_length(force_W, body.force_limit);
  if (command.at_point) torque_W += (q_WB * (command.p_BP - body.p_BBcm)).cross(force_W);
  out.clamped |= cut_length(torque_W, body.torque_limit);
  out.F_Bcm_W.force = force_W;
  out.F_Bcm_W.torque = torque_W;
  return out;
}

std::uint64_t deadline_ticks(std::uint32_t deadline_us, double h) noexcept {
  return whole_ticks(1e-6 * deadline_us, h);
}

WrenchChannels::WrenchChannels(std::uint32_t bodies) : channels_(bodies) {
  active_.reserve(bodies);
}

void WrenchChannels::clear(double h) noexcept {
  TACTUS_ASSERT(h > 0);
  for (const BodyIndex b : active_) channels_[b].active = false;
  active_.clear();
  ramp_ticks_ = whole_ticks(kRampSeconds, h);
}

void WrenchChannels::hold(BodyIndex body, const WrenchCommand& command, std::uint64_t expires) noexcept {
  TACTUS_ASSERT(body < channels_.size());
  Channel& channel = channels_[body];
  if (!channel.active) active_.push_back(body);
  channel = {command, expires, true, false};
}

void WrenchChannels::release(BodyIndex body, std::uint64_t now) noexcept {
  if (body >= channels_.size() || !channels_[body].active) return;
  channels_[body].expires = std::min(channels_[body].expires, now);
  channels_[body].announced = true;
}

std::uint32_t WrenchChannels::evaluate(std::uint64_t now, const Model& model, const State& state,
                                       std::span<ChannelOutput> out) noexcept {
  TACTUS_ASSERT(out.size() >= active_.size());
  std::uint32_t n = 0, kept = 0;
  for (const BodyIndex b : active_) {
    Channel& channel = channels_[b];
    const std::uint64_t past = now < channel.expires ? 0 : now - channel.expires + 1;
    if (past >= ramp_ticks_ && channel.announced) {
      channel.active = false;
      continue;
    }
    active_[kept++] = b;
    ChannelOutput& o = out[n++];
    o.body = b;
    o.F_Bcm_W = resolve_wrench(channel.command, model.bodies[b], state.q_WB(b)).F_Bcm_W;
    o.expired_now =
        past > 0 && !channel.announced && !(channel.command.force.isZero(0.0) && channel.command.torque.isZero(0.0));
    if (past > 0) channel.announced = true;
    const double scale = past >= ramp_ticks_ ? 0.0 : 1.0 - static_cast<double>(past) / static_cast<double>(ramp_ticks_);
    o.F_Bcm_W.force *= scale;
    o.F_Bcm_W.torque *= scale;
  }
  active_.resize(kept);
  return n;
}

}  // namespace tactus
