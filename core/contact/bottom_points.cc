#include "core/contact/bottom_points.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {

constexpr std::uint32_t kNoPoint = 0xffffffffu;

// A set of ranks 0..n-1 with predecessor and successor in O(log64 n): words of 64 bits in levels.
class BitTree {
 public:
  BitTree(std::uint32_t n, Arena& arena) noexcept {
    std::uint32_t size = n;
    do {
      TACTUS_DCHECK(levels_ < 6);
      size = (size + 63) / 64;
      level_[levels_] = arena.take<std::uint64_t>(size);
      std::fill(level_[levels_], level_[levels_] + size, 0ULL);
      ++levels_;
    } while (size > 1);
  }
  void insert(std::uint32_t i) noexcept {
    for (int l = 0; l < levels_; ++l, i /= 64) level_[l][i / 64] |= 1ULL << (i % 64);
  }
  void erase(std::uint32_t i) noexcept {
    for (int l = 0; l < levels_; ++l, i /= 64) {
      level_[l][i / 64] &= ~(1ULL << (i % 64));
      if (level_[l][i / 64]) return;
    }
  }
  [[nodiscard]] bool contains(std::uint32_t i) const noexcept { return level_[0][i / 64] >> (i % 64) & 1; }
  // Largest member < i, or kNoPoint.
  [[nodiscard]] std::uint32_t before(std::uint32_t i) const noexcept {
    for (int l = 0; l < levels_; ++l, i /= 64) {
      const std::uint64_t below = level_[l][i / 64] & ((1ULL << (i % 64)) - 1);
      if (!below) continue;
      i = i / 64 * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(below));
      while (l-- > 0) i = i * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(level_[l][i]));
      return i;
    }
    return kNoPoint;
  }
  // Smallest member > i, or kNoPoint.
  [[nodiscard]] std::uint32_t after(std::uint32_t i) const noexcept {
    for (int l = 0; l < levels_; ++l, i /= 64) {
      const std::uint64_t above = i % 64 == 63 ? 0 : level_[l][i / 64] & (~0ULL << (i % 64 + 1));
      if (!above) continue;
      i = i / 64 * 64 + static_cast<std::uint32_t>(std::countr_zero(above));
      while (l-- > 0) i = i * 64 + static_cast<std::uint32_t>(std::countr_zero(level_[l][i]));
      return i;
    }
    return kNoPoint;
  }

 private:
  std::uint64_t* level_[6] = {};
  int levels_ = 0;
};

struct Flat {
  double x, y;
};

bool same(const Flat& a, const Flat& b) noexcept {
  return a.x == b.x && a.y == b.y;
}

// Twice the signed area of (a, b, c): positive when c is left of a -> b.
double cross(const Flat& a, const Flat& b, const Flat& c) noexcept {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// One chain (lower: sign +1, upper: -1) of the hull of all points inserted so far, over x-ranks.
struct Chain {
  BitTree members;
  const Flat* at;  // by rank
  double sign, slack;

  // Strictly outside the chain by more than slack, an area tolerance for collinear points. A point on top of an end of
  // the chain (it stands beside it by rank) is not outside.
  [[nodiscard]] bool outside(std::uint32_t r) const noexcept {
    const std::uint32_t left = members.before(r), right = members.after(r);
    if (left == kNoPoint || right == kNoPoint) {
      const std::uint32_t end = left == kNoPoint ? right : left;
      return end == kNoPoint || !same(at[end], at[r]);
    }
    return sign * cross(at[left], at[right], at[r]) < -slack;
  }
  void insert(std::uint32_t r) noexcept {
    members.insert(r);
    for (std::uint32_t left = members.before(r); left != kNoPoint;) {
      const std::uint32_t next = members.before(left);
      if (next == kNoPoint || sign * cross(at[next], at[left], at[r]) > 0) break;
      members.erase(left);
      left = next;
    }
    for (std::uint32_t right = members.after(r); right != kNoPoint;) {
      const std::uint32_t next = members.after(right);
      if (next == kNoPoint || sign * cross(at[r], at[right], at[next]) > 0) break;
      members.erase(right);
      right = next;
    }
  }
};

// Strict hull of ranks[0, n) (ascending), by monotone chain; kept ranks are moved to the front. O(n).
std::uint32_t strict_hull(std::uint32_t* ranks, std::uint32_t n, const Flat* at, double slack,
                          std::uint32_t* stack) noexcept {
  TACTUS_DCHECK(is_ascending<std::uint32_t>({ranks, n}));
  if (n <= 1 || same(at[ranks[0]], at[ranks[n - 1]])) return std::min(n, 1u);  // all on top of each other
  if (n == 2) return n;
  std::uint32_t size = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    while (size >= 2 && cross(at[stack[size - 2]], at[stack[size - 1]], at[ranks[i]]) <= slack) --size;
    stack[size++] = ranks[i];
  }
  const std::uint32_t lower = size;
  for (std::uint32_t i = n - 1; i-- > 0;) {
    while (size > lower && cross(at[stack[size - 2]], at[stack[size - 1]], at[ranks[i]]) <= slack) --size;
    stack[size++] = ranks[i];
  }
  --size;  // the first point again
  std::sort(stack, stack + size);
  std::copy(stack, stack + size, ranks);
  return size;
}

}  // namespace

