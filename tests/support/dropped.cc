#include "tests/support/dropped.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/shape/smooth/smooth_shapes.h"
#include "core/world.h"
#include "tests/support/fixed_shape.h"
#include "tests/support/random.h"
#include "tests/support/scenes.h"
#include "tests/support/smooth_surfaces.h"

namespace tactus::test {

namespace {

constexpr double kLookEvery = 0.01;  // [s], between two looks at the overlap
constexpr int kSamples = 3000;       // points of a smooth surface without F
constexpr int kOwnSamples = 1500;    // of each surface, looked for in the other solid

Frame frame(const Pose& pose) {
  return {pose.q.toRotationMatrix(), pose.p};
}

void sample_box(const Vec3& half, std::vector<SkinPoint>& out) {
  constexpr int n = 12;
  for (int axis = 0; axis < 3; ++axis)
    for (int side = -1; side <= 1; side += 2)
      for (int i = 0; i <= n; ++i)
        for (int k = 0; k <= n; ++k) {
          Vec3 p;
          p[axis] = side * half[axis];
          p[(axis + 1) % 3] = half[(axis + 1) % 3] * (2.0 * i / n - 1);
          p[(axis + 2) % 3] = half[(axis + 2) % 3] * (2.0 * k / n - 1);
          out.push_back({p, side * Vec3::Unit(axis)});
        }
}

// Turned about z: radius rho at height z.
template <typename Profile>
void sample_turned(const Profile& profile, std::vector<SkinPoint>& out) {
  for (int i = 0; i <= 24; ++i)
    for (int k = 0; k < 48; ++k) {
      const Vec2 at = profile(i / 24.0);
      const double angle = M_PI * k / 24;
      out.push_back({Vec3(at.x() * std::cos(angle), at.x() * std::sin(angle), at.y()), Vec3::Zero()});
    }
}

void sample_smooth(const SmoothSurface& surface, int count, std::vector<SkinPoint>& out) {
  const bool ball = surface.topology() == SmoothTopology::sphere;
  const int rows = static_cast<int>(std::sqrt(count / 2.0));
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < 2 * rows; ++k) {
      const double u = (k + 0.5) / (2 * rows), v = (i + 0.5) / rows;
      const double z = 1 - 2 * v, rho = std::sqrt(1 - z * z);
      const SurfaceSeed seed =
          surface.at(ball ? Vec3(rho * std::cos(2 * M_PI * u), rho * std::sin(2 * M_PI * u), z) : Vec3(u, v, 0));
      out.push_back({seed.p_S, seed.n_S});
    }
}

Solid primitive(const std::string& name, const Shape& shape) {
  Solid out{name, shape, {}, {}, {}};
  const double r = shape.radius, l = shape.half_length;
  switch (shape.kind) {
    case ShapeKind::box:
      sample_box(shape.half_S, out.skin);
      break;
    case ShapeKind::sphere:
      sample_turned([&](double t) { return Vec2(r * std::sin(M_PI * t), -r * std::cos(M_PI * t)); }, out.skin);
      break;
    case ShapeKind::capsule:
      sample_turned(
          [&](double t) {
            return Vec2(r * std::sin(M_PI * t), -r * std::cos(M_PI * t) + l * (t < 0.5 ? -1 : t > 0.5 ? 1 : 0));
          },
          out.skin);
      break;
    case ShapeKind::cylinder:
      sample_turned(
          [&](double t) {
            return Vec2(r * std::min(1.0, 3 * std::min(t, 1 - t)), l * std::clamp(6 * t - 3, -1.0, 1.0));
          },
          out.skin);
      break;
    default:
      break;
  }
  return out;
}

Solid smooth(const std::string& name, std::unique_ptr<SmoothSurface> surface) {
  if (surface == nullptr) std::abort();
  Solid out{name, make_smooth(surface.get()), std::move(surface), {}, {}};
  out.bowl = out.surface->cavity();
  sample_smooth(*out.surface, kOwnSamples, out.skin);
  if (!out.surface->has_implicit()) sample_smooth(*out.surface, kSamples, out.dense);
  return out;
}

Solid torus(const std::string& name, double ring, double tube) {
  Solid out = smooth(name, make_torus(ring, tube));
  out.torus_ring = ring, out.torus_tube = tube;
  return out;
}

std::vector<Vec3> scaled(std::vector<Vec3> points, double by) {
  for (Vec3& p : points) p *= by;
  return points;
}
std::vector<Vec2> scaled(std::vector<Vec2> points, double by) {
  for (Vec2& p : points) p *= by;
  return points;
}

}  // namespace

double Solid::depth(const Vec3& p) const {
  const auto& s = shape;
  switch (s.kind) {
    case ShapeKind::sphere:
      return s.radius - p.norm();
    case ShapeKind::box:
      return (s.half_S - p.cwiseAbs()).minCoeff();
    case ShapeKind::capsule:
      return s.radius - (p - Vec3(0, 0, std::clamp(p.z(), -s.half_length, s.half_length))).norm();
    case ShapeKind::cylinder:
      return std::min(s.radius - std::hypot(p.x(), p.y()), s.half_length - std::abs(p.z()));
    case ShapeKind::half_space:
      return -p.z();
    default:
      break;
  }
  if (torus_ring > 0) return torus_tube - std::hypot(std::hypot(p.x(), p.y()) - torus_ring, p.z());
  if (surface->has_implicit()) {
    const ImplicitJet jet = surface->implicit(p);
    const double slope = jet.grad.norm();
    return slope > 0 ? -jet.F / slope : 0;
  }
  double least = std::numeric_limits<double>::infinity(), depth = 0;
  for (const SkinPoint& at : dense) {
    const double d2 = (p - at.p).squaredNorm();
    if (d2 < least) least = d2, depth = at.n.dot(at.p - p);
  }
  return depth;
}

