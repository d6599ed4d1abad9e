#include "server/record/keyframe.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "core/contact/contact_model.h"

namespace tactus::record {
namespace {

using Doubles = google::protobuf::RepeatedField<double>;
using Outputs = std::vector<JointChannels::Output>;
static_assert(std::is_trivially_copyable_v<JointChannels::Output>);

void put(std::span<const SpatialForce> in, Doubles& out) {
  for (const SpatialForce& F : in) {
    for (const Vec3& part : {F.force, F.torque})
      for (const double x : {part.x(), part.y(), part.z()}) out.Add(x);
  }
}

bool take(const Doubles& in, std::vector<SpatialForce>& out) {
  if (in.size() != static_cast<int>(6 * out.size())) return false;
  int i = 0;
  for (SpatialForce& F : out) {
    F.force = Vec3(in[i], in[i + 1], in[i + 2]);
    F.torque = Vec3(in[i + 3], in[i + 4], in[i + 5]);
    i += 6;
  }
  return true;
}

std::string bytes_of(const Outputs& rows) {
  return {reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(rows[0])};
}

bool take(const std::string& in, Outputs& out) {
  if (in.size() % sizeof(Outputs::value_type) != 0) return false;
  out.resize(in.size() / sizeof(Outputs::value_type));
  if (!in.empty()) std::memcpy(static_cast<void*>(out.data()), in.data(), in.size());
  return true;
}

void put(const World& world, const State& state, std::string& out) {
  const std::vector<std::uint8_t> bytes = world.serialise(state);
  out.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool take(const std::string& in, const World& world, State& out) {
  return world.deserialise({reinterpret_cast<const std::uint8_t*>(in.data()), in.size()}, out);
}

void put(const Parameters& parameters, google::protobuf::RepeatedPtrField<v1::Parameter>& out) {
  for (const auto& [key, value] : World::list_parameters(parameters)) {
    v1::Parameter* setting = out.Add();
    setting->set_key(key);
    setting->set_value(value);
  }
}

}  // namespace

void write_options(const ChannelOptions& in, v1::JointOptions& out) {
  const auto or_zero = [](double limit) { return std::isfinite(limit) ? limit : 0.0; };
  out.set_missed(to_string(in.missed));
  out.set_tolerance_ticks(in.tolerance_ticks);
  out.set_fault_ticks(in.fault_ticks);
  out.set_ramp_s(in.ramp);
  out.set_cutoff_hz(in.cutoff);
  out.set_effort_limit(or_zero(in.effort_limit));
  out.set_effort_rate_limit(or_zero(in.effort_rate_limit));
  out.set_velocity_limit(or_zero(in.velocity_limit));
}

ChannelOptions read_options(const v1::JointOptions& in) {
  const auto or_none = [](double x) { return x == 0 ? std::numeric_limits<double>::infinity() : x; };
  ChannelOptions out;
  for (const MissedPolicy p : {MissedPolicy::hold, MissedPolicy::extrapolate, MissedPolicy::ramp, MissedPolicy::brake})
    if (in.missed() == to_string(p)) out.missed = p;
  out.tolerance_ticks = in.tolerance_ticks();
  out.fault_ticks = in.fault_ticks();
  out.ramp = in.ramp_s();
  out.cutoff = in.cutoff_hz();
  out.effort_limit = or_none(in.effort_limit());
  out.effort_rate_limit = or_none(in.effort_rate_limit());
  out.velocity_limit = or_none(in.velocity_limit());
  return out;
}

void write_keyframe(const World& world, const State& state, const Parameters& parameters, const SlowMemory* memory,
                    v1::Keyframe& out) {
  out.set_tick(state.tick);
  put(world, state, *out.mutable_state());
  put(parameters, *out.mutable_settings());
  if (memory == nullptr || (memory->ticks == 0 && memory->spend_ticks == 0)) return;
  v1::SolverKeyframe& solver = *out.mutable_solver();
  solver.set_begun(memory->begun);
  solver.set_due(memory->due);
  solver.set_spend_ticks(memory->spend_ticks);
  put(memory->sum, *solver.mutable_sum());
  put(memory->mean, *solver.mutable_mean());
  if (memory->ticks == 0) return;
  solver.set_model(to_string(memory->kind));
  solver.set_slow_ticks(memory->ticks);
  solver.set_asked(bytes_of(memory->asked.rows()));
  if (!memory->begun) return;
  put(memory->job.wrench, *solver.mutable_wrench());
  put(world, memory->job.state, *solver.mutable_state());
  put(memory->job.parameters, *solver.mutable_settings());
  solver.set_commands(bytes_of(memory->job.commands));
}

bool read_state(const v1::Keyframe& in, const World& world, State& out) {
  out = world.initial();
  return take(in.state(), world, out);
}

bool read_memory(const v1::SolverKeyframe& in, const World& world, SlowMemory& out) {
  out.ticks = in.slow_ticks();
  out.begun = in.begun();
  out.due = in.due();
  out.spend_ticks = in.spend_ticks();
  if (!take(in.sum(), out.sum) || !take(in.mean(), out.mean)) return false;
  if (out.ticks == 0) return !out.begun;
  const std::size_t joints = world.driven_joint_count();
  Outputs rows;
  if (!parse_contact_model(in.model(), out.kind) || !take(in.asked(), rows)) return false;
  if (joints == 0 ? !rows.empty() : rows.size() % joints != 0) return false;
  out.asked.clear();
  if (joints == 0 && out.begun) out.asked.add({});
  for (std::size_t i = 0; joints > 0 && i < rows.size(); i += joints) out.asked.add({&rows[i], joints});
  if (!out.begun) return true;
  const std::size_t commands = out.job.commands.size();
  out.job.parameters = read_parameters(in.settings(), world.parameters());
  return take(in.wrench(), out.job.wrench) && take(in.state(), world, out.job.state) &&
         take(in.commands(), out.job.commands) && out.job.commands.size() == commands;
}

Parameters read_parameters(const google::protobuf::RepeatedPtrField<v1::Parameter>& in, Parameters base) {
  for (const v1::Parameter& p : in) World::parse_parameter(p.key(), p.value(), base);
  return base;
}

}  // namespace tactus::record
