#include "server/net/scene/scene_view.h"

#include <utility>

#include "core/shape/smooth/smooth_surface.h"

namespace tactus::net {
namespace {

void set_vec(v1::Vec3* out, const Vec3& x) {
  out->set_x(x.x());
  out->set_y(x.y());
  out->set_z(x.z());
}

void describe_shape(const Model& model, const ShapeInstance& instance, const Body& body, v1::ShapeDescription& out) {
  const Shape& shape = instance.shape;
  out.set_kind(to_string(shape.kind));
  if (shape.kind == ShapeKind::box) set_vec(out.mutable_half_m(), shape.half_S);
  out.set_radius_m(shape.smooth != nullptr ? shape.smooth->radius() : shape.radius);
  out.set_half_length_m(shape.half_length);
  set_vec(out.mutable_p_bs_m(), body.p_BBcm + instance.X_BcmS.p);
  v1::Quaternion* q_BS = out.mutable_q_bs();
  q_BS->set_w(instance.X_BcmS.q.w());
  q_BS->set_x(instance.X_BcmS.q.x());
  q_BS->set_y(instance.X_BcmS.q.y());
  q_BS->set_z(instance.X_BcmS.q.z());
  if (shape.hull != nullptr) {
    for (const Vec3& p : shape.hull->vertices) {
      for (int i = 0; i < 3; ++i) out.add_vertices_m(p[i]);
    }
  }
  out.set_colour(instance.colour);
  if (instance.material < model.materials.size()) out.set_material(model.materials[instance.material].name);
}

void describe_body(const Model& model, BodyIndex b, v1::BodyDescription& out) {
  const Body& body = model.bodies[b];
  out.set_id(b);
  out.set_name(body.name);
  out.set_mode(to_string(body.mode));
  out.set_mass_kg(body.mass);
  set_vec(out.mutable_p_bbcm_m(), body.p_BBcm);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) out.add_inertia_kg_m2(body.I_BBcm(r, c));
  }
  for (std::uint32_t s = 0; s < body.shape_count; ++s) {
    describe_shape(model, model.shapes[body.first_shape + s], body, *out.add_shapes());
  }
  out.set_force_limit_n(body.force_limit);
  out.set_torque_limit_n_m(body.torque_limit);
}

std::vector<ContactModelKind> available_models() {
  std::vector<ContactModelKind> out;
  for (int kind = 0; kind <= static_cast<int>(ContactModelKind::peg); ++kind) {
    if (World::has_model(static_cast<ContactModelKind>(kind))) out.push_back(static_cast<ContactModelKind>(kind));
  }
  return out;
}

}  // namespace

std::string model_names() {
  std::string out;
  for (const ContactModelKind kind : available_models()) out.append(out.empty() ? "" : ", ").append(to_string(kind));
  return out;
}

void SceneView::set(const World& new_world, std::string scene_name, std::uint32_t new_epoch, State blank_state) {
  world = &new_world;
  name = std::move(scene_name);
  epoch = new_epoch;
  blank = std::move(blank_state);
  parameters = model().parameters;
  contact_model = in_charge = model().contact_model;
  snapshots.clear();
  body_ids.clear();
  for (BodyIndex b = 0; b < model().bodies.size(); ++b) body_ids.emplace(model().bodies[b].name, b);
  driven.assign(model().joints.size(), kNone);
  driven_joints.clear();
  joint_options.clear();
  for (std::uint32_t r = 0; r < model().robots.size(); ++r) {
    for (const DrivenJoint& joint : world->driven_joints(r)) {
      driven[joint.drive.joint] = static_cast<std::uint32_t>(driven_joints.size());
      driven_joints.push_back(joint);
      joint_options.push_back(world->joint_options(joint.drive.joint));
    }
  }
}

bool SceneView::parse_channel(const std::string& text, std::vector<Channel>& out) const {
  if (text == "world") {
    out.push_back(kWorldChannel);
    return true;
  }
  constexpr std::string_view kTool = "tool/";
  if (text.starts_with(kTool)) {
    Pose X_BT;
    const BodyIndex body = find_tool(text.substr(kTool.size()), X_BT);
    if (body == kNoBody) return false;
    out.push_back(tool_channel(body));
    return true;
  }
  constexpr std::string_view kJoint = "joint/";
  if (text.starts_with(kJoint)) return parse_joint_channel(text.substr(kJoint.size()), out);
  constexpr std::string_view kHead = "body/", kTail = "/wrench";
  if (!text.starts_with(kHead) || !text.ends_with(kTail) || text.size() <= kHead.size() + kTail.size()) return false;
  const auto it = body_ids.find(text.substr(kHead.size(), text.size() - kHead.size() - kTail.size()));
  if (it == body_ids.end()) return false;
  out.push_back(1 + it->second);
  return true;
}

