// [[robot.drive]]: keys carry the unit of the joint that they drive, N m and rad or N and m.
#include <array>

#include "core/scene/robot_spec.h"

namespace tactus {
namespace {

struct Units {
  std::string effort, position, velocity, stiffness, damping;
};
Units units_of(JointKind kind) {
  if (kind == JointKind::prismatic) return {"n", "m", "m_per_s", "n_per_m", "n_s_per_m"};
  return {"n_m", "rad", "rad_per_s", "n_m_per_rad", "n_m_s_per_rad"};
}

// What the joint moves at the initial pose: inertia about its axis [kg m^2], or mass [kg], and its rotor's.
double carried_inertia(const Model& model, JointIndex index) {
  const Joint& joint = model.joints[index];
  const Robot& robot = model.robots[joint.robot];
  std::vector<BodyIndex> moved{joint.child};
  for (JointIndex j = index + 1; j < robot.first_joint + robot.joint_count; ++j)
    if (std::find(moved.begin(), moved.end(), model.joints[j].parent) != moved.end())
      moved.push_back(model.joints[j].child);
  const Pose& X_WC = model.X_WB0[joint.child];
  const Vec3 axis_W = X_WC.q * joint.axis_F;
  double sum = joint.armature;
  for (const BodyIndex b : moved) {
    const Body& body = model.bodies[b];
    const Pose& X_WB = model.X_WB0[b];
    if (joint.kind == JointKind::prismatic) {
      sum += body.mass;
      continue;
    }
    const Vec3 axis_B = X_WB.q.conjugate() * axis_W;
    sum += axis_B.dot(body.I_BBcm * axis_B) + body.mass * axis_W.cross(X_WB * body.p_BBcm - X_WC.p).squaredNorm();
  }
  return sum;
}

DriveTarget read_target(StrictTable& table, const std::string& unit) {
  DriveTarget target;
  target.offset = table.number("target_" + unit, kAny, 0.0);
  if (!table.has("amplitude_" + unit)) return target;
  target.amplitude = table.number("amplitude_" + unit, kAny);
  target.frequency = table.number("frequency_hz", kPositive);
  target.phase = table.number("phase_rad", kAny, 0.0);
  return target;
}

// Given, or from the bandwidth of the carried inertia: kp = I w^2, kd = 2 zeta I w; velocity: kd = I w.
void read_gains(StrictTable& table, const Units& units, const Model& model, JointDrive& drive) {
  if (drive.kind == DriveKind::torque) return;
  const bool position = drive.kind == DriveKind::position;
  if (!table.has("bandwidth_rad_per_s")) {
    if (position) drive.kp = table.number("stiffness_" + units.stiffness, kNotNegative);
    drive.kd = position ? table.number("damping_" + units.damping, kNotNegative, 0.0)
                        : table.number("damping_" + units.damping, kNotNegative);
    return;
  }
  const double w = table.number("bandwidth_rad_per_s", kPositive), inertia = carried_inertia(model, drive.joint);
  drive.kp = position ? inertia * w * w : 0;
  drive.kd = position ? 2 * table.number("damping_ratio", kNotNegative, 1.0) * inertia * w : inertia * w;
  if (!std::isfinite(drive.kp) || !std::isfinite(drive.kd))
    table.fail("bandwidth_rad_per_s", "found " + number_text(w) + ", expected gains that are finite");
}

// How the joint takes commands.
void read_channel(StrictTable& table, const Units& units, JointDrive& drive) {
  static constexpr std::array<std::string_view, 4> kMissed{"hold", "extrapolate", "ramp", "brake"};
  ChannelOptions& o = drive.channel;
  const auto given = [&](const std::string& key) {
    drive.has_channel = drive.has_channel || table.has(key);
    return table.has(key);
  };
  if (given("missed_command")) o.missed = static_cast<MissedPolicy>(table.choice("missed_command", kMissed));
  const auto ticks = [&](const char* key, std::uint32_t& out) {
    if (given(key)) out = static_cast<std::uint32_t>(table.integer(key, 0, 1'000'000, out));
  };
  ticks("missed_tolerance_ticks", o.tolerance_ticks);
  ticks("missed_fault_ticks", o.fault_ticks);
  if (given("command_ramp_s")) o.ramp = table.number("command_ramp_s", Range{0, 1}, o.ramp);
  if (given("command_cutoff_hz")) o.cutoff = table.number("command_cutoff_hz", Range{0, 1e6}, o.cutoff);
  const std::string rate = "effort_rate_limit_" + units.effort + "_per_s";
  if (given(rate)) o.effort_rate_limit = table.number(rate, kPositive);
  const std::string velocity = "command_velocity_limit_" + units.velocity;
  if (given(velocity)) o.velocity_limit = table.number(velocity, kNotNegative);
}

JointIndex read_driven_joint(StrictTable& table, const Model& model, const std::string& robot) {
  const std::string name = table.text("joint");
  const JointIndex index = model.find_joint(robot + "/" + name);
  if (index == kNone) table.fail("joint", "found \"" + name + "\", expected a joint of robot " + robot + " that moves");
  const Joint& joint = model.joints[index];
  if (position_count(joint.kind) != 1)
    table.fail("joint", "found \"" + name + "\", a " + to_string(joint.kind) +
                            " joint, expected a revolute, continuous or prismatic one");
  if (joint.mimic != kNone)
    table.fail("joint",
               "found \"" + name + "\", which follows " + model.joints[joint.mimic].name + ", expected that joint");
  for (const JointDrive& other : model.drives)
    if (other.joint == index) table.fail("joint", "found \"" + name + "\" again, expected one drive a joint");
  return index;
}

}  // namespace

void read_drive(StrictTable& table, SceneBuilder& builder, std::uint32_t robot) {
  static constexpr std::array<std::string_view, 3> kKinds{"torque", "velocity", "position"};
  Model& model = *builder.model;
  JointDrive drive;
  drive.joint = read_driven_joint(table, model, model.robots[robot].name);
  drive.kind = static_cast<DriveKind>(table.choice("kind", kKinds));
  const Joint& joint = model.joints[drive.joint];
  const Units units = units_of(joint.kind);
  drive.target = read_target(table, drive.kind == DriveKind::torque     ? units.effort
                                    : drive.kind == DriveKind::velocity ? units.velocity
                                                                        : units.position);
  read_gains(table, units, model, drive);
  drive.effort_limit = table.has("effort_limit_" + units.effort)
                           ? table.number("effort_limit_" + units.effort, kNotNegative)
                           : joint.effort_limit;
  drive.lag = table.number("lag_s", Range{0, 10}, 0.0);
  drive.delay_ticks = static_cast<std::uint32_t>(table.integer("delay_ticks", 0, kDelayTicksMax, 0));
  read_channel(table, units, drive);
  table.finish();
  model.drives.push_back(drive);
}

}  // namespace tactus
