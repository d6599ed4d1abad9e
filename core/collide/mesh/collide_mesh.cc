// MeshPatches: which points push which way. Seeds are the remembered directions of the last tick, then the deepest
// points that no patch explains yet.
#include "core/collide/mesh/collide_mesh.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/collide/mesh/mesh_contact.h"
#include "core/math/checks.h"
#include "core/shape/mesh/triangle_mesh.h"

namespace tactus {

namespace {

constexpr double kCone = 0.8192;       // cosine of 35 degrees: a patch's points face within this of its seed
constexpr double kKeepCone = 0.7660;   // 40 degrees for a remembered patch: points on the border do not swap
constexpr double kMergeCone = 0.9397;  // 20 degrees: two remembered patches that came this near are one
constexpr double kFreeFactor = 1.02;   // a patch's translation, with a little to spare
constexpr double kSteep = 0.75;        // a point that faces the normal less than this is searched along it
constexpr double kShallow = 0.02;      // crossings less deep than this share are noise at the rim

constexpr double kSameFace = 0.9986;  // cosine of 3 degrees

bool surface_point(const MeshPoint& p) noexcept {
  return p.kind != MeshPointKind::crossing;
}

// Does the patch's own translation bring the point out of the other solid?
bool explains(const MeshPair& pair, const MeshPatchState& patch, const MeshPoint& p) noexcept {
  const double way = (p.of_a ? 1.0 : -1.0) * kFreeFactor * patch.depth_max;
  return sample_solid(pair.other(p), p.p + way * patch.nhat_BA).distance >= 0;
}

// Directions of the last tick, in A's frame as they are remembered. The older of two that have become one stays.
void recall(const PairRecord* records, MeshPatches& patches) noexcept {
  for (std::uint32_t k = 0; k < patches.count; ++k) {
    MeshPatchState& state = patches.state[k];
    state = {};
    if (records[k].phase == ContactPhase::apart) continue;
    state.nhat_BA = records[k].witness.axis_A;
    state.remembered = true;
    state.facet_a = records[k].witness.feature_a, state.facet_b = records[k].witness.feature_b;
    for (std::uint32_t j = 0; j < k; ++j) {
      if (patches.state[j].nhat_BA.dot(state.nhat_BA) < kMergeCone) continue;
      if (records[j].age >= records[k].age) {
        state = {};
        break;
      }
      patches.state[j] = {};
    }
  }
}

// Points that face the way of a remembered patch; then its normal of this tick.
void continue_patches(MeshPair& pair, MeshPatches& patches) noexcept {
  for (std::uint32_t i = 0; i < pair.count; ++i) {
    MeshPoint& p = pair.scratch.found[i];
    p.patch = kNoPatch;
    if (!surface_point(p) || p.corner) continue;
    double best = kKeepCone;
    for (std::uint32_t k = 0; k < patches.count; ++k) {
      const double c = patches.state[k].nhat_BA.dot(p.nhat_BA);
      if (c <= best) continue;
      best = c;
      p.patch = static_cast<std::uint8_t>(k);
    }
  }
  for (std::uint32_t k = 0; k < patches.count; ++k) {
    const auto in = [k](const MeshPoint& p) { return p.patch == k; };
    if (std::none_of(pair.scratch.found.get(), pair.scratch.found.get() + pair.count, in)) {
      patches.state[k] = {};
    } else {
      choose_normal(pair, static_cast<std::uint8_t>(k), patches.state[k]);
    }
  }
}

// A remembered patch whose deepest point a deeper patch sets free gives its points up.
void give_up_explained(MeshPair& pair, MeshPatches& patches) noexcept {
  for (std::uint32_t k = 0; k < patches.count; ++k) {
    MeshPatchState& state = patches.state[k];
    if (state.depth_max <= 0) continue;
    const MeshPoint* deepest = nullptr;
    for (std::uint32_t i = 0; i < pair.count; ++i) {
      const MeshPoint& p = pair.scratch.found[i];
      if (p.patch == k && (deepest == nullptr || p.distance > deepest->distance)) deepest = &p;
    }
    for (std::uint32_t j = 0; j < patches.count; ++j) {
      if (j == k || patches.state[j].depth_max <= state.depth_max) continue;
      if (!explains(pair, patches.state[j], *deepest)) continue;
      state = {};
      for (std::uint32_t i = 0; i < pair.count; ++i) {
        if (pair.scratch.found[i].patch == k) pair.scratch.found[i].patch = kNoPatch;
      }
      break;
    }
  }
}

// Is the patch's normal that of a face at the inner edge that p is nearest to?
bool is_face_at(const MeshPair& pair, const MeshPatchState& state, const MeshPoint& p) noexcept {
  const MeshSide& other = pair.other(p);
  const TriangleMesh& mesh = *other.shape->mesh;
  const Vec3 nhat = (p.of_a ? 1.0 : -1.0) * (other.X.R.transpose() * state.nhat_BA);  // outward of the other
  if (mesh.normals[p.triangle].dot(nhat) > kSameFace) return true;
  const TriangleMesh::Triangle& around = mesh.neighbours[p.triangle];
  return std::any_of(around.begin(), around.end(),
                     [&](std::uint32_t t) { return mesh.normals[t].dot(nhat) > kSameFace; });
}

// Gives the points that face elsewhere, but that a patch sets free, to that patch.
void absorb(MeshPair& pair, const MeshPatches& patches) noexcept {
  for (std::uint32_t i = 0; i < pair.count; ++i) {
    MeshPoint& p = pair.scratch.found[i];
    if (p.patch != kNoPatch || !surface_point(p) || p.corner) continue;
    for (std::uint32_t k = 0; k < patches.count; ++k) {
      if (patches.state[k].depth_max <= 0 || !explains(pair, patches.state[k], p)) continue;
      p.patch = static_cast<std::uint8_t>(k);
      p.far_side = true;
      break;
    }
  }
}

// A point in the inner corner of an L is deep under both its faces, and nearest to the edge between them: it belongs to
// each patch that has the normal of one of them.
void share_corners(MeshPair& pair, const MeshPatches& patches) noexcept {
  const std::uint32_t count = pair.count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const MeshPoint p = pair.scratch.found[i];
    if (!p.corner || p.patch != kNoPatch) continue;
    bool shared = false;
    for (std::uint32_t k = 0; k < patches.count; ++k) {
      const MeshPatchState& state = patches.state[k];
      const double c = p.nhat_BA.dot(state.nhat_BA);
      if (state.depth_max <= 0 || c < 0.1 || !is_face_at(pair, state, p)) continue;
      MeshPoint own = p;
      own.patch = static_cast<std::uint8_t>(k);
      own.far_side = true;
      own.depth = p.distance * c;
      if (!shared) {
        pair.scratch.found[i] = own;
      } else if (pair.count < pair.scratch.capacity) {
        pair.add(own);
      }
      shared = true;
    }
    if (!shared) pair.scratch.found[i].corner = false;  // as any other point
  }
}

// New patches from the deepest point that is left, until none is left or no slot is free.
void seed_patches(MeshPair& pair, MeshPatches& patches) noexcept {
  for (std::uint32_t round = 0; round <= patches.count; ++round) {
    absorb(pair, patches);
    const MeshPoint* seed = nullptr;
    std::uint32_t left = 0;
    for (std::uint32_t i = 0; i < pair.count; ++i) {
      const MeshPoint& p = pair.scratch.found[i];
      if (p.patch != kNoPatch || !surface_point(p) || p.corner) continue;
      ++left;
      if (seed == nullptr || p.distance > seed->distance) seed = &p;
    }
    if (seed == nullptr) return;
    std::uint32_t slot = 0;
    while (slot < patches.count && patches.state[slot].depth_max > 0) ++slot;
    if (slot == patches.count) {
      pair.dropped += left;
      return;
    }
    const Vec3 direction = seed->nhat_BA;
    for (std::uint32_t i = 0; i < pair.count; ++i) {
      MeshPoint& p = pair.scratch.found[i];
      if (p.patch == kNoPatch && surface_point(p) && !p.corner && p.nhat_BA.dot(direction) >= kCone) {
        p.patch = static_cast<std::uint8_t>(slot);
      }
    }
    patches.state[slot] = {};
    choose_normal(pair, static_cast<std::uint8_t>(slot), patches.state[slot]);
  }
}

// Depth along the patch's normal; crossings find the patch that they belong to. depth 0: no contact.
void measure(const MeshPair& pair, MeshPatches& patches, MeshPoint& p) noexcept {
  if (p.corner && p.patch != kNoPatch) return;
  p.depth = 0;
  const double sign = p.of_a ? 1.0 : -1.0;
  const auto search = [&](const MeshPatchState& state) {
    return exit_distance(pair.other(p), p.p, sign * state.nhat_BA, kFreeFactor * state.depth_max);
  };
  if (surface_point(p)) {
    if (p.patch == kNoPatch) return;
    MeshPatchState& state = patches.state[p.patch];
    const double c = p.nhat_BA.dot(state.nhat_BA);
    if (c >= kSteep && !p.far_side) {
      p.depth = p.distance / c;
    } else {
      p.depth = std::max(0.0, search(state));
    }
    return;
  }
  for (std::uint32_t k = 0; k < patches.count; ++k) {
    MeshPatchState& state = patches.state[k];
    if (state.depth_max <= 0 || p.nhat_BA.dot(state.nhat_BA) > kSteep) continue;  // facing the normal: depth zero
    const double depth = search(state);
    if (depth < kShallow * state.depth_max) continue;
    p.depth = depth;
    p.patch = static_cast<std::uint8_t>(k);
    return;
  }
}

// Points of each patch, midway between the surfaces, in W.
void write(const MeshPair& pair, const Frame& X_WA, const MeshPatches& patches, MeshContacts& out) noexcept {
  const double margin = pair.side[0].margin;
  ContactPoint* at = pair.scratch.contacts.get();
  for (std::uint32_t k = 0; k < patches.count; ++k) {
    ContactBuffer& buffer = out.patch[k];
    buffer = {at, pair.scratch.capacity, 0, X_WA.R * patches.state[k].nhat_BA, false, false, {}};
    for (std::uint32_t i = 0; i < pair.count; ++i) {
      const MeshPoint& p = pair.scratch.found[i];
      if (p.patch != k || p.depth <= 0) continue;
      const double depth = p.depth - margin, to_middle = (p.of_a ? 0.5 : -0.5) * depth;
      buffer.points[buffer.count++] = {X_WA * Vec3(p.p + to_middle * patches.state[k].nhat_BA), depth};
    }
    at += buffer.count;
  }
}

}  // namespace

