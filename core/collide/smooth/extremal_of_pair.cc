#include "core/check.h"
#include "core/collide/smooth/extremal_points.h"
#include "core/collide/smooth/extremal_search.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

bool has_chart(const SmoothSurface& surface, std::int32_t chart) noexcept {
  for (const SurfaceSeed& seed : surface.seeds()) {
    if (seed.where.chart == chart) return true;
  }
  return false;
}

// Where it was before, and what it found now. steady: the same place, a little on.
void remember_step(const ExtremalSide& before, bool steady, ExtremalSide& now) noexcept {
  now.ahead_S.setZero();
  now.first_step_S = steady ? before.last_step_S : Vec3(Vec3::Zero());
  now.last_step_S = steady ? before.step_S : Vec3(Vec3::Zero());
  now.step_S = steady ? Vec3(now.p_S - before.p_S) : Vec3(Vec3::Zero());
}

enum class Looking : std::uint8_t { anywhere, near, near_across };

// In the order that the search takes.
ExtremalPair find(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Looking looking,
                  ExtremalSide& side_a, ExtremalSide& side_b) noexcept {
  const ExtremalSolid solid(a, X_WB.R.transpose() * X_WA.R, X_WB.R.transpose() * (X_WA.p - X_WB.p));
  ExtremalSearch search(solid, *b.smooth);
  const ExtremalSide from_a = advanced(a, side_a), from_b = advanced(b, side_b);
  const Sought sought = looking == Looking::near_across ? Sought::across : Sought::root;
  const bool warm = looking == Looking::anywhere ? search.warm(from_a, from_b) : search.near(from_a, from_b, sought);
  if (!warm && (looking != Looking::anywhere || !search.cold())) {
    if (looking == Looking::anywhere) side_a = side_b = ExtremalSide{};
    ExtremalPair none;
    none.iterations = search.iterations();
    return none;
  }
  const ExtremalSide before_a = side_a, before_b = side_b;
  search.remember(side_a, side_b);
  const bool steady =
      warm && !search.left_place() && side_a.feature == before_a.feature && side_b.feature == before_b.feature;
  remember_step(before_a, steady, side_a), remember_step(before_b, steady, side_b);
  ExtremalPair out = pair_of(search, solid, X_WB);
  out.warm = warm;
  return out;
}

ExtremalPair find_in_order(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Looking looking,
                           ExtremalSide& side_a, ExtremalSide& side_b) noexcept {
  if (!search_turns(a, b)) return find(a, X_WA, b, X_WB, looking, side_a, side_b);
  ExtremalPair pair = find(b, X_WB, a, X_WA, looking, side_b, side_a);
  turn_round(pair);
  return pair;
}

}  // namespace

ExtremalSide advanced(const Shape& shape, const ExtremalSide& side) noexcept {
  ExtremalSide out = side;
  out.p_S += side.ahead_S;
  const bool surface = shape.kind == ShapeKind::smooth;
  const double most = surface ? 4 * (shape.smooth->radius() + std::sqrt(shape.smooth->centre().squaredNorm())) : 1e150;
  if (!(out.p_S.squaredNorm() < most * most) && !(surface && shape.smooth->parametric())) out.feature = -1;
  if (!out.p_S.allFinite()) out.feature = -1;
  if (surface && shape.smooth->parametric() &&
      !(has_chart(*shape.smooth, out.feature) && out.p_S.squaredNorm() < 1e6)) {
    out.feature = -1;
  }
  return out;
}

ExtremalPair pair_of(const ExtremalSearch& search, const ExtremalSolid& a, const Frame& X_WB) noexcept {
  TACTUS_DCHECK(is_unit(search.root().n) && is_rotation(X_WB.R));
  const ExtremalRoot& root = search.root();
  ExtremalPair out;
  out.iterations = search.iterations();
  out.radius_a = a.radius();
  out.nhat_BA_W = X_WB.R * root.n;
  out.t1_W = X_WB.R * root.t1, out.t2_W = X_WB.R * root.t2;
  out.pa_W = X_WB * Vec3(root.pa - out.radius_a * root.n);
  out.pb_W = X_WB * root.pb;
  out.d = root.d - out.radius_a;
  out.a = root.a, out.b = root.b;
  out.conditioning = root.conditioning;
  out.status = search.fallen_back() ? ExtremalStatus::fallen_back : ExtremalStatus::solved;
  if (root.conditioning < kLeastConditioning) out.status = ExtremalStatus::ill_conditioned;
  return out;
}

bool search_turns(const Shape& a, const Shape& b) noexcept {
  const bool smooth_a = a.kind == ShapeKind::smooth, smooth_b = b.kind == ShapeKind::smooth;
  TACTUS_ASSERT(smooth_a || smooth_b);
  const auto folded = [](const Shape& shape) { return shape.smooth->convex() ? 0 : (shape.smooth->cavity() ? 2 : 1); };
  return !smooth_b || (smooth_a && folded(a) > folded(b));
}

void turn_round(ExtremalPair& pair) noexcept {
  TACTUS_DCHECK(!pair.known() || is_unit(pair.nhat_BA_W));
  std::swap(pair.pa_W, pair.pb_W);
  std::swap(pair.a, pair.b);
  std::swap(pair.radius_a, pair.radius_b);
  pair.nhat_BA_W = -pair.nhat_BA_W;
  std::swap(pair.t1_W, pair.t2_W);
  for (ExtremalForm* form : {&pair.a, &pair.b}) {
    form->h11 = -form->h11, form->h12 = -form->h12, form->h22 = -form->h22;
    if (form->dim == 2) std::swap(form->h11, form->h22);
    std::swap(form->tx, form->ty);
    std::swap(form->u1, form->u2), std::swap(form->v1, form->v2);
  }
}

ExtremalPair extremal_points(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, ExtremalSide& side_a,
                             ExtremalSide& side_b) noexcept {
  return find_in_order(a, X_WA, b, X_WB, Looking::anywhere, side_a, side_b);
}

ExtremalPair extremal_place(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, bool one_of_several,
                            ExtremalSide& side_a, ExtremalSide& side_b) noexcept {
  return find_in_order(a, X_WA, b, X_WB, one_of_several ? Looking::near_across : Looking::near, side_a, side_b);
}

bool is_buried(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB,
               const ExtremalPair& pair) noexcept {
  const auto is_bowl = [](const Shape& shape) { return shape.kind == ShapeKind::smooth && shape.smooth->cavity(); };
  if (pair.d >= 0 || is_bowl(a) == is_bowl(b)) return false;
  // m: into the hollow.
  const bool bowl_a = is_bowl(a);
  const Vec3 m_W = bowl_a ? Vec3(-pair.nhat_BA_W) : pair.nhat_BA_W;
  const Frame& X_WS = bowl_a ? X_WB : X_WA;
  const Vec3 highest_W = X_WS * support(bowl_a ? b : a, X_WS.R.transpose() * m_W);
  return m_W.dot(highest_W - (bowl_a ? pair.pa_W : pair.pb_W)) < 0;
}

}  // namespace tactus
