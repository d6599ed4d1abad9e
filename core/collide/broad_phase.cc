#include "core/collide/broad_phase.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/math/checks.h"

namespace tactus {

namespace {
constexpr std::uint64_t kLarge = ~std::uint64_t{0};  // cell of boxes wider than a row
constexpr std::uint64_t kRow = std::uint64_t{1} << 32;
constexpr double kManyStrips = 5, kFewStrips = 4;  // two numbers: the order is to stay
constexpr std::size_t kFew = 8;  // so many boxes are tested each with each, so many pairs sorted by insertion
}  // namespace

BroadPhase::BroadPhase(std::vector<BroadShape> shapes,
                       std::vector<std::pair<std::uint32_t, std::uint32_t>> no_collision, std::uint32_t capacity)
    : shapes_(std::move(shapes)), no_collision_(std::move(no_collision)) {
  for (std::uint32_t s = 0; s < shapes_.size(); ++s) (shapes_[s].half_space ? half_spaces_ : bounded_).push_back(s);
  entries_.resize(bounded_.size());
  for (std::size_t i = 0; i < bounded_.size(); ++i) entries_[i].shape = bounded_[i];
  raw_.resize(capacity);
  pairs_.resize(raw_.size());
  bucket_.resize(shapes_.size() + 1);
}

std::span<const PairKey> BroadPhase::find_pairs(std::span<const Aabb> boxes, std::span<const Frame> X_WS,
                                                const PairMemory& memory) noexcept {
  TACTUS_ASSERT(boxes.size() == shapes_.size());
  raw_count_ = dropped_ = 0;
  work_ = {};
  memory_ = &memory;
  if (bounded_.size() <= kFew) {
    test_all(boxes);
  } else {
    sort_entries(boxes);
    sweep();
  }
  test_half_spaces(boxes, X_WS);
  sort_pairs();
  TACTUS_DCHECK(pair_count_ <= pairs_.size() && is_ascending<PairKey>({pairs_.data(), pair_count_}));
  return {pairs_.data(), pair_count_};
}

void BroadPhase::Strips::cut(double lowest, double highest, double widest) noexcept {
  origin = lowest;
  many = highest - lowest > (many ? kFewStrips : kManyStrips) * widest;
  width = many ? widest : std::numeric_limits<double>::infinity();
}

// From 1 on, so that each has one before it.
std::uint32_t BroadPhase::Strips::of(double lo) const noexcept {
  return 1 + static_cast<std::uint32_t>(std::min((lo - origin) / width, 1e9));
}

// The sweep axis, that of the rows, and how wide rows and columns are. Boxes wider than four times the mean across the
// rows are "large": they are in none. Columns are as wide as the widest of the others: a few tall boxes make them wide
// again, and more is tested, but nothing against everything.
void BroadPhase::choose_axes(std::span<const Aabb> boxes) noexcept {
  Vec3 sum = Vec3::Zero(), sum2 = Vec3::Zero(), size = Vec3::Zero();
  Vec3 lowest = Vec3::Constant(1e300), highest = -lowest;
  for (const std::uint32_t s : bounded_) {
    const Vec3 c = boxes[s].lo + boxes[s].hi;
    sum += c;
    sum2 += c.cwiseProduct(c);
    size += boxes[s].hi - boxes[s].lo;
    lowest = lowest.cwiseMin(boxes[s].lo);
    highest = highest.cwiseMax(boxes[s].lo);
  }
  const Vec3 spread = sum2 - sum.cwiseProduct(sum) / static_cast<double>(bounded_.size());
  // An axis changes only for a clearly better one, so that the order stays coherent.
  const auto better = [&spread](int a, int b) { return spread[a] > 1.5 * spread[b]; };
  for (int a = 0; a < 3; ++a) {
    if (better(a, axis_)) axis_ = a;
  }
  if (row_axis_ == axis_) row_axis_ = (axis_ + 1) % 3;
  for (int a = 0; a < 3; ++a) {
    if (a != axis_ && better(a, row_axis_)) row_axis_ = a;
  }
  const int a1 = row_axis_, a2 = 3 - axis_ - row_axis_;
  large_ = 4 * size[a1] / static_cast<double>(bounded_.size());
  Vec3 widest = Vec3::Constant(1e-9);
  for (const std::uint32_t s : bounded_) {
    const Vec3 width = boxes[s].hi - boxes[s].lo;
    if (width[a1] <= large_) widest = widest.cwiseMax(1.0001 * width);  // rounding must not part neighbours
  }
  rows_.cut(lowest[a1], highest[a1], widest[a1]);
  columns_.cut(lowest[a2], highest[a2], widest[a2]);
}

void BroadPhase::sort_entries(std::span<const Aabb> boxes) noexcept {
  TACTUS_DCHECK(axis_ != row_axis_ && boxes.size() == shapes_.size());
  if (entries_.empty()) return;
  choose_axes(boxes);
  const int a1 = row_axis_, a2 = 3 - axis_ - row_axis_;
  for (Entry& e : entries_) {
    const Aabb& box = boxes[e.shape];
    const bool large = box.hi[a1] - box.lo[a1] > large_;
    const std::uint64_t cell = large ? kLarge : kRow * rows_.of(box.lo[a1]) + columns_.of(box.lo[a2]);
    e = {box.lo[axis_], box.hi[axis_], box.lo[a1], box.hi[a1], box.lo[a2], box.hi[a2], cell, e.shape};
  }
  const auto less = [](const Entry& x, const Entry& y) {
    if (x.cell != y.cell) return x.cell < y.cell;
    return x.lo < y.lo || (x.lo == y.lo && x.shape < y.shape);
  };
  std::uint64_t& moves = work_.moves;
  const std::uint64_t budget = 8 * entries_.size() + 64;
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    if (!less(entries_[i], entries_[i - 1])) continue;
    const Entry e = entries_[i];
    std::size_t j = i;
    for (; j > 0 && less(e, entries_[j - 1]); --j, ++moves) entries_[j] = entries_[j - 1];
    entries_[j] = e;
    if (moves > budget) {  // no coherence (a new scene, a new axis): O(n lg n) instead; std::sort allocates nothing
      work_.sorted_anew = true;
      std::sort(entries_.begin(), entries_.end(), less);
      return;
    }
  }
}

