#include "core/collide/narrow_phase.h"

#include <utility>

#include "core/check.h"
#include "core/collide/narrow_table.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

// For checks: what every pair function gives.
bool is_contact(const ContactBuffer& out) noexcept {
  return out.count <= out.capacity && (out.count == 0 || is_unit(out.nhat_BA_W));
}

void collide_nothing(const Shape&, const Frame&, const Shape&, const Frame&, Witness&, ContactBuffer&) noexcept {}

struct Entry {
  CollideFn function;
  const char* name;
};

#define TACTUS_ENTRY(name)           \
  Entry {                            \
    collide_##name, "collide_" #name \
  }
constexpr Entry kNone{nullptr, "swapped"};

// Rows a, columns b, in the order of ShapeKind; below the diagonal the pair is swapped.
// clang-format off
constexpr Entry kTable[kShapeKinds][kShapeKinds] = {
  //              sphere                       box                       capsule                        cylinder                         half_space                         convex                        mesh                   smooth
  /* sphere   */ {TACTUS_ENTRY(sphere_sphere), TACTUS_ENTRY(sphere_box), TACTUS_ENTRY(sphere_capsule),  TACTUS_ENTRY(sphere_cylinder),   TACTUS_ENTRY(sphere_half_space),   TACTUS_ENTRY(sphere_convex), TACTUS_ENTRY(nothing), TACTUS_ENTRY(smooth)},
  /* box      */ {kNone,                       TACTUS_ENTRY(box_box),    TACTUS_ENTRY(box_capsule),     TACTUS_ENTRY(box_cylinder),      TACTUS_ENTRY(box_half_space),      TACTUS_ENTRY(box_convex), TACTUS_ENTRY(nothing), TACTUS_ENTRY(smooth)},
  /* capsule  */ {kNone,                       kNone,                    TACTUS_ENTRY(capsule_capsule), TACTUS_ENTRY(capsule_cylinder),  TACTUS_ENTRY(capsule_half_space),  TACTUS_ENTRY(capsule_convex), TACTUS_ENTRY(nothing), TACTUS_ENTRY(smooth)},
  /* cylinder */ {kNone,                       kNone,                    kNone,                         TACTUS_ENTRY(cylinder_cylinder), TACTUS_ENTRY(cylinder_half_space), TACTUS_ENTRY(cylinder_convex), TACTUS_ENTRY(nothing), TACTUS_ENTRY(smooth)},
  /* half_spc */ {kNone,                       kNone,                    kNone,                         kNone,                           TACTUS_ENTRY(nothing),             TACTUS_ENTRY(half_space_convex), TACTUS_ENTRY(nothing), TACTUS_ENTRY(smooth)},
  /* convex   */ {kNone,                       kNone,                    kNone,                         kNone,                           kNone,                             TACTUS_ENTRY(convex_convex), TACTUS_ENTRY(nothing), TACTUS_ENTRY(smooth)},
  /* mesh     */ {kNone,                       kNone,                    kNone,                         kNone,                           kNone,                             kNone,                        TACTUS_ENTRY(nothing), TACTUS_ENTRY(nothing)},
  /* smooth   */ {kNone,                       kNone,                    kNone,                         kNone,                           kNone,                             kNone,                        kNone, TACTUS_ENTRY(smooth)},
};
// clang-format on
#undef TACTUS_ENTRY

// The witness axis is kept in the frame of the caller's first shape; a swapped call needs it in the other's, reversed.
Witness swapped(const Witness& witness, const Frame& X_WA, const Frame& X_WB) noexcept {
  Witness out;
  out.axis_A.noalias() = -(X_WB.R.transpose() * (X_WA.R * witness.axis_A));
  out.feature_a = witness.feature_b;
  out.feature_b = witness.feature_a;
  out.point_a = witness.point_b, out.point_b = witness.point_a;
  out.step_a = witness.step_b, out.step_b = witness.step_a;
  out.last_step_a = witness.last_step_b, out.last_step_b = witness.last_step_a;
  return out;
}

}  // namespace

void ContactBuffer::add_full(const Vec3& p_WC, double depth) noexcept {
  truncated = true;
  std::uint32_t shallowest = 0;
  for (std::uint32_t i = 1; i < count; ++i) {
    if (points[i].depth < points[shallowest].depth) shallowest = i;
  }
  if (count > 0 && points[shallowest].depth < depth) points[shallowest] = {p_WC, depth};
}

void collide(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, Witness& witness,
             ContactBuffer& out) noexcept {
  TACTUS_DCHECK(is_rotation(X_WA.R) && is_rotation(X_WB.R));
  out.count = 0;
  out.nhat_BA_W.setZero();
  out.all_on_bottom = false;
  out.truncated = false;
  if (a.kind <= b.kind) {
    kTable[static_cast<int>(a.kind)][static_cast<int>(b.kind)].function(a, X_WA, b, X_WB, witness, out);
    TACTUS_DCHECK(is_contact(out));
    return;
  }
  const Entry& entry = kTable[static_cast<int>(b.kind)][static_cast<int>(a.kind)];
  Witness reversed;
  if (a.kind == ShapeKind::half_space) {  // half-spaces look for nothing: the witness is not read
    entry.function(b, X_WB, a, X_WA, reversed, out);
    if (reversed.axis_A.isZero(0)) reversed = swapped(witness, X_WA, X_WB);
  } else {
    reversed = swapped(witness, X_WA, X_WB);
    entry.function(b, X_WB, a, X_WA, reversed, out);
  }
  TACTUS_DCHECK(is_contact(out));
  out.nhat_BA_W = -out.nhat_BA_W;
  witness = swapped(reversed, X_WB, X_WA);
}

void collide(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double margin, Witness& witness,
             ContactBuffer& out) noexcept {
  if (margin <= 0) return collide(a, X_WA, b, X_WB, witness, out);
  if (is_smooth_pair(a, b)) return collide_smooth_within(a, X_WA, b, X_WB, margin, witness, out);
  const Vec3 half = (0.5 * margin) * (X_WA.R * witness.axis_A);
  collide(a, {X_WA.R, X_WA.p - half}, b, {X_WB.R, X_WB.p + half}, witness, out);
  const double gap = 2 * half.dot(out.nhat_BA_W);
  for (std::uint32_t i = 0; i < out.count; ++i) out.points[i].depth -= gap;
}

const char* collide_function_name(ShapeKind a, ShapeKind b) noexcept {
  if (a > b) std::swap(a, b);
  return kTable[static_cast<int>(a)][static_cast<int>(b)].name;
}

}  // namespace tactus
