// The contact problem that the time steppers share: impulses p at contacts, ends of joints, joint friction and drives,
// and the half velocities u of bodies and robots that they change.
//   u = sum Y p,  c = Y^T u + b (+ compliance p)
//   contact (3 rows n, t1, t2): 0 <= c_n _|_ p_n >= 0; p_t the point of mu p_n D nearest to p_t - rho c_t, any rho > 0
//   row (1):                    p = clamp(p - rho c, lo, hi), any rho > 0
// b: velocity that the step would end with without p, plus what the model asks for (gap / h, restitution).
// Half velocities (core/dynamics/tree.h): kinetic energy of the change is |u|^2 / 2, A = sum Y^T Y = J M^-1 J^T. For a
// rigid body of inverse inertia K = C C^T: v = v_free + u_v / sqrt(m), w = w_free + C u_w. Impulses [N s] act on body
// A, the opposite ones on B; normals point from B into A.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/contact/contact_model.h"
#include "core/dynamics/robot_sweep.h"

namespace tactus {

// What moves as one: a free body (6 half velocities) or a robot (one a dof).
struct ProblemBlock {
  std::uint32_t start = 0, size = 0;  // in u
  BodyIndex body = kNoBody;           // kNoBody: a robot
  std::uint32_t robot = 0;
  double root_inv_mass = 0;  // sqrt(1 / m)
  Mat3 C = Mat3::Zero();     // lower triangular, in W
};

// One side's half response: rows of u that the impulse changes.
struct ProblemSide {
  std::uint32_t block = kNone;     // kNone: nothing (fixed, kinematic)
  std::uint32_t size = 0;          // rows
  const DofIndex* dofs = nullptr;  // rows within the block; null: 0, 1, ...
  const double* Y = nullptr;       // size x (rows of the contact), row-major
};

// What friction does at a contact. All but `cone` are the acceleration model's (lcp_model.h).
enum class ContactLaw : std::uint8_t {
  cone,      // as above
  sliding,   // p_t = -mu p_n slip: it slides, and the direction is known
  stopping,  // p_t along slip only, at most mu p_n: it slides, and comes to rest within the step
  bounded,   // each of the components along slip and across it at most `bound`, whatever p_n is
};

struct ProblemContact {
  ProblemSide side[2];
  std::uint32_t rows = 3;  // 3: a contact; 1: a row with bounds
  double mobility = 0;     // size of the contact's own block of A: the mean of its diagonal
  Vec3 b = Vec3::Zero();
  double mu = 0;
  ContactLaw law = ContactLaw::cone;
  Eigen::Vector2d slip = Eigen::Vector2d::UnitX();  // unit, along t1, t2
  double bound = 0;                                 // [N s]
  bool stops = true;  // sliding: comes to rest where c turns its slip round; false: c is no velocity
  double bias = 0;    // what of b is no velocity, but what the model asks for; < 0: the contact is to open [m/s]
  double lo = 0, hi = 0, compliance = 0;  // of a row; compliance >= 0: velocity that a unit impulse takes off it
  // Where it came from.
  std::uint32_t manifold = kNone, point = 0;  // point: index in the ContactSet. kNone: a joint's row
  std::uint32_t robot = 0, joint_row = 0;
};

// How a contact stands at the start of a step, for the model's rule.
struct ContactStart {
  double gap;          // < 0: overlap [m]
  double before;       // normal velocity at the start of the step, > 0: opens [m/s]
  double free;         // at its end without contact impulses
  double restitution;  // e of the two materials
  double h;            // [s]
  const Parameters& parameters;
  std::uint32_t manifold;
};

// What a model asks of a contact's normal velocity at the end of the step: c_n = v_n' + bias >= 0.
class ContactRule {
 public:
  // False: the contact takes no part in this step.
  [[nodiscard]] virtual bool bias(const ContactStart& start, double& out) const noexcept = 0;

 protected:
  ~ContactRule() = default;
};

// Fixed memory for one world, filled anew each step. Y of bodies is the problem's own; robots' come from the tick's
// arena. Contacts over contacts_max, and those with links over Limits::robot_contacts, are dropped and counted.
class ContactProblem {
 public:
  ContactProblem(const Model& model, const Limits& limits);

  // State holds velocities of the start, kinematic ones of this step; sweeps: of each robot, predicted, tree null where
  // it stands still. O(contacts + bodies).
  void build(const Tick& tick, const State& state, const RobotSweep* sweeps, const ContactRule& rule) noexcept;
  // Some contacts of another problem over the same blocks, in this order. Halves Y stay `from`'s, which must outlive
  // this.
  void take(const ContactProblem& from, std::span<const std::uint32_t> chosen) noexcept;

