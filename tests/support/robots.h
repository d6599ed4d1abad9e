// Robots built in code: joint by joint, or random trees of every joint kind; and a robot with its state and Tree.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/dynamics/tree.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"

namespace tactus::test {

// Starts a robot: the joints that follow belong to it.
Robot& add_robot(Model& model, const std::string& name);

BodyIndex add_link(Model& model, double mass, const Mat3& I_BBcm, const Vec3& p_BBcm = Vec3::Zero());

// The next joint of the last robot.
JointIndex add_joint(Model& model, JointKind kind, BodyIndex parent, BodyIndex child, const Pose& X_PF = {},
                     const Vec3& axis_F = Vec3::UnitZ());

enum class Base { world, fixed_body, kinematic_body, floating };

struct RobotOptions {
  Base base = Base::world;
  std::uint32_t joints = 14;
  std::uint32_t dofs = 40;  // no joint that would exceed this
  double mimic = 0;         // probability, of joints with one dof
  double branch = 0.4;      // probability that a link starts a branch instead of going on
  bool armature = true;
  bool aligned = false;  // the first joint's axes are those of its carrier
  std::vector<JointKind> kinds = {JointKind::fixed,  JointKind::revolute,  JointKind::continuous, JointKind::prismatic,
                                  JointKind::planar, JointKind::spherical, JointKind::floating,   JointKind::revolute};
};

Pose random_pose(Random& random, double half);

BodyIndex random_link(Model& model, Random& random);

// Each mimic follows another joint of one dof, before or after it.
void random_mimics(Model& model, Random& random, double probability);

// A random tree; body 0 is its carrier if it has one (3 m away, moving if kinematic).
Scene random_robot(Random& random, const RobotOptions& options);

// Random coordinates and rates of all robots.
void randomise_joints(const Model& model, Random& random, double speed, State& state);

// A robot of a model, its state and its Tree, all up to date.
struct RobotBench {
  using Vector = Eigen::VectorXd;
  using Matrix = Eigen::MatrixXd;

  std::unique_ptr<Model> model;
  State state;
  std::unique_ptr<Tree> tree;

  explicit RobotBench(Scene scene);
  RobotBench(Random& random, const RobotOptions& options, double speed = 2);

  void update();
  // Carriers too move on by t.
  void move(double t, const Vector& v);
  [[nodiscard]] Eigen::Index n() const { return static_cast<Eigen::Index>(tree->v_count()); }
  [[nodiscard]] Vector v() const { return Eigen::Map<const Vector>(state.joint_v.data(), n()); }
  void set_v(const Vector& x) { std::copy(x.data(), x.data() + n(), state.joint_v.data()); }
  [[nodiscard]] Matrix mass() const;
  [[nodiscard]] Vector bias(const Vec3& gravity_W);
  // Rows: v of the link's point in W, then w. From add_force() with unit forces.
  [[nodiscard]] Matrix jacobian(std::uint32_t link, const Vec3& p_W) const;
  [[nodiscard]] std::vector<SpatialForce> random_forces(Random& random) const;
};

RobotBench::Vector random_vector(Random& random, Eigen::Index n, double half);

// Runs check(bench, random) on random trees: every base, with and without branches and (on request) mimics; every
// eighth floats on W's axes and has none.
template <typename Check>
void for_random_robots(std::uint64_t seed, int count, bool with_mimics, const Check& check) {
  for (int i = 0; i < count; ++i) {
    Random random(seed + static_cast<std::uint64_t>(i));
    RobotOptions options;
    options.base = static_cast<Base>(i % 4);
    options.joints = 1 + random.below(20);
    options.aligned = i % 8 == 7;
    options.mimic = with_mimics && !options.aligned ? 0.5 : 0;
    options.branch = random.uniform(0, 0.8);
    RobotBench bench(random, options);
    check(bench, random);
  }
}

}  // namespace tactus::test
