// Broad phase: sweep and prune along the axis of largest spread, in columns along it. The order of the last tick is
// nearly the order of this one, so an insertion sort restores it in about O(n); the pairs come out sorted by key
// whatever the order was.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/collide/pair_memory.h"
#include "core/shape/shape.h"

namespace tactus {

// What decides whether two shapes may touch at all.
struct BroadShape {
  std::uint32_t body = 0;
  std::uint32_t group = 1, mask = 0xffffffffu;
  bool moves = true;        // of a free or kinematic body
  bool free = true;         // of a free body; two shapes that are both not free never collide
  bool half_space = false;  // unbounded: tested against every box by its plane
};

class BroadPhase {
 public:
  // shapes as in the model; no_collision: body pairs (a < b), sorted. capacity: Limits::pairs.
  BroadPhase(std::vector<BroadShape> shapes, std::vector<std::pair<std::uint32_t, std::uint32_t>> no_collision,
             std::uint32_t capacity);

  // Keys of all pairs whose boxes overlap, sorted and unique, at most capacity. Over capacity: pairs that memory has in
  // contact are kept first, then by key; the rest is counted in dropped(). boxes and frames (for half-spaces) are per
  // shape. Expected O(n + pairs) by coherence, worst O(n^2).
  std::span<const PairKey> find_pairs(std::span<const Aabb> boxes, std::span<const Frame> X_WS,
                                      const PairMemory& memory) noexcept;
  [[nodiscard]] std::uint32_t dropped() const noexcept { return dropped_; }
  // Forgets the last order: the next call sorts from the shapes' own.
  void forget_order() noexcept;
  // Of the last call: places that entries moved by in the insertion sort (or that gave way to a sort in O(n lg n)), and
  // pairs of boxes looked at.
  struct Work {
    std::uint64_t moves = 0, tests = 0;
    bool sorted_anew = false;
  };
  [[nodiscard]] const Work& work() const noexcept { return work_; }

 private:
  struct Entry {    // packed copy in sweep order
    double lo, hi;  // along the sweep axis
    double lo1, hi1, lo2, hi2;
    std::uint64_t cell;  // of the column that it begins in: row, then column in it
    std::uint32_t shape;
  };
  // Across one of the axes that is not swept: strips as wide as the widest box that is in them; one where there would
  // be few, whose boxes are next to most others anyway.
  struct Strips {
    double origin = 0, width = 1;
    bool many = false;
    void cut(double lowest, double highest, double widest) noexcept;
    [[nodiscard]] std::uint32_t of(double lo) const noexcept;
  };
  void choose_axes(std::span<const Aabb> boxes) noexcept;
  void sort_entries(std::span<const Aabb> boxes) noexcept;
  void test_all(std::span<const Aabb> boxes) noexcept;
  void sweep() noexcept;
  void sweep_column(std::size_t first, std::size_t last) noexcept;
  void sweep_two(std::size_t a, std::size_t a_last, std::size_t b, std::size_t b_last) noexcept;
  void sweep_large() noexcept;
  void test(const Entry& e, const Entry& f) noexcept;
  void test_half_spaces(std::span<const Aabb> boxes, std::span<const Frame> X_WS) noexcept;
  void add(std::uint32_t s, std::uint32_t t) noexcept;
  void sort_pairs() noexcept;
  void add_over_capacity(PairKey key) noexcept;
  [[nodiscard]] bool was_in_contact(PairKey key) const noexcept;
  [[nodiscard]] bool may_collide(const BroadShape& a, const BroadShape& b) const noexcept;

  std::vector<BroadShape> shapes_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> no_collision_;
  std::vector<std::uint32_t> half_spaces_, bounded_;
  std::vector<Entry> entries_;
  std::vector<PairKey> raw_, pairs_;
  std::vector<std::uint32_t> bucket_;
  std::uint32_t raw_count_ = 0, pair_count_ = 0, dropped_ = 0;
  const PairMemory* memory_ = nullptr;  // during find_pairs
  Work work_;
  int axis_ = 0, row_axis_ = 1;  // swept; of the rows. Columns lie along the third
  Strips rows_, columns_;
  double large_ = 0;  // boxes wider than this across the rows are in none [m]
};

}  // namespace tactus
