#include "tests/bench/mjcf.h"

#include <Eigen/Eigenvalues>
#include <cstdio>

#include "core/check.h"

namespace tactus::bench {
namespace {

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}
std::string vector(const Vec3& x) {
  return number(x.x()) + " " + number(x.y()) + " " + number(x.z());
}
std::string pose(const Pose& X) {
  return "pos=\"" + vector(X.p) + "\" quat=\"" + number(X.q.w()) + " " + vector(X.q.vec()) + "\"";
}

class Writer {
 public:
  Writer(const Model& model, bool contacts) : model_(model), contacts_(contacts) {}

  std::string text() {
    add("<mujoco>\n<compiler angle=\"radian\" inertiafromgeom=\"false\"/>\n");
    add("<option timestep=\"" + number(model_.step) + "\" gravity=\"" + vector(model_.parameters.gravity_W) + "\">");
    if (!contacts_) add("<flag constraint=\"disable\" contact=\"disable\"/>");
    add("</option>\n<worldbody>\n");
    if (contacts_) add_fixed_shapes();
    for (JointIndex j = 0; j < model_.joints.size(); ++j)
      if (!is_link(model_.joints[j].parent)) add_branch(j);
    add("</worldbody>\n</mujoco>\n");
    return std::move(out_);
  }

 private:
  void add(const std::string& text) { out_ += text; }
  [[nodiscard]] bool is_link(BodyIndex b) const { return b != kNone && model_.bodies[b].mode == BodyMode::link; }

  [[nodiscard]] Pose start_of(const Joint& joint) const {
    if (joint.parent == kNone) return joint.kind == JointKind::floating ? model_.X_WB0[joint.child] : joint.X_PF;
    if (is_link(joint.parent)) return joint.X_PF;
    TACTUS_REQUIRE(model_.bodies[joint.parent].mode == BodyMode::fixed, "robots stand on fixed bodies here");
    return model_.X_WB0[joint.parent] * joint.X_PF;
  }

  void add_branch(JointIndex j) {
    const Joint& joint = model_.joints[j];
    TACTUS_REQUIRE(joint.mimic == kNone, "joints that follow others are not given to MuJoCo");
    add("<body name=\"b" + std::to_string(joint.child) + "\" " + pose(start_of(joint)) + ">\n");
    add_joint(joint, std::to_string(j));
    const Body& body = model_.bodies[joint.child];
    add_inertia(body);
    for (std::uint32_t i = body.first_shape; contacts_ && i < body.first_shape + body.shape_count; ++i)
      add_shape(model_.shapes[i], body.p_BBcm, false);
    for (JointIndex k = j + 1; k < model_.joints.size(); ++k)
      if (model_.joints[k].parent == joint.child) add_branch(k);
    add("</body>\n");
  }

  void add_joint(const Joint& joint, const std::string& index) {
    if (joint.kind == JointKind::floating) return add("<freejoint name=\"j" + index + "\"/>\n");
    const bool slides = joint.kind == JointKind::prismatic;
    TACTUS_REQUIRE(slides || joint.kind == JointKind::revolute || joint.kind == JointKind::continuous,
                   "only joints of one coordinate and floating ones are given to MuJoCo");
    add("<joint name=\"j" + index + "\" type=\"" + (slides ? "slide" : "hinge") + "\" axis=\"" + vector(joint.axis_F) +
        "\" armature=\"" + number(joint.armature) + "\" damping=\"" + number(contacts_ ? joint.damping : 0) + "\"/>\n");
  }

  void add_inertia(const Body& body) {
    const Eigen::SelfAdjointEigenSolver<Mat3> principal(body.I_BBcm);
    Mat3 R = principal.eigenvectors();
    if (R.determinant() < 0) R.col(0) = -R.col(0);
    const Pose X{Quat(R).normalized(), body.p_BBcm};
    add("<inertial " + pose(X) + " mass=\"" + number(body.mass) + "\" diaginertia=\"" +
        vector(principal.eigenvalues()) + "\"/>\n");
  }

  void add_fixed_shapes() {
    for (const ShapeInstance& s : model_.shapes) {
      const Body& body = model_.bodies[s.body];
      if (body.mode != BodyMode::fixed) continue;
      floor_material_ = s.material;
      ShapeInstance in_world = s;
      const Pose X_WBcm{model_.X_WB0[s.body].q, model_.X_WB0[s.body] * body.p_BBcm};
      in_world.X_BcmS = X_WBcm * s.X_BcmS;
      add_shape(in_world, Vec3::Zero(), true);
    }
  }

  // MuJoCo takes the larger friction and the larger number of directions: a link's shape says both, the ground neither.
  void add_shape(const ShapeInstance& s, const Vec3& p_BBcm, bool ground) {
    const double mu = ground ? 0 : model_.surface(s.material, floor_material_).friction.mu_static;
    Pose X_BS = s.X_BcmS;
    X_BS.p += p_BBcm;
    add("<geom " + size(s.shape) + " " + pose(X_BS) + " friction=\"" + number(mu) + " 0 0\" condim=\"" +
        (mu > 0 ? "3" : "1") + "\" contype=\"" + (ground ? "0" : "1") + "\" conaffinity=\"" + (ground ? "1" : "0") +
        "\"/>\n");
  }

  static std::string size(const Shape& s) {
    switch (s.kind) {
      case ShapeKind::sphere:
        return "type=\"sphere\" size=\"" + number(s.radius) + "\"";
      case ShapeKind::box:
        return "type=\"box\" size=\"" + vector(s.half_S) + "\"";
      case ShapeKind::capsule:
        return "type=\"capsule\" size=\"" + number(s.radius) + " " + number(s.half_length) + "\"";
      case ShapeKind::cylinder:
        return "type=\"cylinder\" size=\"" + number(s.radius) + " " + number(s.half_length) + "\"";
      case ShapeKind::half_space:
        return "type=\"plane\" size=\"0 0 1\"";
      case ShapeKind::convex:
      case ShapeKind::mesh:
      case ShapeKind::smooth:
        break;
    }
    throw InputError("hulls and meshes are not given to MuJoCo");
  }

  const Model& model_;
  const bool contacts_;
  std::uint32_t floor_material_ = 0;
  std::string out_;
};

}  // namespace

std::string mjcf_text(const Model& model, bool contacts) {
  return Writer(model, contacts).text();
}

}  // namespace tactus::bench