std::size_t bottom_points_scratch(std::uint32_t count) noexcept {
  return static_cast<std::size_t>(count) * (2 * sizeof(Flat) + 6 * sizeof(std::uint32_t) + 4) + 4096;
}

std::uint32_t bottom_points(const Vec3& nhat, const ContactPoint* points, std::uint32_t count, double level_tolerance,
                            std::uint32_t* out, Arena& arena) noexcept {
  if (count == 0) return 0;
  TACTUS_DCHECK(not_below(level_tolerance, 0));
  // Levels would not end where a depth is no number.
  TACTUS_DCHECK(std::none_of(points, points + count, [](const ContactPoint& p) { return std::isnan(p.depth); }));
  const std::size_t mark = arena.used();
  Vec3 t1, t2;
  tangent_basis(nhat, t1, t2);
  auto* flat = arena.take<Flat>(count);           // by point
  auto* at = arena.take<Flat>(count);             // by rank
  auto* by_x = arena.take<std::uint32_t>(count);  // rank -> point
  auto* rank = arena.take<std::uint32_t>(count);  // point -> rank
  auto* by_depth = arena.take<std::uint32_t>(count);
  auto* level = arena.take<std::uint32_t>(count);
  auto* stack = arena.take<std::uint32_t>(2 * static_cast<std::size_t>(count) + 2);
  double size = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Vec3 d = points[i].p_WC - points[0].p_WC;
    flat[i] = {t1.dot(d), t2.dot(d)};
    size = std::max({size, std::abs(flat[i].x), std::abs(flat[i].y)});
    by_x[i] = by_depth[i] = i;
  }
  const double slack = 1e-9 * size * size + 1e-300;
  // Points closer than 1e-10 of the size are made to coincide (the corners above and below each other of an upright
  // face): adding and taking away a large power of two rounds to a grid.
  const double rounder = 1.5 * std::ldexp(1.0, 52 - 33 + std::ilogb(std::max(size, 1e-280)));
  for (std::uint32_t i = 0; i < count; ++i) {
    flat[i] = {(flat[i].x + rounder) - rounder, (flat[i].y + rounder) - rounder};
  }
  std::sort(by_x, by_x + count, [flat](std::uint32_t i, std::uint32_t j) {
    if (flat[i].x != flat[j].x) return flat[i].x < flat[j].x;
    return flat[i].y != flat[j].y ? flat[i].y < flat[j].y : i < j;
  });
  for (std::uint32_t r = 0; r < count; ++r) rank[by_x[r]] = r, at[r] = flat[by_x[r]];
  std::sort(by_depth, by_depth + count, [points, rank](std::uint32_t i, std::uint32_t j) {
    return points[i].depth != points[j].depth ? points[i].depth > points[j].depth : rank[i] < rank[j];
  });
  Chain lower{BitTree(count, arena), at, 1.0, slack}, upper{BitTree(count, arena), at, -1.0, slack};
  std::uint32_t kept = 0;
  for (std::uint32_t first = 0; first < count;) {
    std::uint32_t last = first, n = 0;
    const double depth = points[by_depth[first]].depth;
    while (last < count && points[by_depth[last]].depth >= depth - level_tolerance) level[n++] = rank[by_depth[last++]];
    std::sort(level, level + n);
    n = strict_hull(level, n, at, slack, stack);
    // Outside is judged against deeper points only: the whole level first, then all of it goes in.
    std::uint32_t outside = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (lower.outside(level[i]) || upper.outside(level[i])) level[outside++] = level[i];
    }
    for (std::uint32_t i = 0; i < outside; ++i) {
      if (lower.outside(level[i])) lower.insert(level[i]);
      if (upper.outside(level[i])) upper.insert(level[i]);
      out[kept++] = by_x[level[i]];
    }
    first = last;
  }
  TACTUS_DCHECK(kept > 0 && kept <= count);
  std::sort(out, out + kept);
  arena.rewind(mark);
  return kept;
}

