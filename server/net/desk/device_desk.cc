#include "server/net/desk/device_desk.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>

namespace tactus::net {
namespace {

void fill(const ToolChoice& choice, const ToolTable::Entry& entry, std::uint32_t place, double h,
          v1::ToolAttached& out) {
  const ToolSettings& s = choice.settings;
  out.set_tool(place);
  out.set_body_id(entry.body);
  out.set_mode(static_cast<v1::ToolMode>(s.mode));
  out.set_stiffness_n_per_m(choice.stiffness);
  out.set_damping_n_s_per_m(choice.damping);
  out.set_turn_stiffness_n_m_per_rad(choice.turn_stiffness);
  out.set_turn_damping_n_m_s_per_rad(choice.turn_damping);
  out.set_force_limit_n(choice.force_limit);
  out.set_torque_limit_n_m(choice.torque_limit);
  out.set_watchdog_s(h * s.watchdog_ticks);
  out.set_ramp_s(h * s.ramp_ticks);
  out.set_reach_m(choice.reach);
  out.set_wave_impedance_n_s_per_m(s.wave_impedance);
  out.set_turn_impedance_n_m_s_per_rad(s.turn_impedance);
  out.set_deadband(choice.deadband);
  out.set_passivity(choice.passivity);
  out.set_passivity_round_trip_s(choice.passivity_round_trip);
  out.set_heartbeat_s(h * choice.heartbeat_ticks);
  for (const std::string& note : choice.notes) out.add_notes(note);
}

}  // namespace

void DeviceDesk::attach(const Exchange& x, const v1::AttachTool& request) {
  if (request.scene_epoch() != uses_.scene.epoch)
    return x.error(v1::ERROR_STALE_EPOCH, "the scene has changed since; DescribeScene gives the present one");
  Pose X_BT;
  const BodyIndex body = uses_.scene.find_tool(request.tool(), X_BT);
  if (body == kNoBody) return x.error(v1::ERROR_NOT_FOUND, uses_.scene.why_no_tool(request.tool()));
  if (const std::string fault = fault_in(request); !fault.empty()) return x.error(v1::ERROR_BAD_VALUE, fault);
  if (request.device().admittance() && uses_.scene.model().bodies[body].mode == BodyMode::link)
    return x.error(v1::ERROR_BAD_VALUE,
                   fmt::format("'{}' is a robot's link: its joints hold it where no plane is, and an admittance device "
                               "would not feel them; hold a free body",
                               request.tool()));
  const Channel channel = uses_.scene.tool_channel(body);
  if (!uses_.leases.authority.holds(x.client(), channel, uses_.leases.now())) {
    if (uses_.leases.authority.is_held(channel, uses_.leases.now()))
      return x.error(v1::ERROR_LEASED_BY_OTHER,
                     fmt::format("'{}' is held by {}: one device a tool", uses_.scene.channel_name(channel),
                                 x.name_of(uses_.leases.authority.holder(channel))));
    return x.error(v1::ERROR_NOT_LEASED,
                   fmt::format("this needs the lease '{}': AcquireLease first", uses_.scene.channel_name(channel)));
  }
  for (std::size_t i = 0; i < kTools; ++i) {
    if (uses_.tools[i].used && uses_.tools[i].body == body)
      return x.error(v1::ERROR_WRONG_STATE, fmt::format("'{}' is attached already: DetachTool first", request.tool()));
  }
  const std::uint32_t place = uses_.tools.free_place();
  if (place == kTools) return x.error(v1::ERROR_FULL, fmt::format("a server holds {} tools at most", kTools));
  const Model& model = uses_.scene.model();
  ToolScene scene;
  scene.meshes = !model.meshes.empty();
  scene.link = model.bodies[body].mode == BodyMode::link;
  scene.slow = is_slow(uses_.solvers.options.rates, uses_.scene.in_charge, model.step);
  for (std::size_t i = 0; i < kTools; ++i) scene.other_hand = scene.other_hand || uses_.tools[i].used;
  const auto choice = std::make_shared<ToolChoice>(choose(request, uses_.options.haptic, model.step, scene));
  choice->settings.body = body;
  choice->settings.X_BT = X_BT;
  uses_.tools.set(place, x.client(), body, *choice);
  Command command;
  command.kind = Command::Kind::attach_tool;
  command.client = x.client();
  command.epoch = uses_.scene.epoch;
  command.value = place;
  command.tool = &choice->settings;
  command.reach = choice->reach;
  uses_.tick.post(command, [this, x, choice, place, request](const Notice& notice) {
    if (!notice.ok) {
      uses_.tools.free(place);
      if (notice.verdict == Verdict::fault)
        return x.error(
            v1::ERROR_WRONG_STATE,
            fmt::format("'{}' is frozen: it became non-finite, and stands until Reset or Restore", request.tool()));
      return x.error(v1::ERROR_WRONG_STATE, "the place's last tool is still ramping to zero; try again in 0.1 s");
    }
    for (const std::string& note : choice->notes)
      spdlog::info("device '{}' of {}: {}", request.device().name(), x.name(), note);
    v1::Reply reply;
    fill(*choice, uses_.tools[place], place, uses_.scene.model().step, *reply.mutable_tool_attached());
    x.reply(std::move(reply));
  });
}

void DeviceDesk::detach(const Exchange& x, const v1::DetachTool& request) {
  if (!uses_.tools.holds(request.tool(), x.client()))
    return x.error(v1::ERROR_NOT_FOUND, fmt::format("tool {} is not this client's", request.tool()));
  uses_.tools.release(uses_.tick, uses_.scene.epoch, uses_.tools[request.tool()].body);
  x.done();
}

}  // namespace tactus::net
