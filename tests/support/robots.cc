#include "tests/support/robots.h"

namespace tactus::test {

Robot& add_robot(Model& model, const std::string& name) {
  Robot robot;
  robot.name = name;
  robot.first_joint = static_cast<JointIndex>(model.joints.size());
  model.robots.push_back(robot);
  return model.robots.back();
}

BodyIndex add_link(Model& model, double mass, const Mat3& I_BBcm, const Vec3& p_BBcm) {
  Body body;
  body.name = "link_" + std::to_string(model.bodies.size());
  body.mode = BodyMode::link;
  body.mass = mass;
  body.I_BBcm = I_BBcm;
  body.p_BBcm = p_BBcm;
  body.first_shape = static_cast<std::uint32_t>(model.shapes.size());
  model.bodies.push_back(body);
  model.X_WB0.emplace_back();
  model.V_WB0.emplace_back();
  return static_cast<BodyIndex>(model.bodies.size() - 1);
}

JointIndex add_joint(Model& model, JointKind kind, BodyIndex parent, BodyIndex child, const Pose& X_PF,
                     const Vec3& axis_F) {
  Joint joint;
  joint.name = "joint_" + std::to_string(model.joints.size());
  joint.kind = kind;
  joint.parent = parent;
  joint.child = child;
  joint.X_PF = X_PF;
  joint.axis_F = axis_F;
  model.joints.push_back(joint);
  ++model.robots.back().joint_count;
  return static_cast<JointIndex>(model.joints.size() - 1);
}

Pose random_pose(Random& random, double half) {
  const Quat q = random.rotation();
  const Vec3 p = random.in_cube(half);
  return {q, p};
}

BodyIndex random_link(Model& model, Random& random) {
  const double mass = random.log_uniform(0.1, 5);
  const Mat3 I = random.inertia(mass, 0.3);
  const Vec3 p_BBcm = random.in_cube(0.1);
  return add_link(model, mass, I, p_BBcm);
}

void random_mimics(Model& model, Random& random, double probability) {
  const Robot& robot = model.robots.back();
  std::vector<JointIndex> single;
  for (std::uint32_t i = 0; i < robot.joint_count; ++i) {
    if (velocity_count(model.joints[robot.first_joint + i].kind) == 1) single.push_back(robot.first_joint + i);
  }
  std::vector<bool> is_master(model.joints.size(), false);
  for (const JointIndex j : single) {
    if (!random.chance(probability) || is_master[j]) continue;
    const JointIndex master = single[random.below(static_cast<std::uint32_t>(single.size()))];
    if (master == j || model.joints[master].mimic != kNone) continue;
    is_master[master] = true;
    model.joints[j].mimic = master;
    model.joints[j].multiplier = random.uniform(-2, 2);
    model.joints[j].offset = random.uniform(-1, 1);
  }
}

Scene random_robot(Random& random, const RobotOptions& options) {
  Scene scene;
  Model& model = *scene.model;
  BodyIndex carrier = kNone;
  if (options.base == Base::fixed_body || options.base == Base::kinematic_body) {
    const Pose X_WB = random_pose(random, 3);
    const Vec3 w = random.in_cube(1);
    const Vec3 v = random.in_cube(1);
    const bool moves = options.base == Base::kinematic_body;
    carrier = scene.add(make_box(Vec3::Constant(0.1)), 1, X_WB, moves ? SpatialVelocity{w, v} : SpatialVelocity{}, 0,
                        moves ? BodyMode::kinematic : BodyMode::fixed);
    model.bodies[carrier].p_BBcm = random.in_cube(0.2);
  }
  add_robot(model, "robot");
  std::vector<BodyIndex> links;
  std::uint32_t dofs = 0;
  for (std::uint32_t i = 0; i < options.joints; ++i) {
    const auto count = static_cast<std::uint32_t>(options.kinds.size());
    JointKind kind = options.kinds[random.below(count)];
    if (i == 0 && options.base == Base::floating) kind = JointKind::floating;
    if (dofs + velocity_count(kind) > options.dofs) kind = JointKind::fixed;
    dofs += velocity_count(kind);
    BodyIndex parent = links.empty() ? carrier : links.back();
    if (!links.empty() && random.chance(options.branch)) {
      parent = links[random.below(static_cast<std::uint32_t>(links.size()))];
    }
    links.push_back(random_link(model, random));
    const Pose turned = random_pose(random, 0.3);
    const Pose X_PF = i == 0 && options.aligned ? Pose{} : turned;
    const Vec3 axis = random.direction();
    const JointIndex j = add_joint(model, kind, parent, links.back(), X_PF, axis);
    const double armature = random.uniform(0, 0.2);
    if (options.armature && kind != JointKind::floating) model.joints[j].armature = armature;
  }
  random_mimics(model, random, options.mimic);
  return scene;
}

void randomise_joints(const Model& model, Random& random, double speed, State& state) {
  for (const Joint& joint : model.joints) {
    if (joint.mimic != kNone) continue;
    double* q = state.joint_q.data() + joint.first_q;
    for (std::uint32_t k = 0; k < position_count(joint.kind); ++k) q[k] = random.uniform(-1.5, 1.5);
    const Quat turn = random.rotation();
    const std::uint32_t at = joint.kind == JointKind::floating ? 3 : 0;
    if (joint.kind == JointKind::floating || joint.kind == JointKind::spherical) {
      q[at] = turn.w(), q[at + 1] = turn.x(), q[at + 2] = turn.y(), q[at + 3] = turn.z();
    }
  }
  for (double& v : state.joint_v) v = random.uniform(-speed, speed);
}

RobotBench::Vector random_vector(Random& random, Eigen::Index n, double half) {
  RobotBench::Vector x(n);
  for (Eigen::Index i = 0; i < n; ++i) x[i] = random.uniform(-half, half);
  return x;
}

RobotBench::RobotBench(Scene scene) : model(std::move(scene.model)) {
  finish_model(*model);
  state = initial_state(*model, 4);
  tree = std::make_unique<Tree>(*model, 0);
  update();
}

RobotBench::RobotBench(Random& random, const RobotOptions& options, double speed)
    : RobotBench(random_robot(random, options)) {
  randomise_joints(*model, random, speed, state);
  update();
}

void RobotBench::update() {
  tree->positions(state);
  tree->velocities(state);
  tree->mass_matrix();
  tree->write_links(state);
}

void RobotBench::move(double t, const Vector& v) {
  const Robot& robot = tree->robot();
  integrate_joints(*model, robot, t, v.data(), state.joint_q.data() + robot.first_q);
  for (BodyIndex b = 0; b < model->bodies.size(); ++b) {
    if (model->bodies[b].mode != BodyMode::kinematic) continue;
    state.set_pose(b, state.p_WBcm(b) + t * state.v_WBcm(b), rotate_by(t * state.w_WB(b), state.q_WB(b)));
  }
}

RobotBench::Matrix RobotBench::mass() const {
  Matrix M(n(), n());
  for (DofIndex i = 0; i < tree->v_count(); ++i) {
    for (DofIndex j = 0; j < tree->v_count(); ++j) M(i, j) = tree->mass(i, j);
  }
  return M;
}

RobotBench::Vector RobotBench::bias(const Vec3& gravity_W) {
  Vector out(n());
  tree->bias(gravity_W, out.data());
  return out;
}

RobotBench::Matrix RobotBench::jacobian(std::uint32_t link, const Vec3& p_W) const {
  Matrix J = Matrix::Zero(6, n());
  if (n() == 0) return J;  // a row of a matrix without storage has no address
  for (int k = 0; k < 6; ++k) {
    SpatialForce F;
    (k < 3 ? F.force : F.torque)[k % 3] = 1;
    F.torque += (p_W - tree->p_WBcm(link)).cross(F.force);
    Vector row = Vector::Zero(n());
    tree->add_force(link, F, row.data());
    J.row(k) = row.transpose();
  }
  return J;
}

std::vector<SpatialForce> RobotBench::random_forces(Random& random) const {
  std::vector<SpatialForce> F(model->bodies.size());
  for (SpatialForce& f : F) {
    f.force = random.in_cube(10);
    f.torque = random.in_cube(3);
  }
  return F;
}

}  // namespace tactus::test