void BroadPhase::test_all(std::span<const Aabb> boxes) noexcept {
  for (std::size_t i = 1; i < bounded_.size(); ++i) {
    const Aabb& a = boxes[bounded_[i]];
    for (std::size_t j = 0; j < i; ++j) {
      const Aabb& b = boxes[bounded_[j]];
      ++work_.tests;
      if (a.lo[0] > b.hi[0] || a.hi[0] < b.lo[0] || a.lo[1] > b.hi[1] || a.hi[1] < b.lo[1] || a.lo[2] > b.hi[2] ||
          a.hi[2] < b.lo[2]) {
        continue;
      }
      add(bounded_[i], bounded_[j]);
    }
  }
}

void BroadPhase::forget_order() noexcept {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& x, const Entry& y) { return x.shape < y.shape; });
}

void BroadPhase::test(const Entry& e, const Entry& f) noexcept {
  ++work_.tests;
  if (f.lo1 > e.hi1 || f.hi1 < e.lo1 || f.lo2 > e.hi2 || f.hi2 < e.lo2) return;
  add(e.shape, f.shape);
}

// Each column against itself, the next in its row, and the three beside it in the next row: `ahead` is where those
// begin, and only goes on.
void BroadPhase::sweep() noexcept {
  const std::size_t n = entries_.size();
  const auto end_of = [this, n](std::size_t i) {
    std::size_t last = i + 1;
    while (last < n && entries_[last].cell == entries_[i].cell) ++last;
    return last;
  };
  std::size_t ahead = 0;
  for (std::size_t first = 0, last; first < n && entries_[first].cell != kLarge; first = last) {
    const std::uint64_t cell = entries_[first].cell;
    last = end_of(first);
    sweep_column(first, last);
    if (last < n && entries_[last].cell == cell + 1) sweep_two(first, last, last, end_of(last));
    ahead = std::max(ahead, last);
    while (ahead < n && entries_[ahead].cell < cell + kRow - 1) ++ahead;
    for (std::size_t i = ahead, next; i < n && entries_[i].cell <= cell + kRow + 1; i = next) {
      next = end_of(i);
      sweep_two(first, last, i, next);
    }
  }
  sweep_large();
}

void BroadPhase::sweep_column(std::size_t first, std::size_t last) noexcept {
  TACTUS_DCHECK(first <= last && last <= entries_.size());
  for (std::size_t i = first; i < last; ++i) {
    for (std::size_t j = i + 1; j < last && entries_[j].lo <= entries_[i].hi; ++j) test(entries_[i], entries_[j]);
  }
}

// Two sorted runs against each other: each overlap is found by the entry that starts first.
void BroadPhase::sweep_two(std::size_t a, std::size_t a_last, std::size_t b, std::size_t b_last) noexcept {
  TACTUS_DCHECK(a <= a_last && a_last <= entries_.size() && b <= b_last && b_last <= entries_.size());
  while (a < a_last && b < b_last) {
    if (entries_[a].lo <= entries_[b].lo) {
      for (std::size_t j = b; j < b_last && entries_[j].lo <= entries_[a].hi; ++j) test(entries_[a], entries_[j]);
      ++a;
    } else {
      for (std::size_t i = a; i < a_last && entries_[i].lo <= entries_[b].hi; ++i) test(entries_[b], entries_[i]);
      ++b;
    }
  }
}

