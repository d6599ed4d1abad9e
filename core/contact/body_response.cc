#include "core/contact/body_response.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// Effect of a unit impulse at lever r on the velocity there: 1/m - [r] I^-1 [r].
Mat3 rigid_mobility(const BodyKinematics& k, const Vec3& r) noexcept {
  if (k.inv_mass == 0) return Mat3::Zero();
  const Mat3 rx = skew(r);
  Mat3 K = -(rx * k.inv_I_W * rx);
  K.diagonal().array() += k.inv_mass;
  TACTUS_DCHECK(is_symmetric(K));
  return K;
}

Mat3 mobility(const BodyKinematics& k, const Vec3& p_WC) noexcept {
  if (k.robot == nullptr) return rigid_mobility(k, p_WC - k.X_WBcm.p);
  std::array<double, 3 * kMostDofs> Y;
  k.robot->half_response_force(k.link, p_WC, Mat3::Identity(), Y.data());
  Mat3 K = Mat3::Zero();
  const std::size_t rows = k.robot->reach(k.link).size();
  for (std::size_t i = 0; i < rows; ++i) {
    const Eigen::Map<const Vec3> y(Y.data() + 3 * i);
    K += y * y.transpose();
  }
  return K;
}

// Two links of one robot: what the robot as a whole does with opposite impulses.
Mat3 inner_mobility(const BodyKinematics& a, const BodyKinematics& b, const Vec3& p_WC) noexcept {
  std::array<double, 6 * kMostDofs> Y_a, Y_b, Y;
  std::array<DofIndex, kMostDofs> dofs;
  signed_response(a, p_WC, Mat3::Identity(), 1, Y_a.data());
  signed_response(b, p_WC, Mat3::Identity(), -1, Y_b.data());
  const std::uint32_t rows =
      add_responses(a.robot->reach(a.link), Y_a.data(), b.robot->reach(b.link), Y_b.data(), dofs.data(), Y.data());
  Mat3 K = Mat3::Zero();
  for (std::uint32_t i = 0; i < rows; ++i) {
    const Eigen::Map<const Vec3> y(Y.data() + std::size_t{6} * i);
    K += y * y.transpose();
  }
  return K;
}

}  // namespace

Mat3 relative_mobility(const Kinematics& kinematics, BodyIndex a, BodyIndex b, const Vec3& p_WC) noexcept {
  TACTUS_DCHECK(a != b && a < kinematics.bodies.size() && b < kinematics.bodies.size());
  const BodyKinematics &ka = kinematics.bodies[a], &kb = kinematics.bodies[b];
  if (ka.robot != nullptr && ka.robot == kb.robot) return inner_mobility(ka, kb, p_WC);
  return mobility(ka, p_WC) + mobility(kb, p_WC);
}

void apply_impulse(const Kinematics& kinematics, BodyIndex b, const Vec3& p_WC, const Vec3& j, State& state) noexcept {
  TACTUS_DCHECK(b < kinematics.bodies.size() && b < state.body_count());
  const BodyKinematics& k = kinematics.bodies[b];
  const Vec3 moment = (p_WC - k.X_WBcm.p).cross(j);
  if (k.robot == nullptr) {
    if (k.inv_mass == 0) return;
    state.set_velocity(b, state.v_WBcm(b) + k.inv_mass * j, state.w_WB(b) + k.inv_I_W * moment);
    return;
  }
  TACTUS_DCHECK(kinematics.link_impulses != nullptr);  // worlds with robots have them
  kinematics.link_impulses[b].force += j;
  kinematics.link_impulses[b].torque += moment;
  Tree& tree = *k.robot;
  std::array<double, kMostDofs> change;
  std::fill_n(change.begin(), tree.v_count(), 0.0);
  tree.add_force(k.link, {moment, j}, change.data());
  tree.solve(change.data());
  double* v = state.joint_v.data() + tree.robot().first_v;
  for (DofIndex d = 0; d < tree.v_count(); ++d) v[d] += change[d];
  tree.velocities(state);
  tree.write_links(state);
}

bool prepare_robots(const Kinematics& kinematics, const State& state, const Model& model) noexcept {
  bool all = true;
  for (const auto& tree : kinematics.robots) {
    if (robot_frozen(model, state, tree->robot())) continue;
    tree->prepare_factor();
    all = tree->factor(nullptr) && all;
  }
  return all;
}

double link_mode_bound(const BodyKinematics& k, const Vec3& p_normal, const Vec3& p_tangential,
                       const Mat3& spread) noexcept {
  TACTUS_DCHECK(k.robot != nullptr && is_symmetric(spread));
  const auto largest = [&](const Vec3& p_WC) { return mobility(k, p_WC).cwiseAbs().rowwise().sum().maxCoeff(); };
  std::array<double, 6 * kMostDofs> Y;
  k.robot->half_response(k.link, p_normal, Mat3::Identity(), Y.data());
  double turning = 0;  // trace of the spread times the angular mobility, >= its largest mode
  const std::size_t rows = k.robot->reach(k.link).size();
  for (std::size_t i = 0; i < rows; ++i) {
    const Eigen::Map<const Vec3> m(Y.data() + 6 * i + 3);
    turning += m.dot(spread * m);
  }
  return std::max(largest(p_normal), largest(p_tangential)) + turning;
}

void signed_response(const BodyKinematics& k, const Vec3& p_WC, const Mat3& E_W, double sign, double* Y) noexcept {
  TACTUS_DCHECK(k.robot != nullptr && (sign == 1 || sign == -1));
  k.robot->half_response(k.link, p_WC, sign == 1 ? E_W : Mat3(sign * E_W), Y);
}

std::uint32_t add_responses(std::span<const DofIndex> dofs_a, const double* Y_a, std::span<const DofIndex> dofs_b,
                            const double* Y_b, DofIndex* dofs, double* Y) noexcept {
  TACTUS_DCHECK(is_descending(dofs_a) && is_descending(dofs_b));  // or what both have is not found
  std::uint32_t rows = 0;
  std::size_t i = 0, j = 0;
  while (i < dofs_a.size() || j < dofs_b.size()) {
    const bool from_a = i < dofs_a.size() && (j == dofs_b.size() || dofs_a[i] >= dofs_b[j]);
    const bool from_b = j < dofs_b.size() && (i == dofs_a.size() || dofs_b[j] >= dofs_a[i]);
    dofs[rows] = from_a ? dofs_a[i] : dofs_b[j];
    for (int k = 0; k < 6; ++k) Y[6 * rows + k] = (from_a ? Y_a[6 * i + k] : 0.0) + (from_b ? Y_b[6 * j + k] : 0.0);
    i += from_a ? 1 : 0;
    j += from_b ? 1 : 0;
    ++rows;
  }
  return rows;
}

}  // namespace tactus
