// [[robot.sensor]]
#include <array>

#include "core/scene/robot_spec.h"

namespace tactus {
namespace {

constexpr std::size_t kSensorsMax = 4096;

JointIndex read_joint(StrictTable& table, const Model& model, const std::string& robot) {
  const std::string name = table.text("joint");
  const JointIndex index = model.find_joint(robot + "/" + name);
  if (index == kNone) table.fail("joint", "found \"" + name + "\", expected a joint of robot " + robot);
  return index;
}

std::uint32_t read_link(StrictTable& table, const Model& model, const std::string& robot) {
  const std::string name = table.text("link");
  const LinkFrame* frame = model.find_frame(robot + "/" + name);
  if (!frame) table.fail("link", "found \"" + name + "\", expected a link of robot " + robot);
  return static_cast<std::uint32_t>(frame - model.frames.data());
}

void read_encoder(StrictTable& table, const Model& model, const std::string& robot, SensorSpec& s) {
  s.joint = read_joint(table, model, robot);
  if (position_count(model.joints[s.joint].kind) != 1)
    table.fail("joint", std::string("found a ") + to_string(model.joints[s.joint].kind) +
                            " joint, expected a revolute, continuous or prismatic one");
  const std::string unit = model.joints[s.joint].kind == JointKind::prismatic ? "m" : "rad";
  s.resolution = table.number("resolution_" + unit, kNotNegative, 0.0);
  s.linear_noise = table.number("noise_" + unit, kNotNegative, 0.0);
  s.linear_bias.x() = table.number("bias_" + unit, kAny, 0.0);
  s.angular_noise = table.number("velocity_noise_" + unit + "_per_s", kNotNegative, 0.0);
  s.angular_bias.x() = table.number("velocity_bias_" + unit + "_per_s", kAny, 0.0);
}

void read_imu(StrictTable& table, const Model& model, const std::string& robot, SensorSpec& s) {
  s.frame = read_link(table, model, robot);
  s.X_FS = read_pose(table);
  s.linear_noise = table.number("accelerometer_noise_m_per_s2", kNotNegative, 0.0);
  s.linear_bias = table.vec3("accelerometer_bias_m_per_s2", Vec3(Vec3::Zero()));
  s.angular_noise = table.number("gyro_noise_rad_per_s", kNotNegative, 0.0);
  s.angular_bias = table.vec3("gyro_bias_rad_per_s", Vec3(Vec3::Zero()));
}

void read_force_torque(StrictTable& table, const Model& model, const std::string& robot, SensorSpec& s) {
  if (table.has("joint") == table.has("link"))
    table.fail(table.has("joint") ? "joint" : "", "found both or neither of joint and link, expected one of the two");
  if (table.has("joint")) {
    s.joint = read_joint(table, model, robot);
  } else {
    const LinkFrame& frame = model.frames[read_link(table, model, robot)];
    for (JointIndex j = 0; j < model.joints.size(); ++j)
      if (model.joints[j].child == frame.body && model.joints[j].parent != kNone) s.joint = j;
    if (s.joint == kNone) table.fail("link", "found the root, expected a link that hangs on a joint");
  }
  const BodyIndex child = model.joints[s.joint].child;
  while (s.frame == kNone || model.frames[s.frame].body != child) ++s.frame;  // the body's first frame is its own
  s.X_FS = read_pose(table);
  s.linear_noise = table.number("force_noise_n", kNotNegative, 0.0);
  s.linear_bias = table.vec3("force_bias_n", Vec3(Vec3::Zero()));
  s.angular_noise = table.number("torque_noise_n_m", kNotNegative, 0.0);
  s.angular_bias = table.vec3("torque_bias_n_m", Vec3(Vec3::Zero()));
}

void read_contact(StrictTable& table, const Model& model, const std::string& robot, SensorSpec& s) {
  s.frame = read_link(table, model, robot);
  if (model.frames[s.frame].shape_count == 0)
    table.fail("link", "found a link without collision shapes, expected one that can touch");
  s.linear_noise = table.number("force_noise_n", kNotNegative, 0.0);
  s.linear_bias = table.vec3("force_bias_n", Vec3(Vec3::Zero()));
}

}  // namespace

void read_sensor(StrictTable& table, SceneBuilder& builder, std::uint32_t robot, SceneRandom& random) {
  static constexpr std::array<std::string_view, 4> kKinds{"encoder", "imu", "force_torque", "contact"};
  Model& model = *builder.model;
  const std::string& owner = model.robots[robot].name;
  SensorSpec s;
  s.name = owner + "/" + table.name("name");
  for (const SensorSpec& other : model.sensors)
    if (other.name == s.name) table.fail("name", "found it again, expected a unique name");
  if (model.sensors.size() >= kSensorsMax)
    table.fail("", "found more than " + std::to_string(kSensorsMax) + " sensors, expected fewer");
  s.kind = static_cast<SensorKind>(table.choice("kind", kKinds));
  if (s.kind == SensorKind::encoder) read_encoder(table, model, owner, s);
  if (s.kind == SensorKind::imu) read_imu(table, model, owner, s);
  if (s.kind == SensorKind::force_torque) read_force_torque(table, model, owner, s);
  if (s.kind == SensorKind::contact) read_contact(table, model, owner, s);
  const std::uint64_t drawn = random.next();
  const std::int64_t own = table.integer("seed", 0, std::numeric_limits<std::int64_t>::max(), 0);
  s.seed = own > 0 ? static_cast<std::uint64_t>(own) : drawn;
  table.finish();
  model.sensors.push_back(s);
}

}  // namespace tactus
