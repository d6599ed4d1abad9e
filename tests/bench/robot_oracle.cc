// Eight real robots given to two other engines: MuJoCo (recursive Newton-Euler, sparse LTDL; fixed and floating bases)
// and Orocos KDL (recursive Newton-Euler in link frames; fixed bases). Each gets the Model of our loader after its
// repairs, joints that follow others freed, and must move as ours does at random states.
#include <Eigen/LU>

#include "tests/support/real_robots.h"
#include "tests/support/tolerance.h"

#ifdef TACTUS_HAS_MUJOCO
#include "tests/bench/mujoco_model.h"
#endif
#ifdef TACTUS_HAS_KDL
#include <kdl/jntarray.hpp>
#include <kdl/tree.hpp>
#include <kdl/treeidsolver_recursive_newton_euler.hpp>
#endif

namespace tactus {
namespace {

using test::kRealRobots;
using test::Random;
using test::random_vector;
using test::real_robot_bench;
using test::RealRobot;
using test::RobotBench;
using Vector = RobotBench::Vector;
using Matrix = RobotBench::Matrix;

const Vec3 kG(0.7, -0.4, -9.81);
constexpr int kStates = 25;

// Another engine at the state of a bench; vectors in our coordinates.
class Peer {
 public:
  virtual ~Peer() = default;
  // tau of M a + bias, without external forces.
  virtual Vector inverse(const State& state, const Vector& a) = 0;
  // a under tau and forces F_Bcm_W on bodies.
  virtual Vector forward(const State& state, const Vector& tau, const std::vector<SpatialForce>& F) = 0;
};

double relative(const Vector& x, const Vector& reference) {
  return (x - reference).norm() / reference.norm();
}

// Prints the largest difference seen, so that a run says how well they agree.
struct Worst {
  double inverse = 0, articulated = 0, factored = 0;
};

void check_state(RobotBench& bench, Peer& peer, Random& random, bool with_forces, Worst& worst) {
  Tree& tree = *bench.tree;
  const Vector a_given = random_vector(random, bench.n(), 10), tau = random_vector(random, bench.n(), 20);
  std::vector<SpatialForce> F(bench.model->bodies.size());
  if (with_forces) F = bench.random_forces(random);
  Vector tau_ours(bench.n()), articulated(bench.n()), b(bench.n());
  tree.inverse_dynamics(kG, a_given.data(), nullptr, tau_ours.data());
  const double inverse = relative(tau_ours, peer.inverse(bench.state, a_given));
  CHECK_WITHIN(inverse, 1e-10);

  const Vector a = peer.forward(bench.state, tau, F);
  tree.forward_dynamics(kG, tau.data(), F.data(), articulated.data());
  CHECK_WITHIN(relative(articulated, a), 1e-9);
  tree.inverse_dynamics(kG, nullptr, F.data(), b.data());
  Vector factored = tau - b;
  REQUIRE(tree.factor(nullptr));
  tree.solve(factored.data());
  CHECK_WITHIN(relative(factored, a), 1e-9);
  worst.inverse = std::max(worst.inverse, inverse);
  worst.articulated = std::max(worst.articulated, relative(articulated, a));
  worst.factored = std::max(worst.factored, relative(factored, a));
}

template <typename MakePeer>
void check_robots(const char* engine, const char* base, bool with_forces, const MakePeer& make_peer) {
  if (!test::real_robots_found()) return;
  Random random(31);
  for (const RealRobot& robot : kRealRobots) {
    INFO(std::string(robot.name), " ", std::string(base));
    RobotBench bench = real_robot_bench(robot, base, false);
    bench.model->parameters.gravity_W = kG;
    const auto peer = make_peer(bench);
    Worst worst;
    for (int i = 0; i < kStates; ++i) {
      test::randomise_joints(*bench.model, random, 3, bench.state);
      bench.update();
      check_state(bench, *peer, random, with_forces, worst);
    }
    std::printf("%-18s %-8s %2d dofs, against %-6s inverse %.1e, forward: ABA %.1e, factor %.1e\n", robot.name, base,
                static_cast<int>(bench.n()), engine, worst.inverse, worst.articulated, worst.factored);
  }
}

#ifdef TACTUS_HAS_MUJOCO
class Mujoco final : public Peer {
 public:
  explicit Mujoco(const RobotBench& bench) : m_(*bench.model, false) {}
  Vector inverse(const State& state, const Vector& a) override {
    place(state);
    m_.velocity_from_ours(a.data(), m_.data->qacc);
    Vector theirs(m_.model->nv), tau(m_.model->nv);
    mj_fwdPosition(m_.model.get(), m_.data.get());
    mj_fwdVelocity(m_.model.get(), m_.data.get());
    mj_rne(m_.model.get(), m_.data.get(), 1, theirs.data());
    m_.velocity_to_ours(theirs.data(), tau.data());
    return tau;
  }
  Vector forward(const State& state, const Vector& tau, const std::vector<SpatialForce>& F) override {
    place(state);
    m_.force_from_ours(tau.data(), m_.data->qfrc_applied);
    for (std::size_t j = 0; j < m_.joints.size(); ++j) {
      const SpatialForce& f = F[m_.ours->joints[j].child];
      mjtNum* out = m_.data->xfrc_applied + 6 * m_.joints[j].body;
      Eigen::Map<Vec3>{out} = f.force;
      Eigen::Map<Vec3>{out + 3} = f.torque;
    }
    mj_forward(m_.model.get(), m_.data.get());
    Vector a(m_.model->nv);
    m_.velocity_to_ours(m_.data->qacc, a.data());
    return a;
  }

