// Tree: the dynamics of one robot in generalized coordinates, M(q) v' + bias(q, v) = tau + sum J^T F. Scratch of a
// tick: sized once by the constructor, nothing allocated afterwards; everything follows from the joints' q and v.
//
// Algorithms: Featherstone, Rigid Body Dynamics Algorithms (2008): RNEA (table 5.1), CRBA (6.2), ABA (7.1), the sparse
// factor M = L^T L (8.2, Featherstone 2005). All spatial quantities are in W axes about one point O, the mass centre of
// the first link when positions() was called, so that no transforms are needed and a robot far away loses no digits.
//
// Indices are local: link i is moved by joint robot.first_joint + i (Model::bodies[b].joint - robot.first_joint), dof d
// is State::joint_v[robot.first_v + d]. Vectors x[d] have v_count() entries. "Half velocity" u = L v: kinetic energy is
// |u|^2 / 2, an impulse p along J changes it by Y p with Y = L^-T J^T, and J v = Y^T u, J M^-1 J^T = Y^T Y.
//
// L is packed, or, where chains are long, kept as what articulated bodies leave of it (tree_articulated.cc): the same
// numbers, all of whose uses are then O(n) or O(d). A packed tree on one floating joint keeps the base's part of each
// row apart (tree_floating.cc).
//
// Order of calls in a tick: positions, velocities, then what is needed; factor() after prepare_factor() or
// mass_matrix(); halves after factor(). n: joints, d: depth in dofs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/dynamics/model.h"
#include "core/dynamics/state.h"

namespace tactus {

// q' = q + h v for each joint of the robot (v in joint axes as in JointKind); quaternions stay unit. q, v: the robot's
// own coordinates (State::joint_q.data() + robot.first_q), q in place. O(n).
void integrate_joints(const Model& model, const Robot& robot, double h, const double* v, double* q) noexcept;

// How a Tree keeps L. automatic: what takes less work; trees with mimic joints are always packed.
enum class TreeFactor : std::uint8_t { automatic, packed, articulated };

class Tree {
 public:
  Tree(const Model& model, std::uint32_t robot,
       TreeFactor kind = TreeFactor::automatic);  // keeps a pointer to the model

  [[nodiscard]] const Robot& robot() const noexcept { return model_->robots[robot_]; }
  [[nodiscard]] std::uint32_t link_count() const noexcept { return static_cast<std::uint32_t>(links_.size()); }
  [[nodiscard]] std::uint32_t v_count() const noexcept { return v_count_; }
  [[nodiscard]] BodyIndex body(std::uint32_t link) const noexcept { return constants_[link].body; }

  // --- Kinematics. Carriers (fixed and kinematic parents) take their pose and velocity from state.q and state.v.
  void positions(const State& state) noexcept { positions(state, state.joint_q.data() + first_q_); }
  void positions(const State& state, const double* q) noexcept;  // q: of this robot. O(n)
  void velocities(const State& state) noexcept { velocities(state, state.joint_v.data() + first_v_); }
  void velocities(const State& state, const double* v) noexcept;  // v: of this robot. O(n)
  // The same for the velocities of state, where those known are others.
  void refresh_velocities(const State& state) noexcept;
  // Acceleration of a moving carrier, taken as zero from velocities() on: a of its mass centre, alpha, both in W.
  void set_carrier_acceleration(const State& state, BodyIndex carrier, const Vec3& a_WBcm,
                                const Vec3& alpha_WB) noexcept;
  // Writes pose and velocity of each link's mass centre into state.q, state.v.
  void write_links(State& state) const noexcept { write_links(state.q.data(), state.v.data()); }
  void write_links(double* q, double* v) const noexcept;  // laid out as in State

  [[nodiscard]] Vec3 p_WBcm(std::uint32_t link) const noexcept { return p_WO_ + links_[link].p_OBcm; }
  [[nodiscard]] const Mat3& R_WB(std::uint32_t link) const noexcept { return links_[link].R_WB; }
  // Velocity of the link's point at p_W; and the part of it that comes from a moving carrier alone: point_velocity =
  // J v + carrier_velocity (zero unless the robot stands on a kinematic body).
  [[nodiscard]] SpatialVelocity point_velocity(std::uint32_t link, const Vec3& p_W) const noexcept {
    return shifted(links_[link].V, p_W);
  }
  [[nodiscard]] SpatialVelocity carrier_velocity(std::uint32_t link, const Vec3& p_W) const noexcept {
    return shifted(links_[constants_[link].root].V_carrier, p_W);
  }