std::vector<Solid> dropped_solids() {
  std::string error;
  std::vector<Solid> out;
  out.push_back(primitive("sphere", make_sphere(0.1)));
  out.push_back(primitive("box", make_box({0.1, 0.075, 0.05})));
  out.push_back(primitive("capsule", make_capsule(0.05, 0.1)));
  out.push_back(primitive("cylinder", make_cylinder(0.08, 0.06)));
  out.push_back(smooth("ellipsoid", make_ellipsoid({0.12, 0.08, 0.06})));
  out.push_back(smooth("superellipsoid", make_superellipsoid({0.1, 0.1, 0.08}, 0.5, 0.6)));
  out.push_back(smooth("rounded_cube", make_superellipsoid({0.1, 0.1, 0.1}, 0.1, 0.1)));
  out.push_back(smooth("revolution", checked(make_revolution(scaled(egg_profile(), 0.3), error), error)));
  out.push_back(
      smooth("spline_ball", checked(make_spline(scaled(ball_control(5, 4, 6), 0.4), {5, 4, 6}, error), error)));
  out.push_back(smooth("pear", checked(make_revolution(scaled(pear_profile(), 0.3), error), error)));
  out.push_back(torus("torus", 0.12, 0.04));
  out.push_back(smooth("spline_torus", checked(make_spline(scaled(torus_control(9, 6), 0.4), {9, 6}, error), error)));
  out.push_back(smooth("revolved_ring", checked(make_revolution(scaled(ring_profile(), 0.4), error), error)));
  return out;
}

std::vector<Solid> fixed_solids() {
  std::string error;
  std::vector<Solid> out = dropped_solids();
  out.push_back(primitive("half_space", make_half_space()));
  out.push_back(torus("wide_torus", 0.3, 0.1));
  out.push_back(torus("thin_torus", 0.15, 0.01));
  out.push_back(smooth("ellipsoid_bowl", make_cavity(make_ellipsoid({0.4, 0.35, 0.3}))));
  out.push_back(smooth("superellipsoid_bowl", make_cavity(make_superellipsoid({0.4, 0.35, 0.3}, 0.5, 0.6))));
  out.push_back(smooth("spline_bowl", make_cavity(make_spline(scaled(ball_control(5, 4, 6), 1.5), {5, 4, 6}, error))));
  return out;
}

double overlap(const Solid& a, const Frame& X_WA, const Solid& b, const Frame& X_WB) {
  double depth = 0;
  const auto look = [&](const Solid& skin, const Frame& X_WS, const Solid& solid, const Frame& X_WT) {
    for (const SkinPoint& at : skin.skin) depth = std::max(depth, solid.depth(X_WT.to_local(X_WS * at.p)));
  };
  look(a, X_WA, b, X_WB), look(b, X_WB, a, X_WA);
  return depth;
}

Dropped drop(const Solid& fixed, const Solid& moving, const Stepping& stepping, std::uint64_t seed, int steps,
             double step) {
  Random random(seed);
  Scene scene(0.5);
  stepping.set(*scene.model);
  scene.model->step = step;
  const double size = fixed.surface ? fixed.surface->radius() : 0.1;
  const double height = fixed.bowl ? 0.0 : fixed.shape.kind == ShapeKind::half_space ? 0.3 : size + 0.2;
  const BodyIndex ground = add_fixed(scene, fixed.shape);
  Vec3 p = 0.03 * random.in_cube(1) + Vec3(0, 0, height);
  if (fixed.bowl) p += fixed.surface->centre();
  const Pose start{random.rotation(), p};
  const BodyIndex body = scene.add(moving.shape, 1, start);
  if (!fixed.bowl && fixed.shape.kind != ShapeKind::half_space) scene.model->X_WB0[ground].q = random.rotation();
  World world = scene.world();
  const int look_every = std::max(1, static_cast<int>(kLookEvery / step + 0.5));
  Dropped row;
  double least = std::numeric_limits<double>::infinity();
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration looking{};
  for (int i = 0; i < steps; ++i) {
    const StepReport report = world.step();
    row.unresolved += report.exact.unresolved;
    row.touched = row.touched || world.contacts().point_count > 0;
    row.failures += report.solver_failures;
    const double energy = total_energy(world);
    row.finite = row.finite && std::isfinite(energy);
    least = std::min(least, energy);
    row.rise = std::max(row.rise, energy - least);
    if (i % look_every != 0) continue;
    const auto before = std::chrono::steady_clock::now();
    const Frame X_WA = frame(body_pose(world.model(), world.state(), ground)),
                X_WB = frame(body_pose(world.model(), world.state(), body));
    const double depth = overlap(fixed, X_WA, moving, X_WB);
    row.deepest = std::max(row.deepest, depth);
    if (i > steps * 2 / 3) row.late = std::max(row.late, depth);
    looking += std::chrono::steady_clock::now() - before;
  }
  row.us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin - looking).count() / steps;
  return row;
}

}  // namespace tactus::test
