#include "server/record/foxglove_scene.h"

#include <Eigen/Geometry>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace tactus::record {
namespace {

constexpr double kFloorM = 20, kFloorThickM = 0.01;
constexpr double kTypicalArrow = 1.0;  // of a typical body's size, for the weight of a typical body

void set_time(google::protobuf::Timestamp& out, double time_s) {
  const double whole = std::floor(time_s);
  out.set_seconds(static_cast<std::int64_t>(whole));
  out.set_nanos(static_cast<std::int32_t>(std::min(999'999'999.0, std::round(1e9 * (time_s - whole)))));
}

void set_vector(foxglove::Vector3& out, double x, double y, double z) {
  out.set_x(x);
  out.set_y(y);
  out.set_z(z);
}
void set_quaternion(foxglove::Quaternion& out, double w, double x, double y, double z) {
  out.set_w(w);
  out.set_x(x);
  out.set_y(y);
  out.set_z(z);
}

// X_BS of a shape, moved along its own z.
void set_pose(foxglove::Pose& out, const v1::ShapeDescription& shape, double z = 0) {
  const Eigen::Quaterniond q(shape.q_bs().w(), shape.q_bs().x(), shape.q_bs().y(), shape.q_bs().z());
  const Eigen::Vector3d p =
      Eigen::Vector3d(shape.p_bs_m().x(), shape.p_bs_m().y(), shape.p_bs_m().z()) + q * Eigen::Vector3d(0, 0, z);
  set_vector(*out.mutable_position(), p.x(), p.y(), p.z());
  set_quaternion(*out.mutable_orientation(), q.w(), q.x(), q.y(), q.z());
}

void set_colour(foxglove::Color& out, const std::string& text, std::uint32_t body, bool is_still) {
  unsigned rgb = 0;
  if (text.size() == 7 && std::from_chars(text.data() + 1, text.data() + 7, rgb, 16).ec == std::errc()) {
    out.set_r((rgb >> 16 & 255) / 255.0);
    out.set_g((rgb >> 8 & 255) / 255.0);
    out.set_b((rgb & 255) / 255.0);
  } else if (is_still) {
    out.set_r(0.55), out.set_g(0.57), out.set_b(0.6);
  } else {  // neighbours in number differ in hue
    const double hue = 6 * std::fmod(0.61803398875 * body, 1.0);
    const auto part = [hue](double shift) {
      return 0.35 + 0.6 * std::clamp(std::abs(std::fmod(hue + shift, 6.0) - 3) - 1, 0.0, 1.0);
    };
    out.set_r(part(0)), out.set_g(part(4)), out.set_b(part(2));
  }
  out.set_a(1);
}

double reach_of(const v1::ShapeDescription& s) {
  if (s.kind() == "box") return std::hypot(s.half_m().x(), s.half_m().y(), s.half_m().z());
  return s.radius_m() + s.half_length_m();
}

void add_ball(foxglove::SceneEntity& out, const v1::ShapeDescription& s, double z, const foxglove::Color& colour) {
  foxglove::SpherePrimitive& ball = *out.add_spheres();
  set_pose(*ball.mutable_pose(), s, z);
  set_vector(*ball.mutable_size(), 2 * s.radius_m(), 2 * s.radius_m(), 2 * s.radius_m());
  *ball.mutable_color() = colour;
}

void add_cube(foxglove::SceneEntity& out, const v1::ShapeDescription& s, const Eigen::Vector3d& size, double z,
              const foxglove::Color& colour) {
  foxglove::CubePrimitive& cube = *out.add_cubes();
  set_pose(*cube.mutable_pose(), s, z);
  set_vector(*cube.mutable_size(), size.x(), size.y(), size.z());
  *cube.mutable_color() = colour;
}

// False: it is drawn from triangles.
bool add_shape(foxglove::SceneEntity& out, const v1::ShapeDescription& s, const foxglove::Color& colour) {
  if (s.kind() == "sphere") {
    add_ball(out, s, 0, colour);
  } else if (s.kind() == "box") {
    add_cube(out, s, 2 * Eigen::Vector3d(s.half_m().x(), s.half_m().y(), s.half_m().z()), 0, colour);
  } else if (s.kind() == "half_space") {
    add_cube(out, s, {kFloorM, kFloorM, kFloorThickM}, -kFloorThickM / 2, colour);
  } else if (s.kind() == "capsule" || s.kind() == "cylinder") {
    foxglove::CylinderPrimitive& rod = *out.add_cylinders();
    set_pose(*rod.mutable_pose(), s);
    set_vector(*rod.mutable_size(), 2 * s.radius_m(), 2 * s.radius_m(), 2 * s.half_length_m());
    rod.set_bottom_scale(1);
    rod.set_top_scale(1);
    *rod.mutable_color() = colour;
    if (s.kind() == "cylinder") return true;
    add_ball(out, s, s.half_length_m(), colour);
    add_ball(out, s, -s.half_length_m(), colour);
  } else {
    return false;
  }
  return true;
}

std::string asset_of(const v1::SceneDescription& scene, std::uint32_t body, int shape) {
  char text[96];
  std::snprintf(text, sizeof text, "package://tactus/%08x/%u/%d.stl", scene.scene_epoch(), body, shape);
  return text;
}

}  // namespace