bool SceneView::parse_joint_channel(const std::string& joint_name, std::vector<Channel>& out) const {
  if (joint_name.ends_with("/*")) {
    const std::uint32_t robot = find_robot(joint_name.substr(0, joint_name.size() - 2));
    if (robot == kNone) return false;
    for (const DrivenJoint& joint : world->driven_joints(robot)) out.push_back(joint_channel(joint.drive.joint));
    return !world->driven_joints(robot).empty();
  }
  const JointIndex joint = model().find_joint(joint_name);
  if (joint == kNone || driven[joint] == kNone) return false;
  out.push_back(joint_channel(joint));
  return true;
}

JointIndex SceneView::joint_of(Channel channel) const {
  const std::size_t bodies = model().bodies.size();
  return channel <= bodies || channel >= tool_channel(0) ? kNone : static_cast<JointIndex>(channel - bodies - 1);
}

BodyIndex SceneView::find_frame(const std::string& frame_name, Pose& X_BF) const {
  X_BF = {};
  if (const LinkFrame* frame = model().find_frame(frame_name)) {
    X_BF = frame->X_BF;
    return frame->body;
  }
  const auto it = body_ids.find(frame_name);
  return it != body_ids.end() ? it->second : kNoBody;
}

BodyIndex SceneView::find_tool(const std::string& tool_name, Pose& X_BT) const {
  const BodyIndex body = find_frame(tool_name, X_BT);
  return body != kNoBody && takes_wrenches(model().bodies[body].mode) ? body : kNoBody;
}

std::string SceneView::why_no_tool(const std::string& tool_name) const {
  Pose X_BT;
  const BodyIndex body = find_frame(tool_name, X_BT);
  const std::string what = "tool/" + tool_name + ": ";
  if (body == kNoBody) return what + "nothing in scene '" + name + "' has that name; name a free body or robot/link";
  switch (model().bodies[body].mode) {
    case BodyMode::fixed:
      return what + "it is fixed, and no force moves it; name a free body or robot/link";
    case BodyMode::kinematic:
      return what + "it is kinematic: its motion is prescribed, whatever the force; name a free body or robot/link";
    case BodyMode::free:
    case BodyMode::link:
      break;
  }
  return {};
}

std::uint32_t SceneView::find_robot(const std::string& robot_name) const {
  const std::vector<Robot>& robots = model().robots;
  for (std::uint32_t r = 0; r < robots.size(); ++r) {
    if (robots[r].name == robot_name) return r;
  }
  return kNone;
}

v1::VerdictCode SceneView::check_joint(const JointRow& row) const {
  if (row.joint >= driven.size() || driven[row.joint] == kNone) return v1::VERDICT_REFUSED_UNKNOWN_JOINT;
  const DrivenJoint& joint = driven_joints[driven[row.joint]];
  if (row.kind == DriveKind::velocity && !(joint.drive.kd > 0)) return v1::VERDICT_REFUSED_NO_GAINS;
  if (row.kind != DriveKind::position) return v1::VERDICT_NONE;
  if (!(joint.drive.kp > 0)) return v1::VERDICT_REFUSED_NO_GAINS;
  return row.value < joint.lower || row.value > joint.upper ? v1::VERDICT_REFUSED_OUT_OF_RANGE : v1::VERDICT_NONE;
}

std::string SceneView::channel_name(Channel channel) const {
  if (channel == kWorldChannel) return "world";
  if (const BodyIndex tool = tool_of(channel); tool != kNoBody)
    return "tool/" + (tool < model().bodies.size() ? model().bodies[tool].name : std::string("?"));
  if (const JointIndex joint = joint_of(channel); joint != kNone)
    return "joint/" + (joint < model().joints.size() ? model().joints[joint].name : std::string("?"));
  return "body/" + model().bodies[channel - 1].name + "/wrench";
}

void describe(const SceneView& view, v1::SceneDescription& out) {
  const Model& model = view.model();
  out.set_name(view.name);
  out.set_title(model.title);
  out.set_scene_epoch(view.epoch);
  out.set_step_s(model.step);
  out.set_model(to_string(view.contact_model));
  out.set_integrator(to_string(model.integrator));
  set_vec(out.mutable_gravity_m_per_s2(), view.parameters.gravity_W);
  for (BodyIndex b = 0; b < model.bodies.size(); ++b) describe_body(model, b, *out.add_bodies());
  out.set_seed(model.seed);
  for (const ContactModelKind kind : available_models()) out.add_models(to_string(kind));
  for (const auto& [key, value] : World::list_parameters(view.parameters)) {
    v1::Parameter* setting = out.add_settings();
    setting->set_key(key);
    setting->set_value(value);
  }
  describe_robots(view, out);
}

}  // namespace tactus::net