 private:
  void place(const State& state) {
    mj_resetData(m_.model.get(), m_.data.get());
    m_.set(state);
  }

  bench::MujocoModel m_;
};

TEST_CASE("oracle: real robots on fixed bases move as in MuJoCo") {
  check_robots("MuJoCo", "fixed", true, [](const RobotBench& b) { return std::make_unique<Mujoco>(b); });
}
TEST_CASE("oracle: real robots on floating bases move as in MuJoCo") {
  check_robots("MuJoCo", "floating", true, [](const RobotBench& b) { return std::make_unique<Mujoco>(b); });
}
#endif

#ifdef TACTUS_HAS_KDL
KDL::Vector to_kdl(const Vec3& x) {
  return {x.x(), x.y(), x.z()};
}
KDL::Frame to_kdl(const Pose& X) {
  const Mat3 R = X.q.toRotationMatrix();
  return {KDL::Rotation(R(0, 0), R(0, 1), R(0, 2), R(1, 0), R(1, 1), R(1, 2), R(2, 0), R(2, 1), R(2, 2)), to_kdl(X.p)};
}

// Mass matrix by columns of inverse dynamics; a by a dense solve.
class Kdl final : public Peer {
 public:
  explicit Kdl(const RobotBench& bench) : model_(*bench.model), tree_("world"), n_(bench.n()) {
    for (std::size_t j = 0; j < model_.joints.size(); ++j) add(model_.joints[j]);
    solver_ = std::make_unique<KDL::TreeIdSolver_RNE>(tree_, to_kdl(kG));
    for (const Joint& joint : model_.joints)
      index_.push_back(static_cast<Eigen::Index>(GetTreeElementQNr(tree_.getSegment(joint.name)->second)));
  }
  Vector inverse(const State& state, const Vector& a) override {
    return torques(state, Eigen::Map<const Vector>(state.joint_v.data(), n_), a);
  }
  Vector forward(const State& state, const Vector& tau, const std::vector<SpatialForce>& F) override {
    for (const SpatialForce& f : F) REQUIRE(f.force.isZero(0));
    const Vector v = Eigen::Map<const Vector>(state.joint_v.data(), n_), zero = Vector::Zero(n_);
    const Vector bias = torques(state, v, zero), at_rest = torques(state, zero, zero);
    Matrix M(n_, n_);
    for (Eigen::Index k = 0; k < n_; ++k) M.col(k) = torques(state, zero, Vector::Unit(n_, k)) - at_rest;
    return M.fullPivLu().solve(tau - bias);
  }

 private:
  void add(const Joint& joint) {
    const Body& body = model_.bodies[joint.child];
    const bool at_root = model_.bodies[joint.parent].mode == BodyMode::fixed;
    const Pose X = at_root ? model_.X_WB0[joint.parent] * joint.X_PF : joint.X_PF;
    const auto type = joint.kind == JointKind::prismatic ? KDL::Joint::TransAxis : KDL::Joint::RotAxis;
    const KDL::Joint axis(joint.name, to_kdl(X.p), to_kdl(Vec3(X.q * joint.axis_F)), type);
    const Mat3& I = body.I_BBcm;
    const KDL::RigidBodyInertia inertia(body.mass, to_kdl(body.p_BBcm),
                                        KDL::RotationalInertia(I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)));
    const std::string parent = at_root ? "world" : model_.joints[model_.bodies[joint.parent].joint].name;
    REQUIRE(tree_.addSegment(KDL::Segment(joint.name, axis, to_kdl(X), inertia), parent));
  }
  Vector torques(const State& state, const Vector& v, const Vector& a) {
    const auto n = static_cast<unsigned>(n_);
    KDL::JntArray q_kdl(n), v_kdl(n), a_kdl(n), tau_kdl(n);
    for (std::size_t j = 0; j < index_.size(); ++j) {
      const Joint& joint = model_.joints[j];
      q_kdl.data[index_[j]] = state.joint_q[joint.first_q];
      v_kdl.data[index_[j]] = v[joint.first_v];
      a_kdl.data[index_[j]] = a[joint.first_v];
    }
    REQUIRE(solver_->CartToJnt(q_kdl, v_kdl, a_kdl, {}, tau_kdl) == 0);
    Vector tau(n_);
    for (std::size_t j = 0; j < index_.size(); ++j) tau[model_.joints[j].first_v] = tau_kdl.data[index_[j]];
    return tau;
  }

  const Model& model_;
  KDL::Tree tree_;
  Eigen::Index n_;
  std::unique_ptr<KDL::TreeIdSolver_RNE> solver_;
  std::vector<Eigen::Index> index_;  // per joint, into KDL's arrays
};

TEST_CASE("oracle: real robots on fixed bases move as in KDL") {
  check_robots("KDL", "fixed", false, [](const RobotBench& b) { return std::make_unique<Kdl>(b); });
}
#endif

}  // namespace
}  // namespace tactus
