#include "core/collide/time/separation.h"

namespace tactus {

namespace {

double reach_of(const Shape& shape) noexcept {
  return shape.kind == ShapeKind::sphere || shape.kind == ShapeKind::capsule ? shape.radius : 0.0;
}

Core core_at(const Shape& shape, const Mat3& R, const Vec3& p, CoreStorage& storage) noexcept {
  if (shape.kind != ShapeKind::sphere) return make_core(shape, R, p, storage);
  Core core;
  storage.vertices[0].setZero();
  core.vertices = storage.vertices;
  core.vertex_count = 1;
  core.R = R, core.p = p;
  return core;
}

// Height of the shape along the unit n_W over the origin of W.
double height(const Shape& shape, const Frame& X_WS, const Vec3& n_W) noexcept {
  if (shape.kind == ShapeKind::half_space) return n_W.dot(X_WS.p);
  return n_W.dot(X_WS * support(shape, X_WS.R.transpose() * n_W));
}

}  // namespace

double gap_along(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, const Vec3& n_W) noexcept {
  return -height(a, X_WA, -n_W) - height(b, X_WB, n_W);
}

Separation find_separation(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double far,
                           CoreFeatures& features, bool& hit) noexcept {
  Separation out;
  hit = false;
  if (a.kind == ShapeKind::half_space || b.kind == ShapeKind::half_space) {
    out.n_W = b.kind == ShapeKind::half_space ? Vec3(X_WB.R.col(2)) : Vec3(-X_WA.R.col(2));
    out.gap = out.apart = gap_along(a, X_WA, b, X_WB, out.n_W);
    return out;
  }
  CoreStorage storage_a, storage_b;
  const Core core_a = core_at(a, X_WA.R, X_WA.p - X_WB.p, storage_a);
  const Core core_b = core_at(b, X_WB.R, Vec3::Zero(), storage_b);
  const bool known = features.count > 0;
  int steps = 0;
  out.apart = closest_cores(core_a, core_b, far + reach_of(a) + reach_of(b), features, out.n_W, steps);
  hit = known && steps == 1 && out.apart > 0;
  out.gap = out.apart - reach_of(a) - reach_of(b);
  return out;
}

}  // namespace tactus
