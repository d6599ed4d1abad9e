// What a replay does with each kind of record.
#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>
#include <utility>

#include "core/check.h"
#include "core/scene/scene.h"
#include "server/limit_keys.h"
#include "server/record/keyframe.h"
#include "server/record/replay.h"

namespace tactus::record {
namespace {

constexpr std::array<const char*, 13> kColumns{
    "position x [m]",         "position y [m]",         "position z [m]",        "orientation w",    "orientation x",
    "orientation y",          "orientation z",          "velocity x [m/s]",      "velocity y [m/s]", "velocity z [m/s]",
    "turning rate x [rad/s]", "turning rate y [rad/s]", "turning rate z [rad/s]"};

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

std::uint64_t before(std::uint64_t tick) {
  return tick == 0 ? 0 : tick - 1;
}

// Lines "key = number"; what is not there keeps its default. Throws InputError.
Limits limits_of(const std::string& config) {
  Limits out;
  for (const LimitKey& key : kLimitKeys) {
    const std::string begin = std::string(key.name) + " = ";
    std::size_t at = config.starts_with(begin) ? 0 : config.find("\n" + begin);
    if (at == std::string::npos) continue;
    at += begin.size() + (at == 0 && config.starts_with(begin) ? 0 : 1);
    const double value = std::strtod(config.c_str() + at, nullptr);
    if (!(value >= key.min && value <= key.max)) {
      std::ostringstream what;
      what << "its config has '" << begin << config.substr(at, config.find('\n', at) - at) << "', expected " << key.min
           << " to " << key.max;
      throw InputError(what.str());
    }
    if (key.small != nullptr) out.*key.small = static_cast<std::uint32_t>(value);
    if (key.large != nullptr) out.*key.large = static_cast<std::uint64_t>(value);
  }
  return out;
}

}  // namespace

std::unique_ptr<World> replay_world(const v1::RecordHeader& header) {
  SceneOptions options;
  options.seed = header.seed();
  options.limits = limits_of(header.config());
  for (const v1::Parameter& p : header.parameters()) options.set.emplace_back(p.key(), p.value());
  return std::make_unique<World>(parse_scene(header.scene(), header.scene_path(), options), options.limits);
}

// --- What acted

void Replay::take(const v1::AppliedWrench& w) {
  run_to(before(w.tick()));
  if (done_) return;
  if (w.wrench_size() != 6 || w.body_id() >= world_.model().bodies.size()) return cannot("a wrench on no body");
  SpatialForce F;
  F.force = Vec3(w.wrench(0), w.wrench(1), w.wrench(2));
  F.torque = Vec3(w.wrench(3), w.wrench(4), w.wrench(5));
  world_.apply(w.body_id(), F);
  ++report_.wrenches;
}

void Replay::take(const v1::JointInput& in) {
  run_to(before(in.tick()));
  if (done_) return;
  ++report_.inputs;
  const bool of_joint = in.kind() != v1::JointInput::RECOVER && in.kind() != v1::JointInput::TIME;
  const JointChannels& channels = world_.robot_drives().channels();
  if (of_joint && channels.find(in.joint_id()) >= channels.joints().size())
    return cannot("a command to no joint that can be driven");
  switch (in.kind()) {
    case v1::JointInput::COMMAND: {
      const JointCommand command{in.joint_id(), static_cast<DriveKind>(in.mode()), in.value(), in.rate()};
      if (!accepted(world_.command_joint(command, std::max<std::uint64_t>(1, in.ticks()))))
        differs("a command to a joint", "it was accepted");
      return;
    }
    case v1::JointInput::RELEASE:
      return world_.release_joint(in.joint_id());
    case v1::JointInput::OPTIONS:
      return world_.set_joint_options(in.joint_id(), read_options(in.options()));
    case v1::JointInput::RECOVER:
      if (in.joint_id() < world_.model().robots.size()) world_.recover_robot(in.joint_id());
      return;
    case v1::JointInput::TIME:
      return world_.pass_joint_time(in.ticks());
    default:
      return cannot("an input of a kind that this build does not know");
  }
}

// --- What came of it

void Replay::take(const v1::AppliedJoint& row) {
  run_to(row.tick());
  if (done_) return;
  ++report_.joints;
  const RobotDrives& drives = world_.robot_drives();
  const std::size_t i = drives.channels().find(row.joint_id());
  const std::string name =
      row.joint_id() < world_.model().joints.size() ? world_.model().joints[row.joint_id()].name : "?";
  if (i >= drives.commands().size()) return differs("joint " + name, "it can be driven");
  const JointChannels::Output& out = drives.commands()[i];
  const Setpoint& s = out.setpoint;
  const bool same = out.active && s.kind == static_cast<double>(row.mode()) && same_bits(s.value, row.value()) &&
                    same_bits(s.rate, row.rate()) && same_bits(s.brake, row.brake()) && drives.bits(i) == row.bits();
  if (same) return;
  differs("joint " + name, "what acts on it");
  report_.difference->recorded = row.value();
  report_.difference->replayed = s.value;
  report_.difference->is_number = true;
}

void Replay::take(const v1::StatePacket& state) {
  if (state.scene_epoch() != tape_.header().scene_epoch()) return;
  run_to(state.tick());
  if (!done_) compare(state);
}

// False: it differs, and the report says where.
bool Replay::compare(const v1::StatePacket& state) {
  const Seen& seen = seen_[state.tick() % kSeen];
  const auto n = static_cast<std::size_t>(state.body_id_size());
  if (seen.tick != state.tick() || 13 * n != seen.columns.size() || state.pose_size() != static_cast<int>(7 * n) ||
      state.velocity_size() != static_cast<int>(6 * n))
    return true;
  ++report_.states;
  for (std::size_t b = 0; b < n; ++b) {
    for (std::size_t k = 0; k < kColumns.size(); ++k) {
      const double recorded =
          k < 7 ? state.pose(static_cast<int>(7 * b + k)) : state.velocity(static_cast<int>(6 * b + k - 7));
      const double now = seen.columns[13 * b + k];
      if (same_bits(recorded, now)) continue;
      report_.difference =
          Difference{state.tick(), "body " + world_.model().bodies[b].name, kColumns[k], recorded, now, true};
      done_ = true;
      return false;
    }
  }
  return true;
}

// Of the hash itself nobody learns much: the state of that tick, which may come a few records later, says which body.
void Replay::compare_hash(std::uint64_t hash) {
  if (done_) return;
  ++report_.hashes;
  if (world_.hash() == hash) return;
  const std::uint64_t tick = world_.state().tick;
  const v1::Record* state =
      tape_.find([tick](const v1::Record& r) { return r.has_state() && r.state().tick() >= tick; });
  if (state != nullptr && state->state().tick() == tick && !compare(state->state())) return;
  differs("the state", "its hash: no pose or velocity differs, so it is what pairs or drives remember, or joints");
}

// Of those with a ticket the hash was looked at where the tick took them.
void Replay::take(const v1::Keyframe& keyframe) {
  if (keyframe.ticket() != 0) return;
  run_to(keyframe.tick());
  compare_hash(keyframe.state_hash());
}

// --- What was done to the world

void Replay::take(const v1::TickMark& mark) {
  switch (mark.kind()) {
    case v1::TickMark::BEGUN:
      run_to(before(mark.tick()));
      begin_here_ = true;
      return;
    case v1::TickMark::ADOPTED:
      run_to(before(mark.tick()));
      adopt_here_ = true;
      begin_next_ = mark.ok();
      ++report_.adoptions;
      return;
    case v1::TickMark::MODEL:
      run_to(mark.tick());
      return switch_model(mark);
    case v1::TickMark::OPERATION:
      return operate(mark);
    case v1::TickMark::LOST:
      ++report_.gaps;
      begun_ = false;
      return;
    default:
      return;
  }
}

void Replay::operate(const v1::TickMark& mark) {
  if (!mark.ok()) return;
  if (mark.what() == "reset" || mark.what() == "restore") return jump(mark);
  run_to(mark.tick());
  if (done_) return;
  if (mark.what() == "set_parameter") return set_parameter(mark);
  if (mark.what() != "snapshot") return;
  if (const v1::Keyframe* keyframe = tape_.keyframe(mark.ticket())) compare_hash(keyframe->state_hash());
}

void Replay::set_parameter(const v1::TickMark& mark) {
  const v1::WorldOperation* operation = tape_.operation(mark.ticket());
  const std::size_t equals = operation == nullptr ? std::string::npos : operation->text().find('=');
  Parameters parameters = world_.parameters();
  const bool known =
      equals != std::string::npos &&
      World::parse_parameter(operation->text().substr(0, equals), operation->text().substr(equals + 1), parameters);
  if (!known)
    return cannot("a parameter was set at tick " + std::to_string(mark.tick()) + ", and to what is not known");
  world_.set_parameters(parameters);
}

// ModelSwitch::jump(), by what the mark says is in charge afterwards.
void Replay::jump(const v1::TickMark& mark) {
  State state = world_.initial();
  if (mark.what() == "restore") {
    const v1::Keyframe* keyframe = tape_.keyframe(mark.ticket());
    if (keyframe == nullptr || !read_state(*keyframe, world_, state)) {  // on from the next whole state
      ++report_.gaps;
      begun_ = false;
      return;
    }
  }
  const bool slow = mark.slow_ticks() > 0;
  if (!slow) world_.prepare_model(state.contact_model);
  if (!(slow ? world_.jump(state) : world_.restore(state))) return cannot("a state to go on from does not fit");
  slow_.clear();
  ContactModelKind kind{};
  parse_contact_model(mark.model(), kind);
  const bool stays = solver_ != nullptr && solver_->kind() == kind && solver_->ticks() == mark.slow_ticks();
  if (!stays) put_in_charge(slow ? make_solver(kind, mark.slow_ticks()) : nullptr);
  slow_.clear();
  begin_here_ = adopt_here_ = false;
  begin_next_ = true;
  for (Seen& seen : seen_) seen.tick = ~std::uint64_t{0};
}

void Replay::switch_model(const v1::TickMark& mark) {
  ContactModelKind kind{};
  if (done_) return;
  if (!parse_contact_model(mark.model(), kind)) return cannot("this build does not have the model " + mark.model());
  if (mark.slow_ticks() > 0) {
    std::unique_ptr<SlowSolver> solver = make_solver(kind, mark.slow_ticks());
    if (done_) return;
    world_.yield_to(kind);
    return put_in_charge(std::move(solver));
  }
  if (!world_.prepare_model(kind) || !world_.set_model(kind))
    return cannot("this build does not have the model " + mark.model());
  put_in_charge(nullptr);
}

// Without a thread: it solves when it is waited for.
std::unique_ptr<SlowSolver> Replay::make_solver(ContactModelKind kind, std::uint32_t ticks) {
  auto world = ticks <= 10'000 ? make_solver_world(world_.shared_model(), world_.limits(), kind, ticks) : nullptr;
  if (world == nullptr) {
    cannot(std::string("this build does not have the model ") + to_string(kind));
    return nullptr;
  }
  return std::make_unique<SlowSolver>(std::move(world), kind, 0);
}

void Replay::put_in_charge(std::unique_ptr<SlowSolver> solver) {
  slow_.exchange(solver.get(), world_);
  solver_ = std::move(solver);
}

}  // namespace tactus::record