// The few large boxes (last in order) against everything.
void BroadPhase::sweep_large() noexcept {
  for (std::size_t i = entries_.size(); i-- > 0 && entries_[i].cell == kLarge;) {
    for (std::size_t j = 0; j < i; ++j) {
      if (entries_[j].lo <= entries_[i].hi && entries_[j].hi >= entries_[i].lo) test(entries_[i], entries_[j]);
    }
  }
}

void BroadPhase::test_half_spaces(std::span<const Aabb> boxes, std::span<const Frame> X_WS) noexcept {
  for (const std::uint32_t h : half_spaces_) {
    const Vec3 nhat_W = X_WS[h].R.col(2);
    const double offset = nhat_W.dot(X_WS[h].p);
    for (const std::uint32_t s : bounded_) {
      const Aabb& box = boxes[s];
      double lowest = 0;
      for (int a = 0; a < 3; ++a) lowest += nhat_W[a] * (nhat_W[a] > 0 ? box.lo[a] : box.hi[a]);
      if (lowest <= offset) add(h, s);
    }
  }
}

bool BroadPhase::may_collide(const BroadShape& a, const BroadShape& b) const noexcept {
  if (a.body == b.body || !(a.free || b.free) || !(a.group & b.mask) || !(b.group & a.mask)) return false;
  if (no_collision_.empty()) return true;
  const auto pair = std::minmax(a.body, b.body);
  return !std::binary_search(no_collision_.begin(), no_collision_.end(),
                             std::pair<std::uint32_t, std::uint32_t>(pair.first, pair.second));
}

void BroadPhase::add(std::uint32_t s, std::uint32_t t) noexcept {
  TACTUS_DCHECK(s != t && s < shapes_.size() && t < shapes_.size());
  if (!may_collide(shapes_[s], shapes_[t])) return;
  const PairKey key = s < t ? PairKey{s, t} : PairKey{t, s};
  if (raw_count_ < raw_.size()) {
    raw_[raw_count_++] = key;
  } else {
    add_over_capacity(key);
  }
}

// Over capacity raw_ is a heap with the pair to go first on top: pairs in contact stay, then those of lower key,
// whatever the order in which they were found.
void BroadPhase::add_over_capacity(PairKey key) noexcept {
  TACTUS_DCHECK(key.shape_a < key.shape_b);
  const auto stays_before = [this](PairKey x, PairKey y) {
    const bool x_in = was_in_contact(x), y_in = was_in_contact(y);
    return x_in != y_in ? x_in : x < y;
  };
  if (dropped_++ == 0) std::make_heap(raw_.begin(), raw_.end(), stays_before);
  if (raw_.empty() || !stays_before(key, raw_.front())) return;
  std::pop_heap(raw_.begin(), raw_.end(), stays_before);
  raw_.back() = key;
  std::push_heap(raw_.begin(), raw_.end(), stays_before);
}

bool BroadPhase::was_in_contact(PairKey key) const noexcept {
  const auto records = memory_->records();
  auto it = std::lower_bound(records.begin(), records.end(), key,
                             [](const PairRecord& r, const PairKey& k) { return r.key < k; });
  for (; it != records.end() && it->key.shape_a == key.shape_a && it->key.shape_b == key.shape_b; ++it) {
    if (it->phase != ContactPhase::apart) return true;  // in one of its patches
  }
  return false;
}

// Counting sort by shape_a, then insertion by shape_b inside each (few) bucket: O(shapes + pairs). A few pairs by
// insertion alone.
void BroadPhase::sort_pairs() noexcept {
  if (raw_count_ <= kFew) {
    pair_count_ = raw_count_;
    for (std::uint32_t i = 0; i < raw_count_; ++i) {
      std::uint32_t j = i;
      for (; j > 0 && raw_[i] < pairs_[j - 1]; --j) pairs_[j] = pairs_[j - 1];
      pairs_[j] = raw_[i];
    }
    return;
  }
  std::fill(bucket_.begin(), bucket_.end(), 0u);
  for (std::uint32_t i = 0; i < raw_count_; ++i) ++bucket_[raw_[i].shape_a + 1];
  for (std::size_t s = 1; s < bucket_.size(); ++s) bucket_[s] += bucket_[s - 1];
  for (std::uint32_t i = 0; i < raw_count_; ++i) pairs_[bucket_[raw_[i].shape_a]++] = raw_[i];
  std::uint32_t first = 0;
  for (std::size_t s = 0; s + 1 < bucket_.size(); ++s) {  // bucket_[s] is now the end of bucket s
    if (bucket_[s] - first > 24) {
      std::sort(pairs_.begin() + first, pairs_.begin() + bucket_[s]);
    } else {
      for (std::uint32_t i = first + 1; i < bucket_[s]; ++i) {
        const PairKey key = pairs_[i];
        std::uint32_t j = i;
        for (; j > first && key < pairs_[j - 1]; --j) pairs_[j] = pairs_[j - 1];
        pairs_[j] = key;
      }
    }
    first = bucket_[s];
  }
  pair_count_ = raw_count_;
}

}  // namespace tactus
