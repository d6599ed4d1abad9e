// Patches that push against each other: where the corner of one solid has passed the middle of a thin wall of the
// other, or two corners have passed each other, one patch sees the way on and the other the way back, and the bodies
// jam. Such an overlap has one way out that frees both patches, no longer than their depths together can explain. A peg
// held between the walls of a slot has none: its way out through either wall is the wall's thickness, not its overlap.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/collide/mesh/mesh_contact.h"

namespace tactus {

namespace {

constexpr double kOpposed = -0.5;  // cosine of 120 degrees: patches that face each other
constexpr double kWay = 4;         // longest way looked at, over the depths of both patches together
constexpr double kKeepWay = 0.7;   // the remembered way out is left for one shorter than this share of it
constexpr double kNoWay = std::numeric_limits<double>::infinity();

// How far A has to move along patch j's normal until the points of both patches are free; kNoWay beyond `limit`. [m]
double way_out(const MeshPair& pair, const MeshPatches& patches, std::uint32_t j, std::uint32_t k,
               double limit) noexcept {
  TACTUS_DCHECK(j != k && j < patches.count && k < patches.count);
  const Vec3& nhat = patches.state[j].nhat_BA;
  double way = patches.state[j].depth_max;
  for (std::uint32_t i = 0; i < pair.count; ++i) {
    const MeshPoint& p = pair.scratch.found[i];
    if (p.patch != k || p.kind == MeshPointKind::crossing) continue;
    const double own = exit_distance(pair.other(p), p.p, p.of_a ? nhat : Vec3(-nhat), limit);
    if (own < 0) return kNoWay;
    way = std::max(way, own);
  }
  return way;
}

// Patch k's points go with patch j, whose translation frees them.
void join(MeshPair& pair, MeshPatches& patches, std::uint32_t j, std::uint32_t k, double way) noexcept {
  for (std::uint32_t i = 0; i < pair.count; ++i) {
    MeshPoint& p = pair.scratch.found[i];
    if (p.patch != k) continue;
    p.patch = static_cast<std::uint8_t>(j);
    p.far_side = true;
    p.corner = false;
  }
  patches.state[j].depth_max = way;
  patches.state[k] = {};
}

bool resolve(MeshPair& pair, MeshPatches& patches, std::uint32_t j, std::uint32_t k) noexcept {
  const MeshPatchState &a = patches.state[j], &b = patches.state[k];
  if (a.depth_max <= 0 || b.depth_max <= 0 || a.nhat_BA.dot(b.nhat_BA) > kOpposed) return false;
  const double overlap = a.depth_max + b.depth_max - 2 * pair.side[0].margin;  // true, without what is seen of a gap
  if (overlap <= 0) return false;
  const double limit = kWay * overlap + pair.side[0].margin;
  const double way_a = way_out(pair, patches, j, k, limit), way_b = way_out(pair, patches, k, j, limit);
  if (way_a == kNoWay && way_b == kNoWay) return false;
  if (way_a * (a.remembered ? kKeepWay : 1) <= way_b * (b.remembered ? kKeepWay : 1)) {
    join(pair, patches, j, k, way_a);
  } else {
    join(pair, patches, k, j, way_b);
  }
  return true;
}

}  // namespace

void resolve_opposed(MeshPair& pair, MeshPatches& patches) noexcept {
  for (std::uint32_t j = 0; j < patches.count; ++j) {
    for (std::uint32_t k = 0; k < j; ++k) resolve(pair, patches, k, j);
  }
}

}  // namespace tactus