std::uint32_t keep_widest(const Vec3& nhat, const ContactPoint* points, std::uint32_t* chosen, std::uint32_t count,
                          std::uint32_t keep, Arena& arena) noexcept {
  if (count <= keep) return count;
  TACTUS_DCHECK(keep > 0 && is_unit(nhat));
  const std::size_t mark = arena.used();
  auto* distance2 = arena.take<double>(count);
  std::uint32_t deepest = 0;
  for (std::uint32_t i = 1; i < count; ++i) {
    if (points[chosen[i]].depth > points[chosen[deepest]].depth) deepest = i;
  }
  std::fill(distance2, distance2 + count, 1e300);
  std::uint32_t next = deepest;
  for (std::uint32_t k = 0; k < keep; ++k) {
    const std::uint32_t newest = next;
    distance2[newest] = -1;  // taken
    next = newest;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (distance2[i] < 0) continue;
      Vec3 d = points[chosen[i]].p_WC - points[chosen[newest]].p_WC;
      d -= d.dot(nhat) * nhat;
      distance2[i] = std::min(distance2[i], d.squaredNorm());
      if (distance2[next] < 0 || distance2[i] > distance2[next]) next = i;
    }
  }
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (distance2[i] < 0) chosen[kept++] = chosen[i];
  }
  TACTUS_DCHECK(kept == keep);
  arena.rewind(mark);
  return kept;
}

bool flat_overlap(const Vec3& nhat, const ContactPoint* points, std::uint32_t count, double tolerance) noexcept {
  if (count == 0) return true;
  TACTUS_DCHECK(not_below(tolerance, 0));
  Vec3 t1, t2;
  tangent_basis(nhat, t1, t2);
  const Vec3& origin = points[0].p_WC;
  double x = 0, y = 0, z = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Vec3 d = points[i].p_WC - origin;
    x += t1.dot(d), y += t2.dot(d), z += points[i].depth;
  }
  x /= count, y /= count, z /= count;
  double xx = 0, xy = 0, yy = 0, xz = 0, yz = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Vec3 d = points[i].p_WC - origin;
    const double u = t1.dot(d) - x, v = t2.dot(d) - y, w = points[i].depth - z;
    xx += u * u, xy += u * v, yy += v * v, xz += u * w, yz += v * w;
  }
  const double det = xx * yy - xy * xy, trace = xx + yy;
  double a = 0, b = 0;
  if (det > 1e-12 * trace * trace) {
    a = (xz * yy - yz * xy) / det, b = (yz * xx - xz * xy) / det;
  } else if (trace > 0) {  // all on one line
    const double k = (xz * xx + yz * xy) / (xx * xx + xy * xy + 1e-300);
    const double l = (xz * xy + yz * yy) / (xy * xy + yy * yy + 1e-300);
    (xx >= yy ? a : b) = xx >= yy ? k : l;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const Vec3 d = points[i].p_WC - origin;
    const double w = points[i].depth - z - a * (t1.dot(d) - x) - b * (t2.dot(d) - y);
    if (!(std::abs(w) <= tolerance)) return false;
  }
  return true;
}

std::uint32_t keep_outermost(const Vec3& nhat, const ContactPoint* points, std::uint32_t* chosen, std::uint32_t count,
                             std::uint32_t keep, Arena& arena) noexcept {
  if (count <= keep) return count;
  TACTUS_DCHECK(keep > 0 && is_unit(nhat));
  const std::size_t mark = arena.used();
  auto* taken = arena.take<std::uint8_t>(count);
  std::fill(taken, taken + count, std::uint8_t{0});
  // Not where normals are met often: a basis that changes sides with the sign of zero would change the choice.
  const int axis = std::abs(nhat.x()) < 0.6 ? 0 : std::abs(nhat.y()) < 0.6 ? 1 : 2;
  const Vec3 u = nhat.cross(Vec3::Unit(axis)).normalized(), v = nhat.cross(u);
  for (std::uint32_t k = 0; k < keep; ++k) {
    const double angle = 0.0371 + 2 * 3.14159265358979323846 * k / keep;  // off the symmetries of regular outlines
    const Vec3 d = std::cos(angle) * u + std::sin(angle) * v;
    std::uint32_t best = 0;
    for (std::uint32_t i = 1; i < count; ++i) {
      if (d.dot(points[chosen[i]].p_WC) > d.dot(points[chosen[best]].p_WC)) best = i;
    }
    taken[best] = 1;
  }
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (taken[i] != 0) chosen[kept++] = chosen[i];
  }
  TACTUS_DCHECK(kept > 0 && kept <= keep);
  arena.rewind(mark);
  return kept;
}

}  // namespace tactus
