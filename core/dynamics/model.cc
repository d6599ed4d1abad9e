#include "core/dynamics/model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <Eigen/LU>

namespace tactus {

const char* to_string(BodyMode mode) noexcept {
  static constexpr std::array<const char*, 4> kNames{"free", "fixed", "kinematic", "link"};
  return kNames[static_cast<std::size_t>(mode)];
}

const char* to_string(FrictionLaw law) noexcept {
  return law == FrictionLaw::springs ? "springs" : "linear_system";
}

const char* to_string(Integrator integrator) noexcept {
  return integrator == Integrator::rk4 ? "rk4" : "semi_implicit_euler";
}

namespace {
constexpr std::array<const char*, 7> kContactModelNames{"penalty", "deepest", "lcp", "st", "ap", "lnc", "peg"};
}  // namespace

const char* to_string(ContactModelKind kind) noexcept {
  return kContactModelNames[static_cast<std::size_t>(kind)];
}

bool parse_contact_model(const std::string& name, ContactModelKind& out) noexcept {
  for (std::size_t i = 0; i < kContactModelNames.size(); ++i) {
    if (name == kContactModelNames[i]) {
      out = static_cast<ContactModelKind>(i);
      return true;
    }
  }
  return false;
}

BodyIndex Model::find_body(const std::string& body_name) const noexcept {
  for (BodyIndex b = 0; b < bodies.size(); ++b) {
    if (bodies[b].name == body_name) return b;
  }
  return kNoBody;
}

const LinkFrame* Model::find_frame(const std::string& link_name) const noexcept {
  for (const LinkFrame& frame : frames) {
    if (frame.name == link_name) return &frame;
  }
  return nullptr;
}

JointIndex Model::find_joint(const std::string& joint_name) const noexcept {
  for (JointIndex j = 0; j < joints.size(); ++j) {
    if (joints[j].name == joint_name) return j;
  }
  return kNone;
}

void finish_model(Model& model) {
  for (Body& body : model.bodies) {
    const bool is_free = body.mode == BodyMode::free;
    body.inv_mass = is_free ? 1.0 / body.mass : 0.0;
    body.inv_I_BBcm.setZero();
    if (is_free) {
      body.inv_I_BBcm = body.I_BBcm.inverse();
      body.inv_I_BBcm = (0.5 * (body.inv_I_BBcm + body.inv_I_BBcm.transpose())).eval();
    }
    const Mat3& I = body.I_BBcm;
    body.spherical_inertia = is_free && (I - I(0, 0) * Mat3::Identity()).cwiseAbs().maxCoeff() <= 1e-12 * I(0, 0);
    if (is_free) body.axes = inertia_axes(I);
  }
  for (ShapeInstance& s : model.shapes) {
    s.shape_at_centre = s.X_BcmS.p.isZero(0.0) && s.X_BcmS.q.vec().isZero(0.0);
  }
  if (model.surface_pairs.empty()) combine_materials(model);
  finish_robots(model);
}

void combine_materials(Model& model) {
  const std::size_t n = model.materials.size();
  model.surface_pairs.assign(n * n, SurfacePair{});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const Material &a = model.materials[i], &b = model.materials[j];
      SurfacePair& out = model.surface_pairs[i * n + j];
      out.restitution = std::max(a.restitution, b.restitution);
      out.friction.mu_static = std::sqrt(a.friction.mu_static * b.friction.mu_static);
      out.friction.mu_dynamic = std::sqrt(a.friction.mu_dynamic * b.friction.mu_dynamic);
      out.friction.viscous = a.friction.viscous + b.friction.viscous;
      out.friction.stribeck_velocity = std::max(a.friction.stribeck_velocity, b.friction.stribeck_velocity);
      out.friction.law = std::max(a.friction.law, b.friction.law);
      out.friction.rolling = std::max(a.friction.rolling, b.friction.rolling);
    }
  }
}

}  // namespace tactus