MeshScratch::MeshScratch(std::uint32_t points)
    : found(new MeshPoint[points]), contacts(new ContactPoint[points]), capacity(points) {}
MeshScratch::~MeshScratch() = default;

void collide_mesh(const Shape& a, const Frame& X_WA, const Shape& b, const Frame& X_WB, double margin,
                  PairRecord* records, std::uint32_t patch_count, MeshScratch& scratch, MeshContacts& out) noexcept {
  TACTUS_ASSERT(patch_count >= 1 && patch_count <= kMaxMeshPatches && is_mesh_pair(a, b));
  TACTUS_DCHECK(is_rotation(X_WA.R) && is_rotation(X_WB.R) && not_below(margin, 0));
  const auto resting = [](const PairRecord& record) { return record.phase == ContactPhase::resting; };
  const double seen = std::any_of(records, records + patch_count, resting) ? margin : 0.0;
  MeshPair pair{{{&a, Frame{}, seen}, {&b, {X_WA.R.transpose() * X_WB.R, X_WA.to_local(X_WB.p)}, seen}}, scratch};
  gather_points(pair);
  MeshPatches patches;
  patches.count = patch_count;
  recall(records, patches);
  continue_patches(pair, patches);
  give_up_explained(pair, patches);
  seed_patches(pair, patches);
  share_corners(pair, patches);
  seed_patches(pair, patches);  // corners of no flat patch
  resolve_opposed(pair, patches);
  for (std::uint32_t i = 0; i < pair.count; ++i) measure(pair, patches, scratch.found[i]);
  write(pair, X_WA, patches, out);
  out.dropped = pair.dropped;
  for (std::uint32_t k = 0; k < patch_count; ++k) {
    if (out.patch[k].count == 0) continue;
    TACTUS_DCHECK(is_unit(patches.state[k].nhat_BA) && out.patch[k].count <= pair.count);
    records[k].witness.axis_A = patches.state[k].nhat_BA;
    records[k].witness.feature_a = patches.state[k].facet_a;
    records[k].witness.feature_b = patches.state[k].facet_b;
  }
}

}  // namespace tactus