  // Filled contact by contact instead of by build(): free bodies at poses that need not be the tick's, no robots.
  void clear() noexcept;
  // Bodies with their inverse inertias at the poses meant; e: frame(). b: velocity or acceleration without p, along e.
  // A cone contact without friction; null: neither body moves, or there is no room left (dropped()).
  ProblemContact* add(const BodyKinematics* bodies, BodyIndex body_a, BodyIndex body_b, const Vec3& p_WC, const Mat3& e,
                      const Vec3& b) noexcept;

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] const ProblemContact& contact(std::uint32_t i) const noexcept {
    TACTUS_DCHECK(i < count_);
    return contacts_[i];
  }
  [[nodiscard]] ProblemContact& contact(std::uint32_t i) noexcept {
    TACTUS_DCHECK(i < count_);
    return contacts_[i];
  }
  [[nodiscard]] std::uint32_t block_count() const noexcept { return block_count_; }
  [[nodiscard]] const ProblemBlock& block(std::uint32_t i) const noexcept {
    TACTUS_DCHECK(i < block_count_);
    return blocks_[i];
  }
  [[nodiscard]] std::uint32_t half_size() const noexcept { return half_size_; }
  [[nodiscard]] std::uint32_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::uint32_t robot_contacts_dropped() const noexcept { return robot_dropped_; }

  // Columns n, t1, t2 of a manifold's contact frame, in W. In a planar world t1 lies in the plane, so that a pyramid of
  // friction has a corner where alone friction can act.
  static Mat3 frame(const Vec3& nhat_BA_W, bool planar) noexcept;

 private:
  std::uint32_t body_block(const BodyKinematics& k, BodyIndex b) noexcept;
  void add_body_side(const BodyKinematics& k, BodyIndex b, double sign, const Vec3& p_WC, const Mat3& e,
                     ProblemSide& side) noexcept;
  bool add_side(const Tick& tick, const RobotSweep* sweeps, BodyIndex b, double sign, const Vec3& p_WC, const Mat3& e,
                ProblemSide& side, Vec3& free) noexcept;
  void add_contact(const Tick& tick, const State& state, const RobotSweep* sweeps, const ContactRule& rule,
                   std::uint32_t manifold, std::uint32_t point) noexcept;
  void add_joint_rows(const Tick& tick, const RobotSweep& sweep, std::uint32_t robot) noexcept;
  static void merge_links(const Tick& tick, ProblemContact& contact) noexcept;

  bool planar_;
  std::uint32_t count_ = 0, block_count_ = 0, half_size_ = 0, dropped_ = 0, link_contacts_ = 0, robot_dropped_ = 0;
  std::vector<ProblemContact> contacts_;
  std::vector<ProblemBlock> blocks_;
  std::vector<std::uint32_t> block_of_body_, block_of_robot_;
  std::vector<SpatialVelocity> free_;  // per body: velocity without contact impulses (not of links)
  std::vector<double> Y_;              // 36 a contact
};

// ProblemContact::mobility of what its sides hold.
double find_mobility(const ProblemContact& contact) noexcept;
// A free body's side: all six of its rows, in their order.
inline bool is_whole(const ProblemSide& side) noexcept {
  return side.dofs == nullptr && side.size == 6;
}
// One row of Y times p; and c += Y^T u for a free body's six, in one order everywhere.
inline double half_row(const double* row, const Vec3& p) noexcept {
  return row[0] * p[0] + row[1] * p[1] + row[2] * p[2];
}
inline void add_velocity(const double* Y, const double* u, double* c) noexcept {
  for (std::size_t k = 0; k < 6; ++k) {
    for (std::size_t j = 0; j < 3; ++j) c[j] += Y[3 * k + j] * u[k];
  }
}

// y += Y p and the velocity part Y^T y of a contact; y: half velocities of all blocks.
void push(const ContactProblem& problem, const ProblemContact& contact, const Vec3& p, double* y) noexcept;
Vec3 velocity(const ContactProblem& problem, const ProblemContact& contact, const double* y) noexcept;

// The most that a problem of this model may hold: contacts with the limits and drives of joints, half velocities,
// blocks.
std::uint32_t problem_contacts_max(const Model& model, const Limits& limits) noexcept;
std::uint32_t problem_joint_rows_max(const Model& model) noexcept;  // of these: ends, friction and drives of joints
std::uint32_t problem_half_max(const Model& model) noexcept;
std::uint32_t problem_blocks_max(const Model& model) noexcept;

}  // namespace tactus
