// End effectors of a subscription: pose, velocity, wrench and Jacobian of named frames, computed on the net thread from
// a published state and the constant Model. The tick does nothing for them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/dynamics/frame_jacobian.h"
#include "core/dynamics/model.h"
#include "server/realtime/messages.h"
#include "server/session/session.h"

namespace tactus::net {

// p_WE, q_WE (wxyz), v_WE, w_WE, force and torque at E, all in W.
using EndEffectorRow = std::array<double, 19>;
struct JacobianRow {
  std::uint32_t end_effector = 0, dof = 0;
  std::array<double, 6> value{};  // v_WE, w_WE per unit of the dof's velocity
};

class EndEffectors {
 public:
  // Fills rows() and columns() for the subscription; allocates only while they grow. O(end effectors depth^2).
  void find(const Model& model, const SubscriptionSpec& spec, const StateSlot& slot);
  [[nodiscard]] std::span<const EndEffectorRow> rows() const noexcept { return rows_; }
  [[nodiscard]] std::span<const JacobianRow> columns() const noexcept { return columns_; }

 private:
  void add_columns(const Model& model, std::uint32_t frame, const StateSlot& slot, const Vec3& p_WE);

  std::vector<EndEffectorRow> rows_;
  std::vector<JacobianRow> columns_;
  std::vector<JacobianColumn> scratch_;
};

// Columns that the Jacobians of a subscription have: known without a state.
std::uint32_t jacobian_columns(const Model& model, const SubscriptionSpec& spec);

}  // namespace tactus::net