  // --- Mass matrix by composite rigid bodies, armature added. O(n d).
  void mass_matrix() noexcept;
  [[nodiscard]] double mass(DofIndex i, DofIndex j) const noexcept;  // entry of M, 0 outside its pattern
  void times_mass(const double* x, double* y) const noexcept;        // y = M x

  // --- Constant data of the joints, seen along the dofs: mimics act on their master.
  [[nodiscard]] const double* joint_damping() const noexcept { return joint_damping_.data(); }
  [[nodiscard]] const double* joint_friction() const noexcept { return joint_friction_.data(); }

  // --- Forces. F_Bcm_W: per body of the Model, at mass centres, in W; may be null.
  // tau of RNEA: M v' + bias - J^T F. a: v', may be null for zero. Gravity is included, with Body::gravity_scale. O(n).
  void inverse_dynamics(const Vec3& gravity_W, const double* a, const SpatialForce* F_Bcm_W, double* tau) noexcept;
  // Velocity-product and gravity forces: M v' = tau - bias. O(n).
  void bias(const Vec3& gravity_W, double* out) noexcept { inverse_dynamics(gravity_W, nullptr, nullptr, out); }
  // v' by articulated bodies: a second way that shares nothing with mass_matrix() and the packed factor. tau may be
  // null. For robots without mimic joints (asserted). O(n).
  void forward_dynamics(const Vec3& gravity_W, const double* tau, const SpatialForce* F_Bcm_W, double* a) noexcept;
  // tau += J^T F, F_Bcm_W at the link's mass centre. O(d).
  void add_force(std::uint32_t link, const SpatialForce& F_Bcm_W, double* tau) const noexcept;

  // --- Factor L of M + diag(extra), extra may be null. False when that is not positive definite (links without mass,
  // numbers that are not finite): L then must not be used. O(n d^2) packed, O(n) by articulated bodies.
  void prepare_factor() noexcept;  // what factor() needs for these positions; entries of M may not be there after it
  [[nodiscard]] bool factor(const double* extra) noexcept;
  [[nodiscard]] bool articulated_factor() const noexcept { return by_articulated_; }
  void solve(double* x) const noexcept;      // x := (M + diag(extra))^-1 x. O(n d), as the rest
  void to_half(double* x) const noexcept;    // x := L x (a velocity's half)
  void from_half(double* x) const noexcept;  // x := L^-1 x (the velocity of a half)
  void half(double* x) const noexcept;       // x := L^-T x (the half response of a generalized impulse)

