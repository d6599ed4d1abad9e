#include "core/tool_planes.h"

#include <algorithm>

#include "core/check.h"
#include "core/collide/time/collide_ahead.h"
#include "core/shape/convex_hull.h"

namespace tactus {
namespace {

constexpr std::uint32_t kPointsPerPair = 4;

bool apart(const Aabb& a, const Aabb& b, double reach) noexcept {
  return ((a.lo - b.hi).array() > reach).any() || ((b.lo - a.hi).array() > reach).any();
}

Frame frame_of(const World& world, std::uint32_t shape) noexcept {
  const ShapeInstance& s = world.model().shapes[shape];
  const Pose X_WS = Pose{world.state().q_WB(s.body), world.state().p_WBcm(s.body)} * s.X_BcmS;
  return {X_WS.q.toRotationMatrix(), X_WS.p};
}

bool may_touch(const Model& model, std::uint32_t a, std::uint32_t b) noexcept {
  const ShapeInstance &x = model.shapes[a], &y = model.shapes[b];
  if (x.body == y.body || (x.group & y.mask) == 0 || (y.group & x.mask) == 0) return false;
  const std::pair<BodyIndex, BodyIndex> bodies = std::minmax(x.body, y.body);
  return !std::binary_search(model.no_collision.begin(), model.no_collision.end(), bodies);
}

Vec3 velocity_at(const State& state, BodyIndex b, const Vec3& p_W) noexcept {
  return state.v_WBcm(b) + state.w_WB(b).cross(p_W - state.p_WBcm(b));
}

// The outermost of the points, at most four: the deepest, then each time the farthest from those taken.
std::uint32_t choose(const ContactPoint* points, std::uint32_t count, std::uint32_t* out) noexcept {
  std::uint32_t first = 0;
  for (std::uint32_t i = 1; i < count; ++i) {
    if (points[i].depth > points[first].depth) first = i;
  }
  out[0] = first;
  std::uint32_t taken = 1;
  while (taken < std::min(count, kPointsPerPair)) {
    std::uint32_t best = count;
    double best_distance = 1e-10;  // [m^2]
    for (std::uint32_t i = 0; i < count; ++i) {
      double distance = 1e300;
      for (std::uint32_t k = 0; k < taken; ++k)
        distance = std::min(distance, (points[i].p_WC - points[out[k]].p_WC).squaredNorm());
      if (distance > best_distance) best = i, best_distance = distance;
    }
    if (best == count) break;
    out[taken++] = best;
  }
  return taken;
}

// Has the shape a flat face whose outward normal is n_W?
bool flat_along(const Shape& shape, const Frame& X_WS, const Vec3& n_W) noexcept {
  constexpr double kAligned = 1 - 1e-9;
  const Vec3 n_S = X_WS.R.transpose() * n_W;
  switch (shape.kind) {
    case ShapeKind::half_space:
      return n_S.z() > kAligned;
    case ShapeKind::box:
      return n_S.cwiseAbs().maxCoeff() > kAligned;
    case ShapeKind::cylinder:
      return std::abs(n_S.z()) > kAligned;
    case ShapeKind::convex:
      for (const ConvexHull::Face& face : shape.hull->faces) {
        if (face.nhat.dot(n_S) > kAligned) return true;
      }
      return false;
    case ShapeKind::sphere:
    case ShapeKind::capsule:
    case ShapeKind::mesh:
    case ShapeKind::smooth:
      break;
  }
  return false;
}

// Whose face the normal belongs to: the obstacle's if it has one there.
bool face_of_tool(const World& world, std::uint32_t shape, std::uint32_t other, const Vec3& nhat_W) noexcept {
  const Model& model = world.model();
  return !flat_along(model.shapes[other].shape, frame_of(world, other), nhat_W) &&
         flat_along(model.shapes[shape].shape, frame_of(world, shape), -nhat_W);
}

ToolPlane make_plane(const World& world, std::uint32_t shape, std::uint32_t other, const Vec3& nhat_W,
                     const ContactPoint& point, const Pose& X_WT) noexcept {
  const Model& model = world.model();
  ToolPlane plane;
  plane.nhat_W = nhat_W;
  plane.gap = -point.depth;
  const Vec3 half = 0.5 * std::max(plane.gap, 0.0) * nhat_W;
  plane.p_W = point.p_WC - half;
  plane.c_T = X_WT.inverse() * (point.p_WC + half);
  plane.body = model.shapes[other].body;
  plane.v_W = velocity_at(world.state(), plane.body, plane.p_W);
  plane.mu = model.surface(model.shapes[shape].material, model.shapes[other].material).friction.mu_dynamic;
  plane.moving = model.bodies[plane.body].mode != BodyMode::fixed;
  return plane;
}

}  // namespace

// Nearest kept when full.
void ToolPlanes::add(const ToolPlane& plane) noexcept {
  if (count_ == kToolPlanes && plane.gap >= planes_[count_ - 1].gap) return;
  std::uint32_t at = count_ < kToolPlanes ? count_++ : count_ - 1;
  for (; at > 0 && planes_[at - 1].gap > plane.gap; --at) planes_[at] = planes_[at - 1];
  planes_[at] = plane;
}

void ToolPlanes::add_pair(const World& world, std::uint32_t shape, std::uint32_t other, const Pose& X_WT,
                          double reach) noexcept {
  const Model& model = world.model();
  std::array<ContactPoint, 64> points;
  ContactBuffer buffer{points.data(), static_cast<std::uint32_t>(points.size())};
  Witness witness;
  const bool first = shape < other;  // the table wants the smaller index as A
  const std::uint32_t a = first ? shape : other, b = first ? other : shape;
  collide_ahead(model.shapes[a].shape, frame_of(world, a), model.shapes[b].shape, frame_of(world, b), reach, witness,
                buffer);
  if (buffer.count == 0) return;
  const Vec3 nhat_W = first ? buffer.nhat_BA_W : Vec3(-buffer.nhat_BA_W);
  std::array<std::uint32_t, kPointsPerPair> chosen{};
  const std::uint32_t count = choose(points.data(), buffer.count, chosen.data());
  const bool on_tool = face_of_tool(world, shape, other, nhat_W);
  for (std::uint32_t i = 0; i < count; ++i) {
    ToolPlane plane = make_plane(world, shape, other, nhat_W, points[chosen[i]], X_WT);
    plane.key = (shape * 65599u + other) * 8u + i;
    plane.on_tool = on_tool;
    add(plane);
  }
}

void ToolPlanes::add_meshes(const World& world, BodyIndex tool, const Pose& X_WT) noexcept {
  const Model& model = world.model();
  const ContactSet& contacts = world.contacts();
  for (std::uint32_t m = 0; m < contacts.manifold_count; ++m) {
    const Manifold& manifold = contacts.manifolds[m];
    const bool is_a = manifold.body_a == tool;
    if (!is_a && manifold.body_b != tool) continue;
    if (model.shapes[manifold.shape_a].shape.mesh == nullptr && model.shapes[manifold.shape_b].shape.mesh == nullptr)
      continue;
    const ContactPoint* points = contacts.points + manifold.first;
    std::array<std::uint32_t, kPointsPerPair> chosen{};
    const std::uint32_t count = manifold.count == 0 ? 0 : choose(points, manifold.count, chosen.data());
    const Vec3 nhat_W = is_a ? manifold.nhat_BA_W : Vec3(-manifold.nhat_BA_W);
    const std::uint32_t shape = is_a ? manifold.shape_a : manifold.shape_b;
    const std::uint32_t other = is_a ? manifold.shape_b : manifold.shape_a;
    const bool on_tool = face_of_tool(world, shape, other, nhat_W);
    for (std::uint32_t i = 0; i < count; ++i) {
      ToolPlane plane = make_plane(world, shape, other, nhat_W, points[chosen[i]], X_WT);
      plane.key = (manifold.pair * 65599u + 1) * 8u + i;
      plane.on_tool = on_tool;
      add(plane);
    }
  }
}

void ToolPlanes::find(const World& world, BodyIndex tool, const Pose& X_BT, double reach) noexcept {
  const Model& model = world.model();
  TACTUS_ASSERT(tool < model.bodies.size());
  count_ = push_count_ = 0;
  const Pose X_WT = body_pose(model, world.state(), tool) * X_BT;
  const Body& body = model.bodies[tool];
  for (std::uint32_t i = body.first_shape; i < body.first_shape + body.shape_count; ++i) {
    if (model.shapes[i].shape.kind == ShapeKind::mesh) continue;
    const Aabb box = bounds(model.shapes[i].shape, frame_of(world, i));
    for (std::uint32_t other = 0; other < model.shapes.size(); ++other) {
      if (model.shapes[other].shape.kind == ShapeKind::mesh || !may_touch(model, i, other)) continue;
      if (apart(box, bounds(model.shapes[other].shape, frame_of(world, other)), reach)) continue;
      add_pair(world, i, other, X_WT, reach);
    }
  }
  add_meshes(world, tool, X_WT);
}

bool ToolPlanes::sweep(World& world, BodyIndex tool, const SpatialForce& F_Bcm_W, double slack) noexcept {
  constexpr int kSweeps = 12;
  using Vec6 = Eigen::Matrix<double, 6, 1>;  // linear, then angular
  const Model& model = world.model();
  const State& state = world.state();
  const Body& body = model.bodies[tool];
  push_count_ = 0;
  if (!takes_wrenches(body.mode) || count_ == 0) return false;
  const double h = model.step;
  const Pose X_WB = body_pose(model, state, tool);
  const Vec3 p_Bcm = X_WB * body.p_BBcm;
  Eigen::Matrix<double, 6, 6> response;
  if (!world.mobility(tool, p_Bcm, response)) return false;
  const SpatialVelocity V_WB = body_velocity(model, state, tool);
  const auto six = [](const Vec3& linear, const Vec3& angular) { return (Vec6() << linear, angular).finished(); };
  Vec6 V = six(V_WB.v + V_WB.w.cross(p_Bcm - X_WB.p), V_WB.w);
  V.noalias() += h * (response * six(F_Bcm_W.force, F_Bcm_W.torque));
  if (body.mode == BodyMode::free) V.head<3>() += h * body.gravity_scale * world.parameters().gravity_W;
  std::array<double, kToolPlanes> impulses{};
  bool any = false;
  for (int pass = 0; pass < kSweeps; ++pass) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      const ToolPlane& plane = planes_[i];
      const Vec6 along = six(plane.nhat_W, (plane.p_W - p_Bcm).cross(plane.nhat_W));
      const Vec6 answer = response * along;
      const double bears = along.dot(answer);  // 0: joints hold it against this plane
      if (!(bears > 0)) continue;
      const double approach = along.dot(V) - plane.nhat_W.dot(plane.v_W);
      const double allowed = -(std::max(plane.gap, 0.0) + slack) / h;
      const double old = impulses[i];
      impulses[i] = std::max(0.0, old + (allowed - approach) / bears);
      V += (impulses[i] - old) * answer;
      any = any || impulses[i] > 0;
    }
  }
  if (!any) return false;
  pushes_[push_count_++] = {tool, {}};
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (impulses[i] <= 0) continue;
    const ToolPlane& plane = planes_[i];
    const Vec3 f = impulses[i] / h * plane.nhat_W;
    pushes_[0].F_Bcm_W.force += f;
    pushes_[0].F_Bcm_W.torque += (plane.p_W - p_Bcm).cross(f);
    if (!takes_wrenches(model.bodies[plane.body].mode)) continue;
    pushes_[push_count_++] = {plane.body, {-(plane.p_W - state.p_WBcm(plane.body)).cross(f), -f}};
  }
  return true;
}

}  // namespace tactus
