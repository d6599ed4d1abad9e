// What the records of a pair that may touch in several places keep of each (pair_memory.h).
#pragma once

#include <algorithm>

#include "core/collide/extremal_points.h"
#include "core/collide/pair_memory.h"

namespace tactus {

// What a witness remembers of its extremal points, and back.
inline void to_sides(const Witness& witness, ExtremalSide& a, ExtremalSide& b) noexcept {
  a = {witness.point_a, witness.step_a, witness.last_step_a, Vec3::Zero(), witness.feature_a};
  b = {witness.point_b, witness.step_b, witness.last_step_b, Vec3::Zero(), witness.feature_b};
}
inline void to_witness(const ExtremalSide& a, const ExtremalSide& b, const Vec3& axis_A, Witness& witness) noexcept {
  witness = {axis_A, a.feature, b.feature, a.p_S, b.p_S, a.step_S, b.step_S, a.last_step_S, b.last_step_S};
}

inline void clear_contacts(ContactBuffer& out) noexcept {
  out.count = 0;
  out.nhat_BA_W.setZero();
  out.all_on_bottom = true;
  out.truncated = false;
  out.gap_curve = 0;
}

inline bool is_within(const ExtremalPair& pair, double reach) noexcept {
  return pair.known() && !(pair.d > reach || (reach <= 0 && pair.d >= 0));
}
// How far apart a place may be to be seen: those that touched last tick across the margin, too.
inline double place_reach(const PairRecord& record, double reach, double margin) noexcept {
  return record.phase == ContactPhase::resting ? std::max(reach, margin) : reach;
}

}  // namespace tactus