  // --- Half responses. Rows belong to the dofs of reach(link), or of dof_reach(d), in that order (descending).
  [[nodiscard]] std::span<const DofIndex> reach(std::uint32_t link) const noexcept { return robot().reach[link]; }
  [[nodiscard]] std::span<const DofIndex> dof_reach(DofIndex d) const noexcept {
    return {dof_reach_.data() + dof_reach_start_[d], dof_reach_start_[d + 1] - dof_reach_start_[d]};
  }
  // Y, row-major with 6 columns a row: of unit forces at p_W along the columns of E_W, then of unit moments along them.
  // Y^T u: linear velocity of the point along E, then angular. O(d^2).
  void half_response(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept;
  // The same for forces alone: 3 columns a row.
  void half_response_force(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept;
  // y of a unit generalized impulse on dof d (joint limits, drives, joint friction).
  void half_response_dof(DofIndex d, double* y) const noexcept;

  // --- Sums over the links, about what positions() and velocities() were given.
  [[nodiscard]] double kinetic_energy() const noexcept;  // of links as seen from W, and of armatures [J]
  [[nodiscard]] double potential_energy(const Vec3& gravity_W) const noexcept;  // zero at the origin of W [J]
  struct Momentum {
    double mass = 0;                // [kg]
    Vec3 p_WC = Vec3::Zero();       // mass centre C [m]
    Vec3 linear_W = Vec3::Zero();   // [N s]
    Vec3 angular_C = Vec3::Zero();  // about C, in W axes [N m s]
  };
  [[nodiscard]] Momentum momentum() const noexcept;

 private:
  // Mass, first moment m p_OBcm, and inertia about O (xx, xy, xz, yy, yz, zz), W axes: ten numbers that just add.
  struct RigidInertia {
    double mass;
    Vec3 h;
    double I[6];

    void add(const RigidInertia& other) noexcept {
      mass += other.mass;
      h += other.h;
      for (int k = 0; k < 6; ++k) I[k] += other.I[k];
    }
  };
  // A pivot is the inertia of a dof when all later ones yield. Below this part of the whole it is rounding.
  static constexpr double kSmallestPivot = 1e-14;
  struct Constants {  // of a joint and the link it moves
    JointKind kind;
    std::uint32_t parent;  // local link, kNone at a root
    std::uint32_t root;    // the local link at the root of this branch
    BodyIndex body, carrier;
    std::uint32_t q, dof;                // local; of the master for a mimic
    std::uint32_t column, column_count;  // into columns_; column k moves with dof + k
    double multiplier, offset, armature;
    Vec3 axis_F;
    Pose X_PF;
    bool turned;  // X_PF.q is not the identity
    Vec3 p_BBcm;
    double mass, gravity_mass;
    Mat3 I_BBcm;
  };
  struct Link {
    Quat q_WB;
    Mat3 R_WB;
    Vec3 p_OB, p_OBcm;
    SpatialVelocity V;                     // at O
    SpatialVelocity A;                     // d/dt of S times v: what V' has without v', at O. Not summed along the tree
    RigidInertia inertia;                  // about O
    SpatialVelocity V_carrier, A_carrier;  // roots only, at O
  };
  using Vector6 = Eigen::Matrix<double, 6, 1>;  // angular, linear; articulated bodies only
  static Vector6 stacked(const Vec3& angular, const Vec3& linear) noexcept {
    Vector6 x;
    x << angular, linear;
    return x;
  }
  struct Articulated {
    Eigen::Matrix<double, 6, 6> I;
    Vector6 f;
  };
  struct Elimination {
    Vector6 U;
    double D, u;
  };
  struct Pivot {  // of a dof, at O: S, K = I_A S / D, sqrt(D)
    Vector6 S, K;
    double root;
  };
  struct Floating {        // of a tree on one floating joint (tree_floating.cc)
    bool aligned = false;  // R_WF is the identity
    Mat3 R_WF = Mat3::Identity();
    double A[6][6] = {};        // rows of L times their diagonal, lower
    double N[6][6] = {};        // inverse of the base's block of L, lower
    std::vector<double> tails;  // per later dof: the base's part of its row of L

    [[nodiscard]] Vec3 to_F(const Vec3& x_W) const noexcept { return aligned ? x_W : Vec3(R_WF.transpose() * x_W); }
    [[nodiscard]] Vec3 from_F(const Vec3& x_F) const noexcept { return aligned ? x_F : Vec3(R_WF * x_F); }
  };
  struct PathEntry {
    std::uint32_t column, dof, row;  // row: of reach(link)
  };

  void size_links();
  void size_dofs();
  void find_paths();
  static Pose joint_frame(const Constants& c, const Quat& q_WP, const Mat3& R_WP, const Vec3& p_OP) noexcept;
  static Pose child_pose(const Constants& c, const Pose& X_OF, const double* q) noexcept;
  void set_columns(const Constants& c, const Quat& q_WF, const Link& link) noexcept;
  static void set_inertia(const Constants& c, Link& link) noexcept;
  void set_carrier(const State& state, const Constants& c, Link& link) noexcept;
  void add_mass(std::uint32_t link) noexcept;
  [[nodiscard]] SpatialForce link_force(std::uint32_t i, const SpatialVelocity& A, const Vec3& gravity_W,
                                        const SpatialForce* F_Bcm_W) const noexcept;
  template <int width>
  void response_rows(std::uint32_t link, double* Y) const noexcept;

  void choose_factor(TreeFactor kind);
  void load_articulated() noexcept;
  [[nodiscard]] double whole_inertia(DofIndex d, const RigidInertia& composite) const noexcept;
  [[nodiscard]] bool factor_articulated(const double* extra) noexcept;
  void half_articulated(double* x) const noexcept;
  void from_half_articulated(double* x) const noexcept;
  void to_half_articulated(double* x) const noexcept;
  template <int width>
  void response_articulated(std::span<const DofIndex> rows, double (&F)[6][width], double* Y) const noexcept;
  void half_response_articulated(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept;
  void half_response_force_articulated(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept;
  void half_response_dof_articulated(DofIndex d, double* y) const noexcept;

  void find_floating();
  void add_base_mass(const Vec3& p, const Vec3& L, double* row) const noexcept;
  void base_mass(const RigidInertia& I) noexcept;
  [[nodiscard]] bool factor_floating(const double* extra) noexcept;
  template <int k>
  [[nodiscard]] bool take_base_row(const double* extra, double (&inverse)[6]) noexcept;
  [[nodiscard]] bool factor_base(const double* extra) noexcept;
  void half_floating(double* x) const noexcept;
  void from_half_floating(double* x) const noexcept;
  void to_half_floating(double* x) const noexcept;
  template <int width>
  void load_floating(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept;
  template <int width>
  void response_floating(std::span<const DofIndex> rows, double* Y) const noexcept;
  void half_response_floating(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept;
  void half_response_force_floating(std::uint32_t link, const Vec3& p_W, const Mat3& E_W, double* Y) const noexcept;
  void half_response_dof_floating(DofIndex d, double* y) const noexcept;
  [[nodiscard]] SpatialVelocity base_velocity(const double* v, Vec3& slide) const noexcept;
  void add_base_force(const SpatialForce& f_O, double* tau) const noexcept;
  [[nodiscard]] const double* tail(DofIndex d) const noexcept {  // of row d of L: the base's columns, ascending
    return floating_.tails.data() + std::size_t{6} * (d - 6);
  }

  [[nodiscard]] SpatialVelocity shifted(const SpatialVelocity& V_O, const Vec3& p_W) const noexcept {
    return {V_O.w, V_O.v + V_O.w.cross(p_W - p_WO_)};
  }
  [[nodiscard]] std::span<const PathEntry> path(std::uint32_t link) const noexcept {
    return {path_.data() + path_start_[link], path_start_[link + 1] - path_start_[link]};
  }
  // Entry of the packed triangle: row i holds columns i, parent(i), its parent, ...; j is i or an ancestor.
  [[nodiscard]] std::size_t entry(DofIndex i, DofIndex j) const noexcept {
    return dof_reach_start_[i] + depth_[i] - depth_[j];
  }

  const Model* model_;
  std::uint32_t robot_, first_q_, first_v_, v_count_;
  bool has_mimic_ = false, by_articulated_ = false, by_floating_ = false;
  Vec3 p_WO_ = Vec3::Zero();
  std::vector<Constants> constants_;
  std::vector<Link> links_;
  std::vector<SpatialVelocity> columns_;  // S of each joint at O, times the multiplier of a mimic
  std::vector<PathEntry> path_;  // per link: the columns that move it, from itself to the root, each descending
  std::vector<std::uint32_t> path_start_;
  std::vector<DofIndex> dof_reach_;  // per dof: itself and its ancestors in the elimination tree, descending
  std::vector<std::uint32_t> dof_reach_start_, depth_;
  std::vector<double> armature_;  // per dof
  std::vector<double> joint_damping_, joint_friction_;
  bool velocities_known_ = false;             // since the last positions()
  bool carried_ = false;                      // by a kinematic body
  std::vector<double> velocity_;              // per dof
  std::vector<double> M_, L_, inv_diagonal_;  // M, L packed like dof_reach_
  Floating floating_;
  std::vector<Pivot> pivots_;                  // L by articulated bodies: per dof
  mutable std::vector<Vector6> flow_;          // scratch of its halves, per link: forces down, velocities up
  std::vector<Articulated> articulated_;       // scratch
  std::vector<Elimination> elimination_;       // scratch
  std::vector<RigidInertia> composite_;        // scratch
  std::vector<SpatialForce> force_;            // scratch
  std::vector<SpatialVelocity> acceleration_;  // scratch
};

}  // namespace tactus
