// What a robot measures: data only, read from the scene; actuation/ turns it into readings. Here, below actuation/,
// because Model holds it.
#pragma once

#include <cstdint>
#include <string>

#include "core/dynamics/robot.h"
#include "core/math/spatial.h"

namespace tactus {

enum class SensorKind : std::uint8_t {
  encoder,       // position and velocity of a joint
  imu,           // angular velocity and specific force (acceleration less gravity) of a frame, in its axes
  force_torque,  // what the parent exerts on the child through a joint, at the frame's origin, in its axes
  contact        // sum of the contact forces on a frame's shapes, in W
};
const char* to_string(SensorKind kind) noexcept;

// A reading is quantised(true + bias + sigma * gauss), each component with a draw of its own from the sensor's stream.
struct SensorSpec {
  std::string name;  // robot/sensor
  SensorKind kind = SensorKind::encoder;
  JointIndex joint = kNone;     // encoder, force_torque
  std::uint32_t frame = kNone;  // into Model::frames: imu, contact; force_torque: the joint's child link
  Pose X_FS;                    // imu, force_torque: of the sensor in that frame
  double resolution = 0;        // encoder: step of the position [rad or m]; 0: none
  // linear: encoder position [rad or m] in x; imu specific force [m/s^2]; force_torque, contact force [N].
  // angular: encoder velocity [rad/s or m/s] in x; imu angular velocity [rad/s]; force_torque torque [N m].
  double linear_noise = 0, angular_noise = 0;  // sigma of each component
  Vec3 linear_bias = Vec3::Zero(), angular_bias = Vec3::Zero();
  std::uint64_t seed = 0;  // of its noise; from the scene's seed and the sensor's number unless the scene says
};

// A link of a robot by its name, also where it has been merged into a body over fixed joints.
struct LinkFrame {
  std::string name;  // robot/link
  BodyIndex body = kNone;
  Pose X_BF;                                       // in the body's frame B
  std::uint32_t first_shape = 0, shape_count = 0;  // of this link, into Model::shapes
};

}  // namespace tactus