void FoxgloveScene::set(v1::SceneDescription description) {
  description_ = std::move(description);
  joint_names_.clear();
  for (const v1::RobotDescription& robot : description_.robots()) {
    for (const v1::JointDescription& joint : robot.joints()) {
      if (joint.id() >= joint_names_.size() && joint.id() < 100'000) joint_names_.resize(joint.id() + 1);
      if (joint.id() < joint_names_.size()) joint_names_[joint.id()] = joint.name();
    }
  }
  double mass = 0, reach = 0;
  int count = 0;
  for (const v1::BodyDescription& body : description_.bodies()) {
    if (body.mode() == "fixed" || body.mode() == "kinematic" || body.shapes().empty()) continue;
    mass += body.mass_kg();
    reach += reach_of(body.shapes(0));
    ++count;
  }
  if (count == 0 || !(mass > 0)) return;
  const double size = std::max(0.02, reach / count);
  metres_per_newton_ = kTypicalArrow * size / (9.81 * mass / count);
  arrow_max_m_ = 10 * size;
}

const std::string* FoxgloveScene::name_of(std::uint32_t body) const {
  const int index = static_cast<int>(body);  // bodies stand in the order of their ids
  if (body >= static_cast<std::uint32_t>(description_.bodies_size())) return nullptr;
  return &description_.bodies(index).name();
}

std::vector<std::string> FoxgloveScene::still_bodies() const {
  std::vector<std::string> out;
  for (const v1::BodyDescription& body : description_.bodies()) {
    if (body.mode() == "fixed") out.push_back(body.name());
  }
  return out;
}

void FoxgloveScene::fill(foxglove::SceneUpdate& out, double time_s) const {
  foxglove::SceneEntityDeletion& all = *out.add_deletions();
  set_time(*all.mutable_timestamp(), time_s);
  all.set_type(foxglove::SceneEntityDeletion::ALL);
  for (const v1::BodyDescription& body : description_.bodies()) {
    foxglove::SceneEntity& entity = *out.add_entities();
    set_time(*entity.mutable_timestamp(), time_s);
    entity.set_frame_id(body.name());
    entity.set_id(body.name());
    entity.set_frame_locked(true);
    for (int i = 0; i < body.shapes_size(); ++i) {
      foxglove::Color colour;
      set_colour(colour, body.shapes(i).colour(), body.id(), body.mode() == "fixed");
      if (!add_shape(entity, body.shapes(i), colour)) add_model(entity, body, i, colour);
    }
  }
}

void FoxgloveScene::add_model(foxglove::SceneEntity& out, const v1::BodyDescription& body, int shape,
                              const foxglove::Color& colour) const {
  foxglove::ModelPrimitive& model = *out.add_models();
  set_pose(*model.mutable_pose(), body.shapes(shape));
  set_vector(*model.mutable_scale(), 1, 1, 1);
  *model.mutable_color() = colour;
  model.set_override_color(true);
  model.set_media_type("model/stl");
  const auto stl = stl_.find({body.id(), static_cast<std::uint32_t>(shape)});
  if (stl == stl_.end())
    model.set_url(asset_of(description_, body.id(), shape));
  else
    model.set_data(stl->second);
}

void FoxgloveScene::fill(foxglove::FrameTransforms& out, const v1::StatePacket& state) const {
  const bool single = state.pose_f_size() > 0;
  const int rows = std::min(state.body_id_size(), (single ? state.pose_f_size() : state.pose_size()) / 7);
  for (int i = 0; i < rows; ++i) {
    const std::string* name = name_of(state.body_id(i));
    if (name == nullptr) continue;
    foxglove::FrameTransform& frame = *out.add_transforms();
    set_time(*frame.mutable_timestamp(), state.sim_time_s());
    frame.set_parent_frame_id("world");
    frame.set_child_frame_id(*name);
    const auto at = [&state, single, i](int k) {
      return single ? static_cast<double>(state.pose_f(7 * i + k)) : state.pose(7 * i + k);
    };
    set_vector(*frame.mutable_translation(), at(0), at(1), at(2));
    set_quaternion(*frame.mutable_rotation(), at(3), at(4), at(5), at(6));
  }
}

namespace {

// Turns x to the unit vector n on the shortest way.
Eigen::Quaterniond from_x(const Eigen::Vector3d& n) {
  const double w = std::sqrt(0.5 * (1 + std::max(-1.0, n.x())));
  if (w < 1e-6) return {0, 0, 0, 1};
  return Eigen::Quaterniond(w, 0, -0.5 * n.z() / w, 0.5 * n.y() / w).normalized();
}

}  // namespace

void FoxgloveScene::fill_contacts(foxglove::SceneUpdate& out, const v1::StatePacket& state) const {
  foxglove::SceneEntity& entity = *out.add_entities();
  set_time(*entity.mutable_timestamp(), state.sim_time_s());
  entity.set_frame_id("world");
  entity.set_id("contacts");
  const double width = 0.02 * arrow_max_m_ / 10;
  for (int i = 0; i + 10 <= state.contact_size(); i += 10) {
    const Eigen::Vector3d force(state.contact(i + 6), state.contact(i + 7), state.contact(i + 8));
    const double length = std::min(arrow_max_m_, metres_per_newton_ * force.norm());
    if (!(length > 1e-6)) continue;
    const Eigen::Quaterniond q = from_x(force.normalized());
    foxglove::ArrowPrimitive& arrow = *entity.add_arrows();
    set_vector(*arrow.mutable_pose()->mutable_position(), static_cast<double>(state.contact(i)),
               static_cast<double>(state.contact(i + 1)), static_cast<double>(state.contact(i + 2)));
    set_quaternion(*arrow.mutable_pose()->mutable_orientation(), q.w(), q.x(), q.y(), q.z());
    arrow.set_shaft_length(0.8 * length);
    arrow.set_shaft_diameter(2 * width);
    arrow.set_head_length(0.2 * length);
    arrow.set_head_diameter(4 * width);
    arrow.mutable_color()->set_r(0.95), arrow.mutable_color()->set_g(0.55);
    arrow.mutable_color()->set_b(0.1), arrow.mutable_color()->set_a(1);
  }
}

void FoxgloveScene::fill(foxglove::JointStates& out, const v1::StatePacket& state) const {
  set_time(*out.mutable_timestamp(), state.sim_time_s());
  const bool single = state.joint_f_size() > 0;
  const int rows = std::min(state.joint_id_size(), (single ? state.joint_f_size() : state.joint_size()) / 4);
  for (int i = 0; i < rows; ++i) {
    if (state.joint_id(i) >= joint_names_.size() || joint_names_[state.joint_id(i)].empty()) continue;
    const auto at = [&state, single, i](int k) {
      return single ? static_cast<double>(state.joint_f(4 * i + k)) : state.joint(4 * i + k);
    };
    foxglove::JointState& joint = *out.add_joints();
    joint.set_name(joint_names_[state.joint_id(i)]);
    joint.set_position(at(0));
    joint.set_velocity(at(1));
    joint.set_effort(at(2));
  }
}

bool FoxgloveScene::find_asset(const std::string& uri, Asset& out) const {
  for (const v1::BodyDescription& body : description_.bodies()) {
    for (int i = 0; i < body.shapes_size(); ++i) {
      if (uri != asset_of(description_, body.id(), i)) continue;
      out = {body.id(), static_cast<std::uint32_t>(i)};
      return true;
    }
  }
  return false;
}

// Binary STL: 80 bytes of head, u32 triangles; 50 bytes a triangle: normal, three corners, u16.
std::vector<std::uint8_t> stl_of(const std::vector<float>& corners) {
  const std::size_t triangles = corners.size() / 9;
  std::vector<std::uint8_t> out(84, 0);
  out.reserve(84 + 50 * triangles);
  for (std::size_t i = 0; i < 4; ++i) out[80 + i] = static_cast<std::uint8_t>(triangles >> (8 * i));
  const auto put = [&out](float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
  };
  for (std::size_t t = 0; t < triangles; ++t) {
    const float* p = corners.data() + 9 * t;
    const Eigen::Vector3f a(p[0], p[1], p[2]), b(p[3], p[4], p[5]), c(p[6], p[7], p[8]);
    const Eigen::Vector3f n = (b - a).cross(c - a).normalized();
    for (int i = 0; i < 3; ++i) put(n[i]);
    for (int i = 0; i < 9; ++i) put(p[i]);
    out.push_back(0);
    out.push_back(0);
  }
  return out;
}

}  // namespace tactus::record
