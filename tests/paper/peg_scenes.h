// The scenes of the PEG paper (Williams, Lu & Trinkle 2014) and what its five models are here. It prints no numbers:
// the scenes fit its descriptions.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/polygons.h"

namespace tactus::test {

// ST of the paper holds every feature that it finds for a half-space: our peg with all contacts unilateral. `st` looks
// at nearest points only, and is shown beside it.
struct PegMethod {
  const char* name;
  ContactModelKind kind;
  PegForm form;
};
inline constexpr PegMethod kPm{"PM", ContactModelKind::penalty, PegForm::repaired};
inline constexpr PegMethod kSt{"ST", ContactModelKind::peg, PegForm::unilateral};
inline constexpr PegMethod kStNearest{"st", ContactModelKind::st, PegForm::repaired};
inline constexpr PegMethod kAp{"AP", ContactModelKind::ap, PegForm::repaired};
inline constexpr PegMethod kLnc{"LNC", ContactModelKind::lnc, PegForm::repaired};
inline constexpr PegMethod kPrinted{"PEG printed", ContactModelKind::peg, PegForm::printed};
inline constexpr PegMethod kPeg{"PEG", ContactModelKind::peg, PegForm::repaired};
inline constexpr PegMethod kPegMethods[] = {kPm, kSt, kStNearest, kAp, kLnc, kPrinted, kPeg};

inline Scene peg_scene(const PegMethod& method, double h, double detection_distance, bool planar) {
  Scene scene(0);  // the paper has no friction
  scene.model->planar = planar;
  scene.model->contact_model = method.kind;
  scene.model->parameters.peg_form = method.form;
  scene.model->parameters.detection_distance = detection_distance;
  scene.model->step = h;
  scene.limits.problem_contacts = 1024;
  if (planar) scene.set_gravity(Vec3::Zero());
  return scene;
}

// Uniform density; p_W: of the points' own origin.
inline BodyIndex add_points(Scene& scene, const std::vector<Vec3>& points, const Vec3& p_W, const Vec3& v,
                            BodyMode mode = BodyMode::free, const Quat& q = Quat::Identity()) {
  return add_hull(scene, points, 1, {q, p_W}, {Vec3::Zero(), v}, mode);
}

inline std::vector<Vec3> triangle(double size) {
  return {size * Vec3(-1, 0, 0), Vec3::Zero(), size * Vec3(-0.5, 0.7, 0)};
}
// Fig. 9: red triangle (body 0) at rest with a corner at the origin; blue (body 1), 0.6 of its size, 0.1 m right of it,
// flies left. turned: about blue's left corner.
inline Scene figure_9(const PegMethod& method, double h = 0.5, double turned_by = 0) {
  Scene scene = peg_scene(method, h, 0.9 * h, true);
  add_points(scene, prism(triangle(1)), Vec3::Zero(), Vec3::Zero());
  std::vector<Vec3> blue = triangle(0.6);
  for (Vec3& p : blue) p.x() += 0.6;
  add_points(scene, prism(blue), Vec3(0.1, 0, 0), Vec3(-0.6, 0, 0), BodyMode::free, turned(Vec3::UnitZ(), turned_by));
  return scene;
}

// Fig. 10: a unit cube (body 0, fixed, top at z = 0) and one that falls on it from 0.2 m (body 1). taper: by how much
// the sides of both run together towards the gap; turned: about the vertical.
inline Scene figure_10(const PegMethod& method, double taper = 0, double turned_by = 0) {
  Scene scene = peg_scene(method, 0.25, 0.7, false);
  const auto block = [taper](double narrow) {
    std::vector<Vec3> points;
    for (const double z : {-0.5, 0.5}) {
      const double half = 0.5 - (z == narrow ? taper : 0);
      for (const double x : {-half, half}) {
        for (const double y : {-half, half}) points.emplace_back(x, y, z);
      }
    }
    return points;
  };
  add_points(scene, block(0.5), Vec3(0, 0, -0.5), Vec3::Zero(), BodyMode::fixed);
  add_points(scene, block(-0.5), Vec3(0, 0, 0.7), Vec3::Zero(), BodyMode::free, turned(Vec3::UnitZ(), turned_by));
  return scene;
}

// Where the corner is that stood nearest to p_W when the world was made.
inline Vec3 corner_of(const World& world, BodyIndex b, const Vec3& p_W) {
  const Model& model = world.model();
  const Pose X_WB0 = model.X_WB0[b];
  const ShapeInstance& instance = model.shapes[model.bodies[b].first_shape];
  Vec3 best = Vec3::Zero();
  double least = std::numeric_limits<double>::infinity();
  for (Vec3 p : instance.shape.hull->vertices) {
    Vec3 at = X_WB0 * p;
    if (model.planar) at.z() = p_W.z();
    if ((at - p_W).norm() >= least) continue;
    least = (at - p_W).norm();
    best = Pose{world.state().q_WB(b), world.state().p_WBcm(b)} * (instance.X_BcmS * p);
  }
  if (model.planar) best.z() = 0;
  return best;
}

// Contacts that push after a step.
inline int pushing(const World& world) {
  int n = 0;
  double most = 0;
  for (std::uint32_t i = 0; i < world.contacts().point_count; ++i) {
    most = std::max(most, world.contact_force(i).norm());
  }
  for (std::uint32_t i = 0; i < world.contacts().point_count; ++i) {
    n += world.contact_force(i).norm() > 1e-9 * most ? 1 : 0;
  }
  return n;
}

// The same in a planar world, where a prism has each of its points twice: by place and direction in the plane.
inline int pushing_places(const World& world) {
  std::vector<std::pair<Vec3, Vec3>> seen;
  for (std::uint32_t m = 0; m < world.contacts().manifold_count; ++m) {
    const Manifold& manifold = world.contacts().manifolds[m];
    for (std::uint32_t i = manifold.first; i < manifold.first + manifold.count; ++i) {
      if (world.contact_force(i).norm() < 1e-9) continue;
      Vec3 p = world.contacts().points[i].p_WC;
      p.z() = 0;
      const bool known = std::any_of(seen.begin(), seen.end(), [&](const auto& s) {
        return (s.first - p).norm() + (s.second - manifold.nhat_BA_W).norm() < 1e-9;
      });
      if (!known) seen.emplace_back(p, manifold.nhat_BA_W);
    }
  }
  return static_cast<int>(seen.size());
}

}  // namespace tactus::test
