// The normal of one patch: Drumwright (4) with its shortcut, judged by the field.
//
// Eq. 4 looks at facets only: on curved meshes it jumps from facet to facet, in deep overlaps it can point the wrong
// way (27 of 1,261 random deep overlaps), and for crossed edges it has no candidate. So its facet is taken where most
// of the overlap (by depth) faces that facet's way; otherwise the depth-weighted mean of the distance gradients, which
// is continuous in the poses, because points enter and leave it with weight zero. Edges that cross without any vertex
// inside give their common perpendicular.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/collide/mesh/mesh_contact.h"

namespace tactus {

namespace {

constexpr int kFacets = 24;
constexpr double kFacesIt = 0.9986;                   // cosine of 3 degrees
constexpr double kTakeShare = 0.6, kKeepShare = 0.4;  // of the overlap that must face the facet: new, remembered
constexpr double kPart = 1.1;                         // of an edge's part inside: rounding at its ends
constexpr double kKeepFactor = 0.95;                  // another facet must be better than the remembered one by 5 %

struct Facet {
  std::uint32_t facet, triangle;
  bool of_a;  // the facet's solid
  Vec3 nhat;  // outward
  double offset, value;
};

struct Facets {
  Facet facet[kFacets];
  int count = 0;
};

template <typename Visit>
void for_points(const MeshPair& pair, std::uint8_t patch, const Visit& visit) {
  for (std::uint32_t i = 0; i < pair.count; ++i) {
    const MeshPoint& p = pair.scratch.found[i];
    if (p.patch == patch && !p.far_side && p.kind != MeshPointKind::crossing) visit(p);
  }
}

// Facets of the solid that the deepest point is inside of, among those that points of the patch lie nearest to.
void collect(const MeshPair& pair, std::uint8_t patch, const MeshPoint& deepest, Facets& out) noexcept {
  for_points(pair, patch, [&](const MeshPoint& p) {
    if (p.of_a != deepest.of_a || p.facet == kNoFacet || out.count == kFacets) return;
    for (int i = 0; i < out.count; ++i) {
      if (out.facet[i].facet == p.facet) return;
    }
    Facet f{p.facet, p.triangle, !p.of_a, Vec3::Zero(), 0, 0};
    if (facet_plane(pair.other(p), p.facet, p.triangle, f.nhat, f.offset)) out.facet[out.count++] = f;
  });
}

double farthest(const MeshPair& pair, std::uint8_t patch, const Facet& f) noexcept {
  double most = 0;
  for_points(pair, patch, [&](const MeshPoint& p) {
    if (p.of_a != f.of_a) most = std::max(most, std::abs(f.nhat.dot(p.p) - f.offset));
  });
  return most;
}

bool remembered(const Facet& f, const MeshPatchState& state) noexcept {
  return static_cast<std::int32_t>(f.facet) == (f.of_a ? state.facet_a : state.facet_b);
}

// Eq. 4: the facet with min_i (max_j |n_i . p_j - d_i|); first by the deepest point alone. Null when there is none.
const Facet* equation4(const MeshPair& pair, std::uint8_t patch, const MeshPoint& deepest, const MeshPatchState& state,
                       Facets& facets) noexcept {
  if (facets.count == 0) return nullptr;
  const auto least = [&] {
    Facet* best = facets.facet;
    for (int i = 0; i < facets.count; ++i) {
      Facet& f = facets.facet[i];
      if (remembered(f, state)) f.value *= kKeepFactor;
      if (f.value < best->value) best = &f;
    }
    return best;
  };
  for (int i = 0; i < facets.count; ++i) {
    Facet& f = facets.facet[i];
    f.value = std::abs(f.nhat.dot(deepest.p) - f.offset);
  }
  Facet* best = least();
  if (farthest(pair, patch, *best) <= std::abs(best->nhat.dot(deepest.p) - best->offset) * (1 + 1e-9)) return best;
  for (int i = 0; i < facets.count; ++i) facets.facet[i].value = farthest(pair, patch, facets.facet[i]);
  return least();
}

// Where the lines of two edges come nearest to each other, counted from the middles; false when that is not within the
// parts that are inside.
bool nearest_on_lines(const MeshPoint& a, const MeshPoint& b, double& s, double& t) noexcept {
  const Vec3 d = b.p - a.p;
  const double ab = a.along.dot(b.along), da = d.dot(a.along), db = d.dot(b.along), det = 1 - ab * ab;
  if (det < 1e-6) return false;
  s = (da - ab * db) / det, t = (ab * da - db) / det;
  return std::abs(s) <= kPart * a.half && std::abs(t) <= kPart * b.half;
}

// Edges that cross with no vertex inside: the common perpendicular with the least overlap; the two points move to where
// the edges pass each other. False when there is none.
bool edge_normal(const MeshPair& pair, std::uint8_t patch, const Vec3& mean, Vec3& nhat) noexcept {
  constexpr int kEdges = 8;
  MeshPoint* edges[2][kEdges];
  int count[2] = {0, 0};
  for (std::uint32_t i = 0; i < pair.count; ++i) {
    MeshPoint& p = pair.scratch.found[i];
    if (p.patch != patch || p.far_side || p.kind == MeshPointKind::crossing) continue;
    if (p.kind == MeshPointKind::vertex) return false;
    const int side = p.of_a ? 0 : 1;
    if (count[side] < kEdges) edges[side][count[side]++] = &p;
  }
  double least = std::numeric_limits<double>::infinity(), s_best = 0, t_best = 0;
  MeshPoint *a_best = nullptr, *b_best = nullptr;
  for (int i = 0; i < count[0]; ++i) {
    for (int j = 0; j < count[1]; ++j) {
      MeshPoint &a = *edges[0][i], &b = *edges[1][j];
      double s = 0, t = 0;
      if (!nearest_on_lines(a, b, s, t)) continue;
      Vec3 n = a.along.cross(b.along).normalized();
      if (n.dot(mean) < 0) n = -n;
      const double overlap = n.dot(b.p - a.p);
      if (n.dot(mean) < 0.5 || overlap <= 0 || overlap >= least) continue;
      least = overlap, nhat = n;
      a_best = &a, b_best = &b, s_best = s, t_best = t;
    }
  }
  if (a_best == nullptr) return false;
  a_best->p += s_best * a_best->along;
  b_best->p += t_best * b_best->along;
  a_best->nhat_BA = b_best->nhat_BA = nhat;
  a_best->distance = b_best->distance = least;
  return true;
}

}  // namespace

void choose_normal(const MeshPair& pair, std::uint8_t patch, MeshPatchState& state) noexcept {
  TACTUS_DCHECK(patch < kMaxMeshPatches);
  const MeshPoint* deepest = nullptr;
  Vec3 sum = Vec3::Zero();
  double total = 0;
  for_points(pair, patch, [&](const MeshPoint& p) {
    if (deepest == nullptr || p.distance > deepest->distance) deepest = &p;
    sum += p.distance * p.nhat_BA;
    total += p.distance;
  });
  const double length = sum.norm();
  const Vec3 mean = length > 0.1 * total && length > 0 ? Vec3(sum / length) : deepest->nhat_BA;
  Vec3 nhat = mean;
  std::int32_t facet_a = -1, facet_b = -1;
  Facets facets;
  collect(pair, patch, *deepest, facets);
  if (edge_normal(pair, patch, mean, nhat)) {
    facet_a = facet_b = -1;
  } else if (const Facet* f = equation4(pair, patch, *deepest, state, facets); f != nullptr) {
    const Vec3 n = f->of_a ? Vec3(-f->nhat) : f->nhat;
    double share = 0;
    for_points(pair, patch, [&](const MeshPoint& p) {
      if (p.nhat_BA.dot(n) > kFacesIt) share += p.distance;
    });
    if (share >= (remembered(*f, state) ? kKeepShare : kTakeShare) * total) {
      nhat = n;
      (f->of_a ? facet_a : facet_b) = static_cast<std::int32_t>(f->facet);
    }
  }
  state.nhat_BA = nhat;
  state.facet_a = facet_a, state.facet_b = facet_b;
  state.depth_max = 0;
  for_points(pair, patch, [&](const MeshPoint& p) {
    state.depth_max = std::max(state.depth_max, p.distance / std::max(0.5, p.nhat_BA.dot(nhat)));
  });
}

}  // namespace tactus
